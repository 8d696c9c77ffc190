/** Pages of time and of the run: graphs, waits, GPU time, start-up, counters, settings. */
import { el, message } from "./dom.js";
import { bytesText, countText, decimals, nsText, numberOf, rateText, shareText }
	from "./amounts.js";
import { amountBar } from "./bar.js";
import { documentPage, section, verdict } from "./document_page.js";
import { bandColor } from "./palette.js";
import { REASONS, exactWords, sumGroups } from "./lane_index.js";
import { saveSpark, sparkline } from "./spark.js";
import { bytes, count, makeTable, share, stackList, time, words, yesNo } from "./table.js";

/** @typedef {import("./report.js").Json} Json */

/** @param {Json} row */
const openStack = (row) => (row.stack ? stackList(row.stack, row.why) : null);

/** A table of names and values. @param {[string, import("./dom.js").Child][]} pairs */
const facts = (pairs) => el("dl", {}, pairs.filter(([, value]) => value !== null &&
	value !== undefined && value !== false && value !== "").map(([name, value]) => [
	el("dt", {}, name),
	el("dd", {}, value)]));

/** A number with at most four digits. @param {string} head @param {string} path */
const figure = (head, path) => count(head, path);

/** Calls a step, with at most two decimals. @param {string} head */
const perStep = (head) => count(head, "per_step", { text: (value) =>
	(typeof value === "number" ? rateText(value) : "") });

export const graphsPage = documentPage("graphs", (graphs, context) => [
	graphs.graphs.length === 0 && graphs.failed.length === 0
		? verdict("note", "The job used no CUDA graphs.")
		: el("p", {}, `${numberOf(graphs.graphs.length, "graph")}; ` +
			`${numberOf(graphs.graph_launches, "launch", "launches")} of graphs started ` +
			`${countText(graphs.graph_kernels)} kernels, ${decimals(100 * graphs.share, 1)}% of all.`),
	graphs.failed.length > 0 && section("Captures that failed", makeTable({ name: "failed-captures",
		rows: graphs.failed, open: openStack, columns: [
			time("At", "at_ns", { link: (row) => context.link("timeline", { t: row.at_ns }) }),
			words("Call that broke the capture", (row) => row.call ?? "not known"),
			words("Error", (row) => row.error ?? `code ${row.code}`), words("Code", "key"),
		] })),
	graphs.graphs.length > 0 && section("Graphs", makeTable({ name: "graphs", rows: graphs.graphs,
		open: openStack, columns: [
			words("Code that made it", "key"), words("Origin", "origin"),
			time("At", "at_ns", { link: (row) => context.link("timeline", { t: row.at_ns }) }),
			bytes("Pool", "pool_bytes", { has_bar: true }),
			bytes("Live in the pool", "pool_allocated_bytes"),
			count("Nodes", "nodes.all"), count("Kernels", "nodes.kernel"),
			count("Launches", "launches"),
			time("A launch call", (row) => (row.launches && row.host_ns !== null
				? row.host_ns / row.launches : null)),
			time("On the GPU", (row) => (row.gpu_launches && row.gpu_ns !== null
				? row.gpu_ns / row.gpu_launches : null)),
		] })),
	graphs.pools.length > 0 && section("Private pools at the end", makeTable({ name: "graph-pools",
		rows: graphs.pools, columns: [
			words("Pool", (row) => row.pool.join(".")), count("Graphs", "graphs"),
			count("Launched graphs", "launched_graphs"), bytes("Bytes", "bytes", { has_bar: true }),
			bytes("Allocated", "allocated_bytes"),
		] })),
]);

