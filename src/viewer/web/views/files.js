// Opening files, by dialog and by dropping; the list of what is open; what there is to know about
// how it was read.

import { announce, find, icon, make } from '../core/dom.js';
import { pending } from '../core/pending.js';
import { makeReport } from './report.js';
import { gatherExperiments } from '../core/tar.js';
import { formatCount } from '../core/units.js';

/** @typedef {{name: string, blob: Blob, format?: string}} Opened */

/** @param {File} file @param {string} [path] @returns {Opened} */
const fromFile = (file, path) => ({ name: path || file.webkitRelativePath || file.name, blob: file });

/** All files below a folder. @param {any} handle FileSystemDirectoryHandle @param {string} path @param {Opened[]} found */
async function walkHandle(handle, path, found) {
	if (handle.kind === 'file') found.push(fromFile(await handle.getFile(), path));
	else for await (const child of handle.values()) await walkHandle(child, `${path}/${child.name}`, found);
}

/** @param {any} entry FileSystemEntry @param {string} path @param {Opened[]} found */
async function walkEntry(entry, path, found) {
	if (entry.isFile) {
		found.push(fromFile(await new Promise((resolve, reject) => entry.file(resolve, reject)), path));
		return;
	}
	const reader = entry.createReader();
	for (;;) {
		/** @type {any[]} some of them at a time */
		const children = await new Promise((resolve, reject) => reader.readEntries(resolve, reject));
		if (!children.length) return;
		for (const child of children) await walkEntry(child, `${path}/${child.name}`, found);
	}
}

/**
 * What was dropped. Folders are read by getAsFileSystemHandle() where a browser has it, as
 * webkitGetAsEntry(), which all have, fails on file:// pages of some.
 * @param {DataTransfer} data
 * @returns {Promise<Opened[]>}
 */
async function readDrop(data) {
	const items = [...data.items].filter((item) => item.kind === 'file');
	// All must be asked before the first wait: the items are gone then.
	const asked = items.map((item) => ({
		file: item.getAsFile(),
		handle: /** @type {any} */ (item).getAsFileSystemHandle?.().catch(() => null) ?? Promise.resolve(null),
		entry: item.webkitGetAsEntry?.(),
	}));
	/** @type {Opened[]} */
	const found = [];
	for (const { file, handle, entry } of asked) {
		const opened = await handle;
		if (opened?.kind === 'directory') await walkHandle(opened, opened.name, found);
		else if (!opened && entry?.isDirectory) await walkEntry(entry, entry.name, found);
		else if (file) found.push(fromFile(file));
	}
	return found;
}

export class Files {
	/** @param {import('../state/model.js').Model} model */
	constructor(model) {
		this.model = model;
		this.input = /** @type {HTMLInputElement} */ (find('file-input'));
		this.folder = /** @type {HTMLInputElement} */ (find('folder-input'));
		for (const input of [this.input, this.folder])
			input.addEventListener('change', () => {
				this.open([...(input.files ?? [])].map((file) => fromFile(file)));
				input.value = '';
			});
		this.listenToDrops();
		model.addEventListener('progress', (event) => this.showProgress(/** @type {CustomEvent} */ (event).detail));
	}

	listenToDrops() {
		let depth = 0;
		const cover = find('cover');
		addEventListener('dragenter', (event) => {
			event.preventDefault();
			cover.hidden = ++depth === 0;
		});
		addEventListener('dragleave', () => {
			cover.hidden = --depth <= 0;
		});
		addEventListener('dragover', (event) => {
			event.preventDefault();
			if (event.dataTransfer) event.dataTransfer.dropEffect = 'copy';
		});
		addEventListener('drop', async (event) => {
			event.preventDefault();
			depth = 0;
			cover.hidden = true;
			if (!event.dataTransfer) return;
			try {
				this.open(await pending.track(readDrop(event.dataTransfer)));
			} catch (error) {
				this.complain(`cannot read the dropped item: ${/** @type {Error} */ (error).message}`);
			}
		});
	}

	choose() {
		this.input.click();
	}

	/** @param {Opened[]} opened */
	async open(opened) {
		const files = gatherExperiments(opened);
		if (!files.length) return;
		const known = this.model.sources.length;
		const failures = await this.model.open(files);
		for (const failure of failures) this.complain(failure);
		const count = files.length - failures.length;
		if (count > 0) announce(`${formatCount(count, 'file')} opened`);
		for (const source of this.model.sources.slice(known))
			if (source.warnings && !source.isGone) this.warn(source);
	}

