/*
 * The core against the command line: a file that one of them reads is read by the other, with the
 * same result; a file that one refuses is refused by the other, for the same reason. A regular
 * expression finds the same in both.
 */
import assert from "node:assert";
import { spawnSync } from "node:child_process";
import fs from "node:fs";
import path from "node:path";
import { pathToFileURL } from "node:url";
import zlib from "node:zlib";

const [wasm, script, scratch, ...files] = process.argv.slice(2);
const { Core } = await import(pathToFileURL(script));
const bytes = fs.readFileSync(wasm);
const FORMATS = { firefox: ".firefox.json", folded: ".folded", json: ".json", "sampling-prof": ".sprof",
	speedscope: ".speedscope.json", svg: ".svg", text: ".txt" };
const METRIC_NONE = 0xffffffff;

assert.deepStrictEqual(WebAssembly.Module.imports(new WebAssembly.Module(bytes)), []);
console.log("ok   the core imports nothing");

/* The command line reads gzip too, the page's worker before it calls the core. */
function unpack(data) {
	return data[0] === 0x1f && data[1] === 0x8b && data[2] === 8 ? zlib.gunzipSync(data) : data;
}

async function readByCore(file) {
	const core = await Core.create(bytes);
	const result = {};

	try {
		const data = unpack(fs.readFileSync(file));

		core.call("core_import", file, new Uint8Array(data), data.length, "");
		core.call("core_prepare", 0);
		const { metrics } = core.askJson("core_overview");
		const find = (name) => metrics.findIndex((metric) => metric.name === name);
		const isComparison = find("before") >= 0 && find("after") >= 0;
		const first = find("blocked") >= 0 && find("wall") >= 0 ? find("wall") : 0;

		core.call("core_query", isComparison ? find("after") : first, isComparison ? find("before") : METRIC_NONE, "",
			new Uint8Array(0), 0, 0, 0);
		for (const format of Object.keys(FORMATS))
			result[format] = Buffer.from(core.ask("core_export", format, 1));
	} catch (error) {
		return { error: error.message };
	}
	return result;
}

function readByCommand(file) {
	const outputs = Object.values(FORMATS).flatMap((extension) => ["-o", path.join(scratch, "out" + extension)]);
	const { status, stderr } = spawnSync(process.env.STACKWIDE, ["convert", file, ...outputs], { encoding: "utf8" });
	const result = {};

	if (status)
		return { error: stderr.trim().split("\n").pop().replace(/^stackwide: /, "")
			.replace(/(unrecognized format);.*/, "$1"), status };
	for (const [format, extension] of Object.entries(FORMATS))
		result[format] = fs.readFileSync(path.join(scratch, "out" + extension));
	return result;
}

/* The sum of folded text, whatever its frames are called. */
const addUp = (folded) => folded.toString().trim().split("\n").reduce((sum, line) => sum + Number(line.split(" ").pop()), 0);

/*
 * perf.data, experiments and foreign traces have addresses, which the command line names by files of
 * the machine or of the archive, and the page by their place in the module; and perf.data may be
 * packed by zstd, which the page cannot unpack.
 */
function isAlikeButForNames(file, core, command) {
	if (core.error?.endsWith("or use the command line"))
		return /compressed by (zstd|xz|bzip2|lz4)\b/.test(core.error);
	const data = fs.readFileSync(file);
	const isTraceWithAddresses = data[0] === 0x0a && /[^;]\+0x[0-9a-f]+/.test(core.folded?.toString());
	const isProfileWithAddresses = /\/(gperftools|firefox)\//.test(file) && /\+0x[0-9a-f]+/.test(core.folded?.toString());
	const hasAddresses = data.subarray(0, 8).toString() === "PERFILE2" ||
		data.subarray(257, 262).toString() === "ustar" || isTraceWithAddresses || isProfileWithAddresses;

	if (!hasAddresses || command.error !== undefined)
		return false;
	return core.error ? core.error.endsWith("only the command line can read them") : addUp(core.folded) === addUp(command.folded);
}

/*
 * An SVG file of the page has its profile stored in gzip, as there is no compressor in the core; what is
 * stored is the same.
 */
function isSame(format, core, command) {
	if (!core || core.equals(command))
		return Boolean(core);
	if (format !== "svg")
		return false;
	const open = (svg) => svg.toString().replace(/(<metadata id="stackwide-profile">\n.*\n)([^<]*)/,
		(_, head, packed) => head + zlib.gunzipSync(Buffer.from(packed, "base64")).toString("latin1"));
	return open(core) === open(command);
}

/* ---- regular expressions ---- */

