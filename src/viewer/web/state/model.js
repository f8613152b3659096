// What is open and what is looked at. Everything that changes goes through update(); everything
// that shows listens to 'change'.

import { Changes } from './changes.js';
import { Client } from '../core/client.js';
import { Names } from '../core/names.js';
import { pending } from '../core/pending.js';
import { readView } from './saved_view.js';
import { ROOTS, getFirstState, hasSameFlame, hasSameView, isSame, makeLinkable, readHash, writeHash } from './state.js';

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
/**
 * @typedef {object} Metric
 * @property {number} id
 * @property {string} name
 * @property {string} unit
 * @property {number} total
 * @property {number} [sleepers] threads that slept throughout; 0: some, which are not told apart
 */
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
/** The outermost frame of threads that slept throughout (SLEPT_FRAME_NAME). */
const SLEPT_FRAME = '[slept throughout]';

/** The core gives 64-bit numbers as texts. @param {any} object */
function readNumbers(object) {
	for (const key of Object.keys(object))
		if (typeof object[key] === 'string' && /^\d+$/.test(object[key]) && !['name', 'path', 'unit'].includes(key))
			object[key] = Number(object[key]);
	return object;
}

export class Model extends EventTarget {
	/** @param {string} workerSource @param {ArrayBuffer} wasm @param {string} firstView of a saved page; '' for none */
	constructor(workerSource, wasm, firstView) {
		super();
		this.client = new Client(workerSource, wasm, (reason) => this.emit('failure', reason.message));
		const entry = history.state;
		const isSaved = firstView !== '' && !entry && location.hash.length < 2;
		/** @type {State} */
		this.state = isSaved ? readHash(firstView) : this.readEntry(entry);
		/** @type {Source[]} */
		this.sources = [];
		this.numHeld = 0; // of the sources: the page holds them, or another one that was saved
		/** @type {Metric[]} */
		this.metrics = [];
		/** @type {Names | undefined} */
		this.names = undefined;
		/** @type {number[]} of the fragment, as names.js numbers them */
		this.levels = [];
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
		this.position = entry?.position ?? 0; // in the history
		this.last = this.position;
		/** @type {Promise<void>} */
		this.queue = Promise.resolve();
		/** @type {Promise<void>} what is dropped meanwhile waits for what was dropped before */
		this.opening = Promise.resolve();
		if (isSaved) this.record(true);
		else history.replaceState({ ...entry, position: this.position }, '');
		addEventListener('popstate', (event) => this.followHistory(event.state));
	}

	/** @param {string} type @param {any} [detail] */
	emit(type, detail) {
		this.dispatchEvent(new CustomEvent(type, { detail }));
	}

	hasData() {
		return this.sources.some((source) => !source.isGone);
	}

