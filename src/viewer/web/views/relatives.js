// Three lists around the fragment: who calls it, what it is, what it calls; with the sums that
// must agree.

import { MOST_LEVELS, makeLevels, shorten } from '../core/bounds.js';
import { find, make } from '../core/dom.js';
import { Boxes } from '../core/names.js';
import { describeLevel } from '../state/state.js';
import { Table } from '../core/table.js';
import { formatExact, formatPercent, formatValue } from '../core/units.js';

/** @typedef {{symbol: number, name: string, total: number, baselineTotal: number}} Relative */

export class RelativesView {
	/**
	 * @param {import('../state/model.js').Model} model
	 * @param {{openMenu: (levels: number[], level: number, place: {x: number, y: number}) => void}} actions
	 */
	constructor(model, actions) {
		this.model = model;
		this.sums = make('div', { class: 'sums' });
		this.fragment = make('ol', { class: 'fragment' });
		const callersPlace = make('div', { class: 'fill' });
		const calleesPlace = make('div', { class: 'fill' });
		this.callersTitle = make('h2', {}, 'Callers');
		this.calleesTitle = make('h2', {}, 'Callees');
		find('relatives').replaceChildren(
			make('section', { class: 'relative' }, this.callersTitle, callersPlace),
			make('section', { class: 'relative middle' }, make('h2', {}, 'Selection'), this.fragment, this.sums),
			make('section', { class: 'relative' }, this.calleesTitle, calleesPlace));
		this.callers = this.makeTable(callersPlace, 'Callers', actions, (symbol) => [symbol, ...model.levels]);
		this.callees = this.makeTable(calleesPlace, 'Callees', actions, (symbol) => [...model.levels, symbol]);
	}

	/**
	 * @param {HTMLElement} place @param {string} label
	 * @param {{openMenu: (levels: number[], level: number, place: {x: number, y: number}) => void}} actions
	 * @param {(symbol: number) => number[]} extend
	 * @returns {Table<Relative>}
	 */
	makeTable(place, label, actions, extend) {
		const { model } = this;
		return new Table(place, {
			label, sort: 'total', getKey: (row) => row.symbol, empty: `No ${label.toLowerCase()}.`,
			columns: [
				{ id: 'total', label: 'Weight', width: '100px', isNumber: true, sortBy: (row) => row.total,
					show: (row) => formatValue(row.total, model.getMetric().unit) },
				{ id: 'percent', label: 'Share', width: '90px', isNumber: true, sortBy: (row) => row.total,
					show: (row) => formatPercent(row.total, model.numbers.inclusive),
					bar: (row) => (model.numbers.inclusive ? row.total / model.numbers.inclusive : 0) },
				{ id: 'name', label: 'Function', width: 'minmax(120px, 1fr)', sortBy: (row) => row.name,
					show: (row) => make('span', { class: 'name', title: shorten(row.name) }, shorten(row.name)) },
			],
			onselect: (row, { shiftKey }) => model.selectLevels(shiftKey ? [row.symbol] : extend(row.symbol)),
			onmenu: (row, at) => actions.openMenu(extend(row.symbol), row.symbol, at),
		});
	}

	async show() {
		const { model } = this;
		const [callers, callees] = await Promise.all([
			model.client.call('children', [1, undefined]), model.client.call('children', [0, undefined])]);
		const isAll = !model.levels.length;
		this.callersTitle.textContent = isAll ? 'Innermost functions' : 'Callers';
		this.calleesTitle.textContent = isAll ? 'Outermost functions' : 'Callees';
		const callerRows = this.readRows(callers);
		const calleeRows = this.readRows(callees);
		this.callers.setRows(callerRows);
		this.callees.setRows(calleeRows);
		this.showFragment();
		this.showSums(callerRows, calleeRows);
	}

	/** @param {Uint8Array} bytes @returns {Relative[]} */
	readRows(bytes) {
		const boxes = new Boxes(bytes);
		const rows = [];
		for (let i = 0; i < boxes.length; i++)
			rows.push({ symbol: boxes.symbol(i), name: this.model.names?.getName(boxes.symbol(i)) ?? '',
				total: boxes.total(i), baselineTotal: boxes.baselineTotal(i) });
		return rows;
	}

	showFragment(room = MOST_LEVELS) {
		const { model } = this;
		const { levels } = model;
		const items = makeLevels(levels.length, room, (i) => make('li', { value: i + 1 }, make('button', {
			class: 'link name', onclick: () => model.selectLevels([levels[i]]),
		}, shorten(describeLevel(model.getLevel(levels[i]))))),
		(label) => make('li', { class: 'gap' }, make('button', { class: 'link', onclick: () => this.showFragment(4 * room) }, label)));
		this.fragment.replaceChildren(...(items.length ? items : [make('li', { class: 'muted' }, 'all stacks')]));
	}

	/** @param {Relative[]} callers @param {Relative[]} callees */
	showSums(callers, callees) {
		const { model } = this;
		const { inclusive, exclusive, noCaller, sum } = model.numbers;
		const metric = model.getMetric();
		/** @param {Relative[]} rows */
		const add = (rows) => rows.reduce((total, row) => total + row.total, 0);
		/** @param {string} label @param {number} value @param {string} id */
		const line = (label, value, id) => make('div', { class: 'sum-row' }, make('span', {}, label),
			make('b', { 'data-sum': id, 'data-value': value }, formatExact(value, metric)),
			make('span', { class: 'muted' }, formatPercent(value, sum)));
		const above = add(callers) + (model.levels.length ? noCaller : exclusive);
		const below = add(callees) + exclusive;
		const rows = [line('inclusive', inclusive, 'inclusive'), line('exclusive', exclusive, 'exclusive'),
			line('Σ callees', add(callees), 'callees')];
		if (model.levels.length)
			rows.push(line('Σ callers', add(callers), 'callers'), line('called by nothing', noCaller, 'noCaller'));
		const isRight = below === inclusive && (!model.levels.length || above === inclusive);
		rows.push(make('div', { class: isRight ? 'check' : 'check wrong', 'data-sum': 'check', 'data-value': isRight ? 1 : 0 },
			`Σ callers = inclusive = Σ callees + exclusive${isRight ? ' ✓' : ' does not hold'}`));
		this.sums.replaceChildren(...rows);
	}
}
