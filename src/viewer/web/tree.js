// The flame as a tree of rows that open and close.

import { shorten } from './bounds.js';
import { makeWeightColumns } from './columns.js';
import { find, make } from './dom.js';
import { Boxes } from './names.js';
import { Table } from './table.js';

/**
 * @typedef {object} TreeRow
 * @property {number} node
 * @property {number} symbol
 * @property {string} name
 * @property {number} level
 * @property {number[]} path symbols from below the selection to here
 * @property {number} self
 * @property {number} total
 * @property {number} baselineSelf
 * @property {number} baselineTotal
 * @property {boolean} isOpen
 * @property {TreeRow[] | undefined} children
 */

export class TreeView {
	/**
	 * @param {import('./model.js').Model} model
	 * @param {{openMenu: (levels: number[], level: number, place: {x: number, y: number}) => void}} actions
	 */
	constructor(model, actions) {
		this.model = model;
		const place = make('div', { class: 'fill' });
		find('tree').replaceChildren(place);
		/** @type {TreeRow[]} */
		this.roots = [];
		/** @type {Table<TreeRow>} */
		this.table = new Table(place, {
			label: 'Call tree', columns: this.makeColumns(), isOrdered: true, getKey: (row) => row.node,
			describe: (row) => ({ level: row.level, isOpen: row.children?.length === 0 ? null : row.isOpen }),
			onselect: (row) => this.toggle(row), onkey: (row, key) => this.handleKey(row, key),
			onmenu: (row, at) => actions.openMenu(this.getFragment(row), row.symbol, at),
		});
		this.revision = -1;
	}

	/** @param {TreeRow} row */
	getFragment(row) {
		const base = this.model.levels;
		return this.model.state.direction === 'callees' ? [...base, ...row.path] : [...row.path.slice().reverse(), ...base];
	}

	/** @returns {import('./table.js').Column<TreeRow>[]} */
	makeColumns() {
		return [
			...makeWeightColumns(/** @type {any} */ (this.model), true),
			{ id: 'name', label: 'Function', width: 'minmax(200px, 1fr)', sortBy: (row) => row.name,
				show: (row) => make('span', { class: 'name tree-name', style: `padding-left:${row.level * 14}px`, title: shorten(row.name) },
					make('span', { class: 'twist', 'aria-hidden': 'true' }, row.children?.length === 0 ? '·' : row.isOpen ? '▾' : '▸'), ` ${shorten(row.name)}`) },
		];
	}

	async show() {
		if (this.revision !== this.model.revision) {
			this.revision = this.model.revision;
			this.table.setColumns(this.makeColumns());
			this.roots = await this.load(undefined);
			// Open what there is no choice about, so that the first look shows something.
			let row = this.roots[0];
			for (let i = 0; row && i < 12; i++) {
				await this.open(row);
				row = /** @type {TreeRow} */ (row.children?.[0]);
				if (!row || row.total < 0.5 * this.model.numbers.inclusive) break;
			}
		}
		this.fill();
	}

	/** @param {TreeRow | undefined} parent @returns {Promise<TreeRow[]>} */
	async load(parent) {
		const direction = this.model.state.direction === 'callees' ? 0 : 1;
		const boxes = new Boxes(await this.model.client.call('children', [direction, parent?.node]));
		const rows = [];
		for (let i = 0; i < boxes.length; i++)
			rows.push({
				node: boxes.node(i), symbol: boxes.symbol(i), name: this.model.names?.getName(boxes.symbol(i)) ?? '',
				level: parent ? parent.level + 1 : 0, path: [...(parent?.path ?? []), boxes.symbol(i)], self: boxes.self(i),
				total: boxes.total(i), baselineSelf: boxes.baselineSelf(i), baselineTotal: boxes.baselineTotal(i),
				isOpen: false, children: undefined,
			});
		return rows;
	}

	/** @param {TreeRow} row */
	async open(row) {
		row.children ??= await this.load(row);
		row.isOpen = true;
	}

	/** @param {TreeRow} row */
	async toggle(row) {
		if (row.isOpen) row.isOpen = false;
		else await this.open(row);
		this.fill();
	}

	/** @param {TreeRow} row @param {string} key */
	handleKey(row, key) {
		if ((key === 'ArrowRight' && !row.isOpen) || (key === 'ArrowLeft' && row.isOpen)) this.toggle(row);
		else return key === 'ArrowRight' || key === 'ArrowLeft';
		return true;
	}

	fill() {
		/** @type {TreeRow[]} */
		const rows = [];
		/** @type {TreeRow[]} */
		const pending = this.roots.slice().reverse();
		for (let row = pending.pop(); row; row = pending.pop()) {
			rows.push(row);
			if (row.isOpen && row.children) for (let i = row.children.length - 1; i >= 0; i--) pending.push(row.children[i]);
		}
		this.table.setRows(rows);
	}
}
