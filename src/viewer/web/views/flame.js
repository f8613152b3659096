// The flame view: what is shown of the flame, and what the mouse, fingers and keys do with it.

import { find, make } from '../core/dom.js';
import { Minimap } from './minimap.js';
import { Boxes, NODE_INLINED, NODE_THREAD, getKindWord } from '../core/names.js';
import { shorten } from '../core/bounds.js';
import { Painter, ROW_HEIGHT } from '../core/painter.js';
import { pending } from '../core/pending.js';
import { formatExact, formatPercent, formatPoints, formatValue } from '../core/units.js';
import { Zoom } from '../state/zoom.js';

const LEAST_PIXELS = 0.5;
const MOST_ARIA_ITEMS = 400;
const DRAG_PIXELS = 4;
const ALL = 0xffffffff;

export class FlameView {
	/**
	 * @param {import('../state/model.js').Model} model
	 * @param {{openMenu: (levels: number[], level: number, place: {x: number, y: number}, zoom: () => void) => void}} actions
	 */
	constructor(model, actions) {
		this.model = model;
		this.actions = actions;
		/** @type {HTMLElement} */
		this.area = find('flame');
		this.sizer = find('flame-sizer');
		this.tree = find('flame-tree');
		/** @type {HTMLElement} */
		this.tip = find('tip');
		this.painter = new Painter(find('flame-canvas'));
		this.zoom = new Zoom(model, () => this.requestLayout());
		this.minimap = new Minimap(find('minimap'), this.zoom);
		this.hovered = -1;
		this.focused = -1;
		this.layoutNumber = 0;
		this.boxes = new Boxes(new Uint8Array(0));
		this.whole = this.boxes;
		this.wholeWidth = 1;
		this.wholeRevision = -1;
		this.fromBase = 0; // css pixels between what is in sight and the edge that the base is at
		this.areaHeight = 0; // that this was seen at
		/** @type {number[]} */
		this.parents = [];
		/** @type {number[][]} box numbers by row, from left to right */
		this.rows = [];
		/** @type {Uint8Array | null} */
		this.matches = null;
		/** @type {Map<number, string>} */
		this.marks = new Map();
		this.revision = -1;
		this.isFresh = true;
		this.listen();
	}

	listen() {
		this.area.addEventListener('scroll', () => {
			this.notePlace();
			this.draw();
		});
		this.area.addEventListener('pointermove', (event) => this.handleMove(event));
		this.area.addEventListener('pointerleave', () => this.hover(-1));
		this.area.addEventListener('pointerdown', (event) => this.handleDown(event));
		this.area.addEventListener('pointerup', (event) => this.handleUp(event));
		this.area.addEventListener('pointercancel', () => this.endDrag());
		this.area.addEventListener('contextmenu', (event) => this.handleMenu(event));
		this.area.addEventListener('wheel', (event) => this.handleWheel(event), { passive: false });
		this.area.addEventListener('keydown', (event) => this.handleKey(event));
		this.area.addEventListener('focus', () => this.draw());
		this.area.addEventListener('blur', () => this.draw());
		this.model.addEventListener('look', () => this.askAhead());
		new ResizeObserver(() => {
			this.keepPlace();
			this.requestLayout();
		}).observe(this.area);
		/** @type {Map<number, PointerEvent>} fingers and buttons that are down */
		this.pointers = new Map();
	}

	isVisible() {
		return this.area.clientWidth > 0 && this.area.offsetParent !== null;
	}

	/** The model changed: another flame. */
	show() {
		const isOther = this.revision !== this.model.revision;
		if (isOther) {
			this.revision = this.model.revision;
			this.isFresh = true;
			this.focused = -1;
		}
		if (isOther || !this.zoom.isMoving) this.zoom.follow();
		this.requestLayout();
	}

	/** Ask for the whole of what will be looked at, together with its numbers. */
	askAhead() {
		this.ahead = undefined;
		if (!this.isVisible()) return;
		const width = this.getWidth();
		const boxes = this.model.client.call('layout', [0, 1, width, LEAST_PIXELS]);
		boxes.catch(() => {}); // who waits for it is told; nobody may
		this.ahead = { boxes, width, revision: this.model.revision + 1 };
	}

