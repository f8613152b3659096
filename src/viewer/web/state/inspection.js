// What tests may use of the page beside its DOM: window.stackwide, which is there once <html> has
// data-ready="yes". The page's own objects change as they like; this does not.
//
//   settle()          a promise: everything that was asked for is on the screen
//   isShown()         whether the flame on the screen is of what is looked at now
//   getSources()      open files: [{ name }]
//   countSources()    files that were ever opened, those that were closed among them
//   getMetrics()      [{ name, unit, total }]
//   getSum()          the weight that passes the filters
//   getState()        what is looked at: fragment, filters, direction, metric, tab … (state.js)
//   update(patch)     look at something else, as a step of the history: parts of the state
//   getFlame()        { from, to, rows }: the part of the width that is seen, 0 to 1, and the frames
//                     drawn, row by row from the base, from left to right, each { name, isThread, total,
//                     x, y, width, height, fill, ink }; pixels of the window, y of the upper edge; CSS
//                     colours of the box and of what is written on it
//   zoom(from, to)    look at that part of the flame's width, as a step of the history
//   getRows(table)    all rows of "flat", "callers" or "callees", also those that are scrolled away:
//                     [{ name, total, self }]; self of "flat" alone
//   getHeatmap()      { columns, sum }: of seconds that are drawn, and of all cells
//   findTime(ms)      { x, y } of the middle of that millisecond's cell, in pixels of the window

import { ROW_HEIGHT } from '../core/painter.js';
import { pending } from '../core/pending.js';

export class Inspection {
	/** @type {any} */
	#page;

	/** @param {any} page */
	constructor(page) {
		this.#page = page;
	}

	settle() {
		return pending.settle();
	}

	isShown() {
		const { model, flame } = this.#page;
		return model.hasData() && flame.boxes.length > 0 && flame.revision === model.revision && !flame.isLayingOut;
	}

	getSources() {
		return this.#page.model.getSources().map((/** @type {any} */ source) => ({ name: source.name }));
	}

	countSources() {
		return this.#page.model.sources.length;
	}

	getMetrics() {
		return this.#page.model.metrics.map((/** @type {any} */ { name, unit, total }) => ({ name, unit, total }));
	}

	getSum() {
		return this.#page.model.numbers.sum;
	}

	getState() {
		return structuredClone(this.#page.model.state);
	}

	/** @param {Partial<import('./state.js').State>} patch */
	update(patch) {
		return this.#page.model.update(patch);
	}

	getFlame() {
		const { flame, model } = this.#page;
		const { boxes } = flame;
		const area = flame.area.getBoundingClientRect();
		const scene = flame.getScene();
		/** @param {number} i */
		const describe = (i) => {
			const symbol = boxes.symbol(i);
			const isAll = symbol === 0xffffffff;
			const { fill, ink } = flame.painter.getFill(scene, i, 0);
			return {
				name: isAll ? 'all' : model.names.getName(symbol), isThread: !isAll && model.names.isThread(symbol),
				total: boxes.total(i), x: area.left + boxes.x(i) / devicePixelRatio,
				y: area.top + flame.painter.getY(scene, boxes.depth(i)), width: boxes.width(i) / devicePixelRatio, height: ROW_HEIGHT,
				fill, ink,
			};
		};
		return { from: flame.zoom.from, to: flame.zoom.to, rows: flame.rows.map((/** @type {number[]} */ row) => row.map(describe)) };
	}

	/** @param {number} from @param {number} to */
	zoom(from, to) {
		const { zoom } = this.#page.flame;
		zoom.moveTo(from, to);
		zoom.end();
	}

	/** @param {'flat' | 'callers' | 'callees'} table */
	getRows(table) {
		const { flat, relatives } = this.#page.views;
		const { rows } = table === 'flat' ? flat.table : relatives[table];
		return rows.map((/** @type {any} */ { name, total, self }) => ({ name, total, self }));
	}

	getHeatmap() {
		const { columns, sum } = this.#page.heatmap.grid;
		return { columns, sum };
	}

	/** @param {number} ms */
	findTime(ms) {
		const { plot, grid, canvas } = this.#page.heatmap;
		const box = canvas.getBoundingClientRect();
		const cell = Math.floor(ms / grid.rowMs);
		return {
			x: box.left + (plot.left + (Math.floor(cell / grid.rows) + 0.5) * plot.cell) / devicePixelRatio,
			y: box.top + (plot.top + plot.height - ((cell % grid.rows) + 0.5) * plot.row) / devicePixelRatio,
		};
	}
}
