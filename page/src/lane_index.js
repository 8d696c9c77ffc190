/**
 * Intervals of a lane, sorted by begin: how long any span of time is covered, and by what, without
 * a look at each interval. Sums of GPU time by kernel, operator and phase.
 */
import { sortByTime } from "./lives.js";
import { Highest } from "./pyramid.js";

/** @typedef {{ begin: Float64Array, took: Float64Array, group: Uint32Array }} Intervals */
/** @typedef {import("./report.js").GpuHeader} GpuHeader */
/** @typedef {import("./report.js").GpuKey} GpuKey */

export class LaneIndex {
	/** @param {Intervals} intervals sorted by begin */
	constructor({ begin, took, group }) {
		this.begin = begin;
		this.took = took;
		this.group = group;
		this.count = begin.length;
		/** Of the first k intervals: the time that one of them at least covers, the last end. */
		this.covered = new Float64Array(this.count + 1);
		this.lastEnd = new Float64Array(this.count + 1).fill(-Infinity, 0, 1);
		for (let k = 0; k < this.count; k++) {
			const end = begin[k] + took[k];
			const before = this.lastEnd[k];
			this.lastEnd[k + 1] = Math.max(before, end);
			this.covered[k + 1] = this.covered[k] + Math.max(0, end - Math.max(before, begin[k]));
		}
		this.longest = new Highest(took);
	}

	/** Number of intervals that begin at or before a moment. `least`: it is not less.
	 * @param {number} moment @param {number} [least] */
	begunBy(moment, least = 0) {
		return countTo(this.begin, moment, least);
	}

	/** The first interval that a span from this moment on may show: all before have ended.
	 * @param {number} moment @param {number} [least] as above */
	firstAfter(moment, least = 0) {
		return countTo(this.lastEnd, moment, least + 1) - 1;
	}

	/** Covered time before a moment. @param {number} moment @param {number} [begun] begunBy it */
	coveredBy(moment, begun = this.begunBy(moment)) {
		return this.covered[begun] - Math.max(0, this.lastEnd[begun] - moment);
	}

	/** The longest interval that touches [from_ns, to_ns], or -1.
	 * @param {number} from_ns @param {number} to_ns */
	longestIn(from_ns, to_ns) {
		const end = this.begunBy(to_ns);
		const first = this.firstAfter(from_ns);
		return first < end ? this.longest.find(first, end) : -1;
	}

	/** Covered time of each part of [from_ns, from_ns + count * span_ns), and its longest interval
	 * or -1. @param {number} from_ns @param {number} span_ns @param {number} count
	 * @param {(part: number, covered: number, longest: number) => void} visit */
	visitParts(from_ns, span_ns, count, visit) {
		let begun = this.begunBy(from_ns);
		let first = this.firstAfter(from_ns);
		let before = this.coveredBy(from_ns, begun);
		for (let part = 0; part < count; part++) {
			const end_ns = from_ns + (part + 1) * span_ns;
			begun = this.begunBy(end_ns, begun);
			const covered = this.coveredBy(end_ns, begun);
			visit(part, covered - before, first < begun ? this.longest.find(first, begun) : -1);
			first = this.firstAfter(end_ns, first);
			before = covered;
		}
	}

	/** The interval at a moment: of several, the one that began last. Or -1.
	 * @param {number} moment */
	at(moment) {
		const first = this.firstAfter(moment);
		for (let k = this.begunBy(moment) - 1; k >= first; k--) {
			if (this.begin[k] + this.took[k] > moment) return k;
		}
		return -1;
	}

	/** Of intervals without length, the one nearest to a moment, at most `within` ns away; or -1.
	 * @param {number} moment @param {number} within */
	near(moment, within) {
		const after = this.begunBy(moment);
		const [before_ns, after_ns] = [after - 1, after].map((k) =>
			(k >= 0 && k < this.count ? Math.abs(this.begin[k] - moment) : Infinity));
		if (Math.min(before_ns, after_ns) > within) return -1;
		return before_ns <= after_ns ? after - 1 : after;
	}

	/** The intervals whose group is selected. @param {Uint8Array} is_selected by group */
	select(is_selected) {
		const { begin, took, group } = this;
		const kept = Uint32Array.from(group.keys()).filter((k) => is_selected[group[k]]);
		return new LaneIndex(pick({ begin, took, group }, kept));
	}
}

/** How many of the ascending values are at most `limit`; at least `least` are. The search begins
 * there with small steps. @param {Float64Array} values @param {number} limit
 * @param {number} least */
function countTo(values, limit, least) {
	let low = least;
	let step = 1;
	while (low + step <= values.length && values[low + step - 1] <= limit) {
		low += step;
		step *= 2;
	}
	let high = Math.min(values.length, low + step - 1);
	while (low < high) {
		const middle = (low + high) >>> 1;
		if (values[middle] <= limit) low = middle + 1;
		else high = middle;
	}
	return low;
}

/** @param {Intervals} from @param {Uint32Array} places @returns {Intervals} */
const pick = ({ begin, took, group }, places) => ({
	begin: Float64Array.from(places, (k) => begin[k]),
	took: Float64Array.from(places, (k) => took[k]),
	group: Uint32Array.from(places, (k) => group[k]),
});

/** Intervals of several lanes as one list. @param {Intervals[]} lanes @returns {Intervals} */
export function mergeLanes(lanes) {
	if (lanes.length === 1) return lanes[0];
	const count = lanes.reduce((sum, { begin }) => sum + begin.length, 0);
	const all = { begin: new Float64Array(count), took: new Float64Array(count),
		group: new Uint32Array(count) };
	let at = 0;
	for (const { begin, took, group } of lanes) {
		all.begin.set(begin, at);
		all.took.set(took, at);
		all.group.set(group, at);
		at += begin.length;
	}
	const least = all.begin.reduce((a, b) => Math.min(a, b), 0);
	return pick(all, sortByTime(Uint32Array.from(all.begin.keys()),
		all.begin.map((begin) => begin - least)));
}

