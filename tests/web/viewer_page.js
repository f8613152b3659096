/*
 * What a person does with the viewer's page, as short calls.
 */
"use strict";

const { execFileSync } = require("node:child_process");

const [folder, empty] = process.argv.slice(2);
const file = (name) => folder + "/" + name;

/* Wait until what was asked for is on the screen. */
const settle = (page) => page.evaluate(() => window.stackwide.settle());

async function openViewer(page, names = [], { url = "file://" + empty, hash = "" } = {}) {
	await page.goto(url + hash);
	await page.waitForSelector("html[data-ready=yes]");
	if (names.length)
		await addFiles(page, names);
	await settle(page);
}

async function addFiles(page, names) {
	const before = await page.evaluate(() => window.stackwide.countSources());

	await page.setInputFiles("#file-input", names.map(file));
	await page.waitForFunction((count) => window.stackwide.countSources() >= count &&
		document.getElementById("progress").hidden, before + names.length);
	await settle(page);
}

/* Real drops, by the browser's own protocol. count: of the files in folders among them. */
async function dropFiles(page, names, { count = names.length } = {}) {
	const session = await page.context().newCDPSession(page);
	const data = { items: [], files: names.map(file), dragOperationsMask: 1 };
	const before = await page.evaluate(() => window.stackwide.countSources());

	for (const type of ["dragEnter", "dragOver", "drop"])
		await session.send("Input.dispatchDragEvent", { type, x: 300, y: 300, data });
	await page.waitForFunction((wanted) => window.stackwide.countSources() >= wanted &&
		document.getElementById("progress").hidden, before + count);
	await settle(page);
}

/* Frames that are drawn: "name total", row by row from the base, from left to right. */
const getFrames = (page) => page.evaluate(() =>
	window.stackwide.getFlame().rows.map((row) => row.map(({ name, total }) => name + " " + total)));

/* Where a frame is on the screen: the nth of that name, counted from the base. */
const findFrame = (page, name, nth = 0) => page.evaluate(([wanted, number]) => {
	const frame = window.stackwide.getFlame().rows.flat().filter(({ name }) => name === wanted)[number];

	if (!frame)
		throw new Error("no frame " + wanted + " is drawn");
	return { x: frame.x + frame.width / 2, y: frame.y + 10 };
}, [name, nth]);

async function clickFrame(page, name, { nth = 0, button = "left", shift = false } = {}) {
	const { x, y } = await findFrame(page, name, nth);

	if (shift)
		await page.keyboard.down("Shift");
	await page.mouse.click(x, y, { button });
	if (shift)
		await page.keyboard.up("Shift");
	await settle(page);
}

async function press(page, key) {
	await page.keyboard.press(key);
	await settle(page);
}

async function clickOn(page, selector) {
	await page.click(selector);
	await settle(page);
}

async function chooseItem(page, label) {
	await page.locator(".menu-item", { hasText: label }).first().click();
	await settle(page);
}

const goToTab = (page, tab) => clickOn(page, "#tab-" + tab);
const getCrumbs = (page) => page.$$eval("#crumbs .crumb", (all) => all.map((crumb) => crumb.textContent));
const getNumber = (page, selector) => page.$eval(selector, (element) => Number(element.dataset.value));
const getChips = (page) => page.$$eval(".chip-text", (all) => all.map((chip) => chip.textContent));
const update = (page, patch) => page.evaluate((wanted) => window.stackwide.update(wanted), patch);
/* Add a filter to those that are there. */
const addFilter = (page, filter) => page.evaluate((wanted) => window.stackwide.update({
	filters: [...window.stackwide.getState().filters, wanted] }), filter);

async function setTheme(page, label) {
	await clickOn(page, "#theme");
	await chooseItem(page, label);
}

/* Cells of the rows of the table that is shown. */
const getRows = (page) => page.$$eval(".view:not([hidden]) .table-row", (rows) =>
	rows.map((row) => Array.from(row.children, (cell) => cell.textContent)));
const getSum = (page) => page.evaluate(() => window.stackwide.getSum());

/* What the command line says of the same files. */
const report = (names, ...args) => JSON.parse(execFileSync(process.env.STACKWIDE,
	["report", "--json", ...args, ...names.map(file)], { encoding: "utf8" }));

const diff = (before, after) => JSON.parse(execFileSync(process.env.STACKWIDE,
	["diff", "--json", file(before), file(after)], { encoding: "utf8" }));

let numSaved = 0;

async function download(page, label) {
	const waiting = page.waitForEvent("download");

	await clickOn(page, "#export");
	await page.locator(".menu-item", { hasText: label }).first().click();
	const got = await waiting;
	const path = file(`saved-${numSaved++}-${got.suggestedFilename()}`);

	await got.saveAs(path);
	return path;
}

module.exports = { addFiles, addFilter, chooseItem, clickFrame, clickOn, diff, download, dropFiles, file, findFrame, getChips,
	getCrumbs, getFrames, getNumber, getRows, getSum, goToTab, openViewer, press, report, setTheme, settle,
	update };
