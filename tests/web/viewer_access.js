/* The viewer's page by ear and by keys, in colours, while it loads, where it is forbidden, when it fails. */
"use strict";

const assert = require("node:assert");
const fs = require("node:fs");
const http = require("node:http");
const { inChromium, runTests } = require("./browser.js");
const { addFiles, clickFrame, clickOn, download, dropFiles, file, getCrumbs, getRows, getSum, goToTab,
	openViewer, press, setTheme, settle, update } = require("./viewer_page.js");

const equal = assert.deepStrictEqual;
const [, empty] = process.argv.slice(2);
const shared = "file://" + file("report.html");
const axe = fs.readFileSync(require.resolve("axe-core/axe.min.js"), "utf8");
const getNotes = (page) => page.$$eval("#notes .note > span", (all) => all.map((note) => note.textContent));

/* A page of its own, which may complain on its console and is closed at the end. */
async function withPage(page, act, options) {
	const context = options ? await page.context().browser().newContext(options) : page.context();
	const own = await context.newPage();

	own.setDefaultTimeout(30000);
	try {
		await act(own);
	} finally {
		await (options ? context.close() : own.close());
	}
}

/* ---- ears ----------------------------------------------------------------------------------- */

/* What keeps people out; parts: selectors of the parts of the page to look at, all of it when missing. */
async function checkAccess(page, place, parts) {
	if (!await page.evaluate(() => "axe" in window))
		await page.evaluate(axe);
	/* By night only colours differ. */
	const found = await page.evaluate(async (include) => {
		const isDark = matchMedia("(prefers-color-scheme: dark)").matches;
		const { violations } = await window.axe.run(include ? { include } : document, {
			resultTypes: ["violations"], ...isDark && { runOnly: ["color-contrast"] } });

		return violations.filter(({ impact }) => impact === "serious" || impact === "critical")
			.map(({ id, nodes }) => [id, nodes.length, nodes[0].html.slice(0, 200), nodes[0].failureSummary]);
	}, parts);
	equal([place, found], [place, []]);
}

const TABS = ["flame", "flat", "relatives", "tree", "threads", "processes", "modules", "files", "time"];

/* Around the views nothing changes from one tab to the next but the tabs. */
async function checkTabs(page, place) {
	for (const tab of TABS) {
		await goToTab(page, tab);
		await checkAccess(page, `${place}: ${tab}`, tab === TABS[0] ? undefined : ["#tabs", "main"]);
	}
}

/* Each leaves the page as it was. */
async function checkMenus(page, place) {
	for (const button of ["#colors", "#export", "#more", "#theme"]) {
		await clickOn(page, button);
		await checkAccess(page, `${place}: menu of ${button}`);
		await press(page, "Escape");
	}
	await clickFrame(page, "main", { button: "right" });
	await checkAccess(page, `${place}: menu of a frame`);
	await press(page, "Escape");
	await press(page, "?");
	await checkAccess(page, `${place}: sheet of keys`);
	await press(page, "Escape");
	await press(page, ";");
	await checkAccess(page, `${place}: a fragment is typed`);
	await press(page, "Escape");
}

/* The active row of the table that has the focus, as it is told. */
const getActive = (page) => page.evaluate(() => {
	const table = document.activeElement;
	const row = document.getElementById(table.getAttribute("aria-activedescendant"));

	return [table.getAttribute("role"), row.getAttribute("role"), Number(row.getAttribute("aria-rowindex")), row.textContent];
});

