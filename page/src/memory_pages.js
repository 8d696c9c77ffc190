/** Pages of memory: out of memory, leaks, fragmentation, phases, idle memory. */
import { button, download, el, message } from "./dom.js";
import { atLeastText, bytesText, countText, nsText, numberOf, shareText } from "./amounts.js";
import { amountBar } from "./bar.js";
import { documentPage, section, verdict } from "./document_page.js";
import {
	CAUSES, LEAK_KINDS, answerOf, growthText, hasManyGpus, noOom, phaseText, placeText,
} from "./overview.js";
import { growthOf } from "./growth.js";
import { roleText } from "./keys.js";
import { bandColor, roleColor, themeColors } from "./palette.js";
import { saveSpark, sparkline } from "./spark.js";
import { SvgPainter } from "./svg.js";
import { bytes, count, makeTable, stackList, time, words, yesNo } from "./table.js";

/** @typedef {import("./report.js").Json} Json */
/** @typedef {import("./main.js").Context} Context */

/** @param {Json} row */
const openStack = (row) => (row.stack ? stackList(row.stack, row.why) : null);

/** Owners of a device's memory as a bar. @param {Record<string, number>} owners
 * @param {number | null} free @param {number} total */
function ownersBar(owners, free, total) {
	const entries = Object.entries(owners);
	const parts = entries.map(([text, size], k) => ({ text, bytes: size,
		color: text === "unattributed" ? roleColor("unattributed", 0) : bandColor(k) }));
	if (free !== null) parts.push({ text: "free", bytes: free, color: roleColor("free", 0) });
	return amountBar(parts, total);
}

/** @param {Record<string, number>} causes */
function causesBar(causes) {
	const entries = Object.entries(causes).sort(([, a], [, b]) => b - a);
	const whole = entries.reduce((sum, [, size]) => sum + size, 0);
	if (!whole) return el("p", { class: "note" }, "No memory is unused.");
	return amountBar(entries.map(([cause, size], k) => ({
		text: CAUSES[cause] ?? cause, bytes: size, color: bandColor(k) })), whole);
}

export const oomPage = documentPage("oom", (oom, context) => {
	const { ooms } = oom;
	if (!ooms.length) {
		return [noOom(context), oom.failed_cuda_calls > 0 &&
			message(`${numberOf(oom.failed_cuda_calls, "CUDA call")} failed for lack of memory; ` +
				`PyTorch repeated ${countText(oom.retries)} of them with success.`)];
	}
	const first = ooms.filter((/** @type {Json} */ one) => one.like === one.number);
	return [
		verdict("bad", ooms.length === 1 ? "Memory ran out once."
			: `Memory ran out ${countText(ooms.length)} times, in ` +
				`${numberOf(first.length, "different way")}.`),
		oom.alloc_conf && message(`PYTORCH_CUDA_ALLOC_CONF: ${oom.alloc_conf}`),
		oom.not_known && message(`Not known: ${oom.not_known}.`),
		ooms.length > 1 && section("All OOMs", makeTable({ name: "ooms", rows: ooms, limit: 20,
			columns: [
				count("Number", "number"),
				time("At", "at_ns", { link: (one) =>
					context.link("moment", { t: one.at_ns, device: one.device }) }),
				bytes("Requested", "bytes"),
				words("By", (one) => answerOf(ooms, one).requester ?? "not known"),
				words("Cause", (one) => answerOf(ooms, one).cause?.split(":")[0] ?? "not known"),
				count("Same as number", (one) => (one.like === one.number ? null : one.like)),
			] })),
		first.slice(0, 50).map((/** @type {Json} */ one, /** @type {number} */ k) =>
			oneOom(one, context, k === 0)),
	];
});

