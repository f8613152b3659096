// Columns that several tables have: names, weights, percents, and both sides of a comparison.

import { make } from './dom.js';
import { formatPercent, formatPoints, formatValue } from './units.js';

/** @typedef {{self: number, total: number, baselineSelf: number, baselineTotal: number}} Weights */

/**
 * @template {Weights} R
 * @param {import('./model.js').Model} model
 * @param {boolean} hasSelf
 * @returns {import('./table.js').Column<R>[]}
 */
export function makeWeightColumns(model, hasSelf) {
	if (model.numbers.isComparison) return makeComparisonColumns(model, hasSelf);
	const { unit } = model.getMetric();
	const { sum } = model.numbers;
	/** @type {import('./table.js').Column<R>[]} */
	const columns = [];
	/** @type {('self' | 'total')[]} */
	const keys = hasSelf ? ['self', 'total'] : ['total'];
	for (const key of keys) {
		columns.push({
			id: key, label: key === 'self' ? 'Self' : 'Total', width: 'minmax(84px, 116px)', isNumber: true,
			sortBy: (row) => row[key], show: (row) => formatValue(row[key], unit),
		}, {
			id: `${key}-percent`, label: key === 'self' ? 'Self %' : 'Total %', width: 'minmax(88px, 130px)', isNumber: true,
			sortBy: (row) => row[key], show: (row) => formatPercent(row[key], sum), bar: (row) => (sum ? row[key] / sum : 0),
		});
	}
	return columns;
}

/**
 * How far a change of share could be chance alone: half the width of the 95 % interval for the
 * difference of two proportions, when weights are counts of samples.
 * @param {number} before @param {number} beforeSum @param {number} after @param {number} afterSum
 */
export function getNoise(before, beforeSum, after, afterSum) {
	if (!beforeSum || !afterSum) return 100;
	// One success and one failure more on each side (Agresti and Caffo), so that none is certain.
	const p = (before + 1) / (beforeSum + 2);
	const q = (after + 1) / (afterSum + 2);
	return 196 * Math.sqrt((p * (1 - p)) / (beforeSum + 2) + (q * (1 - q)) / (afterSum + 2));
}

/**
 * @template {Weights} R
 * @param {import('./model.js').Model} model
 * @param {boolean} hasSelf
 * @returns {import('./table.js').Column<R>[]}
 */
function makeComparisonColumns(model, hasSelf) {
	const { sum, baselineSum } = model.numbers;
	const isCount = model.getMetric().unit === 'count';
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
			id: `${key}-before`, label: `${label} before`, width: '96px', isNumber: true,
			sortBy: getBefore, show: (row) => formatPercent(row[baseKey], baselineSum),
		}, {
			id: `${key}-after`, label: `${label} after`, width: '96px', isNumber: true,
			sortBy: getAfter, show: (row) => formatPercent(row[key], sum),
		}, {
			id: `${key}-change`, label: 'Change, points', width: '136px', isNumber: true,
			sortBy: (row) => Math.abs(getAfter(row) - getBefore(row)),
			show: (row) => {
				const change = getAfter(row) - getBefore(row);
				const noise = isCount ? getNoise(row[baseKey], baselineSum, row[key], sum) : 0;
				const isReal = Math.abs(change) > noise;
				return make('span', { class: !isReal ? 'noise' : change > 0 ? 'more' : 'less',
					title: isCount ? `95 % interval: ± ${noise.toFixed(2)} points${isReal ? '' : '; could be chance'}` : null },
				formatPoints(change), isCount ? make('small', {}, ` ± ${noise.toFixed(2)}`) : '');
			},
		});
	}
	return columns;
}