	/** In pixels of the screen. */
	getWidth() {
		return Math.max(1, Math.round(this.area.clientWidth * (devicePixelRatio || 1)));
	}

	/** @param {number} width @param {number} revision */
	askForWhole(width, revision) {
		const { ahead } = this;
		this.ahead = undefined;
		if (ahead && ahead.width === width && ahead.revision === revision) return ahead.boxes;
		return this.model.client.call('layout', [0, 1, width, LEAST_PIXELS]);
	}

	requestLayout() {
		if (!this.model.names || !this.model.hasData() || !this.isVisible()) return;
		this.isWanted = true;
		if (!this.isLayingOut) this.layout();
	}

	/** One at a time; what came in between is asked for once, afterwards. */
	async layout() {
		this.isLayingOut = true;
		try {
			await this.layOutWanted();
		} finally {
			this.isLayingOut = false; // also where the worker has failed
		}
	}

	async layOutWanted() {
		while (this.isWanted) {
			this.isWanted = false;
			const width = this.getWidth();
			const { revision } = this.model;
			const { from, to } = this.zoom;
			const isWhole = this.zoom.isWhole();
			// Of another flame the whole is needed in any case, for the minimap.
			const whole = isWhole || this.wholeRevision !== revision ? new Boxes(await this.askForWhole(width, revision)) : undefined;
			const boxes = isWhole && whole ? whole : new Boxes(await this.model.client.call('layout', [from, to, width, LEAST_PIXELS]));
			if (revision !== this.model.revision) {
				this.isWanted = true;
				continue;
			}
			if (whole) {
				this.whole = whole;
				this.wholeWidth = width;
				this.wholeRevision = revision;
			}
			this.take(boxes);
		}
	}

	/** @param {Boxes} boxes */
	take(boxes) {
		const focusedNode = this.focused >= 0 ? this.boxes.node(this.focused) : -1;
		const last = [];
		this.boxes = boxes;
		this.parents = new Array(boxes.length);
		this.rows = [];
		this.hover(-1);
		this.focused = -1;
		for (let i = 0; i < boxes.length; i++) {
			const depth = boxes.depth(i);
			this.parents[i] = depth ? last[depth - 1] : -1;
			last[depth] = i;
			(this.rows[depth] ??= []).push(i);
			if (boxes.node(i) === focusedNode) this.focused = i;
		}
		this.layoutNumber++;
		this.notePlace();
		if (this.isFresh) this.fromBase = 0;
		this.isFresh = false;
		this.resize();
		this.keepPlace();
		this.tree.replaceChildren();
		this.draw();
		this.model.emit('layout');
		const number = this.layoutNumber; // the picture comes first
		pending.add('flame-tree');
		requestAnimationFrame(() => setTimeout(() => {
			if (number !== this.layoutNumber) return;
			pending.delete('flame-tree');
			this.fillTree();
		}));
	}

	growsUp() {
		return this.model.state.direction === 'callees';
	}

	resize() {
		this.height = Math.max(this.area.clientHeight, this.rows.length * ROW_HEIGHT + 4);
		this.sizer.style.height = `${this.height}px`;
		this.painter.resize(this.area.clientWidth, this.area.clientHeight);
	}

	/** Where in the height we are, as a distance from the base. */
	notePlace() {
		const { area } = this;
		if (area.clientHeight !== this.areaHeight) return; // it has lost or won height, and not been moved since
		this.fromBase = this.growsUp() ? area.scrollHeight - area.clientHeight - area.scrollTop : area.scrollTop;
	}

	/** The rows that were in sight stay there, whether the minimap comes or rows at the far end go. */
	keepPlace() {
		const { area } = this;
		if (!area.clientHeight) return; // on another tab
		area.scrollTop = this.growsUp() ? area.scrollHeight - area.clientHeight - this.fromBase : this.fromBase;
		this.areaHeight = area.clientHeight;
	}

	/** @returns {import('../core/painter.js').Scene} */
	getScene() {
		return {
			boxes: this.boxes, names: /** @type {any} */ (this.model.names), top: this.area.scrollTop,
			height: this.height ?? 0, growsUp: this.growsUp(), mode: this.getMode(), marks: this.marks,
			matches: this.matches, hovered: this.hovered,
			focused: document.activeElement === this.area ? this.focused : -1,
			sums: this.model.numbers, changes: this.model.changes, allLabel: this.getAllLabel(),
		};
	}

