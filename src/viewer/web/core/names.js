// The names of a graph, decoded when they are asked for.

// As graph.h has them.
export const NODE_INLINED = 16;
export const NODE_THREAD = 32;
const KIND_MASK = 15;
// As frame_kind.h has them.
const KIND_WORDS = ['user', 'kernel', 'JIT', 'Python', 'JavaScript', 'Java', 'PHP', 'Ruby', 'Perl'];
const KIND_HUES = [95, 45, 145, 250, 170, 310, 285, 15, 225];

/** @param {number} flags */
export const getKindWord = (flags) => KIND_WORDS[flags & KIND_MASK];
/** @param {number} flags */
export const getKindHue = (flags) => KIND_HUES[flags & KIND_MASK];
/** Those of the kernel are its, inlined or not. @param {number} flags */
export const isKernel = (flags) => (flags & KIND_MASK) === 1;
// A level of a fragment is a number, as the core takes it: a symbol, or this and a function.
const LEVEL_FUNCTION = 2 ** 31;

/** How a level is found again. @param {import('../state/state.js').Level} level */
const getLevelKey = ({ name, isThread, module, isKernel }) =>
	(isThread ? '@' : '=') + name + (module === undefined ? '' : `\0${module}\0${isKernel ? 'kernel' : ''}`);

/** @typedef {{comm: string, process: string, pid: number, tid: number, source: number}} Thread */

export class Names {
	/** @param {{symbols: Uint8Array, functions: Uint8Array, modules: Record<string, string>, threads: Thread[]}} blobs */
	constructor({ symbols, functions, modules, threads }) {
		const words = new Uint32Array(symbols.buffer, 0, Math.floor(symbols.length / 4));
		this.numSymbols = words[0];
		this.offsets = words.subarray(1, this.numSymbols + 2);
		this.firstFunctions = words.subarray(this.numSymbols + 2, 2 * this.numSymbols + 2);
		this.bytes = symbols.subarray(4 * (2 * this.numSymbols + 2));
		this.functions = new Uint32Array(functions.buffer);
		this.numFunctions = this.functions[0];
		this.modules = modules;
		this.threads = threads;
		/** @type {(string | undefined)[]} */
		this.texts = new Array(this.numSymbols);
		this.decoder = new TextDecoder();
		/** @type {Map<string, number> | undefined} all of them */
		this.byName = undefined;
		/** @type {Map<string, number>} levels that were on their way to the state */
		this.known = new Map();
		/** @type {Uint8Array | undefined} by symbol: whether it has several functions */
		this.shared = undefined;
	}

	/** @param {number} symbol */
	getName(symbol) {
		return (this.texts[symbol] ??= this.decoder.decode(
			this.bytes.subarray(this.offsets[symbol], this.offsets[symbol + 1])));
	}

	/** @param {number} id a function */
	getSymbolOf(id) {
		return this.functions[1 + 4 * id];
	}

	/** @param {number} id a function */
	getModule(id) {
		return this.modules[this.functions[2 + 4 * id]] ?? '';
	}

	/** @param {number} id a function */
	getFlags(id) {
		return this.functions[3 + 4 * id];
	}

	/** @param {number} symbol */
	getFirstFunction(symbol) {
		return this.firstFunctions[symbol];
	}

	/** @param {number} symbol */
	isThread(symbol) {
		return (this.getFlags(this.firstFunctions[symbol]) & NODE_THREAD) !== 0;
	}

	/** @param {number} id a function */
	isKernel(id) {
		return isKernel(this.getFlags(id));
	}

	/** The level that means this function alone. @param {number} id @returns {number} */
	makeLevel(id) {
		if (!this.shared) {
			this.shared = new Uint8Array(this.numSymbols);
			for (let i = 0; i < this.numFunctions; i++)
				if (this.firstFunctions[this.getSymbolOf(i)] !== i) this.shared[this.getSymbolOf(i)] = 1;
		}
		return this.shared[this.getSymbolOf(id)] ? LEVEL_FUNCTION + id : this.getSymbolOf(id);
	}

	/** @param {number} level */
	getLevelSymbol(level) {
		return level < LEVEL_FUNCTION ? level : this.getSymbolOf(level - LEVEL_FUNCTION);
	}