const ears = {
	"nothing serious keeps anybody out, on any tab, with menus and without data, by day and by night": async (page) => {
		for (const colorScheme of ["light", "dark"]) {
			await page.emulateMedia({ colorScheme });
			await openViewer(page);
			await checkAccess(page, `${colorScheme}, without data`);
			await addFiles(page, ["perf.txt", "loop.folded", "malformed.folded", "recording.svg"]);
			await dropFiles(page, ["broken.json"], { count: 1 });
			await checkTabs(page, colorScheme);
			await goToTab(page, "flame");
			await checkMenus(page, colorScheme);
			await clickFrame(page, "main", { shift: true });
			await update(page, { filters: [{ kind: "function", pattern: "k", excludes: true }], sides: "1021" });
			await page.fill("#search", "a");
			await settle(page);
			await checkTabs(page, `${colorScheme}, selected, filtered, compared`);
			await goToTab(page, "flame");
			await update(page, { filters: [{ kind: "function", pattern: "nobody", excludes: false }] });
			await checkAccess(page, `${colorScheme}, nothing is left`);
		}
	},
	"who ended waits can be read and reached by everybody, by day, by night and on a phone": async (page) => {
		const size = page.viewportSize();

		for (const colorScheme of ["light", "dark"])
			for (const [width, height] of [[1280, 720], [390, 844]]) {
				await page.emulateMedia({ colorScheme });
				await page.setViewportSize({ width, height });
				await openViewer(page, ["waits.offwake.folded"]);
				await press(page, "w");
				await page.focus("#wakers [role=treegrid]");
				for (const [key, open] of [["Home", "false"], ["ArrowRight", "true"]]) {
					await press(page, key);
					equal(await page.getAttribute("#wakers .table-row.active", "aria-expanded"), open);
				}
				await checkAccess(page, `${colorScheme}, ${width} wide: wakers`);
				for (const { left, right } of await page.$$eval("#tab-wakers, #wakers .table-row .name, #wakers .chain li, #wakers .view-bar button",
					(all) => all.map((one) => one.getBoundingClientRect().toJSON())))
					assert.ok(left >= 0 && right <= width, `from ${left} to ${right} of ${width}`);
				assert.ok(await page.$eval("#wakers .table-scroll", (one) => one.clientHeight) > 200);
			}
		await page.setViewportSize(size);
	},
	"a table is a grid that has the focus and names its active row": async (page) => {
		await openViewer(page, ["loop.folded"]);
		await goToTab(page, "flat");
		const grid = page.locator("#flat [role=grid]");
		await grid.focus();
		equal([await grid.getAttribute("aria-rowcount"), await grid.getAttribute("aria-label")], ["6", "Functions"]);
		equal(await page.$$eval("#flat [role=columnheader]", (all) => all.map((head) => head.getAttribute("aria-sort"))),
			["descending", "none", "none", "none", "none", "none"]);
		const rows = (await getRows(page)).map((cells) => cells.join(""));
		for (const [key, at] of [["ArrowDown", 1], ["ArrowDown", 2], ["ArrowUp", 1], ["End", 4], ["Home", 0]]) {
			await press(page, key);
			equal(await getActive(page), ["grid", "row", at + 2, rows[at]]);
		}
		await press(page, "ArrowDown");
		const [name] = (await getRows(page))[1].slice(4);
		await press(page, "Enter");
		equal(await getCrumbs(page), ["All", name]);
		equal(await page.getAttribute("#flat .table-row.selected", "aria-selected"), "true");
		equal((await getActive(page))[3], await page.textContent("#flat .table-row.selected"));
	},
	"rows that are not in the page are counted, and named once they are active": async (page) => {
		await openViewer(page, ["many.folded"]);
		await goToTab(page, "flat");
		await page.focus("#flat [role=grid]");
		await press(page, "End");
		equal([await page.getAttribute("#flat [role=grid]", "aria-rowcount"), (await getActive(page))[2]], ["100001", 100001]);
	},
	"a column is sorted by its head's button, by key, which keeps the focus": async (page) => {
		await openViewer(page, ["loop.folded"]);
		await goToTab(page, "flat");
		await page.focus("#flat .table-sort:has-text('Function')");
		for (const [order, names] of [["ascending", ["f", "g", "go", "h", "k"]], ["descending", ["k", "h", "go", "g", "f"]]]) {
			await press(page, "Enter");
			equal((await getRows(page)).map((cells) => cells[4]), names);
			equal(await page.getAttribute("#flat [role=columnheader]:has-text('Function')", "aria-sort"), order);
			assert.match(await page.evaluate(() => document.activeElement.textContent), /^Function/);
		}
		equal(await getCrumbs(page), ["All"]);
	},
	"a row of the tree says its level, and whether it is open": async (page) => {
		await openViewer(page, ["loop.folded"]);
		await goToTab(page, "tree");
		await page.focus("#tree [role=treegrid]");
		const describe = () => page.$eval("#tree .table-row.active", (row) => [row.getAttribute("aria-level"), row.getAttribute("aria-expanded")]);
		await press(page, "Home");
		equal(await describe(), ["1", "true"]);
		await press(page, "ArrowLeft");
		equal(await describe(), ["1", "false"]);
		await press(page, "ArrowRight");
		await press(page, "ArrowDown");
		equal((await describe())[0], "2");
	},
};

/* ---- colours -------------------------------------------------------------------------------- */