	getMode() {
		const { colors } = this.model.state;
		return colors === 'name' && this.model.numbers.isComparison ? 'change' : colors;
	}

	getAllLabel() {
		const metric = this.model.getMetric();
		const { sum } = this.model.numbers;
		return `all — ${metric.unit === 'count' ? formatExact(sum, metric) : formatValue(sum, metric.unit)}`;
	}

	draw() {
		if (this.isDrawWanted || !this.model.names) return;
		this.isDrawWanted = true;
		pending.add('flame');
		requestAnimationFrame(() => {
			this.isDrawWanted = false;
			pending.delete('flame');
			if (!this.isVisible()) return;
			this.painter.paint(this.getScene());
			this.drawMinimap();
		});
	}

	drawMinimap() {
		const { from, to } = this.zoom;
		const isShown = !this.zoom.isWhole() || this.matches !== null;
		this.minimap.canvas.hidden = !isShown;
		if (isShown && this.whole.length)
			this.minimap.paint(this.whole, this.wholeWidth, /** @type {any} */ (this.model.names), {
				from, to, growsUp: this.growsUp(), matches: this.matches,
				isDark: Boolean(this.painter.isDark),
			});
	}

	/** Colours changed. */
	recolor() {
		this.painter.readTheme();
		this.draw();
	}

	/** @param {Uint8Array | null} matches by symbol */
	setMatches(matches) {
		this.matches = matches;
		this.painter.fills.clear();
		this.draw();
	}

	// ---- what is where ----

	/** @param {{clientX: number, clientY: number}} event @returns {number} box, or -1 */
	findBox({ clientX, clientY }) {
		const area = this.area.getBoundingClientRect();
		const x = (clientX - area.left) * (devicePixelRatio || 1);
		const y = clientY - area.top + this.area.scrollTop;
		const depth = Math.floor((this.growsUp() ? (this.height ?? 0) - y : y) / ROW_HEIGHT);
		const row = this.rows[depth] ?? [];
		let low = 0;
		let high = row.length - 1;
		while (low <= high) {
			const middle = (low + high) >> 1;
			const left = this.boxes.x(row[middle]);
			if (x < left) high = middle - 1;
			else if (x >= Math.max(left + 1, left + this.boxes.width(row[middle]))) low = middle + 1;
			else return row[middle];
		}
		return -1;
	}

	/** The box as a level of a fragment; those of the selection may be of one module. @param {number} box */
	getLevel(box) {
		const { levels } = this.model;
		const depth = this.boxes.depth(box);
		return this.boxes.isBase(box) && levels.length ? levels[this.growsUp() ? depth : levels.length - 1 - depth] : this.boxes.symbol(box);
	}

	/**
	 * The fragment that a click on a box selects.
	 * @param {number} box
	 * @returns {number[]} levels, outermost first
	 */
	getFragment(box) {
		const base = this.model.levels;
		const depth = this.boxes.depth(box);
		if (this.boxes.isBase(box))
			return this.growsUp() ? base.slice(0, depth + 1) : base.slice(base.length - 1 - depth);
		const path = [];
		for (let i = box; i >= 0 && !this.boxes.isBase(i); i = this.parents[i]) path.push(this.boxes.symbol(i));
		// The path runs from the box to the base: outermost last for callees, first for callers.
		return this.growsUp() ? [...base, ...path.reverse()] : [...path, ...base];
	}

	/** @param {number} box @param {boolean} isSingle */
	select(box, isSingle) {
		if (this.boxes.symbol(box) === ALL) this.model.selectLevels([]);
		else this.model.selectLevels(isSingle ? [this.getLevel(box)] : this.getFragment(box));
	}

	// ---- pointer ----

	/** @param {PointerEvent} event */
	handleDown(event) {
		this.pointers?.set(event.pointerId, event);
		this.dragged = false;
		this.downAt = { x: event.clientX, y: event.clientY, from: this.zoom.from, to: this.zoom.to, top: this.area.scrollTop };
		if (this.pointers?.size === 2) this.pinch = this.measurePinch();
	}

