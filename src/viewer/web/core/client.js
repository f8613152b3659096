// The page's side of the worker: calls that return promises.

import { pending } from './pending.js';

/** What a person can do about it. @param {string} reason */
const describeEnd = (reason) => `The page's core has stopped (${reason}). Reload the page and open the files again; ` +
	'if one stops it again, use the command line: stackwide report FILE';

export class Client {
	/**
	 * @param {string} workerSource @param {ArrayBuffer} wasm
	 * @param {(reason: Error) => void} onend nothing will be answered any more; called once
	 */
	constructor(workerSource, wasm, onend) {
		const url = URL.createObjectURL(new Blob([workerSource], { type: 'text/javascript' }));
		this.worker = new Worker(url);
		this.nextId = 1;
		/** @type {Map<number, {resolve: (value: any) => void, reject: (reason: Error) => void}>} */
		this.waiting = new Map();
		/** @type {Error | undefined} why nothing is answered */
		this.end = undefined;
		this.onend = onend;
		this.worker.onmessage = ({ data }) => this.settle(data);
		// Without a message it was never started: a policy forbids it.
		this.worker.onerror = (event) => this.fail(event.message ? describeEnd(event.message) : 'the worker is blocked');
		this.ready = this.call('start', [wasm], [wasm]);
	}

	/** @param {{id: number, result?: any, failure?: string, isCrash?: boolean}} data */
	settle(data) {
		if (data.isCrash) return this.fail(describeEnd(data.failure ?? ''));
		const waiter = this.waiting.get(data.id);
		this.waiting.delete(data.id);
		pending.delete(data.id);
		if (data.failure !== undefined) waiter?.reject(new Error(data.failure));
		else waiter?.resolve(data.result);
	}

	/** @param {string} message */
	fail(message) {
		if (this.end) return;
		this.end = new Error(message);
		for (const [id, waiter] of this.waiting) {
			pending.delete(id);
			waiter.reject(this.end);
		}
		this.waiting.clear();
		this.worker.terminate();
		this.onend(this.end);
	}

	/**
	 * @param {string} method
	 * @param {any[]} [args]
	 * @param {Transferable[]} [transfer]
	 * @returns {Promise<any>}
	 */
	call(method, args = [], transfer = []) {
		if (this.end) return Promise.reject(this.end);
		const id = this.nextId++;
		return new Promise((resolve, reject) => {
			this.waiting.set(id, { resolve, reject });
			pending.add(id);
			this.worker.postMessage({ id, method, args }, transfer);
		});
	}
}
