/**
 * The picture of the timeline: measures each pixel column, then draws on a canvas or as SVG.
 * A column shows the highest moment of its span, so a peak is never missing.
 */
import { bytesText, momentText } from "./amounts.js";
import { fitted } from "./svg.js";

/** @typedef {import("./pyramid.js").Bands} Bands */
/**
 * @typedef {object} View
 * @property {number} from_ns
 * @property {number} to_ns
 * @property {number} width of the whole picture
 * @property {number} height
 */
/**
 * @typedef {object} Scene What is drawn, besides the view.
 * @property {Bands | null} bands
 * @property {number} visible Number of bands; each has a dimmed twin behind it if `is_dimmed`.
 * @property {boolean} is_dimmed
 * @property {string[]} colors by band
 * @property {import("./report.js").NamedCurve[]} curves
 * @property {import("./report.js").LivesHeader["marks"]} marks
 * @property {[from_ns: number, to_ns: number][]} missing Spans in which events are missing.
 * @property {{ at_ns: number, label: string }[]} pins
 * @property {string} empty What a picture without memory shows.
 * @property {ReturnType<typeof import("./palette.js").themeColors>} theme
 */

const MARGIN = { left: 78, right: 14, top: 30, bottom: 30 };
/** Single blocks are drawn up to this number of states and live blocks in the picture. */
const BLOCK_STATES = 400;
const BLOCK_LIVES = 3000;
/** Blocks below this height have no line of their own. */
const BLOCK_PIXELS = 2;
const HEADROOM = 1.04;
const LABEL_PIXELS = 230;
/** More marks than these are ticks at the bottom, or they would hide the picture. */
const FLAGS = 16;

/** @param {View} view */
export function plotBox({ width, height }) {
	return {
		left: MARGIN.left, top: MARGIN.top,
		width: Math.max(10, Math.floor(width - MARGIN.left - MARGIN.right)),
		height: Math.max(10, height - MARGIN.top - MARGIN.bottom),
	};
}

/** @param {View} view @param {number} x */
export function timeAt(view, x) {
	const box = plotBox(view);
	return view.from_ns + ((x - box.left) / box.width) * (view.to_ns - view.from_ns);
}

/** Marks where the events of a recording begin or end too late or too early.
 * @param {import("./report.js").Recording} recording
 * @param {import("./report.js").LivesHeader} header
 * @returns {import("./report.js").LivesHeader["marks"]} */
export const edgeMarks = ({ documents: { info } }, { from_ns, to_ns }) => [
	...(info?.kept_from_ns > 0 ? [{ at_ns: from_ns, kind: "begin" }] : []),
	...(info && !info.complete ? [{ at_ns: to_ns, kind: "torn" }] : []),
];

/** The figures of each pixel column. @param {View} view @param {Scene} scene */
export function measure(view, scene) {
	const box = plotBox(view);
	const { bands } = scene;
	const count = bands?.bandCount ?? 0;
	const span = (view.to_ns - view.from_ns) / box.width;
	const begin = (/** @type {number} */ column) => Math.floor(view.from_ns + column * span);
	const sums = new Float64Array(box.width * count);
	const states = new Float64Array(box.width);
	const one = new Float64Array(count);
	let top = 0;
	if (bands) {
		for (let column = 0; column < box.width; column++) {
			const end = Math.max(begin(column) + 1, begin(column + 1));
			top = Math.max(top, bands.peakIn(begin(column), end, one));
			states[column] = bands.foundState;
			sums.set(one, column * count);
		}
	}
	const curves = scene.curves.map(({ name, curve }) => {
		const high = new Float64Array(box.width).fill(NaN);
		for (let column = 0; column < box.width; column++) {
			const end = Math.max(begin(column) + 1, begin(column + 1));
			high[column] = curve.highIn(begin(column), end);
			if (high[column] > top) top = high[column];
		}
		return { name, high };
	});
	return { box, count, sums, states, curves, top: top * HEADROOM || 1 };
}
/** @typedef {ReturnType<typeof measure>} Measured */

/** The band at a height, counted from below, and its begin.
 * @param {Measured} measured @param {number} column @param {number} bytes */
export function bandAt({ count, sums }, column, bytes) {
	let base = 0;
	for (let band = 0; band < count; band++) {
		const next = base + sums[column * count + band];
		if (bytes >= base && bytes < next) return { band, base };
		base = next;
	}
	return null;
}