	/** @param {string} text @param {string} kind class and role @param {HTMLElement} [more] */
	note(text, kind, more) {
		find('live').textContent = text;
		if ([...find('notes').children].some((note) => note.firstChild?.textContent === text)) return; // it stands there
		const note = make('div', { class: `note ${kind}`, role: kind === 'bad' ? 'alert' : 'status' }, make('span', {}, text), more ?? '',
			make('button', { class: 'icon-button', 'aria-label': 'Dismiss', onclick: () => note.remove() }, icon('close')));
		find('notes').append(note);
	}

	/** @param {string} text */
	complain(text) {
		this.note(text, 'bad');
	}

	/** What was read in part says so at once, not in a tab that nobody opens. @param {import('../state/model.js').Source} source */
	warn(source) {
		const lines = source.warnings.trim().split('\n');
		const rest = lines.length > 1 ? ` (and ${formatCount(lines.length - 1, 'more warning')})` : '';
		this.note(lines[0] + rest, 'warning', make('button', {
			class: 'link', onclick: () => this.model.update({ tab: 'files' }),
		}, 'Files'));
	}

	/** @param {{name: string, done: number, count: number} | null} progress */
	showProgress(progress) {
		const bar = find('progress');
		bar.hidden = !progress;
		if (progress)
			find('progress-text').textContent = progress.count > 1
				? `Reading ${progress.name} (${progress.done + 1} of ${progress.count})…` : `Reading ${progress.name}…`;
	}
}

/** The tab with all files. */
export class FilesView {
	/** @param {import('../state/model.js').Model} model @param {Files} files */
	constructor(model, files) {
		this.model = model;
		this.files = files;
	}

	show() {
		const sources = this.model.getSources();
		find('files').replaceChildren(
			make('div', { class: 'view-bar' },
				make('button', { class: 'button', onclick: () => this.files.choose() }, icon('open'), 'Add files…'),
				make('button', { class: 'button', onclick: () => this.files.folder.click() }, 'Add a folder…'),
				this.canCompare() ? make('button', { class: 'button', id: 'swap', onclick: () => this.swap() }, icon('swap'), 'Swap A and B') : null,
				make('span', { class: 'muted' }, 'A file is off, shown, or the baseline of a comparison.')),
			make('div', { class: 'cards' }, ...sources.map((source) => this.makeCard(source))));
	}

	canCompare() {
		return this.model.getSources().some((source) => source.side === 2);
	}

	/** Before becomes after, and the other way round. */
	swap() {
		const sides = this.model.sources.map((source) => ({ 1: '2', 2: '1' })[source.side] ?? '0').join('');
		this.model.update({ sides });
	}

	/** @param {import('../state/model.js').Source} source */
	makeCard(source) {
		const { model } = this;
		const name = /** @type {HTMLInputElement} */ (make('input', {
			class: 'card-name', value: source.name, 'aria-label': 'Name of the file', spellcheck: 'false',
			onchange: () => model.rename(source.id, name.value.trim() || source.name),
		}));
		const sides = [['Off', 0], ['Shown (B)', 1], ['Before (A)', 2]];
		return make('article', { class: `card${source.side ? '' : ' off'}`, 'data-source': source.id },
			make('div', { class: 'card-head' }, name, make('button', {
				class: 'icon-button', 'aria-label': `Remove ${source.name}`, title: 'Remove', onclick: () => model.remove(source.id),
			}, icon('close'))),
			make('div', { class: 'segments', role: 'radiogroup', 'aria-label': `How ${source.name} is used` },
				...sides.map(([label, side]) => make('button', {
					role: 'radio', 'aria-checked': String(source.side === side), class: source.side === side ? 'chosen' : '',
					onclick: () => model.setSide(source.id, Number(side)),
				}, String(label)))),
			make('span', { class: 'card-filters' },
				make('button', { class: 'link', onclick: () => this.filter(source, false) }, 'Only this'),
				make('button', { class: 'link', onclick: () => this.filter(source, true) }, 'Without')),
			makeReport(source));
	}

	/** Of files with one name a filter would mean all. @param {import('../state/model.js').Source} source @param {boolean} excludes */
	filter(source, excludes) {
		const { model } = this;
		const hasTwin = model.getSources().some((other) => other.id !== source.id && other.path === source.path);
		if (!hasTwin) return model.addFilter({ kind: 'file', pattern: source.path, excludes });
		return model.update({ sides: model.sources.map((other) =>
			((other.id === source.id) === excludes ? 0 : other.side || (excludes ? 0 : 1))).join('') });
	}
}
