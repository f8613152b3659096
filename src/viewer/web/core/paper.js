// The flame on paper: all of its rows, in strips that a page can end between.

import { make } from './dom.js';
import { Painter, ROW_HEIGHT } from './painter.js';

const STRIP_ROWS = 10;
const MOST_ROWS = 2000; // forty pages of a wide screen's flame

export class Paper {
	/** @param {import('../views/flame.js').FlameView} flame */
	constructor(flame) {
		this.flame = flame;
		this.place = make('div', { id: 'flame-paper', 'aria-hidden': 'true' });
		flame.area.before(this.place);
		addEventListener('beforeprint', () => this.fill());
		addEventListener('afterprint', () => this.place.replaceChildren());
	}

	fill() {
		const { flame } = this;
		if (!flame.isVisible() || !flame.rows.length) return;
		const rows = Math.min(flame.rows.length, MOST_ROWS);
		const hidden = flame.rows.length - rows;
		// The base is at the edge that is always there.
		const top = flame.growsUp() ? hidden * ROW_HEIGHT : 0;
		const strips = [];
		for (let row = 0; row < rows; row += STRIP_ROWS)
			strips.push(this.makeStrip(top + row * ROW_HEIGHT, Math.min(STRIP_ROWS, rows - row) * ROW_HEIGHT));
		const note = hidden ? [make('p', {}, `${hidden.toLocaleString('en-US')} levels farther from the base are not printed.`)] : [];
		this.place.replaceChildren(...(flame.growsUp() ? [...note, ...strips] : [...strips, ...note]));
	}

	/** @param {number} top css pixels of the whole flame @param {number} height */
	makeStrip(top, height) {
		const { flame } = this;
		const canvas = document.createElement('canvas');
		const painter = new Painter(canvas);
		painter.resize(flame.area.clientWidth, height);
		painter.paint({ ...flame.getScene(), top, height: flame.rows.length * ROW_HEIGHT, hovered: -1, focused: -1 });
		canvas.removeAttribute('style'); // as wide as the paper
		return canvas;
	}
}
