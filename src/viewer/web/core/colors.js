// Colours of frames. By name they depend on nothing but the name: the same function has the same
// colour in every run, file and view.

import { NODE_INLINED, NODE_THREAD, getKindHue, isKernel } from './names.js';

export const COLOR_MODES = [
	{ id: 'name', label: 'By name' },
	{ id: 'module', label: 'By module' },
	{ id: 'kind', label: 'By kind of code' },
	{ id: 'self', label: 'By own share' },
	{ id: 'safe', label: 'By name, safe for colour-blind eyes' },
	{ id: 'change', label: 'By change (comparison)' },
];

/** Colours for marking functions; each is the base of a palette of its own. */
export const MARK_COLORS = ['#7c4dff', '#00a37a', '#0a84ff', '#d81b60', '#c98a00', '#546e7a'];
export const SEARCH_COLOR = '#d726d7';

/** @typedef {[number, number, number]} Rgb */

// Of more, no two that are looked at are likely to differ behind it.
const MOST_HASHED = 2000;

/** FNV-1a, spread over 0 to 1. @param {string} text @param {number} [seed] */
export function hashText(text, seed = 0) {
	let hash = 0x811c9dc5 ^ seed;
	for (let i = 0; i < text.length && i < MOST_HASHED; i++) hash = Math.imul(hash ^ text.charCodeAt(i), 0x01000193);
	hash = Math.imul(hash ^ (hash >>> 15), 0x2c1b3c6d);
	hash = Math.imul(hash ^ (hash >>> 12), 0x297a2d39);
	return ((hash ^ (hash >>> 15)) >>> 0) / 2 ** 32;
}

/**
 * OKLCH to sRGB, so that equal lightness looks equally light whatever the hue is.
 * Source: Björn Ottosson, "A perceptual color space for image processing".
 * @param {number} lightness @param {number} chroma @param {number} hue degrees
 * @returns {Rgb}
 */
export function fromOklch(lightness, chroma, hue) {
	const angle = (hue * Math.PI) / 180;
	const a = chroma * Math.cos(angle);
	const b = chroma * Math.sin(angle);
	const l = (lightness + 0.3963377774 * a + 0.2158037573 * b) ** 3;
	const m = (lightness - 0.1055613458 * a - 0.0638541728 * b) ** 3;
	const s = (lightness - 0.0894841775 * a - 1.291485548 * b) ** 3;
	return /** @type {Rgb} */ ([
		4.0767416621 * l - 3.3077115913 * m + 0.2309699292 * s,
		-1.2684380046 * l + 2.6097574011 * m - 0.3413193965 * s,
		-0.0041960863 * l - 0.7034186147 * m + 1.707614701 * s,
	].map((c) => {
		const clamped = Math.min(1, Math.max(0, c));
		const gamma = clamped <= 0.0031308 ? 12.92 * clamped : 1.055 * clamped ** (1 / 2.4) - 0.055;
		return Math.round(255 * gamma);
	}));
}

/** @param {string} hex #rrggbb @returns {Rgb} */
export function readHex(hex) {
	const value = parseInt(hex.slice(1), 16);
	return [(value >> 16) & 255, (value >> 8) & 255, value & 255];
}

/** Light of the three channels, 0 to 1. @param {Rgb} rgb @returns {Rgb} */
function toLinear(rgb) {
	return /** @type {Rgb} */ (rgb.map((c) => {
		const v = c / 255;
		return v <= 0.04045 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4;
	}));
}

/** Hue and chroma of a colour, roughly; enough to derive its relatives. @param {Rgb} rgb */
function toOklch(rgb) {
	const [lr, lg, lb] = toLinear(rgb);
	const l = Math.cbrt(0.4122214708 * lr + 0.5363325363 * lg + 0.0514459929 * lb);
	const m = Math.cbrt(0.2119034982 * lr + 0.6806995451 * lg + 0.1073969566 * lb);
	const s = Math.cbrt(0.0883024619 * lr + 0.2817188376 * lg + 0.6299787005 * lb);
	const a = 1.9779984951 * l - 2.428592205 * m + 0.4505937099 * s;
	const bb = 0.0259040371 * l + 0.7827717662 * m - 0.808675766 * s;
	return { chroma: Math.hypot(a, bb), hue: (Math.atan2(bb, a) * 180) / Math.PI };
}

/**
 * Black or white, whichever contrasts more with a colour: that is at least 4.58 to 1 on any.
 * Source: WCAG 2.2, "contrast ratio" and "relative luminance".
 * @param {Rgb} color
 */
export function getInk(color) {
	const [r, g, b] = toLinear(color);
	const light = 0.2126 * r + 0.7152 * g + 0.0722 * b + 0.05;
	return light / 0.05 > 1.05 / light ? '#000000' : '#ffffff';
}

/** @param {Rgb} color @param {Rgb} other @param {number} share of the first, 0 to 1 @returns {Rgb} */
export function mixColors(color, other, share) {
	return /** @type {Rgb} */ (color.map((c, i) => Math.round(share * c + (1 - share) * other[i])));
}

