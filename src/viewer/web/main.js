// The page: makes the parts, connects them, and shows the tab that is chosen.

import { Chips, Crumbs, Search } from './views/bars.js';
import { shorten } from './core/bounds.js';
import { COLOR_MODES, MARK_COLORS } from './core/colors.js';
import { announce, copyText, find, make } from './core/dom.js';
import { Exporter, unpackBase64 } from './state/export.js';
import { Files, FilesView } from './views/files.js';
import { FlameView } from './views/flame.js';
import { FlatView } from './views/flat.js';
import { HeatmapView } from './views/heatmap.js';
import { Inspection } from './state/inspection.js';
import { listenToKeys, makeBindings, showSheet } from './state/keys.js';
import { LISTS, ListView } from './views/lists.js';
import { openMenu } from './core/menu.js';
import { Model } from './state/model.js';
import { Paper } from './core/paper.js';
import { pending } from './core/pending.js';
import { RelativesView } from './views/relatives.js';
import { describeLevel, isSame, makeLinkable } from './state/state.js';
import { TreeView } from './views/tree.js';
import { formatBytes, formatExact, formatPercent, formatValue } from './core/units.js';
import { WakersView } from './views/wakers.js';

/** @param {string} id */
const makeList = (id) => (/** @type {Page} */ page) =>
	new ListView(page.model, /** @type {typeof LISTS[number]} */ (LISTS.find((list) => list.id === id)));

/**
 * The views. isThere: whether the data has something to show; without it always. showsAll: also without any sample that
 * passes the filters.
 * @type {{id: string, label: string, key: string, make: (page: Page, actions: {openMenu: any}) => {show: () => any},
 *         isThere?: (model: Model) => boolean, showsAll?: boolean}[]}
 */
const TABS = [
	{ id: 'flame', label: 'Flame', key: '1', make: (page) => page.flame },
	{ id: 'flat', label: 'Flat', key: '2', make: (page, actions) => new FlatView(page.model, actions) },
	{ id: 'relatives', label: 'Callers & callees', key: '3', make: (page, actions) => new RelativesView(page.model, actions) },
	{ id: 'tree', label: 'Tree', key: '4', make: (page, actions) => new TreeView(page.model, actions) },
	{ id: 'threads', label: 'Threads', key: '5', make: makeList('threads') },
	{ id: 'processes', label: 'Processes', key: '6', make: makeList('processes') },
	{ id: 'modules', label: 'Modules', key: '7', make: makeList('modules') },
	{ id: 'files', label: 'Files', key: '8', make: (page) => new FilesView(page.model, page.files), showsAll: true },
	{ id: 'time', label: 'Time', key: '9', make: (page) => page.heatmap, isThere: (model) => model.hasTimes() },
	{ id: 'wakers', label: 'Wakers', key: 'w', isThere: (model) => model.findMetric('offwake') !== undefined, showsAll: true,
		make: (page, actions) => new WakersView(page.model, { ...actions, showFlame: () => page.showWakersFlame() }) },
];
const THEMES = [
	{ id: 'system', label: 'As the system' }, { id: 'light', label: 'Light' }, { id: 'dark', label: 'Dark' },
	{ id: 'contrast', label: 'High contrast' },
];

class Page {
	/** @param {Model} model @param {string} source */
	constructor(model, source) {
		this.model = model;
		/** @param {number[]} levels @param {number} level @param {{x: number, y: number}} place @param {() => void} [zoom] */
		const openFrameMenu = (levels, level, place, zoom) => this.openFrameMenu(levels, level, place, zoom);
		this.files = new Files(model);
		this.flame = new FlameView(model, { openMenu: openFrameMenu });
		this.paper = new Paper(this.flame);
		this.crumbs = new Crumbs(model);
		this.chips = new Chips(model);
		this.search = new Search(model, this.flame);
		this.exporter = new Exporter(model, this.flame, source);
		this.heatmap = new HeatmapView(model);
		/** @type {Record<string, {show: () => any}>} */
		this.views = Object.fromEntries(TABS.map((tab) => [tab.id, tab.make(this, { openMenu: openFrameMenu })]));
		this.isStarting = true;
		this.makeTabs();
		this.listen();
	}

