/** Lanes under the bands of the timeline: ranges, marks, streams, idle time, waits of the host. */
import { el, message, select } from "./dom.js";
import { countText, momentText, nsText, numberOf, shareText } from "./amounts.js";
import {
	LaneIndex, REASONS, ShortIndex, exactWords, groupKey, groupName, isWork, mergeLanes,
	searchLanes, shortName, sumGroups,
} from "./lane_index.js";
import { drawCursor } from "./cursor.js";
import { COLUMN, NEAR_PIXELS, drawLanes, lanesHeight, rowAt } from "./lane_plot.js";
import { OTHER_COLOR, bandColor, themeColors } from "./palette.js";
import { stackList } from "./table.js";
import { timeAt } from "./timeline_plot.js";

/** @typedef {import("./main.js").Context} Context */
/** @typedef {import("./report.js").GpuHeader} GpuHeader */
/** @typedef {import("./report.js").GpuKey} GpuKey */
/** @typedef {import("./timeline_plot.js").View} View */

/** More streams are two lanes: kernels and copies. */
const STREAMS = 6;
const THREADS = 3;
const COLORS = 12;
const LEGEND = 12;
/** Rows of ranges: of threads, those with most ranges; inner levels as far as there is room. */
const RANGE_ROWS = 6;
const RANGE_THREADS = 3;
const RANGES_LISTED = 6;
/** Colours of marks begin here, so that they rarely are those of the ranges around them. */
const MARK_COLORS = 7;
/** The level of ranges that may end on another thread, and so may overlap. */
const STARTED = 128;

/** @type {[GpuKey, string][]} */
const KEYS = [["name", "kernel"], ["operator", "operator"], ["phase", "phase"]];

/** @param {string} reason as shown */
const reasonColor = (reason) => (reason === REASONS.unknown ? OTHER_COLOR
	: bandColor(Object.values(REASONS).indexOf(reason) + 3));

export class LanesView {
	/** @param {Context} context @param {GpuHeader} header @param {number} device
	 * @param {(change: Record<string, string>) => void} choose */
	constructor(context, header, device, choose) {
		this.context = context;
		this.header = header;
		this.choose = choose;
		this.device = device;
		this.key = (KEYS.find(([key]) => key === context.values.gpu) ?? KEYS[0])[0];
		/** @type {import("./lane_plot.js").Row[]} */
		this.rows = [];
		/** @type {Uint8Array | null} */
		this.is_match = null;
		this.matches = 0;
		/** @type {{ row: number, interval: number } | null} */
		this.marked = null;
		/** Was GPU time recorded? Else there are only ranges. */
		this.has_work = header.groups.of.some((_, group) => isWork(header, group));
		this.ranges = sumGroups(header, "name", (group) => header.groups.of[group] === "range");
		this.marks = sumGroups(header, "name", (group) => header.groups.of[group] === "mark")
			.sort((a, b) => b.count - a.count);
		this.keys = this.chooseKeys();
		/** Calls of ranges for which there is no row. */
		this.hidden_ranges = 0;
		this.canvas = el("canvas", { tabindex: 0, class: "lanes", role: "img",
			"aria-label": `${this.has_work ? "GPU time, ranges" : "ranges"} and marks; ` +
				"keys: plus, minus, arrows, 0, n, p, Shift and arrows, Enter" });
		/** Pixels. */
		this.height = lanesHeight(this.layout().length);
		this.canvas.style.height = `${this.height}px`;
		this.note = el("li", { class: "head" });
		this.legend = el("ul", { class: "legend side gpu" });
		this.chooser = this.has_work && select(KEYS.map(([key, text]) =>
			[key, `GPU time by ${text}`]), this.key, (gpu) => choose({ gpu }), "GPU time by");
	}

