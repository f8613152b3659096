"use strict";
/*
 * A flame graph's behaviour. What is shown is told by three values that also stand in the address
 * (?x=&y=&s=): the frame that is zoomed to, by its place in the whole picture, and the search. The
 * browser's history therefore holds every step.
 *
 * Frames come in the order of a walk: callers before callees, left to right.
 */
(function () {
	const svg = document.documentElement;
	const container = document.getElementById("frames");
	if (!container || !container.children.length)
		return;

	const SVG = "http://www.w3.org/2000/svg";
	const PAD = 10;
	const MATCH_COLOR = "rgb(230,0,230)";
	const isInverted = container.getAttribute("class") === "inverted";
	const plotWidth = svg.viewBox.baseVal.width - 2 * PAD;
	const byId = (id) => document.getElementById(id);
	const details = byId("details").firstChild;
	const state = { x: null, y: null, s: null, ignoresCase: false };

	/* ---- frames ---- */

	const rows = new Map(); /* y to the frames there, from left to right */
	const frames = Array.from(container.children, (g, index) => {
		const rect = g.querySelector("rect");
		const title = g.querySelector("title").textContent;
		const frame = {
			g, rect, index, title,
			text: g.querySelector("text"),
			name: title.replace(/ \([^(]*\)$/, ""),
			x: rect.getAttribute("x"),
			y: rect.getAttribute("y"),
			fill: rect.getAttribute("fill"),
			start: Number(rect.dataset.x),
			width: Number(rect.dataset.w),
			parent: null,
			end: 0, /* index after the last callee */
		};
		if (!rows.has(frame.y))
			rows.set(frame.y, []);
		rows.get(frame.y).push(frame);
		return frame;
	});
	const root = frames[0];

	function isHidden(frame) {
		return frame.g.classList.contains("hide");
	}

	(function linkFrames() {
		const path = [];
		const depth = (frame) => Math.abs(Number(frame.y) - Number(root.y));

		for (const frame of frames) {
			while (path.length && depth(path[path.length - 1]) >= depth(frame))
				path.pop().end = frame.index;
			frame.parent = path.length ? path[path.length - 1] : null;
			path.push(frame);
		}
		for (const frame of path)
			frame.end = frames.length;
	})();

	/* ---- names within frames ---- */

	const pen = document.createElementNS("http://www.w3.org/1999/xhtml", "canvas").getContext("2d");
	const characterWidths = new Map();

	function measure(character) {
		let width = characterWidths.get(character);

		if (width === undefined) {
			width = pen.measureText(character).width;
			characterWidths.set(character, width);
		}
		return width;
	}

	function shorten(name, room) {
		const dots = 2 * measure(".");
		let width = 0;
		let kept = "";

		for (const character of name) {
			width += measure(character);
			if (width > room)
				return kept.length ? kept + ".." : "";
			if (width + dots <= room)
				kept += character;
		}
		return name;
	}

	function place(frame, left, width) {
		frame.rect.setAttribute("x", left.toFixed(1));
		frame.rect.setAttribute("width", width.toFixed(1));
		frame.text.setAttribute("x", (left + 3).toFixed(2));
		frame.text.textContent = width < 20 ? "" : shorten(frame.name, width - 6);
	}

	/* ---- zoom ---- */

	function zoom(target) {
		const scale = target.width ? plotWidth / target.width : 0;
		const callers = new Set();

		for (let frame = target.parent; frame; frame = frame.parent)
			callers.add(frame);
		for (const frame of frames) {
			const isCaller = callers.has(frame);
			const isWithin = frame.index >= target.index && frame.index < target.end;

			frame.g.classList.toggle("parent", isCaller);
			frame.g.classList.toggle("hide", !isCaller && !isWithin);
			if (isCaller)
				place(frame, PAD, plotWidth);
			else if (isWithin)
				place(frame, PAD + (frame.start - target.start) * scale, frame.width * scale);
		}
		byId("unzoom").classList.toggle("hide", target === root);
	}

	function findFrame(x, y) {
		let found = null;

		for (const frame of rows.get(y) || [])
			if (frame.x === x && (!found || frame.width > found.width))
				found = frame;
		return found;
	}

	/* ---- search ---- */

	function makeExpression(term) {
		try {
			return new RegExp(term, state.ignoresCase ? "i" : "");
		} catch (error) {
			details.nodeValue = "Not a regular expression: " + term;
			return null;
		}
	}

	/* What stands on a match is part of it already. */
	function mark(expression) {
		let covered = 0;
		let matched = 0;

		for (const frame of frames) {
			const isMatch = expression !== null && expression.test(frame.name);

			frame.rect.setAttribute("fill", isMatch ? MATCH_COLOR : frame.fill);
			if (!isMatch || frame.index < covered)
				continue;
			matched += frame.width;
			covered = frame.end;
		}
		return matched;
	}

	function search(term) {
		const expression = term ? makeExpression(term) : null;
		const matched = mark(expression);
		let percent = root.width ? 100 * matched / root.width : 0;

		if (percent !== 100)
			percent = percent.toFixed(1);
		byId("matched").firstChild.nodeValue = expression ? "Matched: " + percent + "%" : " ";
		byId("search").classList.toggle("show", Boolean(term));
		byId("search").firstChild.nodeValue = term ? "Reset Search" : "Search";
	}

	function askForSearch() {
		const term = window.prompt("Search for frames whose name matches (a regular " +
			"expression, such as ^ext4_; empty: none)", state.s || "");

		if (term !== null)
			go({ s: term || null });
	}

	function toggleCase() {
		state.ignoresCase = !state.ignoresCase;
		byId("ignorecase").classList.toggle("show", state.ignoresCase);
		search(state.s);
	}

	/* ---- the address ---- */

	function readAddress() {
		const values = {};

		for (const pair of window.location.search.slice(1).split("&")) {
			const [name, value] = pair.split("=");

			try {
				values[name] = decodeURIComponent(value || "");
			} catch (error) {
				values[name] = value;
			}
		}
		return { x: values.x || null, y: values.y || null, s: values.s || null };
	}

	function makeAddress() {
		const pairs = ["x", "y", "s"].filter((name) => state[name] !== null)
			.map((name) => name + "=" + encodeURIComponent(state[name]));

		return window.location.pathname + (pairs.length ? "?" + pairs.join("&") : "");
	}

	function show() {
		const target = state.x === null ? null : findFrame(state.x, state.y);

		zoom(target || root);
		search(state.s);
	}

	/* Change what is shown, as a step that the browser can take back. */
	function go(change) {
		Object.assign(state, change);
		try {
			window.history.pushState(null, "", makeAddress());
		} catch (error) {
			/* Within another page there may be no address of ours. */
		}
		show();
	}

	function zoomTo(frame) {
		go(frame === root ? { x: null, y: null } : { x: frame.x, y: frame.y });
	}

	/* ---- keyboard ---- */

	/* So that the same key, again and again, follows the hottest path. */
	function getWidestCallee(frame) {
		let widest = null;

		for (let i = frame.index + 1; i < frame.end; i = frames[i].end)
			if (!isHidden(frames[i]) && (!widest || frames[i].width > widest.width))
				widest = frames[i];
		return widest;
	}

	function getNeighbour(frame, step) {
		const row = rows.get(frame.y);
		let i = row.indexOf(frame) + step;

		while (row[i] && isHidden(row[i]))
			i += step;
		return row[i] || null;
	}

	function move(frame, key) {
		switch (key) {
		case "ArrowLeft":
			return getNeighbour(frame, -1);
		case "ArrowRight":
			return getNeighbour(frame, 1);
		case isInverted ? "ArrowDown" : "ArrowUp":
			return getWidestCallee(frame);
		case isInverted ? "ArrowUp" : "ArrowDown":
			return frame.parent;
		}
		return null;
	}

	function getFocused() {
		return frames.find((frame) => frame.g === document.activeElement) || null;
	}

	function onFrameKey(event) {
		const frame = getFocused();

		if (event.key.startsWith("Arrow")) {
			const next = frame ? move(frame, event.key) : root;

			if (next)
				next.g.focus();
			event.preventDefault();
		} else if (frame && (event.key === "Enter" || event.key === " ")) {
			zoomTo(frame);
			event.preventDefault();
		}
	}

	function onKey(event) {
		const isControl = event.ctrlKey || event.metaKey;
		const key = event.key.toLowerCase();

		if (event.key === "F3" || (isControl && key === "f")) {
			event.preventDefault();
			askForSearch();
		} else if (isControl && key === "i") {
			event.preventDefault();
			toggleCase();
		} else if (event.key === "Escape") {
			go({ x: null, y: null, s: null });
		} else if (!isControl && !event.altKey) {
			onFrameKey(event);
		}
	}

	/* ---- events ---- */

	function tell(frame) {
		details.nodeValue = frame ? "Function: " + frame.title : " ";
	}

	function getFrameAt(event) {
		const g = event.target.closest ? event.target.closest("#frames > g") : null;

		return g ? frames[indexes.get(g)] : null;
	}

	const indexes = new Map(frames.map((frame) => [frame.g, frame.index]));

	container.addEventListener("mouseover", (event) => tell(getFrameAt(event)));
	container.addEventListener("mouseout", () => tell(getFocused()));
	/* Not of the container: an SVG element that listens to focus would take it. */
	window.addEventListener("focusin", (event) => tell(getFrameAt(event)));
	window.addEventListener("focusout", () => tell(null));
	container.addEventListener("click", (event) => {
		const frame = getFrameAt(event);

		if (frame)
			zoomTo(frame);
	});
	byId("unzoom").addEventListener("click", () => zoomTo(root));
	byId("search").addEventListener("click", () => state.s ? go({ s: null }) : askForSearch());
	byId("ignorecase").addEventListener("click", toggleCase);
	window.addEventListener("keydown", onKey);
	window.addEventListener("popstate", () => {
		Object.assign(state, readAddress());
		show();
	});

	for (const frame of frames) {
		frame.g.setAttribute("tabindex", "0");
		frame.g.setAttribute("role", "button");
		frame.g.setAttribute("aria-label", frame.title);
	}
	pen.font = "12px " + window.getComputedStyle(byId("details")).fontFamily;
	Object.assign(state, readAddress());
	show();
})();
