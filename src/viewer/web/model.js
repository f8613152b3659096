// What is open and what is looked at. Everything that changes goes through update(); everything
// that shows listens to 'change'.

import { Changes } from './changes.js';
import { Client } from './client.js';
import { Names } from './names.js';
import { ROOTS, getFirstState, readHash, writeHash } from './state.js';

/** @typedef {import('./state.js').State} State */
/**
 * @typedef {object} Source
 * @property {number} id
 * @property {string} name as the user wants it
 * @property {string} path as it was opened: what filters ask for
 * @property {string} format
 * @property {number} size bytes
 * @property {number} records
 * @property {number} samples
 * @property {number} weight in the first metric that it has
 * @property {Record<string, number>} tallies
 * @property {string} warnings lines
 * @property {number} side
 * @property {boolean} isGone
 * @property {boolean} hasTimes of its samples
 */
/** @typedef {{id: number, name: string, unit: string, total: number}} Metric */
/**
 * @typedef {object} Numbers of the fragment that is looked at
 * @property {number} sum everything that passes the filters
 * @property {number} inclusive
 * @property {number} exclusive
 * @property {number} noCaller what begins with the fragment
 * @property {number} baselineSum
 * @property {number} baselineInclusive
 * @property {number} baselineExclusive
 * @property {number} baselineNoCaller
 * @property {boolean} isComparison
 */

/** @type {Numbers} */
const NO_NUMBERS = {
	sum: 0, inclusive: 0, exclusive: 0, noCaller: 0, baselineSum: 0, baselineInclusive: 0, baselineExclusive: 0,
	baselineNoCaller: 0, isComparison: false,
};
const METRIC_NONE = 0xffffffff;

/** The core gives 64-bit numbers as texts. @param {any} object */
function readNumbers(object) {
	for (const key of Object.keys(object))
		if (typeof object[key] === 'string' && /^\d+$/.test(object[key]) && !['name', 'path', 'unit'].includes(key))
			object[key] = Number(object[key]);
	return object;
}

export class Model extends EventTarget {
	/** @param {string} workerSource @param {ArrayBuffer} wasm */
	constructor(workerSource, wasm) {
		super();
		this.client = new Client(workerSource, wasm);
		/** @type {State} */
		this.state = readHash(location.hash.slice(1));
		/** @type {Source[]} */
		this.sources = [];
		/** @type {Metric[]} */
		this.metrics = [];
		/** @type {Names | undefined} */
		this.names = undefined;
		/** @type {number[]} the fragment's symbols */
		this.symbols = [];
		this.numbers = NO_NUMBERS;
		/** @type {Changes | undefined} of a comparison, once they are known */
		this.changes = undefined;
		this.changesAsked = '';
		/** @type {Map<string, Uint8Array>} by expression of a mark: by symbol, whether it is meant */
		this.markMatches = new Map();
		this.graphs = 0; // so many there were: numbers of functions are of one
		this.revision = 0; // of the view: what was laid out for another is out of date
		this.asked = ''; // of the core, for this revision
		this.busy = 0;
		this.needsNames = true;
		this.position = 0; // in the history
		this.last = 0;
		/** @type {Promise<void>} */
		this.queue = Promise.resolve();
		/** @type {Promise<void>} what is dropped meanwhile waits for what was dropped before */
		this.opening = Promise.resolve();
		history.replaceState({ position: 0 }, '');
		addEventListener('popstate', (event) => this.followHistory(event.state));
	}

	/** @param {string} type @param {any} [detail] */
	emit(type, detail) {
		this.dispatchEvent(new CustomEvent(type, { detail }));
	}

	hasData() {
		return this.sources.some((source) => !source.isGone);
	}

	/** Whether something that is shown knows when its samples were taken. */
	hasTimes() {
		return this.sources.some((source) => source.hasTimes && source.side && !source.isGone);
	}

	getSources() {
		return this.sources.filter((source) => !source.isGone);
	}

	/** Metrics that something which is open has. */
	getMetrics() {
		const shown = this.metrics.filter((metric) => metric.total > 0);
		return shown.length ? shown : this.metrics;
	}

