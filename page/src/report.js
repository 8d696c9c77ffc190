/** Opens the report that lies in the page: its JSON, and data blocks in the page or beside it. */
import { decodeCurve, decodeIntervals, decodeLives, decodeParts } from "./decode.js";
import { Lives } from "./lives.js";
import { Curve } from "./pyramid.js";

/** @typedef {Record<string, any>} Json A document of a command; docs/JSON.md has its keys. */
/**
 * @typedef {object} LivesHeader
 * @property {number} from_ns
 * @property {number} to_ns
 * @property {number[]} devices
 * @property {string[]} text
 * @property {{ text: number[], is_python: number[] }} frames
 * @property {number[][]} stacks
 * @property {Record<"device" | "of" | "is_part" | "stack" | import("./keys.js").Key,
 *     number[]> & { arena?: number[] }} groups
 * @property {{ stream: string | null, pool: [number, number] | null }[]} [arenas] by `groups.arena`
 * @property {{ device: number, total_bytes: number | null, used: CapacityCurve | null,
 *     limit: CapacityCurve | null }[]} [capacities]
 * @property {Allocator} [allocator]
 * @property {number} count
 * @property {number | null} shorter_than_ns null: also longer ones were left out
 * @property {number} left_out
 * @property {number[]} blocks
 * @property {{ device: number, curve: string, points: number, data: number,
 *     is_exact: boolean }[]} curves
 * @property {{ at_ns: number, kind: string, text?: string, number?: number }[]} marks
 * @property {number} [marks_left_out]
 */
/** @typedef {{ points: number, data: number, is_exact: boolean }} CapacityCurve */
/**
 * @typedef {object} Allocator Settings of PyTorch's allocator.
 * @property {number | null} max_split_bytes
 * @property {number} max_non_split_rounding
 * @property {number} large_segment_bytes
 * @property {number[]} roundup_divisions
 * @property {boolean} is_expandable
 * @property {string} not_known settings that may matter and are ignored
 */
/**
 * @typedef {object} LaneHeader
 * @property {"stream" | "waits" | "gaps" | "ranges" | "marks"} of
 * @property {boolean} is_rest of several streams or threads
 * @property {number} device -1: none
 * @property {number} context of ranges the level: 0 outermost; 128: started ranges
 * @property {number} id of the stream or thread
 * @property {number} count
 * @property {number[]} blocks
 * @property {number | null} parts
 */
/** @typedef {"name" | "operator" | "phase" | "line"} GpuKey */
/**
 * @typedef {object} GpuHeader
 * @property {number} from_ns
 * @property {number} part_ns
 * @property {number} shorter_than_ns such intervals are in parts
 * @property {number} clock_within_ns
 * @property {number} lost
 * @property {string[]} text
 * @property {{ of: string[] } & Record<GpuKey | "count" | "total_ns" | "short_count" | "short_ns",
 *     number[]>} groups
 * @property {LaneHeader[]} lanes
 */
/** @typedef {{ header: LaneHeader, intervals: import("./lane_index.js").Intervals,
 *     parts: ReturnType<typeof decodeParts> | null }} Lane */
/**
 * @typedef {object} Recording
 * @property {string} file
 * @property {Record<string, Json>} documents
 * @property {Record<string, string>} missing
 * @property {Record<string, string>} commands
 * @property {LivesHeader | null} lives
 * @property {GpuHeader | null} gpu
 */
/**
 * @typedef {object} Ranks Several recordings side by side.
 * @property {boolean} is_one_clock
 * @property {string} align
 * @property {string | null} why
 * @property {number | null} step
 * @property {{ rank: number | null, state: string | null, start_ns: number,
 *     step_ns: number | null }[]} recordings
 * @property {{ recording: number, device: number | null }[]} rows
 * @property {{ figure: string, unit: "bytes" | "ns" | "count", command: string,
 *     values: (number | null)[], outlier: number | null }[]} figures
 * @property {{ row: number, figure: string, text: string }[]} findings
 * @property {Record<string, string>} commands
 */
/**
 * @typedef {object} Report
 * @property {number} page
 * @property {string} made_by
 * @property {{ file: string | null, bytes: number }[]} data
 * @property {Recording[]} recordings
 * @property {{ file: string, reason: string }[]} [unreadable] recordings that are left out
 * @property {Ranks | null} ranks null: one recording
 */
/** @typedef {{ device: number, name: string, is_exact: boolean, curve: Curve }} NamedCurve */

/** @param {string} base64 */
async function unpack(base64) {
	const text = atob(base64.trim());
	const packed = new Uint8Array(text.length);
	for (let k = 0; k < text.length; k++) packed[k] = text.charCodeAt(k);
	const stream = new Blob([packed]).stream().pipeThrough(new DecompressionStream("gzip"));
	return new Uint8Array(await new Response(stream).arrayBuffer());
}

