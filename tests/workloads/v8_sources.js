// Functions that begin in lines which their names say: in scripts of which V8 keeps the sources in the ways that it has. Each is run in
// turn until all have had their time, as V8 moves what is new.
//
// usage: node v8_sources.js [SECONDS]      of CPU time
'use strict';
const vm = require('vm');

const seconds = Number(process.argv[2] || 2);

// A function behind so many lines; `end` ends one.
function make_text(kind, lines, end, begin = '') {
	const filler = Array(lines).fill('// nothing').join(end);
	const body = [
		`(function line_${lines + 1}_${kind}(waste) {`,
		'	let x = 0;',
		'	for (let i = 0; i < 1000000; i++) x = (x * 31 + i) | 0;',
		'	return waste(x);',
		'})',
	].join(end);
	return begin + filler + end + body;
}

const texts = {
	plain: make_text('plain', 7, '\n'),
	windows: make_text('windows', 8, '\r\n'),
	macintosh: make_text('macintosh', 9, '\r'),
	separators: make_text('separators', 10, '\u2028'),
	wide: make_text('wide', 11, '\n', '/* доступ */'),
	latin: make_text('latin', 12, '\n', '/* Übung */'),
	sliced: ('x'.repeat(99) + make_text('sliced', 13, '\n')).slice(99),
	joined: make_text('joined', 14, '\n') + ' '.repeat(seconds),
	// Outside of the heap, as all that is so long.
	outside: Buffer.from(make_text('outside', 150000, '\n')).toString('latin1'),
	offset: make_text('offset', 16, '\n').replace('line_17_', 'line_117_'),
};

function waste(x) {
	const objects = [];
	for (let i = 0; i < 20000; i++) objects.push({ number: i });
	return x + objects.length;
}

// A path that is put together is no path yet, for V8.
const make_path = (kind) => Buffer.from(`/made/${kind}.js`).toString();
const functions = Object.entries(texts).map(([kind, text]) =>
	vm.runInThisContext(text, { filename: make_path(kind), lineOffset: kind === 'offset' ? 100 : 0 })
);
while (process.cpuUsage().user < 1e6 * seconds) for (const run of functions) run(waste);
