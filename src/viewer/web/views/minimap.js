// The whole flame, small: where the part that is shown lies in it, and where a search matches.

import { getColor, toCss } from '../core/colors.js';
import { SEARCH_COLOR } from '../core/colors.js';

export class Minimap {
	/**
	 * @param {HTMLCanvasElement} canvas
	 * @param {import('../state/zoom.js').Zoom} zoom
	 */
	constructor(canvas, zoom) {
		this.canvas = canvas;
		this.zoom = zoom;
		canvas.addEventListener('pointerdown', (event) => {
			canvas.setPointerCapture(event.pointerId);
			this.follow(event);
		});
		canvas.addEventListener('pointermove', (event) => {
			if (event.buttons & 1) this.follow(event);
		});
		for (const type of ['pointerup', 'pointercancel']) canvas.addEventListener(type, () => zoom.end());
	}

	/** Put the middle of what is shown below the pointer. @param {PointerEvent} event */
	follow(event) {
		const size = this.zoom.getSize();
		const middle = event.offsetX / this.canvas.clientWidth;
		const from = Math.min(1 - size, Math.max(0, middle - size / 2));
		this.zoom.moveTo(from, from + size);
	}

	/**
	 * @param {import('../core/names.js').Boxes} boxes of the whole flame
	 * @param {number} layoutWidth that they were laid out for
	 * @param {import('../core/names.js').Names} names
	 * @param {{from: number, to: number, growsUp: boolean, matches: Uint8Array | null, isDark: boolean}} options
	 */
	paint(boxes, layoutWidth, names, { from, to, growsUp, matches, isDark }) {
		const ratio = devicePixelRatio || 1;
		const { canvas } = this;
		canvas.width = Math.round(canvas.clientWidth * ratio);
		canvas.height = Math.round(canvas.clientHeight * ratio);
		const context = /** @type {CanvasRenderingContext2D} */ (canvas.getContext('2d'));
		context.clearRect(0, 0, canvas.width, canvas.height);
		let rows = 1;
		for (let i = 0; i < boxes.length; i++) rows = Math.max(rows, boxes.depth(i) + 1);
		const rowHeight = Math.min(4 * ratio, canvas.height / rows);
		const scale = canvas.width / layoutWidth;
		for (let i = 0; i < boxes.length; i++) {
			const symbol = boxes.symbol(i);
			const isMatch = matches && symbol < matches.length && matches[symbol];
			const y = growsUp ? canvas.height - (boxes.depth(i) + 1) * rowHeight : boxes.depth(i) * rowHeight;
			if (isMatch) context.fillStyle = SEARCH_COLOR;
			else if (symbol === 0xffffffff) context.fillStyle = isDark ? '#3a4150' : '#dfe3ea';
			else
				context.fillStyle = toCss(getColor('name', {
					name: names.getName(symbol), module: '', flags: boxes.flags(i), ownShare: 0, change: 0, hasChanged: false,
				}, isDark));
			context.globalAlpha = matches && !isMatch ? 0.35 : 0.9;
			context.fillRect(boxes.x(i) * scale, y, Math.max(isMatch ? 2 * ratio : 0.5, boxes.width(i) * scale), Math.max(1, rowHeight));
			if (isMatch) context.fillRect(boxes.x(i) * scale, growsUp ? 0 : canvas.height - 3 * ratio, Math.max(2 * ratio, boxes.width(i) * scale), 3 * ratio);
		}
		context.globalAlpha = 1;
		context.fillStyle = isDark ? 'rgb(10 12 18 / 65%)' : 'rgb(255 255 255 / 65%)';
		context.fillRect(0, 0, from * canvas.width, canvas.height);
		context.fillRect(to * canvas.width, 0, (1 - to) * canvas.width, canvas.height);
		context.strokeStyle = isDark ? '#9db4ff' : '#2952cc';
		context.lineWidth = ratio;
		context.strokeRect(from * canvas.width + ratio / 2, ratio / 2, (to - from) * canvas.width - ratio, canvas.height - ratio);
	}
}
