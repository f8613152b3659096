"use strict";

const assert = require("node:assert");
const fs = require("node:fs");
const { runTests } = require("./browser.js");
const { addFiles, chooseItem, clickFrame, clickOn, diff, download, dropFiles, file, findFrame, getChips, getCrumbs,
	getFrames, getNumber, getRows, getSum, goToTab, openViewer, press, report, setTheme, settle,
	update } = require("./viewer_page.js");

const equal = assert.deepStrictEqual;
const shared = "file://" + file("report.html");

/* ---- files ---- */

const files = {
	"a dropped file is drawn": async (page) => {
		await openViewer(page);
		await dropFiles(page, ["loop.folded"]);
		equal(await getSum(page), 21);
		equal((await getFrames(page)).slice(0, 2), [["all 21"], ["go 21"]]);
	},
	"files of different formats become one picture, and can be dropped again and again": async (page) => {
		await openViewer(page, ["loop.folded"]);
		await dropFiles(page, ["tree.json"]);
		equal(await getSum(page), 51);
		await dropFiles(page, ["loop.folded.gz"]);
		equal(await getSum(page), 72);
	},
	"UTF-16 text is read, a zstd file is refused with its name": async (page) => {
		await openViewer(page, ["loop.utf16.folded"]);
		equal((await getFrames(page)).slice(0, 2), [["all 21"], ["go 21"]]);
		await dropFiles(page, ["loop.folded.zst"]);
		assert.match(await page.textContent("#notes"), /loop\.folded\.zst: at byte 0: compressed by zstd: decompress it first/);
		equal(await getSum(page), 21);
	},
	"a file that cannot be read says where and harms nothing": async (page) => {
		await openViewer(page, ["loop.folded"]);
		await dropFiles(page, ["broken.json"]);
		assert.match(await page.textContent("#notes"), /broken\.json: at byte \d+: /);
		equal(await getSum(page), 21);
		await addFiles(page, ["other.folded"]);
		equal(await getSum(page), 42);
	},
	"each file can be switched off and on, renamed and removed": async (page) => {
		await openViewer(page, ["loop.folded", "other.folded"]);
		await goToTab(page, "files");
		await clickOn(page, "[data-source='0'] .segments button:has-text('Off')");
		equal(await getSum(page), 21);
		await clickOn(page, "[data-source='0'] .segments button:has-text('Shown')");
		equal(await getSum(page), 42);
		await page.fill("[data-source='1'] .card-name", "night run");
		await press(page, "Tab");
		equal(await page.inputValue("[data-source='1'] .card-name"), "night run");
		await clickOn(page, "[data-source='0'] .card-head button");
		equal(await getSum(page), 21);
		await clickOn(page, "[data-source='1'] .card-head button");
		assert.ok(await page.isVisible("#empty"));
	},
	"of two files with one name each can be looked at alone": async (page) => {
		await openViewer(page, ["loop.folded", "loop.folded", "other.folded"]);
		await goToTab(page, "files");
		await clickOn(page, "[data-source='1'] .card-filters button:has-text('Without')");
		equal(await getSum(page), 42);
		await page.goBack();
		await settle(page);
		await clickOn(page, "[data-source='0'] .card-filters button:has-text('Only this')");
		equal(await getSum(page), 21);
		await page.goBack();
		await settle(page);
		await clickOn(page, "[data-source='2'] .card-filters button:has-text('Only this')");
		equal(await getChips(page), ["only file other.folded"]);
	},
	"a file that was read in part says so where it was dropped": async (page) => {
		await openViewer(page, ["malformed.folded"]);
		assert.match(await page.textContent("#notes"), /malformed\.folded:2: malformed.* \(and \d more warning/);
		await clickOn(page, "#notes .link");
		assert.ok(await page.isVisible("[data-source='0'] pre, [data-source='0'] details"));
	},
	"a shared report opens by itself, and what is dropped on it is added": async (page) => {
		await openViewer(page, [], { url: shared });
		equal(await getSum(page), 1000000);
		await dropFiles(page, ["perf.txt"]);
		equal(await getSum(page), 2000000);
	},
	"the files' report counts what was read, skipped, pruned, lost": async (page) => {
		const fact = (source, name) => page.textContent(`[data-source='${source}'] [data-fact='${name}']`);

		await openViewer(page, ["loop.folded", "malformed.folded", "pruned.html", "lossy.txt"]);
		await goToTab(page, "files");
		equal([await fact(0, "Records"), await fact(0, "Format"), await fact(0, "Malformed, skipped")], ["5", "folded", "0"]);
		equal([await fact(1, "Records"), await fact(1, "Malformed, skipped")], ["1", "2"]);
		assert.match(await page.textContent("[data-source='1'] pre"), /malformed\.folded:2: malformed/);
		equal([await fact(2, "Format"), await fact(2, "Dropped: too small to draw")], ["async-profiler", "25.00 %"]);
		equal(await fact(3, "Samples lost by the producer"), "17");
	},
	"a recording tells how complete it is, and what it lost and why": async (page) => {
		const fact = (name) => page.textContent(`[data-fact='${name}']`);
		const check = async () => {
			await goToTab(page, "files");
			equal([await fact("Duration"), await fact("Samples"), await fact("Complete user stacks")], ["2.00 s", "100", "90.00 %"]);
			equal([await fact("Truncated user stacks"), await fact("no table"), await fact("depth")],
				["10", "8 · 8.00 %", "2 · 2.00 %"]);
			equal([await fact("Lost samples"), await fact("ring sample")], ["25", "25 · 20.00 %"]);
			equal([await fact("Unnamed frames"), await fact("no symbol")], ["5.00 %", "5 · 5.00 %"]);
		};

		await openViewer(page, ["recording.svg"]);
		await check();
		const path = await download(page, "This page with its data");
		await openViewer(page, [], { url: "file://" + path });
		await check();
	},
};

/* ---- metrics ---- */

const metrics = {
	"metrics of all files can be chosen, and equal ones are one": async (page) => {
		await openViewer(page, ["perf.txt", "faults.txt", "perf.txt"]);
		equal(await getSum(page), 2000000);
		const options = await page.$$eval("#metric option", (all) => all.map((one) => one.value));
		equal(options.length, 2);
		await page.selectOption("#metric", options.find((one) => one.startsWith("page-faults")));
		await settle(page);
		equal(await getSum(page), 9);
	},
	"a recording of waits opens on all time, and is folded in microseconds": async (page) => {
		await openViewer(page, ["waits.svg"]);
		equal(await page.inputValue("#metric"), "wall/nanoseconds");
		equal(await getSum(page), 50505050);
		equal(fs.readFileSync(await download(page, "Folded stacks"), "utf8"), "web;main 30303\nweb;main;read;[blocked] 20202\n");
		await page.selectOption("#metric", "samples/count");
		await settle(page);
		equal(await getSum(page), 3);
		await clickOn(page, "#back");
		await settle(page);
		equal(await getSum(page), 50505050);
	},
};

const sleepers = {
	"threads that slept throughout are told, and a click leaves them out": async (page) => {
		const text = () => page.textContent("#sleepers");

		await openViewer(page, ["sleepers.svg"]);
		equal(await text(), "2 threads slept throughout leave out");
		equal(await getSum(page), 250000);
		await clickOn(page, "#sleepers button");
		equal(await getSum(page), 50000);
		equal(await getSum(page), report(["sleepers.svg"], "--sleepers", "hide").total);
		equal(await getChips(page), ["without function [slept throughout]"]);
		equal(await page.$("#sleepers"), null);
		await clickOn(page, "#back");
		await settle(page);
		equal(await text(), "2 threads slept throughout leave out");
		await page.selectOption("#metric", "samples/count");
		await settle(page);
		equal(await page.$("#sleepers"), null);
		await openViewer(page, ["sleepers.folded"]);
		equal(await text(), "Some threads slept throughout leave out");
		await openViewer(page, ["waits.svg"]);
		equal(await page.$("#sleepers"), null);
	},
};

/* ---- fragments ---- */

async function checkSums(page, wanted) {
	await goToTab(page, "relatives");
	for (const [name, value] of Object.entries(wanted))
		equal([name, await page.$eval(`[data-sum=${name}]`, (one) => Number(one.dataset.value))], [name, value]);
	equal(await page.$eval("[data-sum=check]", (one) => one.dataset.value), "1");
}

const fragments = {
	"a click above extends the fragment, one on the base shrinks it": async (page) => {
		await openViewer(page, ["loop.folded"]);
		await clickFrame(page, "f", { nth: 0 });
		equal(await getCrumbs(page), ["All", "go", "f"]);
		equal(await getNumber(page, "#inclusive"), 12);
		await clickFrame(page, "g", { nth: 0 });
		equal(await getCrumbs(page), ["All", "go", "f", "g"]);
		await clickFrame(page, "go");
		equal(await getCrumbs(page), ["All", "go"]);
		equal((await getFrames(page))[0], ["go 21"]);
	},
	"Shift and click selects one function, Escape nothing": async (page) => {
		await openViewer(page, ["loop.folded"]);
		await clickFrame(page, "f", { shift: true });
		equal(await getCrumbs(page), ["All", "f"]);
		equal(await getFrames(page), [["f 17"], ["h 12", "g 2"]]);
		await press(page, "Escape");
		equal(await getCrumbs(page), ["All"]);
	},
	"callers hang below the fragment, and extend it to the left": async (page) => {
		await openViewer(page, ["loop.folded"]);
		await clickFrame(page, "f", { shift: true });
		await clickOn(page, "#down");
		equal((await getFrames(page)).slice(0, 2), [["f 17"], ["go 12", "g 5"]]);
		await clickFrame(page, "g");
		equal(await getCrumbs(page), ["All", "g", "f"]);
		equal((await getFrames(page)).slice(0, 2), [["f 12"], ["g 12"]]);
		await clickFrame(page, "f");
		equal(await getCrumbs(page), ["All", "f"]);
		await clickOn(page, "#up");
		equal(await getFrames(page), [["f 17"], ["h 12", "g 2"]]);
	},
	"callers, callees and exclusive add up by the first and last occurrence": async (page) => {
		await openViewer(page, ["loop.folded"]);
		await clickFrame(page, "f", { shift: true });
		await checkSums(page, { inclusive: 17, exclusive: 3, callers: 17, callees: 14, noCaller: 0 });
		await page.keyboard.press(";");
		await page.fill(".fragment-input", "f;g;f");
		await press(page, "Enter");
		equal(await getCrumbs(page), ["All", "f", "g", "f"]);
		await checkSums(page, { inclusive: 7, exclusive: 0, callers: 7, callees: 7 });
	},
	"every fragment has the command line's numbers": async (page) => {
		await openViewer(page, ["loop.folded"]);
		await goToTab(page, "relatives");
		for (const fragment of ["f", "g", "f;g", "g;f", "f;g;f", "go", "h", "go;k"]) {
			const wanted = report(["loop.folded"], "--callers", fragment);
			const name = (one) => [one.name, one.value];

			await page.keyboard.press(";");
			await page.fill(".fragment-input", fragment);
			await press(page, "Enter");
			const seen = await page.evaluate(() => ["callers", "callees"].map((which) =>
				window.stackwide.getRows(which).map((row) => [row.name, row.total])));
			equal([await getNumber(page, "#inclusive"), await getNumber(page, "#exclusive")],
				[wanted.inclusive, wanted.exclusive]);
			equal(seen[0].sort(), wanted.callers.map(name).filter(([caller]) => caller !== "[root]").sort());
			equal(seen[1].sort(), wanted.callees.map(name).sort());
		}
	},
	"crumbs can be clicked": async (page) => {
		await openViewer(page, ["loop.folded"], { hash: "#f=go;f;g" });
		await settle(page);
		await clickOn(page, "#crumbs .crumb:nth-child(3)");
		equal(await getCrumbs(page), ["All", "go", "f"]);
		await clickOn(page, "#crumbs .crumb:first-child");
		equal(await getCrumbs(page), ["All"]);
	},
	"text that names no fragment is told so": async (page) => {
		await openViewer(page, ["loop.folded"]);
		await page.keyboard.press(";");
		await page.fill(".fragment-input", "go;nowhere");
		await press(page, "Enter");
		assert.match(await page.textContent("#notes"), /nowhere/);
		equal(await getCrumbs(page), []);
	},
};

/* ---- tables ---- */

const tables = {
	"the flat table has the command line's numbers": async (page) => {
		const number = (text) => Number(text.replace(/[^0-9]/g, ""));
		const byName = (a, b) => (a.name < b.name ? -1 : 1);

		await openViewer(page, ["loop.folded", "faults.txt"]);
		await goToTab(page, "flat");
		for (const metric of ["samples", "page-faults"]) {
			const { functions, total } = report(["loop.folded", "faults.txt"], "--metric", metric);

			await page.selectOption("#metric", metric + "/count");
			await settle(page);
			equal(await getSum(page), total);
			equal((await getRows(page)).map((cells) => ({ name: cells[4], module: cells[5] === "–" ? "" : cells[5],
				self: number(cells[0]), total: number(cells[2]) })).sort(byName), functions.sort(byName));
		}
	},
	"any column sorts, and the filter box narrows": async (page) => {
		await openViewer(page, ["loop.folded"]);
		await goToTab(page, "flat");
		await clickOn(page, ".table-sort:has-text('Function')");
		equal((await getRows(page)).map((cells) => cells[4]), ["f", "g", "go", "h", "k"]);
		await clickOn(page, ".table-sort:has-text('Total %')");
		equal((await getRows(page))[0][4], "go");
		await page.fill("#flat input", "g");
		equal((await getRows(page)).map((cells) => cells[4]).sort(), ["g", "go"]);
	},
	"a row selects its function in the flame, and the other way round": async (page) => {
		await openViewer(page, ["loop.folded"]);
		await goToTab(page, "flat");
		await clickOn(page, ".view:not([hidden]) .table-row:has-text('h')");
		await goToTab(page, "flame");
		equal((await getFrames(page))[0], ["h 12"]);
		await press(page, "Escape");
		await clickFrame(page, "k", { shift: true });
		await goToTab(page, "flat");
		equal(await page.textContent(".table-row.selected .name"), "k");
	},
	"the tree opens and closes": async (page) => {
		await openViewer(page, ["loop.folded"]);
		await goToTab(page, "tree");
		const open = (await getRows(page)).length;
		await clickOn(page, ".view:not([hidden]) .table-row:first-child");
		equal((await getRows(page)).length, 1);
		await clickOn(page, ".view:not([hidden]) .table-row:first-child");
		equal((await getRows(page)).length, open);
	},
	"threads, processes and modules have their totals, and a row is a filter": async (page) => {
		await openViewer(page, ["perf.txt"]);
		await goToTab(page, "threads");
		equal((await getRows(page)).map((cells) => [cells[2], cells[1]]), [["db (200)", "50.00 %"], ["web (101)", "25.00 %"],
			["web (102)", "25.00 %"]]);
		await clickOn(page, ".view:not([hidden]) .table-row:has-text('web (101)')");
		equal(await getSum(page), 250000);
		equal(await getChips(page), ["only thread 101"]);
		await clickOn(page, ".chip .chip-close");
		await goToTab(page, "modules");
		equal(Object.fromEntries((await getRows(page)).map((cells) => [cells[4], cells[3]])),
			{ web: "50.00 %", db: "50.00 %", "libhash.so": "25.00 %", "[kernel]": "25.00 %" });
		await goToTab(page, "processes");
		await clickOn(page, ".view:not([hidden]) .table-row:has-text('web')");
		equal(await getSum(page), 500000);
		equal(await getChips(page), ["only process 100"]);
	},
};

/* ---- filters ---- */

const filters = {
	"filters from a frame's menu chain, turn round and go": async (page) => {
		await openViewer(page, ["loop.folded"]);
		await clickFrame(page, "h", { button: "right" });
		await chooseItem(page, "Only stacks with this function");
		equal(await getSum(page), 12);
		await clickFrame(page, "g", { button: "right", nth: 1 });
		await chooseItem(page, "Without this fragment");
		equal(await getChips(page), ["only function h", "without fragment go;f;g"]);
		equal(await getSum(page), 5);
		await clickOn(page, ".chip:first-child .chip-text");
		equal(await getChips(page), ["without function h", "without fragment go;f;g"]);
		equal(await getSum(page), 7);
		await clickOn(page, ".chip:nth-child(2) .chip-close");
		equal(await getSum(page), 9);
		await goToTab(page, "flat");
		equal((await getRows(page)).some((cells) => cells[4] === "h"), false);
	},
	"the keyboard filters by the selection": async (page) => {
		await openViewer(page, ["loop.folded"]);
		await clickFrame(page, "k", { shift: true });
		await press(page, "x");
		equal(await getChips(page), ["without function k"]);
		equal(await getSum(page), 17);
	},
	"a fragment that begins with a thread filters as it is drawn": async (page) => {
		await openViewer(page, ["perf.txt"]);
		for (const [root, label] of [["comm", "web"], ["script", "web"], ["pid", "web-100"], ["tid", "web-100/102"]]) {
			await update(page, { root, filters: [], fragment: [] });
			await clickFrame(page, "hash", { button: "right" });
			await chooseItem(page, "Only stacks with this fragment");
			equal(await getChips(page), [`only fragment ${label};main;hash`]);
			equal(await getSum(page), 250000);
			await clickOn(page, ".chip:first-child .chip-text");
			equal(await getSum(page), 750000);
			await clickOn(page, ".chip:first-child .chip-close");
			await clickFrame(page, "hash");
			await press(page, "x");
			equal([root, await getSum(page)], [root, 750000]);
			await clickOn(page, ".chip:first-child .chip-close");
			await clickFrame(page, label, { button: "right" });
			await chooseItem(page, "Only stacks with this thread");
			equal([root, await getSum(page)], [root, root === "tid" ? 250000 : 500000]);
		}
	},
	"filters let through what the command line's let through": async (page) => {
		const kinds = ["function:main", "function:/^(scan|hash)$/", "fragment:main;hash", "fragment:web;main;hash",
			"fragment:web-100/101;main", "fragment:web;hash", "thread:101", "thread:db", "thread:web-100",
			"process:web", "module:libhash.so", "module:/kern/", "file:perf.txt"];

		await openViewer(page, ["perf.txt"]);
		for (const filter of kinds)
			for (const [key, option] of [["in", "--include"], ["out", "--exclude"]]) {
				const [kind, ...pattern] = filter.split(":");

				await update(page, { filters: [{ kind, pattern: pattern.join(":"), excludes: key === "out" }] });
				equal([filter, option, await getSum(page)],
					[filter, option, report(["perf.txt"], option, filter).total]);
			}
	},
	"filters by file": async (page) => {
		await openViewer(page, ["loop.folded", "other.folded"], { hash: "#out=file:loop.folded" });
		equal(await getSum(page), 21);
	},
	"an empty result says so and offers the way back": async (page) => {
		await openViewer(page, ["loop.folded"], { hash: "#in=function:nobody" });
		assert.ok(await page.isVisible("#no-match"));
		await clickOn(page, "#no-match-clear");
		equal(await getSum(page), 21);
		assert.ok(await page.isVisible("#flame"));
	},
};

/* ---- colours, history, search ---- */

const getColor = async (page, name) => {
	const { x, y } = await findFrame(page, name);
	return page.evaluate(([left, top]) => {
		const canvas = document.getElementById("flame-canvas");
		const box = canvas.getBoundingClientRect();
		const pixel = Object.assign(document.createElement("canvas"), { width: 1, height: 1 })
			.getContext("2d", { willReadFrequently: true });

		pixel.drawImage(canvas, (left - box.left) * devicePixelRatio, (top - box.top - 6) * devicePixelRatio, 1, 1, 0, 0, 1, 1);
		return [...pixel.getImageData(0, 0, 1, 1).data.slice(0, 3)].join();
	}, [x, y]);
};

const looks = {
	"a name has the same colour in every file": async (page) => {
		await openViewer(page, ["loop.folded"]);
		const before = await getColor(page, "go");
		await addFiles(page, ["other.folded", "perf.txt"]);
		await clickFrame(page, "go");
		equal(await getColor(page, "go"), before);
	},
	"all that a search found can be given a colour, and names like paths": async (page) => {
		const getFills = async () => new Map((await page.evaluate(() => window.stackwide.getFlame().rows.flat()))
			.map(({ name, fill }) => [name, fill]));
		const getMarks = () => page.evaluate(() => window.stackwide.getState().marks);

		await openViewer(page, ["tasks.folded"]);
		const before = await getFills();
		await page.fill("#search", "task_");
		await settle(page);
		await clickOn(page, "#colors");
		await chooseItem(page, "Colour the matches of the search…");
		await chooseItem(page, "Blue");
		await page.fill("#search", "");
		await settle(page);
		const after = await getFills();
		assert.ok(after.size > 250);
		for (const [name, fill] of after)
			equal([name, fill !== before.get(name)], [name, name.startsWith("task_")]);
		const marks = await getMarks();
		await update(page, { marks: [...marks, { color: "#7c4dff", names: ["/usr/bin/tool"] }] });
		const both = await getMarks();
		await page.goBack();
		await settle(page);
		equal(await getMarks(), marks);
		await page.goForward();
		await settle(page);
		equal(await getMarks(), both);
		equal(both[1].names, ["/usr/bin/tool"]);
	},
	"a function can be given a colour, and modes change all": async (page) => {
		await openViewer(page, ["loop.folded"]);
		const before = await getColor(page, "k");
		await clickFrame(page, "k", { button: "right" });
		await chooseItem(page, "Colour…");
		await chooseItem(page, "Green");
		const marked = await getColor(page, "k");
		assert.notStrictEqual(marked, before);
		const go = await getColor(page, "go");
		await clickOn(page, "#colors");
		await chooseItem(page, "By own share");
		assert.notStrictEqual(await getColor(page, "go"), go);
		equal(await getColor(page, "k"), marked);
	},
	"back and forward follow every change, and a new step cuts the forward list": async (page) => {
		await openViewer(page, ["loop.folded"]);
		await clickFrame(page, "f", { shift: true });
		await clickOn(page, "#down");
		await clickOn(page, "#back");
		equal(await page.getAttribute("#up", "aria-pressed"), "true");
		await press(page, "Alt+ArrowLeft");
		await settle(page);
		equal(await getCrumbs(page), ["All"]);
		equal(await page.isDisabled("#back"), true);
		await press(page, "Alt+ArrowRight");
		await settle(page);
		equal(await getCrumbs(page), ["All", "f"]);
		await clickFrame(page, "h");
		equal(await page.isDisabled("#forward"), true);
		await page.goBack();
		await settle(page);
		equal(await getCrumbs(page), ["All", "f"]);
	},
	"a link reopens the same view of the same report": async (page) => {
		await openViewer(page, [], { url: shared });
		await clickFrame(page, "main", { shift: true });
		await clickOn(page, "#down");
		await goToTab(page, "tree");
		const url = page.url();
		await page.goto("about:blank");
		await openViewer(page, [], { url });
		equal(await getCrumbs(page), ["All", "main"]);
		equal(await page.getAttribute("#down", "aria-pressed"), "true");
		equal(await page.getAttribute("#tab-tree", "aria-selected"), "true");
	},
	"a search counts every stack once and steps through the frames": async (page) => {
		await openViewer(page, ["loop.folded"]);
		await page.keyboard.press("/");
		await page.keyboard.type("F");
		await settle(page);
		equal(await page.getAttribute("#search-result", "data-weight"), "17");
		equal(await page.getAttribute("#search-result", "data-count"), "1");
		assert.ok(await page.isVisible("#minimap"));
		await press(page, "Enter");
		await press(page, "Enter");
		assert.match(await page.textContent("#live"), /^Match 2 of 4$/);
		await clickOn(page, "#search-regex");
		await page.fill("#search", "^[gk]$");
		await settle(page);
		equal(await page.getAttribute("#search-result", "data-weight"), "18");
		await page.fill("#search", "^[GK]$");
		await settle(page);
		equal(await page.getAttribute("#search-result", "data-weight"), "0");
		await page.fill("#search", "(?i)^[GK]$");
		await settle(page);
		equal(await page.getAttribute("#search-result", "data-weight"), "18");
		await page.fill("#search", "(");
		await settle(page);
		assert.match(await page.textContent("#search-result"), /^the regular expression \/\(\/ is not valid: at character 1: /);
	},
	"a search becomes a filter": async (page) => {
		await openViewer(page, ["loop.folded"]);
		await page.fill("#search", "H");
		await settle(page);
		await clickOn(page, "#more");
		await chooseItem(page, "Only stacks with a match");
		equal(await getSum(page), 12);
	},
};

/* ---- comparison ---- */

const comparison = {
	"two files compare: both sides, the change, what vanished, and swapped": async (page) => {
		await openViewer(page, ["loop.folded", "other.folded"]);
		await goToTab(page, "files");
		await clickOn(page, "[data-source='0'] .segments button:has-text('Before')");
		await goToTab(page, "flat");
		const rows = Object.fromEntries((await getRows(page)).map((cells) => [cells[6], cells]));
		equal(rows.fresh.slice(3, 5), ["0.00 %", "47.62 %"]);
		equal(rows.h.slice(3, 5), ["57.14 %", "0.00 %"]);
		assert.match(rows.h[5], /^−57\.14 ± \d+\.\d\d$/);
		await goToTab(page, "flame");
		assert.ok((await getFrames(page)).some((row) => row.includes("h 0")));
		await goToTab(page, "files");
		await clickOn(page, "#swap");
		await goToTab(page, "flat");
		assert.ok((await getRows(page)).some((cells) => cells[6] === "h" && cells[5].startsWith("+57.14")));
	},
	"what has changed is what the command line says": async (page) => {
		for (const [after, areAny] of [["half2.folded", false], ["slow.folded", true]]) {
			await page.goto("about:blank");
			await openViewer(page, ["half1.folded", after], { hash: "#sides=21&tab=flat" });
			const { functions } = diff("half1.folded", after);
			const verdict = (change) => change.noise ? "noise" : change.change > 0 ? "more" : "less";
			const wanted = Object.fromEntries(functions.map((row) => [row.name, [verdict(row.self), verdict(row.total)]]));
			const rows = await page.$$eval(".view:not([hidden]) .table-row", (all) => all.map((row) => [
				row.children[6].textContent, [2, 5].map((i) => row.children[i].firstElementChild.className)]));
			equal(Object.fromEntries(rows), wanted);
			equal(functions.some((row) => !row.noise), areAny);
			await goToTab(page, "flame");
			for (const { name, isThread, fill } of await page.evaluate(() => window.stackwide.getFlame().rows.flat())) {
				const levels = fill.match(/\d+/g).map(Number);
				const isGrey = Math.max(...levels) - Math.min(...levels) < 12;
				if (name !== "all" && !isThread)
					equal([name, isGrey], [name, wanted[name][1] === "noise"]);
			}
		}
	},
	"weights that are no counts are not called changed": async (page) => {
		await openViewer(page, ["periods.folded", "half1.folded"], { hash: "#sides=21&tab=flat" });
		assert.match(await page.textContent("#doubt"), /not counts of samples/);
		equal(await page.$$eval(".view:not([hidden]) .more, .view:not([hidden]) .less", (all) => all.length), 0);
	},
};

/* ---- hands and ears ---- */

const hands = {
	"arrows walk the flame, Enter selects, and it is said aloud": async (page) => {
		await openViewer(page, ["loop.folded"]);
		await page.focus("#flame");
		await press(page, "ArrowUp");
		await press(page, "ArrowUp");
		await press(page, "ArrowUp");
		const id = await page.getAttribute("#flame", "aria-activedescendant");
		assert.match(await page.textContent("#" + id), /^f, 57\.14 %, self 14\.29 %$/);
		await press(page, "ArrowRight");
		await press(page, "ArrowLeft");
		await press(page, "Enter");
		equal(await getCrumbs(page), ["All", "go", "f"]);
	},
	"the drawn frames are a tree for screen readers": async (page) => {
		await openViewer(page, ["loop.folded"]);
		const items = await page.$$eval("#flame-tree [role=treeitem]", (all) =>
			all.map((one) => [one.textContent.split(",")[0], Number(one.getAttribute("aria-level"))]));
		equal(items.slice(1, 3), [["go", 2], ["f", 3]]);
	},
	"every key is on the sheet": async (page) => {
		await openViewer(page, ["loop.folded"]);
		await press(page, "?");
		assert.ok(await page.isVisible("#sheet"));
		await press(page, "Escape");
		assert.ok(!await page.isVisible("#sheet"));
		await press(page, "2");
		equal(await page.getAttribute("#tab-flat", "aria-selected"), "true");
	},
	"the wheel zooms around the pointer, and the minimap moves": async (page) => {
		await openViewer(page, ["loop.folded"]);
		const { x, y } = await findFrame(page, "k");
		await page.mouse.move(x, y);
		await page.keyboard.down("Control");
		for (let i = 0; i < 6; i++)
			await page.mouse.wheel(0, -60);
		await page.keyboard.up("Control");
		await settle(page);
		const zoomed = await findFrame(page, "k");
		assert.ok(Math.abs(zoomed.x - x) < 400 && await page.isVisible("#minimap"));
		const seen = await page.evaluate(() => window.stackwide.getFlame());
		assert.ok(seen.to - seen.from < 0.2);
		await page.click("#minimap", { position: { x: 5, y: 10 } });
		await settle(page);
		equal(await page.evaluate(() => window.stackwide.getFlame().from), 0);
		await page.focus("#flame");
		await press(page, "0");
		equal(await page.evaluate(() => window.stackwide.getFlame().to), 1);
	},
	"it looks well by day and by night": async (page) => {
		await openViewer(page, ["perf.txt", "loop.folded"]);
		for (const [theme, label] of [["light", "Light"], ["dark", "Dark"], ["contrast", "High contrast"]]) {
			await setTheme(page, label);
			for (const tab of ["flame", "flat", "relatives", "tree", "files"]) {
				await goToTab(page, tab);
				await page.screenshot({ path: file(`shots/${tab}-${theme}.png`) });
			}
		}
		equal(fs.readdirSync(file("shots")).length, 15);
	},
};

runTests({ ...files, ...metrics, ...sleepers, ...fragments, ...tables, ...filters, ...looks, ...comparison, ...hands },
	{ acceptDownloads: true });