	/** @returns {Metric} */
	getMetric() {
		const wanted = this.metrics.find((metric) => `${metric.name}/${metric.unit}` === this.state.metric);
		return wanted ?? this.getMetrics().find((metric) => metric.name !== 'before') ?? this.getMetrics()[0] ??
			{ id: 0, name: 'samples', unit: 'count', total: 0 };
	}

	/** @returns {Metric | undefined} */
	getBaseline() {
		const wanted = this.metrics.find((metric) => `${metric.name}/${metric.unit}` === this.state.baseline);
		if (wanted || this.state.baseline === 'none') return wanted;
		// A comparison that came as one file.
		return this.getMetric().name === 'after' ? this.metrics.find((metric) => metric.name === 'before') : undefined;
	}

	/**
	 * Change what is looked at, as a step of the history.
	 * @param {Partial<State>} patch
	 */
	update(patch) {
		const state = { ...this.state, ...patch };
		const hash = writeHash(state);
		if (hash !== writeHash(this.state)) {
			this.position++;
			this.last = this.position;
			history.pushState({ position: this.position }, '', `#${hash}`);
		}
		this.state = state;
		return this.refresh();
	}

	/** @param {{position?: number} | null} entry */
	followHistory(entry) {
		this.position = entry?.position ?? 0;
		this.last = Math.max(this.last, this.position);
		this.state = readHash(location.hash.slice(1));
		this.refresh();
	}

	canGoBack() {
		return this.position > 0;
	}

	canGoForward() {
		return this.position < this.last;
	}

	/** One after the other; of several waiting, all end with the latest state. */
	refresh() {
		this.queue = this.queue.then(() => this.look(), () => this.look());
		return this.queue;
	}

	async look() {
		if (!this.hasData()) {
			this.numbers = NO_NUMBERS;
			this.emit('change');
			return;
		}
		try {
			await this.applySides();
			if (this.needsNames || this.preparedRoot !== this.state.root) await this.prepare();
			const state = this.state;
			this.symbols = this.findSymbols();
			const lines = state.filters.map((f) => `${f.excludes ? '-' : '+'}${f.kind}:${f.pattern}`.replaceAll('\n', ' '));
			await this.ask([
				this.getMetric().id, this.getBaseline()?.id ?? METRIC_NONE, lines.join('\n'), this.symbols,
				state.direction === 'callees' ? 0 : 1, state.order === 'weight' ? 0 : 1,
			]);
			await this.findMarks();
			this.emit('change');
			await this.findChanges(lines);
		} catch (error) {
			this.asked = '';
			this.emit('failure', /** @type {Error} */ (error).message);
		}
	}

	/** The numbers of what is looked at, unless they are there: another tab or colour needs none. @param {any[]} look */
	async ask(look) {
		const asked = JSON.stringify(look);
		if (asked === this.asked) return;
		const looked = this.client.call('look', look);
		this.emit('look'); // what shows it can ask already: the worker does one after the other
		this.numbers = readNumbers(await looked);
		this.asked = asked;
		this.revision++;
	}

	async findMarks() {
		for (const { regex } of this.state.marks) {
			if (regex === undefined || this.markMatches.has(regex)) continue;
			try {
				const answer = await this.client.call('search', [`/${regex}/`]);
				this.markMatches.set(regex, answer.subarray(8));
			} catch {
				this.markMatches.set(regex, new Uint8Array()); // of a link: it is no expression
			}
		}
	}

	/** They take a while, and depend neither on the fragment nor on what is shown of it. @param {string[]} filters */
	async findChanges(filters) {
		const asked = !this.numbers.isComparison ? '' : JSON.stringify([
			this.getMetric().id, this.getBaseline()?.id, filters, this.sources.map((source) => source.isGone ? 0 : source.side), this.graphs,
		]);
		if (asked === this.changesAsked) return;
		this.changesAsked = asked;
		this.changes = undefined;
		if (asked) this.changes = new Changes(await this.client.call('changes'));
		this.revision++;
		this.emit('change');
	}

