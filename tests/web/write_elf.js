/*
 * A program of which there is nothing but names: functions of 16 bytes, one after the other, from
 * offset and address 0x1000 on.
 *
 * usage: node write_elf.js FILE FUNCTION…
 */
"use strict";

const fs = require("node:fs");

const [path, ...functions] = process.argv.slice(2);
const TEXT = 0x1000;
const TEXT_BYTES = 0x100;
const [PROGBITS, SYMTAB, STRTAB] = [1, 2, 3];

/* Little-endian numbers: [width in bytes, value]… */
function pack(...numbers) {
	return Buffer.concat(numbers.map(([width, value]) => {
		const bytes = Buffer.alloc(width);

		bytes.writeUIntLE(value, 0, Math.min(width, 6));
		return bytes;
	}));
}

/* Strings, each with its NUL, the first one empty; and where each begins. */
function packStrings(strings) {
	const bytes = Buffer.from("\0" + strings.map((string) => string + "\0").join(""));

	return [bytes, (string) => string ? bytes.indexOf("\0" + string + "\0") + 1 : 0];
}

const [names, findName] = packStrings(functions);
const [titles, findTitle] = packStrings([".text", ".symtab", ".strtab", ".shstrtab"]);
const symbols = Buffer.concat([Buffer.alloc(24), ...functions.map((name, i) =>
	pack([4, findName(name)], [1, 0x12], [1, 0], [2, 1], [8, TEXT + 16 * i], [8, 16]))]);
const contents = [[".text", PROGBITS, Buffer.alloc(TEXT_BYTES, 0x90), 6, TEXT, 0, 0], [".symtab", SYMTAB, symbols, 0, 0, 3, 24],
	[".strtab", STRTAB, names, 0, 0, 0, 0], [".shstrtab", STRTAB, titles, 0, 0, 0, 0]];

let offset = TEXT;
const headers = [Buffer.alloc(64)];
for (const [title, type, bytes, flags, address, link, entrySize] of contents) {
	headers.push(pack([4, findTitle(title)], [4, type], [8, flags], [8, address], [8, offset], [8, bytes.length], [4, link],
		[4, type === SYMTAB ? 1 : 0], [8, 1], [8, entrySize]));
	offset += bytes.length;
}
const head = Buffer.concat([Buffer.from("\x7fELF\x02\x01\x01".padEnd(16, "\0"), "latin1"),
	pack([2, 3], [2, 62], [4, 1], [8, 0], [8, 64], [8, offset], [4, 0], [2, 64], [2, 56], [2, 1], [2, 64], [2, headers.length],
		[2, contents.length]),
	pack([4, 1], [4, 5], [8, TEXT], [8, TEXT], [8, TEXT], [8, TEXT_BYTES], [8, TEXT_BYTES], [8, TEXT])]);

fs.writeFileSync(path, Buffer.concat([head, Buffer.alloc(TEXT - head.length), ...contents.map(([, , bytes]) => bytes), ...headers]));
