// Drawing boxes on a canvas, in device pixels, so that edges are sharp at every zoom of the page.

import { shorten } from './bounds.js';
import { SEARCH_COLOR, deriveColor, getColor, getInk, mixColors, readHex, toCss } from './colors.js';

/** @typedef {import('./names.js').Boxes} Boxes */
/** @typedef {import('./names.js').Names} Names */
/**
 * @typedef {object} Scene
 * @property {Boxes} boxes
 * @property {Names} names
 * @property {number} top       css pixels that are scrolled away
 * @property {number} height    css pixels of all rows
 * @property {boolean} growsUp
 * @property {string} mode      of colours
 * @property {Map<number, string>} marks symbol to base colour
 * @property {Uint8Array | null} matches by symbol, of a search
 * @property {number} hovered   box; -1: none
 * @property {number} focused
 * @property {{sum: number, baselineSum: number}} sums
 * @property {import('../state/changes.js').Changes | undefined} changes of a comparison, once they are known
 * @property {string} allLabel
 */

export const ROW_HEIGHT = 20;
const FONT = 'ui-sans-serif, system-ui, "Segoe UI", Roboto, "DejaVu Sans", sans-serif';

/** @param {CSSStyleDeclaration} style @param {string} name */
const readVariable = (style, name) => style.getPropertyValue(name).trim();

export class Painter {
	/** @param {HTMLCanvasElement} canvas */
	constructor(canvas) {
		this.canvas = canvas;
		this.context = /** @type {CanvasRenderingContext2D} */ (canvas.getContext('2d', { alpha: false }));
		/** @type {Map<string, number>} text widths in device pixels */
		this.widths = new Map();
		/** @type {Map<number, {fill: string, ink: string}>} by symbol and flags */
		this.fills = new Map();
		this.ratio = 0; // device pixels in a css pixel; 0: not known yet
		this.readTheme();
	}

	readTheme() {
		const style = getComputedStyle(document.documentElement);
		this.background = readVariable(style, '--canvas');
		this.outline = readVariable(style, '--ink');
		this.accent = readVariable(style, '--accent');
		this.isDark = readVariable(style, '--is-dark') === '1';
		this.isContrast = readVariable(style, '--is-contrast') === '1';
		this.fills.clear();
	}

	/** @param {number} width css pixels @param {number} height */
	resize(width, height) {
		const ratio = devicePixelRatio || 1;
		const w = Math.max(1, Math.round(width * ratio));
		const h = Math.max(1, Math.round(height * ratio));
		if (this.ratio !== ratio) this.widths.clear();
		this.ratio = ratio;
		if (this.canvas.width !== w || this.canvas.height !== h) {
			this.canvas.width = w;
			this.canvas.height = h;
		}
		this.canvas.style.width = `${width}px`;
		this.canvas.style.height = `${height}px`;
	}

	/** @param {Scene} scene @param {number} i @param {number} mostSelf */
	getFill(scene, i, mostSelf) {
		const { boxes } = scene;
		const symbol = boxes.symbol(i);
		const depends = scene.mode === 'self' || scene.mode === 'change';
		const key = (symbol * 64 + (boxes.flags(i) & 15)) * 2 + (scene.matches && symbol < scene.matches.length ? scene.matches[symbol] : 0);
		let known = depends ? undefined : this.fills.get(key);
		if (!known) {
			known = this.makeFill(scene, i, mostSelf);
			if (!depends) this.fills.set(key, known);
		}
		return known;
	}

	/** What a search has not found fades into the background. @param {Scene} scene @param {number} i @param {number} mostSelf */
	makeFill(scene, i, mostSelf) {
		const { matches } = scene;
		const isFaded = matches !== null && !matches[scene.boxes.symbol(i)];
		const own = this.makeColor(scene, i, mostSelf);
		const color = isFaded ? mixColors(own, readHex(this.background || '#ffffff'), this.isDark ? 0.4 : 0.45) : own;
		return { fill: toCss(color), ink: getInk(color) };
	}

	/** @param {Scene} scene @param {number} i @param {number} mostSelf */
	makeColor({ boxes, names, mode, marks, matches, sums, changes }, i, mostSelf) {
		const symbol = boxes.symbol(i);
		if (symbol === 0xffffffff) return readHex(this.isDark ? '#3a4150' : '#dfe3ea');
		if (matches && matches[symbol]) return readHex(SEARCH_COLOR);
		const name = names.getName(symbol);
		const mark = marks.get(symbol);
		if (mark) return deriveColor(mark, name, Boolean(this.isDark));
		return getColor(mode, {
			name, module: names.getModule(boxes.function(i)), flags: boxes.flags(i),
			ownShare: mostSelf ? boxes.self(i) / mostSelf : 0,
			hasChanged: changes?.get(boxes.function(i), 'total')?.isReal ?? false,
			change: 100 * ((sums.sum ? boxes.total(i) / sums.sum : 0) -
				(sums.baselineSum ? boxes.baselineTotal(i) / sums.baselineSum : 0)),
		}, Boolean(this.isDark));
	}

