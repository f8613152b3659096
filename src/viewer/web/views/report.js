// What there is to know about a file: how it was read, and, of a recording, what became of its
// samples.

import { make } from '../core/dom.js';
import { formatBytes, formatPercent, formatValue } from '../core/units.js';

/** @typedef {import('../state/model.js').Source} Source */
/** @typedef {[string, string, boolean?]} Fact label, value, whether it deserves attention */

/** @param {number} count */
const group = (count) => count.toLocaleString('en-US');

/** @param {Fact[]} facts */
function makeFacts(facts) {
	return make('dl', { class: 'facts' }, ...facts.flatMap(([label, value, isNotable]) => [
		make('dt', {}, label), make('dd', { class: isNotable ? 'notable' : '', 'data-fact': label.trim() }, value)]));
}

/**
 * The tallies below a name, largest first: "lost" gives those of "lost.ring_sample" and so on.
 * @param {Source} source @param {string} group @returns {[string, number][]}
 */
function getReasons(source, group) {
	return Object.entries(source.tallies).filter(([name]) => name.startsWith(`${group}.`))
		.map(([name, count]) => /** @type {[string, number]} */ ([name.slice(group.length + 1).replaceAll('_', ' '), count]))
		.sort((a, b) => b[1] - a[1]);
}

/** @param {Source} source @returns {Fact[]} */
function describeReading(source) {
	const { tallies } = source;
	/** @type {Fact[]} */
	const facts = [['Format', source.format || 'part of a report']];
	if (source.size) facts.push(['Size', formatBytes(source.size)]);
	if (source.records) facts.push(['Records', group(source.records)]);
	facts.push(['Stacks, by thread and metric', group(source.samples)]);
	for (const [label, name] of [['Malformed, skipped', 'skipped'], ['Events of an unknown kind', 'unknown_events'],
		['Truncated stacks', 'truncated_stacks'], ['Events without a stack', 'without_stack'],
		['Samples lost by the producer', 'lost_samples']]) {
		const count = tallies[`import.${name}`] ?? 0;
		facts.push([label, group(count), count > 0]);
	}
	const pruned = tallies['import.pruned_weight'] ?? 0;
	facts.push(['Dropped: too small to draw', pruned ? formatPercent(pruned, source.weight) : '0', pruned > 0]);
	return facts;
}

/** Indented below what they explain. @param {[string, number][]} reasons @param {number} whole @returns {Fact[]} */
function describeReasons(reasons, whole) {
	return reasons.map(([reason, count]) => [`\u2003${reason}`, `${group(count)} · ${formatPercent(count, whole)}`]);
}

/** Losses of hits and ticks, which need not have become samples. */
const ofHits = new Set(['preempted', 'skipped', 'undelivered']);

/** @param {Source} source @returns {Fact[]} */
function describeRecording(source) {
	const { tallies } = source;
	/** @param {string} name */
	const get = (name) => tallies[`sampling.${name}`] ?? 0;
	/** @type {Fact[]} */
	const facts = [];
	if (get('start_ns')) facts.push(['Begun', new Date(get('start_ns') / 1e6).toLocaleString()]);
	if (get('duration_ns')) facts.push(['Duration', formatValue(get('duration_ns'), 'nanoseconds')]);
	if (tallies.cpus) facts.push(['CPUs', group(tallies.cpus)]);
	if (get('period_ns')) facts.push(['CPU time of a sample', formatValue(get('period_ns'), 'nanoseconds')]);
	if (tallies.samples) facts.push(['Samples', group(tallies.samples)]);
	const stacks = get('complete_stacks') + get('truncated_stacks');
	if (stacks) {
		facts.push(['Complete user stacks', formatPercent(get('complete_stacks'), stacks), get('complete_stacks') < stacks * 0.95]);
		const kernelOnly = tallies['user_stacks.kernel_only'] ?? 0;
		if (kernelOnly) facts.push(['Samples without a user stack', group(kernelOnly)]);
		facts.push(['Truncated user stacks', group(get('truncated_stacks'))]);
		facts.push(...describeReasons(getReasons(source, 'user_stacks.truncated'), stacks));
		const unproven = tallies['user_stacks.unproven'] ?? 0;
		if (unproven) facts.push(['Complete by frame pointer, unproven', group(unproven)]);
	}
	facts.push(['Lost samples', group(get('lost_samples')), get('lost_samples') > 0]);
	for (const reason of getReasons(source, 'lost')) {
		const whole = ofHits.has(reason[0]) ? tallies.fired ?? 0 : (tallies.samples ?? 0) + get('lost_samples');
		facts.push(...describeReasons([reason], whole));
	}
	const unnamed = getReasons(source, 'frames.unnamed');
	const frames = unnamed.reduce((sum, [, count]) => sum + count, tallies['frames.named'] ?? 0);
	if (frames) facts.push(['Unnamed frames', formatPercent(frames - (tallies['frames.named'] ?? 0), frames)]);
	facts.push(...describeReasons(unnamed, frames));
	return facts;
}

/** @param {Source} source */
export function makeReport(source) {
	const isRecording = Object.entries(source.tallies).some(([name, count]) => !name.startsWith('import.') && count > 0);
	return make('div', { class: 'report' }, makeFacts(describeReading(source)),
		isRecording ? make('h3', {}, 'Recording') : null,
		isRecording ? makeFacts(describeRecording(source)) : null,
		source.warnings ? make('details', {}, make('summary', {}, 'Warnings'), make('pre', { tabindex: 0, role: 'region', 'aria-label': `Warnings of ${source.name}` }, source.warnings)) : null);
}