	makeTabs() {
		find('tabs').replaceChildren(...TABS.map((tab) => make('button', {
			id: `tab-${tab.id}`, role: 'tab', 'aria-controls': `view-${tab.id}`, onclick: () => this.model.update({ tab: tab.id }),
		}, tab.label)));
		find('tabs').addEventListener('keydown', (/** @type {KeyboardEvent} */ event) => {
			/** @type {Record<string, number>} */
			const steps = { ArrowRight: 1, ArrowLeft: -1 };
			const step = steps[event.key];
			if (!step) return;
			const tabs = TABS.filter((tab) => this.hasTab(tab.id));
			const at = tabs.findIndex((tab) => tab.id === this.getTab());
			const next = tabs[(at + step + tabs.length) % tabs.length];
			this.model.update({ tab: next.id });
			find(`tab-${next.id}`).focus();
		});
	}

	/** @param {string} id */
	hasTab(id) {
		const tab = TABS.find((other) => other.id === id);
		return tab !== undefined && (!tab.isThere || tab.isThere(this.model));
	}

	getTab() {
		return this.hasTab(this.model.state.tab) ? this.model.state.tab : 'flame';
	}

	listen() {
		const { model } = this;
		model.addEventListener('change', () => this.show());
		model.addEventListener('place', () => this.showToolbar());
		model.addEventListener('names', () => {
			this.search.run();
			this.flame.painter.fills.clear();
		});
		model.addEventListener('failure', (event) => this.isStarting || this.files.complain(/** @type {CustomEvent} */ (event).detail));
		// What nobody waits for: a view that could not be drawn.
		addEventListener('unhandledrejection', ({ reason }) => this.files.complain(reason?.message ?? String(reason)));
		// Browsers ask nobody who has not touched the page, and complain of a page that wants it.
		addEventListener('beforeunload', (event) => model.hasUnsaved() && navigator.userActivation?.hasBeenActive !== false &&
			event.preventDefault());
		const actions = this.makeActions();
		const bindings = makeBindings(actions);
		actions.help = () => showSheet(bindings);
		for (const [, list] of bindings) for (const binding of list) if (binding.text === 'This sheet') binding.run = actions.help;
		listenToKeys(bindings, actions, TABS, (tab) => this.hasTab(tab) && model.update({ tab }));
		for (const [id, run] of Object.entries({
			back: actions.back, forward: actions.forward, 'open-files': actions.open, 'empty-open': actions.open, help: actions.help,
			'empty-folder': () => this.files.folder.click(),
		})) find(id).addEventListener('click', run);
		find('up').addEventListener('click', () => model.update({ direction: 'callees' }));
		find('down').addEventListener('click', () => model.update({ direction: 'callers' }));
		find('metric').addEventListener('change', () => model.update({ metric: /** @type {HTMLSelectElement} */ (find('metric')).value }));
		find('colors').addEventListener('click', () => this.openColorMenu());
		find('export').addEventListener('click', () => this.openExportMenu());
		find('theme').addEventListener('click', () => this.openThemeMenu());
		find('more').addEventListener('click', () => this.openViewMenu());
		find('no-match-clear').addEventListener('click', () => model.update({ filters: [], sides: '' }));
		matchMedia('(prefers-color-scheme: dark)').addEventListener('change', () => this.recolor());
	}