/** @param {Json} one @param {Context} context @param {boolean} is_open */
function oneOom(one, context, is_open) {
	const { answer, state } = one;
	return el("details", { class: "section", open: is_open },
	el("summary", {}, `OOM ${one.number} at ${nsText(one.at_ns)}: ` +
		`${bytesText(one.bytes)}, ${one.verdict?.name ?? "not known"}`),
	el("p", {}, el("a", { href: context.link("moment", { t: one.at_ns, device: one.device }) },
		"show what was live")),
	el("dl", {},
		el("dt", {}, "requested"), el("dd", {}, `${bytesText(answer.requested)} from ` +
			`${one.framework ? "PyTorch" : "the driver"}, GPU ${one.device}`),
		el("dt", {}, "by"), el("dd", {}, answer.requester ?? "not known: no stack was recorded"),
		answer.missing !== null && [el("dt", {}, "missing"),
			el("dd", {}, atLeastText(answer.missing))],
		el("dt", {}, "cause"), el("dd", {}, answer.cause),
		answer.batch && [el("dt", {}, "batch"), el("dd", {}, answer.batch)],
		answer.leak && [el("dt", {}, "leak"), el("dd", {}, answer.leak)]),
	el("h3", {}, "Try"),
	answer.advice.length
		? el("ol", {}, answer.advice.map((/** @type {Json} */ advice) =>
			el("li", {}, `${advice.text}${advice.sure ? "" : " (may not be enough)"}`)))
		: message("No change that helps is known."),
	answer.no_help.length > 0 && el("p", { class: "note" }, "No help: " +
		answer.no_help.map((/** @type {Json} */ { text }) => text).join("; ") + "."),
	answer.roles && [el("h3", {}, "PyTorch's memory, by role"),
		answer.roles.every((/** @type {Json} */ role) => role.key === "unknown" || !role.bytes)
			? message("No roles are known.")
			: amountBar(answer.roles.map((/** @type {Json} */ role) => ({ text: roleText(role.key),
				bytes: role.bytes, color: roleColor(role.key, 0) })), one.allocated_bytes)],
	el("h3", {}, "The device at that moment"),
	ownersBar(state.owners, state.free_bytes, state.total_bytes),
	one.framework && [el("h3", {}, "Reserved memory that is unused"), causesBar(state.causes)],
	el("h3", {}, "Code that held memory"),
	makeTable({ name: `oom-${one.number}-holders`, rows: one.holders.groups, limit: 8,
		open: openStack, columns: [
			words("Code", "key"),
			bytes("Live", "bytes", { has_bar: true }),
			bytes("Grown", "grown_bytes", { title: "since the moment of comparison" }),
			count("Allocations", "count"),
		] }),
	one.pins?.length > 0 && [el("h3", {}, "Blocks that keep free memory from use"),
		makeTable({ name: `oom-${one.number}-pins`, rows: one.pins, limit: 5, columns: [
			words("Block", "address"), bytes("Bytes", "bytes"),
			bytes("Would free", "hostage_bytes", { has_bar: true }), time("Age", "age_ns")] })],
	el("h3", {}, "The request's call stack"),
	one.requester.groups.map((/** @type {Json} */ group) => stackList(group.stack, group.why)));
}

/** Objects of the driver have no bytes. @param {Json[]} rows @param {string} name
 * @param {Context} context @param {boolean} [is_of_objects] */
const suspectTable = (rows, name, context, is_of_objects = false) => makeTable({ name, rows,
	sort: 0, limit: 20,
	open: (row) => el("div", {}, stackList(row.stack, "no stack was recorded"),
		el("p", { class: "note" }, `Evidence: ${countText(row.kept_spans)} of ` +
			`${countText(row.spans)} intervals between samples left some behind, ` +
			`p = ${row.p_value.toPrecision(2)}.`)),
	columns: [
		is_of_objects ? count("Number a step", "count_per_step")
			: bytes("A step", "bytes_per_step", { has_bar: true }),
		...(hasManyGpus(context) ? [count("GPU", "device")] : []),
		words("Code", placeText),
		words(is_of_objects ? "Object" : "Memory", (row) =>
			[row.kind, row.role && roleText(row.role), row.operator].filter(Boolean).join(", ")),
		...(is_of_objects ? [count("Live", "live_count")] : [count("Number a step", "count_per_step"),
			bytes("Live", "live_bytes"), count("Live allocations", "live_count")]),
		count("Since step", "since_step"),
		...(is_of_objects ? [] : [time("Full in", "ns_until_full")]),
	] });

