// Functions that call each other in the ways that JavaScript has, and say in which: a line for each way, the functions of this
// file from the outermost on, joined by ':'. The last one but use_time() is in no other line.
//
// usage: node v8_chains.js [SECONDS]      of CPU time, on each of two threads
'use strict';
const { Worker, isMainThread, workerData } = require('worker_threads');

const seconds = isMainThread ? Number(process.argv[2] || 1.5) : workerData;
const told = new Set();
const isOver = () => process.cpuUsage().user > 2e6 * seconds;

// Once for each function that calls it: who called that.
function say_chain() {
	const prepare = Error.prepareStackTrace;
	const limit = Error.stackTraceLimit;

	Error.prepareStackTrace = (_, sites) => sites;
	Error.stackTraceLimit = 200;
	const sites = new Error().stack.slice(2); // but this function and use_time()
	Error.prepareStackTrace = prepare;
	Error.stackTraceLimit = limit;
	const names = sites
		.filter((site) => site.getFileName() === __filename)
		.map((site) => site.getFunctionName() ?? '(anonymous)')
		.reverse();
	while (names[0] === '(anonymous)') names.shift(); // the file itself
	process.stdout.write(names.join(':') + '\n');
}

function use_time(caller) {
	if (!told.has(caller)) {
		told.add(caller);
		say_chain();
	}
	let x = 0;
	for (let i = 0; i < 300000; i++) x = (x * 31 + i) | 0;
	return x;
}

function leaf_plain() { return use_time('plain'); }
function caller_plain() { return leaf_plain(); }

