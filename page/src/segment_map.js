/** PyTorch's segments at a moment: a row for each, with its blocks where they lie. */
import { button, download, el, message } from "./dom.js";
import { bytesText, numberOf, shareText } from "./amounts.js";
import { OF, selectGroups, upperBound } from "./lives.js";
import { themeColors } from "./palette.js";
import { SvgPainter } from "./svg.js";

const ROW = 20;
const BAR = 14;
const LABEL = 290;
/** Higher pictures scroll, as page/src/style.css has it. */
const HEIGHT_SHOWN = 640;
/** Half the width of the triangle below a pin, and the least distance of two. */
const PIN = 4;
const PINS_APART = 7;
/** Rows of the picture; a process with more segments has its largest shown. */
const ROWS_SHOWN = 200;

/** @typedef {{ address: number, bytes: number, used: number, is_part: number, arena: number,
 *     part_bytes: number, blocks: number[], pending: number[] }} Segment `part_bytes`: of its first
 *     part. `pending`: freed blocks that other streams still use. */

/** Segments of a moment with the blocks inside, by address. Parts of an expandable segment that
 * touch are one row.
 * @param {import("./report.js").LivesHeader} header @param {import("./lives.js").Lives} lives
 * @param {number} device @param {number} moment */
export function segmentsAt(header, lives, device, moment) {
	/** @type {Segment[]} */
	const parts = [];
	lives.visitLive(moment, selectGroups(header, device, [OF.SEGMENT, OF.UNMAPPED]), (life) => {
		parts.push({ address: lives.address[life], bytes: lives.bytes[life], used: 0,
			is_part: header.groups.is_part[lives.group[life]], blocks: [], pending: [],
			arena: header.groups.arena?.[lives.group[life]] ?? 0, part_bytes: lives.bytes[life] });
	});
	parts.sort((a, b) => a.address - b.address);
	/** @type {Segment[]} */
	const segments = [];
	for (const part of parts) {
		const before = segments.at(-1);
		if (before?.is_part && part.is_part && before.arena === part.arena &&
			before.address + before.bytes === part.address) {
			before.bytes += part.bytes;
		} else segments.push(part);
	}
	let outside = 0;
	lives.visitLive(moment, selectGroups(header, device, [OF.BLOCK, OF.PENDING]), (life) => {
		const at = upperBound(segments.length, (k) => segments[k].address, lives.address[life]) - 1;
		const segment = segments[at];
		const is_pending = header.groups.of[lives.group[life]] === OF.PENDING;
		if (!segment || lives.address[life] >= segment.address + segment.bytes) {
			if (!is_pending) outside += lives.bytes[life];
			return;
		}
		if (is_pending) {
			segment.pending.push(life);
			return;
		}
		segment.used += lives.bytes[life];
		segment.blocks.push(life);
	});
	return { segments, outside };
}

/** Places of triangles in a row. Of pins with too little distance, that with most bytes has one.
 * @param {{ x: number, keeps: number }[]} pins */
export function markPins(pins) {
	/** @type {number[]} */
	const marked = [];
	for (const { x } of [...pins].sort((a, b) => b.keeps - a.keeps)) {
		if (marked.every((other) => Math.abs(other - x) >= PINS_APART)) marked.push(x);
	}
	return marked;
}

/** @param {import("./report.js").LivesHeader} header @param {import("./lives.js").Lives} lives
 * @param {number} device @param {number} moment
 * @param {Map<number, number>} pins bytes that a life would free
 * @param {(life: number) => string} color @param {(life: number) => string} text */
export function segmentMap(header, lives, device, moment, pins, color, text) {
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
			paint.strokeStyle = theme.faint;
			paint.lineWidth = 1;
			for (const life of segment.pending) {
				const x = LABEL + (lives.address[life] - segment.address) * scale;
				const wide = Math.max(1, lives.bytes[life] * scale - 1);
				paint.strokeRect(x + 0.5, y + 0.5, wide, BAR - 1);
			}
			const middle = (/** @type {number} */ life) => LABEL +
				(lives.address[life] + lives.bytes[life] / 2 - segment.address) * scale;
			paint.fillStyle = theme.ink;
			for (const x of markPins([...segment.blocks, ...segment.pending].flatMap((life) => {
				const keeps = pins.get(life);
				return keeps ? [{ x: middle(life), keeps }] : [];
			}))) {
				paint.beginPath();
				paint.moveTo(x - PIN, y + ROW - 0.5);
				paint.lineTo(x, y + BAR + 0.5);
				paint.lineTo(x + PIN, y + ROW - 0.5);
				paint.closePath();
				paint.fill();
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
		const life = [...segment.blocks, ...segment.pending].find((one) => lives.address[one] <= at &&
			at < lives.address[one] + lives.bytes[one]);
		info.textContent = life === undefined
			? `segment 0x${segment.address.toString(16)}: ${bytesText(segment.bytes - segment.used)} ` +
				`of ${bytesText(segment.bytes)} are free`
			: text(life) + (segment.pending.includes(life)
				? "; it is freed, but another stream still uses it" : "") +
				(pins.has(life) ? `; it pins ${bytesText(pins.get(life))} of free memory` : "");
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
				" Each row is one segment, the largest first." +
				(height > HEIGHT_SHOWN ? " Scroll the map to see all rows." : "") +
				(pins.size ? " A triangle marks a block that pins free memory." : "") +
				(segments.some(({ pending }) => pending.length)
					? " A frame is a freed block that another stream still uses." : "")),
			el("span", { class: "space" }),
			button("SVG", () => {
				const paint = new SvgPainter(holder.clientWidth, height);
				paintAll(paint, holder.clientWidth);
				download("segments.svg", "image/svg+xml", paint.toString());
			}, "save the picture")),
		info, holder);
}
