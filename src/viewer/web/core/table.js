// A table of any length: only the rows that can be seen are in the document. It has the focus as a
// whole, and names the row that keys act on.
// Source: ARIA Authoring Practices, "Grid and Table Properties", "aria-activedescendant".

import { make } from './dom.js';

const TABLE_ROW_HEIGHT = 28;
const SPARE_ROWS = 6;
const NARROW_PIXELS = 600;
let numTables = 0; // a row's id begins with its table's number

/**
 * @template R
 * @typedef {object} Column
 * @property {string} id
 * @property {string} label
 * @property {(row: R) => string | number} sortBy
 * @property {(row: R) => Node | string} show
 * @property {string} width of CSS grid
 * @property {boolean} [isNumber]
 * @property {(row: R) => number} [bar] 0 to 1: drawn behind the text
 * @property {boolean} [isSpare] left out where the window is narrow, so that names are in sight
 * @property {boolean} [isFirstOrder] rows are sorted by it until somebody wants otherwise
 */

/** @template R */
export class Table {
	/**
	 * @param {HTMLElement} place
	 * @param {object} options
	 * @param {string} options.label
	 * @param {Column<R>[]} options.columns
	 * @param {(row: R) => string | number} options.getKey
	 * @param {string} [options.sort] column
	 * @param {(row: R, event: {shiftKey: boolean}) => void} [options.onselect]
	 * @param {(row: R, place: {x: number, y: number}) => void} [options.onmenu]
	 * @param {(row: R, key: string) => boolean} [options.onkey] whether the key meant something
	 * @param {string} [options.empty]
	 * @param {boolean} [options.isOrdered] rows stay in the order they came in
	 * @param {(row: R) => {level: number, isOpen: boolean | null}} [options.describe] of a tree: null for a leaf
	 */
	constructor(place, options) {
		this.options = options;
		/** @type {R[]} */
		this.rows = [];
		/** @type {string | number | undefined} key of the selected row */
		this.selected = undefined;
		this.sort = options.sort ?? options.columns[0].id;
		this.isDescending = true;
		this.active = 0;
		this.number = numTables++;
		this.head = make('div', { class: 'table-head', role: 'row', 'aria-rowindex': 1 });
		this.body = make('div', { class: 'table-rows' });
		this.sizer = make('div', { class: 'table-sizer', role: 'rowgroup' }, this.body);
		this.scroller = make('div', { class: 'table-scroll', tabindex: 0,
			role: options.describe ? 'treegrid' : 'grid', 'aria-label': options.label, onscroll: () => this.draw(), onkeydown: (/** @type {KeyboardEvent} */ e) => this.handleKey(e),
			onclick: (/** @type {MouseEvent} */ e) => this.handleClick(e),
			oncontextmenu: (/** @type {MouseEvent} */ e) => this.handleMenu(e) }, this.head, this.sizer);
		this.element = make('div', { class: 'table' }, this.scroller);
		this.setColumns(options.columns);
		place.replaceChildren(this.element);
		new ResizeObserver(() => this.fit()).observe(this.scroller);
	}

	/** @param {Column<R>[]} allColumns */
	setColumns(allColumns) {
		this.allColumns = allColumns;
		this.isNarrow = innerWidth < NARROW_PIXELS;
		const columns = this.isNarrow ? allColumns.filter((column) => !column.isSpare) : allColumns;
		this.columns = columns;
		this.element.style.setProperty('--columns', columns.map((column) => column.width).join(' '));
		if (!columns.some((column) => column.id === this.sort)) {
			this.sort = (columns.find((column) => column.isFirstOrder) ?? columns[0]).id;
			this.isDescending = true;
		}
		this.drawHead();
	}

	/** The window may have another size. */
	fit() {
		if (this.isNarrow !== innerWidth < NARROW_PIXELS) {
			this.setColumns(this.allColumns ?? []);
			this.setRows(this.rows);
		} else this.draw();
	}

	drawHead() {
		this.head.replaceChildren(...this.columns?.map((column) => make('div', {
			class: `table-cell${column.isNumber ? ' number' : ''}`, role: 'columnheader',
			'aria-sort': this.options.isOrdered ? null : column.id !== this.sort ? 'none' : this.isDescending ? 'descending' : 'ascending',
		}, this.options.isOrdered ? column.label : make('button', { class: 'table-sort', onclick: () => this.sortBy(column) },
			column.label, column.id === this.sort ? (this.isDescending ? ' ↓' : ' ↑') : ''))) ?? []);
	}

	/** @param {Column<R>} column */
	sortBy(column) {
		this.isDescending = column.id === this.sort ? !this.isDescending : Boolean(column.isNumber);
		this.sort = column.id;
		this.drawHead();
		this.setRows(this.rows);
		this.head.children[this.columns?.indexOf(column) ?? 0].querySelector('button')?.focus(); // it is a new one
	}

	/** @param {R[]} rows */
	setRows(rows) {
		const column = this.columns?.find((c) => c.id === this.sort);
		this.rows = rows;
		if (column && !this.options.isOrdered) {
			const sign = this.isDescending ? -1 : 1;
			this.rows = rows.map((row) => ({ row, by: column.sortBy(row) }))
				.sort((a, b) => sign * (a.by < b.by ? -1 : a.by > b.by ? 1 : 0)).map(({ row }) => row);
		}
		this.active = Math.max(0, Math.min(rows.length - 1, this.active));
		this.scroller.setAttribute('aria-rowcount', String(Math.max(1, rows.length) + 1));
		this.sizer.style.height = `${Math.max(1, rows.length) * TABLE_ROW_HEIGHT}px`;
		this.draw();
	}

