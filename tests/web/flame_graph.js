"use strict";

const assert = require("node:assert");
const { runTests } = require("./browser.js");

const folder = process.argv[2];
const url = (name, query = "") => "file://" + folder + "/" + name + ".svg" + query;

const text = (page, id) => page.evaluate((which) => document.getElementById(which).textContent, id);
const has = (page, id, name) =>
	page.evaluate(([which, wanted]) => document.getElementById(which).classList.contains(wanted), [id, name]);

/* Frames that are seen, as [name, x, width, text]. */
const getFrames = (page) => page.evaluate(() =>
	Array.from(document.querySelectorAll("#frames > g"), (g) => {
		const rect = g.querySelector("rect");

		return window.getComputedStyle(g).display === "none" ? null : [
			g.querySelector("title").textContent.replace(/ \(.*/, ""),
			Number(rect.getAttribute("x")), Number(rect.getAttribute("width")),
			g.querySelector("text").textContent];
	}).filter(Boolean));
const getNames = async (page) => (await getFrames(page)).map((frame) => frame[0]);
const getMatches = (page) => page.evaluate(() =>
	Array.from(document.querySelectorAll("#frames > g"))
		.filter((g) => g.querySelector("rect").getAttribute("fill") === "rgb(230,0,230)")
		.map((g) => g.querySelector("title").textContent.replace(/ \(.*/, "")));
const getFocused = (page) => page.evaluate(() => {
	const isFrame = document.activeElement && document.activeElement.matches("#frames > g");
	const title = isFrame ? document.activeElement.querySelector("title") : null;

	return title ? title.textContent.replace(/ \(.*/, "") : null;
});

/* The frame by its title, or the first of them. */
const click = (page, title) => page.evaluate((wanted) => {
	const g = Array.from(document.querySelectorAll("#frames > g"))
		.find((one) => one.querySelector("title").textContent.startsWith(wanted));

	return g.querySelector("rect").dispatchEvent(new MouseEvent("click", { bubbles: true }));
}, title);

const ALL = ["all", "main", "Parse", "read", "parse_int", "parse", "write", "worker", "write"];

function answer(page, term) {
	page.once("dialog", (dialog) => term === null ? dialog.dismiss() : dialog.accept(term));
}

async function search(page, term, keys = "Control+f") {
	answer(page, term);
	await page.keyboard.press(keys);
}

runTests({
	"everything is drawn": async (page) => {
		await page.goto(url("graph"));
		assert.deepStrictEqual(await getNames(page), ALL);
		assert.strictEqual(await text(page, "title"), "Flame Graph");
		assert.strictEqual(await has(page, "unzoom", "hide"), true);
	},
	"the mouse tells name and count": async (page) => {
		await page.goto(url("graph"));
		await page.mouse.move(100, 78 + 16 * 2);
		assert.match(await text(page, "details"), /^Function: .* \([0-9]+ samples, [0-9.]+%\)$/);
		await page.mouse.move(600, 20);
		assert.strictEqual(await text(page, "details"), " ");
	},
	"a click zooms, and the button resets": async (page) => {
		await page.goto(url("graph"));
		await click(page, "Parse");
		assert.deepStrictEqual(await getFrames(page), [
			["all", 10, 1180, "all"], ["main", 10, 1180, "main"], ["Parse", 10, 1180, "Parse"],
			["read", 895, 295, "read"], ["parse_int", 895, 295, "parse_int"]]);
		assert.strictEqual(await has(page, "unzoom", "hide"), false);
		await page.locator("#unzoom").click();
		assert.deepStrictEqual(await getNames(page), ALL);
		assert.strictEqual(await has(page, "unzoom", "hide"), true);
		assert.strictEqual(new URL(page.url()).search, "");
	},
	"a search marks frames and does not count one on another twice": async (page) => {
		await page.goto(url("graph"));
		await search(page, "arse");
		/* Parse (40) holds parse_int; parse has 20. */
		assert.deepStrictEqual(await getMatches(page), ["Parse", "parse_int", "parse"]);
		assert.strictEqual(await text(page, "matched"), "Matched: 60.0%");
		assert.strictEqual(await text(page, "search"), "Reset Search");
		await page.locator("#search").click();
		assert.deepStrictEqual(await getMatches(page), []);
		assert.strictEqual(await text(page, "matched"), " ");
	},
	"F3 and the button search too": async (page) => {
		await page.goto(url("graph"));
		await search(page, "^write$", "F3");
		assert.strictEqual(await text(page, "matched"), "Matched: 35.0%");
		await page.locator("#search").click();
		answer(page, "^all$");
		await page.locator("#search").click();
		assert.strictEqual(await text(page, "matched"), "Matched: 100%");
	},
	"a search that is given up changes nothing": async (page) => {
		await page.goto(url("graph"));
		await search(page, "write");
		await search(page, null);
		assert.strictEqual(await text(page, "matched"), "Matched: 35.0%");
	},
	"what is no regular expression is told": async (page) => {
		await page.goto(url("graph"));
		await search(page, "a(");
		assert.strictEqual(await text(page, "details"), "Not a regular expression: a(");
		assert.deepStrictEqual(await getMatches(page), []);
	},
	"case counts until it is switched off": async (page) => {
		await page.goto(url("graph"));
		await search(page, "^parse$");
		assert.deepStrictEqual(await getMatches(page), ["parse"]);
		await page.keyboard.press("Control+i");
		assert.deepStrictEqual(await getMatches(page), ["Parse", "parse"]);
		assert.strictEqual(await has(page, "ignorecase", "show"), true);
		await page.locator("#ignorecase").click();
		assert.deepStrictEqual(await getMatches(page), ["parse"]);
	},
	"the address holds zoom and search, and brings them back": async (page) => {
		await page.goto(url("graph"));
		await click(page, "worker");
		await search(page, "w.*e&#?+");
		const link = page.url();
		assert.match(link, /\?x=954\.0&y=\d+&s=w\.\*e%26%23%3F%2B$/);
		await page.goto("about:blank");
		await page.goto(link);
		assert.deepStrictEqual(await getNames(page), ["all", "worker", "write"]);
		assert.strictEqual(await text(page, "search"), "Reset Search");
	},
	"a link with a search alone marks at once": async (page) => {
		await page.goto(url("graph", "?s=^parse"));
		assert.strictEqual(await text(page, "matched"), "Matched: 30.0%");
	},
	"a link to what is not there shows everything": async (page) => {
		await page.goto(url("graph", "?x=1&y=2&s=%E0%A4%A"));
		assert.deepStrictEqual(await getNames(page), ALL);
	},
	"the browser's back button takes steps back": async (page) => {
		await page.goto(url("graph"));
		await click(page, "main");
		await click(page, "Parse");
		await search(page, "read");
		await page.goBack();
		assert.deepStrictEqual(await getMatches(page), []);
		assert.strictEqual((await getNames(page)).length, 5);
		await page.goBack();
		assert.strictEqual((await getNames(page)).length, 7);
		await page.goBack();
		assert.deepStrictEqual(await getNames(page), ALL);
		await page.goForward();
		assert.strictEqual((await getNames(page)).length, 7);
	},
	"the keyboard moves, zooms and resets": async (page) => {
		await page.goto(url("graph"));
		await page.keyboard.press("Tab");
		assert.strictEqual(await getFocused(page), "all");
		await page.keyboard.press("Tab");
		assert.strictEqual(await getFocused(page), "main");
		assert.match(await text(page, "details"), /^Function: main \(80 samples, 80\.00%\)/);
		await page.keyboard.press("ArrowRight");
		assert.strictEqual(await getFocused(page), "worker");
		await page.keyboard.press("ArrowLeft");
		await page.keyboard.press("ArrowUp");
		assert.strictEqual(await getFocused(page), "Parse");
		await page.keyboard.press("Enter");
		assert.deepStrictEqual(await getNames(page), ["all", "main", "Parse", "read", "parse_int"]);
		await page.keyboard.press("ArrowRight"); /* the neighbours are hidden */
		assert.strictEqual(await getFocused(page), "Parse");
		await page.keyboard.press("ArrowDown");
		assert.strictEqual(await getFocused(page), "main");
		await page.keyboard.press("Escape");
		assert.deepStrictEqual(await getNames(page), ALL);
	},
	"upside down the arrows are too": async (page) => {
		await page.goto(url("inverted"));
		await page.keyboard.press("ArrowDown");
		assert.strictEqual(await getFocused(page), "all");
		await page.keyboard.press("ArrowDown");
		assert.strictEqual(await getFocused(page), "main");
		await page.keyboard.press("ArrowUp");
		assert.strictEqual(await getFocused(page), "all");
	},
	"readers who want it dark get it dark": async (page) => {
		const getColors = () => page.evaluate(() => ["canvas", "title"].map((id) =>
			window.getComputedStyle(document.getElementById(id)).fill));

		await page.emulateMedia({ colorScheme: "light" });
		await page.goto(url("graph"));
		assert.deepStrictEqual(await getColors(), ['url("#background")', "rgb(0, 0, 0)"]);
		await page.emulateMedia({ colorScheme: "dark" });
		const [canvas, title] = await getColors();
		assert.strictEqual(canvas, 'url("#background-dark")');
		assert.match(title, /^rgb\(2\d\d, 2\d\d, 2\d\d\)$/);
	},
	"any name is text": async (page) => {
		await page.goto(url("names"));
		assert.strictEqual(await text(page, "title"), "</text><script>throw 1</script>");
		assert.strictEqual((await getFrames(page)).length, 2);
		assert.strictEqual(await page.evaluate(() => document.querySelector("parsererror")), null);
	},
	"a graph without samples does nothing": async (page) => {
		await page.goto(url("empty"));
		assert.strictEqual(await text(page, "details"), "No samples.");
		await page.keyboard.press("Tab");
	},
});