const INLINED_HUE = 195;
const THREAD_HUE = 270;

/** @param {number} flags */
function getHue(flags) {
	if (flags & NODE_THREAD) return THREAD_HUE;
	return flags & NODE_INLINED && !isKernel(flags) ? INLINED_HUE : getKindHue(flags);
}

/** Okabe and Ito's palette, ordered so that neighbours differ in lightness too. */
const SAFE = ['#e69f00', '#56b4e9', '#009e73', '#f0e442', '#4f9bd9', '#d55e00', '#cc79a7'];

/**
 * @typedef {object} Frame what a colour may depend on
 * @property {string} name
 * @property {string} module
 * @property {number} flags
 * @property {number} ownShare self / total of the view's largest own share, 0 to 1
 * @property {number} change in points of percent
 * @property {boolean} hasChanged its function has, and not by chance
 */

/** Lightness of fills: they carry dark text on light pages, and on dark ones too. @param {boolean} isDark */
const getBase = (isDark) => (isDark ? 0.7 : 0.82);

/** @param {Frame} frame @param {boolean} isDark @returns {Rgb} */
function colorByName(frame, isDark) {
	const first = hashText(frame.name);
	const second = hashText(frame.name, 77);
	if (frame.flags & NODE_THREAD) return fromOklch(getBase(isDark) - 0.04, 0.035, 260);
	// From red through orange to yellow: what people know as a flame graph.
	return fromOklch(getBase(isDark) - 0.07 + 0.07 * first + 0.07 * second, 0.115 + 0.03 * first, 38 + 52 * first);
}

/** @param {Frame} frame @param {boolean} isDark @returns {Rgb} */
function colorByModule(frame, isDark) {
	if (frame.flags & NODE_THREAD) return fromOklch(getBase(isDark) - 0.04, 0.02, 260);
	if (!frame.module) return fromOklch(getBase(isDark) + 0.02, 0.02, 90);
	return fromOklch(getBase(isDark) - 0.05 + 0.07 * hashText(frame.name), 0.1, 360 * hashText(frame.module, 3));
}

/** @param {Frame} frame @param {boolean} isDark @returns {Rgb} */
function colorByKind(frame, isDark) {
	const chroma = frame.flags & NODE_THREAD ? 0.03 : 0.11;
	return fromOklch(getBase(isDark) - 0.05 + 0.08 * hashText(frame.name), chroma, getHue(frame.flags));
}

/** @param {Frame} frame @param {boolean} isDark @returns {Rgb} */
function colorBySelf(frame, isDark) {
	const heat = Math.sqrt(frame.ownShare);
	return isDark ? fromOklch(0.42 + 0.33 * heat, 0.02 + 0.16 * heat, 250 - 205 * heat)
		: fromOklch(0.93 - 0.27 * heat, 0.015 + 0.17 * heat, 250 - 210 * heat);
}

/** @param {Frame} frame @param {boolean} isDark @returns {Rgb} */
function colorByChange(frame, isDark) {
	const size = Math.min(1, Math.sqrt(Math.abs(frame.change) / 10));
	if (!frame.hasChanged || Math.abs(frame.change) < 0.005) return fromOklch(isDark ? 0.5 : 0.92, 0.005, 90);
	// Red for more, blue for less, told apart by lightness as well.
	return frame.change > 0 ? fromOklch((isDark ? 0.6 : 0.9) - 0.22 * size * (isDark ? 0.2 : 1), 0.05 + 0.15 * size, 28)
		: fromOklch((isDark ? 0.62 : 0.92) - 0.14 * size * (isDark ? 0.2 : 1), 0.04 + 0.13 * size, 245);
}

/**
 * A colour of the palette that is derived from one colour.
 * @param {string} base #rrggbb @param {string} name @param {boolean} isDark
 * @returns {Rgb}
 */
export function deriveColor(base, name, isDark) {
	const { chroma, hue } = toOklch(readHex(base));
	const spread = hashText(name, 5);
	return fromOklch((isDark ? 0.58 : 0.66) + 0.12 * spread, Math.max(0.06, chroma * (0.75 + 0.3 * hashText(name, 9))),
		hue - 12 + 24 * hashText(name, 11));
}

/** @param {string} mode @param {Frame} frame @param {boolean} isDark @returns {Rgb} */
export function getColor(mode, frame, isDark) {
	switch (mode) {
		case 'module': return colorByModule(frame, isDark);
		case 'kind': return colorByKind(frame, isDark);
		case 'self': return colorBySelf(frame, isDark);
		case 'change': return colorByChange(frame, isDark);
		case 'safe': return readHex(SAFE[Math.floor(hashText(frame.name) * SAFE.length)]);
		default: return colorByName(frame, isDark);
	}
}

/** @param {Rgb} rgb */
export function toCss([r, g, b]) {
	return `rgb(${r} ${g} ${b})`;
}