	/** Colours of the largest keys, by the GPU time of all devices. */
	chooseKeys() {
		const { header, key } = this;
		const sums = sumGroups(header, key, (group) => isWork(header, group));
		const colors = new Map(sums.slice(0, COLORS).map((row, k) => [row.key, bandColor(k)]));
		const of_ranges = new Map(this.ranges.slice(0, COLORS)
			.map((row, k) => [row.key, bandColor(k)]));
		this.colors = header.groups.of.map((kind, group) => {
			const name = groupName(header, group);
			if (kind === "range") return of_ranges.get(name) ?? OTHER_COLOR;
			if (kind === "mark") return markColor(this.marks, name);
			if (isWork(header, group)) {
				return colors.get(groupKey(header, group, key)) ?? OTHER_COLOR;
			}
			return reasonColor(name);
		});
		return { sums, colors };
	}

	/** Rows of ranges: the outermost level of each thread, then inner ones. */
	layoutRanges() {
		const lanes = this.header.lanes.filter(({ of }) => of === "ranges");
		/** @type {Map<number, number>} */
		const counts = new Map();
		for (const { id, count } of lanes) counts.set(id, (counts.get(id) ?? 0) + count);
		const threads = [...counts].sort((a, b) => b[1] - a[1]).slice(0, RANGE_THREADS)
			.map(([id]) => id);
		const levels = Math.floor(RANGE_ROWS / Math.max(1, threads.length));
		const chosen = lanes.filter(({ id }) => threads.includes(id))
			.sort((a, b) => threads.indexOf(a.id) - threads.indexOf(b.id) || a.context - b.context);
		const shown = chosen.filter(({ context, is_rest }) => is_rest || context < levels ||
			context === STARTED);
		this.hidden_ranges = lanes.filter((lane) => !shown.includes(lane))
			.reduce((sum, { count }) => sum + count, 0);
		return shown.map((lane) => {
			const { is_rest, context, id } = lane;
			if (is_rest) return { lanes: [lane], label: "other ranges", place: "on another thread" };
			const place = `on thread ${id}`;
			if (context === STARTED) {
				return { lanes: [lane], label: "started", place: `started ${place}` };
			}
			return { lanes: [lane], place: `${place}, level ${context + 1}`,
				label: context > 0 ? `level ${context + 1}`
					: threads.length > 1 ? `ranges ${id}` : "ranges" };
		});
	}

	/** Labels of the rows and the lanes of each. `place`: where its intervals are, in sentences. */
	layout() {
		const { lanes } = this.header;
		const streams = lanes.filter(({ of, device }) => of === "stream" && device === this.device);
		const gaps = lanes.filter(({ of, device }) => of === "gaps" && device === this.device);
		const waits = lanes.filter(({ of }) => of === "waits");
		const contexts = new Set(streams.map(({ context }) => context));
		const marks = lanes.filter(({ of }) => of === "marks");
		const place = `on one of ${countText(streams.length)} streams`;
		/** @type {{ label: string, place: string, lanes: typeof lanes, of?: string[] }[]} */
		const rows = this.layoutRanges();
		if (marks.length) rows.push({ label: "marks", place: "", lanes: marks });
		rows.push(...(streams.length <= STREAMS ? streams.map((lane) => ({ lanes: [lane],
			label: lane.is_rest ? "streams" : contexts.size > 1 ? `${lane.context}: ${lane.id}`
				: `stream ${lane.id}`,
			place: lane.is_rest ? "on another stream" : `on stream ${lane.id}` }))
			: [{ label: "kernels", place, lanes: streams, of: ["kernel"] },
				{ label: "copies", place, lanes: streams, of: ["copy", "set"] }]));
		if (gaps.length) rows.push({ label: "GPU idle", place: "", lanes: gaps });
		if (waits.length <= THREADS) {
			waits.forEach((lane) => rows.push({ lanes: [lane], place: `Thread ${lane.id} of the host`,
				label: waits.length > 1 ? `waits ${lane.id}` : "host waits" }));
		} else rows.push({ label: "host waits", place: "The host", lanes: waits });
		return rows;
	}