export const waitsPage = documentPage("waits", (waits, { recording: { gpu }, link }) => {
	if (!waits.has_calls) {
		return verdict("note", "Copies and waits were not recorded. " +
			"Record with a newer gpuprof, without --launches off.");
	}
	const span = waits.to_ns - waits.from_ns;
	return [
		el("p", {}, `From ${nsText(waits.from_ns)} to ${nsText(waits.to_ns)}` +
			`${waits.steps ? `, ${numberOf(waits.steps, "step")}` : ""}: these calls left the GPU ` +
			`without work for ${nsText(waits.lost_ns)} (${shareText(waits.lost_ns, span)}), and ` +
			`blocked the host for ${nsText(waits.blocked_ns)}.`),
		waits.has_gpu_time && el("p", {}, `The GPU was idle for ${nsText(waits.idle_ns)}.`),
		section("Lines that wait for the GPU", waits.waits.length ? makeTable({ name: "waits",
			rows: waits.waits, open: openStack, limit: 40, columns: [
				words("Line", "key", {
					link: (row) => (gpu && row.file ? link("timeline", { q: row.key }) : null),
				}),
				words("Kind", ({ reason }) => REASONS[reason] ?? reason),
				time(waits.has_gpu_time ? "GPU idle" : "No GPU work", "lost_ns", { has_bar: true }),
				time("Host waited", "blocked_ns"), time("Longest", "longest_ns"),
				count("Calls", "count"), perStep("Calls a step"),
				bytes("Bytes", (row) => row.bytes || null),
			] }) : message("No call waited for the GPU.")),
		section("Copies", makeTable({ name: "copies", rows: waits.copies.filter(
			(/** @type {Json} */ row) => row.count), columns: [
			words("Direction", (row) => row.direction.replace(/_/g, " ")),
			count("Copies", "count"), bytes("Bytes", "bytes", { has_bar: true }),
			count("From pageable memory", "pageable_count"), bytes("Pageable bytes", "pageable_bytes"),
			time("Time of the calls", "took_ns"),
		] })),
		waits.timers.length > 0 && section("Timers that the job read", makeTable({ name: "timers",
			rows: waits.timers, open: openStack, columns: [
				words("Line", "key"), count("Results", "count"), time("Sum", "total_ns"),
				time("Least", "least_ns"), time("Most", "most_ns"),
			] })),
	];
});

/** @param {Json} document */
const noGpuTime = (document) => verdict("note", document.no_gpu_time
	? `GPU time is missing: ${document.no_gpu_time}.`
	: "GPU time was not recorded. Record with gpuprof run --gpu-time.");

/** Sums of kernels by another key, with links to the lanes of the timeline.
 * @param {import("./main.js").Context} context @param {"operator" | "phase"} key
 * @param {string} head */
function kernelsBy({ recording: { gpu }, link }, key, head) {
	if (!gpu) return null;
	const rows = sumGroups(gpu, key, (group) => gpu.groups.of[group] === "kernel");
	if (!rows.length) return null;
	const all = rows.reduce((sum, row) => sum + row.total_ns, 0);
	const columns = [
		words(head, "key", {
			link: (row) => link("timeline", { gpu: key, q: exactWords(key, row.key) }),
		}),
		share("Share", (row) => row.total_ns / all),
		time("Total", "total_ns", { has_bar: true }), count("Count", "count"),
		time("Mean", (row) => row.total_ns / row.count),
	];
	const name = `kernels-${key}`;
	const has_stacks = key !== "operator" || rows[0]?.key !== "(no stack was recorded)";
	return section(`Kernels by ${key}`, makeTable({ name, rows, limit: 15, columns }),
		!has_stacks && message("Operators are known only for launches with stacks. Record with " +
			"gpuprof run --gpu-time --stack-events=all."));
}

export const kernelsPage = documentPage("kernels", (kernels, context) => {
	if (!kernels.has_gpu_time) return noGpuTime(kernels);
	const { gpu } = context.recording;
	const { copies, sets } = kernels;
	const has_library = kernels.kernels.some((/** @type {Json} */ row) => row.library);
	return [
		el("p", {}, `The GPU worked for ${nsText(kernels.busy_ns)} of the ` +
			`${nsText(kernels.envelope_ns)} from its first to its last operation ` +
			`(${shareText(kernels.busy_ns, kernels.envelope_ns)}).`),
		el("p", {}, `Kernels took ${nsText(kernels.total_ns)}, copies ` +
			`${nsText(copies.total_ns)}, and fills ${nsText(sets.total_ns)}.`),
		section("Kernels", makeTable({ name: "kernels", rows: kernels.kernels, limit: 50,
			open: openStack, columns: [
				words("Kernel", "name", {
					link: (row) => gpu && context.link("timeline", { q: exactWords("name", row.name) }),
				}),
				share("Share", "share"),
				time("Total", "total_ns", { has_bar: true }), count("Count", "count"),
				time("Mean", "mean_ns"), time("Median", "median_ns"), time("99% within", "p99_ns"),
				time("Delay", "delay_ns", { title: "from the launch call to the begin of the kernel" }),
				share("Occupancy", "occupancy", { title: "theoretical" }),
				...(has_library ? [words("Library", (row) => row.library ?? "")] : []),
			] })),
		kernelsBy(context, "operator", "Operator"), kernelsBy(context, "phase", "Phase"),
		gpu && message("A name leads to its intervals on the timeline, where keys n and p step " +
			"through them."),
	];
});

