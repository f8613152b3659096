/* The viewer's page with other hands: folders, exports, fingers, paper, the clipboard, long tables. */
"use strict";

const assert = require("node:assert");
const fs = require("node:fs");
const { execFileSync } = require("node:child_process");
const { inChromium, runTests } = require("./browser.js");
const { addFiles, addFilter, allowClipboard, chooseItem, clickFrame, clickOn, download, dropFiles, file, findFrame, getChips, getCrumbs, getFrames,
	getRows, getSum, goToTab, openViewer, press, readClipboard, report, settle } = require("./viewer_page.js");

const equal = assert.deepStrictEqual;
const STACKWIDE = process.env.STACKWIDE;
const getNames = (page) => page.evaluate(() => window.stackwide.getSources().map((source) => source.name).sort());
const getZoom = (page) => page.evaluate(() => {
	const { from, to } = window.stackwide.getFlame();

	return [from, to];
});

/* ---- folders and pages -------------------------------------------------------------------- */

const opening = {
	"all files of a dropped folder are opened, whatever their format": async (page) => {
		await openViewer(page);
		await dropFiles(page, ["runs"], { count: 2 });
		equal(await getNames(page), ["runs/deep/other.folded", "runs/loop.folded"]);
		equal(await getSum(page), 42);
	},
	"a dropped folder is opened where a browser has entries, not handles": async (page) => {
		await openViewer(page);
		await dropFiles(page, ["runs"], { count: 2, byEntries: true });
		equal(await getNames(page), ["runs/deep/other.folded", "runs/loop.folded"]);
		equal(await getSum(page), 42);
	},
	"a folder that is an experiment is one file, with the command line's numbers": async (page) => {
		await openViewer(page);
		await dropFiles(page, ["small.er"]);
		const { metrics } = report(["small.er"]);
		const seen = await page.evaluate(() => window.stackwide.getMetrics());
		const byName = (a, b) => (a.name < b.name ? -1 : 1);
		equal(await getNames(page), ["small.er"]);
		equal(seen.sort(byName), metrics.sort(byName));
	},
	"a page of the viewer that is dropped gives the profile in it": async (page) => {
		await openViewer(page, ["perf.txt"]);
		await dropFiles(page, ["report.html"]);
		equal(await getSum(page), 2000000);
	},
	"a saved session is read by the command line, and by the page, as what was open": async (page) => {
		await openViewer(page, ["perf.txt", "loop.folded", "faults.txt"]);
		const path = await download(page, "This page with its data");
		const name = path.slice(file("").length);
		const known = report(["perf.txt", "loop.folded", "faults.txt"]);
		equal(report([name]), known);
		equal(execFileSync(STACKWIDE, ["convert", path, "-o", "-", "--root", "tid", "--to", "folded"], { encoding: "utf8" }),
			execFileSync(STACKWIDE, ["convert", ...["perf.txt", "loop.folded", "faults.txt"].map(file), "-o", "-", "--root", "tid",
				"--to", "folded"], { encoding: "utf8" }));
		await openViewer(page, [name]);
		equal(await getNames(page), ["faults.txt", "loop.folded", "perf.txt"]);
	},
};

/* ---- exports ---------------------------------------------------------------------------- */

const convert = (path) => execFileSync(STACKWIDE, ["convert", path, "-o", "-", "--to", "folded"], { encoding: "utf8" });

