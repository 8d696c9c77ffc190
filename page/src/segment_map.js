/** PyTorch's segments at a moment: a row for each, with its blocks where they lie. */
import { button, download, el, message } from "./dom.js";
import { bytesText, numberOf, shareText } from "./amounts.js";
import { OF, selectGroups, upperBound } from "./lives.js";
import { themeColors } from "./palette.js";
import { SvgPainter } from "./svg.js";

const ROW = 20;
const BAR = 14;
const LABEL = 290;
/** Rows of the picture; a process with more segments has its largest shown. */
const ROWS_SHOWN = 200;

/** @typedef {{ address: number, bytes: number, used: number, is_part: number, blocks: number[] }}
 * Segment */

/** Segments of a moment with the blocks inside, by address. Parts of an expandable segment that
 * touch are one row.
 * @param {import("./report.js").LivesHeader} header @param {import("./lives.js").Lives} lives
 * @param {number} device @param {number} moment */
export function segmentsAt(header, lives, device, moment) {
	/** @type {Segment[]} */
	const parts = [];
	lives.visitLive(moment, selectGroups(header, device, [OF.SEGMENT, OF.UNMAPPED]), (life) => {
		parts.push({ address: lives.address[life], bytes: lives.bytes[life], used: 0,
			is_part: header.groups.is_part[lives.group[life]], blocks: [] });
	});
	parts.sort((a, b) => a.address - b.address);
	/** @type {Segment[]} */
	const segments = [];
	for (const part of parts) {
		const before = segments.at(-1);
		if (before?.is_part && part.is_part && before.address + before.bytes === part.address) {
			before.bytes += part.bytes;
		} else segments.push(part);
	}
	let outside = 0;
	lives.visitLive(moment, selectGroups(header, device, [OF.BLOCK]), (life) => {
		const at = upperBound(segments.length, (k) => segments[k].address, lives.address[life]) - 1;
		const segment = segments[at];
		if (!segment || lives.address[life] >= segment.address + segment.bytes) {
			outside += lives.bytes[life];
			return;
		}
		segment.used += lives.bytes[life];
		segment.blocks.push(life);
	});
	return { segments, outside };
}

/** @param {import("./report.js").LivesHeader} header @param {import("./lives.js").Lives} lives
 * @param {number} device @param {number} moment
 * @param {(life: number) => string} color @param {(life: number) => string} text */
export function segmentMap(header, lives, device, moment, color, text) {
	const { segments, outside } = segmentsAt(header, lives, device, moment);
	if (!segments.length) return message("PyTorch has no segment at this moment.");
	const shown = [...segments].sort((a, b) => b.bytes - a.bytes).slice(0, ROWS_SHOWN);
	const canvas = el("canvas", { class: "segments", role: "img", "aria-label": "segments" });
	const info = el("p", { class: "map-info" }, "Move the pointer over a block to see it.");
	const holder = el("div", { class: "canvas-holder" }, canvas);
	const height = shown.length * ROW;

	/** @param {import("./svg.js").Painter} paint @param {number} width */
	const paintAll = (paint, width) => {
		const theme = themeColors();
		paint.fillStyle = theme.ground;
		paint.fillRect(0, 0, width, height);
		paint.font = "12px system-ui, sans-serif";
		paint.textBaseline = "middle";
		shown.forEach((segment, row) => {
			const y = row * ROW;
			paint.fillStyle = theme.faint;
			paint.fillText(`0x${segment.address.toString(16)}  ${bytesText(segment.bytes)}, ` +
				`${shareText(segment.used, segment.bytes)} used`, 0, y + BAR / 2);
			const scale = (width - LABEL) / segment.bytes;
			paint.fillStyle = theme.grid;
			paint.fillRect(LABEL, y, width - LABEL, BAR);
			for (const life of segment.blocks) {
				const x = LABEL + (lives.address[life] - segment.address) * scale;
				const wide = lives.bytes[life] * scale;
				paint.fillStyle = color(life);
				paint.fillRect(x, y, Math.max(0.7, wide - (wide > 3 ? 0.6 : 0)), BAR);
			}
		});
	};
	const draw = () => {
		const width = holder.clientWidth;
		if (!width) return;
		const ratio = devicePixelRatio || 1;
		canvas.style.height = `${height}px`;
		canvas.width = width * ratio;
		canvas.height = height * ratio;
		const paint = canvas.getContext("2d");
		paint?.setTransform(ratio, 0, 0, ratio, 0, 0);
		if (paint) paintAll(paint, width);
	};
	canvas.addEventListener("mousemove", (event) => {
		const segment = shown[Math.floor(event.offsetY / ROW)];
		if (!segment) return;
		const at = segment.address +
			((event.offsetX - LABEL) / (holder.clientWidth - LABEL)) * segment.bytes;
		const life = segment.blocks.find((one) => lives.address[one] <= at &&
			at < lives.address[one] + lives.bytes[one]);
		info.textContent = life === undefined
			? `segment 0x${segment.address.toString(16)}: ${bytesText(segment.bytes - segment.used)} ` +
				`of ${bytesText(segment.bytes)} are free`
			: text(life);
	});
	new ResizeObserver(draw).observe(holder);
	const total = segments.reduce((sum, { bytes }) => sum + bytes, 0);
	const used = segments.reduce((sum, segment) => sum + segment.used, 0);
	return el("div", { class: "picture" },
		el("div", { class: "controls" },
			el("span", {}, `${numberOf(segments.length, "segment")}, ${bytesText(total)}, ` +
				`${bytesText(total - used)} of it free.` +
				(outside ? ` Blocks outside of known segments: ${bytesText(outside)}.` : "") +
				(segments.length > ROWS_SHOWN ? ` The ${ROWS_SHOWN} largest are shown.` : "") +
				" Each row is one segment, the largest first."),
			el("span", { class: "space" }),
			button("SVG", () => {
				const paint = new SvgPainter(holder.clientWidth, height);
				paintAll(paint, holder.clientWidth);
				download("segments.svg", "image/svg+xml", paint.toString());
			}, "save the picture")),
		info, holder);
}
