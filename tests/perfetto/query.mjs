#!/usr/bin/env node
// Load a trace into Perfetto's trace processor and print the answers to SQL queries: "-- " and the
// query, then a line a row, fields separated by '|'. NULL is an empty field.
//
// usage: query.mjs FOLDER TRACE [SQL…]
//
// FOLDER is where `fetch` has put the trace processor. Exit status 1 when the trace or a query is
// refused, or when the trace processor counts any error or loss of data in the trace.
import { openSync, readFileSync, readSync } from 'node:fs';
import path from 'node:path';
import v8 from 'node:v8';
import vm from 'node:vm';

// To compile the engine well takes longer than our questions do.
v8.setFlagsFromString('--liftoff-only');

const [folder, trace, ...queries] = process.argv.slice(2);

// ---- protobuf --------------------------------------------------------------------------------

function varint(value) {
  const bytes = [];
  for (value = BigInt(value); value > 127n; value >>= 7n) bytes.push(Number(value & 127n) | 128);
  return Buffer.from([...bytes, Number(value)]);
}

const number = (field, value) => Buffer.concat([varint(field * 8), varint(value)]);
const bytes = (field, body) => Buffer.concat([varint(field * 8 + 2), varint(body.length), body]);

// The varint at an offset and the offset behind it; null when it is cut.
function takeVarint(data, at) {
  let value = 0n;
  for (let shift = 0n; at < data.length; shift += 7n) {
    const byte = data[at++];
    value |= BigInt(byte & 127) << shift;
    if (byte < 128) return [value, at];
  }
  return null;
}

// [field, value] of a message; a value is a BigInt or the bytes.
function* fields(data) {
  const sizes = { 1: 8, 5: 4 };
  for (let at = 0; at < data.length;) {
    const [tag, behind] = takeVarint(data, at);
    const type = Number(tag & 7n);
    let value = 0n, size = sizes[type];
    at = behind;
    if (type === 0 || type === 2) [value, at] = takeVarint(data, at);
    if (type === 2) size = Number(value);
    if (type !== 0) value = data.subarray(at, at += size);
    yield [Number(tag >> 3n), value];
  }
}

const first = (data, wanted) => [...fields(data)].find(([field]) => field === wanted)?.[1];

// ---- the engine ------------------------------------------------------------------------------
// Its JavaScript is made for a worker of a browser; what it would take from there is given to it.

const complaints = [];
console.warn = (...words) => complaints.push(words.join(' '));
globalThis.self ??= globalThis;
globalThis.WorkerGlobalScope ??= function WorkerGlobalScope() {};
globalThis.location ??= { href: `file://${path.resolve(folder)}/` };
globalThis.wasmOfTest = readFileSync(path.join(folder, 'trace_processor.wasm'));

const changes = [
  ['this.useMemory64 = hasMemory64Support();', 'this.useMemory64 = false;'],
  ['locateFile: (s) => s,', 'locateFile: (s) => s, wasmBinary: globalThis.wasmOfTest,'],
  ['const wasmBridge = new wasm_bridge_1.WasmBridge();',
    'const wasmBridge = globalThis.bridgeOfTest = new wasm_bridge_1.WasmBridge();'],
];
let source = readFileSync(path.join(folder, 'engine_bundle.node.js'), 'utf8');
for (const [before, after] of changes) {
  if (!source.includes(before)) throw new Error(`the engine has changed: no ${before}`);
  source = source.replace(before, after);
}
vm.runInThisContext(source, { filename: 'engine_bundle.node.js' });
const engine = globalThis.bridgeOfTest;
while (!engine.reqBufferAddr) await new Promise((resolve) => setTimeout(resolve, 5));

// Answers come while the request is made, maybe in pieces: a stream of frames.
let pending = Buffer.alloc(0), answers = [];
engine.messagePort = {
  postMessage(piece) {
    pending = Buffer.concat([pending, piece]);
    for (;;) {
      const length = pending.length ? takeVarint(pending, 1) : null;
      if (!length || pending.length < length[1] + Number(length[0])) return;
      answers.push(pending.subarray(length[1], length[1] + Number(length[0])));
      pending = pending.subarray(length[1] + Number(length[0]));
    }
  },
};

const METHOD_APPEND = 1, METHOD_FINALIZE = 2, METHOD_QUERY = 3;
let sequence = 0;

// The bodies of the answers to one request.
function request(method, argument) {
  const body = [number(1, sequence++), number(2, method), ...argument];
  answers = [];
  engine.onMessage({ data: bytes(1, Buffer.concat(body)) });
  return answers.flatMap((answer) => [...fields(answer)].flatMap(([field, value]) => {
    if (field === 5) throw new Error(value.toString());
    return field > 200 ? [value] : [];
  }));
}

function load() {
  const file = openSync(trace, 'r'), chunk = Buffer.alloc(16 << 20);
  for (let size; (size = readSync(file, chunk, 0, chunk.length, null)) > 0;)
    for (const answer of request(METHOD_APPEND, [bytes(101, chunk.subarray(0, size))]))
      if (first(answer, 2)?.length) throw new Error(first(answer, 2).toString());
  for (const answer of request(METHOD_FINALIZE, []))
    if (first(answer, 1)?.length) throw new Error(first(answer, 1).toString());
}

// The cells of a batch, by columns of one type each, in order of the list of types.
function* readCells(batch) {
  let types = [], texts = [];
  const integers = [], doubles = [], blobs = [];
  for (const [field, value] of fields(batch)) {
    if (field === 1) types = value;
    else if (field === 2)
      for (let at = 0; at < value.length;) {
        const [integer, behind] = takeVarint(value, at);
        integers.push(BigInt.asIntN(64, integer));
        at = behind;
      }
    else if (field === 3)
      for (let at = 0; at < value.length; at += 8) doubles.push(value.readDoubleLE(at));
    else if (field === 4) blobs.push(value.toString('hex'));
    else if (field === 5) texts = value.toString().split('\0');
  }
  const columns = { 2: integers, 3: doubles, 4: texts, 5: blobs };
  const used = { 2: 0, 3: 0, 4: 0, 5: 0 };
  for (const type of types) yield type in columns ? columns[type][used[type]++] : '';
}

function query(sql) {
  let numColumns = 0;
  const cells = [], rows = [];
  for (const answer of request(METHOD_QUERY, [bytes(103, bytes(1, Buffer.from(sql)))]))
    for (const [field, value] of fields(answer)) {
      if (field === 1) numColumns++;
      else if (field === 2 && value.length) throw new Error(`${sql}: ${value.toString()}`);
      else if (field === 3) cells.push(...readCells(value));
    }
  for (let i = 0; i < cells.length; i += numColumns) rows.push(cells.slice(i, i + numColumns));
  return rows;
}

const print = (rows) => rows.forEach((row) => console.log(row.join('|')));

try {
  load();
  const problems = query(`select severity, name, idx, value from stats
    where severity in ('error', 'data_loss') and value != 0`);
  if (problems.length) {
    print(problems);
    throw new Error(`${trace} has problems`);
  }
  for (const sql of queries) {
    console.log(`-- ${sql}`);
    print(query(sql));
  }
} catch (error) {
  console.error([error.message, ...complaints.slice(-10)].join('\n'));
  process.exitCode = 1;
}
process.exit();