/** @param {import("./svg.js").Painter} paint @param {View} view @param {Scene} scene
 * @param {Measured} measured @param {number} [marked] life that is outlined */
export function drawTimeline(paint, view, scene, measured, marked = -1) {
	const { theme } = scene;
	paint.fillStyle = theme.ground;
	paint.fillRect(0, 0, view.width, view.height);
	paint.font = "12px system-ui, sans-serif";
	if (!scene.curves.length && !scene.bands?.eventCount) {
		paint.fillStyle = theme.faint;
		paint.fillText(scene.empty, MARGIN.left, MARGIN.top);
		return;
	}
	drawAxes(paint, view, scene, measured);
	drawBands(paint, scene, measured);
	if (scene.bands) drawBlocks(paint, scene, measured, marked);
	for (const curve of measured.curves) drawCurve(paint, scene, measured, curve);
	drawMissing(paint, view, scene, measured);
	drawMarks(paint, view, scene, measured);
}

/** Steps of an axis of bytes: powers of two. @param {number} top @param {number} most */
function byteStep(top, most) {
	return 2 ** Math.max(0, Math.ceil(Math.log2(top / most)));
}

/** Steps of an axis of time: 1, 2 or 5 times a power of ten. @param {number} span
 * @param {number} most */
export function timeStep(span, most) {
	const power = 10 ** Math.floor(Math.log10(Math.max(1, span / most)));
	return [1, 2, 5, 10].map((k) => k * power).find((step) => span / step <= most) ?? 10 * power;
}

/** @param {import("./svg.js").Painter} paint @param {View} view @param {Scene} scene
 * @param {Measured} measured */
function drawAxes(paint, view, { theme }, { box, top }) {
	const bottom = box.top + box.height;
	paint.lineWidth = 1;
	paint.strokeStyle = theme.grid;
	paint.fillStyle = theme.faint;
	paint.textAlign = "right";
	paint.textBaseline = "middle";
	paint.beginPath();
	for (let bytes = 0, step = byteStep(top, 7); bytes <= top; bytes += step) {
		const y = Math.round(bottom - (bytes / top) * box.height) + 0.5;
		paint.moveTo(box.left, y);
		paint.lineTo(box.left + box.width, y);
		paint.fillText(bytes ? bytesText(bytes) : "0", box.left - 8, y);
	}
	paint.textBaseline = "top";
	const span = view.to_ns - view.from_ns;
	const step = timeStep(span, Math.max(2, box.width / 110));
	for (let at = Math.ceil(view.from_ns / step) * step; at <= view.to_ns; at += step) {
		const x = Math.round(box.left + ((at - view.from_ns) / span) * box.width) + 0.5;
		paint.moveTo(x, box.top);
		paint.lineTo(x, bottom + 4);
		paint.textAlign = x > box.left + box.width - 30 ? "right" : "center";
		paint.fillText(at ? momentText(at, step * 100) : "0", x, bottom + 8);
	}
	paint.stroke();
}

/** @param {import("./svg.js").Painter} paint @param {Scene} scene @param {Measured} measured */
function drawBands(paint, { visible, colors, is_dimmed }, { box, count, sums, top }) {
	if (!count) return;
	const bottom = box.top + box.height;
	const scale = box.height / top;
	const low = new Float64Array(box.width).fill(bottom);
	const high = new Float64Array(box.width);
	for (let band = 0; band < count; band++) {
		let is_empty = true;
		for (let x = 0; x < box.width; x++) {
			const bytes = sums[x * count + band];
			high[x] = low[x] - bytes * scale;
			if (bytes > 0) is_empty = false;
		}
		if (is_empty) continue;
		paint.fillStyle = colors[band % visible];
		paint.globalAlpha = is_dimmed && band >= visible ? 0.18 : 1;
		paint.beginPath();
		for (const [from, to] of equalRuns(high)) {
			if (from === 0) paint.moveTo(box.left, high[0]);
			else paint.lineTo(box.left + from, high[from]);
			paint.lineTo(box.left + to, high[from]);
		}
		for (const [from, to] of equalRuns(low).reverse()) {
			paint.lineTo(box.left + to, low[from]);
			paint.lineTo(box.left + from, low[from]);
		}
		paint.closePath();
		paint.fill();
		low.set(high);
	}
	paint.globalAlpha = 1;
}

