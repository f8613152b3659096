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

// Near to the begin of their sources, and behind more than is looked through while a sample is taken.
const make_texts = (far) => ({
	plain: make_text('plain', far + 7, '\n'),
	windows: make_text('windows', far + 8, '\r\n'),
	macintosh: make_text('macintosh', far + 9, '\r'),
	separators: make_text('separators', far + 10, '\u2028'),
	wide: make_text('wide', far + 11, '\n', '/* доступ */'),
	latin: make_text('latin', far + 12, '\n', '/* Übung */'),
	sliced: ('x'.repeat(99) + make_text('sliced', far + 13, '\n')).slice(99),
	joined: make_text('joined', far + 14, '\n') + ' '.repeat(seconds),
	// Outside of the heap, as all that is so long.
	outside: Buffer.from(make_text('outside', far + 150000, '\n')).toString('latin1'),
	offset: make_text('offset', far + 16, '\n').replace(/line_(\d+)/, (_, line) => `line_${Number(line) + 100}`),
});

function waste(x) {
	const objects = [];
	for (let i = 0; i < 20000; i++) objects.push({ number: i });
	return x + objects.length;
}

// A path that is put together is no path yet, for V8.
const make_path = (kind) => Buffer.from(`/made/${kind}.js`).toString();
const texts = [...Object.entries(make_texts(0)), ...Object.entries(make_texts(7000))];
const functions = texts.map(([kind, text]) =>
	vm.runInThisContext(text, { filename: make_path(kind), lineOffset: kind === 'offset' ? 100 : 0 })
);
while (process.cpuUsage().user < 1e6 * seconds) for (const run of functions) run(waste);