/** The two innermost Python frames of a stack, else those outside of PyTorch's allocator.
 * @param {Json[]} stack */
function placeOfStack(stack) {
	const python = stack.filter(({ module, file }) => module === null && file);
	const native = stack.filter(({ function: name }) => name && !/^(c10|at::detail)::/.test(name));
	const frames = [python, native, stack].find((list) => list.length) ?? [];
	return frames.slice(0, 2).map((frame) => (frame.function ?? "?") +
		(frame.file ? ` (${frame.file.split("/").at(-1)}:${frame.line})` : "")).join(" < ") ||
		"no stack";
}

/** Suspects whose growth is drawn. */
const DRAWN_SUSPECTS = 5;
const GROWTH_SIZE = { width: 480, height: 64 };

/** Live bytes of the largest suspects at the start of each step, from the lives of the recording.
 * @param {Json} leaks @param {Context} context */
async function growthSection(leaks, context) {
	const { recording, lives } = context;
	const header = recording.lives;
	/** @type {number[]} */
	const begins = recording.documents.info?.steps.begin_ns ?? [];
	if (!header || begins.length < 2 || !leaks.suspects.length) return null;
	const all = await lives();
	const drawn = leaks.suspects.slice(0, DRAWN_SUSPECTS).flatMap((/** @type {Json} */ suspect) => {
		const values = growthOf(header, all, suspect, begins);
		return values ? [{ suspect, values }] : [];
	});
	if (!drawn.length) return null;
	return section("Growth over the steps",
		message("Each bar is the memory of one call stack that is live at the start of a step."),
		drawn.map((/** @type {Json} */ { suspect, values }) => {
			const curve = sparkline(values,
				`live bytes at the start of ${numberOf(begins.length, "step")}`, GROWTH_SIZE);
			return el("figure", {},
				el("figcaption", {}, `${growthText(suspect, context)}: ${placeText(suspect)}`),
				curve,
				el("span", { class: "note" }, ` ${bytesText(values[0])} at `,
					el("a", { href: context.link("moment", { t: begins[0], device: suspect.device }) },
						"step 1"),
					`, ${bytesText(values.at(-1))} at `,
					el("a", { href: context.link("moment", { t: begins[0],
						u: begins[begins.length - 1], device: suspect.device }),
						title: "what grew" }, `step ${countText(begins.length)}`), " "),
				saveSpark(curve, "growth"));
		}));
}

export const leaksPage = documentPage("leaks", async (leaks, context) => [
	verdict(LEAK_KINDS[leaks.verdict] ?? "note", leaks.answer),
	leaks.samples > 0 && message(leaks.window_ns === null
		? `gpuprof compared live memory at the start of ${numberOf(leaks.samples, "step")}. ` +
			`The run has ${numberOf(leaks.steps.count, "step")} (${leaks.steps.source}), of which ` +
			`${numberOf(leaks.steps.warmup, "warm-up step")} ` +
			`${leaks.steps.warmup === 1 ? "is" : "are"} left out.`
		: `gpuprof compared ${countText(leaks.samples)} windows of ${nsText(leaks.window_ns)} each, ` +
			"because too few steps were found."),
	(leaks.verdict !== "leak" || leaks.full.length > 1) &&
		leaks.full.map((/** @type {Json} */ device) => message(`GPU ${device.device} gains ` +
		`${bytesText(device.bytes_per_step)} a step` + (device.ns_until_full === null ? "."
		: ` and is full in ${nsText(device.ns_until_full)} at this rate.`))),
	leaks.suspects.length > 0 &&
		section("Memory that grows", suspectTable(leaks.suspects, "leaks", context)),
	await growthSection(leaks, context),
	leaks.filling.length > 0 &&
		section("Growth that slows down, as a cache does",
			suspectTable(leaks.filling, "filling", context)),
	leaks.objects.length > 0 &&
		section("Objects of the driver that grow",
			suspectTable(leaks.objects, "objects", context, true)),
	section("Live at the end", makeTable({ name: "live-at-end", rows: leaks.live, columns: [
		words("Where", (row) => (row.device === null ? "host" : `GPU ${row.device}`)),
		words("Memory", "of"), bytes("Bytes", "bytes"), count("Allocations", "count"),
	] })),
]);

