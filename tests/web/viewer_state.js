/* What the viewer's page keeps of what is looked at, and what it bounds. */
"use strict";

const assert = require("node:assert");
const { inChromium, runTests } = require("./browser.js");
const { addFiles, allowClipboard, chooseItem, clickFrame, clickOn, download, file, findFrame, getChips, getCrumbs, getFrames, getNumber, getRows,
	getSum, goToTab, openViewer, press, readClipboard, report, settle } = require("./viewer_page.js");

const equal = assert.deepStrictEqual;
const shared = "file://" + file("report.html");
const getHash = (page) => page.evaluate(() => location.hash);
const countSteps = (page) => page.evaluate(() => history.length);
/* As the state has it, unless the flame is somewhere else: the state has fewer digits. */
const getZoom = (page) => page.evaluate(() => {
	const { from, to } = window.stackwide.getFlame();
	const zoom = window.stackwide.getState().zoom ?? { from: 0, to: 1 };

	return Math.abs(from - zoom.from) + Math.abs(to - zoom.to) < 1e-3 ? [zoom.from, zoom.to] : [from, to];
});
const WHOLE = [0, 1];
/* One behind the other, however busy the machine is. */
const repeat = (count, act) => Promise.all(Array.from({ length: count }, act));

/* ---- what survives ------------------------------------------------------------------------ */

async function chooseFrom(page, button, label) {
	await clickOn(page, button);
	await chooseItem(page, label);
}

/* By clicks and keys, one thing after the other; the zoom is of a flame, and comes after what makes it. */
const ACTS = {
	"first level": (page) => chooseFrom(page, "#more", "Process"),
	filter: async (page) => {
		await clickFrame(page, "scan", { button: "right" });
		await chooseItem(page, "Without this function");
	},
	"own colour": async (page) => {
		await clickFrame(page, "hash", { button: "right" });
		await chooseItem(page, "Colour…");
		await chooseItem(page, "Green");
	},
	colours: (page) => chooseFrom(page, "#colors", "By module"),
	fragment: (page) => clickFrame(page, "main"),
	search: async (page) => {
		await press(page, "/");
		await page.keyboard.type("^h.s");
		await settle(page);
	},
	expression: (page) => clickOn(page, "#search-regex"),
	zoom: async (page) => {
		const { x, y } = await findFrame(page, "hash");

		await page.mouse.move(x, y);
		await page.keyboard.down("Control");
		await repeat(4, () => page.mouse.wheel(0, -60));
		await page.keyboard.up("Control");
		await settle(page);
	},
	tab: (page) => goToTab(page, "flat"),
};

/* What a person sees of all that; the flame where it is on the screen. */
async function look(page) {
	const tab = await page.getAttribute("#tabs [aria-selected=true]", "id");
	const frames = await page.evaluate(() => window.stackwide.getFlame().rows.flat().map(({ name, total, fill }) =>
		[name, total, fill].join()));

	return {
		tab, chips: await getChips(page), crumbs: await getCrumbs(page), sum: await getSum(page),
		search: [await page.inputValue("#search"), await page.getAttribute("#search-regex", "aria-pressed"),
			await page.getAttribute("#search-result", "data-weight")],
		flame: tab === "tab-flame" ? { frames, zoom: await getZoom(page) } : null,
	};
}

/* The view, and the flame behind it: going to its tab is a step that is taken back. */
async function lookAtAll(page) {
	const view = await look(page);

	await goToTab(page, "flame");
	const { flame } = await look(page);
	await page.goBack();
	await settle(page);
	return { view, flame };
}