	async load() {
		const lanes = await this.context.lanes();
		const { header } = this;
		this.rows = this.layout().map(({ label, place, lanes: headers, of }) => {
			const mine = lanes.filter((lane) => headers.includes(lane.header));
			const all = new LaneIndex(mergeLanes(mine.map(({ intervals }) => intervals)));
			const index = of
				? all.select(Uint8Array.from(header.groups.of, (kind) => Number(of.includes(kind)))) : all;
			const parts = mine.flatMap((lane) => lane.parts ?? []);
			/* parts do not tell kernels from copies */
			const short = parts.length && !of?.includes("copy") ? new ShortIndex(header, parts) : null;
			const is_of_marks = headers[0].of === "marks";
			return { label, place, is_of_marks, index, matching: index, short };
		});
	}

	/** Sets `matches`, the number of intervals found. @param {string} words */
	search(words) {
		const is_match = words ? searchLanes(this.header, words) : null;
		this.is_match = is_match;
		for (const row of this.rows) {
			row.matching = is_match ? row.index.select(is_match) : row.index;
		}
		this.matches = this.rows.reduce((sum, { matching }) => sum + matching.count, 0);
	}

	/** The begin of the next or previous interval that the search finds, or null.
	 * @param {number} moment @param {1 | -1} way */
	nextMatch(moment, way) {
		const places = this.rows.map(({ matching }) => {
			const at = way > 0 ? matching.begunBy(moment)
				: matching.begunBy(moment - 0.5) - 1;
			return matching.begin[at];
		}).filter((begin) => begin !== undefined);
		return places.length ? (way > 0 ? Math.min(...places) : Math.max(...places)) : null;
	}

	/** @param {{ at_ns: number, label: string }[]} pins
	 * @returns {import("./lane_plot.js").LaneScene} */
	scene(pins) {
		return { rows: this.rows, colors: this.colors ?? [], theme: themeColors(), pins,
			nameOf: (group) => (isWork(this.header, group)
				? shortName(groupKey(this.header, group, this.key)) : groupName(this.header, group)),
			marked: this.marked };
	}

	/** @param {View} view @param {{ at_ns: number, label: string }[]} pins
	 * @param {import("./cursor.js").Cursor | null} cursor */
	paint(view, pins, cursor) {
		const { canvas } = this;
		const paint = canvas.getContext("2d");
		if (!paint || !this.rows.length) return;
		const ratio = devicePixelRatio || 1;
		const width = Math.round(view.width * ratio);
		const height = Math.round(lanesHeight(this.rows.length) * ratio);
		if (canvas.width !== width) canvas.width = width;
		if (canvas.height !== height) canvas.height = height;
		paint.setTransform(ratio, 0, 0, ratio, 0, 0);
		drawLanes(paint, view, this.scene(pins));
		if (cursor?.is_lane) drawCursor(paint, cursor, themeColors().ink);
	}

	/** The lines about the point, and whether another interval is marked.
	 * @param {View} view @param {number} x @param {number} y */
	pointAt(view, x, y) {
		const number = rowAt(y, this.rows.length);
		const at_ns = timeAt(view, x);
		const span = view.to_ns - view.from_ns;
		const column = timeAt(view, x + COLUMN) - at_ns;
		/** @type {Node[]} */
		const lines = [el("p", { class: "moment" }, `at ${momentText(Math.max(0, at_ns), span)}`)];
		const before = this.marked;
		this.marked = null;
		const row = this.rows[number];
		if (row) {
			const from = Math.floor(x - 0.5);
			const found = row.is_of_marks
				? row.index.near(at_ns, (NEAR_PIXELS / COLUMN) * column) : row.index.at(at_ns);
			const interval = found >= 0 ? found
				: row.is_of_marks ? -1
					: row.index.longestIn(timeAt(view, from), timeAt(view, from) + column);
			const share = (row.index.coveredBy(at_ns + column) - row.index.coveredBy(at_ns)) / column;
			const short = row.short
				? (row.short.coveredBy(at_ns + column) - row.short.coveredBy(at_ns)) / column : 0;
			if (interval >= 0) {
				lines.push(...this.intervalLines(row, interval, span));
				this.marked = { row: number, interval };
			}
			if (interval < 0 && row.short && short > 0) {
				lines.push(message(`Intervals shorter than ${nsText(this.header.shorter_than_ns)} cover ` +
					`${shareText(short, 1)} of this time.`));
			} else if (interval < 0) lines.push(message(noneText(row)));
			else if (share < 1 && !row.is_of_marks && row.index.took[interval] < column) {
				lines.push(message(
					`The intervals of this column cover ${shareText(share, 1)} of its time.`));
			}
		}
		return { lines, is_changed: before?.row !== this.marked?.row ||
			before?.interval !== this.marked?.interval };
	}