/* Source: WCAG 2.2, "contrast ratio". */
function getContrast(one, other) {
	const getLight = (color) => {
		const levels = color.startsWith("#") ? color.match(/[0-9a-f]{2}/g).map((level) => parseInt(level, 16)) : color.match(/\d+/g).map(Number);
		const [r, g, b] = levels.map((level) => level / 255).map((v) => v <= 0.04045 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4);

		return 0.2126 * r + 0.7152 * g + 0.0722 * b + 0.05;
	};
	const [a, b] = [getLight(one), getLight(other)];

	return Math.max(a, b) / Math.min(a, b);
}

const colours = {
	"what is written on a frame can be read, whatever its colour is": async (page) => {
		const marks = ["#7c4dff", "#00a37a", "#0a84ff", "#d81b60", "#c98a00", "#546e7a"].map((color, i) =>
			({ color, names: [`task_${i}`] }));

		await openViewer(page, ["tasks.folded", "perf.txt", "loop.folded"]);
		for (const label of ["Light", "Dark", "High contrast"]) {
			await setTheme(page, label);
			for (const search of ["", "task_1"])
				for (const colors of ["name", "module", "kind", "self", "safe", "change"]) {
					await page.fill("#search", search);
					await update(page, { colors, marks, sides: colors === "change" ? "112" : "" });
					await settle(page);
					const frames = await page.evaluate(() => window.stackwide.getFlame().rows.flat());
					assert.ok(frames.length > 300);
					for (const { name, fill, ink } of frames)
						assert.ok(getContrast(fill, ink) >= 4.5, `${ink} on ${fill}, ${name}, ${label}, ${colors}, '${search}'`);
				}
		}
	},
};

/* ---- starting and leaving ------------------------------------------------------------------- */

/* On a server that sends this Content-Security-Policy. */
async function withServer(policy, act) {
	const server = http.createServer((request, response) => {
		response.writeHead(200, { "Content-Type": "text/html", ...(policy ? { "Content-Security-Policy": policy } : {}) });
		response.end(fs.readFileSync(empty));
	});

	await new Promise((resolve) => server.listen(0, "127.0.0.1", resolve));
	try {
		await act(`http://127.0.0.1:${server.address().port}/`);
	} finally {
		server.close();
		server.closeAllConnections?.();
	}
}

/* What the page showed before it was ready. */
async function watchStart(page, url) {
	await page.addInitScript(() => {
		const isShown = (element) => element && !element.hidden;

		window.seen = { opening: [], formats: [] };
		new MutationObserver(() => {
			const [opening, drop] = ["opening", "empty"].map((id) => document.getElementById(id));

			if (isShown(opening) && isShown(document.getElementById("loading")))
				window.seen.opening.push(opening.textContent.trim());
			if (isShown(drop))
				window.seen.formats.push(document.getElementById("formats").textContent);
		}).observe(document, { subtree: true, childList: true, attributes: true, characterData: true });
	});
	await page.goto(url);
	await page.waitForSelector("html[data-ready=yes]");
	return page.evaluate(() => window.seen);
}

/* Reload, and whether the browser asked. */
async function reload(page) {
	let count = 0;
	const onDialog = (dialog) => {
		equal(dialog.type(), "beforeunload");
		count++;
		return dialog.accept();
	};

	page.on("dialog", onDialog);
	await page.click("#help");
	await page.keyboard.press("Escape"); // nobody is asked who has not touched the page
	await page.reload();
	await page.waitForSelector("html[data-ready=yes]");
	page.off("dialog", onDialog);
	return count;
}