class Base {
	constructor() { this.leaf_in_constructor(); }
	leaf_in_constructor() { use_time('constructor'); }
	get leaf_getter() { return use_time('getter'); }
	set leaf_setter(value) { use_time('setter'); }
	static leaf_static() { return use_time('static'); }
	#leaf_private() { return use_time('private'); }
	call_private() { return this.#leaf_private(); }
	leaf_field = () => use_time('field');
	leaf_super() { return use_time('super'); }
}
class Derived extends Base {
	leaf_in_constructor() {}
	call_super() { return super.leaf_super(); }
}
function chain_getter(object) { return object.leaf_getter; }
function chain_setter(object) { object.leaf_setter = 1; }
function chain_new() { return new Base(); }

const leaf_arrow = () => use_time('arrow');
function chain_for_each() { [1].forEach(function leaf_for_each() { use_time('for_each'); }); }
function leaf_of_anonymous() { return use_time('anonymous'); }
function chain_anonymous() { [1].map(() => leaf_of_anonymous()); }
function chain_sort() { [2, 1].sort(function leaf_compare(a, b) { use_time('compare'); return a - b; }); }
function chain_replace() { 'x'.replace(/x/, function leaf_replace() { use_time('replace'); return 'y'; }); }
function chain_json() { JSON.stringify({ toJSON: function leaf_json() { use_time('json'); return 1; } }); }
function chain_proxy() { return new Proxy({}, { get: function leaf_trap() { return use_time('trap'); } }).name; }
function leaf_bound() { return use_time('bound'); }
function leaf_applied() { return use_time('applied'); }
function leaf_tag() { return use_time('tag'); }
function leaf_default(value = use_time('default')) { return value; }
function* leaf_generator() { yield use_time('generator'); }
function chain_generator() { for (const value of leaf_generator()) return value; }
function leaf_deep() { return use_time('deep'); }
function chain_deep(n) { return n ? chain_deep(n - 1) : leaf_deep(); }
function thrower() { throw new Error('expected'); }
function leaf_catch() { try { thrower(); } catch (error) { return use_time('catch'); } }
function leaf_finally() { try { return 1; } finally { use_time('finally'); } }
// More variables of a closure than a scope keeps the names of beside it.
function leaf_of_many() {
	let v0 = 1, v1 = 1, v2 = 1, v3 = 1, v4 = 1, v5 = 1, v6 = 1, v7 = 1, v8 = 1, v9 = 1, v10 = 1, v11 = 1, v12 =
		1, v13 = 1, v14 = 1, v15 = 1, v16 = 1, v17 = 1, v18 = 1, v19 = 1, v20 = 1, v21 = 1, v22 = 1, v23 = 1, v24 =
		1, v25 = 1, v26 = 1, v27 = 1, v28 = 1, v29 = 1, v30 = 1, v31 = 1, v32 = 1, v33 = 1, v34 = 1, v35 = 1, v36 =
		1, v37 = 1, v38 = 1, v39 = 1, v40 = 1, v41 = 1, v42 = 1, v43 = 1, v44 = 1, v45 = 1, v46 = 1, v47 = 1, v48 =
		1, v49 = 1, v50 = 1, v51 = 1, v52 = 1, v53 = 1, v54 = 1, v55 = 1, v56 = 1, v57 = 1, v58 = 1, v59 = 1, v60 =
		1, v61 = 1, v62 = 1, v63 = 1, v64 = 1, v65 = 1, v66 = 1, v67 = 1, v68 = 1, v69 = 1, v70 = 1, v71 = 1, v72 =
		1, v73 = 1, v74 = 1, v75 = 1, v76 = 1, v77 = 1, v78 = 1, v79 = 1, v80 = 1, v81 = 1, v82 = 1, v83 = 1, v84 =
		1, v85 = 1, v86 = 1, v87 = 1, v88 = 1, v89 = 1, v90 = 1, v91 = 1, v92 = 1, v93 = 1, v94 = 1, v95 = 1, v96 =
		1, v97 = 1, v98 = 1, v99 = 1;
	const inner = () => v0 + v1 + v2 + v3 + v4 + v5 + v6 + v7 + v8 + v9 + v10 + v11 + v12 + v13 + v14 + v15 + v16
		+ v17 + v18 + v19 + v20 + v21 + v22 + v23 + v24 + v25 + v26 + v27 + v28 + v29 + v30 + v31 + v32 + v33 + v34
		+ v35 + v36 + v37 + v38 + v39 + v40 + v41 + v42 + v43 + v44 + v45 + v46 + v47 + v48 + v49 + v50 + v51 + v52
		+ v53 + v54 + v55 + v56 + v57 + v58 + v59 + v60 + v61 + v62 + v63 + v64 + v65 + v66 + v67 + v68 + v69 + v70
		+ v71 + v72 + v73 + v74 + v75 + v76 + v77 + v78 + v79 + v80 + v81 + v82 + v83 + v84 + v85 + v86 + v87 + v88
		+ v89 + v90 + v91 + v92 + v93 + v94 + v95 + v96 + v97 + v98 + v99;
	return use_time('many') + inner();
}
function chain_many() { return leaf_of_many(); }
// A name of characters beyond Latin-1.
function leaf_Übung_доступ() { return use_time('wide'); }

async function leaf_after_await() { await null; use_time('await'); }
async function leaf_before_await() { use_time('async'); await null; }
function chain_then() { Promise.resolve().then(function leaf_then() { use_time('then'); }); }
function chain_timer() { setTimeout(function leaf_timer() { use_time('timer'); }, 0); }

function run_all() {
	const base = new Derived();
	caller_plain();
	chain_new();
	chain_getter(base);
	chain_setter(base);
	Base.leaf_static();
	base.call_private();
	base.leaf_field();
	base.call_super();
	leaf_arrow();
	chain_for_each();
	chain_anonymous();
	chain_sort();
	chain_replace();
	chain_json();
	chain_proxy();
	leaf_bound.bind(null)();
	leaf_applied.apply(null, []);
	leaf_tag`x`;
	leaf_default();
	chain_generator();
	chain_deep(20);
	leaf_catch();
	leaf_finally();
	chain_many();
	leaf_Übung_доступ();
	leaf_before_await();
	leaf_after_await();
	chain_then();
	chain_timer();
	if (!isOver()) setImmediate(run_all);
}

if (isMainThread) {
	new Worker(__filename, { workerData: seconds });
	run_all();
} else {
	(function run_worker() {
		while (!isOver()) (function leaf_worker() { use_time('worker'); })();
	})();
}
