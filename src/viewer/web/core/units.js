// Numbers as people read them.

const grouped = new Intl.NumberFormat('en-US', { maximumFractionDigits: 0 });

/** Steps of a unit: from the one that is stored upwards. */
const TIME_STEPS = [
	{ name: 'ns', size: 1 }, { name: 'µs', size: 1e3 }, { name: 'ms', size: 1e6 }, { name: 's', size: 1e9 },
];
const BYTE_STEPS = [
	{ name: 'B', size: 1 }, { name: 'KiB', size: 2 ** 10 }, { name: 'MiB', size: 2 ** 20 },
	{ name: 'GiB', size: 2 ** 30 }, { name: 'TiB', size: 2 ** 40 },
];
/** @type {Record<string, number>} nanoseconds in a unit */
const TIME_UNITS = { nanoseconds: 1, ns: 1, microseconds: 1e3, us: 1e3, milliseconds: 1e6, ms: 1e6, seconds: 1e9, s: 1e9 };

/** @param {string} unit */
export function isTime(unit) {
	return unit in TIME_UNITS;
}

/** @param {number} value @param {{name: string, size: number}[]} steps */
function scale(value, steps) {
	let step = steps[0];
	for (const candidate of steps) if (Math.abs(value) >= candidate.size) step = candidate;
	const scaled = value / step.size;
	const digits = step.size === 1 || Math.abs(scaled) >= 1000 ? 0 : Math.abs(scaled) >= 100 ? 1 : 2;
	return `${scaled.toFixed(digits)} ${step.name}`;
}

/**
 * A weight with its unit: 1.25 s, 3.40 MiB, 1,234.
 * @param {number} value
 * @param {string} unit
 */
export function formatValue(value, unit) {
	if (isTime(unit)) return scale(value * TIME_UNITS[unit], TIME_STEPS);
	if (unit === 'bytes') return scale(value, BYTE_STEPS);
	return grouped.format(value);
}

/** To the last digit, with what is counted: "1,234 samples". @param {number} value @param {{name: string, unit: string}} metric */
export function formatExact(value, metric) {
	const number = grouped.format(value);
	if (metric.unit === 'count' || metric.unit === '') return `${number} ${metric.name}`;
	return `${number} ${metric.unit}`;
}

/** @param {number} part @param {number} whole */
export function formatPercent(part, whole) {
	if (!whole) return '–';
	const percent = (100 * part) / whole;
	if (percent !== 0 && Math.abs(percent) < 0.01) return percent < 0 ? '> −0.01 %' : '< 0.01 %';
	if (percent < 100 && percent >= 99.995) return '> 99.99 %';
	return `${percent.toFixed(2)} %`;
}

/** Points of percent with their sign. @param {number} points */
export function formatPoints(points) {
	const sign = points > 0 ? '+' : points < 0 ? '−' : '±';
	return `${sign}${Math.abs(points).toFixed(2)}`;
}

/** @param {number} bytes */
export function formatBytes(bytes) {
	return scale(bytes, BYTE_STEPS);
}

/** @param {number} count @param {string} one @param {string} [many] */
export function formatCount(count, one, many = `${one}s`) {
	return `${grouped.format(count)} ${count === 1 ? one : many}`;
}