	draw() {
		if (!this.scroller.clientHeight) return;
		const first = Math.max(0, Math.floor(this.scroller.scrollTop / TABLE_ROW_HEIGHT) - SPARE_ROWS);
		const last = Math.min(this.rows.length, first + Math.ceil(this.scroller.clientHeight / TABLE_ROW_HEIGHT) + 2 * SPARE_ROWS);
		const shown = [];
		for (let i = first; i < last; i++) shown.push(this.makeRow(i));
		if (!this.rows.length)
			shown.push(make('div', { class: 'table-empty', role: 'row', 'aria-rowindex': 2 },
				make('div', { role: 'gridcell' }, this.options.empty ?? 'Nothing here.')));
		this.body.style.transform = `translateY(${first * TABLE_ROW_HEIGHT}px)`;
		this.body.replaceChildren(...shown);
		const active = this.body.querySelector('.active');
		if (active) this.scroller.setAttribute('aria-activedescendant', active.id);
		else this.scroller.removeAttribute('aria-activedescendant'); // it is scrolled away
	}

	/** @param {number} index */
	makeRow(index) {
		const row = this.rows[index];
		const isSelected = this.selected !== undefined && this.options.getKey(row) === this.selected;
		const place = this.options.describe?.(row);
		return make('div', {
			class: `table-row${isSelected ? ' selected' : ''}${index === this.active ? ' active' : ''}`, role: 'row',
			id: `row-${this.number}-${index}`, 'data-row': index, 'aria-rowindex': index + 2, 'aria-selected': String(isSelected),
			'aria-level': place ? place.level + 1 : null,
			'aria-expanded': typeof place?.isOpen === 'boolean' ? String(place.isOpen) : null,
		}, ...this.columns?.map((column) => make('div', {
			class: `table-cell${column.isNumber ? ' number' : ''}${column.bar ? ' bar' : ''}`, role: 'gridcell',
			style: column.bar ? `--share:${(100 * Math.min(1, Math.max(0, column.bar(row)))).toFixed(2)}%` : null,
		}, column.show(row))) ?? []);
	}

	/** @param {Event} event @returns {number} -1: none */
	findRow(event) {
		const element = /** @type {Element} */ (event.target).closest('.table-row');
		return element ? Number(element.getAttribute('data-row')) : -1;
	}

	/** @param {MouseEvent} event */
	handleClick(event) {
		const index = this.findRow(event);
		if (index < 0 || getSelection()?.toString()) return; // somebody is marking text to copy it
		this.active = index;
		this.options.onselect?.(this.rows[index], event);
		this.draw();
	}

	/** @param {MouseEvent} event */
	handleMenu(event) {
		const index = this.findRow(event);
		if (index < 0 || !this.options.onmenu) return;
		event.preventDefault();
		this.active = index;
		this.draw();
		this.options.onmenu(this.rows[index], { x: event.clientX, y: event.clientY });
	}

	/** @param {KeyboardEvent} event */
	handleKey(event) {
		if (event.target !== this.scroller) return; // a button of the head has its own keys
		if (event.altKey || event.ctrlKey || event.metaKey) return;
		const page = Math.max(1, Math.floor(this.scroller.clientHeight / TABLE_ROW_HEIGHT) - 1);
		/** @type {Record<string, number>} */
		const steps = { ArrowDown: 1, ArrowUp: -1, PageDown: page, PageUp: -page, Home: -this.rows.length, End: this.rows.length };
		const row = this.rows[this.active];
		if (event.key in steps) this.moveTo(this.active + steps[event.key]);
		else if (row === undefined) return;
		else if (event.key === 'Enter') this.options.onselect?.(row, event);
		else if (event.key === 'ContextMenu' || event.key === ' ') this.openMenuByKey(row);
		else if (!this.options.onkey?.(row, event.key)) return;
		event.preventDefault();
	}

	/** @param {R} row */
	openMenuByKey(row) {
		const box = this.body.querySelector('.active')?.getBoundingClientRect() ?? this.scroller.getBoundingClientRect();
		this.options.onmenu?.(row, { x: box.left + 24, y: box.bottom });
	}

	/** @param {number} index */
	moveTo(index) {
		this.active = Math.max(0, Math.min(this.rows.length - 1, index));
		const top = this.active * TABLE_ROW_HEIGHT;
		const { scroller } = this;
		if (top < scroller.scrollTop) scroller.scrollTop = top;
		else if (top + TABLE_ROW_HEIGHT > scroller.scrollTop + scroller.clientHeight - this.head.offsetHeight)
			scroller.scrollTop = top + TABLE_ROW_HEIGHT - scroller.clientHeight + this.head.offsetHeight;
		this.draw();
	}

	/** @param {string | number | undefined} key */
	select(key) {
		this.selected = key;
		const at = this.rows.findIndex((row) => this.options.getKey(row) === key);
		if (at >= 0) this.moveTo(at);
		else this.draw();
	}
}
