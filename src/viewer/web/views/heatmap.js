// When samples were taken: a column is a second (or more), a row a fiftieth of it, from the bottom
// up, and the colour the weight. Cells are numbered in order of time; a stretch of them is a filter.

import { fromOklch } from '../core/colors.js';
import { announce, find, make } from '../core/dom.js';
import { formatClock, formatRange, formatTime, readRange, writeRange } from '../core/time_range.js';
import { formatExact, formatPercent, formatValue } from '../core/units.js';

/**
 * @typedef {object} Grid
 * @property {number} rowMs     milliseconds of a cell
 * @property {number} rows      of a column
 * @property {number} columns
 * @property {number} spanMs
 * @property {number} startMs   since 1970; 0: not known
 * @property {number} timeless  weight without a time
 * @property {Float64Array} cells by time
 * @property {number} max
 * @property {number} sum       of the cells
 */
/** @typedef {{left: number, top: number, width: number, height: number, cell: number, row: number}} Plot device pixels */

const HEADER = 6; // numbers before the cells
const LEVELS = 48;
const MAX_CELL_PX = 64;
const MIN_COLUMN_PX = 2;
const GUTTER = { left: 62, right: 18, top: 14, bottom: 42 };

/** @param {Uint8Array} bytes @returns {Grid} */
function readGrid(bytes) {
	const numbers = new Float64Array(bytes.buffer, 0, bytes.length / 8);
	const [rowMs, rows, columns, spanMs, startMs, timeless] = numbers;
	const cells = numbers.subarray(HEADER);
	let max = 0;
	let sum = 0;
	for (const cell of cells) {
		if (cell > max) max = cell;
		sum += cell;
	}
	return { rowMs, rows, columns, spanMs, startMs, timeless, cells, max, sum };
}

/** From nearly the background to as far from it as colours go. @param {number} share 0 to 1 @param {string} theme */
function getHeat(share, theme) {
	const [r, g, b] = theme === 'dark' ? fromOklch(0.3 + 0.6 * share, 0.06 + 0.12 * share, 20 + 75 * share)
		: theme === 'contrast' ? fromOklch(0.9 - 0.75 * share, 0.02 + 0.13 * share, 300)
			: fromOklch(0.93 - 0.53 * share, 0.05 + 0.13 * share, 85 - 57 * share);
	return `rgb(${r} ${g} ${b})`;
}

/** Steps between labels: of at least so many. @param {number} least */
function getStep(least) {
	const steps = [1, 2, 5, 10, 20, 50, 100, 200, 500, 1000, 2000, 5000, 1e4, 2e4, 3e4, 6e4, 12e4, 3e5, 6e5, 12e5, 18e5, 36e5, 72e5, 216e5, 432e5, 864e5];
	return steps.find((step) => step >= least) ?? Math.ceil(least / 864e5) * 864e5;
}

export class HeatmapView {
	/** @param {import('../state/model.js').Model} model */
	constructor(model) {
		this.model = model;
		this.area = find('heatmap');
		this.canvas = /** @type {HTMLCanvasElement} */ (find('heatmap-canvas'));
		this.tip = find('tip');
		/** @type {Grid | undefined} */
		this.grid = undefined;
		/** @type {Plot} */
		this.plot = { left: 0, top: 0, width: 0, height: 0, cell: 1, row: 1 };
		/** @type {HTMLCanvasElement | undefined} the cells, painted once */
		this.picture = undefined;
		this.cursor = 0;
		this.anchor = 0;
		this.isSelecting = false;
		this.isDragging = false;
		this.hasFocus = false;
		this.listen();
	}

	listen() {
		const { area, canvas } = this;
		canvas.addEventListener('pointerdown', (event) => this.press(event));
		canvas.addEventListener('pointermove', (event) => this.follow(event));
		canvas.addEventListener('pointerup', (event) => this.release(event));
		canvas.addEventListener('pointercancel', () => this.clear());
		canvas.addEventListener('pointerleave', () => (this.tip.hidden = true));
		area.addEventListener('keydown', (/** @type {KeyboardEvent} */ event) => {
			if (this.handleKey(event)) event.preventDefault();
		});
		for (const type of ['focus', 'blur'])
			area.addEventListener(type, () => {
				this.hasFocus = type === 'focus' && area.matches(':focus-visible');
				this.paint();
			});
		new ResizeObserver(() => {
			if (area.clientWidth && this.grid) this.show();
		}).observe(area);
	}

