// Who ended the waits in the selection, what they did, and the weightiest chain.

import { makeLevels, shorten } from '../core/bounds.js';
import { find, make } from '../core/dom.js';
import { TreeTable, makeTreeColumn } from './tree_table.js';
import { formatExact, formatPercent, formatValue } from '../core/units.js';

/**
 * @typedef {object} WakerRow a waker, or what it did
 * @property {number} waker
 * @property {number} node of its stacks
 * @property {number} symbol
 * @property {string} name
 * @property {number} total
 * @property {number} level
 * @property {boolean} isOpen
 * @property {WakerRow[] | undefined} children
 */
/** @typedef {{waiter: number | null, futex: number | null, total: string, ended: string, frames: number[]}} WakerLink from the inside out, the waker last */

const CHAIN_FRAMES = 12;
const CHAIN_CHARACTERS = 80;

export class WakersView {
	/**
	 * @param {import('../state/model.js').Model} model
	 * @param {object} actions
	 * @param {(levels: number[], level: number, place: {x: number, y: number}) => void} actions.openMenu
	 * @param {() => void} actions.showFlame
	 */
	constructor(model, actions) {
		this.model = model;
		/** @type {import('../state/model.js').Metric | undefined} */
		this.metric = undefined;
		this.sum = 0;
		this.sums = make('span', {});
		this.links = make('ol', {});
		this.chain = make('div', { class: 'chain', tabindex: 0, role: 'group', 'aria-label': 'The weightiest chain' },
			make('h2', {}, 'The weightiest chain'), this.links);
		const place = make('div', { class: 'fill' });
		find('wakers').replaceChildren(make('div', { class: 'view-bar' }, this.sums,
			make('button', { class: 'button', onclick: actions.showFlame }, 'As a flame graph')), this.chain, place);
		/** @type {TreeTable<WakerRow>} */
		this.rows = new TreeTable(place, {
			label: 'Wakers', columns: this.makeColumns(), getKey: (row) => `${row.waker}-${row.node}`,
			empty: 'The selection has no waits with a known waker.',
			onmenu: (row, at) => {
				const level = this.getLevel(row);
				actions.openMenu([level], level, at);
			},
		}, (row) => this.load(row));
		this.revision = -1;
	}

	/** Of a waker, its thread, where stacks begin with its name. @param {WakerRow} row */
	getLevel(row) {
		return (row.level ? undefined : this.model.names?.find(row.name, true)) ?? row.symbol;
	}

	/** @returns {import('../core/table.js').Column<WakerRow>[]} */
	makeColumns() {
		const { sum } = this;
		const unit = this.metric?.unit ?? '';
		return [
			{ id: 'total', label: 'Ended', width: 'minmax(84px, 116px)', isNumber: true, isSpare: true, sortBy: (row) => row.total,
				show: (row) => make('span', { 'data-value': row.total }, formatValue(row.total, unit)) },
			{ id: 'percent', label: 'Share', width: 'minmax(88px, 130px)', isNumber: true, sortBy: (row) => row.total,
				show: (row) => formatPercent(row.total, sum), bar: (row) => (sum ? row.total / sum : 0) },
			makeTreeColumn('Waker and its stack, innermost frame first'),
		];
	}

	async show() {
		const { model } = this;
		const { revision } = model;
		const metric = model.findMetric('offwake');
		if (!metric) return;
		if (this.revision !== revision) {
			const { sum, inclusive, wakers, chain } = await model.client.call('waits', [metric.id]);
			if (revision !== model.revision) return; // what has changed it shows it, too
			this.revision = revision;
			this.metric = metric;
			this.sum = Number(sum);
			this.showSums(Number(inclusive));
			this.showChain(chain);
			this.rows.table.setColumns(this.makeColumns());
			this.rows.roots = wakers.map((/** @type {{symbol: number, total: string}} */ waker, /** @type {number} */ i) =>
				this.makeRow(i, 0, waker, 0));
		}
		this.rows.fill();
	}

	/** @param {number} waker @param {number} node @param {{symbol: number, total: string}} answer @param {number} level @returns {WakerRow} */
	makeRow(waker, node, { symbol, total }, level) {
		return { waker, node, symbol, name: this.getName(symbol), total: Number(total), level, isOpen: false, children: undefined };
	}

	/** @param {number} symbol */
	getName(symbol) {
		return this.model.names?.getName(symbol) ?? '';
	}

	/** @param {WakerRow} row @returns {Promise<WakerRow[]>} */
	async load(row) {
		const below = await this.model.client.call('wakerStacks', [this.metric?.id, row.waker, row.node]);
		return below.map((/** @type {{node: number, symbol: number, total: string}} */ one) =>
			this.makeRow(row.waker, one.node, one, row.level + 1));
	}

	/** @param {number} inclusive */
	showSums(inclusive) {
		const metric = /** @type {import('../state/model.js').Metric} */ (this.metric);
		this.sums.replaceChildren(make('b', { id: 'waits', 'data-value': inclusive, title: formatExact(inclusive, metric) },
			formatValue(inclusive, metric.unit)), ` of waits${this.model.levels.length ? ' in the selection' : ''}, ${formatPercent(inclusive, this.sum)} of all`);
	}

	/** @param {WakerLink[]} links */
	showChain(links) {
		this.chain.hidden = !links.length;
		this.links.replaceChildren(...links.map((link) => this.makeLink(link)));
	}

	/** @param {WakerLink} link */
	makeLink({ waiter, futex, total, ended, frames }) {
		const unit = this.metric?.unit ?? '';
		const names = frames.map((symbol) => shorten(this.getName(symbol), CHAIN_CHARACTERS));
		const waker = names.pop() ?? '';
		const did = makeLevels(names.length, CHAIN_FRAMES, (i) => new Text(names[i]), (label) => new Text(label));
		return make('li', {}, make('b', {}, waiter === null ? (this.model.levels.length ? 'The selection' : 'All') :
			shorten(this.getName(waiter), CHAIN_CHARACTERS)),
		` waited ${formatValue(Number(total), unit)}, ${formatValue(Number(ended), unit)} of it ended by `, make('b', {}, waker),
		futex === null ? '' : `, for ${this.getName(futex)}`,
		did.length ? `: ${did.map((text) => text.data).join(' < ')}` : '');
	}
}