/** Parts of a list with one value each, as [from, to). NaN is its own part.
 * @param {Float64Array} values */
function equalRuns(values) {
	/** @type {[number, number][]} */
	const runs = [];
	for (let from = 0; from < values.length;) {
		let to = from + 1;
		while (to < values.length && values[to] === values[from]) to++;
		runs.push([from, to]);
		from = to;
	}
	return runs;
}

/** Lines between single blocks, if the picture shows few enough of them. Blocks of a band lie in
 * the order of their births, the oldest below.
 * @param {import("./svg.js").Painter} paint @param {Scene} scene @param {Measured} measured
 * @param {number} marked */
function drawBlocks(paint, { bands, theme }, measured, marked) {
	const { box, states, top } = measured;
	if (!bands || states[box.width - 1] - states[0] > BLOCK_STATES) return;
	const live = liveByBand(bands, states[0], BLOCK_LIVES);
	if (!live) return;
	const { lives } = bands;
	const scale = box.height / top;
	let state = states[0];
	paint.strokeStyle = theme.ground;
	paint.lineWidth = 0.5;
	paint.beginPath();
	/** @type {[number, number, number, number][]} */
	const outlines = [];
	for (const [from, to] of equalRuns(states)) {
		for (; state < states[from]; state++) applyEvent(bands, live, state);
		let y = box.top + box.height;
		for (const list of live) {
			for (const life of list) {
				const height = lives.bytes[life] * scale;
				y -= height;
				if (life === marked) {
					outlines.push([box.left + from, y, to - from, height]);
				}
				if (height < BLOCK_PIXELS) continue;
				paint.moveTo(box.left + from, y);
				paint.lineTo(box.left + to, y);
			}
		}
	}
	paint.stroke();
	paint.fillStyle = theme.ink;
	paint.globalAlpha = 0.55;
	for (const [x, y, width, height] of outlines) {
		paint.fillRect(x, y, width, Math.max(1, height));
	}
	paint.globalAlpha = 1;
}

/** Live blocks of each band at a state, oldest first. Null: there are more than `most`.
 * @param {Bands} bands @param {number} state @param {number} [most] */
export function liveByBand(bands, state, most = Infinity) {
	/** @type {number[][]} */
	const live = Array.from({ length: bands.bandCount }, () => []);
	let count = 0;
	bands.visitLive(state, (life) => {
		live[bands.bandOfLife[life]].push(life);
		return ++count <= most;
	});
	return count > most ? null : live;
}

/** @param {Bands} bands @param {number[][]} live @param {number} state */
function applyEvent(bands, live, state) {
	const { life, is_birth } = bands.eventAfter(state);
	const list = live[bands.bandOfLife[life]];
	if (is_birth) list.push(life);
	else list.splice(list.indexOf(life), 1);
}

/** @param {import("./svg.js").Painter} paint @param {Scene} scene @param {Measured} measured
 * @param {{ name: string, high: Float64Array }} curve */
function drawCurve(paint, { theme }, { box, top }, { name, high }) {
	const bottom = box.top + box.height;
	paint.strokeStyle = /** @type {Record<string, string>} */ (theme)[name] ?? theme.ink;
	paint.lineWidth = 1.6;
	paint.setLineDash(name === "driver" ? [6, 3] : []);
	paint.beginPath();
	let is_open = false;
	for (const [from, to] of equalRuns(high)) {
		const y = bottom - (high[from] / top) * box.height;
		if (is_open && !Number.isNaN(y)) paint.lineTo(box.left + from, y);
		else if (!Number.isNaN(y)) paint.moveTo(box.left + from, y);
		is_open = !Number.isNaN(y);
		if (is_open) paint.lineTo(box.left + to, y);
	}
	paint.stroke();
	paint.setLineDash([]);
}

/** Shades the spans in which events are missing: figures there are not exact.
 * @param {import("./svg.js").Painter} paint @param {View} view @param {Scene} scene
 * @param {Measured} measured */
function drawMissing(paint, view, { missing, theme }, { box }) {
	const xOf = (/** @type {number} */ at) => box.left + box.width * Math.min(1, Math.max(0,
		(at - view.from_ns) / (view.to_ns - view.from_ns)));
	paint.fillStyle = theme.warn;
	paint.globalAlpha = 0.16;
	for (const [from, to] of missing) {
		if (to < view.from_ns || from > view.to_ns) continue;
		paint.fillRect(xOf(from), box.top, Math.max(2, xOf(to) - xOf(from)), box.height);
	}
	paint.globalAlpha = 1;
}

