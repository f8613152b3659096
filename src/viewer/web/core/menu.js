// Menus: below a button, or where the pointer is. Arrow keys, Enter and Escape work in them.

import { make } from './dom.js';

/**
 * @typedef {object} MenuItem
 * @property {string} [label] without: a line
 * @property {string} [hint] at the right edge: a key, a number
 * @property {boolean} [isChosen]
 * @property {boolean} [isDisabled]
 * @property {string} [color] a swatch
 * @property {string} [heading] a title, not an item
 * @property {() => void} [run]
 */

/** @type {HTMLElement | null} */
let open = null;
/** @type {Element | null} */
let opener = null;

export function closeMenu() {
	if (!open) return;
	open.remove();
	open = null;
	if (opener instanceof HTMLElement) {
		opener.setAttribute('aria-expanded', 'false');
		opener.focus({ preventScroll: true });
	}
	opener = null;
}

export function isMenuOpen() {
	return open !== null;
}

/** @param {HTMLElement} menu @param {number} step */
function moveFocus(menu, step) {
	const items = /** @type {HTMLElement[]} */ ([...menu.querySelectorAll('button:not(:disabled)')]);
	const at = items.indexOf(/** @type {HTMLElement} */ (document.activeElement));
	items[(at + step + items.length) % items.length]?.focus();
}

/** @param {KeyboardEvent} event */
function handleKey(event) {
	if (!open) return;
	const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
	if (step) moveFocus(open, step);
	else if (event.key === 'Escape' || event.key === 'Tab') closeMenu();
	else return;
	event.preventDefault();
	event.stopPropagation();
}

/** @param {MenuItem} item */
function makeItem(item) {
	if (item.heading !== undefined) return make('div', { class: 'menu-heading' }, item.heading);
	if (item.label === undefined) return make('div', { class: 'menu-line', role: 'separator' });
	return make('button', {
		class: 'menu-item', role: item.isChosen === undefined ? 'menuitem' : 'menuitemradio',
		'aria-checked': item.isChosen === undefined ? null : String(item.isChosen), disabled: item.isDisabled,
		onclick: () => {
			closeMenu();
			item.run?.();
		},
	}, make('span', { class: 'menu-mark' }, item.isChosen ? '✓' : ''),
	item.color ? make('span', { class: 'swatch', style: `background:${item.color}` }) : null,
	make('span', { class: 'menu-label' }, item.label), make('span', { class: 'menu-hint' }, item.hint ?? ''));
}

/**
 * @param {MenuItem[]} items
 * @param {{x: number, y: number} | HTMLElement} place
 */
export function openMenu(items, place) {
	closeMenu();
	const menu = make('div', { class: 'menu', role: 'menu', onkeydown: handleKey }, ...items.map(makeItem));
	opener = document.activeElement;
	document.body.append(menu);
	let x, y;
	if (place instanceof HTMLElement) {
		const box = place.getBoundingClientRect();
		place.setAttribute('aria-expanded', 'true');
		opener = place;
		x = Math.min(box.left, innerWidth - menu.offsetWidth - 8);
		y = box.bottom + 4;
	} else {
		x = Math.min(place.x, innerWidth - menu.offsetWidth - 8);
		y = Math.min(place.y, innerHeight - menu.offsetHeight - 8);
	}
	menu.style.left = `${Math.max(8, x)}px`;
	menu.style.top = `${Math.max(8, y)}px`;
	open = menu;
	moveFocus(menu, 1);
}

addEventListener('pointerdown', (event) => {
	if (open && !open.contains(/** @type {Node} */ (event.target))) closeMenu();
}, true);
addEventListener('blur', closeMenu);
