/* Every kind of file that the viewer's page says it reads, dropped on it. */
"use strict";

const assert = require("node:assert");
const { execFileSync } = require("node:child_process");
const { runTests } = require("./browser.js");
const { chooseItem, clickFrame, dropFiles, getFrames, getSum, goToTab, openViewer, report } = require("./viewer_page.js");

const equal = assert.deepStrictEqual;

const KINDS = {
	"async-profiler": "async-profiler.html", callgrind: "callgrind.out", "chrome-trace": "trace.json", cpuprofile: "counts.cpuprofile",
	"diff.folded": "two.diff.folded", er: "archived.er", firefox: "own.firefox.json", folded: "own.folded",
	heapprofile: "heap.heapprofile", html: "own.html", jfr: "hotspot.jfr", json: "own.json", offwake: "own.offwake.folded", "perf-data": "perf.data",
	"perf-script": "script.txt", pftrace: "own.pftrace", pprof: "own.pb.gz", "sampling-prof": "own.sprof",
	speedscope: "own.speedscope.json", svg: "own.svg", zones: "attributes.zones",
};
/* The command line looks for files that name the code of perf.data, and calls it after them. */
const HAS_OTHER_NAMES = ["perf-data"];

/* "  folded  .folded  read, write one line a stack": those that are read. */
const listKinds = () => execFileSync(process.env.STACKWIDE, ["help", "formats"], { encoding: "utf8" }).split("\n")
	.map((line) => /^ {2}(\S+) +(?:\.\S+ +)?read\b/.exec(line)?.[1]).filter(Boolean);

const getFunctions = async (page) => {
	await goToTab(page, "flat");
	return page.evaluate(() => window.stackwide.getRows("flat").map(({ name, self, total }) => [name, self, total]).sort());
};

/* Of the metric that the page shows. What has no weight is in a comparison only. */
async function checkAgainstReport(page, name, hasOtherNames) {
	const metric = (await page.inputValue("#metric")).replace(/\/[^/]*$/, "");
	const { functions, total } = report([name], "--metric", metric);
	const wanted = functions.filter((row) => row.total).map((row) => [row.name, row.self, row.total]).sort();
	const seen = (await getFunctions(page)).filter((row) => row[2]);

	equal([name, await getSum(page)], [name, total]);
	assert.ok(total > 0 && seen.length > 0, name);
	if (!hasOtherNames)
		equal([name, seen], [name, wanted]);
}

const kinds = {
	"a file of every kind that is read is read here": async (page) => {
		equal(Object.keys(KINDS).sort(), listKinds().sort());
		await openViewer(page);
		equal((await page.textContent("#formats")).split(" · ").sort(), Object.keys(KINDS).sort());
		for (const [kind, name] of Object.entries(KINDS)) {
			await openViewer(page);
			await dropFiles(page, ["kinds/" + name]);
			await checkAgainstReport(page, "kinds/" + name, HAS_OTHER_NAMES.includes(kind));
		}
	},
};

const experiments = {
	"an experiment's code is named by the files in its archives": async (page) => {
		for (const name of ["archived.er", "archived.er.tar.gz"]) {
			await openViewer(page);
			await dropFiles(page, [name]);
			await checkAgainstReport(page, name);
			const functions = (await getFunctions(page)).map(([function_]) => function_);
			equal(functions, ["leaf", "start", "wait_for", "work"]);
			equal(await page.textContent("#notes"), "");
		}
	},
	"what only files of the machine name says so where it was dropped, and what to type": async (page) => {
		await openViewer(page);
		await dropFiles(page, ["bare.er"]);
		assert.match(await page.textContent("#notes"), /^bare\.er: no names of functions for 4 .*stackwide convert bare\.er -o /);
		equal(await getSum(page), report(["bare.er"], "--metric", "cpu").total);
	},
};

const waits = {
	"a frame's menu shows who ended its waits, and not what a waker did": async (page) => {
		const name = "waits.offwake.folded";

		await openViewer(page);
		await dropFiles(page, [name]);
		await clickFrame(page, "read_all", { button: "right" });
		await chooseItem(page, "Who ended its waits");
		equal(await getSum(page), 900);
		const frames = (await getFrames(page)).flat();
		const { wakers } = report([name], "--wakers-of", "read_all");

		equal(wakers.map((waker) => waker.name), ["db", "[interrupt]"]);
		for (const waker of wakers)
			assert.ok(frames.includes(`${waker.name} ${waker.value}`), frames.join());
		assert.ok(!frames.some((frame) => frame.startsWith("flush_log ")), frames.join());
	},
	"where nobody is known to have ended waits, no menu offers it": async (page) => {
		await openViewer(page);
		await dropFiles(page, ["loop.folded"]);
		await clickFrame(page, "g", { button: "right" });
		equal(await page.locator(".menu-item", { hasText: "Who ended its waits" }).count(), 0);
	},
};

runTests({ ...kinds, ...experiments, ...waits });
