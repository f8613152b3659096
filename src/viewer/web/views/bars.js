// The bars above the view: breadcrumbs of the fragment, chips of the filters, and the search box.

import { announce, find, icon, make } from '../core/dom.js';
import { MOST_LEVELS, makeLevels, shorten } from '../core/bounds.js';
import { describeLevel } from '../state/state.js';
import { describePattern } from '../core/time_range.js';
import { formatCount, formatExact, formatPercent } from '../core/units.js';

const REST_OF_TYPING_MS = 1000;

/** The fragment, always visible; each crumb can be clicked, and text can be typed instead. */
export class Crumbs {
	/** @param {import('../state/model.js').Model} model */
	constructor(model) {
		this.model = model;
		this.place = find('crumbs');
		this.isTyping = false;
		/** @type {import('../state/state.js').Level[] | undefined} */
		this.shown = undefined;
		this.room = MOST_LEVELS; // for so many of its levels
	}

	show() {
		if (this.isTyping) return;
		const { levels, state } = this.model;
		if (this.shown !== state.fragment) this.room = MOST_LEVELS;
		this.shown = state.fragment;
		this.place.replaceChildren(make('button', {
			class: levels.length ? 'crumb' : 'crumb chosen', title: 'All stacks (Escape)', onclick: () => this.model.selectLevels([]),
		}, 'All'), ...makeLevels(levels.length, this.room, (i) => this.makeCrumb(levels, i), (label) => this.makeGap(label)), make('button', {
			class: 'icon-button', 'aria-label': 'Type a fragment', title: 'Type a fragment (;)', onclick: () => this.type(),
		}, icon('edit')));
		this.place.scrollLeft = this.place.scrollWidth;
	}

	/** @param {number[]} levels @param {number} i */
	makeCrumb(levels, i) {
		const { model } = this;
		const name = shorten(describeLevel(model.getLevel(levels[i])));
		return make('button', {
			class: `crumb${i === levels.length - 1 ? ' chosen' : ''}`,
			title: `${name}\nClick: ${this.keepsStart() ? 'up to here' : 'from here on'}; Shift+click: this function alone`,
			onclick: (/** @type {MouseEvent} */ event) => model.selectLevels(event.shiftKey ? [levels[i]]
				: this.keepsStart() ? levels.slice(0, i + 1) : levels.slice(i)),
		}, name);
	}

	/** Who wants to see them all gets there in a few clicks. @param {string} label */
	makeGap(label) {
		return make('button', {
			class: 'crumb gap', title: 'Show more frames of the selection', onclick: () => {
				this.room *= 4;
				this.show();
			},
		}, label);
	}

	keepsStart() {
		return this.model.state.direction === 'callees';
	}

	/** Names joined by ";": any fragment can be selected this way. */
	type() {
		const { model } = this;
		this.isTyping = true;
		const before = model.state.fragment.map((level) => level.name).join(';');
		const input = /** @type {HTMLInputElement} */ (make('input', {
			class: 'field fragment-input', 'aria-label': 'Fragment: function names joined by ;', placeholder: 'outer;inner;innermost',
			spellcheck: 'false', value: before,
			onkeydown: (/** @type {KeyboardEvent} */ event) => {
				if (event.key === 'Escape' || (event.key === 'Enter' && input.value === before)) stop();
				else if (event.key === 'Enter') this.selectText(input.value).then((isFound) => isFound && stop());
				else return;
				event.stopPropagation();
			},
			onblur: () => stop(),
		}));
		const stop = () => {
			if (!this.isTyping) return;
			this.isTyping = false;
			this.show();
		};
		this.place.replaceChildren(input);
		input.focus();
		input.select();
	}

	/** @param {string} text @returns {Promise<boolean>} */
	async selectText(text) {
		const { names } = this.model;
		if (!text.trim()) {
			await this.model.selectLevels([]);
			return true;
		}
		const levels = [];
		for (const [i, name] of text.split(';').entries()) {
			const symbol = (i === 0 ? names?.find(name, true) : undefined) ?? names?.find(name, false) ?? names?.find(name, true);
			// A thread that has the name of its first function: the function is more likely meant.
			const wanted = i === 0 ? names?.find(name, false) ?? symbol : symbol;
			if (wanted === undefined) {
				announce(`No function is called '${shorten(name)}'`, true);
				return false;
			}
			levels.push(wanted);
		}
		await this.model.selectLevels(levels);
		return true;
	}
}

export class Chips {
	/** @param {import('../state/model.js').Model} model */
	constructor(model) {
		this.model = model;
	}

	show() {
		const { filters } = this.model.state;
		const place = find('chips');
		place.hidden = filters.length === 0;
		place.replaceChildren(...filters.map((filter, i) => this.makeChip(filter, i)),
			filters.length > 1 ? make('button', { class: 'link', onclick: () => this.model.update({ filters: [] }) }, 'Remove all') : '');
	}

