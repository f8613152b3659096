// Compares the stacks of tests/workloads/v8_chains.js with what it says of them. Prints how many samples of each chain are right and
// wrong, and exits with 1 where one is wrong, too few are right, not 99.5 % of the samples have V8's frames, or more than one in
// a hundred may lack a caller although V8's frames are on its way.
//
// usage: node v8_chains.js FOLDED STATS CHAINS
//
// Each stack is one of the chains, and all chains are there.
'use strict';
const fs = require('fs');
const [folded, stats, chains] = process.argv.slice(2);
const readLines = (path) => fs.readFileSync(path, 'utf8').split('\n').filter((line) => line);
const sum = (map) => [...map.values()].reduce((a, b) => a + b, 0);

const expected = new Map(readLines(chains).map((line) => [line.split(':').at(-1), line.split(':')]));
const functions = new Set([...expected.values()].flat());
functions.delete('(anonymous)'); // others have that name as well

const isRight = (names) => String(expected.get(names.at(-1))) === String(names);

const right = new Map();
const wrong = new Map();
for (const line of readLines(folded)) {
	const [, stack, count] = line.match(/^(.*) (\d+)$/);
	const frames = stack.split(';').slice(1);
	const end = frames.indexOf('use_time');
	if (end < 0 || frames.includes('say_chain') || frames.includes('[truncated]')) continue;
	// Walked later, as a table was not there yet: what the sampling program did not come to is shown as what runs it.
	if (frames.includes('[anon]') || frames.includes('Builtins_InterpreterEntryTrampoline')) continue;
	const begin = frames.findIndex((frame) => functions.has(frame));
	const names = begin < 0 ? [] : frames.slice(begin, end).filter((frame) => functions.has(frame) || frame === '(anonymous)');
	const map = isRight(names) ? right : wrong;
	map.set(String(names), (map.get(String(names)) || 0) + Number(count));
}

const { runtimes, user_stacks: stacks } = JSON.parse(fs.readFileSync(stats, 'utf8'));
const [runtime] = runtimes;
const fits = runtime.fits / (runtime.samples - runtime.early - runtime.outside);
// V8 proves the steps of stacks with its frames. Those that came before it was known, and those of native code, are counted.
const unproven = (stacks.unproven - runtime.early - runtime.outside) / runtime.fits;
const missing = [...expected.values()].filter((chain) => !right.has(String(chain))).map(String);
console.log(JSON.stringify({ version: runtime.version, right: sum(right), wrong: sum(wrong), fits, unproven, of: runtime, missing, ...Object.fromEntries(wrong) }));
const isVersion = runtimes.length === 1 && runtime.name === 'v8js' && process.versions.v8.startsWith(runtime.version + '.');
process.exit(wrong.size || sum(right) < 500 || missing.length || !(fits >= 0.995) || !(unproven <= 0.01) || !isVersion ? 1 : 0);