	/** @param {PointerEvent} event */
	handleMove(event) {
		if (!this.pointers?.has(event.pointerId)) {
			this.hover(this.findBox(event), event);
			return;
		}
		this.pointers.set(event.pointerId, event);
		if (this.pointers.size === 2) this.followPinch();
		else if (this.downAt) this.followDrag(event, this.downAt);
	}

	/** @param {PointerEvent} event @param {{x: number, y: number, from: number, to: number, top: number}} start */
	followDrag(event, start) {
		const dx = event.clientX - start.x;
		const dy = event.clientY - start.y;
		if (!this.dragged && Math.hypot(dx, dy) < DRAG_PIXELS) return;
		if (!this.dragged) this.area.setPointerCapture(event.pointerId);
		this.dragged = true;
		this.hover(-1);
		const size = start.to - start.from;
		const shift = (-dx / this.area.clientWidth) * size;
		const from = Math.min(1 - size, Math.max(0, start.from + shift));
		this.zoom.moveTo(from, from + size);
		if (event.pointerType === 'mouse') this.area.scrollTop = start.top - dy;
	}

	measurePinch() {
		const [a, b] = [...(this.pointers?.values() ?? [])];
		const left = this.area.getBoundingClientRect().left;
		return {
			distance: Math.max(20, Math.abs(a.clientX - b.clientX)), from: this.zoom.from, to: this.zoom.to,
			middle: ((a.clientX + b.clientX) / 2 - left) / this.area.clientWidth,
		};
	}

	followPinch() {
		const now = this.measurePinch();
		const start = this.pinch ?? now;
		const size = Math.min(1, ((start.to - start.from) * start.distance) / now.distance);
		const anchor = start.from + start.middle * (start.to - start.from);
		this.dragged = true;
		this.zoom.moveTo(anchor - now.middle * size, anchor + (1 - now.middle) * size);
	}

	/** @param {PointerEvent} event */
	handleUp(event) {
		this.pointers?.delete(event.pointerId);
		const wasClick = !this.dragged && event.button === 0;
		if (this.pointers?.size === 0) this.endDrag();
		if (!wasClick) return;
		const box = this.findBox(event);
		this.area.focus({ preventScroll: true });
		if (box >= 0) this.select(box, event.shiftKey);
	}

	endDrag() {
		this.pointers?.clear();
		this.downAt = undefined;
		this.zoom.end();
	}

	/** @param {MouseEvent} event */
	handleMenu(event) {
		event.preventDefault();
		this.pointers?.clear();
		const box = this.findBox(event);
		if (box >= 0) this.openMenu(box, { x: event.clientX, y: event.clientY });
	}

	/** @param {number} box @param {{x: number, y: number}} place */
	openMenu(box, place) {
		this.hover(-1);
		this.actions.openMenu(this.boxes.symbol(box) === ALL ? [] : this.getFragment(box), this.getLevel(box), place,
			() => {
				this.zoomToBox(box);
				this.zoom.end();
			});
	}

	/** @param {WheelEvent} event */
	handleWheel(event) {
		const sideways = event.shiftKey ? event.deltaY || event.deltaX : event.deltaX;
		if (event.ctrlKey || event.metaKey) {
			const area = this.area.getBoundingClientRect();
			const at = (event.clientX - area.left) / area.width;
			this.zoom.zoomBy(Math.exp(Math.max(-60, Math.min(60, event.deltaY)) * 0.01), at);
		} else if (sideways && !this.zoom.isWhole()) this.zoom.shiftBy(sideways / this.area.clientWidth);
		else return;
		event.preventDefault();
		this.zoom.endSoon();
	}

	/** @param {number} box */
	zoomToBox(box) {
		const width = this.area.clientWidth * (devicePixelRatio || 1);
		const scale = this.zoom.getSize() / width;
		const left = this.zoom.from + this.boxes.x(box) * scale;
		this.zoom.moveTo(left, left + this.boxes.width(box) * scale);
	}

	// ---- what is said about a box ----

