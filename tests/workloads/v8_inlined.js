// Functions that V8 inlines into their callers once they have run often, and what they call then. Says which functions call each other:
// a line for each that ends a chain, the functions of this file from the outermost on, joined by ':'.
//
// usage: node v8_inlined.js SECONDS      of CPU time
'use strict';
const seconds = Number(process.argv[2] || 1);
const object = { a: [1, 2, 3], b: 'x'.repeat(200), c: { d: 1.5 } };
let telling = true;
let sum = 0;

// Before anything is optimized: who called the caller of this.
function tell() {
	const prepare = Error.prepareStackTrace;

	Error.prepareStackTrace = (_, sites) => sites;
	Error.stackTraceLimit = 100;
	const sites = new Error().stack.slice(1);
	Error.prepareStackTrace = prepare;
	const names = sites
		.filter((site) => site.getFileName() === __filename)
		.map((site) => site.getFunctionName() ?? '(anonymous)')
		.reverse();
	while (names[0] === '(anonymous)') names.shift(); // the file itself
	process.stdout.write(names.join(':') + '\n');
}

// Instructions of their own.
function leaf_loop(n) { if (telling) tell(); let x = 0; for (let i = 0; i < n; i++) x = (x * 31 + i) | 0; return x; }
function middle_loop(n) { return leaf_loop(n) + 1; }
function outer_loop(n) { let x = 0; for (let i = 0; i < 20; i++) x += middle_loop(n); return x; }

// Calls of machine code of V8's own.
function leaf_call(value) { if (telling) tell(); return JSON.stringify(value).length; }
function middle_call(value) { return leaf_call(value) + leaf_call(value); }
function outer_call(value) { let x = 0; for (let i = 0; i < 20; i++) x += middle_call(value); return x; }

// A constructor, a method and a getter.
class Pair {
	constructor(n) { this.n = n; this.x = this.leaf_method(n); }
	leaf_method(n) { if (telling) tell(); let x = n; for (let i = 0; i < 300; i++) x = (x * 33 + i) | 0; return x; }
	get leaf_getter() { if (telling) tell(); let x = this.n; for (let i = 0; i < 300; i++) x = (x * 35 + i) | 0; return x; }
}
function middle_get(pair) { return pair.leaf_getter; }
function outer_class(n) { let x = 0; for (let i = 0; i < 20; i++) { const pair = new Pair(n + i); x += pair.x + middle_get(pair); } return x; }

// A function that is passed to V8's own, which is inlined, too.
function leaf_each(value) { if (telling) tell(); let x = value; for (let i = 0; i < 300; i++) x = (x * 37 + i) | 0; sum += x; }
function outer_each(array) { for (let i = 0; i < 5; i++) array.forEach(leaf_each); return sum; }

// A function that calls itself.
function leaf_deep(n) { if (telling) tell(); let x = n; for (let i = 0; i < 300; i++) x = (x * 39 + i) | 0; return x; }
function middle_deep(depth, n) { return depth ? middle_deep(depth - 1, n) + 1 : leaf_deep(n); }
function outer_deep(n) { let x = 0; for (let i = 0; i < 20; i++) x += middle_deep(3, n + i); return x; }

// Code that is called while it runs, and not inlined: it is the frames around it that are.
function leaf_slow(n) { if (telling) tell(); try { let x = n; for (const c of object.b) x = (x * 41 + c.charCodeAt(0)) | 0; return x; } finally { sum++; } }
function middle_slow(n, call) { return call(n) + 1; }
function outer_slow(n, call) { let x = 0; for (let i = 0; i < 20; i++) x += middle_slow(n + i, call); return x; }

function run_all() {
	sum += outer_loop(300) + outer_call(object) + outer_class(7) + outer_each(object.a) + outer_deep(5);
	sum += outer_slow(3, leaf_slow);
}

run_all();
telling = false;
while (process.cpuUsage().user < 1e6 * seconds) run_all();
process.exitCode = sum === 1 ? 1 : 0;
