'use strict';
// Short functions of JavaScript that call each other all the time, so that many samples are of their first and last instructions.
//
// usage: node v8_leaves.js SECONDS
class Vector {
    constructor(items) { this.items = items; }
    leaf_get(i) { return this.items[i]; }
    leaf_add(i, value) { this.items[i] = this.leaf_get(i) + value; return this; }
}
function leaf_fib(n) { return n < 2 ? n : leaf_fib(n - 1) + leaf_fib(n - 2); }
function leaf_work() {
    const vector = new Vector([1, 2, 3, 4]);
    let sum = 0;
    for (let i = 0; i < 20000; i++) {
        vector.leaf_add(i & 3, i);
        sum += vector.leaf_get(i & 3);
    }
    return sum;
}
let sum = 0;
for (const end = Date.now() + 1000 * Number(process.argv[2]); Date.now() < end;) sum += leaf_fib(18) + leaf_work();
process.exitCode = sum === 1 ? 1 : 0;