	/** @param {number} box @param {PointerEvent} [event] */
	hover(box, event) {
		if (box !== this.hovered) {
			this.hovered = box;
			this.draw();
			if (box >= 0) this.tip.replaceChildren(...this.describe(box));
			this.area.style.cursor = box >= 0 ? 'pointer' : 'default';
		}
		this.tip.hidden = box < 0;
		if (box < 0 || !event) return;
		const x = event.clientX + 14;
		const y = event.clientY + 18;
		this.tip.style.left = `${Math.max(8, Math.min(x, innerWidth - this.tip.offsetWidth - 8))}px`;
		this.tip.style.top = `${y + this.tip.offsetHeight > innerHeight - 8 ? event.clientY - this.tip.offsetHeight - 12 : y}px`;
	}

	/** @param {number} box */
	describe(box) {
		const { boxes, model } = this;
		const metric = model.getMetric();
		const names = /** @type {import('../core/names.js').Names} */ (model.names);
		const { inclusive, sum, baselineSum, isComparison } = model.numbers;
		const symbol = boxes.symbol(box);
		const flags = boxes.flags(box);
		const kind = flags & NODE_THREAD ? 'thread' : `${getKindWord(flags)}${flags & NODE_INLINED ? ', inlined' : ''}`;
		const module = symbol === ALL ? '' : names.getModule(boxes.function(box));
		const rows = [
			make('div', { class: 'tip-name' }, symbol === ALL ? 'all' : shorten(names.getName(symbol))),
			make('div', { class: 'tip-about' }, symbol === ALL ? 'every stack that matches the filters'
				: [kind, shorten(module)].filter(Boolean).join(' · ')),
			this.describeNumber('total', boxes.total(box), metric, inclusive, sum),
		];
		rows.push(this.describeNumber(this.growsUp() ? 'self' : 'begins here', boxes.self(box), metric, inclusive, sum));
		if (isComparison) {
			const before = baselineSum ? (100 * boxes.baselineTotal(box)) / baselineSum : 0;
			const after = sum ? (100 * boxes.total(box)) / sum : 0;
			rows.push(make('div', { class: 'tip-row' }, make('span', {}, 'before → after'),
				make('b', {}, `${before.toFixed(2)} % → ${after.toFixed(2)} %`),
				make('span', {}, `${formatPoints(after - before)} points`)));
		}
		return rows;
	}

	/** @param {string} label @param {number} value @param {import('../state/model.js').Metric} metric @param {number} view @param {number} all */
	describeNumber(label, value, metric, view, all) {
		const parts = [formatPercent(value, all)];
		if (view !== all) parts.push(`${formatPercent(value, view)} of the selection`);
		return make('div', { class: 'tip-row' }, make('span', {}, label),
			make('b', {}, formatValue(value, metric.unit), metric.unit === 'count' ? ` ${metric.name}` : ''),
			make('span', {}, parts.join(' · ')));
	}

	/** One line for people who listen. @param {number} box */
	getSpoken(box) {
		const name = shorten(this.painter.getLabel(this.getScene(), box));
		return `${name}, ${formatPercent(this.boxes.total(box), this.model.numbers.sum)}, ` +
			`self ${formatPercent(this.boxes.self(box), this.model.numbers.sum)}`;
	}

	/** The tree that screen readers see: the widest of the boxes that are shown. */
	fillTree() {
		let least = 0;
		if (this.boxes.length > MOST_ARIA_ITEMS) {
			const widths = [];
			for (let i = 0; i < this.boxes.length; i++) widths.push(this.boxes.width(i));
			least = widths.sort((a, b) => b - a)[MOST_ARIA_ITEMS];
		}
		const items = [];
		for (let i = 0; i < this.boxes.length; i++)
			if ((this.boxes.width(i) >= least && items.length < MOST_ARIA_ITEMS) || i === this.focused) items.push(this.makeItem(i));
		this.tree.replaceChildren(...items);
		if (this.focused < 0) this.area.removeAttribute('aria-activedescendant');
		else this.area.setAttribute('aria-activedescendant', `box-${this.focused}`);
	}

	/** @param {number} box */
	makeItem(box) {
		return make('div', {
			id: `box-${box}`, role: 'treeitem', 'aria-level': this.boxes.depth(box) + 1,
			'aria-selected': String(this.boxes.isBase(box)),
		}, this.getSpoken(box));
	}