/** Short intervals, which are known only as sums by part of time. */
export class ShortIndex {
	/** @param {GpuHeader} header @param {{ part: Float64Array, ns: Float64Array }[]} lanes */
	constructor({ from_ns, part_ns }, lanes) {
		this.from_ns = from_ns;
		this.part_ns = part_ns;
		const parts = lanes.reduce((most, { part }) => Math.max(most, (part.at(-1) ?? -1) + 1), 0);
		this.covered = new Float64Array(parts + 1);
		for (const { part, ns } of lanes) {
			part.forEach((number, k) => (this.covered[number + 1] += ns[k]));
		}
		/* intervals of one part cannot cover more than it */
		for (let k = 0; k < parts; k++) {
			this.covered[k + 1] = this.covered[k] + Math.min(part_ns, this.covered[k + 1]);
		}
	}

	/** As LaneIndex.visitParts; no interval is known.
	 * @param {number} from_ns @param {number} span_ns @param {number} count
	 * @param {(part: number, covered: number, longest: number) => void} visit */
	visitParts(from_ns, span_ns, count, visit) {
		let before = this.coveredBy(from_ns);
		for (let part = 0; part < count; part++) {
			const covered = this.coveredBy(from_ns + (part + 1) * span_ns);
			visit(part, covered - before, -1);
			before = covered;
		}
	}

	/** Covered time before a moment, as if each part was covered evenly. @param {number} moment */
	coveredBy(moment) {
		const at = Math.min(Math.max(0, (moment - this.from_ns) / this.part_ns),
			this.covered.length - 1);
		const part = Math.floor(at);
		const next = this.covered[Math.min(part + 1, this.covered.length - 1)];
		return this.covered[part] + (at - part) * (next - this.covered[part]);
	}
}

const NAMES = /** @type {Record<string, string>} */ ({
	host_to_device: "copy from host to GPU", device_to_host: "copy from GPU to host",
	device_to_device: "copy on the GPU", host_to_host: "copy on the host",
	peer: "copy between GPUs", other: "copy", fill: "fill",
});
/** Reasons of `gpuprof waits`, and what else a gap is due to. */
export const REASONS = /** @type {Record<string, string>} */ ({
	synchronize: "synchronize", item: ".item(), print", pageable_copy: "pageable copy", free: "free",
	data: "data loading", recompile: "module load",
	synchronous_copy: "synchronous copy", allocation: "allocation",
	event_query: "cuEventQuery", stream_query: "cuStreamQuery", late_launch: "late launch",
	pending: "launched work had not begun", unknown: "not known",
});

/** The name of a group. @param {GpuHeader} header @param {number} group */
export function groupName({ groups, text }, group) {
	const name = text[groups.name[group]];
	if (["kernel", "range", "mark"].includes(groups.of[group])) return name;
	return (isWork({ groups }, group) ? NAMES : REASONS)[name] ?? name;
}

/** Is it work of the GPU? @param {Pick<GpuHeader, "groups">} header @param {number} group */
export const isWork = ({ groups }, group) => ["kernel", "copy", "set"].includes(groups.of[group]);

/** The key of a group, as a text. @param {GpuHeader} header @param {number} group
 * @param {GpuKey} key */
export const groupKey = (header, group, key) => (key === "name" ? groupName(header, group)
	: header.text[header.groups[key][group]] || "none");

/** A kernel's name without namespaces, for places with little room. @param {string} name */
export const shortName = (name) =>
	name.replace(/^void /, "").replace(/(\(anonymous namespace\)|\w+)::/g, "");

/** Sums of GPU time by a key, the largest first. @param {GpuHeader} header @param {GpuKey} key
 * @param {(group: number) => boolean} is_selected */
export function sumGroups(header, key, is_selected) {
	/** @type {Map<string, { key: string, count: number, total_ns: number }>} */
	const rows = new Map();
	const { count, total_ns } = header.groups;
	count.forEach((number, group) => {
		if (!is_selected(group)) return;
		const text = groupKey(header, group, key);
		let row = rows.get(text);
		if (!row) rows.set(text, (row = { key: text, count: 0, total_ns: 0 }));
		row.count += number;
		row.total_ns += total_ns[group];
	});
	return [...rows.values()].sort((a, b) => b.total_ns - a.total_ns);
}

const EXACT = /^(kernel|operator|phase|line) is (.+)$/s;

/** Words of a search that finds one key exactly. @param {GpuKey} key @param {string} text */
export const exactWords = (key, text) => `${key === "name" ? "kernel" : key} is ${text}`;

/** Flags by group: does its name or another key have these words?
 * @param {GpuHeader} header @param {string} words */
export function searchLanes(header, words) {
	const [, word, text] = EXACT.exec(words) ?? [];
	if (word) {
		const key = /** @type {GpuKey} */ (word === "kernel" ? "name" : word);
		return Uint8Array.from(header.groups.of, (_, k) =>
			Number(isWork(header, k) && groupKey(header, k, key) === text));
	}
	const wanted = words.toLowerCase();
	const is_match = header.text.map((text) => text.toLowerCase().includes(wanted));
	const { groups } = header;
	return Uint8Array.from(groups.of, (_, k) =>
		is_match[groups.name[k]] || is_match[groups.operator[k]] || is_match[groups.line[k]] ||
		is_match[groups.phase[k]] || groupName(header, k).toLowerCase().includes(wanted) ? 1 : 0);
}