/** A name of a moment, as `gpuprof frag --at` takes it. @param {string} name */
const momentText = (name) => name.replace(/^peak:(.*)/, "the peak of $1 memory")
	.replace(/^oom:/, "OOM ").replace(/_/g, " ");

export const fragPage = documentPage("frag", (frag, context) => [
	frag.not_known && message(frag.not_known, "verdict note"),
	frag.is_uncertain && message("Events are missing, so these figures may be wrong.",
		"verdict warn"),
	frag.devices.map((/** @type {Json} */ device) => section([`GPU ${device.device} at `,
		el("a", { href: context.link("moment", { t: frag.at_ns, device: device.device }) },
			nsText(frag.at_ns)), `, ${momentText(frag.moment)}`],
	el("p", {}, `PyTorch reserved ${bytesText(device.reserved_bytes)}; ` +
		`${bytesText(device.allocated_bytes)} is allocated and ` +
		`${bytesText(device.unused_bytes)} (${shareText(device.unused_bytes,
			device.reserved_bytes)}) is unused. The largest gap has ` +
		`${bytesText(device.largest_gap_bytes)}. The cache serves a request of up to ` +
		`${bytesText(device.largest_request_bytes)}.`),
	device.rounding_bytes !== null && el("p", {}, `Rounding of sizes takes ` +
		`${bytesText(device.rounding_bytes)}. empty_cache() would return ` +
		`${bytesText(device.releasable_bytes)}.`),
	device.most_unused && el("p", {}, `Most memory was unused at `,
		el("a", { href: context.link("moment", { t: device.most_unused.at_ns,
			device: device.device }) }, nsText(device.most_unused.at_ns)),
		`: ${bytesText(device.most_unused.bytes)}` +
		`${device.most_unused.after_last_allocation
			? ", after the last allocation, so that no request could use it" : ""}.`),
	el("h3", {}, "Why memory is unused"), causesBar(device.causes),
	el("h3", {}, "All memory of the device"),
	ownersBar(device.owners, device.driver_used_bytes === null ? null
		: device.total_bytes - device.driver_used_bytes, device.total_bytes),
	el("h3", {}, "Pools"),
	makeTable({ name: "pools", rows: device.pools, sort: 3, columns: [
		words("Stream", (pool) => pool.stream ?? "not recorded"),
		words("Pool", poolText),
		count("Segments", "segments"),
		bytes("Reserved", "reserved_bytes", { has_bar: true }),
		bytes("Allocated", "allocated_bytes"), bytes("Free", "free_bytes"),
		bytes("Largest gap", "largest_gap_bytes"),
		bytes("Can be released", "releasable_bytes"),
	] }),
	device.pins.length > 0 && [el("h3", {}, "Live blocks that keep free memory from use"),
		makeTable({ name: "pins", rows: device.pins, limit: 20,
			open: (pin) => openStackNumber(frag, pin.stack),
			columns: [
				words("Block", "address"), bytes("Bytes", "bytes"),
				bytes("Would free", "hostage_bytes", { has_bar: true }),
				time("Age", "age_ns"),
				words("Code", (pin) => placeOfStack(stackOf(frag, pin.stack))),
			] })],
	device.segments.length > 0 && [el("h3", {}, "Segments and blocks"),
		segmentRows(device.segments)])),
	frag.devices.length === 0 && verdict("note", "PyTorch reserved no memory."),
]);

