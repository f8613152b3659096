/*
 * What stackwide writes, opened by speedscope, whose readers are not ours: it is loaded into its page
 * and saved again from there, and each stack must weigh what it weighs in the folded text.
 *
 * usage: speedscope.js FOLDED FILE…     FOLDED: the expected stacks; they have no inlined calls, as
 *                                      speedscope takes only the outermost function of a pprof location
 */
"use strict";

const assert = require("node:assert");
const fs = require("node:fs");
const path = require("node:path");
const { runTests } = require("./browser.js");

const PAGE = path.join(path.dirname(require.resolve("speedscope/package.json")), "dist/release/index.html");

/* "a;b" to 12. The annotations of folded text are no part of a name. */
function readFolded(file) {
	const stacks = new Map();

	for (const line of fs.readFileSync(file, "utf8").split("\n").filter(Boolean)) {
		const space = line.lastIndexOf(" ");
		const stack = line.slice(0, space).replace(/_\[[kij]\](?=;|$)/g, "");

		stacks.set(stack, (stacks.get(stack) ?? 0) + Number(line.slice(space + 1)));
	}
	return stacks;
}

/* The stacks of a profile of events: frames open and close as the weight goes on. */
function addUpEvents({ shared: { frames }, profiles }) {
	const stacks = new Map();

	for (const { events } of profiles) {
		const open = [];
		let last = 0;

		for (const { type, frame, at } of events) {
			const stack = open.join(";");

			if (at > last)
				stacks.set(stack, (stacks.get(stack) ?? 0) + at - last);
			last = at;
			if (type === "O")
				open.push(frames[frame].name);
			else
				assert.strictEqual(open.pop(), frames[frame].name);
		}
		assert.deepStrictEqual(open, []);
	}
	return stacks;
}

async function openAndSave(page, file) {
	const script = file + ".js";

	fs.writeFileSync(script, `speedscope.loadFileFromBase64(${JSON.stringify(path.basename(file))},
		"${fs.readFileSync(file).toString("base64")}")`);
	await page.goto(`file://${PAGE}#localProfilePath=${script}`);
	await page.waitForFunction(() => document.title.endsWith(" - speedscope"));
	const [download] = await Promise.all([page.waitForEvent("download"), page.keyboard.press("Control+s")]);

	return JSON.parse(fs.readFileSync(await download.path(), "utf8"));
}

const [folded, ...files] = process.argv.slice(2);
const expected = [...readFolded(folded)].sort();
const tests = {};

for (const file of files) {
	tests[`speedscope finds every stack of ${path.basename(file)}`] = async (page) => {
		assert.ok(expected.length > 3);
		assert.deepStrictEqual([...addUpEvents(await openAndSave(page, file))].sort(), expected);
	};
}
/* Its drawing warns of the graphics driver. */
runTests(tests, {}, ["error"]);