	async prepare() {
		this.asked = '';
		this.graphs++;
		this.markMatches.clear();
		this.preparedRoot = this.state.root;
		this.names = new Names(await this.client.call('prepare', [ROOTS.indexOf(this.state.root)]));
		this.needsNames = false;
		this.emit('names');
	}

	/** Files that the state wants off, or on the other side. */
	async applySides() {
		let hasChanged = false;
		for (const source of this.sources) {
			const side = Number(this.state.sides[source.id] ?? 1);
			if (source.side === side || source.isGone) continue;
			source.side = side;
			hasChanged = true;
			await this.client.call('setSide', [source.id, side]);
		}
		if (!hasChanged) return;
		this.asked = '';
		await this.readOverview();
	}

	/** A fragment whose functions are not there is cut where they end. */
	findSymbols() {
		const symbols = [];
		for (const level of this.state.fragment) {
			const symbol = this.names?.find(level.name, level.isThread);
			if (symbol === undefined) break;
			symbols.push(symbol);
		}
		if (symbols.length < this.state.fragment.length)
			this.state = { ...this.state, fragment: this.state.fragment.slice(0, symbols.length) };
		return symbols;
	}

	async readOverview() {
		const overview = await this.client.call('overview');
		this.sources = overview.sources.map((/** @type {any} */ s, /** @type {number} */ id) =>
			({ id, ...readNumbers(s), tallies: readNumbers(s.tallies) }));
		this.metrics = overview.metrics.map((/** @type {any} */ m, /** @type {number} */ id) => ({ id, ...readNumbers(m) }));
	}

	/**
	 * Read files, one after the other; one that cannot be read does no harm.
	 * @param {{name: string, blob: Blob, format?: string}[]} files
	 * @returns {Promise<string[]>} what went wrong
	 */
	open(files) {
		const opened = this.opening.then(() => this.openNow(files));
		this.opening = opened.then(() => {}, () => {});
		return opened;
	}

	/** @param {{name: string, blob: Blob, format?: string}[]} files */
	async openNow(files) {
		const failures = [];
		for (const [i, file] of files.entries()) {
			this.emit('progress', { name: file.name, done: i, count: files.length });
			try {
				await this.client.call('load', [file.name, file.blob, file.format ?? '']);
			} catch (error) {
				failures.push(/** @type {Error} */ (error).message);
			}
		}
		this.emit('progress', null);
		await this.readOverview();
		this.needsNames = true;
		await this.refresh();
		return failures;
	}

	/** @param {number} id @param {number} side */
	setSide(id, side) {
		let sides = '';
		for (const source of this.sources) sides += source.id === id ? side : (this.state.sides[source.id] ?? 1);
		return this.update({ sides: /^1*$/.test(sides) ? '' : sides });
	}

	/** Sides as the state has them, by the numbers that files get when a saved page is opened again. */
	getPackedSides() {
		const sides = this.getSources().filter((source) => source.samples).map((source) => source.side).join('');
		// What is alone is the page's own; else the page itself comes first.
		return /^1*$/.test(sides) ? '' : sides.length > 1 ? `1${sides}` : sides;
	}

	/** @param {number} id @param {string} name */
	async rename(id, name) {
		await this.client.call('rename', [id, name]);
		await this.readOverview();
		this.emit('change');
	}

	/** @param {number} id */
	async remove(id) {
		await this.client.call('remove', [id]);
		this.asked = '';
		await this.readOverview();
		if (!this.hasData()) this.state = getFirstState();
		await this.refresh();
	}

	/** @param {number} symbol @returns {import('./state.js').Level} */
	getLevel(symbol) {
		return /** @type {Names} */ (this.names).getLevel(symbol);
	}

	/** @param {number[]} symbols outermost first */
	selectSymbols(symbols) {
		return this.update({ fragment: symbols.map((symbol) => this.getLevel(symbol)) });
	}

	/** @param {import('./state.js').Filter} filter */
	addFilter(filter) {
		const same = this.state.filters.some((f) => f.kind === filter.kind && f.pattern === filter.pattern &&
			f.excludes === filter.excludes);
		return same ? Promise.resolve() : this.update({ filters: [...this.state.filters, filter] });
	}
}