const surviving = {
	"colours, search, first level, tab, filter and zoom survive Back, Forward, a link, a saved page and its import": async (page) => {
		await openViewer(page, [], { url: shared });
		const seen = [await look(page)];
		for (const [name, act] of Object.entries(ACTS)) {
			const before = await countSteps(page);

			await act(page);
			seen.push(await look(page));
			equal([name, await countSteps(page)], [name, before + 1]);
			assert.notDeepStrictEqual(seen[seen.length - 1], seen[seen.length - 2], `${name} changes nothing`);
		}
		const wanted = await lookAtAll(page);
		const url = page.url();
		const saved = await download(page, "This page with its data");

		for (const [way, step, places] of [["Back", "#back", seen.slice(0, -1).reverse()], ["Forward", "#forward", seen.slice(1)]])
			for (const place of places) {
				await clickOn(page, step);
				equal({ way, ...await look(page) }, { way, ...place });
			}
		const ways = {
			link: () => openViewer(page, [], { url }),
			reload: async () => {
				await page.reload();
				await page.waitForSelector("html[data-ready=yes]");
				await settle(page);
			},
			"saved page": () => openViewer(page, [], { url: "file://" + saved }),
			import: () => openViewer(page, [saved.slice(file("").length)]),
		};
		for (const [way, go] of Object.entries(ways)) {
			if (way !== "reload")
				await page.goto("about:blank");
			await go();
			equal({ way, ...await lookAtAll(page) }, { way, ...wanted });
		}
	},
	"who ended the waits of the selection survives Back, Forward, a link, a saved page and its import": async (page) => {
		const name = "waits.offwake.folded";
		const lookAtWakers = async () => ({
			tab: await page.getAttribute("#tabs [aria-selected=true]", "id"), crumbs: await getCrumbs(page),
			waits: await getNumber(page, "#waits"), rows: await getRows(page), chain: await page.textContent("#wakers .chain"),
		});

		await openViewer(page, [name]);
		await clickFrame(page, "take_lock", { button: "right" });
		await chooseItem(page, "Who ended its waits");
		const wanted = await lookAtWakers();
		equal([wanted.tab, wanted.crumbs, wanted.waits], ["tab-wakers", ["All", "app", "main", "take_lock"], 40]);
		const hash = await getHash(page);
		const saved = await download(page, "This page with its data");
		await clickOn(page, "#back");
		equal([await page.getAttribute("#tabs [aria-selected=true]", "id"), await getCrumbs(page)], ["tab-flame", ["All"]]);
		await clickOn(page, "#forward");
		equal(await lookAtWakers(), wanted);
		for (const [names, options] of [[[name], { hash }], [[], { url: "file://" + saved }], [[saved.slice(file("").length)], {}]]) {
			await page.goto("about:blank");
			await openViewer(page, names, options);
			equal(await lookAtWakers(), wanted);
		}
	},
	"a saved page that is added to other files leaves the view as it is": async (page) => {
		await openViewer(page, [], { url: shared });
		await clickFrame(page, "main", { shift: true });
		const saved = await download(page, "This page with its data");
		await openViewer(page, ["perf.txt"]);
		await addFiles(page, [saved.slice(file("").length)]);
		equal([await getCrumbs(page), await getSum(page)], [["All"], 2000000]);
	},
	"a zoom is of one flame: another direction or file drops it, Back brings it": async (page) => {
		await openViewer(page, ["loop.folded"]);
		await clickFrame(page, "go", { button: "right" });
		await chooseItem(page, "Select up to here");
		await page.focus("#flame");
		for (const key of ["Home", "ArrowUp", "z"])
			await press(page, key);
		const zoom = await getZoom(page);
		assert.notDeepStrictEqual(zoom, WHOLE);
		assert.match(await getHash(page), /zoom=/);
		await press(page, "d");
		equal([await getZoom(page), /zoom=/.test(await getHash(page))], [WHOLE, false]);
		await clickOn(page, "#back");
		equal(await getZoom(page), zoom);
		await addFiles(page, ["other.folded"]);
		equal([await getZoom(page), /zoom=/.test(await getHash(page))], [WHOLE, false]);
		await clickOn(page, "#back");
		equal(await getZoom(page), WHOLE);
	},
	"a drag, one of the minimap, a click on it and a key that is held are one step each": async (page) => {
		await openViewer(page, ["loop.folded"]);
		const count = async (act) => {
			const before = await countSteps(page);

			await act();
			await settle(page);
			return await countSteps(page) - before;
		};
		const { x, y } = await findFrame(page, "go");
		const drag = async (left, top) => {
			await page.mouse.move(left, top);
			await page.mouse.down();
			for (let i = 1; i <= 8; i++)
				await page.mouse.move(left + 10 * i, top);
			await page.mouse.up();
		};

		await page.focus("#flame");
		equal(await count(async () => {
			await repeat(5, () => page.keyboard.down("+"));
			await page.keyboard.up("+");
		}), 1);
		equal(await count(() => drag(x, y)), 1);
		const { x: left, y: top } = await page.locator("#minimap").boundingBox();
		equal(await count(() => drag(left + 100, top + 10)), 1);
		equal(await count(() => page.mouse.click(left + 100, top + 10)), 1);
	},
	"what is typed into the search is one step, until it rests": async (page) => {
		await openViewer(page, ["loop.folded"]);
		const before = await countSteps(page);
		await press(page, "/");
		await page.keyboard.type("go");
		await settle(page);
		equal([await countSteps(page), await getHash(page)], [before + 1, "#search=go"]);
		await page.waitForTimeout(1200);
		await page.keyboard.press("Backspace");
		await settle(page);
		equal([await countSteps(page), await getHash(page)], [before + 2, "#search=g"]);
		await clickOn(page, "#back");
		equal(await page.inputValue("#search"), "go");
		await clickOn(page, "#back");
		equal([await page.inputValue("#search"), await page.isVisible("#minimap")], ["", false]);
	},
};

