// What is looked at, as plain data, and as the text after `#` that brings it back.

/** @typedef {'function' | 'fragment' | 'thread' | 'process' | 'file' | 'module' | 'time'} FilterKind */
/** @typedef {{kind: FilterKind, pattern: string, excludes: boolean}} Filter */
/** @typedef {{name: string, isThread: boolean}} Level one level of a fragment */
/** @typedef {{color: string, names: string[], regex?: string}} Mark a colour for some functions, or for all that a search finds */
/**
 * @typedef {object} State
 * @property {string} metric     name and unit, "cpu/nanoseconds"; '' for the first
 * @property {string} baseline   the same, of a metric to compare with; '' for none
 * @property {Level[]} fragment  outermost first
 * @property {'callees' | 'callers'} direction
 * @property {'weight' | 'name'} order
 * @property {'comm' | 'pid' | 'tid' | 'none'} root
 * @property {Filter[]} filters
 * @property {string} sides      a digit a file: 0 off, 1 shown, 2 the other side of a comparison
 * @property {string} colors     a mode of colors.js
 * @property {Mark[]} marks
 * @property {string} tab
 */

export const FILTER_KINDS = /** @type {FilterKind[]} */ (['function', 'fragment', 'thread', 'process', 'file', 'module', 'time']);
export const ROOTS = /** @type {const} */ (['comm', 'pid', 'tid', 'none']);

/** @returns {State} */
export function getFirstState() {
	return {
		metric: '', baseline: '', fragment: [], direction: 'callees', order: 'weight', root: 'comm', filters: [],
		sides: '', colors: 'name', marks: [], tab: 'flame',
	};
}

/** @param {string} text */
const encode = (text) => encodeURIComponent(text).replaceAll('%20', '+').replaceAll('%3A', ':').replaceAll('%2F', '/');

/** @param {string} text */
function decode(text) {
	try {
		return decodeURIComponent(text.replaceAll('+', ' '));
	} catch {
		return text;
	}
}

/** @param {State} state */
export function writeHash(state) {
	const first = getFirstState();
	const parts = [];
	if (state.fragment.length) {
		// A level that stands for a thread begins with a bare @, which encode() would not leave.
		const levels = state.fragment.map((level) => (level.isThread ? '@' : '') + encode(level.name));
		parts.push(`f=${levels.join(';')}`);
	}
	for (const key of /** @type {const} */ (['direction', 'metric', 'baseline', 'order', 'root', 'sides', 'colors', 'tab']))
		if (state[key] !== first[key]) parts.push(`${key}=${encode(state[key])}`);
	for (const filter of state.filters)
		parts.push(`${filter.excludes ? 'out' : 'in'}=${filter.kind}:${encode(filter.pattern)}`);
	for (const mark of state.marks) {
		// A bare / begins an expression, and is none of a name.
		const names = mark.names.map((name) => encode(name).replace(/^\//, '%2F'));
		parts.push(`mark=${encode(mark.color)};${mark.regex !== undefined ? `/${encode(mark.regex)}` : names.join(';')}`);
	}
	return parts.join('&');
}

/** @template {string} T @param {string} value @param {readonly T[]} allowed @param {T} otherwise @returns {T} */
function choose(value, allowed, otherwise) {
	return /** @type {T} */ (allowed.includes(/** @type {T} */ (value)) ? value : otherwise);
}

/** @param {State} state @param {string} value @param {boolean} excludes */
function readFilter(state, value, excludes) {
	const colon = value.indexOf(':');
	const kind = /** @type {FilterKind} */ (value.slice(0, colon));
	if (colon > 0 && FILTER_KINDS.includes(kind))
		state.filters.push({ kind, pattern: decode(value.slice(colon + 1)), excludes });
}

/** @param {State} state @param {string} value */
function readMark(state, value) {
	const [color, ...names] = value.split(';');
	if (names.length === 1 && names[0].startsWith('/'))
		state.marks.push({ color: decode(color), names: [], regex: decode(names[0].slice(1)) });
	else state.marks.push({ color: decode(color), names: names.map(decode) });
}

/** @param {string} hash what stands after the `#` @returns {State} */
export function readHash(hash) {
	const state = getFirstState();
	for (const part of hash.split('&')) {
		const equals = part.indexOf('=');
		const key = part.slice(0, equals);
		const value = part.slice(equals + 1);
		if (equals < 0) continue;
		if (key === 'f')
			state.fragment = value.split(';').map((level) => ({
				isThread: level.startsWith('@'), name: decode(level.replace(/^@/, '')),
			}));
		else if (key === 'in' || key === 'out') readFilter(state, value, key === 'out');
		else if (key === 'mark') readMark(state, value);
		else if (key === 'direction') state.direction = choose(value, ['callees', 'callers'], 'callees');
		else if (key === 'order') state.order = choose(value, ['weight', 'name'], 'weight');
		else if (key === 'root') state.root = choose(value, ROOTS, 'comm');
		else if (key === 'metric' || key === 'baseline' || key === 'colors' || key === 'tab' || key === 'sides')
			state[key] = decode(value);
	}
	return state;
}

/** As the command line takes it: "--include function:main". @param {Filter} filter */
export function describeFilter(filter) {
	return `${filter.excludes ? '--exclude' : '--include'} ${filter.kind}:${filter.pattern}`;
}
