// What is shown of names and of fragments that are longer than any screen.

const MOST_CHARACTERS = 300;
export const MOST_LEVELS = 24;

/** Beginnings are often alike, ends tell more: what is left out is in the middle. @param {string} text */
export function shorten(text, most = MOST_CHARACTERS) {
	if (text.length <= most) return text;
	const tail = most >> 1;
	return `${text.slice(0, most - tail - 1)}…${text.slice(-tail)}`;
}

/**
 * The first and the last of many levels, and between them what stands for the others.
 * @template {Node} N
 * @param {number} count @param {number} room for so many
 * @param {(level: number) => N} makeLevel @param {(label: string) => N} makeGap
 */
export function makeLevels(count, room, makeLevel, makeGap) {
	const first = count > room ? room >> 1 : count;
	const next = count > room ? count - (room - first) : count;
	const shown = [];
	for (let i = 0; i < first; i++) shown.push(makeLevel(i));
	if (next > first) shown.push(makeGap(`… ${(next - first).toLocaleString('en-US')} more …`));
	for (let i = next; i < count; i++) shown.push(makeLevel(i));
	return shown;
}
