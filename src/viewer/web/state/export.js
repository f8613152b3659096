// Taking the view away: as a flame graph, as text, as a picture, or with the whole data.

import { announce, saveFile } from '../core/dom.js';
import { Painter, ROW_HEIGHT } from '../core/painter.js';
import { putView } from './saved_view.js';

/** @param {Uint8Array} bytes */
export async function packBase64(bytes) {
	const stream = new Blob([/** @type {any} */ (bytes)]).stream().pipeThrough(new CompressionStream('gzip'));
	const packed = new Uint8Array(await new Response(stream).arrayBuffer());
	let text = '';
	for (let i = 0; i < packed.length; i += 0x8000) text += String.fromCharCode(...packed.subarray(i, i + 0x8000));
	return btoa(text);
}

/** As an attribute's value. @param {string} text */
function escapeAttribute(text) {
	return text.replaceAll('&', '&amp;').replaceAll('"', '&quot;').replaceAll('<', '&lt;').replaceAll('>', '&gt;');
}

/** @param {string} text */
export function unpackBase64(text) {
	const raw = atob(text);
	const bytes = new Uint8Array(raw.length);
	for (let i = 0; i < raw.length; i++) bytes[i] = raw.charCodeAt(i);
	return bytes;
}

export class Exporter {
	/** @param {import('./model.js').Model} model @param {import('../views/flame.js').FlameView} flame @param {string} page the page's own source */
	constructor(model, flame, page) {
		this.model = model;
		this.flame = flame;
		this.page = page;
	}

	getBaseName() {
		const name = this.model.getSources()[0]?.name ?? 'profile';
		return name.replace(/^.*\//, '').replace(/\.(gz|folded|svg|json|html|txt|jfr|pb|prof)\b.*$/i, '') || 'profile';
	}

	/** @param {string} format @param {string} extension @param {string} type */
	async saveFormat(format, extension, type) {
		const bytes = await this.model.client.call('write', [format, false]);
		saveFile(`${this.getBaseName()}${extension}`, new Blob([bytes], { type }));
		announce(`${this.getBaseName()}${extension} is saved`, true);
	}

	/** All rows of the flame, not only those that are in sight. */
	async savePicture() {
		const ratio = devicePixelRatio || 1;
		const canvas = document.createElement('canvas');
		const painter = new Painter(canvas);
		const rows = Math.min(this.flame.rows.length, Math.floor(16000 / (ROW_HEIGHT * ratio)));
		const height = rows * ROW_HEIGHT + 4;
		painter.resize(this.flame.area.clientWidth, height);
		painter.paint({ ...this.flame.getScene(), top: 0, height, hovered: -1, focused: -1 });
		canvas.toBlob((blob) => {
			if (blob) saveFile(`${this.getBaseName()}.png`, blob);
			announce(`${this.getBaseName()}.png is saved`, true);
		});
	}

	/** This page with everything that is open in it. */
	async saveSession() {
		const numHeld = this.model.sources.length;
		const bytes = await this.model.client.call('pack');
		const packed = await packBase64(bytes);
		const block = `<script type="text/plain" id="profile" data-name="${escapeAttribute(this.getBaseName())}.svg">${packed}</` + 'script>';
		const view = { ...this.model.state, sides: this.model.getPackedSides() };
		const html = putView(this.page.replace(/<script type="text\/plain" id="profile"(?:"[^"]*"|[^>"])*>[^<]*<\/script>/, () => block), view);
		saveFile(`${this.getBaseName()}.html`, new Blob([html], { type: 'text/html' }));
		this.model.numHeld = numHeld;
		announce(`${this.getBaseName()}.html is saved`, true);
	}

	/** The stacks of the view as lines of folded text. */
	async getFolded() {
		return new TextDecoder().decode(await this.model.client.call('write', ['folded', false]));
	}
}

