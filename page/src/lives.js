/** All lives of a recording in typed arrays, sorted by birth, and what is live at a moment. */

/** @typedef {import("./report.js").LivesHeader} LivesHeader */

/** Kinds of memory: the values of `groups.of`. UNMAPPED is reserved, but not the driver's.
 * PENDING: freed blocks that other streams still use. */
export const OF = { BLOCK: 0, SEGMENT: 1, DRIVER: 2, PINNED: 3, UNMAPPED: 4, PENDING: 5 };

/** Numbers of groups that fit 16 bits. */
const NARROW_GROUPS = 65536;

/** Two million of them have to fit in the memory of a tab, so numbers are as narrow as they can. */
export class Lives {
	/** @param {number} count @param {number} [groups] number of groups */
	constructor(count, groups = Infinity) {
		this.count = count;
		this.birth = new Float64Array(count);
		/** Infinity: live at the end. */
		this.death = new Float64Array(count);
		this.bytes = new Float64Array(count);
		this.group = groups <= NARROW_GROUPS ? new Uint16Array(count) : new Uint32Array(count);
		this.address = new Float64Array(count);
		/** @type {Uint32Array | Float64Array} wide after 2^32 events */
		this.order = new Uint32Array(count);
	}

	/** Sets the orders of lives from place `at` on.
	 * @param {Float64Array} orders @param {number} at */
	setOrders(orders, at) {
		if (this.order instanceof Uint32Array && orders.some((order) => order >= 2 ** 32)) {
			this.order = Float64Array.from(this.order);
		}
		this.order.set(orders, at);
	}

	/** Number of lives with a birth at or before the moment. @param {number} moment */
	bornBy(moment) {
		return upperBound(this.count, (k) => this.birth[k], moment);
	}

	/** Calls `visit` for each life that is live at the moment and whose group is selected.
	 * @param {number} moment @param {ArrayLike<number | boolean>} is_selected by group
	 * @param {(life: number) => void} visit */
	visitLive(moment, is_selected, visit) {
		const born = this.bornBy(moment);
		for (let k = 0; k < born; k++) {
			if (this.death[k] > moment && is_selected[this.group[k]]) visit(k);
		}
	}
}

/** Number of the first elements with a value at most `limit`, in a sorted list.
 * @param {number} count @param {(k: number) => number} valueAt @param {number} limit */
export function upperBound(count, valueAt, limit) {
	let low = 0;
	let high = count;
	while (low < high) {
		const middle = (low + high) >>> 1;
		if (valueAt(middle) <= limit) low = middle + 1;
		else high = middle;
	}
	return low;
}

/** The same for numbers, between two places; `order`: of places in `values`. A picture makes
 * thousands of searches, so this one calls no function.
 * @param {Float64Array} values @param {number} limit @param {number} low @param {number} high
 * @param {Uint32Array | null} [order] */
export function placeAfter(values, limit, low, high, order = null) {
	while (low < high) {
		const middle = (low + high) >>> 1;
		if (values[order ? order[middle] : middle] <= limit) low = middle + 1;
		else high = middle;
	}
	return low;
}

/** Why a page cannot show the moments and the device of an address; null: it can.
 * @param {LivesHeader} header @param {import("./main.js").Context} context */
export function addressFault({ from_ns, to_ns, devices }, { recording, values }) {
	const { t, u, device } = values;
	const known = [...(devices.length ? devices : [0]),
		...(recording.documents.info?.devices ?? []).map((/** @type {any} */ one) => one.device)];
	const isOutside = (/** @type {string | undefined} */ at) =>
		Boolean(at) && !(Number(at) >= from_ns && Number(at) <= to_ns);
	if (isOutside(t) || isOutside(u)) return "This moment is not in the recording.";
	return device && !known.includes(Number(device)) ? "This GPU is not in the recording." : null;
}

/** Flags by group: is it memory of the device and of one of the kinds? Host memory has device -1.
 * @param {LivesHeader} header @param {number} device @param {number[]} kinds */
export function selectGroups(header, device, kinds) {
	const { device: devices, of } = header.groups;
	return Uint8Array.from(of, (kind, k) =>
		kinds.includes(kind) && (devices[k] === device || kind === OF.PINNED) ? 1 : 0);
}

/** Selected lives by birth and by death. A life that ends at its birth is never live, and is left
 * out, and so are deaths at the end of the recording.
 * @param {Lives} lives @param {Uint8Array} is_selected by group */
export function orderEvents(lives, is_selected) {
	const { birth, death, group, count } = lives;
	let chosen = 0;
	let ended = 0;
	for (let k = 0; k < count; k++) {
		if (!is_selected[group[k]] || death[k] <= birth[k]) continue;
		chosen++;
		if (death[k] !== Infinity) ended++;
	}
	const births = new Uint32Array(chosen);
	const deaths = new Uint32Array(ended);
	chosen = ended = 0;
	for (let k = 0; k < count; k++) {
		if (!is_selected[group[k]] || death[k] <= birth[k]) continue;
		births[chosen++] = k;
		if (death[k] !== Infinity) deaths[ended++] = k;
	}
	return { births, deaths: sortByTime(deaths, death) };
}

/** Radix sort, 16 bits a pass: a comparison sort of two million lives takes a second.
 * @param {Uint32Array} items @param {Float64Array} time by item, not negative */
export function sortByTime(items, time) {
	let last = 0;
	for (const item of items) last = Math.max(last, time[item]);
	/** @type {Uint32Array} */
	let from = items;
	/** @type {Uint32Array} */
	let to = new Uint32Array(items.length);
	for (let scale = 1; scale * last >= 1; scale /= 65536) {
		const begins = new Uint32Array(65537);
		for (let k = 0; k < from.length; k++) begins[((time[from[k]] * scale) & 65535) + 1]++;
		for (let k = 0; k < 65536; k++) begins[k + 1] += begins[k];
		for (let k = 0; k < from.length; k++) {
			to[begins[(time[from[k]] * scale) & 65535]++] = from[k];
		}
		[from, to] = [to, from];
	}
	return from;
}
