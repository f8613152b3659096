// The view that a saved page has in it, as what stands after the `#`.

import { writeHash } from './state.js';

const BLOCK = /<script type="text\/plain" id="first-view">([^<]*)<\/script>/;
// Behind it there are only the programs, which are smaller.
const TAIL_BYTES = 2 ** 20;

/** @param {string} html the page @param {import('./state.js').State} state */
export function putView(html, state) {
	const block = `<script type="text/plain" id="first-view">${writeHash(state)}</` + 'script>';
	return html.replace(BLOCK, () => block);
}

/** '' where the file has none. @param {{name: string, blob: Blob}} file */
export async function readView({ name, blob }) {
	if (!/\.html?$/i.test(name)) return '';
	return BLOCK.exec(await blob.slice(-TAIL_BYTES).text())?.[1] ?? '';
}
