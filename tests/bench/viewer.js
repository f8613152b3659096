/*
 * What a person waits for: from the drop of a file to its picture, and from a click to the next
 * one, with the page's memory; in headless Chromium.
 *
 * usage: node viewer.js VIEWER_PAGE SPEEDSCOPE_PAGE RUNS FILE…     SPEEDSCOPE_PAGE may be empty
 *
 * One line of JSON for each page and file: {"page","file","drop","cpu","memory","select",…}: least
 * milliseconds of all runs, of the clock but for "cpu", which the page's process took for the drop
 * and which another's work on the machine changes less; memory as a multiple of the file. A page
 * that fails has "failure".
 */
"use strict";

const fs = require("node:fs");
const path = require("node:path");
const { launch } = require("../web/browser.js");

const [viewer, speedscope, runs, ...files] = process.argv.slice(2);
const PATIENCE_MS = 120000;

/* Resident bytes of all pages' processes, and the milliseconds of CPU time that they took. */
async function measureCost(page) {
	const session = await page.context().browser().newBrowserCDPSession();
	const { processInfo } = await session.send("SystemInfo.getProcessInfo");
	const cost = { bytes: 0, cpu: 0 };

	for (const { type, id, cpuTime } of processInfo) {
		if (type !== "renderer")
			continue;
		cost.bytes += Number(/^VmRSS:\s+(\d+)/m.exec(fs.readFileSync(`/proc/${id}/status`, "utf8"))?.[1] ?? 0) * 1024;
		cost.cpu += cpuTime * 1000;
	}
	await session.detach();
	return cost;
}

/* wait()  resolves with the milliseconds from the drop to the picture */
async function measureDrop(page, file, wait) {
	const before = await measureCost(page);

	await drop(page, file);
	const time = await wait();
	const after = await measureCost(page);

	return { drop: time, cpu: after.cpu - before.cpu, memory: (after.bytes - before.bytes) / fs.statSync(file).size };
}

/* As a person drops it; the page keeps the moment in window.droppedAt. */
async function drop(page, file) {
	const session = await page.context().newCDPSession(page);
	const data = { items: [], files: [file], dragOperationsMask: 1 };

	await page.evaluate(() => addEventListener("drop", () => {
		window.droppedAt = performance.now();
	}, true));
	for (const type of ["dragEnter", "dragOver", "drop"])
		await session.send("Input.dispatchDragEvent", { type, x: 300, y: 300, data });
}

/* ---- ours --------------------------------------------------------------------------------- */

/* Milliseconds from the drop until the flame is on the screen. */
const waitForFlame = (page) => page.evaluate(() => new Promise((resolve) => {
	const look = () => (window.stackwide.isShown() && document.getElementById("progress").hidden
		? setTimeout(() => resolve(performance.now() - window.droppedAt)) : requestAnimationFrame(look));

	requestAnimationFrame(look);
}));

/* A change of what is looked at, until it is on the screen. The function that many stacks share. */
const measureStep = (page, step) => page.evaluate(async (name) => {
	const { stackwide } = window;
	const { rows } = stackwide.getFlame();
	const { name: frame, x, y } = rows[Math.min(2, rows.length - 1)][0];
	const { direction } = stackwide.getState();
	const box = document.getElementById("search");
	const result = document.getElementById("search-result");
	const steps = {
		select: () => {
			const place = { clientX: x + 1, clientY: y + 5, pointerId: 1, bubbles: true };
			const flame = document.elementFromPoint(x + 1, y + 5);

			flame.dispatchEvent(new PointerEvent("pointerdown", place));
			flame.dispatchEvent(new PointerEvent("pointerup", place));
		},
		direction: () => stackwide.update({ direction: direction === "callees" ? "callers" : "callees" }),
		clear: () => stackwide.update({ fragment: [], filters: [], direction: "callees" }),
		filter: () => stackwide.update({ filters: [{ kind: "function", pattern: frame, excludes: true }] }),
		search: () => {
			box.value = "alloc";
			box.dispatchEvent(new Event("input"));
		},
	};
	/* The numbers of a selection come with its flame, in one step of the page. */
	const isDone = {
		select: () => document.getElementById("exclusive") !== null && stackwide.isShown(),
		search: () => result.dataset.count !== undefined,
	}[name] ?? (() => stackwide.isShown());
	const start = performance.now();

	await steps[name]();
	await new Promise((resolve) => {
		const look = () => (isDone() ? setTimeout(resolve) : requestAnimationFrame(look));
		requestAnimationFrame(look);
	});
	return performance.now() - start;
}, step);

const STEPS = ["select", "direction", "clear", "filter", "direction", "clear", "search"];

async function measureViewer(page, file) {
	await page.goto("file://" + viewer);
	await page.waitForSelector("html[data-ready=yes]");
	const result = await measureDrop(page, file, () => waitForFlame(page));

	for (const step of STEPS) {
		const time = await measureStep(page, step);
		const name = step === "direction" && result.filter ? "filtered callers" : step;

		result[name] ??= time;
	}
	return result;
}

/* ---- speedscope --------------------------------------------------------------------------- */

async function measureSpeedscope(page, file) {
	await page.goto("file://" + speedscope);
	await page.waitForSelector("input[type=file]", { state: "attached" });
	/* With a profile it has the name in its title, and a canvas behind everything that it draws. */
	return measureDrop(page, file, () => page.evaluate((name) => new Promise((resolve) => {
		const look = () => (document.title.includes(name) && document.querySelector("canvas")?.width
			? requestAnimationFrame(() => setTimeout(() => resolve(performance.now() - window.droppedAt)))
			: requestAnimationFrame(look));

		requestAnimationFrame(look);
	}), path.basename(file)));
}

/* A browser of its own each time, so that nothing is warm or left over. */
async function measure(run, file) {
	const browser = await launch();
	let timer;

	try {
		const page = await browser.newPage({ viewport: { width: 1200, height: 800 } });
		const patience = new Promise((resolve, reject) => {
			timer = setTimeout(() => reject(new Error(`not done after ${PATIENCE_MS / 1000} s`)), PATIENCE_MS);
			page.on("crash", () => reject(new Error("the page crashed")));
		});

		page.setDefaultTimeout(PATIENCE_MS);
		return await Promise.race([run(page, file), patience]);
	} catch (error) {
		return { failure: error.message.split("\n")[0] };
	} finally {
		clearTimeout(timer);
		await browser.close();
	}
}

async function measureLeast(run, file) {
	const best = {};

	for (let i = 0; i < Number(runs); i++)
		for (const [name, value] of Object.entries(await measure(run, file)))
			best[name] = typeof value === "number" && name in best ? Math.min(best[name], value) : value;
	return best;
}

(async () => {
	const pages = [["stackwide", measureViewer]];

	if (speedscope)
		pages.push(["speedscope", measureSpeedscope]);
	for (const file of files)
		for (const [page, run] of pages)
			console.log(JSON.stringify({ page, file: path.basename(file), ...await measureLeast(run, file) }));
})();
