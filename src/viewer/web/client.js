// The page's side of the worker: calls that return promises.

export class Client {
	/** @param {string} workerSource @param {ArrayBuffer} wasm */
	constructor(workerSource, wasm) {
		const url = URL.createObjectURL(new Blob([workerSource], { type: 'text/javascript' }));
		this.worker = new Worker(url);
		this.nextId = 1;
		/** @type {Map<number, {resolve: (value: any) => void, reject: (reason: Error) => void}>} */
		this.waiting = new Map();
		this.worker.onmessage = ({ data }) => this.settle(data);
		this.worker.onerror = (event) => this.fail(event.message);
		this.ready = this.call('start', [wasm], [wasm]);
	}

	/** @param {{id: number, result?: any, failure?: string}} data */
	settle(data) {
		const waiter = this.waiting.get(data.id);
		this.waiting.delete(data.id);
		if (data.failure !== undefined) waiter?.reject(new Error(data.failure));
		else waiter?.resolve(data.result);
	}

	/** @param {string} message */
	fail(message) {
		for (const waiter of this.waiting.values()) waiter.reject(new Error(message));
		this.waiting.clear();
	}

	/**
	 * @param {string} method
	 * @param {any[]} [args]
	 * @param {Transferable[]} [transfer]
	 * @returns {Promise<any>}
	 */
	call(method, args = [], transfer = []) {
		const id = this.nextId++;
		return new Promise((resolve, reject) => {
			this.waiting.set(id, { resolve, reject });
			this.worker.postMessage({ id, method, args }, transfer);
		});
	}
}