const exporting = {
	"the view is saved as folded text, SVG and JSON, which the command line reads": async (page) => {
		await openViewer(page, ["loop.folded"]);
		const whole = fs.readFileSync(file("loop.written"), "utf8");
		equal(fs.readFileSync(await download(page, "Folded stacks"), "utf8"), whole);
		equal(convert(await download(page, ".svg")), whole);
		await clickFrame(page, "f", { shift: true });
		equal(fs.readFileSync(await download(page, "Folded stacks"), "utf8"), "f 3\nf;g 2\nf;h 12\n");
		const tree = JSON.parse(fs.readFileSync(await download(page, ".json"), "utf8"));
		equal(tree.value, 17);
	},
	"the page is saved with its data and its view": async (page) => {
		await openViewer(page, ["perf.txt", "loop.folded"]);
		await clickFrame(page, "main", { shift: true });
		const path = await download(page, "This page with its data");
		await page.goto("about:blank");
		await openViewer(page, [], { url: "file://" + path });
		equal(await getCrumbs(page), ["All", "main"]);
		equal(await getSum(page), 1000000);
		equal(await page.evaluate(() => window.stackwide.getSources().length), 2);
	},
	"names, files that are off and those that were removed stay so in the saved page": async (page) => {
		await openViewer(page, ["perf.txt", "loop.folded", "other.folded"]);
		await goToTab(page, "files");
		await clickOn(page, "[data-source='0'] .card-head button");
		await clickOn(page, "[data-source='1'] .segments button:has-text('Off')");
		await page.fill("[data-source='2'] .card-name", "night run");
		await press(page, "Tab");
		const path = await download(page, "This page with its data");
		assert.ok(!fs.readFileSync(path, "utf8").includes("perf.txt"));
		await openViewer(page, [], { url: "file://" + path });
		equal(await page.$$eval(".card-name", (all) => all.map((one) => one.value)), ["loop.folded", "night run"]);
		equal(await page.$$eval(".card.off", (all) => all.length), 1);
		equal(await getSum(page), 21);
		await clickOn(page, ".card:first-child .segments button:has-text('Shown')");
		equal(await getSum(page), 42);
		await clickOn(page, ".card:first-child .card-head button");
		const single = await download(page, "This page with its data");
		await openViewer(page, [], { url: "file://" + single });
		equal(await page.$$eval(".card-name", (all) => all.map((one) => one.value)), ["night run"]);
		equal(await getSum(page), 21);
	},
	"a picture is saved": async (page) => {
		await openViewer(page, ["loop.folded"]);
		equal(fs.readFileSync(await download(page, "Picture")).subarray(1, 4).toString(), "PNG");
	},
};

/* ---- fingers ------------------------------------------------------------------------------ */

/* steps: lists of fingers, each [x, y]; all that are down at that moment. */
async function touch(page, steps) {
	const session = await page.context().newCDPSession(page);
	const send = (type, points) => session.send("Input.dispatchTouchEvent",
		{ type, touchPoints: points.map(([x, y], id) => ({ x, y, id })) });

	await send("touchStart", steps[0]);
	for (const points of steps.slice(1))
		await send("touchMove", points);
	await send("touchEnd", []);
	await settle(page);
}

const fingers = {
	"two fingers zoom around what is between them, one moves it": async (page) => {
		await openViewer(page, ["loop.folded"]);
		const { x, y } = await findFrame(page, "go");
		await touch(page, [[[x - 40, y], [x + 40, y]], [[x - 80, y], [x + 80, y]], [[x - 160, y], [x + 160, y]]]);
		const zoomed = await getZoom(page);
		assert.ok(Math.abs(zoomed[1] - zoomed[0] - 0.25) < 0.03, `zoomed to ${zoomed}`);
		assert.ok(Math.abs((zoomed[0] + zoomed[1]) / 2 - 0.5) < 0.03, `zoomed around ${zoomed}`);
		await touch(page, [[[x, y]], [[x + 60, y]], [[x + 200, y]]]);
		const moved = await getZoom(page);
		assert.ok(moved[0] < zoomed[0] - 0.02 && Math.abs(moved[1] - moved[0] - (zoomed[1] - zoomed[0])) < 1e-9, `moved to ${moved}`);
		equal(await getCrumbs(page), ["All"]);
	},
	"a finger's tap selects": async (page) => {
		await openViewer(page, ["loop.folded"]);
		const { x, y } = await findFrame(page, "f");
		await page.touchscreen.tap(x, y);
		await settle(page);
		equal(await getCrumbs(page), ["All", "go", "f"]);
	},
};

/* ---- paper and clipboard ------------------------------------------------------------------ */

const paper = {
	"on paper there is the view without its tools": async (page) => {
		await openViewer(page, ["loop.folded"]);
		await page.emulateMedia({ media: "print" });
		await settle(page);
		assert.ok(await page.isVisible("#flame-canvas"));
		for (const tool of ["#search", "#export", "#help"])
			assert.ok(!await page.isVisible(tool), tool);
		assert.ok((await page.pdf()).length > 5000);
	},
};