/** Steps, OOMs, gaps and pins. @param {import("./svg.js").Painter} paint @param {View} view
 * @param {Scene} scene @param {Measured} measured */
function drawMarks(paint, view, { marks, pins, theme }, { box }) {
	const span = view.to_ns - view.from_ns;
	const xOf = (/** @type {number} */ at) => box.left + ((at - view.from_ns) / span) * box.width;
	const inside = (/** @type {number} */ at) => at >= view.from_ns && at <= view.to_ns;
	const steps = marks.filter(({ kind, at_ns }) => kind === "step" && inside(at_ns));
	const bottom = box.top + box.height;
	paint.textBaseline = "middle";
	paint.textAlign = "left";
	paint.lineWidth = 1;
	paint.strokeStyle = paint.fillStyle = theme.faint;
	paint.beginPath();
	let tick_end = 0;
	let label_end = 0;
	for (const { at_ns, number } of steps) {
		const x = xOf(at_ns);
		if (x >= tick_end) {
			paint.moveTo(x, box.top - 4);
			paint.lineTo(x, box.top);
			tick_end = x + 3;
		}
		const label = `step ${number}`;
		const width = 7 * label.length;
		if (x < label_end || x + width > view.width) continue;
		paint.fillText(label, x, box.top - 12);
		label_end = x + width + 8;
	}
	paint.stroke();
	/** @type {{ line: number, from: number, to: number }[]} Labels, so that no two overlap. */
	const labels = [];
	/** @param {number} at @param {string} label @param {string} color @param {number[]} dash */
	const flag = (at, label, color, dash) => {
		if (!inside(at)) return;
		const x = xOf(at);
		paint.strokeStyle = paint.fillStyle = color;
		paint.lineWidth = 1.5;
		paint.setLineDash(dash);
		paint.beginPath();
		paint.moveTo(x, box.top);
		paint.lineTo(x, bottom);
		paint.stroke();
		paint.setLineDash([]);
		const text = fitted(label, LABEL_PIXELS);
		const width = 7 * text.length;
		const is_left = x > box.left + box.width - width;
		const from = is_left ? x - 4 - width : x + 4;
		const line = [0, 1, 2].find((k) => labels.every((other) => other.line !== k ||
			from >= other.to || from + width <= other.from));
		if (line === undefined) return;
		labels.push({ line, from, to: from + width });
		paint.fillStyle = theme.ground;
		paint.globalAlpha = 0.8;
		paint.fillRect(from - 2, box.top + 1 + 15 * line, width + 2, 14);
		paint.globalAlpha = 1;
		paint.fillStyle = color;
		paint.textAlign = is_left ? "right" : "left";
		paint.fillText(text, x + (is_left ? -4 : 4), box.top + 8 + 15 * line);
		paint.textAlign = "left";
	};
	pins.forEach(({ at_ns, label }) => flag(at_ns, label, theme.link, []));
	const names = /** @type {Record<string, string>} */ (
		{ oom: "out of memory", gap: "recording resumes", lost: "events are missing",
			capture: "capture", torn: "the end is missing", begin: "earlier events were overwritten" });
	const flags = marks.filter(({ kind, at_ns }) => kind !== "step" && inside(at_ns));
	const byWeight = flags.filter(({ kind }) => kind !== "capture")
		.concat(flags.filter(({ kind }) => kind === "capture"));
	byWeight.forEach(({ kind, at_ns }) => {
		const color = kind === "oom" ? theme.bad : kind === "capture" ? theme.faint : theme.warn;
		if (flags.length <= FLAGS) flag(at_ns, names[kind] ?? kind, color, [5, 3]);
		else {
			paint.fillStyle = theme.ground;
			paint.fillRect(xOf(at_ns) - 2, bottom - 11, 4, 11);
			paint.fillStyle = color;
			paint.fillRect(xOf(at_ns) - 1, bottom - 10, 2, 10);
		}
	});
	if (flags.length > FLAGS) {
		paint.fillStyle = theme.warn;
		const kinds = [...new Set(flags.map(({ kind }) => names[kind] ?? kind))].join(", ");
		paint.fillText(`${flags.length} marks at the bottom: ${kinds}`, box.left + 4, box.top + 8);
	}
}
