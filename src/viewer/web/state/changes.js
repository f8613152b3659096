// What a comparison has changed, function by function, by the verdict of `stackwide diff`: a row of
// numbers for each function, as viewer/changes.h has it.

const HEAD_BYTES = 4;
const ROW_BYTES = 20;
const FLAGS = { self: 1, total: 2 };
const BOUNDS = { self: 4, total: 12 };

/** @typedef {{isReal: boolean, low: number, high: number}} Change bounds in points of percent */

export class Changes {
	/** @param {Uint8Array} bytes */
	constructor(bytes) {
		this.view = new DataView(bytes.buffer, bytes.byteOffset, bytes.length);
		/** Nothing can be said: what is compared are no counts of samples. */
		this.isDoubtful = this.view.getUint32(0, true) !== 0;
		this.length = Math.floor((bytes.length - HEAD_BYTES) / ROW_BYTES);
	}

	/** @param {number} id a function @param {'self' | 'total'} key @returns {Change | undefined} */
	get(id, key) {
		if (id < 0 || id >= this.length) return undefined;
		const at = HEAD_BYTES + ROW_BYTES * id;
		return {
			isReal: (this.view.getUint32(at, true) & FLAGS[key]) !== 0,
			low: this.view.getFloat32(at + BOUNDS[key], true),
			high: this.view.getFloat32(at + BOUNDS[key] + 4, true),
		};
	}
}
