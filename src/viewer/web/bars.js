// The bars above the view: breadcrumbs of the fragment, chips of the filters, and the search box.

import { announce, find, icon, make } from './dom.js';
import { describePattern } from './time_range.js';
import { formatCount, formatExact, formatPercent } from './units.js';

/** The fragment, always visible; each crumb can be clicked, and text can be typed instead. */
export class Crumbs {
	/** @param {import('./model.js').Model} model */
	constructor(model) {
		this.model = model;
		this.place = find('crumbs');
		this.isTyping = false;
	}

	show() {
		if (this.isTyping) return;
		const { model } = this;
		const { symbols } = model;
		const crumbs = [make('button', {
			class: symbols.length ? 'crumb' : 'crumb chosen', title: 'All stacks (Escape)', onclick: () => model.selectSymbols([]),
		}, 'All')];
		symbols.forEach((symbol, i) => {
			const name = model.names?.getName(symbol) ?? '';
			crumbs.push(make('button', {
				class: `crumb${i === symbols.length - 1 ? ' chosen' : ''}`,
				title: `${name}\nClick: ${this.keepsStart() ? 'up to here' : 'from here on'}; Shift+click: this function alone`,
				onclick: (/** @type {MouseEvent} */ event) => model.selectSymbols(event.shiftKey ? [symbol]
					: this.keepsStart() ? symbols.slice(0, i + 1) : symbols.slice(i)),
			}, name));
		});
		this.place.replaceChildren(...crumbs, make('button', {
			class: 'icon-button', 'aria-label': 'Type a fragment', title: 'Type a fragment (;)', onclick: () => this.type(),
		}, icon('edit')));
		this.place.scrollLeft = this.place.scrollWidth;
	}

	keepsStart() {
		return this.model.state.direction === 'callees';
	}

	/** Names joined by ";": any fragment can be selected this way. */
	type() {
		const { model } = this;
		this.isTyping = true;
		const input = /** @type {HTMLInputElement} */ (make('input', {
			class: 'field fragment-input', 'aria-label': 'Fragment: function names joined by ;', placeholder: 'outer;inner;innermost',
			spellcheck: 'false', value: model.state.fragment.map((level) => level.name).join(';'),
			onkeydown: (/** @type {KeyboardEvent} */ event) => {
				if (event.key === 'Escape') stop();
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
			await this.model.selectSymbols([]);
			return true;
		}
		const symbols = [];
		for (const [i, name] of text.split(';').entries()) {
			const symbol = (i === 0 ? names?.find(name, true) : undefined) ?? names?.find(name, false) ?? names?.find(name, true);
			// A thread that has the name of its first function: the function is more likely meant.
			const wanted = i === 0 ? names?.find(name, false) ?? symbol : symbol;
			if (wanted === undefined) {
				announce(`No function is called '${name}'`, true);
				return false;
			}
			symbols.push(wanted);
		}
		await this.model.selectSymbols(symbols);
		return true;
	}
}

export class Chips {
	/** @param {import('./model.js').Model} model */
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

	/** @param {import('./state.js').Filter} filter @param {number} i */
	makeChip(filter, i) {
		const { model } = this;
		const { filters } = model.state;
		const verb = filter.excludes ? 'without' : 'only';
		return make('span', { class: `chip${filter.excludes ? ' out' : ''}` },
			make('button', {
				class: 'chip-text', title: 'Turn it round',
				onclick: () => model.update({ filters: filters.map((f, n) => (n === i ? { ...f, excludes: !f.excludes } : f)) }),
			}, make('b', {}, verb), ` ${filter.kind} `, make('span', { class: 'name' }, describePattern(filter))),
			make('button', {
				class: 'chip-close', 'aria-label': `Remove the filter: ${verb} ${filter.kind} ${describePattern(filter)}`, title: 'Remove',
				onclick: () => model.update({ filters: filters.filter((_, n) => n !== i) }),
			}, icon('close')));
	}
}

export class Search {
	/** @param {import('./model.js').Model} model @param {import('./flame.js').FlameView} flame */
	constructor(model, flame) {
		this.model = model;
		this.flame = flame;
		this.box = /** @type {HTMLInputElement} */ (find('search'));
		this.regex = /** @type {HTMLInputElement} */ (find('search-regex'));
		this.result = find('search-result');
		/** @type {Uint8Array | null} by symbol */
		this.matches = null;
		this.box.addEventListener('input', () => this.run());
		this.regex.addEventListener('click', () => {
			this.regex.setAttribute('aria-pressed', String(!this.isRegex()));
			this.run();
		});
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
			this.box.value = '';
			this.run();
			event.stopPropagation();
		} else if (event.key === 'Escape') this.flame.area.focus();
	}

	async run() {
		const text = this.box.value;
		const { model } = this;
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
		}
		this.showCount();
	}

	showCount() {
		const { matches, model } = this;
		find('search-tools').hidden = !this.box.value;
		if (!matches) {
			this.result.textContent = this.result.title = this.box.value ? this.box.title : '';
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
		announce(at ? `Match ${at} of ${this.flame.getMatches().length}` : 'No match is in sight');
	}

	/** The search as a pattern of a filter or of colours. Plain text is found in either case of its letters. */
	getPattern() {
		if (this.isRegex()) return `/${this.box.value}/`;
		return `/(?i)${this.box.value.replace(/[.[\]{}()*+?^$|\\]/g, '\\$&')}/`;
	}
}
