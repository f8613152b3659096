/*
 * What a person does with the viewer's page, as short calls.
 */
"use strict";

const fs = require("node:fs");
const nodePath = require("node:path");
const { execFileSync } = require("node:child_process");
const { IN_FIREFOX } = require("./browser.js");

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

async function dropReally(page, names) {
	const session = await page.context().newCDPSession(page);
	const data = { items: [], files: names.map(file), dragOperationsMask: 1 };

	for (const type of ["dragEnter", "dragOver", "drop"])
		await session.send("Input.dispatchDragEvent", { type, x: 300, y: 300, data });
}

/* A file or folder as plain data. */
function readTree(path) {
	const name = nodePath.basename(path);

	if (!fs.statSync(path).isDirectory())
		return { name, data: fs.readFileSync(path, "base64") };
	return { name, children: fs.readdirSync(path).map((child) => readTree(nodePath.join(path, child))) };
}

/* A drop that is made in the page, in a browser that gives entries for folders, not handles. */
const dropByEntries = (page, names) => page.evaluate((trees) => {
	const decode = (data) => Uint8Array.from(atob(data), (character) => character.charCodeAt(0));
	const makeFile = ({ name, data }) => new File(data === undefined ? [] : [decode(data)], name);
	const makeReader = (entries) => ({ readEntries: (resolve) => resolve(entries.splice(0, 2)) });
	const makeEntry = (tree) => ({
		name: tree.name, isFile: !tree.children, isDirectory: Boolean(tree.children),
		file: (resolve) => resolve(makeFile(tree)), createReader: () => makeReader(tree.children.map(makeEntry)),
	});
	const drop = new Event("drop");

	drop.dataTransfer = { items: trees.map((tree) =>
		({ kind: "file", getAsFile: () => makeFile(tree), webkitGetAsEntry: () => makeEntry(tree) })) };
	dispatchEvent(drop);
}, names.map((name) => readTree(file(name))));

/*
 * Real drops, by the browser's own protocol, which Firefox does not offer. count: of the files in
 * folders among them.
 */
async function dropFiles(page, names, { count = names.length, byEntries = IN_FIREFOX } = {}) {
	const before = await page.evaluate(() => window.stackwide.countSources());

	await (byEntries ? dropByEntries : dropReally)(page, names);
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

const allowClipboard = (page) => IN_FIREFOX || page.context().grantPermissions(["clipboard-read", "clipboard-write"]);

/* Firefox gives it to nobody, but pastes. */
async function pasteClipboard(page) {
	await page.evaluate(() => {
		const place = document.createElement("textarea");

		place.id = "pasted";
		place.previous = document.activeElement;
		document.body.append(place);
		place.focus();
	});
	await page.keyboard.press("Control+V");
	return page.$eval("#pasted", (place) => {
		place.previous.focus();
		place.remove();
		return place.value;
	});
}

const readClipboard = (page) => IN_FIREFOX ? pasteClipboard(page) : page.evaluate(() => navigator.clipboard.readText());

const goToTab = (page, tab) => clickOn(page, "#tab-" + tab);
const getCrumbs = (page) => page.$$eval("#crumbs .crumb", (all) => all.map((crumb) => crumb.textContent));
const getNumber = (page, selector) => page.$eval(selector, (element) => Number(element.dataset.value));
const getChips = (page) => page.$$eval(".chip-text", (all) => all.map((chip) => chip.textContent));
/* What is drawn belongs to it afterwards: a click goes to the place of a frame. */
async function update(page, patch) {
	await page.evaluate((wanted) => window.stackwide.update(wanted), patch);
	await settle(page);
}

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
const getSavedPath = (name) => file(`saved-${numSaved++}-${name}`);

async function catchDownload(page) {
	const got = await page.waitForEvent("download");
	const path = getSavedPath(got.suggestedFilename());

	await got.saveAs(path);
	return path;
}

/* Firefox does not tell of them: what the page would save is taken out of its hands. */
async function catchSaved(page) {
	const { name, data } = await page.evaluate(() => new Promise((resolve, reject) => {
		const makeUrl = URL.createObjectURL;
		let saved;

		URL.createObjectURL = (blob) => {
			saved = blob;
			return makeUrl.call(URL, blob);
		};
		addEventListener("click", (event) => {
			if (!event.target.matches("a[download]"))
				return;
			URL.createObjectURL = makeUrl;
			event.preventDefault();
			const reader = new FileReader();
			reader.onload = () => resolve({ name: event.target.download, data: reader.result.replace(/^.*,/, "") });
			reader.readAsDataURL(saved);
		}, { capture: true });
		setTimeout(reject, 30000, "nothing was saved");
	}));
	const path = getSavedPath(name);

	fs.writeFileSync(path, Buffer.from(data, "base64"));
	return path;
}

async function download(page, label) {
	const waiting = IN_FIREFOX ? catchSaved(page) : catchDownload(page);

	await clickOn(page, "#export");
	await page.locator(".menu-item", { hasText: label }).first().click();
	return waiting;
}

module.exports = { addFiles, addFilter, allowClipboard, chooseItem, clickFrame, clickOn, diff, download, dropFiles, file, findFrame, getChips,
	getCrumbs, getFrames, getNumber, getRows, getSum, goToTab, openViewer, press, readClipboard, report, setTheme, settle,
	update };
