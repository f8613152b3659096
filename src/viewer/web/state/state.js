// What is looked at, as plain data, and as the text after `#` that brings it back.

/** @typedef {'function' | 'fragment' | 'thread' | 'process' | 'file' | 'module' | 'time'} FilterKind */
/** @typedef {{kind: FilterKind, pattern: string, excludes: boolean}} Filter */
/**
 * @typedef {object} Level one level of a fragment: every function of a name, a thread, or the function of one module
 * @property {string} name
 * @property {boolean} isThread
 * @property {string} [module] of the one that is meant; without it, whatever the module
 * @property {boolean} [isKernel] the one that the kernel runs; with a module only
 */
/** @typedef {{from: number, to: number}} Zoom parts of the whole width, 0 to 1 */
/** @typedef {{color: string, names: string[], regex?: string}} Mark a colour for some functions, or for all that a search finds */
/**
 * @typedef {object} State
 * @property {string} metric     name and unit, "cpu/nanoseconds"; '' for that which is shown first (model.js)
 * @property {string} baseline   the same, of a metric to compare with; '' for none
 * @property {Level[]} fragment  outermost first
 * @property {'callees' | 'callers'} direction
 * @property {'weight' | 'name'} order
 * @property {'comm' | 'script' | 'pid' | 'tid' | 'none'} root
 * @property {Filter[]} filters
 * @property {string} sides      a digit a file: 0 off, 1 shown, 2 the other side of a comparison
 * @property {string} colors     a mode of colors.js
 * @property {Mark[]} marks
 * @property {string} tab
 * @property {Zoom | null} zoom   null: the whole
 * @property {string} search
 * @property {boolean} isRegex    the search is an expression
 */

export const FILTER_KINDS = /** @type {FilterKind[]} */ (['function', 'fragment', 'thread', 'process', 'file', 'module', 'time']);
export const ROOTS = /** @type {const} */ (['comm', 'script', 'pid', 'tid', 'none']);

/** @returns {State} */
export function getFirstState() {
	return {
		metric: '', baseline: '', fragment: [], direction: 'callees', order: 'weight', root: 'comm', filters: [],
		sides: '', colors: 'name', marks: [], tab: 'flame', zoom: null, search: '', isRegex: false,
	};
}

/**
 * Whether two pieces of plain data say the same.
 * @param {any} a @param {any} b @returns {boolean}
 */
export function isSame(a, b) {
	if (a === b || typeof a !== 'object' || typeof b !== 'object' || !a || !b) return a === b;
	if (Array.isArray(a) && a.length !== b.length) return false;
	return Object.keys({ ...a, ...b }).every((key) => isSame(a[key], b[key]));
}

// What a zoom is a part of: it means nothing in another flame.
const FLAME_KEYS = /** @type {const} */ (['metric', 'baseline', 'fragment', 'direction', 'order', 'root', 'filters', 'sides']);

/** Whether both show the same flame, whatever is seen of it. @param {State} a @param {State} b */
export function hasSameFlame(a, b) {
	return FLAME_KEYS.every((key) => isSame(a[key], b[key]));
}

/** Whether both differ in no more than the place in the flame and the search. @param {State} a @param {State} b */
export function hasSameView(a, b) {
	return hasSameFlame(a, b) && a.colors === b.colors && a.tab === b.tab && isSame(a.marks, b.marks);
}

/** With no more digits than a screen can show. @param {number} from @param {number} to @returns {Zoom | null} */
export function makeZoom(from, to) {
	const digits = Math.min(15, 4 + Math.ceil(-Math.log10(to - from)));
	const zoom = { from: Number(from.toFixed(digits)), to: Number(to.toFixed(digits)) };
	return zoom.from <= 0 && zoom.to >= 1 ? null : zoom;
}

/** A level for a person. @param {Level} level */
export function describeLevel({ name, module, isKernel }) {
	return module === undefined ? name : `${name} (${module || (isKernel ? 'kernel' : 'no module')})`;
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

/** A bare @ begins a thread, and bare | divide a name from its module: encode() leaves neither. @param {Level} level */
function writeLevel({ name, isThread, module, isKernel }) {
	if (isThread) return `@${encode(name)}`;
	return module === undefined ? encode(name) : `${encode(name)}|${encode(module)}${isKernel ? '|kernel' : ''}`;
}

/** @param {string} text @returns {Level} */
function readLevel(text) {
	const [name, module, kind] = text.replace(/^@/, '').split('|');
	const level = { name: decode(name), isThread: text.startsWith('@') };
	if (level.isThread || module === undefined) return level;
	return { ...level, module: decode(module), ...(kind === 'kernel' ? { isKernel: true } : {}) };
}

/** A bare / begins an expression, and is none of a name. @param {string} text @param {boolean} isRegex */
const writePattern = (text, isRegex) => (isRegex ? `/${encode(text)}` : encode(text).replace(/^\//, '%2F'));

/** @param {State} state */
export function writeHash(state) {
	const first = getFirstState();
	const parts = [];
	if (state.fragment.length) parts.push(`f=${state.fragment.map(writeLevel).join(';')}`);
	for (const key of /** @type {const} */ (['direction', 'metric', 'baseline', 'order', 'root', 'sides', 'colors', 'tab']))
		if (state[key] !== first[key]) parts.push(`${key}=${encode(state[key])}`);
	for (const filter of state.filters)
		parts.push(`${filter.excludes ? 'out' : 'in'}=${filter.kind}:${encode(filter.pattern)}`);
	for (const { color, names, regex } of state.marks) {
		const patterns = regex !== undefined ? [writePattern(regex, true)] : names.map((name) => writePattern(name, false));
		parts.push(`mark=${[encode(color), ...patterns].join(';')}`);
	}
	if (state.zoom) parts.push(`zoom=${state.zoom.from},${state.zoom.to}`);
	if (state.search || state.isRegex) parts.push(`search=${writePattern(state.search, state.isRegex)}`);
	return parts.join('&');
}

const MOST_LINK_CHARACTERS = 6000;

/**
 * What of a state can be in a URL: a name may have millions of characters, a fragment thousands of
 * names. What is too long is left out as a whole.
 * @param {State} state @returns {State}
 */
export function makeLinkable(state) {
	let room = MOST_LINK_CHARACTERS;
	/** @param {string[]} texts */
	const fits = (texts) => {
		const length = texts.reduce((sum, text) => sum + text.length, 0);
		if (length > room) return false;
		room -= length;
		return true;
	};
	const linkable = {
		...state,
		fragment: fits(state.fragment.map((level) => level.name + (level.module ?? ''))) ? state.fragment : [],
		filters: state.filters.filter((filter) => fits([filter.pattern])),
		marks: state.marks.filter((mark) => fits([...mark.names, mark.regex ?? ''])),
		search: fits([state.search]) ? state.search : '',
	};
	return hasSameFlame(state, linkable) ? linkable : { ...linkable, zoom: null };
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

/** @param {string} value @returns {Zoom | null} */
function readZoom(value) {
	const [from, to] = value.split(',').map(Number);
	return from >= 0 && to <= 1 && to - from > 1e-10 ? makeZoom(from, to) : null;
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
			state.fragment = value.split(';').map(readLevel);
		else if (key === 'in' || key === 'out') readFilter(state, value, key === 'out');
		else if (key === 'mark') readMark(state, value);
		else if (key === 'zoom') state.zoom = readZoom(value);
		else if (key === 'search') {
			state.isRegex = value.startsWith('/');
			state.search = decode(value.replace(/^\//, ''));
		} else if (key === 'direction') state.direction = choose(value, ['callees', 'callers'], 'callees');
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