	getMaxColumns() {
		return Math.max(1, Math.floor((this.area.clientWidth - GUTTER.left - GUTTER.right) / MIN_COLUMN_PX));
	}

	async show() {
		const grid = readGrid(await this.model.client.call('timeGrid', [this.getMaxColumns()]));
		if (this.grid && this.grid.rowMs !== grid.rowMs) this.clear();
		this.grid = grid;
		this.cursor = Math.min(this.cursor, Math.max(0, grid.cells.length - 1));
		this.layOut();
		this.paintCells();
		this.paint();
		this.showBar();
	}

	recolor() {
		if (!this.grid || !this.area.clientWidth) return;
		this.paintCells();
		this.paint();
		this.showBar();
	}

	getTheme() {
		const style = getComputedStyle(document.documentElement);
		if (style.getPropertyValue('--is-contrast').trim() === '1') return 'contrast';
		return style.getPropertyValue('--is-dark').trim() === '1' ? 'dark' : 'light';
	}

	// ---- cells and times ----

	/** @param {number} cell @returns {import('../core/time_range.js').Range} */
	getCellRange(cell) {
		const rowMs = this.grid?.rowMs ?? 1;
		return { from: cell * rowMs, to: (cell + 1) * rowMs };
	}

	/** @returns {import('../core/time_range.js').Range} */
	getSelection() {
		const from = this.getCellRange(Math.min(this.anchor, this.cursor)).from;
		return { from, to: this.getCellRange(Math.max(this.anchor, this.cursor)).to };
	}

	/** What the filters that are set take. @param {number} ms */
	passes(ms) {
		return this.model.state.filters.every((filter) => {
			const range = filter.kind === 'time' ? readRange(filter.pattern) : undefined;
			return !range || (ms >= range.from && ms < range.to) !== filter.excludes;
		});
	}

	hasFilter() {
		return this.model.state.filters.some((filter) => filter.kind === 'time');
	}

	/** The cell below a point of the canvas; the nearest one where it is outside. @param {PointerEvent} event */
	findCell(event) {
		const { grid, plot } = this;
		if (!grid?.columns) return { cell: 0, isInside: false };
		const ratio = devicePixelRatio || 1;
		const x = (event.offsetX * ratio - plot.left) / plot.cell;
		const y = (plot.top + plot.height - event.offsetY * ratio) / plot.row;
		const column = Math.min(grid.columns - 1, Math.max(0, Math.floor(x)));
		const row = x < 0 ? 0 : x >= grid.columns ? grid.rows - 1 : Math.min(grid.rows - 1, Math.max(0, Math.floor(y)));
		return { cell: column * grid.rows + row, isInside: x >= 0 && x < grid.columns && y >= 0 && y < grid.rows };
	}

	// ---- hands ----

	/** @param {PointerEvent} event */
	press(event) {
		const { cell, isInside } = this.findCell(event);
		if (event.button !== 0 || !isInside) return;
		this.canvas.setPointerCapture(event.pointerId);
		this.area.focus({ preventScroll: true });
		this.hasFocus = false;
		if (!event.shiftKey) this.anchor = cell;
		this.cursor = cell;
		this.isDragging = this.isSelecting = true;
		this.paint();
	}

	/** @param {PointerEvent} event */
	follow(event) {
		const { cell, isInside } = this.findCell(event);
		if (this.isDragging && cell !== this.cursor) {
			this.cursor = cell;
			this.paint();
			this.showBar();
		}
		this.tip.hidden = !(isInside || this.isDragging);
		if (this.tip.hidden) return;
		this.tip.replaceChildren(...this.describe(this.isDragging ? this.getSelection() : this.getCellRange(cell)));
		const x = Math.min(event.clientX + 14, innerWidth - this.tip.offsetWidth - 8);
		const isLow = event.clientY + 18 + this.tip.offsetHeight > innerHeight - 8;
		this.tip.style.left = `${Math.max(8, x)}px`;
		this.tip.style.top = `${isLow ? event.clientY - this.tip.offsetHeight - 12 : event.clientY + 18}px`;
	}