	/** @param {import('../state/state.js').Filter} filter @param {number} i */
	makeChip(filter, i) {
		const { model } = this;
		const { filters } = model.state;
		const verb = filter.excludes ? 'without' : 'only';
		return make('span', { class: `chip${filter.excludes ? ' out' : ''}` },
			make('button', {
				class: 'chip-text', title: 'Turn it round',
				onclick: () => model.update({ filters: filters.map((f, n) => (n === i ? { ...f, excludes: !f.excludes } : f)) }),
			}, make('b', {}, verb), ` ${filter.kind} `, make('span', { class: 'name' }, shorten(describePattern(filter)))),
			make('button', {
				class: 'chip-close', 'aria-label': `Remove the filter: ${verb} ${filter.kind} ${shorten(describePattern(filter))}`, title: 'Remove',
				onclick: () => model.update({ filters: filters.filter((_, n) => n !== i) }),
			}, icon('close')));
	}
}

export class Search {
	/** @param {import('../state/model.js').Model} model @param {import('./flame.js').FlameView} flame */
	constructor(model, flame) {
		this.model = model;
		this.flame = flame;
		this.box = /** @type {HTMLInputElement} */ (find('search'));
		this.regex = /** @type {HTMLInputElement} */ (find('search-regex'));
		this.result = find('search-result');
		this.asked = '';
		this.revision = -1;
		/** @type {Uint8Array | null} by symbol */
		this.matches = null;
		this.typedAt = -Infinity; // when, and at which position of the history
		this.typedPosition = -1;
		this.box.addEventListener('input', () => this.type());
		this.regex.addEventListener('click', () => model.update({ isRegex: !this.isRegex() }));
		model.addEventListener('place', () => this.show());
		this.box.addEventListener('keydown', (event) => this.handleKey(event));
		find('search-next').addEventListener('click', () => this.go(1));
		find('search-previous').addEventListener('click', () => this.go(-1));
		model.addEventListener('layout', () => this.showCount());
	}

	isRegex() {
		return this.regex.getAttribute('aria-pressed') === 'true';
	}

	/** @param {KeyboardEvent} event */
	handleKey(event) {
		if (event.key === 'Enter') this.go(event.shiftKey ? -1 : 1, true);
		else if (event.key === 'Escape' && this.box.value) {
			this.model.update({ search: '' });
			event.stopPropagation();
		} else if (event.key === 'Escape') this.flame.area.focus();
	}

	/** What is typed without a rest is one step. */
	type() {
		const { model } = this;
		const goesOn = model.position === this.typedPosition && performance.now() - this.typedAt < REST_OF_TYPING_MS;
		model.update({ search: this.box.value }, goesOn);
		this.typedAt = performance.now();
		this.typedPosition = model.position;
	}

	/** As the state has it. */
	show() {
		const { search, isRegex } = this.model.state;
		if (search === this.asked && isRegex === this.isRegex() && this.revision === this.model.revision) return;
		this.regex.setAttribute('aria-pressed', String(isRegex));
		if (this.box.value !== search) this.box.value = search;
		this.run();
	}

	async run() {
		const text = this.box.value;
		const { model } = this;
		this.asked = text;
		this.revision = model.revision;
		this.box.classList.remove('wrong');
		this.box.title = '';
		if (!text || !model.names) {
			this.matches = null;
			this.flame.setMatches(null);
			this.showCount();
			return;
		}
		const pattern = this.getPattern();
		const isOld = () => !this.box.value || pattern !== this.getPattern();
		try {
			const answer = await model.client.call('search', [pattern]);
			if (isOld()) return;
			const words = new Uint32Array(answer.buffer, 0, 2);
			this.weight = words[0] + words[1] * 2 ** 32;
			this.matches = answer.subarray(8);
			this.flame.setMatches(this.matches);
		} catch (error) {
			if (isOld()) return;
			this.matches = null;
			this.flame.setMatches(null);
			this.box.classList.add('wrong');
			this.box.title = /** @type {Error} */ (error).message;
			if (this.box.title.includes('memory')) model.emit('failure', this.box.title);
		}
		this.showCount();
	}

	showCount() {
		const { matches, model } = this;
		find('search-tools').hidden = !this.box.value;
		if (!matches) {
			this.result.textContent = this.result.title = this.box.value ? this.box.title : '';
			delete this.result.dataset.weight;
			delete this.result.dataset.count;
			return;
		}
		// Threads are marked as well, but are no functions: filters have a kind for them.
		const count = matches.reduce((sum, match, symbol) => sum + (model.names?.isThread(symbol) ? 0 : match), 0);
		const percent = formatPercent(this.weight ?? 0, model.numbers.inclusive);
		this.result.textContent = `${percent} in ${formatCount(count, 'function')}`;
		this.result.title = `${formatExact(this.weight ?? 0, model.getMetric())}; each stack counts once. ` +
			`${formatCount(this.flame.getMatches().length, 'frame')} in sight.`;
		this.result.dataset.weight = String(this.weight);
		this.result.dataset.count = String(count);
	}

	/** @param {number} step @param {boolean} [staysHere] */
	go(step, staysHere) {
		const { matches } = this;
		if (!matches) return;
		const at = this.flame.goToMatch(step);
		if (staysHere) this.box.focus();
		announce(at ? `Match ${at} of ${this.flame.getMatches().length}` : 'No visible match');
	}

	/** The search as a pattern of a filter or of colours. Plain text is found in either case of its letters. */
	getPattern() {
		if (this.isRegex()) return `/${this.box.value}/`;
		return `/(?i)${this.box.value.replace(/[.[\]{}()*+?^$|\\]/g, '\\$&')}/`;
	}
}
