// Ranges of time as filters have them, "FROM-TO" in milliseconds after the first sample, and times
// as people read them.

/** @typedef {{from: number, to: number}} Range milliseconds; what begins at `to` is outside */

/** @param {string} pattern @returns {Range | undefined} */
export function readRange(pattern) {
	const match = /^(\d+)-(\d+)$/.exec(pattern);
	return match ? { from: Number(match[1]), to: Number(match[2]) } : undefined;
}

/** @param {Range} range */
export function writeRange({ from, to }) {
	return `${Math.round(from)}-${Math.round(to)}`;
}

/** "1.040 s", "2:05.040", "1:02:05.040". @param {number} ms @param {number} [digits] of the fraction */
export function formatTime(ms, digits = 3) {
	const seconds = ms / 1000;
	if (seconds < 60) return `${seconds.toFixed(digits)} s`;
	const rest = (seconds % 60).toFixed(digits).padStart(digits ? digits + 3 : 2, '0');
	const minutes = Math.floor(seconds / 60);
	if (minutes < 60) return `${minutes}:${rest}`;
	return `${Math.floor(minutes / 60)}:${String(minutes % 60).padStart(2, '0')}:${rest}`;
}

/** @param {Range} range */
export function formatRange({ from, to }) {
	return `${formatTime(from)} – ${formatTime(to)}`;
}

/** Of the calendar, on this machine's clock. @param {number} ms since 1970 @param {boolean} isExact */
export function formatClock(ms, isExact) {
	const time = new Date(ms).toLocaleTimeString('en-GB');
	return isExact ? `${time}.${String(Math.floor(ms % 1000)).padStart(3, '0')}` : time;
}

/** What a filter takes, for a person. @param {import('../state/state.js').Filter} filter */
export function describePattern(filter) {
	const range = filter.kind === 'time' ? readRange(filter.pattern) : undefined;
	return range ? formatRange(range) : filter.pattern || '(none)';
}
