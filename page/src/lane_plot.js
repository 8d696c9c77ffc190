/**
 * The picture of lanes: single intervals where there is room for them, else how much of each pixel
 * column is covered, in the colour of its longest interval.
 */
import { textOn } from "./palette.js";
import { fitted } from "./svg.js";
import { plotBox, timeStep } from "./timeline_plot.js";

/** @typedef {import("./lane_index.js").LaneIndex} LaneIndex */
/**
 * @typedef {object} Row A lane of the picture.
 * @property {string} label
 * @property {LaneIndex} index
 * @property {LaneIndex} matching those that a search finds; else `index`
 * @property {import("./lane_index.js").ShortIndex | null} short
 */
/**
 * @typedef {object} LaneScene
 * @property {Row[]} rows
 * @property {string[]} colors by group
 * @property {(group: number) => string} nameOf
 * @property {{ at_ns: number, label: string }[]} pins
 * @property {ReturnType<typeof import("./palette.js").themeColors>} theme
 * @property {{ row: number, interval: number } | null} marked
 */

const ROW = { height: 18, gap: 5, top: 4 };
/** With more intervals than that for each pixel, columns are drawn. */
const SINGLE = 0.5;
const DIMMED = 0.2;
const LABEL_PIXELS = 34;

/** @param {number} rows */
export const lanesHeight = (rows) => ROW.top + rows * (ROW.height + ROW.gap);

/** The lane at a height, or -1. @param {number} y @param {number} rows */
export function rowAt(y, rows) {
	const row = Math.floor((y - ROW.top) / (ROW.height + ROW.gap));
	return row >= 0 && row < rows ? row : -1;
}

/** @param {import("./svg.js").Painter} paint @param {import("./timeline_plot.js").View} view
 * @param {LaneScene} scene @param {number} [top] of the lanes in the picture */
export function drawLanes(paint, view, scene, top = 0) {
	const { theme } = scene;
	const box = plotBox(view);
	const height = lanesHeight(scene.rows.length);
	const span = view.to_ns - view.from_ns;
	const xOf = (/** @type {number} */ at) => box.left + ((at - view.from_ns) / span) * box.width;
	paint.fillStyle = theme.ground;
	paint.fillRect(0, top, view.width, height);
	paint.strokeStyle = theme.grid;
	paint.lineWidth = 1;
	paint.beginPath();
	const step = timeStep(span, Math.max(2, box.width / 110));
	for (let at = Math.ceil(view.from_ns / step) * step; at <= view.to_ns; at += step) {
		paint.moveTo(Math.round(xOf(at)) + 0.5, top);
		paint.lineTo(Math.round(xOf(at)) + 0.5, top + height);
	}
	paint.stroke();
	paint.font = "12px system-ui, sans-serif";
	paint.textBaseline = "middle";
	scene.rows.forEach((row, k) => {
		const y = top + ROW.top + k * (ROW.height + ROW.gap);
		paint.fillStyle = theme.faint;
		paint.textAlign = "right";
		paint.fillText(fitted(row.label, box.left - 8), box.left - 8, y + ROW.height / 2);
		paint.fillStyle = theme.grid;
		paint.fillRect(box.left, y + ROW.height, box.width, 1);
		paint.textAlign = "left";
		drawRow(paint, view, scene, row, y);
	});
	const { marked } = scene;
	const index = marked && scene.rows[marked.row]?.index;
	if (marked && index) {
		const y = top + ROW.top + marked.row * (ROW.height + ROW.gap);
		const from = Math.max(box.left, xOf(index.begin[marked.interval]));
		const to = Math.min(box.left + box.width,
			xOf(index.begin[marked.interval] + index.took[marked.interval]));
		paint.strokeStyle = theme.ink;
		paint.lineWidth = 1.5;
		paint.strokeRect(from - 1, y - 1, Math.max(2, to - from + 2), ROW.height + 2);
	}
	paint.strokeStyle = theme.link;
	paint.lineWidth = 1.5;
	paint.beginPath();
	for (const { at_ns } of scene.pins) {
		if (at_ns < view.from_ns || at_ns > view.to_ns) continue;
		paint.moveTo(xOf(at_ns), top);
		paint.lineTo(xOf(at_ns), top + height);
	}
	paint.stroke();
}

