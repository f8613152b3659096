// Experiments of gprofng and Oracle Studio are folders; the core reads them as tar archives. Nothing
// is copied here: an archive is headers and the files as they are.

/** @typedef {import('../views/files.js').Opened} Opened */

const BLOCK_BYTES = 512;
const MOST_NAME_BYTES = 100;

/** One header of ustar. @param {Uint8Array} name @param {number} size @param {string} kind */
function makeHeader(name, size, kind) {
	const header = new Uint8Array(BLOCK_BYTES);
	const encoder = new TextEncoder();
	/** @param {number} at @param {string} text */
	const put = (at, text) => header.set(encoder.encode(text), at);
	header.set(name.subarray(0, MOST_NAME_BYTES));
	put(100, '0000644\0' + '0000000\0'.repeat(2));
	put(124, `${size.toString(8).padStart(11, '0')}\0${'0'.repeat(11)}\0`);
	put(148, `        ${kind}`);
	put(257, 'ustar\x0000');
	const sum = header.reduce((total, byte) => total + byte, 0);
	put(148, `${sum.toString(8).padStart(6, '0')}\0 `);
	return header;
}

/** @param {Blob | Uint8Array} content @param {number} size */
function pad(content, size) {
	return [content, new Uint8Array((BLOCK_BYTES - (size % BLOCK_BYTES)) % BLOCK_BYTES)];
}

/** @param {Opened[]} files @returns {Blob} */
function makeTar(files) {
	/** @type {any[]} */
	const parts = [];
	for (const { name, blob } of files) {
		const bytes = new TextEncoder().encode(name);
		// A long name is content of a header before the file's own, as GNU tar writes it.
		if (bytes.length > MOST_NAME_BYTES)
			parts.push(makeHeader(new TextEncoder().encode('././@LongLink'), bytes.length + 1, 'L'),
				...pad(new Blob([bytes, new Uint8Array(1)]), bytes.length + 1));
		parts.push(makeHeader(bytes, blob.size, '0'), ...pad(blob, blob.size));
	}
	return new Blob([...parts, new Uint8Array(2 * BLOCK_BYTES)]);
}

/** Where the path of an experiment ends; 0: it is of none. @param {string} path */
function findExperiment(path) {
	const match = /(^|\/)[^/]+\.er(?=\/)/.exec(path);
	return match ? match.index + match[0].length : 0;
}

/**
 * Files below a folder NAME.er become that one.
 * @param {Opened[]} files
 * @returns {Opened[]}
 */
export function gatherExperiments(files) {
	/** @type {Map<string, Opened[]>} */
	const experiments = new Map();
	const others = [];
	for (const file of files) {
		const name = file.name.slice(0, findExperiment(file.name));
		if (!name) others.push(file);
		else if (experiments.has(name)) experiments.get(name)?.push(file);
		else experiments.set(name, [file]);
	}
	return [...others, ...[...experiments].map(([name, members]) => ({ name, blob: makeTar(members) }))];
}
