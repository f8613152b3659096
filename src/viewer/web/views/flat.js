// The flat table: every function with its own weight and that of all it calls.

import { shorten } from '../core/bounds.js';
import { makeWeightColumns } from '../core/columns.js';
import { find, make } from '../core/dom.js';
import { readTable } from '../core/names.js';
import { Table } from '../core/table.js';

/** @typedef {import('../core/names.js').TableRow & {name: string, module: string, level: number}} FunctionRow */

export class FlatView {
	/**
	 * @param {import('../state/model.js').Model} model
	 * @param {{openMenu: (levels: number[], level: number, place: {x: number, y: number}) => void}} actions
	 */
	constructor(model, actions) {
		this.model = model;
		this.box = /** @type {HTMLInputElement} */ (make('input', {
			type: 'search', class: 'field', placeholder: 'Filter these rows…', 'aria-label': 'Filter the rows by name or module',
			oninput: () => this.fill(),
		}));
		this.count = make('span', { class: 'muted' });
		const place = make('div', { class: 'fill' });
		find('flat').replaceChildren(make('div', { class: 'view-bar' }, this.box, this.count), place);
		/** @type {Table<FunctionRow>} */
		this.table = new Table(place, {
			label: 'Functions', columns: this.makeColumns(), sort: 'self', getKey: (row) => row.id,
			empty: 'No function has a name with this text.',
			onselect: (row) => model.selectLevels([row.level]),
			onmenu: (row, at) => actions.openMenu([row.level], row.level, at),
		});
		/** @type {FunctionRow[]} */
		this.rows = [];
		this.revision = -1;
	}

	/** @returns {import('../core/table.js').Column<FunctionRow>[]} */
	makeColumns() {
		return [
			...makeWeightColumns(this.model, true, (/** @type {FunctionRow} */ row) => row.id),
			{ id: 'name', label: 'Function', width: 'minmax(160px, 3fr)', sortBy: (row) => row.name,
				show: (row) => make('span', { class: 'name', title: shorten(row.name) }, shorten(row.name) || '(no name)') },
			{ id: 'module', label: 'Module', width: 'minmax(80px, 1fr)', sortBy: (row) => row.module,
				show: (row) => make('span', { class: 'name muted', title: shorten(row.module) }, shorten(row.module) || '–') },
		];
	}

	async show() {
		const { model } = this;
		const { names } = model;
		if (!names) return;
		if (this.revision !== model.revision) {
			const rows = readTable(await model.client.call('table', [0]));
			this.revision = model.revision;
			this.rows = rows.map((row) => ({
				...row, level: names.makeLevel(row.id), name: names.getName(names.getSymbolOf(row.id)), module: names.getModule(row.id),
			}));
			this.table.setColumns(this.makeColumns());
		}
		const [level] = model.levels;
		const selected = model.levels.length !== 1 ? undefined
			: this.rows.find((row) => row.level === level || names.getSymbolOf(row.id) === level);
		this.table.selected = selected?.id;
		this.fill();
		if (selected) this.table.select(selected.id);
	}

	fill() {
		const wanted = this.box.value.trim().toLowerCase();
		const rows = wanted ? this.rows.filter((row) => row.name.toLowerCase().includes(wanted) ||
			row.module.toLowerCase().includes(wanted)) : this.rows;
		this.count.textContent = rows.length === this.rows.length ? `${rows.length.toLocaleString('en-US')} functions`
			: `${rows.length.toLocaleString('en-US')} of ${this.rows.length.toLocaleString('en-US')} functions`;
		this.table.setRows(rows);
	}
}
