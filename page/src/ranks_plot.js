/**
 * The picture of several recordings: a row each, one axis of time and one scale of bytes for all.
 * Drawn on a canvas or as SVG.
 */
import { bytesText, momentText } from "./amounts.js";
import { upperBound } from "./lives.js";
import { fitted } from "./svg.js";
import { timeStep } from "./timeline_plot.js";

/** @typedef {import("./report.js").LivesHeader} LivesHeader */
/** @typedef {import("./report.js").Ranks} Ranks */
/**
 * @typedef {object} Row
 * @property {number} recording
 * @property {number | null} device
 * @property {string} name
 * @property {LivesHeader | null} header
 * @property {import("./report.js").NamedCurve[]} curves empty until they are read
 * @property {string} note in place of missing curves
 * @property {boolean} is_marked has a finding
 */
/** @typedef {{ from_ns: number, to_ns: number, width: number, row: number }} View `row`: height */
/**
 * @typedef {object} Scene
 * @property {Row[]} rows
 * @property {number[]} offsets by recording
 * @property {string[]} curves names, in the order of drawing
 * @property {{ at_ns: number, label: string }[]} pins
 * @property {ReturnType<typeof import("./palette.js").themeColors>} theme
 */

export const LABEL = 216;
const RIGHT = 14;
export const TOP = 26;
const BOTTOM = 24;
const MARK_COLOR = "#d55e00";
/** Lower rows have one line of text. */
const TWO_LINES = 34;
const HEADROOM = 1.06;

/** What is added to a moment of each recording for the common axis. Its 0 is the earliest kept
 * moment. Without a `header` the begin of a recording is its start.
 * @param {Ranks} ranks @param {(LivesHeader | null)[]} headers by recording
 * @param {string} align clock, step or start */
export function offsetsOf(ranks, headers, align) {
	const raw = ranks.recordings.map(({ start_ns, step_ns }, k) => align === "clock" ? start_ns
		: 0 - (align === "step" ? step_ns ?? 0 : headers[k]?.from_ns ?? 0));
	const first = Math.min(...raw.map((offset, k) => offset + (headers[k]?.from_ns ?? 0)));
	return raw.map((offset) => offset - first);
}

/** The common time from the first kept moment to the last one. @param {number[]} offsets
 * @param {(LivesHeader | null)[]} headers */
export const wholeSpan = (offsets, headers) => ({ from_ns: 0, to_ns: Math.max(1,
	...offsets.map((offset, k) => offset + (headers[k]?.to_ns ?? 0))) });

/** Names of recordings without their common folder and `.gpr`, as the commands print them.
 * @param {string[]} files */
export function shortNames(files) {
	const folder = (/** @type {string} */ file) => file.slice(0, file.lastIndexOf("/") + 1);
	const common = files.map(folder).reduce((a, b) => {
		let k = 0;
		while (k < a.length && a[k] === b[k]) k++;
		return a.slice(0, a.lastIndexOf("/", k - 1) + 1);
	});
	return files.map((file) => file.slice(common.length).replace(/(.)\.gpr$/, "$1"));
}

/** @param {View} view @param {number} rows */
export function ranksBox({ width, row }, rows) {
	return { left: LABEL, top: TOP, width: Math.max(10, Math.floor(width - LABEL - RIGHT)),
		height: row * rows, whole: TOP + row * rows + BOTTOM };
}

/** Highest bytes of each pixel column of each row, NaN where the recording has none.
 * @param {View} view @param {Scene} scene */
export function measureRanks(view, { rows, offsets, curves }) {
	const box = ranksBox(view, rows.length);
	const span = (view.to_ns - view.from_ns) / box.width;
	let top = 0;
	const highs = rows.map(({ recording, header, curves: known }) => curves.map((name) => {
		const high = new Float64Array(box.width).fill(NaN);
		const found = known.find((one) => one.name === name);
		if (!found || !header) return high;
		const { time } = found.curve;
		const momentOf = (/** @type {number} */ x) =>
			Math.floor(view.from_ns + x * span - offsets[recording]);
		for (let x = 0; x < box.width;) {
			const begin = Math.max(momentOf(x), header.from_ns);
			const end = Math.max(momentOf(x) + 1, momentOf(x + 1));
			const range = end > header.from_ns && begin <= header.to_ns
				? found.curve.range(begin, end) : null;
			if (range) top = Math.max(top, range.high);
			const next = time[upperBound(time.length, (k) => time[k], begin)] ?? Infinity;
			/* columns up to the next point are alike */
			do high[x++] = range ? range.high : NaN;
			while (range && x < box.width && momentOf(x) < next && momentOf(x + 1) <= next &&
				momentOf(x) <= header.to_ns);
		}
		return high;
	}));
	return { box, highs, top: top * HEADROOM || 1 };
}
/** @typedef {ReturnType<typeof measureRanks>} Measured */