	/** Its function, or the first of several. @param {number} level */
	getLevelFunction(level) {
		return level < LEVEL_FUNCTION ? this.firstFunctions[level] : level - LEVEL_FUNCTION;
	}

	/** @param {number} level */
	getLevelName(level) {
		return this.getName(this.getLevelSymbol(level));
	}

	/** As the state has it. @param {number} number @returns {import('../state/state.js').Level} */
	getLevel(number) {
		/** @type {import('../state/state.js').Level} */
		const level = { name: this.getLevelName(number), isThread: this.isThread(this.getLevelSymbol(number)) };
		if (number >= LEVEL_FUNCTION) {
			level.module = this.getModule(number - LEVEL_FUNCTION);
			if (this.isKernel(number - LEVEL_FUNCTION)) level.isKernel = true;
		}
		this.known.set(getLevelKey(level), number);
		return level;
	}

	/** The number of a level. @param {import('../state/state.js').Level} level @returns {number | undefined} */
	findLevel(level) {
		const known = this.known.get(getLevelKey(level));
		if (known !== undefined) return known;
		const symbol = this.find(level.name, level.isThread);
		if (symbol === undefined || level.module === undefined) return symbol;
		for (let i = this.firstFunctions[symbol]; i < this.numFunctions; i++)
			if (this.getSymbolOf(i) === symbol && this.getModule(i) === level.module && this.isKernel(i) === Boolean(level.isKernel))
				return this.makeLevel(i);
		return undefined;
	}

	/** @param {string} name @param {boolean} isThread @returns {number | undefined} */
	find(name, isThread) {
		// Decoding all names to find one that was just clicked would be the longest part of a click.
		const known = this.known.get(getLevelKey({ name, isThread }));
		if (known !== undefined) return known;
		if (!this.byName) {
			this.byName = new Map();
			for (let i = 0; i < this.numSymbols; i++)
				this.byName.set((this.isThread(i) ? '@' : '=') + this.getName(i), i);
		}
		return this.byName.get((isThread ? '@' : '=') + name);
	}
}

/** Rows of 64-bit numbers and ids as the core packs them. */
export class Boxes {
	/** @param {Uint8Array} bytes */
	constructor(bytes) {
		this.words = new Uint32Array(bytes.buffer);
		this.floats = new Float32Array(bytes.buffer);
		this.length = this.words.length / 16;
	}

	/** @param {number} i */
	node(i) {
		return this.words[16 * i];
	}

	/** @param {number} i */
	symbol(i) {
		return this.words[16 * i + 1];
	}

	/** @param {number} i */
	function(i) {
		return this.words[16 * i + 2];
	}

	/** @param {number} i */
	depth(i) {
		return this.words[16 * i + 3];
	}

	/** @param {number} i */
	flags(i) {
		return this.words[16 * i + 4];
	}

	/** @param {number} i */
	x(i) {
		return this.floats[16 * i + 5];
	}

	/** @param {number} i */
	width(i) {
		return this.floats[16 * i + 6];
	}

	/** @param {number} at word of the low half */
	wide(at) {
		return this.words[at] + this.words[at + 1] * 2 ** 32;
	}

	/** @param {number} i */
	total(i) {
		return this.wide(16 * i + 8);
	}

	/** @param {number} i */
	self(i) {
		return this.wide(16 * i + 10);
	}

	/** @param {number} i */
	baselineTotal(i) {
		return this.wide(16 * i + 12);
	}

	/** @param {number} i */
	baselineSelf(i) {
		return this.wide(16 * i + 14);
	}

	/** @param {number} i */
	isBase(i) {
		return (this.flags(i) & 256) !== 0;
	}
}

/** @typedef {{id: number, self: number, total: number, baselineSelf: number, baselineTotal: number}} TableRow */

/** @param {Uint8Array} bytes @returns {TableRow[]} */
export function readTable(bytes) {
	const words = new Uint32Array(bytes.buffer);
	const rows = [];
	/** @param {number} at */
	const wide = (at) => words[at] + words[at + 1] * 2 ** 32;
	for (let at = 0; at < words.length; at += 10)
		rows.push({
			id: words[at], self: wide(at + 2), total: wide(at + 4),
			baselineSelf: wide(at + 6), baselineTotal: wide(at + 8),
		});
	return rows;
}
