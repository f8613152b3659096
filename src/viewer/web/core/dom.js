// Small helpers for making elements.

import { pending } from './pending.js';

/**
 * @template {keyof HTMLElementTagNameMap} T
 * @param {T} tag
 * @param {Record<string, any>} [attributes] on… are listeners; null and false are left out
 * @param {...(Node | string | null | undefined)} children
 * @returns {HTMLElementTagNameMap[T]}
 */
export function make(tag, attributes = {}, ...children) {
	const element = document.createElement(tag);
	for (const [name, value] of Object.entries(attributes)) {
		if (value === null || value === undefined || value === false) continue;
		if (name.startsWith('on')) element.addEventListener(name.slice(2), value);
		else element.setAttribute(name, value === true ? '' : String(value));
	}
	for (const child of children) if (child !== null && child !== undefined) element.append(child);
	return element;
}

/** @param {string} id @returns {any} */
export function find(id) {
	const element = document.getElementById(id);
	if (!element) throw new Error(`the page has no #${id}`);
	return /** @type {any} */ (element);
}

const ICONS = {
	back: 'M15 5l-7 7 7 7', forward: 'M9 5l7 7-7 7', up: 'M12 19V5M6 11l6-6 6 6', down: 'M12 5v14M6 13l6 6 6-6',
	close: 'M6 6l12 12M18 6L6 18', open: 'M3 7h6l2 2h10v10H3z', search: 'M11 4a7 7 0 1 0 0 14 7 7 0 0 0 0-14M16 16l5 5',
	theme: 'M12 3a9 9 0 1 0 0 18zM12 3a9 9 0 0 1 0 18', help: 'M9 9a3 3 0 1 1 4 3c-1 .5-1 1-1 2M12 18v.5',
	save: 'M12 4v11M7 11l5 5 5-5M4 20h16', palette: 'M12 3a9 9 0 1 0 0 18c2 0 2-2 1-3s0-3 2-3h3a3 3 0 0 0 3-3c0-5-4-9-9-9M8 9v.1M12 7v.1M16 9v.1',
	filter: 'M4 5h16l-6 8v6l-4-2v-4z', swap: 'M4 8h14l-4-4M20 16H6l4 4', more: 'M5 12v.1M12 12v.1M19 12v.1',
	edit: 'M4 20l1-5L16 4l4 4L9 19z', fit: 'M4 9V4h5M20 9V4h-5M4 15v5h5M20 15v5h-5',
};

/** @param {keyof typeof ICONS} name */
export function icon(name) {
	const svg = document.createElementNS('http://www.w3.org/2000/svg', 'svg');
	svg.setAttribute('viewBox', '0 0 24 24');
	svg.setAttribute('aria-hidden', 'true');
	svg.classList.add('icon');
	const path = document.createElementNS('http://www.w3.org/2000/svg', 'path');
	path.setAttribute('d', ICONS[name]);
	svg.append(path);
	return svg;
}

/** @param {string} text */
export const copyText = (text) => pending.track(fillClipboard(text));

/** @param {string} text */
async function fillClipboard(text) {
	try {
		await navigator.clipboard.writeText(text);
	} catch {
		// file:// pages may have no clipboard: the old way.
		const area = make('textarea', { style: 'position:fixed;opacity:0' });
		area.value = text;
		document.body.append(area);
		area.select();
		document.execCommand('copy');
		area.remove();
	}
}

/** @param {string} name @param {Blob} blob */
export function saveFile(name, blob) {
	const link = make('a', { href: URL.createObjectURL(blob), download: name });
	document.body.append(link);
	link.click();
	link.remove();
	setTimeout(() => URL.revokeObjectURL(link.href), 10000);
}

/** Say something to people who listen instead of looking, and show it for a moment. @param {string} text */
export function announce(text, isShown = false) {
	find('live').textContent = text;
	if (!isShown) return;
	const note = make('div', { class: 'note', role: 'status' }, text);
	find('notes').append(note);
	setTimeout(() => note.remove(), 6000);
}