const starting = {
	"a page with data says what it loads, and how much, and offers no drop meanwhile": (page) => withPage(page, async (own) => {
		const { opening, formats } = await watchStart(own, shared);

		assert.ok(opening.some((text) => /^Loading perf\.txt \(\d[\d.]* (Ki)?B\)…$/.test(text)), opening.join(" | "));
		equal(formats, []);
		assert.ok(await own.isVisible("#flame"));
	}),
	"the drop screen never lacks its formats": (page) => withPage(page, async (own) => {
		const { opening, formats } = await watchStart(own, "file://" + empty);

		assert.ok(opening.includes("Loading…"));
		assert.ok(formats.length && formats.every((text) => text.includes("folded")));
	}),
	"a server that forbids what the page runs on is named, with what it must allow": async (page) => {
		const read = (selector) => async (own) => {
			await own.waitForFunction((wanted) => /Content-Security-Policy/.test(document.querySelector(wanted).textContent), selector);
			assert.ok(await own.isVisible(selector));
			return own.textContent(selector);
		};
		const needed = /script-src 'unsafe-inline' 'wasm-unsafe-eval' blob:; worker-src blob:; style-src 'unsafe-inline'/;

		for (const [policy, get, wanted] of [["default-src 'self'", read("#needs"), /^The page's scripts do not run/],
			["script-src 'unsafe-inline'; style-src 'unsafe-inline'", read("#opening"), /forbids this page workers\./],
			["script-src 'unsafe-inline' blob:; worker-src blob:", read("#opening"), /forbids this page WebAssembly\./]])
			await withServer(policy, (url) => withPage(page, async (own) => {
				await own.goto(url);
				const text = await get(own);
				assert.match(text, wanted);
				assert.match(text, needed);
			}));
	},
	"what the page says that a server must allow is enough": async (page) => {
		await openViewer(page);
		const policy = await page.evaluate(() => document.querySelector("#needs code").textContent);
		await withServer("default-src 'none'; " + policy, (url) => withPage(page, async (own) => {
			await openViewer(own, ["loop.folded"], { url });
			equal(await getSum(own), 21);
		}));
	},
	"the browser asks before files are lost that no page holds": async (page) => {
		await openViewer(page);
		equal(await reload(page), 0);
		await dropFiles(page, ["loop.folded"]);
		equal(await reload(page), 1);
		await addFiles(page, ["loop.folded"]);
		const path = await download(page, "This page with its data");
		equal(await reload(page), 0);
		await openViewer(page, [], { url: "file://" + path });
		equal([await getSum(page), await reload(page)], [21, 0]);
		await addFiles(page, ["other.folded"]);
		await goToTab(page, "files");
		await clickOn(page, ".card:last-child .card-head button");
		equal(await reload(page), 0);
	},
};

/* Firefox can be told to run no scripts, and runs them all the same. */
const withoutScripts = {
	"without scripts the page says that it needs them": (page) => withPage(page, async (own) => {
		await own.goto("file://" + empty);
		assert.match(await own.textContent("#loading noscript"), /^JavaScript is off/);
		assert.ok(await own.isVisible("#loading noscript") && !await own.isVisible("#empty"));
	}, { javaScriptEnabled: false }),
	"a page that was saved says what it needs, too": async (page) => {
		await openViewer(page, ["loop.folded"]);
		const path = await download(page, "This page with its data");
		await withPage(page, async (own) => {
			await own.goto("file://" + path);
			assert.ok(await own.isVisible("#needs"));
		}, { javaScriptEnabled: false });
	},
};

/* ---- failing -------------------------------------------------------------------------------- */

/* The page with a core some of whose functions are others: "core_alloc: (size) => 0". `core` has its own. */
async function openFaulty(page, functions) {
	await page.addInitScript((replaced) => {
		const script = `const instantiate = WebAssembly.instantiate;
			WebAssembly.instantiate = async (...args) => {
				const core = (await instantiate(...args)).instance.exports;
				return { instance: { exports: { ...core, ${replaced} } } };
			};`;

		const createObjectURL = URL.createObjectURL;

		URL.createObjectURL = (blob) =>
			createObjectURL(blob.type === "text/javascript" ? new Blob([script, blob], { type: blob.type }) : blob);
	}, functions);
	await openViewer(page);
}

const failing = {
	"a file that the memory has no room for is named, with the way out": (page) => withPage(page, async (own) => {
		await openFaulty(own, "core_alloc: (size) => size > 3000 ? 0 : core.core_alloc(size)");
		await own.setInputFiles("#file-input", file("tasks.folded"));
		await own.waitForSelector("#notes .note.bad");
		const [note, ...others] = await getNotes(own);
		assert.match(note, /^tasks\.folded: the page's memory is full.*: remove files, or use the command line.*: stackwide report FILE$/);
		equal(others, []);
		await addFiles(own, ["loop.folded"]);
		equal(await getSum(own), 21);
	}),
	"a core that stops says so once, and what to do, wherever it was": (page) => withPage(page, async (own) => {
		await openFaulty(own, 'core_table: () => { throw new WebAssembly.RuntimeError("unreachable"); }');
		await addFiles(own, ["loop.folded"]);
		await own.click("#tab-flat");
		await own.waitForSelector("#notes .note.bad");
		await own.click("#tab-threads");
		await own.fill("#search", "go");
		await own.setInputFiles("#file-input", file("other.folded"));
		await settle(own);
		const [note, ...others] = await getNotes(own);
		assert.match(note, /^The page's core has stopped \(core_table: unreachable\)\. Reload the page .*: stackwide report FILE$/);
		equal(others, []);
	}),
};

runTests({ ...ears, ...colours, ...starting, ...inChromium(withoutScripts), ...failing }, { acceptDownloads: true });