/** @param {Json} frag @param {number | null} id */
const stackOf = (frag, id) =>
	frag.stacks?.find((/** @type {Json} */ one) => one.id === id)?.stack ?? [];

/** @param {Json} frag @param {number | null} id */
const openStackNumber = (frag, id) =>
	(id === null || !frag.stacks ? null : stackList(stackOf(frag, id)));

/** @param {Json} pool */
export const poolText = (pool) => [pool.small ? "small blocks" : "large blocks",
	pool.expandable && "expandable", pool.pool?.some((/** @type {number} */ part) => part) &&
	`private pool ${pool.pool.join(".")}`, pool.graph && `graph ${pool.graph}`]
	.filter(Boolean).join(", ");

const BLOCK_COLORS = /** @type {Record<string, string>} */ (
	{ allocated: "#0072b2", pending: "#e69f00" });

/** @param {Json[]} segments */
function segmentsSvg(segments) {
	const [label, width, row] = [260, 1000, 18];
	const theme = themeColors();
	const paint = new SvgPainter(label + width, row * segments.length);
	paint.textBaseline = "middle";
	segments.forEach((segment, k) => {
		let x = label;
		paint.fillStyle = theme.faint;
		paint.fillText(`${segment.address} ${bytesText(segment.bytes)}`, 0, row * (k + 0.5));
		paint.fillStyle = theme.grid;
		paint.fillRect(label, row * k + 2, width, row - 4);
		for (const block of segment.blocks) {
			const wide = (width * block.bytes) / segment.bytes;
			paint.fillStyle = BLOCK_COLORS[block.state] ?? "";
			if (paint.fillStyle) paint.fillRect(x, row * k + 2, wide, row - 4);
			x += wide;
		}
	});
	return paint.toString();
}

/** @param {Json[]} segments */
function segmentRows(segments) {
	const shown = [...segments].sort((a, b) => b.bytes - a.bytes).slice(0, 100);
	return el("div", { class: "segment-rows" },
		el("p", { class: "note" },
			"Blue is allocated, orange waits for another stream, grey is free. " +
			(segments.length > shown.length ? `The ${shown.length} largest of ` +
				`${countText(segments.length)} segments are shown.` : "")),
		shown.map((segment) => el("div", { class: "segment-row" },
			el("span", { class: "label" }, `${segment.address} ${bytesText(segment.bytes)}`),
			el("div", { class: "amount-bar" }, segment.blocks.map((/** @type {Json} */ block) =>
				el("span", { title: `${block.address}: ${bytesText(block.bytes)}, ${block.state}`, style: {
					width: `${(100 * block.bytes) / segment.bytes}%`,
					background: BLOCK_COLORS[block.state] ?? "transparent" } }))))),
		el("div", { class: "table-foot" }, button("SVG", () => download("segments.svg",
			"image/svg+xml", segmentsSvg(shown)), "save the picture")));
}

export const phasesPage = documentPage("phases", (phases, context) => {
	/** @type {(Json & { depth: number })[]} */
	const rows = [];
	const add = (/** @type {Json[]} */ list, /** @type {number} */ depth) => {
		for (const phase of list) {
			rows.push(Object.assign(Object.create(phase), { depth }));
			add(phase.children, depth + 1);
		}
	};
	add(phases.phases, 0);
	const has_gpu = rows.some((row) => row.gpu_busy_ns !== undefined && row.gpu_busy_ns !== null);
	return [
		(phases.peaks ?? []).map((/** @type {Json} */ peak) => section(
			[`Peak of GPU ${peak.device}: ${bytesText(peak.live_bytes)} ${peak.of} at `,
				el("a", { href: context.link("moment", { t: peak.at_ns, device: peak.device, of: peak.of,
					by: "phase" }) }, nsText(peak.at_ns)), `, ${phaseText(peak.phase)}`],
			makeTable({ name: "peak-by-phase", rows: peak.phases, columns: [
				words("Allocated in phase", (row) => row.phase ?? "not known"),
				bytes("Bytes at the peak", "bytes", { has_bar: true }),
				words("Lines that hold most", (row) => row.lines.slice(0, 3).map(
					(/** @type {Json} */ line) => `${line.key.split("/").at(-1)} ` +
						bytesText(line.bytes)).join(", ")),
			] }))),
		section("Phases and ranges", rows.length ? makeTable({ name: "phases", rows, limit: 300,
			depth: (row) => row.depth, columns: [
				words("Phase or range", (row) => row.name ?? (row.style === "outside"
					? "outside of any range" : "not known")),
				bytes("Held at the peak", "held_bytes", { has_bar: true }),
				bytes("Peak while open", "peak_bytes"),
				count("Calls", (row) => row.calls || null),
				time("Time", "time_ns"), time("Mean", "mean_ns"),
				bytes("Allocated", "allocated_bytes"), bytes("Freed", "freed_bytes"),
				bytes("Retained", "retained_bytes",
					{ title: "allocated in a call, and live when the call ended" }),
				count("Launches", "launches"),
				...(has_gpu ? [time("GPU busy", "gpu_busy_ns")] : []),
				words("Source", (row) => row.source ?? ""),
			] }) : message("No ranges and no phases were recorded.")),
	];
});

