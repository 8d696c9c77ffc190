/** What fits at a moment, and the blocks that pin free memory: a line, and tables. */
import { copyCommand, el, message } from "./dom.js";
import { bytesText, nsText, numberOf } from "./amounts.js";
import { keyText, stackLines } from "./keys.js";
import { poolText } from "./memory_pages.js";
import { bytes, count, makeTable, time, words } from "./table.js";
import { agesOf, whatFits } from "./what_fits.js";

/** @typedef {import("./report.js").LivesHeader} LivesHeader */
/** @typedef {NonNullable<ReturnType<typeof whatFits>>} Fits */

const PINS_SHOWN = 20;

/** The command that prints these figures. @param {import("./report.js").Recording} recording
 * @param {number} device @param {number} moment */
export function fragCommand({ commands }, device, moment) {
	const file = /^gpuprof frag --json ([^]*)$/.exec(commands.frag ?? "")?.[1];
	return file && `gpuprof frag --at ${moment} --device ${device} ${file}`;
}

/** A stream as reports print it. @param {string} stream */
const streamText = (stream) => (stream === "0x0" ? "0" : stream);

/** "Largest request that fits: ..." @param {Fits} fits */
function answer(fits) {
	const { stream, largest, after, is_bound, driver_free } = fits;
	const at_most = stream === null && largest > 0 ? "at most " : "";
	return `Largest request that fits: ${at_most}${bytesText(largest)} in PyTorch's free blocks` +
		`${stream === null ? "" : ` on stream ${streamText(stream)}`}; ` + (after === null
		? "the driver's free memory is not known at this moment."
		: `${is_bound ? "at most " : ""}${bytesText(after)} after empty_cache(), with the driver's ` +
			`free ${bytesText(driver_free)}.`);
}

/** Reasons why figures are bounds. @param {LivesHeader} header @param {Fits} fits */
const caveats = (header, fits) => [
	header.allocator?.not_known ?? "",
	fits.pools.some(({ place }) => place === 0) &&
		"Some segments have no recorded stream and pool, so figures are upper bounds.",
	header.left_out > 0 && "Freed blocks that other streams used for a short time are left out, so " +
		"figures are upper bounds.",
].filter(Boolean).map((text) => message(String(text)));

/** @param {Fits} fits */
const poolTable = ({ pools }) => makeTable({ name: "what-fits", rows: pools, sort: 2, columns: [
	words("Stream", ({ stream }) =>
		(stream === null ? "not recorded" : streamText(stream))),
	words("Pool", ({ is_small, is_expandable, pool }) =>
		poolText({ small: is_small, expandable: is_expandable, pool })),
	bytes("Reserved", "reserved", { has_bar: true }), bytes("Allocated", "allocated"),
	pools.some(({ pending }) => pending) ? bytes("Pending", "pending",
		{ title: "freed, but another stream still uses it" }) : null,
	bytes("Free", "free"), count("Gaps", "gaps"), bytes("Largest gap", "largest_gap"),
	bytes("Largest request", "largest", { title: "that free blocks of this pool serve" }),
	bytes("Can be released", "releasable"),
].filter((column) => column !== null) });

/** The line of code of a group, or the name of its stack. @param {LivesHeader} header
 * @param {number} group */
const lineOf = (header, group) => (header.text[header.groups.line[group]].startsWith("no line")
	? keyText(header, "stack", header.groups.stack[group])
	: keyText(header, "line", header.groups.line[group]));

/** @param {LivesHeader} header @param {import("./lives.js").Lives} lives @param {number} moment
 * @param {Fits} fits */
function pinTable(header, lives, moment, { pins }) {
	const ages = agesOf(header, lives, pins.map(({ life }) => life), moment);
	const groupOf = (/** @type {number} */ life) => lives.group[life];
	const rows = pins.map(({ room, life, is_pending, keeps }, k) => ({
		life, keeps, is_pending, segment: room.bytes, bytes: lives.bytes[life], ...ages[k],
		address: `0x${lives.address[life].toString(16)}`,
		in: `0x${room.address.toString(16)}`,
		line: lineOf(header, groupOf(life)),
	}));
	return makeTable({ name: "pins", rows, limit: PINS_SHOWN,
		open: ({ life }) => el("ol", { class: "stack" },
			stackLines(header, header.groups.stack[groupOf(life)]).map((line) => el("li", {}, line))),
		columns: [
			words("Block", "address"), bytes("Bytes", "bytes"),
			bytes("Would free", "keeps", { has_bar: true, title: "free memory beside the block" }),
			time("Age", "age_ns", { text: (value, { is_least }) =>
				`${is_least ? "more than " : ""}${nsText(value)}` }),
			words("Code", "line"),
			pins.some(({ is_pending }) => is_pending) ? words("State", ({ is_pending }) =>
				(is_pending ? "pending" : "allocated")) : null,
			words("Segment", "in"), bytes("Segment bytes", "segment"),
		].filter((column) => column !== null) });
}

/** A line for the head of the page, tables for its end, and bytes that each pin would free.
 * @param {import("./report.js").Recording} recording @param {import("./lives.js").Lives} lives
 * @param {number} device @param {number} moment
 * @param {import("./report.js").Capacity | undefined} capacity
 * @param {import("./report.js").NamedCurve | undefined} allocated the exact curve */
export function fitsView(recording, lives, device, moment, capacity, allocated) {
	const header = /** @type {LivesHeader} */ (recording.lives);
	/** @type {Map<number, number>} */
	const none = new Map();
	const fits = whatFits(header, lives, device, moment, capacity);
	const copy = copyCommand(fragCommand(recording, device, moment));
	const without = (/** @type {string} */ text) =>
		({ line: text ? message(text) : null, parts: [], pins: none });
	if (!fits) return without("The data of this page do not have what fits.");
	if (!fits.reserved) return without("");
	const exact = allocated?.curve.range(moment, moment + 1);
	const live = fits.allocated + fits.outside;
	if (exact && (live < exact.low || live > exact.high)) {
		return without("What fits is not known at this moment, because allocations are missing in " +
			"this report.");
	}
	const pinned = fits.pins.reduce((sum, { keeps }) => Math.max(sum, keeps), 0);
	return {
		line: el("p", { class: "fits" }, answer(fits)),
		parts: [
			el("h2", {}, `What fits at ${nsText(moment)}`),
			el("p", {}, "Free blocks serve requests of their stream and pool only. ", copy),
			caveats(header, fits), poolTable(fits),
			el("h2", {}, `Blocks that pin free memory at ${nsText(moment)}`),
			fits.pins.length > 0 && el("p", {}, "A pin is a live block with free memory beside it " +
				`in its segment, here up to ${bytesText(pinned)}. Once the job frees the pin, that ` +
				"memory serves larger requests, or PyTorch can release it. There " +
				`${fits.pins.length === 1 ? "is" : "are"} ${numberOf(fits.pins.length, "pin")}. ` +
				"Triangles in the map mark them."),
			pinTable(header, lives, moment, fits),
		],
		pins: new Map(fits.pins.map(({ life, keeps }) => [life, keeps])),
	};
}