	/** Whether something is open that would be lost with the page. */
	hasUnsaved() {
		return this.sources.slice(this.numHeld).some((source) => !source.isGone);
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

	/** All time of a recording of waits: as the command line chooses (profile_find_wall_metric()). */
	getWallMetric() {
		/** @param {string} name */
		const isTime = (name) => (/** @type {Metric} */ metric) => metric.name === name && metric.unit === 'nanoseconds';

		return this.metrics.some(isTime('blocked')) ? this.getMetrics().find(isTime('wall')) : undefined;
	}

	/** One that something has. @param {string} name */
	findMetric(name) {
		return this.metrics.find((metric) => metric.name === name && metric.total > 0);
	}

	/** @returns {Metric} */
	getMetric() {
		const wanted = this.metrics.find((metric) => `${metric.name}/${metric.unit}` === this.state.metric);
		return wanted ?? this.getWallMetric() ?? this.getMetrics().find((metric) => metric.name !== 'before') ??
			this.getMetrics()[0] ?? { id: 0, name: 'samples', unit: 'count', total: 0 };
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
	 * @param {boolean} [replaces] the step before, which it goes on with
	 */
	update(patch, replaces = false) {
		const before = this.state;
		this.state = { ...before, ...patch };
		if (!patch.zoom && !hasSameFlame(before, this.state)) this.state.zoom = null;
		if (!isSame(before, this.state)) this.record(replaces);
		return this.show(before);
	}

	/** Put the state into the history: what is too long for a URL only there. @param {boolean} replaces */
	record(replaces) {
		const linkable = makeLinkable(this.state);
		if (!replaces) this.last = ++this.position;
		const put = replaces ? 'replaceState' : 'pushState';
		const address = `#${writeHash(linkable)}`;
		try {
			history[put]({ position: this.position, view: isSame(linkable, this.state) ? undefined : this.state }, '', address);
		} catch {
			history[put]({ position: this.position }, '', address); // more than a browser keeps (16 MiB)
		}
	}

	/** @param {{position?: number, view?: State} | null} entry @returns {State} */
	readEntry(entry) {
		return entry?.view ? { ...getFirstState(), ...entry.view } : readHash(location.hash.slice(1));
	}

	/** @param {{position?: number, view?: State} | null} entry */
	followHistory(entry) {
		pending.delete('history');
		const before = this.state;
		this.position = entry?.position ?? 0;
		this.last = Math.max(this.last, this.position);
		this.state = this.readEntry(entry);
		this.show(before);
	}

	/** @param {number} step 1 or -1; beyond the page's own is the browser's history */
	go(step) {
		if (step < 0 ? this.canGoBack() : this.canGoForward()) pending.add('history');
		history.go(step);
	}

	/** Another place in the flame, or another search, needs nothing that was not there before. @param {State} before */
	show(before) {
		if (isSame(before, this.state) || !hasSameView(before, this.state)) return this.refresh();
		this.emit('place');
		return this.queue;
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
			this.levels = this.findLevels();
			const lines = state.filters.map((f) => `${f.excludes ? '-' : '+'}${f.kind}:${f.pattern}`.replaceAll('\n', ' '));
			await this.ask([
				this.getMetric().id, this.getBaseline()?.id ?? METRIC_NONE, lines.join('\n'), this.levels,
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
	findLevels() {
		const levels = [];
		for (const level of this.state.fragment) {
			const found = this.names?.findLevel(level);
			if (found === undefined) break;
			levels.push(found);
		}
		if (levels.length < this.state.fragment.length)
			this.state = { ...this.state, fragment: this.state.fragment.slice(0, levels.length) };
		return levels;
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
		return pending.track(opened);
	}

	/** @param {{name: string, blob: Blob, format?: string}[]} files */
	async openNow(files) {
		const failures = [];
		const isFirst = !this.sources.length && files.length === 1 && isSame(this.state, getFirstState());
		const hadData = this.hasData();
		for (const [i, file] of files.entries()) {
			this.emit('progress', { name: file.name, done: i, count: files.length });
			try {
				await this.client.call('load', [file.name, file.blob, file.format ?? '']);
			} catch (error) {
				failures.push(/** @type {Error} */ (error).message);
			}
		}
		this.emit('progress', null);
		if (isFirst && !failures.length) await this.takeView(files[0]);
		if (hadData && failures.length < files.length) this.forgetZoom();
		try {
			await this.readOverview();
		} catch (error) {
			failures.push(/** @type {Error} */ (error).message);
		}
		this.needsNames = true;
		await this.refresh();
		return failures;
	}

	/** A saved page that is dropped on an empty one is looked at as it was. @param {{name: string, blob: Blob}} file */
	async takeView(file) {
		const view = await readView(file);
		if (!view) return;
		this.state = readHash(view);
		this.record(true);
	}

	/** Other files make another flame. */
	forgetZoom() {
		if (!this.state.zoom) return;
		this.state = { ...this.state, zoom: null };
		this.record(true);
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
		this.forgetZoom();
		await this.readOverview();
		if (!this.hasData()) this.state = getFirstState();
		await this.refresh();
	}

	/** @param {number} level @returns {import('./state.js').Level} */
	getLevel(level) {
		return /** @type {Names} */ (this.names).getLevel(level);
	}

	/** @param {number[]} levels outermost first */
	selectLevels(levels) {
		return this.update({ fragment: levels.map((level) => this.getLevel(level)) });
	}

	/** Whether threads that slept throughout are left out. */
	hidesSleepers() {
		return this.state.filters.some(({ kind, pattern, excludes }) => kind === 'function' && pattern === SLEPT_FRAME && excludes);
	}

	hideSleepers() {
		return this.addFilter({ kind: 'function', pattern: SLEPT_FRAME, excludes: true });
	}

	/** @param {import('./state.js').Filter} filter */
	addFilter(filter) {
		const same = this.state.filters.some((f) => f.kind === filter.kind && f.pattern === filter.pattern &&
			f.excludes === filter.excludes);
		return same ? Promise.resolve() : this.update({ filters: [...this.state.filters, filter] });
	}
}
