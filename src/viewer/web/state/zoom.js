// The part of the flame's width that is looked at. While a gesture goes on, it is the flame's own;
// when that has ended it goes into the state, as one step of the history.

import { pending } from '../core/pending.js';
import { isSame, makeZoom } from './state.js';

const LEAST_SIZE = 1e-9;
const REST_MS = 300;
const MODIFIERS = ['Alt', 'Control', 'Meta', 'Shift'];

export class Zoom {
	/** @param {import('./model.js').Model} model @param {() => void} onchange */
	constructor(model, onchange) {
		this.model = model;
		this.onchange = onchange;
		this.from = 0;
		this.to = 1;
		this.isMoving = false;
		/** @type {number | undefined} */
		this.timer = undefined;
		model.addEventListener('place', () => this.follow());
		// Whatever comes next is a step of its own.
		addEventListener('pointerdown', (event) => event.isPrimary && this.end(), true);
		addEventListener('keydown', (event) => !event.repeat && !MODIFIERS.includes(event.key) && this.end(), true);
	}

	getSize() {
		return this.to - this.from;
	}

	isWhole() {
		return this.from === 0 && this.to === 1;
	}

	/** Go where the state says. */
	follow() {
		this.stop();
		const { zoom } = this.model.state;
		// What came from here has more digits than the state.
		if (isSame(zoom, makeZoom(this.from, this.to))) return;
		this.from = zoom?.from ?? 0;
		this.to = zoom?.to ?? 1;
		this.onchange();
	}

	/** @param {number} from @param {number} to */
	moveTo(from, to) {
		const size = Math.min(1, Math.max(LEAST_SIZE, to - from));
		const start = Math.min(1 - size, Math.max(0, from));
		if (start === this.from && start + size === this.to) return;
		this.from = start;
		this.to = size === 1 ? 1 : start + size;
		this.isMoving = true;
		pending.add('zoom');
		this.onchange();
	}

	/** @param {number} factor below 1: closer @param {number} at part of the width that stays */
	zoomBy(factor, at = 0.5) {
		const size = Math.min(1, this.getSize() * factor);
		const anchor = this.from + at * this.getSize();
		this.moveTo(anchor - at * size, anchor + (1 - at) * size);
	}

	/** Sideways. @param {number} part of what is seen */
	shiftBy(part) {
		const size = this.getSize();
		const from = Math.min(1 - size, Math.max(0, this.from + part * size));
		this.moveTo(from, from + size);
	}

	/** Nobody says when a wheel stops, or a key that is held down. */
	endSoon() {
		clearTimeout(this.timer);
		this.timer = setTimeout(() => this.end(), REST_MS);
	}

	end() {
		if (!this.isMoving) return;
		this.stop();
		this.model.update({ zoom: makeZoom(this.from, this.to) });
	}

	stop() {
		clearTimeout(this.timer);
		this.isMoving = false;
		pending.delete('zoom');
	}
}