/** Bytes of a row's curves at a moment of the common axis; null: outside of the recording.
 * @param {Row} row @param {number[]} offsets @param {string[]} curves @param {number} at_ns */
export function bytesAt({ recording, header, curves: known }, offsets, curves, at_ns) {
	const moment = Math.round(at_ns - offsets[recording]);
	const is_inside = header && moment >= header.from_ns && moment <= header.to_ns;
	return curves.map((name) => (is_inside ? known.find((one) => one.name === name)
		?.curve.range(moment, moment + 1)?.high ?? null : null));
}

/** @param {import("./svg.js").Painter} paint @param {View} view @param {Scene} scene
 * @param {Measured} measured */
export function drawRanks(paint, view, scene, measured) {
	const { theme, rows, curves } = scene;
	const { box, highs, top } = measured;
	paint.fillStyle = theme.ground;
	paint.fillRect(0, 0, view.width, box.whole);
	paint.font = "12px system-ui, sans-serif";
	drawTimes(paint, view, scene, measured);
	rows.forEach((row, k) => {
		const bottom = box.top + (k + 1) * view.row;
		const scale = (view.row - 3) / top;
		drawLabel(paint, view, theme, row, bottom - view.row);
		drawValues(paint, view, theme, curves, highs[k].map(highest), bottom - view.row);
		curves.forEach((name, c) => drawRankCurve(paint, theme, name, highs[k][c],
			{ left: box.left, bottom, scale }));
		drawRankMarks(paint, view, scene, measured, k);
		paint.fillStyle = theme.edge;
		paint.fillRect(0, bottom - 1, box.left + box.width, 1);
	});
	const xOf = xOfMoment(view, box.width);
	for (const { at_ns, label } of scene.pins) {
		if (at_ns < view.from_ns || at_ns > view.to_ns) continue;
		paint.fillStyle = theme.link;
		paint.fillRect(xOf(at_ns), box.top, 1.5, box.height);
		paint.textAlign = "center";
		paint.textBaseline = "alphabetic";
		paint.fillText(label, xOf(at_ns), box.top - 2);
	}
}

/** The highest known value; null: none is known. @param {Float64Array} values */
function highest(values) {
	const most = values.reduce((a, b) => (b > a ? b : a), -1);
	return most < 0 ? null : most;
}

/** @param {View} view @param {number} width */
const xOfMoment = ({ from_ns, to_ns }, width) => (/** @type {number} */ at) =>
	LABEL + ((at - from_ns) / (to_ns - from_ns)) * width;

/** @param {import("./svg.js").Painter} paint @param {View} view @param {Scene} scene
 * @param {Measured} measured */
function drawTimes(paint, view, { theme }, { box, top }) {
	const span = view.to_ns - view.from_ns;
	const step = timeStep(span, Math.max(2, box.width / 110));
	paint.strokeStyle = theme.grid;
	paint.fillStyle = theme.faint;
	paint.lineWidth = 1;
	paint.textBaseline = "top";
	paint.textAlign = "left";
	paint.fillText(`each row is ${bytesText(top)} high`, 4, 7);
	paint.beginPath();
	for (let at = Math.ceil(view.from_ns / step) * step; at <= view.to_ns; at += step) {
		const x = Math.round(xOfMoment(view, box.width)(at)) + 0.5;
		paint.moveTo(x, box.top);
		paint.lineTo(x, box.top + box.height);
		paint.textAlign = x > box.left + box.width - 30 ? "right" : "center";
		const text = at ? momentText(at, step * 100) : "0";
		paint.fillText(text, x, 7);
		paint.fillText(text, x, box.top + box.height + 6);
	}
	paint.stroke();
}

/** @param {import("./svg.js").Painter} paint @param {View} view @param {Scene["theme"]} theme
 * @param {Row} row @param {number} y */
function drawLabel(paint, view, theme, row, y) {
	const has_two = view.row >= TWO_LINES;
	paint.textAlign = "left";
	paint.textBaseline = "middle";
	if (row.is_marked) {
		paint.fillStyle = MARK_COLOR;
		paint.fillRect(4, y + (has_two ? 8 : view.row / 2 - 4), 8, 8);
	}
	paint.fillStyle = theme.ink;
	paint.fillText(fitted(row.name, has_two ? LABEL - 24 : LABEL / 2 - 24), 17,
		y + (has_two ? 12 : view.row / 2));
	paint.fillStyle = theme.faint;
	if (row.note) paint.fillText(fitted(row.note, 600), LABEL + 8, y + view.row / 2);
}