	// ---- keys ----

	/** @param {number} box */
	focus(box) {
		if (box < 0 || box >= this.boxes.length) return;
		this.focused = box;
		let item = document.getElementById(`box-${box}`);
		if (!item) {
			item = this.makeItem(box);
			this.tree.append(item);
		}
		this.area.setAttribute('aria-activedescendant', item.id);
		find('status').replaceChildren(this.getSpoken(box));
		const y = this.painter.getY(this.getScene(), this.boxes.depth(box));
		if (y < 0) this.area.scrollTop += y - ROW_HEIGHT;
		else if (y + ROW_HEIGHT > this.area.clientHeight) this.area.scrollTop += y + 2 * ROW_HEIGHT - this.area.clientHeight;
		this.draw();
	}

	/** The widest box on a box. @param {number} box */
	findChild(box) {
		const row = this.rows[this.boxes.depth(box) + 1] ?? [];
		let widest = -1;
		for (const i of row)
			if (this.parents[i] === box && (widest < 0 || this.boxes.width(i) > this.boxes.width(widest))) widest = i;
		return widest;
	}

	/** @param {number} box @param {number} step */
	findNeighbour(box, step) {
		const row = this.rows[this.boxes.depth(box)];
		return row[row.indexOf(box) + step] ?? box;
	}

	/** @param {string} key @returns {boolean} whether the key meant something */
	moveFocus(key) {
		if (!key.startsWith('Arrow') && key !== 'Home') return false;
		if (this.focused < 0 || key === 'Home') {
			this.focus(0);
			return true;
		}
		const away = this.growsUp() ? 'ArrowUp' : 'ArrowDown';
		const back = this.growsUp() ? 'ArrowDown' : 'ArrowUp';
		if (key === away) this.focus(this.findChild(this.focused));
		else if (key === back) this.focus(this.parents[this.focused]);
		else this.focus(this.findNeighbour(this.focused, key === 'ArrowLeft' ? -1 : 1));
		return true;
	}

	/** @param {KeyboardEvent} event */
	handleKey(event) {
		if (event.altKey || event.ctrlKey || event.metaKey) return;
		const { key } = event;
		if (this.moveFocus(key)) event.preventDefault();
		else if (this.zoomByKey(key)) this.zoom.endSoon();
		else if (this.focused < 0) return;
		else if (key === 'Enter') this.select(this.focused, event.shiftKey);
		else if (key === 'ContextMenu' || (key === 'F10' && event.shiftKey) || key === ' ') {
			const area = this.area.getBoundingClientRect();
			event.preventDefault();
			this.openMenu(this.focused, {
				x: area.left + Math.max(0, this.boxes.x(this.focused)) / (devicePixelRatio || 1) + 20,
				y: area.top + this.painter.getY(this.getScene(), this.boxes.depth(this.focused)) + ROW_HEIGHT,
			});
		}
	}

	/** @param {string} key @returns {boolean} whether the key meant something */
	zoomByKey(key) {
		if (key === '+' || key === '=') this.zoom.zoomBy(0.7);
		else if (key === '-') this.zoom.zoomBy(1 / 0.7);
		else if (key === '0') this.zoom.moveTo(0, 1);
		else if (key === 'z' && this.focused >= 0) this.zoomToBox(this.focused);
		else return false;
		return true;
	}

	// ---- search ----

	/** Boxes that match, from left to right and from the base on. */
	getMatches() {
		const { matches } = this;
		if (!matches) return [];
		const found = [];
		for (let i = 0; i < this.boxes.length; i++)
			if (this.boxes.symbol(i) < matches.length && matches[this.boxes.symbol(i)]) found.push(i);
		return found;
	}

	/** @param {number} step */
	goToMatch(step) {
		const found = this.getMatches();
		if (!found.length) return 0;
		const at = found.indexOf(this.focused);
		const next = found[at < 0 ? (step > 0 ? 0 : found.length - 1) : (at + step + found.length) % found.length];
		this.area.focus({ preventScroll: true });
		this.focus(next);
		return found.indexOf(next) + 1;
	}
}
