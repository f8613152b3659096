// The flame as a tree of rows that open and close.

import { makeWeightColumns } from '../core/columns.js';
import { find, make } from '../core/dom.js';
import { Boxes } from '../core/names.js';
import { TreeTable, makeTreeColumn } from './tree_table.js';

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
	 * @param {import('../state/model.js').Model} model
	 * @param {{openMenu: (levels: number[], level: number, place: {x: number, y: number}) => void}} actions
	 */
	constructor(model, actions) {
		this.model = model;
		const place = make('div', { class: 'fill' });
		find('tree').replaceChildren(place);
		/** @type {TreeTable<TreeRow>} */
		this.rows = new TreeTable(place, {
			label: 'Call tree', columns: this.makeColumns(), getKey: (row) => row.node,
			onmenu: (row, at) => actions.openMenu(this.getFragment(row), row.symbol, at),
		}, (row) => this.load(row));
		this.revision = -1;
	}

	/** @param {TreeRow} row */
	getFragment(row) {
		const base = this.model.levels;
		return this.model.state.direction === 'callees' ? [...base, ...row.path] : [...row.path.slice().reverse(), ...base];
	}

	/** @returns {import('../core/table.js').Column<TreeRow>[]} */
	makeColumns() {
		return [...makeWeightColumns(/** @type {any} */ (this.model), true), makeTreeColumn('Function')];
	}

	async show() {
		const { rows } = this;
		if (this.revision !== this.model.revision) {
			this.revision = this.model.revision;
			rows.table.setColumns(this.makeColumns());
			rows.roots = await this.load(undefined);
			// Open what there is no choice about, so that the first look shows something.
			let row = rows.roots[0];
			for (let i = 0; row && i < 12; i++) {
				await rows.open(row);
				row = /** @type {TreeRow} */ (row.children?.[0]);
				if (!row || row.total < 0.5 * this.model.numbers.inclusive) break;
			}
		}
		rows.fill();
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
}