	/** @returns {Record<string, () => void>} */
	makeActions() {
		const { model } = this;
		return {
			search: () => {
				this.search.box.focus();
				this.search.box.select();
			},
			open: () => this.files.choose(),
			turn: () => model.update({ direction: model.state.direction === 'callees' ? 'callers' : 'callees' }),
			typeFragment: () => this.crumbs.type(),
			clear: () => model.selectLevels([]),
			back: () => model.go(-1),
			forward: () => model.go(1),
			next: () => this.search.go(1),
			previous: () => this.search.go(-1),
			only: () => this.filterSelection(false),
			without: () => this.filterSelection(true),
			menu: () => {
				const box = find('crumbs').getBoundingClientRect();
				if (model.levels.length)
					this.openFrameMenu(model.levels, model.levels[model.levels.length - 1], { x: box.left, y: box.bottom });
			},
			copy: () => this.copyFolded(),
			theme: () => this.nextTheme(),
			help: () => {},
		};
	}

	// ---- showing ----

	show() {
		const { model } = this;
		const hasData = model.hasData();
		const tab = this.getTab();
		document.body.classList.toggle('empty', !hasData);
		find('loading').hidden = hasData || !this.isStarting;
		find('empty').hidden = hasData || this.isStarting;
		find('workspace').hidden = !hasData;
		this.showToolbar();
		if (!hasData) return;
		const isNothing = model.numbers.sum === 0 && model.numbers.baselineSum === 0 &&
			!TABS.some(({ id, showsAll }) => id === tab && showsAll);
		find('no-match').hidden = !isNothing;
		for (const { id } of TABS) {
			find(`view-${id}`).hidden = id !== tab || isNothing;
			find(`tab-${id}`).hidden = !this.hasTab(id);
			find(`tab-${id}`).setAttribute('aria-selected', String(id === tab));
			find(`tab-${id}`).tabIndex = id === tab ? 0 : -1;
		}
		find(`tab-${tab}`).scrollIntoView({ block: 'nearest' });
		this.chips.show();
		this.showNumbers();
		this.crumbs.show();
		this.flame.marks = this.getMarks();
		this.flame.painter.fills.clear();
		if (!isNothing) this.views[tab].show();
		this.search.show();
	}

