/*
 * Pages in the system's Chromium, or with FIREFOX in the environment in that, for tests: every test gets
 * an empty page, and fails when the page complains on its console.
 */
"use strict";

const assert = require("node:assert");
const fs = require("node:fs");
const { chromium, firefox } = require("playwright-core");

const FLAGS = ["--no-sandbox", "--disable-gpu", "--disable-background-networking",
	"--disable-component-update", "--disable-sync"];

const IN_FIREFOX = Boolean(process.env.FIREFOX);

/* Firefox as distributions have it, by WebDriver BiDi. */
const launch = () => IN_FIREFOX
	? firefox.launch({ channel: "moz-firefox", executablePath: process.env.FIREFOX, headless: true })
	: chromium.launch({ executablePath: process.env.CHROMIUM, headless: true, args: FLAGS });

/* Tests of what only Chromium's own protocol can do: real drops of folders, fingers, paper, permissions. */
const inChromium = (tests) => IN_FIREFOX ? {} : tests;

/*
 * Beside each other: a page waits for the next frame to be drawn, and files to be read. Of Firefox's only
 * one has the focus.
 */
const NUM_PAGES = IN_FIREFOX ? 1 : 2;

async function openPage(browser, options) {
	const context = await browser.newContext({ viewport: { width: 1200, height: 800 }, ...options });
	const page = await context.newPage();

	page.setDefaultTimeout(30000);
	return page;
}

/* As a new one. A process of its own for every test would take longer than most tests. */
async function emptyPage(page) {
	await page.mouse.move(0, 0);
	if (page.url() !== "about:blank")
		await page.evaluate(() => localStorage.clear());
	await page.emulateMedia({ media: null, colorScheme: null });
	await page.context().clearPermissions();
	await page.goto("about:blank");
}

/* What went wrong, or null. */
async function runTest(page, test, forbidden) {
	const complaints = [];
	const onError = (error) => complaints.push(error.message);
	const onConsole = (message) => {
		if (forbidden.includes(message.type()))
			complaints.push(message.text());
	};

	page.on("pageerror", onError);
	page.on("console", onConsole);
	try {
		await test(page);
		assert.deepStrictEqual(complaints, [], "the console must stay empty");
		await emptyPage(page);
		return null;
	} catch (error) {
		return error;
	} finally {
		page.off("pageerror", onError);
		page.off("console", onConsole);
	}
}

/*
 * tests: names (sentences) to async functions that get an empty page; forbidden: what it may not say on
 * its console. Sets the exit status.
 */
async function runTests(tests, options = {}, forbidden = ["error", "warning"]) {
	const browser = await launch();
	const waiting = Object.entries(tests);
	let failed = 0;

	const runThem = async () => {
		let page = await openPage(browser, options);

		while (waiting.length) {
			const [name, test] = waiting.shift();
			const begun = Date.now();
			const error = await runTest(page, test, forbidden);
			const seconds = ((Date.now() - begun) / 1000).toFixed(1);

			console.log(error ? "FAIL " + name + "\n" + error.stack : `ok   ${name} (${seconds} s)`);
			if (error) {
				failed++;
				await page.context().close();
				page = await openPage(browser, options);
			}
		}
	};

	await Promise.all(Array.from({ length: NUM_PAGES }, runThem));
	await browser.close();
	process.exitCode = failed || !Object.keys(tests).length ? 1 : 0;
}

/* Playwright's own screenshots wait forever in an SVG document. Pages are laid out anew for this one,
   and may be caught in the middle of it. */
async function takeScreenshot(page, path) {
	if (IN_FIREFOX) {
		await page.screenshot({ path });
		return;
	}
	const session = await page.context().newCDPSession(page);
	const { data } = await session.send("Page.captureScreenshot", { captureBeyondViewport: true });

	fs.writeFileSync(path, Buffer.from(data, "base64"));
}

module.exports = { IN_FIREFOX, inChromium, launch, runTests, takeScreenshot };
