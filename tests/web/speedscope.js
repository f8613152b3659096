"use strict";

const assert = require("node:assert");
const fs = require("node:fs");
const { runTests } = require("./browser.js");

const [program, folder] = process.argv.slice(2);

/* As its own command line opens a file. The table of functions, as [total, self, name]. */
async function read(page, name) {
	const content = fs.readFileSync(folder + "/" + name).toString("base64");
	const script = folder + "/open.js";

	fs.writeFileSync(script, `speedscope.loadFileFromBase64(${JSON.stringify(name)}, "${content}")`);
	await page.goto("file://" + program + "#localProfilePath=" + script);
	await page.getByText("Sandwich").click();
	await page.getByText("Symbol Name").waitFor();
	return page.evaluate(() => Array.from(document.querySelectorAll("tr"), (row) =>
		Array.from(row.querySelectorAll("td"), (cell) => cell.innerText.trim()))
		.filter((cells) => cells.length === 3 && cells[0].includes("%")));
}

/* "5 (50%)", and "1.50ms (50%)" */
const getWeight = (cell) => cell.replace(/ \(.*/, "");

const tests = {
	"speedscope shows every function with its samples": async (page) => {
		const rows = await read(page, "a.speedscope.json");
		const found = Object.fromEntries(rows.map(([total, self, name]) =>
			[name, [getWeight(total), getWeight(self)]]));

		assert.deepStrictEqual(found, {
			"h \"\\ é": ["5", "5"], "g_[i]": ["3", "3"], "sys_[k]": ["2", "2"], f: ["5", "0"],
			main: ["10", "0"], nginx: ["10", "0"],
		});
	},
	"speedscope shows times as such": async (page) => {
		const rows = await read(page, "b.speedscope.json");

		assert.deepStrictEqual(rows.map((cells) => cells.map(getWeight)), [["2.50ms", "2.50ms", "run"]]);
	},
};

runTests(tests, { ignored: /GL Driver Message/ });