/** @param {import("./svg.js").Painter} paint @param {import("./timeline_plot.js").View} view
 * @param {LaneScene} scene @param {Row} row @param {number} y */
function drawRow(paint, view, scene, row, y) {
	const { index, matching, short } = row;
	const { width } = plotBox(view);
	const first = index.firstAfter(view.from_ns);
	const end = index.begunBy(view.to_ns);
	if (short) drawColumns(paint, view, y, short, () => scene.theme.faint);
	paint.globalAlpha = index === matching ? 1 : DIMMED;
	if (end - first <= width * SINGLE) {
		drawSingle(paint, view, scene, index, y, first, end);
		paint.globalAlpha = 1;
		if (index !== matching) {
			drawSingle(paint, view, scene, matching, y, matching.firstAfter(view.from_ns),
				matching.begunBy(view.to_ns));
		}
		return;
	}
	for (const one of new Set([index, matching])) {
		paint.globalAlpha = one === matching ? 1 : DIMMED;
		drawColumns(paint, view, y, one, (from, to) => {
			const longest = one.longestIn(from, to);
			return longest < 0 ? "" : scene.colors[one.group[longest]];
		}, short);
	}
	paint.globalAlpha = 1;
}

/** @param {import("./svg.js").Painter} paint @param {import("./timeline_plot.js").View} view
 * @param {LaneScene} scene @param {LaneIndex} index @param {number} y
 * @param {number} first @param {number} end */
function drawSingle(paint, view, scene, index, y, first, end) {
	const box = plotBox(view);
	const scale = box.width / (view.to_ns - view.from_ns);
	for (let k = first; k < end; k++) {
		const from = Math.max(0, (index.begin[k] - view.from_ns) * scale);
		const to = Math.min(box.width, (index.begin[k] + index.took[k] - view.from_ns) * scale);
		const width = Math.max(1, to - from);
		const color = scene.colors[index.group[k]];
		paint.fillStyle = color;
		/* neighbours that touch have a line between them */
		paint.fillRect(box.left + from, y, width > 3 ? width - 0.5 : width, ROW.height);
		if (width < LABEL_PIXELS) continue;
		paint.fillStyle = textOn(color);
		paint.fillText(fitted(scene.nameOf(index.group[k]), width - 6), box.left + from + 4,
			y + ROW.height / 2);
	}
}

/** How much of each pixel column is covered. Equal columns become one rectangle.
 * @param {import("./svg.js").Painter} paint @param {import("./timeline_plot.js").View} view
 * @param {number} y @param {{ coveredBy(moment: number): number }} index
 * @param {(from_ns: number, to_ns: number) => string} colorOf "": the column has none
 * @param {{ coveredBy(moment: number): number } | null} [below] what is drawn below it */
function drawColumns(paint, view, y, index, colorOf, below = null) {
	const box = plotBox(view);
	const span = (view.to_ns - view.from_ns) / box.width;
	let color = "";
	let from = 0;
	let low = 0;
	let high = 0;
	let before = index.coveredBy(view.from_ns);
	let before_below = below?.coveredBy(view.from_ns) ?? 0;
	for (let x = 0; x <= box.width; x++) {
		const end_ns = view.from_ns + (x + 1) * span;
		const covered = index.coveredBy(end_ns);
		const covered_below = below?.coveredBy(end_ns) ?? 0;
		const share = (covered - before) / span;
		const base = Math.min(1, (covered_below - before_below) / span);
		const next_color = x === box.width ? "" : colorOf(end_ns - span, end_ns);
		const next_low = Math.round(ROW.height * base);
		const has_some = next_color && (share > 0 || !("part_ns" in index));
		const next_high = has_some
			? Math.max(next_low + 1, Math.round(ROW.height * Math.min(1, base + share))) : next_low;
		before = covered;
		before_below = covered_below;
		if (x > 0 && x < box.width && next_color === color && next_low === low && next_high === high) {
			continue;
		}
		if (color && high > low) {
			paint.fillStyle = color;
			paint.fillRect(box.left + from, y + ROW.height - high, x - from, high - low);
		}
		[color, from, low, high] = [next_color, x, next_low, next_high];
	}
}
