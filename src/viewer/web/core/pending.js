// What the page has asked for and not shown yet: calls of the core, files that are read, a zoom that
// moves, a frame to draw. What merely waits for one of them needs no entry of its own: it goes on in
// the same task, and adds what it asks for next.

class Pending {
	constructor() {
		/** @type {Set<any>} */
		this.entries = new Set();
		this.count = 0; // that were ever added
		/** @type {(() => void)[]} who wait until there is none */
		this.waiters = [];
	}

	/** @param {any} entry what delete() is called with */
	add(entry) {
		this.entries.add(entry);
		this.count++;
	}

	/** @param {any} entry */
	delete(entry) {
		this.entries.delete(entry);
		if (!this.entries.size) for (const resolve of this.waiters.splice(0)) resolve();
	}

	/** @template T @param {Promise<T>} work @returns {Promise<T>} */
	track(work) {
		this.add(work);
		return work.finally(() => this.delete(work));
	}

	/** Until all is done and drawn: the frame that draws it may find that something has another size, and ask for more. */
	async settle() {
		for (let count = -1; this.entries.size || count !== this.count;) {
			if (this.entries.size) await new Promise((resolve) => this.waiters.push(() => resolve(undefined)));
			count = this.count;
			await new Promise((resolve) => requestAnimationFrame(() => setTimeout(resolve)));
		}
	}
}

export const pending = new Pending();
