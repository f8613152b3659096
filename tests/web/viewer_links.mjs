/*
 * Links to views: what a state says is what is read from its hash, whatever is in the names; what is too
 * long for a URL is not in it.
 */
import assert from "node:assert";
import { pathToFileURL } from "node:url";

const { getFirstState, hasSameFlame, isSame, makeLinkable, makeZoom, readHash, writeHash } =
	await import(pathToFileURL(process.argv[2]));
const equal = assert.deepStrictEqual;
const make = (patch) => ({ ...getFirstState(), ...patch });
const level = (name, rest = {}) => ({ name, isThread: false, ...rest });
const HOSTILE = ["/a/", "@a", "a|b", "a;b", "a&f=b", "a=b", "100 %", "a+b", "#", "é\u2028", "a:b", ""];

const tests = {
	"every part of a state is in its link": () => {
		const state = make({
			metric: "cpu/nanoseconds", baseline: "none", fragment: [level("web", { isThread: true }), level("main")],
			direction: "callers", order: "name", root: "tid", sides: "12", colors: "kind", tab: "flat",
			filters: [{ kind: "thread", pattern: "7", excludes: true }], marks: [{ color: "#0a84ff", names: ["f", "g"] },
				{ color: "#7c4dff", names: [], regex: "^x" }],
			zoom: { from: 0.25, to: 0.5 }, search: "^f", isRegex: true,
		});

		equal(readHash(writeHash(state)), state);
		equal(makeLinkable(state), state);
	},
	"names with signs of the link's own are names": () => {
		for (const name of HOSTILE) {
			const state = make({
				fragment: [level(name), level(name, { isThread: true }), level(name, { module: name }),
					level(name, { module: name, isKernel: true })],
				filters: [{ kind: "function", pattern: name, excludes: false }], marks: [{ color: "#0a84ff", names: [name, "f"] }],
				search: name,
			});

			equal(readHash(writeHash(state)), state);
		}
	},
	"a function of one module is name|module": () => {
		equal(writeHash(make({ fragment: [level("main", { module: "db" })] })), "f=main|db");
		equal(readHash("f=main").fragment, [level("main")]);
	},
	"an expression without text, and a text that begins like one": () => {
		for (const [search, isRegex] of [["", true], ["/usr", false], ["/usr", true]])
			equal([search, isRegex, isSame(readHash(writeHash(make({ search, isRegex }))), make({ search, isRegex }))],
				[search, isRegex, true]);
	},
	"a zoom has the digits that a screen can show": () => {
		equal(makeZoom(0, 1), null);
		equal(makeZoom(1 / 3, 2 / 3), { from: 0.33333, to: 0.66667 });
		for (const size of [0.9, 0.1, 1e-3, 1e-6, 1e-9]) {
			const zoom = readHash(writeHash(make({ zoom: makeZoom(0.0123456789123, 0.0123456789123 + size) }))).zoom;
			assert.ok(Math.abs(zoom.to - zoom.from - size) < size * 1e-3, `${size} became ${zoom.to - zoom.from}`);
		}
		for (const wrong of ["", "1", "0.5,0.2", "-1,2", "x,y", "0.5,0.5", "0,1"])
			equal([wrong, readHash(`zoom=${wrong}`).zoom], [wrong, null]);
	},
	"what is too long for a URL is left out of it, and the zoom into it": () => {
		const long = "x".repeat(3e6);
		const deep = Array.from({ length: 20000 }, (_, i) => level(`f${i}`));
		const rest = make({ tab: "flat", marks: [{ color: "#0a84ff", names: ["f"] }], zoom: { from: 0, to: 0.5 } });

		for (const patch of [{ fragment: [level(long)] }, { fragment: deep }, { search: long },
			{ filters: [{ kind: "function", pattern: long, excludes: false }] }, { marks: [...rest.marks, { color: "#7c4dff", names: [long] }] }]) {
			const state = { ...rest, ...patch };
			const linkable = makeLinkable(state);
			assert.ok(writeHash(linkable).length < 10000);
			equal([linkable.tab, linkable.marks], ["flat", rest.marks]);
			equal(linkable.zoom, hasSameFlame(linkable, state) ? state.zoom : null);
			equal(isSame(linkable, state), false);
		}
	},
};

for (const [name, test] of Object.entries(tests)) {
	try {
		test();
		console.log(`ok   ${name}`);
	} catch (error) {
		console.log(`FAIL ${name}\n${error.stack}`);
		process.exitCode = 1;
	}
}
