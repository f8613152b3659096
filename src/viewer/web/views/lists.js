// Threads, processes and modules with their weights; a row is a filter.

import { shorten } from '../core/bounds.js';
import { makeWeightColumns } from '../core/columns.js';
import { copyText, find, make } from '../core/dom.js';
import { readTable } from '../core/names.js';
import { openMenu } from '../core/menu.js';
import { Table } from '../core/table.js';

/**
 * @typedef {object} ListRow
 * @property {string | number} id
 * @property {number} self
 * @property {number} total
 * @property {number} baselineSelf
 * @property {number} baselineTotal
 * @property {string} name
 * @property {string} about  a second name
 * @property {string} pattern of the filter
 */

/** @typedef {{id: 'threads' | 'processes' | 'modules', kind: import('../state/state.js').FilterKind, label: string, about: string, table: number}} ListKind */

/** @type {ListKind[]} */
export const LISTS = [
	{ id: 'threads', kind: 'thread', label: 'Thread', about: 'Process', table: 2 },
	{ id: 'processes', kind: 'process', label: 'Process', about: 'Threads', table: 2 },
	{ id: 'modules', kind: 'module', label: 'Module', about: '', table: 1 },
];

export class ListView {
	/** @param {import('../state/model.js').Model} model @param {ListKind} list */
	constructor(model, list) {
		this.model = model;
		this.list = list;
		const place = make('div', { class: 'fill' });
		find(list.id).replaceChildren(
			make('div', { class: 'view-bar' }, make('span', { class: 'muted' },
				`Click a row to show this ${list.kind} only; right-click for more.`)), place);
		/** @type {Table<ListRow>} */
		this.table = new Table(place, {
			label: `${list.label} list`, columns: this.makeColumns(), sort: 'total', getKey: (row) => row.id,
			empty: `The data has no ${list.kind}.`,
			onselect: (row) => this.filter(row, false),
			onmenu: (row, at) => openMenu([
				{ heading: shorten(row.name, 60) },
				{ label: `Only this ${list.kind}`, run: () => this.filter(row, false) },
				{ label: `Without this ${list.kind}`, run: () => this.filter(row, true) },
				{},
				{ label: 'Copy the name', run: () => copyText(row.name) },
			], at),
		});
	}

	/** @returns {import('../core/table.js').Column<ListRow>[]} */
	makeColumns() {
		/** @type {import('../core/table.js').Column<ListRow>[]} */
		const columns = [
			...makeWeightColumns(/** @type {any} */ (this.model), this.list.kind === 'module'),
			{ id: 'name', label: this.list.label, width: 'minmax(160px, 2fr)', sortBy: (row) => row.name,
				show: (row) => make('span', { class: 'name', title: shorten(row.name) }, shorten(row.name)) },
		];
		if (this.list.about)
			columns.push({ id: 'about', label: this.list.about, width: 'minmax(100px, 1fr)', sortBy: (row) => row.about,
				show: (row) => make('span', { class: 'name muted' }, shorten(row.about)) });
		return columns;
	}

	/** @param {ListRow} row @param {boolean} excludes */
	filter(row, excludes) {
		this.model.addFilter({ kind: this.list.kind, pattern: row.pattern, excludes });
	}

	async show() {
		const rows = readTable(await this.model.client.call('table', [this.list.table]));
		this.table.setColumns(this.makeColumns());
		if (this.list.id === 'modules') this.table.setRows(this.makeModules(rows));
		else this.table.setRows(this.list.id === 'threads' ? this.makeThreads(rows) : this.makeProcesses(rows));
	}

	/** @param {import('../core/names.js').TableRow[]} rows @returns {ListRow[]} */
	makeModules(rows) {
		const modules = this.model.names?.modules ?? {};
		return rows.map((row) => ({
			...row, name: modules[row.id] || '(no module)', about: '', pattern: modules[row.id] ?? '',
		}));
	}

	/** Threads of one name, process and number are one row, whatever file they are from. @param {import('../core/names.js').TableRow[]} rows */
	makeThreads(rows) {
		return this.gather(rows, (thread) => thread.comm || thread.tid ? {
			name: thread.tid ? `${thread.comm} (${thread.tid})` : thread.comm || '(no name)',
			about: thread.pid ? `${thread.process || thread.comm} (${thread.pid})` : thread.process,
			pattern: thread.tid ? String(thread.tid) : thread.comm,
		} : undefined);
	}

	/** @param {import('../core/names.js').TableRow[]} rows */
	makeProcesses(rows) {
		const processes = this.gather(rows, (thread) => thread.process || thread.pid ? {
			name: thread.pid ? `${thread.process || thread.comm} (${thread.pid})` : thread.process,
			about: '', pattern: thread.pid ? String(thread.pid) : thread.process,
		} : undefined);
		for (const row of processes) row.about = String(row.count);
		return processes;
	}

	/**
	 * @param {import('../core/names.js').TableRow[]} rows
	 * @param {(thread: import('../core/names.js').Thread) => {name: string, about: string, pattern: string} | undefined} describe
	 */
	gather(rows, describe) {
		/** @type {Map<string, ListRow & {count: number}>} */
		const found = new Map();
		for (const row of rows) {
			const thread = this.model.names?.threads[row.id];
			const about = thread ? describe(thread) : undefined;
			if (!about) continue;
			const key = `${about.pattern}\0${about.about}`;
			const known = found.get(key);
			if (!known) found.set(key, { ...row, ...about, id: key, count: 1 });
			else {
				known.total += row.total;
				known.baselineTotal += row.baselineTotal;
				known.count++;
			}
		}
		return [...found.values()];
	}
}