async function openText(data, filters = "") {
	const core = await Core.create(bytes);

	core.call("core_import", "a.folded", new Uint8Array(data), data.length, "folded");
	core.call("core_prepare", 0);
	const view = core.askJson("core_query", 0, METRIC_NONE, filters, new Uint8Array(0), 0, 0, 0);
	return { core, view };
}

/* By name, the number of its symbol. */
function readSymbols(core) {
	const answer = Buffer.from(core.ask("core_symbols"));
	const count = answer.readUInt32LE(0);
	const names = answer.subarray(4 * (2 * count + 2));
	const offset = (i) => answer.readUInt32LE(4 + 4 * i);

	return new Map(Array.from({ length: count }, (_, i) => [names.toString("latin1", offset(i), offset(i + 1)), i]));
}

/* The cases that tests/unit/analysis/test_regex.c reads; a text is the name of a function here. */
async function checkCases() {
	const file = new URL("../unit/analysis/regex_cases.txt", import.meta.url);
	const cases = fs.readFileSync(file, "utf8").split("\n").filter((line) => line && !line.startsWith("#"))
		.map((line) => line.split("\t"));
	const unescape = (text) => Buffer.from(text).toString("latin1")
		.replace(/\\x([0-9a-f]{2})/g, (_, digits) => String.fromCharCode(parseInt(digits, 16)));
	const texts = cases.filter(([, expected]) => expected !== "error").map(([, , text]) => unescape(text));
	const { core } = await openText(Buffer.from(texts.map((text) => `${text} 1\n`).join(""), "latin1"));
	const symbols = readSymbols(core);
	let numFound = 0;

	for (const [pattern, expected, text] of cases) {
		const search = () => core.ask("core_search", `/${pattern}/`);

		if (expected === "error") {
			assert.throws(search, { message: `the regular expression /${pattern}/ is not valid: ${text}` });
			continue;
		}
		const symbol = symbols.get(unescape(text)); // none of what folded text takes for something else
		const answer = search();

		if (symbol === undefined)
			continue;
		numFound++;
		assert.strictEqual(answer[8 + symbol], Number(expected === "yes"), `${pattern} and ${text}`);
	}
	core.call("core_search", `/${"(b|a".repeat(200)}${")*".repeat(200)}c/`); // fits its stack
	assert.ok(numFound > 0.8 * texts.length, `${numFound} of ${texts.length}`);
	console.log(`ok   ${cases.length} regular expressions match in the core what they match in the program`);
}

/* What is searched, what a filter leaves, and what the command line reports, all weigh the same. */
async function checkSets() {
	const data = "main;read;read_[k];spin_lock_[k] 1\nmain;Read 2\nmain;foo_[i];read 4\njit;read_[j];é 8\n" +
		"main;read2 16\nmain;foo;{closure#0} 32\nread_ahead 64\n[unknown] 128\n";
	const patterns = ["read", "^read$", "(?i)^read$", "_\\[k\\]$", "^read_\\[[jk]]$", "_\\[i", "\\bread\\b", "\\d", "^.$", "\\W",
		"[^\\x20-\\x7e]", "^foo$", "{closure", "unknown", "a*", "nothing"];
	const file = path.join(scratch, "sets.folded");
	const { core } = await openText(Buffer.from(data));
	const weights = new Set();

	fs.writeFileSync(file, data);
	for (const pattern of patterns) {
		const found = Number(Buffer.from(core.ask("core_search", `/${pattern}/`)).readBigUInt64LE(0));
		const { view } = await openText(Buffer.from(data), `+function:/${pattern}/`);
		const { stdout } = spawnSync(process.env.STACKWIDE, ["report", file, "--json", "--include", `function:/${pattern}/`], { encoding: "utf8" });

		assert.strictEqual(Number(view.inclusive), found, pattern);
		assert.strictEqual(JSON.parse(stdout).total, found, pattern);
		weights.add(found);
	}
	assert.ok(weights.size > 10);
	console.log("ok   a search, a filter and --include find the same");
}

await checkCases();
await checkSets();

/* ---- files ---- */

let failures = 0;
let numRead = 0;
for (const file of files) {
	const [core, command] = [await readByCore(file), readByCommand(file)];
	const differing = Object.keys(FORMATS).filter((format) => !isSame(format, core[format], command[format]));
	const isRight = command.error !== undefined ? core.error === command.error : !differing.length;

	numRead += command.error === undefined;
	if (isRight || isAlikeButForNames(file, core, command))
		continue;
	failures++;
	console.log(`FAIL ${file}: ${core.error ?? "read"} | ${command.error ?? "read"} | ${differing}`);
}
console.log(`${files.length} files, ${numRead} of them read, ${failures} with another result`);
process.exitCode = failures || !numRead ? 1 : 0;