/** The text of an element, which is removed: base64 of large data is not needed twice.
 * @param {string} id */
function takeText(id) {
	const element = document.getElementById(id);
	if (!element) throw new Error(`the page has no element '${id}'`);
	const text = element.textContent ?? "";
	element.remove();
	return text;
}

/** Replaces characters that could turn or hide the text around them. gpuprof escapes all of them in
 * its JSON, and no others. Tabs and line breaks stay. @param {string} json */
export const masked = (json) => json.replace(/\\(?:u(.{4})|.)/g, (escape, code) =>
	(code && !["0009", "000a"].includes(code) ? "\ufffd" : escape));

/** @returns {Promise<Report>} */
export async function openReport() {
	const bytes = await unpack(takeText("gpuprof-report"));
	const report = JSON.parse(masked(new TextDecoder().decode(bytes)));
	if (report.page !== 1) {
		throw new Error(`the report has version ${report.page}, but this page reads version 1`);
	}
	return report;
}

/** The bytes of data block `number`. @param {Report} report @param {number} number */
async function readData(report, number) {
	const { file } = report.data[number];
	const text = file === null ? takeText(`gpuprof-data-${number}`) : await loadBeside(number, file);
	return unpack(text);
}

/** Files beside the page call gpuprofData(number, base64). @param {number} number
 * @param {string} file @returns {Promise<string>} */
function loadBeside(number, file) {
	return new Promise((resolve, reject) => {
		const waiting = (loadBeside.waiting ??= new Map());
		waiting.set(number, resolve);
		Object.assign(window, {
			gpuprofData: (/** @type {number} */ k, /** @type {string} */ text) => {
				waiting.get(k)?.(text);
			},
		});
		const script = document.createElement("script");
		script.src = file;
		script.onload = () => script.remove();
		script.onerror = () => reject(new Error(`'${file}' is missing. ` +
			"Keep the folder of data beside the page."));
		document.head.append(script);
	});
}
/** @type {Map<number, (text: string) => void> | undefined} */
loadBeside.waiting = undefined;

/** Decodes the curves of a recording. @param {Report} report @param {LivesHeader} header
 * @returns {Promise<NamedCurve[]>} */
export async function loadCurves(report, header) {
	const curves = [];
	for (const { device, curve, data, is_exact } of header.curves) {
		const points = decodeCurve(await readData(report, data));
		curves.push({ device, name: curve, is_exact, curve: new Curve(points) });
	}
	return curves;
}

/** What the driver counts on a device, and what PyTorch may reserve. A curve is null if it is not
 * known. @typedef {{ total_bytes: number | null, used: Curve | null, limit: Curve | null }}
 * Capacity */

/** Capacities by device. @param {Report} report @param {LivesHeader} header
 * @returns {Promise<Map<number, Capacity>>} */
export async function loadCapacities(report, header) {
	const open = async (/** @type {CapacityCurve | null} */ curve) =>
		(curve ? new Curve(decodeCurve(await readData(report, curve.data))) : null);
	const found = new Map();
	for (const { device, total_bytes, used, limit } of header.capacities ?? []) {
		found.set(device, { total_bytes, used: await open(used), limit: await open(limit) });
	}
	return found;
}

/** Decodes all lives, block by block. @param {Report} report @param {LivesHeader} header */
export async function loadLives(report, header) {
	const lives = new Lives(header.count, header.groups.of.length);
	let count = 0;
	for (const block of header.blocks) {
		count = decodeLives(await readData(report, block), lives, count);
	}
	if (count !== header.count) {
		throw new Error(`the data have ${count} lives, the report announces ${header.count}`);
	}
	const groups = header.groups.of.length;
	if (lives.group.some((group) => group >= groups)) throw new Error("a life has no group");
	return lives;
}

/** Decodes the lanes of GPU time. @param {Report} report @param {GpuHeader} header
 * @returns {Promise<Lane[]>} */
export async function loadLanes(report, header) {
	const lanes = [];
	for (const lane of header.lanes) {
		const intervals = {
			begin: new Float64Array(lane.count), took: new Float64Array(lane.count),
			group: new Uint32Array(lane.count),
		};
		let count = 0;
		for (const block of lane.blocks) {
			count = decodeIntervals(await readData(report, block), intervals, count);
		}
		if (count !== lane.count) {
			throw new Error(`a lane has ${count} intervals, the report announces ${lane.count}`);
		}
		const groups = header.groups.of.length;
		if (intervals.group.some((group) => group >= groups)) {
			throw new Error("an interval has no group");
		}
		lanes.push({ header: lane, intervals,
			parts: lane.parts === null ? null : decodeParts(await readData(report, lane.parts)) });
	}
	return lanes;
}