	/** @param {PointerEvent} event */
	release(event) {
		if (!this.isDragging) return;
		this.cursor = this.findCell(event).cell;
		this.isDragging = false;
		this.apply(false);
	}

	clear() {
		this.isDragging = this.isSelecting = false;
		this.anchor = this.cursor;
		this.paint();
		this.showBar();
	}

	/** The selection becomes a filter; "only" takes the place of another one. @param {boolean} excludes */
	apply(excludes) {
		const range = this.getSelection();
		const others = this.model.state.filters.filter((filter) => excludes || filter.kind !== 'time' || filter.excludes);
		this.isSelecting = false;
		this.tip.hidden = true;
		announce(`${excludes ? 'Without' : 'Only'} ${formatRange(range)}`);
		this.model.update({ filters: [...others, { kind: 'time', pattern: writeRange(range), excludes }] });
	}

	removeFilters() {
		this.model.update({ filters: this.model.state.filters.filter((filter) => filter.kind !== 'time') });
	}

	/** @param {KeyboardEvent} event @returns {boolean} whether the key means something here */
	handleKey(event) {
		const { grid } = this;
		if (!grid?.cells.length || event.altKey || event.ctrlKey || event.metaKey) return false;
		/** @type {Record<string, number>} */
		const steps = {
			ArrowUp: 1, ArrowDown: -1, ArrowRight: grid.rows, ArrowLeft: -grid.rows, PageDown: 10 * grid.rows, PageUp: -10 * grid.rows,
			Home: -grid.cells.length, End: grid.cells.length,
		};
		if (steps[event.key]) this.move(steps[event.key], event.shiftKey);
		else if (event.key === 'Enter' || event.key === 'f') this.apply(false);
		else if (event.key === 'x') this.apply(true);
		else if (event.key === 'Escape' && this.isSelecting) this.clear();
		else if (event.key === 'Escape' && this.hasFilter()) this.removeFilters();
		else return false;
		return true;
	}

	/** @param {number} step @param {boolean} isSelecting */
	move(step, isSelecting) {
		const last = /** @type {Grid} */ (this.grid).cells.length - 1;
		this.cursor = Math.min(last, Math.max(0, this.cursor + step));
		if (!isSelecting) this.anchor = this.cursor;
		this.isSelecting = isSelecting;
		this.hasFocus = true;
		this.paint();
		this.showBar();
		const range = this.getSelection();
		announce(`${formatRange(range)}: ${this.formatWeight(range)}`);
	}

	// ---- words ----

	/** @param {import('../core/time_range.js').Range} range */
	measure({ from, to }) {
		const { cells, rowMs } = /** @type {Grid} */ (this.grid);
		let sum = 0;
		for (let i = Math.floor(from / rowMs); i < cells.length && i * rowMs < to; i++) sum += cells[i];
		return sum;
	}

	/** @param {import('../core/time_range.js').Range} range */
	formatWeight(range) {
		const metric = this.model.getMetric();
		const weight = this.measure(range);
		const text = metric.unit === 'count' ? formatExact(weight, metric) : formatValue(weight, metric.unit);
		return `${text}, ${formatPercent(weight, this.grid?.sum ?? 0)}`;
	}

	/** @param {import('../core/time_range.js').Range} range */
	describe(range) {
		const start = this.grid?.startMs;
		const lines = [make('div', { class: 'tip-name' }, formatRange(range))];
		if (start)
			lines.push(make('div', { class: 'tip-about' }, `${formatClock(start + range.from, true)} – ${formatClock(start + range.to, true)}`));
		lines.push(make('div', { class: 'tip-row' }, make('span', {}, this.formatWeight(range))));
		return lines;
	}

