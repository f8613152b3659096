/*
 * The picture of the README: the viewer with a recording in it, in the light theme.
 *
 * usage: node picture.js PAGE PNG
 */
"use strict";

const { launch } = require("./browser.js");
const { chooseItem, clickOn, findFrame } = require("./viewer_page.js");

async function takePicture(url, path) {
	const browser = await launch();
	const page = await browser.newPage({ viewport: { width: 1280, height: 720 }, colorScheme: "light" });

	await page.goto(url);
	await page.waitForSelector("html[data-ready=yes]");
	await clickOn(page, "#colors");
	await chooseItem(page, "By module");
	const { x, y } = await findFrame(page, "clang::ParseAST");
	await page.mouse.move(x, y, { steps: 3 });
	await page.waitForTimeout(1000);
	await page.screenshot({ path });
	await browser.close();
}

const [, , file, path] = process.argv;

takePicture("file://" + file, path);