/* ---- functions of one module -------------------------------------------------------------- */

const modules = {
	"a row of the flat table is the function of one module": async (page) => {
		await openViewer(page, ["starts.txt"]);
		await goToTab(page, "flat");
		await clickOn(page, "#flat .table-row:has-text('_start'):has-text('make')");
		equal([await getCrumbs(page), await getNumber(page, "#inclusive")], [["All", "_start (make)"], 750000]);
		assert.match(await getHash(page), /^#f=_start\|make(&|$)/);
		equal(await page.$$eval("#flat .table-row.selected", (all) => all.map((row) => row.lastElementChild.textContent)), ["make"]);
		await goToTab(page, "flame");
		equal(await getFrames(page), [["_start 750000"], ["wait 750000"]]);
		await clickOn(page, "#down");
		equal((await getFrames(page))[1], ["make 750000"]);
		await clickFrame(page, "make");
		equal(await getCrumbs(page), ["All", "make", "_start (make)"]);
		await clickFrame(page, "_start", { shift: true });
		equal(await getCrumbs(page), ["All", "_start (make)"]);
		await goToTab(page, "relatives");
		equal(await page.textContent("#relatives .fragment"), "_start (make)");
	},
	"a link to a function of one module selects it, and one to the name all of it": async (page) => {
		for (const [hash, crumbs, weight] of [["#f=_start|cc1", ["All", "_start (cc1)"], 250000], ["#f=_start", ["All", "_start"], 1000000],
			["#f=_start|nowhere", ["All"], 1000000]]) {
			await page.goto("about:blank");
			await openViewer(page, ["starts.txt"], { hash });
			equal([await getCrumbs(page), await getNumber(page, "#inclusive")], [crumbs, weight]);
		}
	},
	"filters made from a function of one module say that they go by the name": async (page) => {
		await openViewer(page, ["starts.txt"]);
		await goToTab(page, "flat");
		await page.click("#flat .table-row:has-text('_start'):has-text('cc1')", { button: "right" });
		await chooseItem(page, "Only stacks with this function, in any module");
		equal(await getChips(page), ["only function _start"]);
		equal(await getSum(page), report(["starts.txt"], "--include", "function:_start").total);
		await clickOn(page, ".chip-close");
		await clickOn(page, "#flat .table-row:has-text('_start'):has-text('cc1')");
		await press(page, "x");
		assert.match(await page.textContent("#notes"), /in any module/);
		assert.ok(await page.isVisible("#no-match"));
	},
	"a name that is in one module only is a level without it": async (page) => {
		await openViewer(page, ["starts.txt"]);
		await goToTab(page, "flat");
		await clickOn(page, "#flat .table-row:has-text('wait')");
		equal([await getCrumbs(page), await getHash(page)], [["All", "wait"], "#f=wait&tab=flat"]);
	},
};

/* ---- what is in sight ---------------------------------------------------------------------- */

/* Pixels between a frame and the lower edge of the flame. */
const measureFromEdge = async (page, name) => {
	const { y } = await findFrame(page, name);
	const edge = await page.$eval("#flame", (one) => one.getBoundingClientRect().bottom);

	return Math.round(edge - y);
};

const sight = {
	"the minimap that comes with a search leaves the same rows in sight": async (page) => {
		await openViewer(page, ["tall.folded"]);
		for (const name of ["level_0", "level_40"]) {
			if (name !== "level_0")
				await page.$eval("#flame", (one) => one.scrollBy(0, -500));
			await settle(page);
			const before = await measureFromEdge(page, name);
			assert.ok(before > 0 && before < 700, `${name} is ${before} above the edge`);
			await page.fill("#search", "level_1");
			await settle(page);
			assert.ok(await page.isVisible("#minimap"));
			equal([name, await measureFromEdge(page, name)], [name, before]);
			await page.fill("#search", "");
			await settle(page);
			equal([name, await measureFromEdge(page, name)], [name, before]);
		}
	},
	"a comparison is sorted by its change at first, under heads that can be read": async (page) => {
		const size = page.viewportSize();

		await openViewer(page, ["half1.folded", "slow.folded"], { hash: "#sides=21&tab=flat" });
		const changes = (await getRows(page)).map((cells) => Number(cells[2].match(/\d+\.\d+/)[0]));
		equal(changes, changes.slice().sort((a, b) => b - a));
		assert.ok(changes[0] > 0);
		equal(await page.$$eval("#flat [role=columnheader]", (all) => all.map((one) => one.getAttribute("aria-sort")).indexOf("descending")), 2);
		for (const [width, height] of [[1280, 720], [390, 844]]) {
			await page.setViewportSize({ width, height });
			await settle(page);
			equal(await page.$$eval("#flat [role=columnheader]", (all) => all.filter((one) => one.scrollWidth > one.clientWidth ||
				one.scrollHeight > one.clientHeight).map((one) => one.textContent)), []);
			const { left, right } = await page.$eval("#flat .table-row .name", (one) => one.getBoundingClientRect().toJSON());
			assert.ok(left >= 0 && right <= width, `names from ${left} to ${right} of ${width}`);
		}
		await page.setViewportSize(size);
	},
};

const paper = {
	"a tall flame is printed whole, and is on the screen afterwards as before": async (page) => {
		await openViewer(page, ["tall.folded"]);
		const before = await page.evaluate(() => window.stackwide.getFlame());
		const printed = (await page.pdf({ format: "A4" })).toString("latin1");
		// 301 rows of 20 pixels, 1200 wide, on pages of 794 by 1123.
		const pages = printed.match(/\/Type\s*\/Page\b(?!s)/g).length;
		assert.ok(pages >= 4 && pages <= 6, `${pages} pages`);
		await settle(page);
		equal(await page.evaluate(() => window.stackwide.getFlame()), before);
		equal(await page.$$eval("#flame-paper *", (all) => all.length), 0);
		assert.ok(await page.isVisible("#flame-canvas"));
	},
};

/* ---- what is bounded ----------------------------------------------------------------------- */

/* Characters and elements of the page, but for its scripts, and for their longest attribute. */
const measurePage = (page) => page.evaluate(() => {
	const all = [...document.body.querySelectorAll("*:not(script)")];
	const texts = all.flatMap((one) => [...one.childNodes].filter((child) => child.nodeType === 3).map((child) => child.length));
	const attributes = all.flatMap((one) => [...one.attributes].map(({ value }) => value.length));

	return { elements: all.length, text: Math.max(...texts), attribute: Math.max(...attributes) };
});

async function checkBounds(page, where) {
	const { elements, text, attribute } = await measurePage(page);

	assert.ok(elements < 3000, `${where}: ${elements} elements`);
	assert.ok(text < 700, `${where}: a text of ${text} characters`);
	assert.ok(attribute < 1500, `${where}: an attribute of ${attribute} characters`);
}

const bounds = {
	"names of 5 kB and of 3 MB are shortened in the middle, and copied whole": async (page) => {
		await allowClipboard(page);
		await openViewer(page, [], { url: "file://" + file("long.html") });
		const names = await page.evaluate(() => window.stackwide.getFlame().rows.map((row) => row[0].name));
		equal(names.slice(2).map((name) => name.length), [5010, 3000010]);
		for (const [row, name] of [[2, names[2]], [3, names[3]]]) {
			const { x, y } = await page.evaluate((at) => window.stackwide.getFlame().rows[at][0], row);
			await page.mouse.move(x + 60, y + 10);
			await settle(page);
			const tip = await page.$eval("#tip", (one) => [one.offsetHeight, one.firstChild.textContent]);
			assert.ok(tip[0] < 300, `the tooltip is ${tip[0]} pixels high`);
			assert.match(tip[1], /^begin_(.)\1*…\1*_end$/);
			await page.mouse.click(x + 60, y + 10, { button: "right" });
			await chooseItem(page, "Copy the name");
			equal(await readClipboard(page) === name, true);
			await page.mouse.click(x + 60, y + 10, { button: "right" });
			await checkBounds(page, "the menu");
			await chooseItem(page, "Without this function");
			await checkBounds(page, "the filter");
			await clickOn(page, ".chip-close");
		}
		await clickFrame(page, names[3]);
		for (const tab of ["flat", "relatives", "tree", "modules", "flame"]) {
			await goToTab(page, tab);
			await checkBounds(page, tab);
		}
	},
	"what is too long for a URL is in the history alone": async (page) => {
		const url = "file://" + file("long.html");
		await openViewer(page, [], { url });
		const name = await page.evaluate(() => window.stackwide.getFlame().rows[3][0].name);
		await clickFrame(page, name);
		const crumbs = await getCrumbs(page);
		equal(crumbs.length, 4);
		assert.ok((await getHash(page)).length < 10000);
		await goToTab(page, "flat");
		await page.goBack();
		await settle(page);
		equal(await getCrumbs(page), crumbs);
		await page.reload();
		await page.waitForSelector("html[data-ready=yes]");
		await settle(page);
		equal(await getCrumbs(page), crumbs);
		const saved = await download(page, "This page with its data");
		await page.goto("about:blank");
		await openViewer(page, [], { url: "file://" + saved });
		equal(await getCrumbs(page), crumbs);
	},
	"of 20,000 levels some are shown, and all can be reached": async (page) => {
		await openViewer(page, ["deep.folded"]);
		await page.$eval("#flame", (one) => {
			one.scrollTop = 0;
		});
		await settle(page);
		await clickFrame(page, "level_19999");
		const shown = await getCrumbs(page);
		equal([shown[1], shown[12], shown[13], shown[14], shown[25]],
			["level_0", "level_11", "… 19,976 more …", "level_19988", "level_19999"]);
		equal(shown.length, 26);
		assert.ok((await getHash(page)).length < 10000);
		await checkBounds(page, "flame");
		await goToTab(page, "relatives");
		await checkBounds(page, "relatives");
		equal(await page.$$eval("#relatives .fragment li", (all) => all.length), 25);
		await clickOn(page, "#relatives .fragment .gap button");
		equal(await page.$$eval("#relatives .fragment li", (all) => all.length), 97);
		await clickOn(page, "#crumbs .gap");
		const more = await getCrumbs(page);
		equal([more.length, more[48], more[49]], [98, "level_47", "… 19,904 more …"]);
		await press(page, ";");
		equal((await page.inputValue(".fragment-input")).split(";").length, 20000);
		await press(page, "Enter");
		equal((await getCrumbs(page)).length, 98);
	},
};

/* ---- what tests wait for ------------------------------------------------------------------ */

/* In the page: frames pass while the core or the history is late. */
const settling = {
	"settling waits for the core and for the picture of what it answers": async (page) => {
		await openViewer(page, ["loop.folded"]);
		const seen = await page.evaluate(async () => {
			const { stackwide } = window;
			const canvas = document.getElementById("flame-canvas");
			const pass = async (frames) => {
				while (frames--)
					await new Promise((resolve) => requestAnimationFrame(resolve));
			};
			const before = canvas.toDataURL();
			const send = Worker.prototype.postMessage;
			const held = [];
			let isSettled = false;

			Worker.prototype.postMessage = function hold(...message) {
				held.push(() => send.apply(this, message));
			};
			stackwide.update({ fragment: [{ name: "f", isThread: false }] });
			const settled = stackwide.settle().then(() => {
				isSettled = true;
			});
			await pass(10);
			const isEarly = isSettled;
			Worker.prototype.postMessage = send;
			held.forEach((release) => release());
			await settled;
			const after = canvas.toDataURL();
			await pass(10);
			return { isEarly, isOther: after !== before, isLast: canvas.toDataURL() === after };
		});
		equal(seen, { isEarly: false, isOther: true, isLast: true });
	},
	"settling waits for the step of the history that was asked for": async (page) => {
		await openViewer(page, ["loop.folded"]);
		await clickFrame(page, "f");
		await page.evaluate(() => {
			const go = history.go.bind(history);
			const goLater = (step, frames = 10) => frames ? requestAnimationFrame(() => goLater(step, frames - 1)) : go(step);

			history.go = goLater;
		});
		await clickOn(page, "#back");
		equal(await getCrumbs(page), ["All"]);
		await clickOn(page, "#forward");
		equal(await getCrumbs(page), ["All", "go", "f"]);
	},
};

runTests({ ...settling, ...surviving, ...modules, ...sight, ...inChromium(paper), ...bounds }, { acceptDownloads: true });