	showToolbar() {
		const { model } = this;
		const { state } = model;
		/** @type {HTMLButtonElement} */ (find('back')).disabled = !model.canGoBack();
		/** @type {HTMLButtonElement} */ (find('forward')).disabled = !model.canGoForward();
		find('up').setAttribute('aria-pressed', String(state.direction === 'callees'));
		find('down').setAttribute('aria-pressed', String(state.direction === 'callers'));
		const select = /** @type {HTMLSelectElement} */ (find('metric'));
		const current = model.getMetric();
		select.replaceChildren(...model.getMetrics().map((metric) => make('option', {
			value: `${metric.name}/${metric.unit}`, selected: metric.id === current.id,
		}, metric.unit === 'count' ? metric.name : `${metric.name} (${metric.unit})`)));
		const shown = model.getSources().filter((source) => source.side);
		document.title = shown.length ? `${shown.map((source) => source.name).join(', ')} — stackwide` : 'stackwide';
		find('file-count').textContent = shown.length === 1 ? shown[0].name.replace(/^.*\//, '') : shown.length ? `${shown.length} files` : 'Open…';
	}

	showNumbers() {
		const { model } = this;
		const { sum, inclusive, exclusive, isComparison } = model.numbers;
		const metric = model.getMetric();
		const parts = [make('b', { id: 'inclusive', 'data-value': inclusive, title: formatExact(inclusive, metric) },
			formatValue(inclusive, metric.unit), metric.unit === 'count' ? ` ${metric.name}` : '')];
		if (model.levels.length)
			parts.push(make('span', {}, formatPercent(inclusive, sum)), make('span', {
				class: 'muted', id: 'exclusive', 'data-value': exclusive, title: formatExact(exclusive, metric),
			}, `self ${formatPercent(exclusive, sum)}`));
		if (metric.sleepers !== undefined && !model.hidesSleepers()) {
			const threads = metric.sleepers ? `${formatValue(metric.sleepers, 'count')} thread${metric.sleepers === 1 ? '' : 's'}` : 'Some threads';
			parts.push(make('span', { class: 'muted', id: 'sleepers' }, `${threads} slept throughout `,
				make('button', { class: 'link', onclick: () => model.hideSleepers() }, 'leave out')));
		}
		if (isComparison) parts.push(make('span', { class: 'badge' }, 'comparison: A → B'));
		if (isComparison && model.changes?.isDoubtful)
			parts.push(make('span', { class: 'muted', id: 'doubt' },
				'most stacks weigh 1000 or more: they are not counts of samples, so no change can be proven'));
		find('numbers').replaceChildren(...parts);
		find('status').textContent = '';
	}

	/** Symbols that have a colour of their own. */
	getMarks() {
		/** @type {Map<number, string>} */
		const marks = new Map();
		const { names, state, markMatches } = this.model;
		for (const mark of state.marks) {
			const matches = mark.regex !== undefined ? markMatches.get(mark.regex) : undefined;
			matches?.forEach((isMatch, symbol) => isMatch && marks.set(symbol, mark.color));
			for (const name of mark.names) {
				const symbol = names?.find(name, false) ?? names?.find(name, true);
				if (symbol !== undefined) marks.set(symbol, mark.color);
			}
		}
		return marks;
	}

	// ---- menus ----

	/**
	 * @param {number[]} levels the fragment up to the frame @param {number} number of the frame's level
	 * @param {{x: number, y: number}} place @param {() => void} [zoom]
	 */
	openFrameMenu(levels, number, place, zoom) {
		const { model } = this;
		const { names } = model;
		if (!names || !levels.length) return;
		const level = model.getLevel(number);
		const module = names.getModule(names.getLevelFunction(number));
		/** @param {string} separator */
		const join = (separator) => levels.map((l) => names.getLevelName(l)).join(separator);
		// Filters are those of the command line, which go by names.
		/** @param {number[]} filtered */
		const addScope = (filtered) => (filtered.some((l) => model.getLevel(l).module !== undefined) ? ', in any module' : '');
		/** @type {'thread' | 'function'} */
		const kind = level.isThread ? 'thread' : 'function';
		/** @param {import('./state/state.js').FilterKind} filterKind @param {() => string} pattern @param {boolean} excludes */
		const filter = (filterKind, pattern, excludes) => () => model.addFilter({ kind: filterKind, pattern: pattern(), excludes });
		/** @type {import('./core/menu.js').MenuItem[]} */
		const items = [
			{ heading: shorten(describeLevel(level), 60) },
			{ label: 'Select up to here', hint: 'click', run: () => model.selectLevels(levels) },
			{ label: 'Select this function alone', hint: 'Shift+click', run: () => model.selectLevels([number]) },
			{ label: 'Who calls it', run: () => model.update({ fragment: [level], direction: 'callers' }) },
			{ label: 'What it calls', run: () => model.update({ fragment: [level], direction: 'callees' }) },
			...(zoom ? [{ label: 'Zoom to it', hint: 'z', run: zoom }] : []),
			{},
			{ label: `Only stacks with this ${kind}${addScope([number])}`, run: filter(kind, () => level.name, false) },
			{ label: `Without this ${kind}${addScope([number])}`, run: filter(kind, () => level.name, true) },
		];
		if (levels.length > 1)
			items.push({ label: `Only stacks with this fragment${addScope(levels)}`, run: filter('fragment', () => join(';'), false) },
				{ label: `Without this fragment${addScope(levels)}`, run: filter('fragment', () => join(';'), true) });
		if (model.findMetric('offwake'))
			items.push({ label: 'Who ended its waits', run: () => this.showWakers(levels) });
		if (module)
			items.push({ label: `Only stacks through ${shorten(module, 60)}`, run: filter('module', () => module, false) },
				{ label: `Without ${shorten(module, 60)}`, run: filter('module', () => module, true) });
		items.push({}, { label: 'Colour…', run: () => openMenu(this.makeColorItems([level.name]), place) },
			{ label: 'Copy the name', run: () => copyText(level.name) },
			{ label: 'Copy the stack', run: () => copyText(join('\n')) },
			{ label: 'Copy as a folded line', run: () => copyText(join(';')) });
		openMenu(items, place);
	}

	/** Of a stack that goes on with its waker, the wait is meant. @param {number[]} levels */
	showWakers(levels) {
		const { model } = this;
		const end = levels.findIndex((l) => model.names?.getLevelName(l) === '--');
		model.update({ tab: 'wakers', fragment: levels.slice(0, end < 0 ? levels.length : end).map((l) => model.getLevel(l)) });
	}

	/** What those did that ended the waits in the selection: in stacks of that metric it stands behind a frame `--`. */
	showWakersFlame() {
		const { model } = this;
		const { names, levels } = model;
		const metric = model.findMetric('offwake');
		if (!names || !metric) return;
		const [threads, functions] = [true, false].map((isThread) => levels.filter((l) => model.getLevel(l).isThread === isThread)
			.map((l) => names.getLevelName(l)));
		/** @type {import('./state/state.js').Filter[]} */
		const filters = threads.map((pattern) => ({ kind: 'thread', pattern, excludes: false }));
		// Before the `--`: a waker may have called it, too.
		if (functions.length && !functions.includes('--'))
			filters.push({ kind: 'fragment', excludes: false,
				pattern: `/(^|;)${functions.join(';').replace(/[\\^$.*+?()[\]{}|]/g, '\\$&')};(.*;)?--;/` });
		model.update({
			metric: `${metric.name}/${metric.unit}`, direction: 'callees', tab: 'flame', fragment: [{ name: '--', isThread: false }],
			filters: [...model.state.filters, ...filters],
		});
	}

	/**
	 * @param {string[]} wanted names of functions @param {string} [regex] or all that it matches
	 * @returns {import('./core/menu.js').MenuItem[]}
	 */
	makeColorItems(wanted, regex) {
		const { model } = this;
		/** @param {string | null} color */
		const mark = (color) => () => {
			const others = model.state.marks.map((m) => ({ ...m, names: m.names.filter((name) => !wanted.includes(name)) }))
				.filter((m) => (m.regex !== undefined ? m.regex !== regex : m.names.length));
			const added = regex !== undefined ? { color: color ?? '', names: [], regex } : { color: color ?? '', names: wanted };
			model.update({ marks: color ? [...others, added] : others });
		};
		return [{ heading: 'Colour' }, ...MARK_COLORS.map((color, i) => ({
			label: ['Violet', 'Green', 'Blue', 'Pink', 'Amber', 'Slate'][i], color, run: mark(color),
		})), { label: 'As the others', run: mark(null) }];
	}

	openColorMenu() {
		const { model } = this;
		const { state } = model;
		const matches = this.search.matches;
		/** @type {import('./core/menu.js').MenuItem[]} */
		const items = [{ heading: 'Colours' }, ...COLOR_MODES.filter((mode) => mode.id !== 'change' || model.numbers.isComparison)
			.map((mode) => ({ label: mode.label, isChosen: this.flame.getMode() === mode.id, run: () => model.update({ colors: mode.id }) }))];
		if (model.levels.length)
			items.push({}, { label: 'Colour the selection…', run: () => openMenu(this.makeColorItems(
				state.fragment.map((level) => level.name)), find('colors')) });
		if (matches)
			items.push({}, { label: 'Colour the matches of the search…', run: () =>
				openMenu(this.makeColorItems([], this.search.getPattern().slice(1, -1)), find('colors')) });
		if (state.marks.length) items.push({ label: 'Remove all own colours', run: () => model.update({ marks: [] }) });
		openMenu(items, find('colors'));
	}

	openExportMenu() {
		const { exporter } = this;
		const none = !this.model.hasData();
		openMenu([
			{ heading: 'Export this view' },
			{ label: 'Flame graph', hint: '.svg', isDisabled: none, run: () => this.save(exporter.saveFormat('svg', '.svg', 'image/svg+xml')) },
			{ label: 'Flame graph data', hint: '.json', isDisabled: none, run: () => this.save(exporter.saveFormat('json', '.json', 'application/json')) },
			{ label: 'Folded stacks', hint: '.folded', isDisabled: none, run: () => this.save(exporter.saveFormat('folded', '.folded', 'text/plain')) },
			{ label: 'Table', hint: '.txt', isDisabled: none, run: () => this.save(exporter.saveFormat('text', '.txt', 'text/plain')) },
			{ label: 'Picture', hint: '.png', isDisabled: none, run: () => this.save(exporter.savePicture()) },
			{},
			{ heading: 'Share everything' },
			{ label: 'This page with its data', hint: '.html', isDisabled: none, run: () => this.save(exporter.saveSession()) },
			{ label: 'Copy a link to this view', isDisabled: none, run: () => this.copyLink() },
			{ label: 'Print…', isDisabled: none, run: () => print() },
		], find('export'));
	}

	/** @param {Promise<void>} work */
	save(work) {
		pending.track(work).catch((error) => this.files.complain(error.message));
	}

	openViewMenu() {
		const { model } = this;
		const { state } = model;
		const baseline = model.getBaseline();
		/** @type {import('./core/menu.js').MenuItem[]} */
		const items = [{ heading: 'Order of frames' },
			{ label: 'Heaviest first', isChosen: state.order === 'weight', run: () => model.update({ order: 'weight' }) },
			{ label: 'By name', isChosen: state.order === 'name', run: () => model.update({ order: 'name' }) },
			{}, { heading: 'First frame of every stack' },
			{ label: 'Name of the thread', isChosen: state.root === 'comm', run: () => model.update({ root: 'comm' }) },
			{ label: 'Also frames of interpreters', isChosen: state.root === 'script', run: () => model.update({ root: 'script' }) },
			{ label: 'Process', isChosen: state.root === 'pid', run: () => model.update({ root: 'pid' }) },
			{ label: 'Thread', isChosen: state.root === 'tid', run: () => model.update({ root: 'tid' }) },
			{ label: 'None', isChosen: state.root === 'none', run: () => model.update({ root: 'none' }) }];
		if (model.getMetrics().length > 1) {
			items.push({}, { heading: 'Compare with' },
				{ label: 'Nothing', isChosen: !baseline, run: () => model.update({ baseline: 'none' }) },
				...model.getMetrics().filter((metric) => metric.id !== model.getMetric().id).map((metric) => ({
					label: metric.name, isChosen: metric.id === baseline?.id,
					run: () => model.update({ baseline: `${metric.name}/${metric.unit}` }),
				})));
		}
		if (this.search.matches)
			items.push({}, { heading: 'Matches of the search' },
				{ label: 'Only stacks with a match', run: () => model.addFilter({ kind: 'function', pattern: this.search.getPattern(), excludes: false }) },
				{ label: 'Without it', run: () => model.addFilter({ kind: 'function', pattern: this.search.getPattern(), excludes: true }) });
		openMenu(items, find('more'));
	}

	openThemeMenu() {
		const now = document.documentElement.dataset.theme ?? 'system';
		openMenu([{ heading: 'Appearance' }, ...THEMES.map((theme) => ({
			label: theme.label, isChosen: theme.id === now, run: () => this.setTheme(theme.id),
		}))], find('theme'));
	}

	/** @param {string} theme */
	setTheme(theme) {
		document.documentElement.dataset.theme = theme;
		try {
			localStorage.setItem('stackwide-theme', theme);
		} catch {
			// A page without storage forgets it.
		}
		this.recolor();
	}

	recolor() {
		this.flame.recolor();
		this.heatmap.recolor();
	}

	nextTheme() {
		const at = THEMES.findIndex((theme) => theme.id === (document.documentElement.dataset.theme ?? 'system'));
		const next = THEMES[(at + 1) % THEMES.length];
		this.setTheme(next.id);
		announce(next.label, true);
	}

	// ---- the selection ----

	/** @param {boolean} excludes */
	filterSelection(excludes) {
		const { model } = this;
		const { fragment } = model.state;
		if (!fragment.length) return announce('Select a function first', true);
		if (fragment.some((level) => level.module !== undefined)) announce('Filters match the name in any module', true);
		if (fragment.length === 1)
			return model.addFilter({ kind: fragment[0].isThread ? 'thread' : 'function', pattern: fragment[0].name, excludes });
		return model.addFilter({ kind: 'fragment', pattern: fragment.map((level) => level.name).join(';'), excludes });
	}

	async copyLink() {
		await copyText(location.href);
		if (!isSame(makeLinkable(this.model.state), this.model.state))
			announce('The link leaves out parts that are too long', true);
	}

	async copyFolded() {
		if (!this.model.hasData()) return;
		await copyText(await this.exporter.getFolded());
		announce('Copied the stacks of the view as folded text', true);
	}
}

/** The profile that the page came with. */
function takeOwnData() {
	const profile = find('profile');
	const text = profile.textContent?.trim();
	if (!text) return undefined;
	const name = profile.dataset.name ?? 'profile';
	find('opening').lastChild.textContent = ` Loading ${name} (${formatBytes(Math.floor((text.length * 3) / 4))})…`;
	profile.textContent = '';
	return { name, text };
}

/** What the page holds packed. @param {string} id */
function unpack(id) {
	const packed = new Blob([/** @type {any} */ (unpackBase64(find(id).textContent?.trim() ?? ''))]);
	return new Response(packed.stream().pipeThrough(new DecompressionStream('gzip')));
}

/** The page as it came, which an export fills with data: one whose scripts may not run yet. */
function getSource() {
	const needs = find('needs');
	const opening = find('opening');
	[needs.hidden, opening.hidden] = [false, true];
	const source = `<!DOCTYPE html>\n${document.documentElement.outerHTML}\n`;
	[needs.hidden, opening.hidden] = [true, false];
	return source;
}

async function start() {
	const source = getSource(); // before anything changes
	const own = takeOwnData();
	try {
		document.documentElement.dataset.theme = localStorage.getItem('stackwide-theme') ?? 'system';
	} catch {
		// A page without storage looks as the system does.
	}
	const firstView = find('first-view').textContent?.trim() ?? '';
	const model = new Model(await unpack('worker').text(), await unpack('core').arrayBuffer(), firstView);
	const page = new Page(model, source);
	page.show();
	await model.client.ready;
	const formats = await model.client.call('formats');
	find('formats').textContent = formats.filter((/** @type {any} */ f) => f.isRead).map((/** @type {any} */ f) => f.name).join(' · ');
	/** @type {any} */ (window).stackwide = new Inspection(page);
	if (own) {
		await page.files.open([{ name: own.name, blob: new Blob([/** @type {any} */ (unpackBase64(own.text))]) }]);
		model.numHeld = model.sources.length;
	}
	page.isStarting = false;
	page.show();
	document.documentElement.dataset.ready = 'yes';
}

/** @param {string} message what the browser says */
function explainStart(message) {
	const isForbidden = /\bCSP\b|Content Security Policy|unsafe-eval|worker is blocked/.test(message);
	if (!isForbidden)
		return `The viewer cannot start in this browser: ${message}. It needs WebAssembly with SIMD and DecompressionStream, ` +
			'as in Chrome 91, Firefox 113 and Safari 16.4.';
	const what = /worker is blocked|'Worker'/.test(message) ? 'workers' : 'WebAssembly';
	return `The server's Content-Security-Policy forbids this page ${what}. It must allow: ${find('needs').querySelector('code')?.textContent}`;
}

start().catch((error) => find('opening').replaceChildren(explainStart(error.message)));
