'use strict';
// Compare two names of the same level of a stack: that by V8's frame, and that by where the instruction is.
//
// usage: node v8_leaves.js RECORDING
//
//   RECORDING  folded, of v8_leaves.js with --runtime-frames all and --perf-basic-prof
//
// Almost all have to be the same: what is compiled first calls another function before it has a frame, and is compiled anew soon.
const fs = require('fs');
const [recording] = process.argv.slice(2);
const MOST_WRONG = 0.002;
let right = 0, wrong = 0;
const examples = {};
for (const line of fs.readFileSync(recording, 'utf8').split('\n')) {
    const frames = line.slice(0, line.lastIndexOf(' ')).split(';').filter(frame => !frame.endsWith('_[k]'));
    const count = Number(line.slice(line.lastIndexOf(' ') + 1));
    for (let i = 1; i < frames.length; i++) {
        const code = /^(?:JS|LazyCompile|Function):\W*(?:\w+\.)?(leaf_\w+) .*v8_leaves\.js/.exec(frames[i]);
        const name = /(?:^|\.)(leaf_\w+)$/.exec(frames[i - 1]);
        if (!code || !name) continue;
        if (code[1] === name[1]) { right += count; continue; }
        wrong += count;
        const example = `${name[1]} runs the code of ${code[1]}`;
        examples[example] = (examples[example] || 0) + count;
    }
}
console.log(JSON.stringify({ right, wrong, examples }));
if (right < 1000 || wrong > MOST_WRONG * (right + wrong)) process.exitCode = 1;