const IDLE_STATES = /** @type {Record<string, string>} */ ({
	busy: "in use", never: "never used", early: "before first use", late: "after last use",
	between: "between two uses", unknown: "unknown",
});
const WASTE = /** @type {Record<string, string>} */ ({
	never: "never used", early: "allocated early", late: "freed late", between: "unused for long",
});

export const idlePage = documentPage("idle", (idle, context) => {
	if (!idle.has_uses) {
		return verdict("note", idle.why ? `Accesses were not recorded: ${idle.why}.`
			: "Accesses of memory were not recorded. Record with gpuprof run --track-access.");
	}
	return [
		idle.blind && verdict("note", "Too few launches were scanned for an answer."),
		idle.devices.map((/** @type {Json} */ device) => section(
			[`GPU ${device.device}, ${device.of} memory at its peak, `,
				el("a", { href: context.link("moment", { t: device.at_ns, device: device.device,
					of: device.of }) }, nsText(device.at_ns))],
			amountBar(Object.entries(device.states).map(([state, { bytes: size }], k) => ({
				text: IDLE_STATES[state] ?? state, bytes: size, color: bandColor(k) })), device.bytes),
			makeTable({ name: "idle", rows: device.rows, open: openStack, limit: 30, columns: [
				words("State", (row) => IDLE_STATES[row.state] ?? row.state),
				bytes("Bytes", "bytes", { has_bar: true }), count("Allocations", "count"),
				words("Code", "key"), words("Owner", (row) =>
					row.owner ?? (device.of === "allocated" ? "outside PyTorch" : "")),
				time("Unused for", "idle_ns"), count("Launches meanwhile", "idle_launches"),
				time("Last use", "last_use_ns", { link: (row) =>
					context.link("moment", { t: row.last_use_ns, device: device.device, of: device.of }) }),
				time("Next use", "next_use_ns", { link: (row) =>
					context.link("moment", { t: row.next_use_ns, device: device.device, of: device.of }) }),
			] }),
			device.reusable.length > 0 && [el("h3", {}, "Buffers that can share memory"),
				makeTable({ name: "reusable", rows: device.reusable, columns: [
					bytes("Each", "each_bytes"), count("Buffers", "count"), count("Needed", "needed"),
					words("Code", "key"), words("After the last use of", "other_key"),
				] })])),
		idle.waste.length > 0 && section("Waste over the whole run", makeTable({
			name: "waste", rows: idle.waste, open: openStack, columns: [
				words("Pattern", (row) => WASTE[row.pattern] ?? row.pattern.replace(/_/g, " ")),
				bytes("Bytes", "bytes", { has_bar: true }), count("Allocations", "count"),
				words("Code", "key"), time("Unused for", "idle_ns"),
				yesNo("PyTorch's", (row) => row.owner === "PyTorch"),
			] })),
	];
});
