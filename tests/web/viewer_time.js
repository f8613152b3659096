"use strict";

const assert = require("node:assert");
const fs = require("node:fs");
const { runTests, takeScreenshot } = require("./browser.js");
const { addFiles, addFilter, clickOn, download, file, getChips, getNumber, getRows, getSum, goToTab, openViewer, press, report, setTheme, settle,
	update } = require("./viewer_page.js");

const equal = assert.deepStrictEqual;

/* Where the cell of a millisecond is on the screen. */
const findTime = (page, ms) => page.evaluate((wanted) => window.stackwide.findTime(wanted), ms);

async function hover(page, ms) {
	const { x, y } = await findTime(page, ms);

	await page.mouse.move(x, y, { steps: 3 });
}

/* From the cell of one millisecond to that of another. */
async function drag(page, from, to) {
	await hover(page, from);
	await page.mouse.down();
	await hover(page, to);
	await page.mouse.up();
	await settle(page);
}

const getRange = (page) => page.$eval("#heatmap-range", (one) =>
	[one.dataset.from, one.dataset.to, one.dataset.value].map(Number));
const isOffered = (page) => page.isVisible("#tab-time");
const sumCells = (page) => page.evaluate(() => window.stackwide.getHeatmap().sum);

async function openTime(page, names = ["timed.txt"], options = {}) {
	await openViewer(page, names, options);
	await goToTab(page, "time");
}

const TOTAL = report(["timed.txt"]).total;
const CUT = report(["cut.txt"]);

const tests = {
	"the view is there only when samples have times": async (page) => {
		await openViewer(page, ["timeless.folded"]);
		assert.ok(!await isOffered(page));
		await press(page, "9");
		assert.ok(await page.isVisible("#view-flame"));
		await addFiles(page, ["timed.txt"]);
		assert.ok(await isOffered(page));
		await press(page, "9");
		assert.ok(await page.isVisible("#heatmap-canvas"));
		equal([await sumCells(page), await getNumber(page, "#heatmap-timeless")], [0, 10]);
		await page.selectOption("#metric", "cycles/count");
		await settle(page);
		equal(await sumCells(page), TOTAL);
	},
	"all cells together are what the command line says": async (page) => {
		await openTime(page);
		equal(await sumCells(page), TOTAL);
		equal(await page.evaluate(() => window.stackwide.getHeatmap().columns), 12);
	},
	"a cell tells its time and its weight": async (page) => {
		await openTime(page);
		await hover(page, 37 * 4);
		const tip = await page.textContent("#tip");
		assert.ok(tip.startsWith("0.140 s – 0.160 s"), tip);
		assert.ok(tip.includes("104 cycles"), tip);
	},
	"dragging selects a range, and every view follows": async (page) => {
		await openTime(page);
		await drag(page, 2040, 6379);
		equal(await getRange(page), [2040, 6380, CUT.total]);
		equal(await getChips(page), ["only time 2.040 s – 6.380 s"]);
		equal(await getSum(page), CUT.total);
		equal(await sumCells(page), TOTAL);
		await goToTab(page, "threads");
		equal((await getRows(page)).length, 3);
		await goToTab(page, "flat");
		const shown = await page.evaluate(() => window.stackwide.getRows("flat").map((row) =>
			[row.name, row.self, row.total]).sort());
		equal(shown, CUT.functions.map(({ name, self, total }) => [name, self, total]).sort());
	},
	"dragging backwards selects the same, and another drag another range": async (page) => {
		await openTime(page);
		await drag(page, 6379, 2040);
		equal(await getSum(page), CUT.total);
		await drag(page, 9000, 3000);
		equal(await getChips(page), ["only time 3.000 s – 9.020 s"]);
	},
	"a range can be turned round, removed and had again": async (page) => {
		await openTime(page);
		await drag(page, 2040, 6379);
		await clickOn(page, ".chip-text");
		equal(await getSum(page), TOTAL - CUT.total);
		equal(await getChips(page), ["without time 2.040 s – 6.380 s"]);
		await page.goBack();
		await settle(page);
		equal(await getSum(page), CUT.total);
		await clickOn(page, ".chip-close");
		equal(await getSum(page), TOTAL);
	},
	"keys move, select, filter and give up": async (page) => {
		await openTime(page);
		await page.focus("#heatmap");
		await press(page, "Home");
		for (let i = 0; i < 3; i++)
			await press(page, "ArrowRight");
		assert.match(await page.textContent("#live"), /^3\.000 s – 3\.020 s: /);
		for (const key of ["Shift+ArrowRight", "Shift+ArrowRight", "Shift+ArrowUp", "Shift+ArrowUp"])
			await press(page, key);
		const wanted = report(["keys.txt"]).total;
		equal(await getRange(page), [3000, 5060, wanted]);
		equal(await getSum(page), TOTAL);
		await press(page, "Enter");
		equal(await getSum(page), wanted);
		await press(page, "Escape");
		equal(await getSum(page), TOTAL);
		await press(page, "Shift+ArrowRight");
		await press(page, "Escape");
		assert.ok(!await page.isVisible("#heatmap-range"));
		await press(page, "Shift+End");
		await press(page, "x");
		equal(await getChips(page), ["without time 6.040 s – 12.000 s"]);
	},
	"the heatmap shows the fragment and the threads that are looked at": async (page) => {
		await openTime(page);
		await update(page, { fragment: [{ name: "main", isThread: false }, { name: "emit", isThread: false }] });
		await settle(page);
		equal(await sumCells(page), report(["timed.txt"], "--include", "fragment:main;emit").total);
		await addFilter(page, { kind: "thread", pattern: "11", excludes: false });
		await settle(page);
		equal(await sumCells(page), report(["timed.txt"], "--include", "fragment:main;emit", "--include", "thread:11").total);
	},
	"a link and a saved page open with the same range": async (page) => {
		await openTime(page, [], { url: "file://" + file("report.html"), hash: "#in=time:2040-6380" });
		equal(await getSum(page), CUT.total);
		equal(await sumCells(page), TOTAL);
		const path = await download(page, "This page with its data");
		await page.goto("about:blank");
		await openViewer(page, [], { url: "file://" + path });
		equal(await getChips(page), ["only time 2.040 s – 6.380 s"]);
		equal(await getSum(page), CUT.total);
		assert.ok(await page.isVisible("#heatmap-canvas"));
		equal(await sumCells(page), TOTAL);
	},
	"recordings of different hours lie over each other": async (page) => {
		await openTime(page, [], { url: "file://" + file("both.html") });
		equal(await sumCells(page), report(["timed.txt", "later.txt"]).total);
		equal(await page.evaluate(() => window.stackwide.getHeatmap().columns), 12);
		await goToTab(page, "files");
		await clickOn(page, ".card:first-child .segments button:has-text('Off')");
		await goToTab(page, "time");
		equal(await page.evaluate(() => window.stackwide.getHeatmap().columns), 3);
		equal(await sumCells(page), report(["later.txt"]).total);
	},
	"it looks well by day and by night": async (page) => {
		await openTime(page);
		await drag(page, 2040, 6379);
		await page.mouse.move(5, 5);
		for (const [theme, label] of [["light", "Light"], ["dark", "Dark"], ["contrast", "High contrast"]]) {
			await setTheme(page, label);
			await takeScreenshot(page, file(`shots/time-${theme}.png`));
		}
		equal(fs.readdirSync(file("shots")).length, 3);
	},
};

runTests(tests, { acceptDownloads: true });