	/** @param {Scene} scene */
	paint(scene) {
		const { context, canvas } = this;
		const ratio = this.ratio;
		context.fillStyle = this.background ?? '#fff';
		context.fillRect(0, 0, canvas.width, canvas.height);
		context.textBaseline = 'middle';
		this.setFont(false);
		let mostSelf = 0;
		if (scene.mode === 'self')
			for (let i = 0; i < scene.boxes.length; i++) mostSelf = Math.max(mostSelf, scene.boxes.self(i));
		for (let i = 0; i < scene.boxes.length; i++) {
			const y = Math.round(this.getY(scene, scene.boxes.depth(i)) * ratio);
			if (y + ROW_HEIGHT * ratio >= 0 && y < canvas.height) this.paintBox(scene, i, y, mostSelf);
		}
		if (scene.focused >= 0) this.paintOutline(scene, scene.focused, this.accent ?? '#06f', 3);
		if (scene.hovered >= 0 && scene.hovered !== scene.focused) this.paintOutline(scene, scene.hovered, this.outline ?? '#000', 1.5);
	}

	/** Top edge of a row, in css pixels of the canvas. @param {Scene} scene @param {number} depth */
	getY(scene, depth) {
		return (scene.growsUp ? scene.height - (depth + 1) * ROW_HEIGHT : depth * ROW_HEIGHT) - scene.top;
	}

	/** @param {Boxes} boxes @param {number} i */
	getEdges(boxes, i) {
		const left = Math.max(0, Math.round(boxes.x(i)));
		const right = Math.min(this.canvas.width, Math.round(boxes.x(i) + boxes.width(i)));
		return { left, right: Math.max(left + 1, right) };
	}

	/** @param {Scene} scene @param {number} i @param {number} y device pixels @param {number} mostSelf */
	paintBox(scene, i, y, mostSelf) {
		const { context } = this;
		const ratio = this.ratio;
		const { left, right } = this.getEdges(scene.boxes, i);
		const gap = right - left > 3 ? Math.max(1, Math.round(ratio)) : 0;
		const height = Math.round(ROW_HEIGHT * ratio) - Math.max(1, Math.round(ratio));
		const { fill, ink } = this.getFill(scene, i, mostSelf);
		context.fillStyle = fill;
		if (right - left > 12 * ratio) {
			context.beginPath();
			context.roundRect(left, y, right - left - gap, height, 2.5 * ratio);
			context.fill();
			if (this.isContrast) {
				context.lineWidth = ratio;
				context.strokeStyle = this.outline ?? '#000';
				context.stroke();
			}
		} else context.fillRect(left, y, right - left - gap, height);
		this.paintLabel(scene, i, left, right - gap, y + height / 2, ink);
	}

	/** @param {Scene} scene @param {number} i */
	getLabel(scene, i) {
		const symbol = scene.boxes.symbol(i);
		return symbol === 0xffffffff ? scene.allLabel : scene.names.getName(symbol);
	}

	/** @param {boolean} isBold */
	setFont(isBold) {
		this.context.font = `${isBold ? '600 ' : ''}${12 * (this.ratio)}px ${FONT}`;
	}

	/** @param {Scene} scene @param {number} i @param {number} left @param {number} right @param {number} y @param {string} ink */
	paintLabel(scene, i, left, right, y, ink) {
		const ratio = this.ratio;
		const room = right - left - 10 * ratio;
		if (room < 14 * ratio) return;
		const isBold = scene.boxes.isBase(i);
		if (isBold) this.setFont(true);
		const text = this.fit(this.getLabel(scene, i), room, isBold);
		this.context.fillStyle = ink;
		if (text) this.context.fillText(text, left + 5 * ratio, y + ratio / 2);
		if (isBold) this.setFont(false);
	}

	/** @param {string} text @param {boolean} isBold */
	measure(text, isBold) {
		const key = (isBold ? 'b' : 'r') + text;
		let width = this.widths.get(key);
		if (width === undefined) {
			if (this.widths.size > 50000) this.widths.clear();
			width = this.context.measureText(text).width;
			this.widths.set(key, width);
		}
		return width;
	}

	/** As much of a text as there is room for: beginnings are often alike, ends tell more. @param {string} text @param {number} room @param {boolean} isBold */
	fit(text, room, isBold) {
		// A name may be a megabyte long; no screen is.
		const whole = shorten(text, 2000);
		const width = this.measure(whole, isBold);
		if (width <= room) return whole;
		let count = Math.floor((whole.length * room) / width);
		for (; count > 0; count--) {
			const tail = count < 5 ? 0 : count >> 1;
			const cut = `${whole.slice(0, count - tail)}…${tail ? whole.slice(-tail) : ''}`;
			if (this.context.measureText(cut).width <= room) return cut;
		}
		return '';
	}

	/** @param {Scene} scene @param {number} i @param {string} color @param {number} width css pixels */
	paintOutline(scene, i, color, width) {
		const ratio = this.ratio;
		const { left, right } = this.getEdges(scene.boxes, i);
		const y = Math.round(this.getY(scene, scene.boxes.depth(i)) * ratio);
		const inset = (width * ratio) / 2;
		this.context.strokeStyle = color;
		this.context.lineWidth = width * ratio;
		this.context.beginPath();
		this.context.roundRect(left + inset, y + inset, Math.max(1, right - left - 2 * inset - ratio),
			Math.round(ROW_HEIGHT * ratio) - ratio - 2 * inset, 2.5 * ratio);
		this.context.stroke();
	}
}
