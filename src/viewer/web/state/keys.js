// The keyboard: what every key does, in one table that is also the sheet behind `?`.

import { find, make } from '../core/dom.js';
import { isMenuOpen } from '../core/menu.js';

/** @typedef {{keys: string, text: string, match?: (event: KeyboardEvent) => boolean, run?: () => void}} Binding */

/** @param {string} key */
const plain = (key) => (/** @type {KeyboardEvent} */ e) => e.key === key && !e.ctrlKey && !e.metaKey && !e.altKey;

/**
 * @param {Record<string, () => void>} actions
 * @returns {[string, Binding[]][]}
 */
export function makeBindings(actions) {
	return [
		['Everywhere', [
			{ keys: '/  Ctrl+F', text: 'Search', run: actions.search,
				match: (e) => plain('/')(e) || ((e.ctrlKey || e.metaKey) && e.key === 'f') },
			{ keys: 'n  N', text: 'Next, previous match' },
			{ keys: 'o', text: 'Open files', match: plain('o'), run: actions.open },
			{ keys: 'd', text: 'Callees or callers', match: plain('d'), run: actions.turn },
			{ keys: ';', text: 'Type a fragment', match: plain(';'), run: actions.typeFragment },
			{ keys: 'Escape', text: 'Nothing selected', match: plain('Escape'), run: actions.clear },
			{ keys: 'Alt+←  Alt+→', text: 'Back, forward' },
			{ keys: 'f  x', text: 'Filter: only, or without, the selection' },
			{ keys: 'm', text: 'Menu of the selection', match: plain('m'), run: actions.menu },
			{ keys: 'c', text: 'Copy the selection as folded text', match: plain('c'), run: actions.copy },
			{ keys: '1 … 9', text: 'The tabs' },
			{ keys: 'w', text: 'Who ended the waits' },
			{ keys: 't', text: 'Light, dark, high contrast', match: plain('t'), run: actions.theme },
			{ keys: '?', text: 'This sheet', match: plain('?'), run: actions.help },
		]],
		['In the flame', [
			{ keys: '↑ ↓ ← →', text: 'Go to callee, caller, neighbours' },
			{ keys: 'Home', text: 'Go to the base' },
			{ keys: 'Enter', text: 'Select up to this frame; with Shift this function alone' },
			{ keys: 'Space', text: 'Menu of the frame' },
			{ keys: '+  −  0  z', text: 'Zoom in, out, whole, to the frame' },
			{ keys: 'Ctrl+wheel, pinch', text: 'Zoom around the pointer' },
			{ keys: 'Drag, Shift+wheel', text: 'Move sideways' },
		]],
		['In tables', [
			{ keys: '↑ ↓  Page ↑ ↓  Home End', text: 'Move' },
			{ keys: 'Enter', text: 'Select' },
			{ keys: 'Space', text: 'Menu of the row' },
			{ keys: '← →', text: 'Close or open a row of the tree' },
		]],
		['In the heatmap of time', [
			{ keys: '↑ ↓ ← →  Page ↑ ↓', text: 'Move; with Shift select a range' },
			{ keys: 'Enter', text: 'Show the range only' },
			{ keys: 'x', text: 'Exclude the range' },
			{ keys: 'Escape', text: 'Clear the selection, then show all times' },
		]],
	];
}

/** @param {[string, Binding[]][]} groups @param {Record<string, () => void>} actions @param {{id: string, key: string}[]} tabs @param {(tab: string) => void} goToTab */
export function listenToKeys(groups, actions, tabs, goToTab) {
	const bindings = groups.flatMap(([, list]) => list);
	addEventListener('keydown', (event) => {
		const target = /** @type {Element} */ (event.target);
		const isTyping = target.matches('input:not([type=checkbox]), textarea, select, [contenteditable]');
		const isSearch = (event.ctrlKey || event.metaKey) && event.key === 'f';
		if (isMenuOpen() || (isTyping && !isSearch) || event.defaultPrevented) return;
		if (document.querySelector('dialog[open]')) return;
		const tab = tabs.find(({ key }) => plain(key)(event));
		if (event.altKey && event.key === 'ArrowLeft') actions.back();
		else if (event.altKey && event.key === 'ArrowRight') actions.forward();
		else if (event.ctrlKey && !isSearch) return;
		else if (plain('n')(event)) actions.next();
		else if (plain('N')(event)) actions.previous();
		else if (plain('f')(event)) actions.only();
		else if (plain('x')(event)) actions.without();
		else if (tab) goToTab(tab.id);
		else {
			const binding = bindings.find(({ match }) => match?.(event));
			if (!binding?.run) return;
			binding.run();
		}
		event.preventDefault();
	});
}

/** @param {[string, Binding[]][]} groups */
export function showSheet(groups) {
	const dialog = /** @type {HTMLDialogElement} */ (find('sheet'));
	dialog.replaceChildren(make('h2', {}, 'Keys'), make('div', { class: 'sheet-columns' }, ...groups.map(([title, list]) =>
		make('section', {}, make('h3', {}, title), make('dl', {}, ...list.flatMap(({ keys, text }) => [
			make('dt', {}, ...keys.split('  ').map((key) => make('kbd', {}, key))), make('dd', {}, text)]))))),
	make('form', { method: 'dialog' }, make('button', { class: 'button' }, 'Close')));
	dialog.showModal();
}