	/** @param {import("./lane_plot.js").Row} row @param {number} interval
	 * @param {number} span of the view */
	intervalLines({ index, place }, interval, span) {
		const { header } = this;
		const group = index.group[interval];
		const took = nsText(index.took[interval]);
		const of = header.groups.of[group];
		const name = groupName(header, group);
		const keys = /** @type {GpuKey[]} */ (["operator", "line", "phase"]);
		const known = keys.map((key) => [key, header.text[header.groups[key][group]]])
			.filter(([, text]) => !/^(no |\(|$)/.test(text)).map((words) => words.join(" "));
		const begin = `from ${momentText(index.begin[interval], span)}`;
		const sentence = of === "gap" ? `The GPU had no work for ${took}, ${begin}. Mostly due to: `
			: of === "wait" ? `${place} waited ${took}, ${begin}: ` : "";
		const words = of === "mark" ? `: a mark at ${momentText(index.begin[interval], span)}`
			: `: ${took} ${place}, ${begin}`;
		const background = this.colors?.[group];
		return [el("p", {}, el("span", { class: "swatch", style: { background } }), sentence,
			 el("strong", {}, name), sentence ? "" : words),
		...(known.length ? [el("p", {}, known.join(" · "))] : []), ...this.stackLines(group)];
	}

	/** The stack of a launch or a wait like those of a group, from the documents of `kernels` and
	 * `waits`: of the same name and line. @param {number} group */
	stackLines(group) {
		const { groups, text } = this.header;
		const { kernels, waits } = this.context.recording.documents;
		const name = text[groups.name[group]];
		const line = text[groups.line[group]];
		const is_kernel = groups.of[group] === "kernel";
		const rows = is_kernel ? kernels?.kernels : isWork(this.header, group) ? [] : waits?.waits;
		const found = rows?.find((/** @type {import("./report.js").Json} */ row) =>
			(is_kernel ? row.name : row.reason) === name &&
			row.stack?.some((/** @type {import("./report.js").Json} */ frame) =>
				`${frame.file}:${frame.line}` === line));
		return found ? [stackList(found.stack, "")] : [];
	}

	/** Also says how many intervals the search finds. A click on a key searches for it. */
	showLegend() {
		const { header } = this;
		const { sums, colors } = this.keys;
		const sumOf = (/** @type {{ total_ns: number }[]} */ rows) =>
			rows.reduce((sum, { total_ns }) => sum + total_ns, 0);
		const all = sumOf(sums);
		const rest = sums.slice(LEGEND);
		/** @param {string} kind @returns {Map<string, number>} */
		const reasons = (kind) => new Map(sumGroups(header, "name",
			(group) => header.groups.of[group] === kind).map((row) => [row.key, row.total_ns]));
		const gaps = reasons("gap");
		const waits = reasons("wait");
		const names = [...new Set([...gaps.keys(), ...waits.keys()])];
		const ranges = this.ranges.slice(0, RANGES_LISTED);
		/** @param {string} text @param {string} key @param {number} count @param {string} q */
		const searchLink = (text, key, count, q) => el("a", { class: "key", href: "",
			title: `${key}: ${countText(count)}`, on: {
				click: (/** @type {Event} */ event) => {
					event.preventDefault();
					this.choose({ q });
				} } }, text);
		this.legend.replaceChildren(
			...(ranges.length ? [headLine("Ranges of the run: time of all calls")] : []),
			...ranges.map(({ key, total_ns, count }) => legendLine(
				bandColor(this.ranges.findIndex((row) => row.key === key)),
				searchLink(key, key, count, key), nsText(total_ns))),
			...(this.marks.length ? [headLine("Marks of the run")] : []),
			...this.marks.slice(0, RANGES_LISTED).map(({ key, count }) => legendLine(
				markColor(this.marks, key), searchLink(key, key, count, key), countText(count))),
			...(this.has_work ? [headLine(`GPU time of the run: ${nsText(all)}`)] : []),
			...sums.slice(0, LEGEND).map(({ key, total_ns, count }) => legendLine(
				colors.get(key) ?? OTHER_COLOR,
				searchLink(shortName(key), key, count, exactWords(this.key, key)),
				`${nsText(total_ns)} · ${shareText(total_ns, all)}`)),
			...(rest.length ? [legendLine(OTHER_COLOR, `${countText(rest.length)} others`,
				nsText(sumOf(rest)))] : []),
			...(names.length ? [headLine("Reasons, whole run: GPU idle · host waited")] : []),
			...names.map((name) => legendLine(reasonColor(name), name,
				`${nsText(gaps.get(name) ?? 0)} · ${nsText(waits.get(name) ?? 0)}`)),
			...this.notes().map((note) => el("li", { class: "note" }, note)));
	}

	/** "6 intervals and 1 mark" */
	foundText() {
		const marks = this.rows.reduce((sum, { matching, is_of_marks }) =>
			sum + (is_of_marks ? matching.count : 0), 0);
		return [(this.matches > marks || !marks) && numberOf(this.matches - marks, "interval"),
			marks > 0 && numberOf(marks, "mark")].filter(Boolean).join(" and ");
	}

	/** @returns {string[]} */
	notes() {
		const { groups, shorter_than_ns, lost, clock_within_ns } = this.header;
		const short = groups.short_count.reduce((sum, count) => sum + count, 0);
		const are = (/** @type {number} */ count) => (count === 1 ? "is" : "are");
		return [
			this.is_match && `The search finds ${this.foundText()}. ` +
				"Keys n and p show the next and the previous one.",
			this.ranges.length > RANGES_LISTED && `${numberOf(this.ranges.length - RANGES_LISTED,
				"other range")} ${are(this.ranges.length - RANGES_LISTED)} not listed here.`,
			this.marks.length > RANGES_LISTED && "Marks with other names: " +
				`${countText(this.marks.length - RANGES_LISTED)}.`,
			this.hidden_ranges > 0 && `${numberOf(this.hidden_ranges, "call")} of ranges ` +
				`${are(this.hidden_ranges)} not drawn: they are on other threads, or on inner levels.`,
			short > 0 && `${numberOf(short, "interval")} shorter than ${nsText(shorter_than_ns)} ` +
				`${are(short)} grey: the height is the share of time.`,
			lost > 0 && `${numberOf(lost, "operation")} of the GPU ${are(lost)} missing.`,
			clock_within_ns > 0 &&
				`Moments on the GPU are within ${nsText(clock_within_ns)} of those on the host.`,
		].filter((note) => note !== false && note !== null);
	}
}

/** @param {{ key: string }[]} marks @param {string} name */
const markColor = (marks, name) =>
	bandColor(Math.min(COLORS, marks.findIndex(({ key }) => key === name) + MARK_COLORS));

/** @param {import("./lane_plot.js").Row} row */
const noneText = ({ label, place, is_of_marks }) => (is_of_marks ? "No mark is near this point."
	: `No interval is at this moment${place.startsWith("on") ? ` ${place}` : ` in “${label}”`}.`);

/** @param {string} text */
const headLine = (text) => el("li", { class: "head" }, text);

/** @param {string} background @param {string | Node} name @param {string} amount */
const legendLine = (background, name, amount) => el("li", {},
	el("span", { class: "swatch", style: { background } }),
	typeof name === "string" ? el("span", { class: "key" }, name) : name,
	el("span", { class: "amount" }, amount));