	showBar() {
		const { grid, model } = this;
		if (!grid) return;
		const metric = model.getMetric();
		const theme = this.getTheme();
		const stops = Array.from({ length: 9 }, (_, i) => getHeat(i / 8, theme));
		const only = model.state.filters.find((filter) => filter.kind === 'time' && !filter.excludes);
		const range = this.isSelecting ? this.getSelection() : only && readRange(only.pattern);
		const parts = [make('span', { class: 'muted' }, grid.startMs
			? `From ${new Date(grid.startMs).toLocaleDateString('en-CA')} ${formatClock(grid.startMs, false)}. ` : '',
		`A column is ${formatTime(grid.rowMs * grid.rows, 0)}, a row ${grid.rowMs < 1000 ? `${grid.rowMs} ms` : formatTime(grid.rowMs, 1)}; drag to look at a range only.`)];
		if (range)
			parts.push(make('b', { id: 'heatmap-range', 'data-from': range.from, 'data-to': range.to, 'data-value': this.measure(range) },
				`${formatRange(range)} · ${this.formatWeight(range)}`));
		if (this.hasFilter()) parts.push(make('button', { class: 'button', onclick: () => this.removeFilters() }, 'All times'));
		if (grid.timeless)
			parts.push(make('span', { class: 'muted', id: 'heatmap-timeless', 'data-value': grid.timeless },
				`${formatValue(grid.timeless, metric.unit)} without a time`));
		parts.push(make('span', { class: 'heat-legend', title: 'Weight of a cell; colours follow its square root' }, '0',
			make('i', { style: `background: linear-gradient(90deg, ${stops.join(', ')})` }), formatValue(grid.max, metric.unit)));
		find('heatmap-bar').replaceChildren(...parts);
	}

	// ---- painting ----

	layOut() {
		const { area, canvas, grid } = this;
		const ratio = devicePixelRatio || 1;
		canvas.width = Math.round(area.clientWidth * ratio);
		canvas.height = Math.round(area.clientHeight * ratio);
		canvas.style.width = `${area.clientWidth}px`;
		canvas.style.height = `${area.clientHeight}px`;
		const columns = grid?.columns || 1;
		const rows = grid?.rows || 1;
		const room = canvas.width - (GUTTER.left + GUTTER.right) * ratio;
		const height = canvas.height - (GUTTER.top + GUTTER.bottom) * ratio;
		const cell = Math.min(MAX_CELL_PX * ratio, room / columns);
		const row = Math.max(1, Math.floor(Math.min(16 * ratio, height / rows)));
		this.plot = {
			left: Math.round(GUTTER.left * ratio), top: Math.round(GUTTER.top * ratio), cell: cell >= 4 ? Math.floor(cell) : cell, row,
			width: (cell >= 4 ? Math.floor(cell) : cell) * columns, height: row * rows,
		};
	}

	/** @param {number} column */
	getX(column) {
		return Math.round(this.plot.left + column * this.plot.cell);
	}

	paintCells() {
		const { canvas, grid, plot } = this;
		if (!grid) return;
		this.picture = make('canvas', { width: canvas.width, height: canvas.height });
		const context = /** @type {CanvasRenderingContext2D} */ (this.picture.getContext('2d'));
		const theme = this.getTheme();
		const colors = Array.from({ length: LEVELS + 1 }, (_, i) => getHeat(i / LEVELS, theme));
		const gap = plot.cell >= 6 && plot.row >= 5 ? 1 : 0;
		for (let column = 0; column < grid.columns; column++) {
			const x = this.getX(column);
			const width = this.getX(column + 1) - x - gap;
			for (let row = 0; row < grid.rows; row++) {
				const value = grid.cells[column * grid.rows + row];
				if (!value) continue;
				context.fillStyle = colors[Math.max(1, Math.round(LEVELS * Math.sqrt(value / grid.max)))];
				context.fillRect(x, plot.top + plot.height - (row + 1) * plot.row + gap, width, plot.row - gap);
			}
		}
	}

	paint() {
		const { canvas, grid, picture, plot } = this;
		const context = canvas.getContext('2d');
		if (!context || !grid || !picture) return;
		const style = getComputedStyle(document.documentElement);
		/** @param {string} name */
		const color = (name) => style.getPropertyValue(`--${name}`).trim();
		context.clearRect(0, 0, canvas.width, canvas.height);
		context.fillStyle = color('page');
		context.fillRect(plot.left, plot.top, plot.width, plot.height);
		context.drawImage(picture, 0, 0);
		this.paintAxes(context, color);
		if (this.isSelecting) {
			const { from, to } = this.getSelection();
			this.paintRange(context, color, (ms) => ms >= from && ms < to);
		} else if (this.hasFilter()) this.paintRange(context, color, (ms) => this.passes(ms));
		if (this.hasFocus) this.paintCursor(context, color);
	}

