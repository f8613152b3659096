'use strict';
// Compares the stacks of tests/workloads/v8_wasm.js with what it does.
//
// usage: node v8_wasm.js exact|inlined names|exports FOLDED
//
//   exact    all chains are there; of the stacks a tenth may be of before V8 is known, or have a function without its name
//   inlined  functions of WebAssembly may be inlined into others
//
// Prints how many samples are right, wrong and have a part missing. Fails where one is wrong.
const { readFileSync } = require('fs');
const [kind, names, folded] = process.argv.slice(2);
const COUNT = 40;
const counts = { right: 0, wrong: 0, partial: 0 };
const chains = new Set();
for (const line of readFileSync(folded, 'utf8').split('\n').filter(each => each)) {
    const count = Number(line.slice(line.lastIndexOf(' ') + 1));
    const frames = line.slice(0, line.lastIndexOf(' ')).split(';').filter(frame => !frame.endsWith('_[k]'));
    const first = Math.max(frames.lastIndexOf('js_direct'), frames.lastIndexOf('js_indirect'));
    if (first < 0) continue;
    const caller = frames[first] === 'js_direct' ? 'call' : 'indirect';
    const rest = frames.slice(first + 1);
    const found = rest.filter(frame => /^(leaf_|call_|indirect_|wasm-function\[)\d+\]?$/.test(frame));
    const numberOf = frame => Number(/\d+/.exec(frame)[0]);
    const isCaller = frame => frame.startsWith(`${caller}_`);
    const isLeaf = frame => frame.startsWith(names === 'names' ? 'leaf_' : 'wasm-function[');
    if (found.length === 2 && isCaller(found[0]) && isLeaf(found[1]) && numberOf(found[0]) === numberOf(found[1])) {
        counts.right += count;
        chains.add(found.join(':'));
    } else if (!found.length || (found.length === 1 && (isCaller(found[0]) || (isLeaf(found[0]) && rest.includes('[anon]')))))
        counts.partial += count;
    else {
        counts.wrong += count;
        console.log(`wrong: ${count} ${frames.slice(first).join(';')}`);
    }
}
console.log(JSON.stringify(counts), `${chains.size} chains of ${2 * COUNT}`);
const isExact = chains.size === 2 * COUNT && counts.partial <= 0.1 * counts.right;
process.exit(!counts.wrong && counts.right + counts.partial > 200 && (kind !== 'exact' || isExact) ? 0 : 1);
