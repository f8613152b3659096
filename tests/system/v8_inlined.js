// Compares the stacks of tests/workloads/v8_inlined.js with the chains that it prints. Prints how many samples are right and wrong, and
// exits with 1 if one is wrong, or if too few have the function that takes the time, or inlined functions. Samples whose code was gone
// before the recorder read it may lack functions: the account has counted at least as many.
//
// usage: node v8_inlined.js FOLDED STATS CHAINS
'use strict';
const fs = require('fs');
const [folded, stats, chains] = process.argv.slice(2);
const LEAST_WITH_LEAF = 0.9;
const readLines = (path) => fs.readFileSync(path, 'utf8').split('\n').filter((line) => line);

const expected = new Set(readLines(chains).map((line) => line.split(':')).map(String));
const functions = new Set([...expected].flatMap((chain) => chain.split(',')));
const leaves = new Map([...functions].filter((name) => /leaf_/.test(name)).map((name) => [name, 0]));
// Code that runs outside of them is of their callers.
const begins = new Set([...expected].flatMap((chain) => chain.split(',').map((_, i, names) => String(names.slice(0, i + 1)))));
// A function is known by its own name, or that with its class.
const getName = (frame) => (functions.has(frame) ? frame : frame.replace(/^\w+\./, ''));

// Of a chain, some functions in their order.
const isPart = (names, chain) => names.length === chain.reduce((at, name) => at + (names[at] === name), 0);

let right = 0, withLeaf = 0, lacking = 0, wrong = 0, inlined = 0;
const examples = {};
for (const line of readLines(folded)) {
	const [, stack, text] = line.match(/^(.*) (\d+)$/);
	const count = Number(text);
	const frames = stack.split(';').slice(1);
	// Before the first optimized code, and of what is walked later, frames are those of what runs them.
	if (frames.includes('[truncated]') || frames.some((frame) => /^tell(_\[i\])?$/.test(frame)) || frames.includes('[anon]') ||
	    frames.includes('Builtins_InterpreterEntryTrampoline')) continue;
	const names = frames.map((frame) => getName(frame.replace(/_\[i\]$/, ''))).filter((name) => functions.has(name));
	if (names.length < 2) continue; // the program itself
	if (begins.has(String(names))) {
		right += count;
		if (leaves.has(names.at(-1))) { withLeaf += count; leaves.set(names.at(-1), leaves.get(names.at(-1)) + count); }
		if (frames.some((frame) => frame.endsWith('_[i]') && functions.has(getName(frame.slice(0, -4))))) inlined += count;
	} else if ([...expected].some((chain) => isPart(names, chain.split(',')))) {
		lacking += count;
	} else {
		wrong += count;
		examples[names] = (examples[names] || 0) + count;
	}
}
const [runtime] = JSON.parse(fs.readFileSync(stats, 'utf8')).runtimes;
const unseen = [...leaves].filter(([, count]) => !count).map(([name]) => name);
console.log(JSON.stringify({ version: runtime.version, right, withLeaf, inlined, wrong, unseen, lacking, mayLack: runtime.may_lack_inlined, examples }));
process.exit(wrong || !(lacking <= runtime.may_lack_inlined) || right < 300 || withLeaf + runtime.may_lack_inlined < LEAST_WITH_LEAF * right || inlined < right / 4 || unseen.length ? 1 : 0);