const clipboard = {
	"name, stack and folded line of a frame are copied": async (page) => {
		await allowClipboard(page);
		await openViewer(page, ["loop.folded"]);
		for (const [item, wanted] of [["Copy the name", "g"], ["Copy the stack", "go\nf\ng"], ["Copy as a folded line", "go;f;g"]]) {
			await clickFrame(page, "g", { button: "right", nth: 1 });
			await chooseItem(page, item);
			equal(await readClipboard(page), wanted);
		}
		await page.focus("#flame");
		await press(page, "c");
		equal(await readClipboard(page), fs.readFileSync(file("loop.written"), "utf8"));
	},
	"text of tables can be selected": async (page) => {
		await openViewer(page, ["loop.folded"]);
		await goToTab(page, "flat");
		equal(await page.$eval(".table-row .name", (one) => getComputedStyle(one).userSelect), "text");
	},
};

/* ---- long tables -------------------------------------------------------------------------- */

const long = {
	"100,000 rows scroll, and only those in sight are made": async (page) => {
		await openViewer(page, ["many.folded"]);
		await goToTab(page, "flat");
		equal(await page.evaluate(() => window.stackwide.getRows("flat").length), 100000);
		const seen = await page.evaluate(async () => {
			const body = document.querySelector("#flat .table-scroll");
			const most = [0, ""];
			for (const part of [0.1, 0.5, 0.9, 1]) {
				body.scrollTop = part * body.scrollHeight;
				await new Promise((resolve) => requestAnimationFrame(() => setTimeout(resolve)));
				const rows = document.querySelectorAll("#flat .table-row");
				most[0] = Math.max(most[0], rows.length);
				most[1] = rows[rows.length - 1].textContent;
			}
			return most;
		});
		assert.ok(seen[0] < 200, `${seen[0]} rows are in the page`);
		equal((await getRows(page)).length > 10, true);
		await page.fill("#flat input", "function_99997");
		await settle(page);
		equal((await getRows(page)).map((cells) => cells[4]), ["function_99997"]);
	},
};

const places = {
	"another colour or tab leaves the part of the flame that is looked at": async (page) => {
		await openViewer(page, ["loop.folded"]);
		await page.evaluate(() => window.stackwide.zoom(0.25, 0.5));
		await settle(page);
		await clickOn(page, "#colors");
		await chooseItem(page, "By own share");
		await goToTab(page, "flat");
		await goToTab(page, "flame");
		equal(await getZoom(page), [0.25, 0.5]);
		await clickOn(page, "#down");
		equal(await getZoom(page), [0, 1]);
	},
};

/* ---- every change is a step --------------------------------------------------------------- */

const steps = {
	"metric, direction, filter and colours are steps, in the address and back": async (page) => {
		await openViewer(page, ["loop.folded", "faults.txt"]);
		const changes = [
			() => page.selectOption("#metric", "page-faults/count"),
			() => clickOn(page, "#down"),
			() => addFilter(page, { kind: "function", pattern: "main", excludes: true }),
			async () => {
				await clickOn(page, "#colors");
				await page.locator(".menu-item").nth(1).click();
			},
		];
		const hashes = [await page.evaluate(() => location.hash)];
		for (const change of changes) {
			await change();
			await settle(page);
			hashes.push(await page.evaluate(() => location.hash));
		}
		equal(new Set(hashes).size, 5);
		equal(await getChips(page), ["without function main"]);
		for (const wanted of hashes.slice(0, 4).reverse()) {
			await page.evaluate(() => history.back());
			await page.waitForFunction((hash) => location.hash === hash, wanted);
		}
		await settle(page);
		equal([await getSum(page), await getChips(page)], [21, []]);
		equal((await getFrames(page))[0], ["all 21"]);
		await addFiles(page, ["other.folded"]);
		equal(await getSum(page), 42);
	},
};

runTests({ ...opening, ...exporting, ...inChromium(fingers), ...inChromium(paper), ...clipboard, ...long, ...places, ...steps }, { acceptDownloads: true, hasTouch: true });
