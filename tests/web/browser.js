/*
 * Pages in the system's Chromium, for tests: every test gets a page of its own, and fails when the
 * page complains on its console.
 */
"use strict";

const assert = require("node:assert");
const fs = require("node:fs");
const { chromium } = require("playwright-core");

const FLAGS = ["--no-sandbox", "--disable-gpu", "--disable-background-networking",
	"--disable-component-update", "--disable-sync"];

const launch = () => chromium.launch({ executablePath: process.env.CHROMIUM, headless: true, args: FLAGS });

/*
 * tests: names (sentences) to async functions that get a page; forbidden: what it may not say on its
 * console. Sets the exit status.
 */
async function runTests(tests, options = {}, forbidden = ["error", "warning"]) {
	const browser = await launch();
	let failed = 0;

	for (const [name, test] of Object.entries(tests)) {
		const context = await browser.newContext({ viewport: { width: 1200, height: 800 }, ...options });
		const page = await context.newPage();
		const complaints = [];

		page.setDefaultTimeout(30000);
		page.on("pageerror", (error) => complaints.push(error.message));
		page.on("console", (message) => {
			if (forbidden.includes(message.type()))
				complaints.push(message.text());
		});
		try {
			await test(page);
			assert.deepStrictEqual(complaints, [], "the console must stay empty");
			console.log("ok   " + name);
		} catch (error) {
			failed++;
			console.log("FAIL " + name + "\n" + error.stack);
		}
		await context.close();
	}
	await browser.close();
	process.exitCode = failed || !Object.keys(tests).length ? 1 : 0;
}

/* Playwright's own screenshots wait forever in an SVG document. Pages are laid out anew for this one,
   and may be caught in the middle of it. */
async function takeScreenshot(page, path) {
	const session = await page.context().newCDPSession(page);
	const { data } = await session.send("Page.captureScreenshot", { captureBeyondViewport: true });

	fs.writeFileSync(path, Buffer.from(data, "base64"));
}

module.exports = { launch, runTests, takeScreenshot };