	/** Dim what is outside, and draw a line around the rest. @param {CanvasRenderingContext2D} context @param {(name: string) => string} color @param {(ms: number) => boolean} isInside */
	paintRange(context, color, isInside) {
		const { grid, plot } = this;
		if (!grid) return;
		const ratio = devicePixelRatio || 1;
		const bottom = plot.top + plot.height;
		/** @param {number} cell */
		const isIn = (cell) => cell >= 0 && cell < grid.cells.length && isInside((cell + 0.5) * grid.rowMs);
		const line = Math.max(1, Math.round(1.5 * ratio));
		for (let column = 0; column < grid.columns; column++) {
			const x = this.getX(column);
			const width = this.getX(column + 1) - x;
			for (let row = 0; row < grid.rows; row++) {
				const cell = column * grid.rows + row;
				const y = bottom - (row + 1) * plot.row;
				if (!isIn(cell)) {
					context.globalAlpha = 0.72;
					context.fillStyle = color('page');
					context.fillRect(x, y, width, plot.row);
					context.globalAlpha = 1;
					continue;
				}
				context.fillStyle = color('accent');
				if (row === 0 || !isIn(cell - 1)) context.fillRect(x, y + plot.row - line, width, line);
				if (row === grid.rows - 1 || !isIn(cell + 1)) context.fillRect(x, y, width, line);
				if (column === 0 || !isIn(cell - grid.rows)) context.fillRect(x, y, line, plot.row);
				if (column === grid.columns - 1 || !isIn(cell + grid.rows)) context.fillRect(x + width - line, y, line, plot.row);
			}
		}
	}

	/** @param {CanvasRenderingContext2D} context @param {(name: string) => string} color */
	paintCursor(context, color) {
		const { grid, plot } = this;
		if (!grid?.rows) return;
		const ratio = devicePixelRatio || 1;
		const column = Math.floor(this.cursor / grid.rows);
		const x = this.getX(column);
		const y = plot.top + plot.height - ((this.cursor % grid.rows) + 1) * plot.row;
		const width = Math.max(this.getX(column + 1) - x, 3 * ratio);
		context.lineWidth = 2 * ratio;
		context.strokeStyle = color('panel');
		context.strokeRect(x - 3 * ratio, y - 3 * ratio, width + 6 * ratio, plot.row + 6 * ratio);
		context.strokeStyle = color('ink');
		context.strokeRect(x - ratio, y - ratio, width + 2 * ratio, plot.row + 2 * ratio);
	}

	/** @param {CanvasRenderingContext2D} context @param {(name: string) => string} color */
	paintAxes(context, color) {
		const { grid, plot } = this;
		if (!grid?.columns) return;
		const ratio = devicePixelRatio || 1;
		const columnMs = grid.rowMs * grid.rows;
		const bottom = plot.top + plot.height;
		context.font = `${11 * ratio}px ui-sans-serif, system-ui, "DejaVu Sans", sans-serif`;
		context.fillStyle = color('muted');
		context.textBaseline = 'middle';
		context.textAlign = 'right';
		for (let part = 0; part <= 5; part++) {
			const y = bottom - (part / 5) * plot.height;
			const ms = (part / 5) * columnMs;
			context.fillText(columnMs <= 1000 ? `${ms} ms` : formatTime(ms, columnMs < 10000 ? 1 : 0), plot.left - 9 * ratio, y);
			context.fillRect(plot.left - 6 * ratio, Math.round(y) - (part ? 0 : 1), 4 * ratio, ratio);
		}
		context.textAlign = 'center';
		context.textBaseline = 'top';
		const step = Math.max(columnMs, getStep((grid.startMs ? 76 : 52) * ratio * columnMs / plot.cell));
		for (let ms = 0; ms <= grid.columns * columnMs; ms += step) {
			const x = plot.left + (ms / columnMs) * plot.cell;
			context.fillRect(Math.round(x), bottom + 2 * ratio, ratio, 4 * ratio);
			context.fillText(formatTime(ms, 0), x, bottom + 9 * ratio);
			if (grid.startMs) context.fillText(formatClock(grid.startMs + ms, false), x, bottom + 23 * ratio);
		}
	}
}
