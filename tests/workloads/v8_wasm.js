'use strict';
// Functions of WebAssembly that call each other: for each number, call_N calls leaf_N, and indirect_N does so by a table. leaf_N is busy for
// a while. js_direct() calls the first ones, and js_indirect() the others.
//
// usage: node v8_wasm.js names|exports SECONDS
//
//   names    the module has a name section
//   exports  it has none: leaf_N has its number alone, which is N, as the first function is imported
const [kind, seconds] = process.argv.slice(2);
const COUNT = 40;
const MAX_LOOPS = 60000;

function unsigned(number) {
    const bytes = [];
    for (; number >= 0x80; number >>>= 7) bytes.push(number & 0x7f | 0x80);
    return [...bytes, number];
}
function signed(number) {
    const bytes = [];
    for (; number >= 0x40; number >>= 7) bytes.push(number & 0x7f | 0x80);
    return [...bytes, number];
}
const text = string => [...unsigned(Buffer.byteLength(string)), ...Buffer.from(string)];
const list = items => [...unsigned(items.length), ...items.flat()];
const sized = bytes => [...unsigned(bytes.length), ...bytes];
const section = (number, bytes) => [number, ...sized(bytes)];

// (loop: x = x * factor + n; n -= 1; while n), with a local variable x behind the argument n.
const spin = factor => sized([1, 1, 0x7f, 0x03, 0x40, 0x20, 1, 0x41, ...signed(factor), 0x6c, 0x20, 0, 0x6a, 0x21, 1,
    0x20, 0, 0x41, 1, 0x6b, 0x22, 0, 0x0d, 0, 0x0b, 0x20, 1, 0x0b]);
// f(n) + 1
const call = number => sized([0, 0x20, 0, 0x10, ...unsigned(number), 0x41, 1, 0x6a, 0x0b]);
const callIndirect = element => sized([0, 0x20, 0, 0x41, ...signed(element), 0x11, 0, 0, 0x41, 1, 0x6a, 0x0b]);

const functions = [];
for (let i = 1; i <= COUNT; i++) functions[i] = { name: `leaf_${i}`, body: spin(2 * i + 1) };
for (let i = 1; i <= COUNT; i++) functions[COUNT + i] = { name: `call_${i}`, body: call(i), isExported: true };
for (let i = 1; i <= COUNT; i++)
    functions[2 * COUNT + i] = { name: `indirect_${i}`, body: callIndirect(i - 1), isExported: true };
const bodies = functions.slice(1).map(each => each.body);
const exported = functions.flatMap((each, number) => each.isExported ? [[...text(each.name), 0, ...unsigned(number)]] : []);
const names = ['imported', ...functions.slice(1).map(each => each.name)];
const bytes = Uint8Array.from([0, 0x61, 0x73, 0x6d, 1, 0, 0, 0,
    ...section(1, list([[0x60, 1, 0x7f, 1, 0x7f]])),
    ...section(2, list([[...text('env'), ...text('imported'), 0, 0]])),
    ...section(3, list(bodies.map(() => [0]))),
    ...section(4, list([[0x70, 0, ...unsigned(COUNT)]])),
    ...section(7, list(exported)),
    ...section(9, list([[0, 0x41, 0, 0x0b, ...list(names.slice(1, COUNT + 1).map((_, i) => unsigned(i + 1)))]])),
    ...section(10, list(bodies)),
    ...kind === 'names' ?
        section(0, [...text('name'), ...section(1, list(names.map((name, i) => [...unsigned(i), ...text(name)])))]) : []]);
const wasm = new WebAssembly.Instance(new WebAssembly.Module(bytes), { env: { imported: x => x } }).exports;

function js_direct(i, loops) { return wasm[`call_${i}`](loops); }
function js_indirect(i, loops) { return wasm[`indirect_${i}`](loops); }
let loops = 1000;
for (const end = Date.now() + 1000 * seconds; Date.now() < end; loops = Math.min(loops + 1000, MAX_LOOPS))
    for (let i = 1; i <= COUNT; i++) js_direct(i, loops), js_indirect(i, loops);
