// What runs beside the page: reading, adding up and laying out, so that the page never waits.

import { Core, Crash, NONE } from './core/core.js';

/** @type {Core | undefined} */
let core;

/** @returns {Core} */
function getCore() {
	if (!core) throw new Error('the core has not been started');
	return core;
}

/** gzip, as in .folded.gz and .pb.gz. @param {Uint8Array} bytes */
function isGzip(bytes) {
	return bytes.length > 18 && bytes[0] === 0x1f && bytes[1] === 0x8b && bytes[2] === 8;
}

// No profile is larger when unpacked; a bomb is.
const MAX_UNPACKED_BYTES = 2 ** 31;

/** @param {Blob} packed @returns {Promise<Blob>} */
async function unpack(packed) {
	const reader = packed.stream().pipeThrough(new DecompressionStream('gzip')).getReader();
	const chunks = [];
	let size = 0;
	for (;;) {
		const { done, value } = await reader.read();
		if (done) break;
		size += value.length;
		if (size > MAX_UNPACKED_BYTES) throw new Error('larger than 2 GiB when unpacked');
		chunks.push(value);
	}
	return new Blob(/** @type {any} */ (chunks));
}

/** Text as Windows' shells write it, in UTF-16, as UTF-8. @param {Blob} blob */
async function asUtf8(blob) {
	const [first, second] = new Uint8Array(await blob.slice(0, 2).arrayBuffer());
	const mark = first << 8 | second;
	if (mark !== 0xfffe && mark !== 0xfeff) return blob;
	return new Blob([new TextDecoder(mark === 0xfffe ? 'utf-16le' : 'utf-16be').decode(await blob.arrayBuffer())]);
}

// Read at once; what comes of it is in the core's memory before the next piece is read.
const PIECE_BYTES = 2 ** 24;

/** A copy in the core's memory: its address, or 0. @param {Core} target @param {Blob} blob */
async function putBlob(target, blob) {
	const address = target.reserve(blob.size);
	try {
		for (let at = 0; at < blob.size; at += PIECE_BYTES)
			target.fill(address + at, new Uint8Array(await blob.slice(at, at + PIECE_BYTES).arrayBuffer()));
	} catch (error) {
		target.release(address);
		throw error;
	}
	return address;
}

/** @param {Uint32Array | number[]} symbols */
function asBytes(symbols) {
	return new Uint8Array(Uint32Array.from(symbols).buffer);
}

/** @type {Record<string, (...args: any[]) => any>} */
const methods = {
	/** @param {ArrayBuffer} wasm */
	async start(wasm) {
		core = await Core.create(wasm);
	},

	/** @param {string} name @param {Blob} blob @param {string} format */
	async load(name, blob, format) {
		const c = getCore();
		const isPacked = isGzip(new Uint8Array(await blob.slice(0, 32).arrayBuffer()));
		let whole = blob;
		try {
			whole = await asUtf8(isPacked ? await unpack(blob) : blob);
		} catch (error) {
			throw new Error(`${name}: cannot be unpacked: ${/** @type {Error} */ (error).message}`);
		}
		const address = await putBlob(c, whole);
		try {
			return { source: c.call('core_import', name, address, whole.size, format) };
		} finally {
			c.release(address);
		}
	},

	formats: () => getCore().askJson('core_formats'),
	overview: () => getCore().askJson('core_overview'),
	setSide: (source, side) => getCore().call('core_set_side', source, side),
	rename: (source, name) => getCore().call('core_rename', source, name),
	remove: (source) => getCore().call('core_remove', source),

	/** @param {number} root */
	prepare(root) {
		const c = getCore();
		c.call('core_prepare', root);
		return {
			symbols: c.ask('core_symbols'),
			functions: c.ask('core_functions'),
			modules: c.askJson('core_modules'),
			threads: c.askJson('core_threads'),
		};
	},

	look(metric, baseline, filters, fragment, direction, order) {
		return getCore().askJson('core_query', metric, baseline, filters, asBytes(fragment), fragment.length,
			direction, order);
	},

	layout: (from, to, width, least) => getCore().ask('core_layout', from, to, width, least),
	children: (direction, node) => getCore().ask('core_children', direction, node ?? NONE),
	table: (kind) => getCore().ask('core_table', kind),
	changes: () => getCore().ask('core_changes'),
	waits: (metric) => getCore().askJson('core_waits', metric),
	wakerStacks: (metric, waker, node) => getCore().askJson('core_waker_stacks', metric, waker, node),
	timeGrid: (maxColumns) => getCore().ask('core_time_grid', maxColumns),
	search: (pattern) => getCore().ask('core_search', pattern),
	pack: () => getCore().ask('core_pack'),
	write: (format, isWhole) => getCore().ask('core_export', format, isWhole ? 1 : 0),
};

/**
 * A line that says what to do. name: of the file that is being read
 * @param {unknown} error @param {string} name
 */
function describeFailure(error, name) {
	const message = error instanceof Error ? error.message : String(error);
	const isFull = error instanceof RangeError || /\bout of memory$/.test(message);
	const reason = isFull ? `${name ? `${name}: ` : ''}the page's memory is full, of which it can have 4 GB: ` +
		'remove files, or use the command line: stackwide report FILE' : message;
	// The core has cut long names.
	return reason.startsWith(name.slice(0, 200)) ? reason : `${name}: ${reason}`;
}

self.onmessage = async ({ data }) => {
	const { id, method, args } = data;
	try {
		const result = await methods[method](...args);
		/** @type {any[]} */
		const transfer = result instanceof Uint8Array ? [result.buffer] : [];
		/** @type {any} */ (self).postMessage({ id, result }, transfer);
	} catch (error) {
		const isCrash = error instanceof Crash;
		const failure = isCrash ? error.message : describeFailure(error, method === 'load' ? args[0] : '');
		self.postMessage({ id, failure, isCrash });
	}
};
