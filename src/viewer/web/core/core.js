// The C core: a WebAssembly module that imports nothing. This file knows how its numbers and
// strings lie in memory, and nothing of what they mean.

export const NONE = 0xffffffff;

/** A function of the module did not return: nothing in its memory can be trusted any more. */
export class Crash extends Error {}

export class Core {
	/** @param {BufferSource} wasm */
	static async create(wasm) {
		const { instance } = await WebAssembly.instantiate(wasm, {});
		return new Core(/** @type {any} */ (instance.exports));
	}

	/** @param {any} exports */
	constructor(exports) {
		this.exports = exports;
		exports._initialize();
		this.handle = exports.core_new();
		this.encoder = new TextEncoder();
		this.decoder = new TextDecoder();
	}

	/** Memory for so many bytes and a zero behind them; the caller releases it. @param {number} size */
	reserve(size) {
		const address = this.run('core_alloc', size + 1) >>> 0; // a pointer, not a signed number
		if (!address) throw new Error('out of memory');
		this.fill(address + size, new Uint8Array(1));
		return address;
	}

	/** @param {number} address @param {Uint8Array} bytes */
	fill(address, bytes) {
		new Uint8Array(this.exports.memory.buffer, address, bytes.length).set(bytes);
	}

	/** @param {number} address */
	release(address) {
		this.run('core_release', address);
	}

	/** @param {string} name @param {number[]} numbers @returns {number} */
	run(name, ...numbers) {
		try {
			return this.exports[name](...numbers);
		} catch (error) {
			throw new Crash(`${name}: ${/** @type {Error} */ (error).message}`);
		}
	}

	/** Copy bytes in; the caller releases them. @param {Uint8Array} bytes */
	put(bytes) {
		const address = this.reserve(bytes.length);
		this.fill(address, bytes);
		return address;
	}

	/** @param {string} text */
	putText(text) {
		return this.put(this.encoder.encode(text.replaceAll('\0', ' ')));
	}

	readError() {
		const start = this.exports.core_get_error(this.handle) >>> 0;
		const memory = new Uint8Array(this.exports.memory.buffer);
		return this.decoder.decode(memory.slice(start, memory.indexOf(0, start)));
	}

	/**
	 * Call a function of the module with numbers, texts and bytes; texts and bytes are released
	 * afterwards.
	 * @param {string} name
	 * @param {(number | string | Uint8Array)[]} args
	 * @returns {number}
	 */
	call(name, ...args) {
		/** @type {number[]} */
		const held = [];
		const numbers = args.map((arg) => {
			if (typeof arg === 'number') return arg;
			const address = typeof arg === 'string' ? this.putText(arg) : this.put(arg);
			held.push(address);
			return address;
		});
		try {
			const result = this.run(name, this.handle, ...numbers);
			if (result < 0) throw new Error(this.readError() || `${name} failed (${result})`);
			return result;
		} finally {
			for (const address of held) this.release(address);
		}
	}

	/** The same, giving a copy of the answer. @param {string} name @param {(number | string | Uint8Array)[]} args */
	ask(name, ...args) {
		this.call(name, ...args);
		const start = this.exports.core_get_bytes(this.handle) >>> 0;
		const size = this.exports.core_get_size(this.handle) >>> 0;
		return new Uint8Array(this.exports.memory.buffer, start, size).slice();
	}

	/** @param {string} name @param {(number | string | Uint8Array)[]} args */
	askJson(name, ...args) {
		return JSON.parse(this.decoder.decode(this.ask(name, ...args)));
	}
}
