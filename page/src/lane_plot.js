/**
 * The picture of lanes: single intervals where there is room for them, else how much of each
 * column of pixels is covered, in the colour of its longest interval.
 */
import { OTHER_COLOR, textOn } from "./palette.js";
import { fitted } from "./svg.js";
import { plotBox, timeStep } from "./timeline_plot.js";

/** @typedef {import("./lane_index.js").LaneIndex} LaneIndex */
/**
 * @typedef {object} Row A lane of the picture.
 * @property {string} label
 * @property {string} place where its intervals are, for sentences
 * @property {boolean} is_of_marks its intervals have no length
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
/** Pixels of a column. Firefox takes a millisecond for a thousand rectangles. */
export const COLUMN = 2;
/** With more intervals than that for each pixel, columns are drawn. */
const SINGLE = 0.5;
const DIMMED = 0.2;
const LABEL_PIXELS = 34;
/** The least height of intervals that a search finds, or rare short ones would be overlooked. */
const FOUND_PIXELS = 5;
/** Marks are such wide lines, and are found so near to the pointer. */
const MARK_PIXELS = 2;
export const NEAR_PIXELS = 4;

/** @param {number} rows */
export const lanesHeight = (rows) => ROW.top + rows * (ROW.height + ROW.gap);

/** Where keys move a cursor. @param {import("./timeline_plot.js").View} view @param {number} rows
 * @returns {import("./cursor.js").Box} */
export const lanesBox = (view, rows) => ({ ...plotBox(view), top: ROW.top,
	height: rows * (ROW.height + ROW.gap), row: ROW.height + ROW.gap });

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
		const from = Math.max(box.left, xOf(index.begin[marked.interval]) -
			(scene.rows[marked.row].is_of_marks ? MARK_PIXELS / 2 : 0));
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
	const base = new Float64Array(Math.ceil(width / COLUMN));
	if (short) drawColumns(paint, view, y, short, base, () => OTHER_COLOR);
	const is_single = index.begunBy(view.to_ns) - index.firstAfter(view.from_ns) <= width * SINGLE;
	const least = row.is_of_marks ? ROW.height : 1;
	for (const one of new Set([index, matching])) {
		paint.globalAlpha = one === matching ? 1 : DIMMED;
		if (is_single) drawSingle(paint, view, scene, row, one, y);
		else {
			drawColumns(paint, view, y, one, base.slice(), (k) => scene.colors[one.group[k]],
				one === index ? least : Math.max(least, FOUND_PIXELS));
		}
	}
	paint.globalAlpha = 1;
}

/** @param {import("./svg.js").Painter} paint @param {import("./timeline_plot.js").View} view
 * @param {LaneScene} scene @param {Row} row @param {LaneIndex} index @param {number} y */
function drawSingle(paint, view, scene, row, index, y) {
	const box = plotBox(view);
	const end = index.begunBy(view.to_ns);
	const scale = box.width / (view.to_ns - view.from_ns);
	for (let k = index.firstAfter(view.from_ns); k < end; k++) {
		const from = Math.max(0, (index.begin[k] - view.from_ns) * scale);
		const to = Math.min(box.width, (index.begin[k] + index.took[k] - view.from_ns) * scale);
		const width = Math.max(row.is_of_marks ? MARK_PIXELS : 1, to - from);
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

/** How much of each column is covered, above `base`, which gets the new heights. Equal
 * columns become one rectangle. @param {import("./svg.js").Painter} paint
 * @param {import("./timeline_plot.js").View} view @param {number} y
 * @param {Pick<LaneIndex, "visitParts">} index @param {Float64Array} base shares of the height
 * @param {(longest: number) => string} colorOf of an interval
 * @param {number} [least] pixels of a column that is covered */
function drawColumns(paint, view, y, index, base, colorOf, least = 1) {
	const box = plotBox(view);
	const span = ((view.to_ns - view.from_ns) / box.width) * COLUMN;
	let color = "";
	let from = 0;
	let low = 0;
	let high = 0;
	const flush = (/** @type {number} */ x) => {
		if (high <= low) return;
		paint.fillStyle = color;
		paint.fillRect(box.left + from, y + ROW.height - high, x - from, high - low);
	};
	index.visitParts(view.from_ns, span, base.length, (k, covered, longest) => {
		const x = k * COLUMN;
		const is_empty = covered <= 0 && longest < 0;
		const bottom = Math.round(ROW.height * base[k]);
		base[k] = Math.min(1, base[k] + covered / span);
		const top = is_empty ? bottom : Math.max(bottom + least, Math.round(ROW.height * base[k]));
		const next = is_empty ? "" : colorOf(longest);
		if (next === color && bottom === low && top === high) return;
		flush(x);
		[color, from, low, high] = [next, x, bottom, top];
	});
	flush(box.width);
}
