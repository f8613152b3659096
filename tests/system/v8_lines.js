// Compares the lines of functions in a recording with what is known of them: what `node --cpu-prof` has said of the same program, and
// what names say, as line_7_… Prints how many are right and wrong, and exits with 1 where one is wrong, or less are right than LEAST.
//
// usage: node v8_lines.js LEAST SPEEDSCOPE [CPUPROFILE…]
'use strict';
const fs = require('fs');
const [least, recording, ...profiles] = process.argv.slice(2);
const read = (path) => JSON.parse(fs.readFileSync(path, 'utf8'));

// Several functions of a file have these names, of which a profile need not have all.
const isAmbiguous = (name) => name === '(anonymous)' || name === 'leaf_in_constructor' || name.includes('<');

// So may functions of Node.js itself: it has its own sources, and what begins in a line is named there.
const sources = process.binding('natives');
function isAnother(name, file, line) {
	const text = sources[file.replace('node:', '')]?.split('\n')[line - 1];
	return text !== undefined && text.includes(name.split(/[ .#]/).at(-1));
}

const known = new Map();
for (const { nodes } of profiles.map(read))
	for (const { callFrame } of nodes) {
		const key = callFrame.functionName + '@' + callFrame.url.replace('file://', '');
		if (!known.has(key)) known.set(key, new Set());
		known.get(key).add(callFrame.lineNumber + 1);
	}

const right = new Set();
const wrong = [];
const without = [];
for (const { name, file, line } of read(recording).shared.frames) {
	const said = name.match(/^line_(\d+)_/);
	const lines = said ? new Set([Number(said[1])]) : known.get(name + '@' + file);
	if (!lines || isAmbiguous(name)) continue;
	if (!line) without.push(name);
	else if (lines.has(line)) right.add(name);
	else if (!isAnother(name, file, line)) wrong.push({ name, file, line, expected: [...lines] });
}
console.log(JSON.stringify({ right: right.size, wrong, without }));
process.exit(wrong.length || right.size < Number(least) ? 1 : 0);
