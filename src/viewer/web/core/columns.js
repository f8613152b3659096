// Columns that several tables have: names, weights, percents, and both sides of a comparison.

import { make } from './dom.js';
import { formatPercent, formatPoints, formatValue } from './units.js';

/** @typedef {{self: number, total: number, baselineSelf: number, baselineTotal: number}} Weights */

/**
 * @template {Weights} R
 * @param {import('../state/model.js').Model} model
 * @param {boolean} hasSelf
 * @param {(row: R) => number} [getFunction] the function whose verdict is the row's; without there is none
 * @returns {import('./table.js').Column<R>[]}
 */
export function makeWeightColumns(model, hasSelf, getFunction) {
	if (model.numbers.isComparison) return makeComparisonColumns(model, hasSelf, getFunction);
	const { unit } = model.getMetric();
	const { sum } = model.numbers;
	/** @type {import('./table.js').Column<R>[]} */
	const columns = [];
	/** @type {('self' | 'total')[]} */
	const keys = hasSelf ? ['self', 'total'] : ['total'];
	for (const key of keys) {
		columns.push({
			id: key, label: key === 'self' ? 'Self' : 'Total', width: 'minmax(84px, 116px)', isNumber: true, isSpare: true,
			sortBy: (row) => row[key], show: (row) => formatValue(row[key], unit),
		}, {
			id: `${key}-percent`, label: key === 'self' ? 'Self %' : 'Total %', width: 'minmax(88px, 130px)', isNumber: true,
			sortBy: (row) => row[key], show: (row) => formatPercent(row[key], sum), bar: (row) => (sum ? row[key] / sum : 0),
		});
	}
	return columns;
}

/**
 * How the change of a row reads: the verdict is that of the row's function.
 * @param {number} change in points @param {import('../state/changes.js').Change | undefined} verdict
 */
function describeChange(change, verdict) {
	if (!verdict) return { className: '', title: null };
	const interval = `95 % interval: ${formatPoints(verdict.low)} to ${formatPoints(verdict.high)} points`;
	if (!verdict.isReal) return { className: 'noise', title: `${interval}; could be chance` };
	return { className: change > 0 ? 'more' : 'less', title: `${interval}; changed` };
}

/**
 * @template {Weights} R
 * @param {import('../state/model.js').Model} model
 * @param {boolean} hasSelf
 * @param {(row: R) => number} [getFunction]
 * @returns {import('./table.js').Column<R>[]}
 */
function makeComparisonColumns(model, hasSelf, getFunction) {
	const { sum, baselineSum } = model.numbers;
	/** @type {import('./table.js').Column<R>[]} */
	const columns = [];
	/** @type {('self' | 'total')[]} */
	const keys = hasSelf ? ['self', 'total'] : ['total'];
	for (const key of keys) {
		const baseKey = key === 'self' ? 'baselineSelf' : 'baselineTotal';
		const label = key === 'self' ? 'Self' : 'Total';
		/** @param {R} row */
		const getBefore = (row) => (baselineSum ? (100 * row[baseKey]) / baselineSum : 0);
		/** @param {R} row */
		const getAfter = (row) => (sum ? (100 * row[key]) / sum : 0);
		columns.push({
			id: `${key}-before`, label: `${label} before`, width: '96px', isNumber: true, isSpare: true,
			sortBy: getBefore, show: (row) => formatPercent(row[baseKey], baselineSum),
		}, {
			id: `${key}-after`, label: `${label} after`, width: '96px', isNumber: true, isSpare: true,
			sortBy: getAfter, show: (row) => formatPercent(row[key], sum),
		}, {
			id: `${key}-change`, label: `${label} change, points`, width: '136px', isNumber: true,
			sortBy: (row) => Math.abs(getAfter(row) - getBefore(row)), isFirstOrder: key === keys[0],
			show: (row) => {
				const change = getAfter(row) - getBefore(row);
				const verdict = getFunction ? model.changes?.get(getFunction(row), key) : undefined;
				const { className, title } = describeChange(change, verdict);
				return make('span', { class: className, title }, formatPoints(change),
					verdict ? make('small', {}, ` ± ${((verdict.high - verdict.low) / 2).toFixed(2)}`) : '');
			},
		});
	}
	return columns;
}
