/* Every kind of file that the viewer's page says it reads, dropped on it. */
"use strict";

const assert = require("node:assert");
const { execFileSync } = require("node:child_process");
const { runTests } = require("./browser.js");
const { chooseItem, clickFrame, clickOn, dropFiles, getCrumbs, getFrames, getSum, goToTab, openViewer, press, report } = require("./viewer_page.js");

const equal = assert.deepStrictEqual;

const KINDS = {
	"async-profiler": "async-profiler.html", bcc: "profile.txt", bpftrace: "map.txt", flamebearer: "render.json",
	gperftools: "goroutine.txt", stackprof: "wall.dump", callgrind: "callgrind.out", "chrome-trace": "trace.json", cpuprofile: "counts.cpuprofile",
	"diff.folded": "two.diff.folded", er: "archived.er", firefox: "own.firefox.json", folded: "own.folded",
	heapprofile: "heap.heapprofile", html: "own.html", jfr: "hotspot.jfr", json: "own.json", offwake: "own.offwake.folded", "perf-data": "perf.data",
	"perf-script": "script.txt", pftrace: "own.pftrace", pprof: "own.pb.gz", "sampling-prof": "own.sprof",
	speedscope: "own.speedscope.json", svg: "own.svg", zones: "attributes.zones",
};
/* The command line looks for files that name code, and calls it after them. */
const HAS_OTHER_NAMES = ["gperftools", "perf-data"];

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
		assert.match(await page.textContent("#notes"), /^bare\.er: no function names for 4 .*stackwide convert bare\.er -o /);
		equal(await getSum(page), report(["bare.er"], "--metric", "cpu").total);
	},
};

/* Rows of the wakers' tab: name and weight. */
const getWakers = (page) => page.$$eval("#wakers .table-row", (rows) => rows.map((row) =>
	[row.querySelector(".name").textContent.replace(/^[▸▾·] /, ""), Number(row.querySelector("[data-value]").dataset.value)]));
const getWaits = (page) => page.$eval("#waits", (element) => Number(element.dataset.value));

/* What the waker did, row by row as the tree has it, but for its name, which every stack ends with. */
function listStacks({ children }, waker) {
	const weigh = (node) => node.children.length ? node.children.reduce((sum, child) => sum + weigh(child), 0)
		: node.name === waker ? node.value : 0;

	return children.filter((node) => node.children.length && weigh(node))
		.flatMap((node) => [[node.name, weigh(node)], ...listStacks(node, waker)]);
}

/* As the report has it, for the same fragment. */
async function checkWakers(page, name, fragment) {
	const { inclusive, wakers, tree } = report([name], "--wakers-of", fragment);
	const { chain } = report([name], "--critical", fragment);

	equal(await getWaits(page), inclusive);
	equal(await getWakers(page), wakers.map((waker) => [waker.name, waker.value]));
	equal(await page.$$eval("#wakers .chain li", (all) => all.map((one) => one.textContent.replace(/^.* ended by /, ""))),
		chain.map(({ waker, futex, frames }) => waker + (futex ? `, for ${futex}` : "") + (frames.length ? ": " + frames.join(" < ") : "")));
	await page.focus("#wakers [role=treegrid]");
	await press(page, "Home");
	const rows = [];
	for (const waker of wakers) {
		const stacks = listStacks(tree, waker.name);

		rows.push([waker.name, waker.value], ...stacks);
		for (let i = 0; i <= stacks.length; i++)
			for (const key of ["ArrowRight", "ArrowDown"])
				await press(page, key);
	}
	equal(await getWakers(page), rows);
}

const waits = {
	"a frame's menu leads to who ended its waits, and what these did, as the report has it": async (page) => {
		const name = "waits.offwake.folded";

		await openViewer(page);
		await dropFiles(page, [name]);
		await clickFrame(page, "read_all", { button: "right" });
		await chooseItem(page, "Who ended its waits");
		equal(await page.getAttribute("#tab-wakers", "aria-selected"), "true");
		await checkWakers(page, name, "app;main;read_all");
		await press(page, "Escape");
		await checkWakers(page, name, "main");
		await clickOn(page, "#wakers .view-bar button");
		equal(await page.getAttribute("#tab-flame", "aria-selected"), "true");
		equal(await getSum(page), 940);
	},
	"who ended waits is shown whatever metric is, and in a waker's stack of the wait behind it": async (page) => {
		await openViewer(page, ["perf.txt", "waits.offwake.folded"]);
		assert.doesNotMatch(await page.inputValue("#metric"), /^offwake/);
		await press(page, "w");
		equal(await getWakers(page), [["db", 700], ["[interrupt]", 200], ["app", 40]]);
		await page.selectOption("#metric", "offwake/microseconds");
		await goToTab(page, "flame");
		await clickFrame(page, "flush_log", { button: "right" });
		await chooseItem(page, "Who ended its waits");
		equal(await getCrumbs(page), ["All", "app", "main", "take_lock", "futex", "[blocked]", "[futex 0x7f10]"]);
		equal(await getWakers(page), [["app", 40]]);
		assert.match(await page.textContent("#wakers .chain li"), /ended by app, for \[futex 0x7f10\]: /);
	},
	"the waits of a frame are a flame without what a waker did": async (page) => {
		const name = "waits.offwake.folded";

		await openViewer(page, [name]);
		await clickFrame(page, "read_all", { shift: true });
		await press(page, "w");
		await clickOn(page, "#wakers .view-bar button");
		equal(await getSum(page), 900);
		const frames = (await getFrames(page)).flat();
		const { wakers } = report([name], "--wakers-of", "read_all");

		equal(wakers.map((waker) => waker.name), ["db", "[interrupt]"]);
		for (const waker of wakers)
			assert.ok(frames.includes(`${waker.name} ${waker.value}`), frames.join());
		assert.ok(!frames.some((frame) => frame.startsWith("flush_log ")), frames.join());
	},
	"where nobody is known to have ended waits, neither menu nor tab offers it": async (page) => {
		await openViewer(page);
		await dropFiles(page, ["loop.folded"]);
		await clickFrame(page, "g", { button: "right" });
		equal(await page.locator(".menu-item", { hasText: "Who ended its waits" }).count(), 0);
		await press(page, "Escape");
		await press(page, "w");
		equal([await page.isVisible("#tab-wakers"), await page.getAttribute("#tab-flame", "aria-selected")], [false, "true"]);
	},
};

runTests({ ...kinds, ...experiments, ...waits });
