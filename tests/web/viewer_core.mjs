/*
 * The core against the command line: a file that one of them reads is read by the other, with the
 * same result; a file that one refuses is refused by the other, for the same reason.
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

		core.call("core_query", isComparison ? find("after") : 0, isComparison ? find("before") : METRIC_NONE, "",
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
			.replace(/(not recognised);.*/, "$1"), status };
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
	const data = fs.readFileSync(file);
	const isTraceWithAddresses = data[0] === 0x0a && /[^;]\+0x[0-9a-f]+/.test(core.folded?.toString());
	const hasAddresses = data.subarray(0, 8).toString() === "PERFILE2" ||
		data.subarray(257, 262).toString() === "ustar" || isTraceWithAddresses;

	if (!hasAddresses || command.error !== undefined)
		return false;
	return core.error ? core.error.endsWith("which only the command line can read") : addUp(core.folded) === addUp(command.folded);
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
