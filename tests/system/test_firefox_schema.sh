#!/bin/bash
# What is written for the Firefox Profiler keeps to the schema that its repository documents: every
# table has its columns, all of the length that it says, every index is in the table that it means,
# callers come before those they call, and the samples weigh what they weighed.
# runs: beside others
. "$(dirname "$0")/lib.sh"
need_command node

cat >"$TMPDIR/a.folded" <<'FOLDED'
nginx;main;f;sys_read_[k] 7
nginx;main;f;g_[i] 2
node;main;run_[j] 11
FOLDED
cat >"$TMPDIR/b.cpuprofile" <<'JSON'
{"nodes":[{"id":1,"callFrame":{"functionName":"(root)"},"children":[2]},
{"id":2,"callFrame":{"functionName":"f","url":"file:///a \"b\".js","lineNumber":6}}],
"startTime":0,"endTime":31,"samples":[2,2],"timeDeltas":[10,15]}
JSON
"$STACKWIDE" convert "$TMPDIR/a.folded" "$TMPDIR/b.cpuprofile" -o "$TMPDIR/a.firefox.json"

cat >"$TMPDIR/check.js" <<'JS'
const assert = require("assert");
const profile = JSON.parse(require("fs").readFileSync(process.argv[2], "utf8"));
const { meta, libs, shared, threads } = profile;
const { stringArray } = shared;

function columns(table, names) {
  for (const name of names) {
    assert(Array.isArray(table[name]), `column ${name}`);
    assert.strictEqual(table[name].length, table.length, `length of ${name}`);
  }
}
function indexes(column, length, none) {
  for (const index of column)
    assert(index === none || (Number.isInteger(index) && index >= 0 && index < length), `index ${index}`);
}

for (const name of ["interval", "startTime", "version", "processType"])
  assert.strictEqual(typeof meta[name], "number", name);
assert.strictEqual(meta.preprocessedProfileVersion, 60);
assert(Array.isArray(meta.markerSchema));
const colors = ["transparent", "purple", "green", "orange", "yellow", "lightblue", "blue", "brown",
  "magenta", "red", "lightred", "darkgrey", "grey"];
for (const category of meta.categories) {
  assert(colors.includes(category.color), category.color);
  assert.strictEqual(category.subcategories[0], "Other");
}
assert(meta.categories.some((category) => category.color === "grey"));
for (const lib of libs)
  for (const name of ["arch", "name", "path", "debugName", "debugPath", "breakpadId"])
    assert.strictEqual(typeof lib[name], "string", name);

const { stackTable, frameTable, funcTable, resourceTable, nativeSymbols, sources } = shared;
columns(stackTable, ["frame", "prefix"]);
columns(frameTable, ["address", "inlineDepth", "category", "subcategory", "func", "nativeSymbol",
  "innerWindowID", "line", "column"]);
columns(funcTable, ["name", "isJS", "relevantForJS", "resource", "source", "lineNumber", "columnNumber"]);
columns(resourceTable, ["lib", "name", "host", "type"]);
columns(nativeSymbols, ["libIndex", "address", "name", "functionSize"]);
columns(sources, ["uuid", "filename"]);
indexes(stackTable.frame, frameTable.length);
stackTable.prefix.forEach((prefix, stack) => indexes([prefix], stack, null));
indexes(frameTable.func, funcTable.length);
indexes(frameTable.category, meta.categories.length);
indexes(funcTable.name, stringArray.length);
indexes(funcTable.resource, resourceTable.length, -1);
indexes(funcTable.source, sources.length, null);
indexes(resourceTable.lib, libs.length, null);
indexes(resourceTable.name, stringArray.length);
indexes(sources.filename, stringArray.length);
assert.strictEqual(new Set(stringArray).size, stringArray.length);

const totals = {};
const tids = new Set();
for (const thread of threads) {
  for (const name of ["name", "processName", "processType", "pid"])
    assert.strictEqual(typeof thread[name], "string", name);
  assert.strictEqual(typeof thread.isMainThread, "boolean");
  assert(Array.isArray(thread.pausedRanges));
  assert(!tids.has(thread.tid), `${thread.tid} twice`);
  tids.add(thread.tid);
  columns(thread.samples, ["stack", "timeDeltas", "weight"]);
  columns(thread.markers, ["data", "name", "startTime", "endTime", "phase", "category"]);
  indexes(thread.samples.stack, stackTable.length, null);
  assert(thread.samples.timeDeltas.every((delta) => delta >= 0));
  const type = thread.samples.weightType;
  totals[type] = (totals[type] || 0) + thread.samples.weight.reduce((a, b) => a + b, 0);
}
assert.deepStrictEqual(totals, { samples: 22, "tracing-ms": 0.021 });
const frames = frameTable.func.map((func, frame) =>
  [stringArray[funcTable.name[func]], meta.categories[frameTable.category[frame]].name,
   frameTable.inlineDepth[frame]].join());
for (const wanted of ["main,User,0", "sys_read,Kernel,0", "g,Inlined,1", "run,JIT,0", "f,User,0"])
  assert(frames.includes(wanted), wanted);
assert(sources.filename.some((name) => stringArray[name] === 'file:///a "b".js'));
JS
node "$TMPDIR/check.js" "$TMPDIR/a.firefox.json" || fail "not what the schema says"