export const collectivesPage = documentPage("collectives", (collectives) => {
	if (!collectives.collectives.length) {
		return verdict("note", collectives.no_calls
			? `No calls of NCCL: ${collectives.no_calls}.` : "No calls of NCCL were recorded.");
	}
	const { total_ns, overlapped_ns } = collectives.kernels;
	return [
		total_ns > 0 && el("p", {}, `NCCL's kernels ran ${nsText(total_ns)}, ` +
			`${shareText(overlapped_ns, total_ns)} of it while other kernels ran.`),
		el("p", {}, `${numberOf(collectives.calls, "call")} of NCCL, ` +
			`${bytesText(collectives.bytes)}.`),
		!collectives.has_gpu_time && noGpuTime(collectives),
		section("Collectives", makeTable({ name: "collectives", rows: collectives.collectives,
			columns: [
				words("Operation", "operation"), count("Communicator", "communicator"),
				bytes("Message", "message_bytes"), count("Calls", "count"),
				perStep("A step"), time("Total", "total_ns", { has_bar: true }),
				time("Median", "median_ns"),
				share("Overlap", "overlap", { title: "share of the time in which other kernels ran" }),
				figure("Algorithm GB/s", "algorithm_gb_s"), figure("Bus GB/s", "bus_gb_s"),
				words("Note", (row) => row.why ?? ""),
			] })),
		section("Communicators", makeTable({ name: "communicators", rows: collectives.communicators,
			columns: [
				words("Communicator", ({ number }) => String(number)),
				words("Rank", ({ rank, ranks }) => `${rank} of ${ranks}`),
				words("GPU", ({ device }) => String(device ?? "")),
			] })),
	];
});

/** A metric's name has its unit. @param {number} value @param {Json} row */
const metricText = (value, { name }) => (/\.pct_of_/.test(name) ? `${value.toFixed(1)}%`
	: /bytes.*\.per_second$/.test(name) ? `${bytesText(value)}/s` : countText(value));

/** What limits the kernel with the longest launch. @param {Json} row */
const boundText = ({ name, bound, roof }) => `${name} takes longest a launch: ` +
	(bound === "neither" ? "not bound by SM, DRAM or L2" : `bound by ${bound}`) +
	`, ${decimals(100 * roof, 0)}% of its roof.`;

export const countersPage = documentPage("counters", (counters) => {
	if (!counters.has_counters && !counters.gpus.length) {
		return verdict("note", counters.why ? `Counters are missing: ${counters.why}.`
			: "Hardware counters were not recorded. Record with gpuprof run --metrics.");
	}
	const [first] = counters.kernels;
	const is_known = first && first.time_ns !== null && first.bound && first.bound !== "unknown";
	return [
		is_known && el("p", {}, boundText(first)),
		counters.why && message(`${counters.why}.`),
		counters.kernels.length > 0 && section("Kernels", makeTable({ name: "counters",
			rows: counters.kernels, columns: [
				words("Kernel", "name"), count("Measured", "count"), time("Time", "time_ns"),
				share("SM", "compute", { has_bar: true, title: "throughput, of the highest" }),
				share("DRAM", "memory", { has_bar: true, title: "throughput, of the highest" }),
				share("L2", "l2", { has_bar: true, title: "throughput, of the highest" }),
				share("Active warps", "active_warps"),
				bytes("DRAM bytes", "dram_bytes"), figure("Operations a byte", "intensity"),
				share("Of the roof", "roof"), words("Bound by", (row) => row.bound ?? ""),
			] })),
		counters.gpus.map((/** @type {Json} */ gpu) => section(`GPU ${gpu.device} over time`,
			makeTable({ name: "gpu-counters", rows: gpu.metrics, columns: [
				words("Metric", "label"), count("Mean", "mean", { text: metricText }),
				count("Median", "median", { text: metricText }),
				count("Highest", "max", { text: metricText }),
			], open: (metric) => {
				const curve = sparkline(gpu.samples.map((/** @type {Json} */ sample) =>
					sample.values[gpu.metrics.indexOf(metric)]), metric.label);
				return el("div", {}, curve, el("span", { class: "note" },
					` over ${numberOf(gpu.samples.length, "sample")} `), saveSpark(curve, "counter"));
			} }))),
	];
});

const PARTS = /** @type {Record<string, string>} */ ({
	contexts: "contexts made", module_loads: "module loads",
	instantiated_graphs: "graphs instantiated", captures: "graph captures", compile: "torch.compile",
	first_step: "first step, without other rows", copies: "copies and waits",
	before_first_call: "before CUDA: imports, cuInit", other: "other host work",
});