/** Bytes of a row beside its name: all curves, or the first one if the row has one line.
 * @param {import("./svg.js").Painter} paint @param {View} view @param {Scene["theme"]} theme
 * @param {string[]} curves @param {(number | null)[]} values @param {number} y */
export function drawValues(paint, view, theme, curves, values, y) {
	const has_two = view.row >= TWO_LINES;
	let x = has_two ? 17 : LABEL / 2;
	paint.font = "12px system-ui, sans-serif";
	paint.textAlign = "left";
	paint.textBaseline = "middle";
	paint.fillStyle = theme.ground;
	paint.fillRect(x, y + (has_two ? 21 : 1), LABEL - x - 2, (has_two ? 18 : view.row) - 3);
	values.slice(0, has_two ? values.length : 1).forEach((value, k) => {
		const text = value === null ? "-" : bytesText(value);
		paint.fillStyle = /** @type {Record<string, string>} */ (theme)[curves[k]] ?? theme.ink;
		paint.fillText(text, x, y + (has_two ? 28 : view.row / 2));
		x += 66;
	});
}

/** @param {import("./svg.js").Painter} paint @param {Scene["theme"]} theme @param {string} name
 * @param {Float64Array} high @param {{ left: number, bottom: number, scale: number }} place */
function drawRankCurve(paint, theme, name, high, { left, bottom, scale }) {
	const color = /** @type {Record<string, string>} */ (theme)[name] ?? theme.ink;
	/** Begins and ends of columns of one height. @type {[number, number, number][]} */
	const runs = [];
	for (let from = 0; from < high.length;) {
		let to = from + 1;
		while (to < high.length && high[to] === high[from]) to++;
		if (!Number.isNaN(high[from])) runs.push([left + from, left + to, bottom - high[from] * scale]);
		from = to;
	}
	if (!runs.length) return;
	paint.strokeStyle = paint.fillStyle = color;
	const trace = () => {
		paint.beginPath();
		runs.forEach(([from, to, y], k) => {
			if (k && runs[k - 1][1] === from) paint.lineTo(from, y);
			else paint.moveTo(from, y);
			paint.lineTo(to, y);
		});
	};
	if (name === "allocated") {
		trace();
		paint.lineTo(runs[runs.length - 1][1], bottom);
		paint.lineTo(runs[0][0], bottom);
		paint.closePath();
		paint.globalAlpha = 0.25;
		paint.fill();
		paint.globalAlpha = 1;
	}
	paint.lineWidth = 1.3;
	paint.setLineDash(name === "driver" ? [5, 3] : []);
	trace();
	paint.stroke();
	paint.setLineDash([]);
}

/** Steps are ticks at the bottom of a row, OOMs lines, gaps and losses short lines.
 * @param {import("./svg.js").Painter} paint @param {View} view @param {Scene} scene
 * @param {Measured} measured @param {number} k number of the row */
function drawRankMarks(paint, view, { rows, offsets, theme }, { box }, k) {
	const { header, recording } = rows[k];
	if (!header) return;
	const { marks } = header;
	const bottom = box.top + (k + 1) * view.row;
	const xOf = xOfMoment(view, box.width);
	const at = (/** @type {number} */ place) => marks[place].at_ns + offsets[recording];
	const begin = upperBound(marks.length, at, view.from_ns - 1);
	const shown = marks.slice(begin, upperBound(marks.length, at, view.to_ns));
	const has_steps = shown.filter(({ kind }) => kind === "step").length <= box.width / 3;
	for (const { kind, at_ns } of shown) {
		const x = xOf(at_ns + offsets[recording]);
		if (kind === "oom") {
			paint.fillStyle = theme.bad;
			paint.fillRect(x - 1, bottom - view.row + 1, 2, view.row - 2);
			if (view.row >= TWO_LINES) {
				const is_left = x > box.left + box.width - 100;
				paint.textAlign = is_left ? "right" : "left";
				paint.textBaseline = "middle";
				paint.fillText("out of memory", x + (is_left ? -4 : 4), bottom - view.row + 10);
			}
		} else if (kind === "step" && has_steps) {
			paint.fillStyle = theme.faint;
			paint.fillRect(x, bottom - 5, 1, 4);
		} else if (kind === "gap" || kind === "lost") {
			paint.fillStyle = theme.warn;
			paint.fillRect(x - 1, bottom - 11, 2, 10);
		}
	}
}
