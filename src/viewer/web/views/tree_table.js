// A table whose rows open and close. What is below a row is asked for when it is opened first.

import { shorten } from '../core/bounds.js';
import { make } from '../core/dom.js';
import { Table } from '../core/table.js';

/**
 * @typedef {object} OpenRow
 * @property {string} name
 * @property {number} level
 * @property {boolean} isOpen
 * @property {any[] | undefined} children rows of the same kind
 */

/** @template {OpenRow} R */
export class TreeTable {
	/**
	 * @param {HTMLElement} place
	 * @param {object} options as of a table
	 * @param {string} options.label
	 * @param {import('../core/table.js').Column<R>[]} options.columns
	 * @param {(row: R) => string | number} options.getKey
	 * @param {(row: R, place: {x: number, y: number}) => void} options.onmenu
	 * @param {string} [options.empty]
	 * @param {(row: R) => Promise<R[]>} load what is below
	 */
	constructor(place, options, load) {
		this.load = load;
		/** @type {R[]} */
		this.roots = [];
		/** @type {Table<R>} */
		this.table = new Table(place, {
			...options, isOrdered: true,
			describe: (row) => ({ level: row.level, isOpen: row.children?.length === 0 ? null : row.isOpen }),
			onselect: (row) => this.toggle(row), onkey: (row, key) => this.handleKey(row, key),
		});
	}

	/** @param {R} row */
	async open(row) {
		row.children ??= await this.load(row);
		row.isOpen = true;
	}

	/** @param {R} row */
	async toggle(row) {
		if (row.isOpen) row.isOpen = false;
		else await this.open(row);
		this.fill();
	}

	/** @param {R} row @param {string} key */
	handleKey(row, key) {
		if ((key === 'ArrowRight' && !row.isOpen) || (key === 'ArrowLeft' && row.isOpen)) this.toggle(row);
		else return key === 'ArrowRight' || key === 'ArrowLeft';
		return true;
	}

	fill() {
		/** @type {R[]} */
		const rows = [];
		/** @type {R[]} */
		const pending = this.roots.slice().reverse();
		for (let row = pending.pop(); row; row = pending.pop()) {
			rows.push(row);
			if (row.isOpen && row.children) for (let i = row.children.length - 1; i >= 0; i--) pending.push(row.children[i]);
		}
		this.table.setRows(rows);
	}
}

/**
 * The column of names, further in with every level.
 * @template {OpenRow} R
 * @param {string} label
 * @returns {import('../core/table.js').Column<R>}
 */
export function makeTreeColumn(label) {
	return {
		id: 'name', label, width: 'minmax(200px, 1fr)', sortBy: (row) => row.name,
		show: (row) => make('span', { class: 'name tree-name', style: `padding-left:${row.level * 14}px`, title: shorten(row.name) },
			make('span', { class: 'twist', 'aria-hidden': 'true' }, row.children?.length === 0 ? '·' : row.isOpen ? '▾' : '▸'), ` ${shorten(row.name)}`),
	};
}