export const startupPage = documentPage("startup", (startup) => {
	if (startup.why) return verdict("note", `The start has no report: ${startup.why}.`);
	const whole = startup.to_ns - startup.from_ns;
	const timed = startup.parts.filter((/** @type {Json} */ part) => part.took_ns !== null);
	return [
		el("p", {}, `${nsText(whole)} from ` +
			`${startup.has_program_start ? "the start of the program" : "the first recorded call"} to ` +
			`${startup.has_first_step ? "the end of the first step" : "the end of the recording"}.`),
		timedBar(timed, whole),
		makeTable({ name: "startup", rows: startup.parts, columns: [
			words("Part", (part) => PARTS[part.part] ?? part.part, { color: (part) =>
				(timed.includes(part) ? bandColor(timed.indexOf(part)) : null) }),
			time("At", (part) => part.at_ns - startup.from_ns),
			time("Time", "took_ns", { has_bar: true }),
			time("Share", "took_ns", { text: (ns) => shareText(ns, whole) }),
			count("Count", (part) => part.count || null),
			bytes("Bytes", (part) => part.bytes || null),
		] }),
		startup.module_loads.length > 0 && section("Lines that load modules", makeTable({
			name: "module-loads", rows: startup.module_loads, open: openStack, columns: [
				words("Line", "key"), count("Loads", "count"), time("Time", "took_ns", { has_bar: true }),
				time("Longest", "longest_ns"), count("From PTX", "ptx"),
				bytes("Bytes", (row) => row.bytes || null),
			] })),
	];
});

/** @param {Json[]} parts @param {number} whole */
const timedBar = (parts, whole) => amountBar(parts.map((part, k) => ({
	text: PARTS[part.part] ?? part.part, bytes: part.took_ns, color: bandColor(k) })), whole,
{ has_list: false, textOf: nsText });

export const settingsPage = documentPage("info", (info, { report }) => [
	section("The job", facts([
		["command", info.command], ["process", `${info.pid} on ${info.hostname}`],
		["started", new Date(info.start_unix_ns / 1e6).toISOString()],
		["duration", nsText(info.duration_ns)], ["threads", countText(info.threads)],
		["driver", info.origin.driver && `CUDA ${info.origin.driver}`],
		["PyTorch", info.origin.pytorch ?? "not recorded"],
		["allocator settings", info.allocator_settings],
	])),
	section("Devices", makeTable({ name: "devices", rows: info.devices, columns: [
		count("GPU", "device"), words("Name", (row) => row.name ?? "not known"),
		bytes("Memory", "total_bytes"), words("UUID", (row) => row.uuid ?? ""),
	] })),
	section("The recording", facts([
		["file", info.file], ["format", info.format],
		["size", `${bytesText(info.file_bytes)}, ${countText(info.bytes_per_event)} bytes an event`],
		["has", info.has.map((/** @type {string} */ text) => text.replace(/_/g, " ")).join(", ")],
		["stacks", info.stacks && (info.stacks_off_by ? `off by ${info.stacks_off_by}`
			: `${countText(info.stacks?.different)} different ones`)],
		["no Python frames", info.stacks?.no_python], ["no native frames", info.stacks?.no_native],
		["names", info.stacks?.native_frames_looked_up > 0 &&
			`${countText(info.stacks?.native_frames_named)} of ` +
			`${countText(info.stacks?.native_frames_looked_up)} native frames`],
		["NVTX ranges", info.ranges?.nvtx], ["PyTorch's ranges", info.ranges?.torch],
		["allocator details", info.allocator_why],
		["captured", info.captured?.rule], ["rings", info.ring_place],
		["self-check", info.self_check &&
			`${countText(info.self_check?.framework_events)} events compared with ` +
			`PyTorch's totals: ${countText(info.self_check?.mismatches)} mismatches, ` +
			`${countText(info.self_check?.anomalies)} anomalies`],
	])),
	section("Events", makeTable({ name: "events", sort: 1, limit: 15,
		rows: Object.entries(info.events).map(([kind, number]) => ({ kind, number })),
		columns: [
			words("Kind", (row) => row.kind.replace(/_/g, " ")),
			count("Number", "number", { has_bar: true }),
		] })),
	info.damages.length > 0 && section("Damage", makeTable({ name: "damage", rows: info.damages,
		columns: [count("Byte", "offset"), count("Block", "block"), words("Damage", "what")] })),
	section("This report", makeTable({ name: "recordings", rows: report.recordings, columns: [
		words("Recording", "file"),
		count("Allocations", (row) => row.lives?.count),
		yesNo("Has all", (row) => row.lives && !row.lives.left_out),
		words("Missing", (row) => Object.entries(row.missing).map(([name, why]) =>
			`${name}: ${why}`).join("; ")),
	] })),
]);
