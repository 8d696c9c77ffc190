/** The first page: the answer in plain English, each item with its page and its command. */
import { copyCommand, el, message } from "./dom.js";
import { atLeastText, bytesText, countText, nsText, numberOf, shareText } from "./amounts.js";
import { bytes, count, makeTable, stackList, words } from "./table.js";
import { roleColor } from "./palette.js";
import { keyChoices, roleText, withoutFolders } from "./keys.js";
import { amountBar } from "./bar.js";
import { saveSpark, sparkline } from "./spark.js";
import { figuresTable, findingsOf, unreadableList } from "./ranks.js";
import { shortNames } from "./ranks_plot.js";
import { firstAndLast } from "./steps.js";

/** @typedef {import("./report.js").Json} Json */
/** @typedef {import("./main.js").Context} Context */
/** @typedef {import("./report.js").Recording} Recording */

/** @param {Context} context */
export function overviewPage(context) {
	const { recording, report } = context;
	const { info } = recording.documents;
	return el("div", { class: "overview" }, unreadableList(report),
		report.ranks && sideBySide(context, report.ranks),
		info ? [headline(context, info), losses(context)] : missingCard(recording, "info"),
		el("div", { class: "cards" }, CARDS.map((make) => {
			try {
				return info || !CARDS_OF_INFO.includes(make) ? make(context, info) : null;
			} catch (error) {
				console.warn(error);
				return message("This part cannot be shown: its document is damaged.", "bad");
			}
		})));
}

/** In the order of the page.
 * @type {((context: Context, info: Json) => import("./dom.js").Child)[]} */
const CARDS = [
	peaksCard, oomCard, leaksCard, rolesCard, holdersCard, fragCard, phasesCard, lineCard, runCard,
];
/** Those that need the document of `gpuprof info`.
 * @type {typeof CARDS} */
const CARDS_OF_INFO = [peaksCard, lineCard, runCard];

/** @param {Context} context @param {string} title @param {string} page @param {string} document
 * @param {...import("./dom.js").Child} children */
function card({ recording, link }, title, page, document, ...children) {
	return el("section", { class: "card" },
		el("h2", {}, el("a", { href: link(page) }, title)), ...children,
		el("p", { class: "actions" }, el("a", { href: link(page) }, "details"),
			copyCommand(recording.commands[document])));
}

/** A card for a document that was not made; null if it was.
 * @param {Recording} recording @param {string} document */
function missingCard(recording, document) {
	if (recording.documents[document]) return null;
	const reason = recording.missing[document] ?? "it is not in this report";
	return el("p", { class: "note" }, `No figures of gpuprof ${document}: ${reason}.`);
}

/** @param {string} kind good, warn, bad or note @param {string} text */
const verdict = (kind, text) => el("p", { class: `verdict ${kind}` }, text);

/** Of several recordings, the name of this one comes first. @param {Context} context
 * @param {Json} info */
function headline({ report, number }, info) {
	const devices = info.devices.map((/** @type {Json} */ device) =>
		`GPU ${device.device} ${device.name ?? ""}`.trim()).join(", ") || "no GPU";
	return el("div", { class: "headline" },
		el("h1", {}, report.recordings.length > 1 &&
			`${shortNames(report.recordings.map(({ file }) => file))[number]}: `,
		info.command || info.file),
		el("p", {}, [`ran ${nsText(info.duration_ns)}`, devices, info.hostname,
			info.origin.pytorch && `PyTorch ${info.origin.pytorch}`]
			.filter(Boolean).join(" · ")));
}

/** Losses, gaps and damage, always first. @param {Context} context @param {Json} info */
function lossTexts({ recording }, info) {
	const { lost } = info;
	const lives = recording.lives;
	const texts = [];
	const events = lost.memory + lost.launch + lost.other;
	if (events) {
		texts.push(`${numberOf(events, "event")} ${events === 1 ? "was" : "were"} lost: ` +
			`${countText(lost.memory)} of memory, ${countText(lost.launch)} of launches, ` +
			`${countText(lost.other)} of other kinds. ` +
			(lost.memory ? "Figures of memory may be wrong." : "Figures of memory are exact."));
	}
	if (info.damaged) {
		const [first] = info.damages;
		texts.push("The recording is damaged. " + (first
			? `The first damaged place: ${first.what}, at byte ${countText(first.offset)}.` : ""));
	}
	if (!info.complete) {
		texts.push("The end of the recording is missing. " + (info.rest
			? `If the file ${info.rest} still exists, move it beside the recording and write this ` +
				"report again." : ""));
	}
	if (info.gaps.length) {
		texts.push(`Recording paused or began late: ${numberOf(info.gaps.length, "time")}, ` +
			`last until ${nsText(info.gaps.at(-1))}. Events of that time are missing, so peaks are ` +
			"at least those shown.");
	}
	if (info.kept_from_ns > 0) {
		texts.push(`Single events before ${nsText(info.kept_from_ns)} were overwritten. ` +
			"Peaks cover the whole run.");
	}
	if (lives?.left_out) {
		texts.push(`The timeline leaves out ${numberOf(lives.left_out, "allocation")} ` +
			`${lives.shorter_than_ns === null ? "with short lives"
				: `that lived less than ${nsText(lives.shorter_than_ns)}`}.`);
	}
	const mismatches = info.self_check?.mismatches ?? 0;
	if (mismatches) {
		texts.push(`${countText(mismatches)} of ${countText(info.self_check.framework_events)} ` +
			"totals differ from those that PyTorch reported.");
	}
	return texts;
}

/** @param {Context} context */
function losses(context) {
	return lossList(context) ??
		verdict("good", "The recording is complete, without losses, gaps or damage.");
}

/** Null: no events are missing, or no figures are known. @param {Context} context */
export function lossList(context) {
	const { info } = context.recording.documents;
	const texts = info ? lossTexts(context, info) : [];
	return texts.length ? el("ul", { class: "losses" }, texts.map((text) => el("li", {}, text)))
		: null;
}

/** @param {Context} context @param {Json} info */
function peaksCard(context, info) {
	const total = new Map(info.devices.map((/** @type {Json} */ device) =>
		[device.device, device.total_bytes]));
	const place = (/** @type {Json} */ peak) =>
		peak.device === null ? "host" : `GPU ${peak.device}`;
	return card(context, "Peaks", "timeline", "info", info.peaks.length
		? makeTable({ name: "peaks", rows: info.peaks, columns: [
			words("Where", place),
			words("Memory", "of"),
			bytes("Peak", "peak_bytes", { text: (value, peak) =>
				(peak.at_least ? "at least " : "") + bytesText(value) }),
			words("Of the GPU", (peak) => total.get(peak.device)
				? shareText(peak.peak_bytes, total.get(peak.device)) : "", { is_number: true }),
			words("At", "peak_at_ns", { text: nsText, is_number: true, link: (peak) =>
				peak.peak_at_ns < info.kept_from_ns ? null
					: context.link("moment", { t: peak.peak_at_ns, device: peak.device, of: peak.of }) }),
		] })
		: verdict("note", "No memory of a GPU was recorded."));
}

/** Roles of a device's blocks at the peak, from `gpuprof timeline --by role`. Null: not known.
 * @param {Context} context @param {number} device */
function rolesAtPeak({ recording, link }, device) {
	const { timeline } = recording.documents;
	const entry = timeline?.devices.find((/** @type {Json} */ one) => one.device === device);
	const at = entry?.roles?.at_ns.indexOf(entry.allocated_peak_at_ns) ?? -1;
	if (at < 0 || !entry.allocated_peak_bytes) return null;
	return {
		at_ns: entry.allocated_peak_at_ns, bytes: entry.allocated_peak_bytes,
		parts: entry.roles.groups.map((/** @type {Json} */ group) => ({
			text: roleText(group.key), bytes: group.bytes[at], color: roleColor(group.key, 0),
			is_unknown: group.key === "unknown",
			href: link("moment", { t: entry.allocated_peak_at_ns, device, by: "role" }),
		})).sort((/** @type {Json} */ a, /** @type {Json} */ b) => b.bytes - a.bytes),
	};
}

/** @param {Context} context */
function rolesCard(context) {
	const { documents, lives } = context.recording;
	const keys = lives ? keyChoices(lives).filter(([key]) => key !== "role") : [];
	const found = (documents.info?.devices ?? []).flatMap((/** @type {Json} */ { device }) => {
		const roles = rolesAtPeak(context, device);
		return roles ? [{ device, ...roles }] : [];
	});
	return card(context, "Memory at the peak, by role", "moment", "timeline", found.length
		? found.map((/** @type {Json} */ { device, at_ns, bytes: size, parts }) => el("div", {},
			el("p", {}, `GPU ${device}: ${bytesText(size)} allocated at `,
				el("a", { href: context.link("moment", { t: at_ns, device }) }, nsText(at_ns))),
			parts.every((/** @type {Json} */ part) => part.is_unknown || !part.bytes)
				? message("No role is known.") : amountBar(parts, size),
			keys.length > 0 && el("p", {}, "The same memory ", keys.map(([key, text], k) => [
				k > 0 && " · ",
				el("a", { href: context.link("moment", { t: at_ns, device, by: key }) }, text)]))))
		: missingCard(context.recording, "timeline") ?? verdict("note",
			documents.info?.peaks.some((/** @type {Json} */ peak) => peak.of === "allocated")
				? "Not known: the events of the peak were overwritten."
				: "No roles are known: PyTorch's blocks were not recorded."));
}

/** @param {Context} context */
function holdersCard(context) {
	const { peak } = context.recording.documents;
	if (!peak) return card(context, "Code that holds the peak", "moment", "peak",
		missingCard(context.recording, "peak"));
	/** @param {Json} curve */
	const is_first = (curve) => curve.device !== null && curve.of ===
		(peak.curves.some((/** @type {Json} */ one) => one.of === "allocated" &&
			one.device === curve.device) ? "allocated" : "driver");
	const shown = peak.curves.filter(is_first);
	return card(context, "Code that holds the peak", "moment", "peak", shown.length
		? shown.map((/** @type {Json} */ curve) => makeTable({
			name: "holders", limit: 5, rows: curve.groups, columns: [
				words(`GPU ${curve.device}, ${curve.of}`, "key"),
				bytes("Bytes", "bytes", { has_bar: true }),
				bytes("Share", "bytes", { text: (value) => shareText(value, curve.live_bytes) }),
				count("Allocations", "count"),
			], open: (row) => stackList(row.stack, row.why) }))
		: verdict("note", "No memory of a GPU was recorded."));
}

/** The answer for an OOM: that of the first one of its kind.
 * @param {Json[]} ooms @param {Json} one */
export const answerOf = (ooms, one) =>
	one.answer ?? ooms.find(({ number }) => number === one.like)?.answer ?? { advice: [] };

/** The answer where no OOM was recorded. Memory surely did not run out if no events are missing.
 * @param {Context} context */
export function noOom({ recording: { documents: { info, oom } } }) {
	const is_whole = oom.complete && (info ? info.ooms.all_recorded : !oom.damaged &&
		!oom.gaps.length && !oom.uncertain.length && !oom.lost.memory && !oom.kept_from_ns);
	const overwritten = info?.ooms.overwritten ?? 0;
	return is_whole ? verdict("good", "Memory did not run out.")
		: verdict("note", "No OOM was recorded, but events are missing." + (overwritten ? " " +
			`${numberOf(overwritten, "OOM")} ${overwritten === 1 ? "was" : "were"} overwritten.` : ""));
}

/** @param {Context} context */
function oomCard(context) {
	const { oom } = context.recording.documents;
	if (!oom) return card(context, "Out of memory", "oom", "oom",
		missingCard(context.recording, "oom"));
	const last = oom.ooms.at(-1);
	const failed = oom.failed_cuda_calls
		? `${numberOf(oom.failed_cuda_calls, "CUDA call")} failed for lack of memory.` : "";
	if (!last) {
		return card(context, "Out of memory", "oom", "oom",
			noOom(context), failed && el("p", {}, failed));
	}
	const answer = answerOf(oom.ooms, last);
	return card(context, "Out of memory", "oom", "oom",
		verdict("bad", oom.ooms.length === 1 ? "Memory ran out."
			: `Memory ran out ${countText(oom.ooms.length)} times. The last one:`),
		el("dl", {},
			el("dt", {}, "at"), el("dd", {}, el("a", { href: context.link("moment",
				{ t: last.at_ns, device: last.device }) }, nsText(last.at_ns))),
			el("dt", {}, "requested"),
			el("dd", {}, `${bytesText(last.bytes)} by ${answer.requester ?? "unknown code"}`),
			last.verdict?.missing_bytes > 0 &&
				[el("dt", {}, "missing"), el("dd", {}, atLeastText(last.verdict.missing_bytes))],
			el("dt", {}, "cause"), el("dd", {}, answer.cause ?? "not known"),
			answer.advice.length > 0 &&
				[el("dt", {}, "try"), el("dd", {}, answer.advice[0].text)]));
}

/** Kinds of verdicts by the names of `gpuprof leaks`. */
export const LEAK_KINDS = /** @type {Record<string, string>} */ (
	{ leak: "bad", suspected: "warn", none: "good", unknown: "note" });

/** @param {Context} context */
function leaksCard(context) {
	const { leaks } = context.recording.documents;
	if (!leaks) return card(context, "Leaks", "leaks", "leaks",
		missingCard(context.recording, "leaks"));
	return card(context, "Leaks", "leaks", "leaks",
		verdict(LEAK_KINDS[leaks.verdict] ?? "note", leaks.answer),
		leaks.suspects.length + leaks.objects.length > 0 && el("ol", {},
			[...leaks.suspects, ...leaks.objects].slice(0, 3).map((/** @type {Json} */ suspect) =>
				el("li", {}, `${growthText(suspect, context)}: ${placeText(suspect)}`))));
}

/** Were several GPUs recorded? Then a suspect of a leak needs the name of its own.
 * @param {Context} context */
export const hasManyGpus = ({ recording }) =>
	recording.documents.info?.devices.length > 1;

/** "512 KiB a step on GPU 1", or "1 stream a step" of objects without bytes.
 * @param {Json} suspect @param {Context} context */
export const growthText = ({ bytes_per_step, count_per_step, kind, device }, context) =>
	(bytes_per_step ? bytesText(bytes_per_step)
		: numberOf(count_per_step, kind.replace(/_/g, " "))) + " a step" +
	(hasManyGpus(context) && device !== null ? ` on GPU ${device}` : "");

/** The place of a suspect, as `gpuprof leaks` prints it, without folders. @param {Json} suspect */
export const placeText = ({ place }) => place ? withoutFolders(place) : "no stack was recorded";

/** Causes of unused memory, as gpuprof-frag(1) describes them. */
export const CAUSES = /** @type {Record<string, string>} */ ({
	pending: "freed, but another stream still uses it",
	private_pool: "in a private pool of a graph",
	other_stream: "in a segment of another stream",
	small_pool: "in the pool of small blocks",
	leftover: "in gaps of at most 1 MiB",
	driver_granularity: "on a page with a live block",
	fully_free: "in fully free segments, which PyTorch can release",
	inactive_split: "in gaps between blocks of a segment",
});

/** Share of reserved memory that is unused, from which it is marked. It changes a colour only. */
const UNUSED_TO_MARK = 0.2;

/** @param {Context} context */
function fragCard(context) {
	const { frag } = context.recording.documents;
	if (!frag) return card(context, "Fragmentation", "frag", "frag",
		missingCard(context.recording, "frag"));
	const devices = frag.devices.filter((/** @type {Json} */ device) => device.reserved_bytes > 0);
	if (!devices.length) {
		return card(context, "Fragmentation", "frag", "frag",
			verdict("note", frag.not_known ?? "PyTorch reserved no memory."));
	}
	return card(context, "Fragmentation", "frag", "frag", devices.map(
		(/** @type {Json} */ device) => {
			const [cause, most] = Object.entries(device.causes).sort(([, a], [, b]) => b - a)[0];
			const part = device.unused_bytes / device.reserved_bytes;
			return [
				verdict(part > UNUSED_TO_MARK ? "warn" : "good",
					`GPU ${device.device}: ${bytesText(device.unused_bytes)} of ` +
					`${bytesText(device.reserved_bytes)} reserved memory is unused ` +
					`(${shareText(device.unused_bytes, device.reserved_bytes)}), at ${nsText(frag.at_ns)}.`),
				el("p", {}, el("a", { href: context.link("moment", { t: frag.at_ns,
					device: device.device }) }, "show what was live")),
				most > 0 && el("p", {}, `Most of it is ${CAUSES[cause] ?? cause}: ${bytesText(most)}.`),
			];
		}));
}

/** Where a peak is, by the phase that `gpuprof phases` prints. @param {string | null} phase */
export const phaseText = (phase) => phase === "(outside of any range)" ? "outside of any range"
	: `in ${phase ?? "a phase that is not known"}`;

/** @param {Context} context */
function phasesCard(context) {
	const { phases } = context.recording.documents;
	if (!phases) return card(context, "Phases", "phases", "phases",
		missingCard(context.recording, "phases"));
	const is_known = phases.has_stacks || phases.phases.some(
		(/** @type {Json} */ { style }) => style !== "outside");
	const peaks = is_known ? phases.peaks ?? [] : [];
	return card(context, "Phases", "phases", "phases", peaks.length
		? peaks.map((/** @type {Json} */ peak) => [
			el("p", {}, `GPU ${peak.device}: the peak of ${peak.of} memory is `,
				el("strong", {}, phaseText(peak.phase)), ". Memory at the peak, ",
				el("a", { href: context.link("moment", { t: peak.at_ns, device: peak.device, of: peak.of,
					by: "phase" }) }, nsText(peak.at_ns)), ":"),
		makeTable({ name: "phases-at-peak", limit: 5, rows: peak.phases, columns: [
			words("Allocated in phase", (row) => row.phase ?? "not known"),
			bytes("Bytes", "bytes", { has_bar: true }),
		] })])
		: verdict("note", "No phases are known: neither ranges nor stacks were recorded."));
}

/** @param {Context} context @param {Json} info */
function lineCard(context, info) {
	const line = info.number_line;
	if (!line) return card(context, "All memory of the GPU", "frag", "info",
		verdict("note", "The driver's count of free memory was not recorded."));
	const owners = Object.entries(line.owners);
	return card(context, `All memory of GPU ${line.device}`, "frag", "info",
		el("p", {}, "At ", el("a", { href: context.link("moment", { t: line.at_ns,
			device: line.device, of: "driver" }) }, nsText(line.at_ns)),
		`: ${bytesText(line.total_bytes)} = ` +
			[`${bytesText(line.free_bytes)} free`,
				...owners.map(([owner, size]) => `${bytesText(size)} ${owner}`)].join(" + ") +
			(line.unattributed_bytes < 0
				? ` - ${bytesText(-line.unattributed_bytes)} missing in the driver's count`
				: ` + ${bytesText(line.unattributed_bytes)} unattributed`)),
		amountBar([
			...owners.map(([text, size], k) => ({ text, bytes: size, color: roleColor("-", k) })),
			{ text: "unattributed", bytes: line.unattributed_bytes,
				color: roleColor("unattributed", 0) },
			{ text: "free", bytes: line.free_bytes, color: roleColor("free", 0) },
		], line.total_bytes));
}

/** @param {Context} context @param {Json} info */
function runCard(context, info) {
	const { steps } = info;
	const ends = firstAndLast(context);
	return card(context, "The run", "settings", "info",
		el("dl", {},
			el("dt", {}, "steps"),
			el("dd", {}, steps.count && steps.p50_ns !== null
				? `${countText(steps.count)} by ${steps.source}, median ${nsText(steps.p50_ns)}, ` +
					`99% within ${nsText(steps.p99_ns)}, ${countText(steps.per_second)} a second`
				: steps.why ?? "none were found", stepDurations(steps),
			ends && el("div", {}, el("a", { href: context.link("moment", {
				t: ends.first.from_ns, u: ends.last.from_ns }) }, "compare memory at two steps"))),
			el("dt", {}, "launches"),
			el("dd", {}, `${countText(info.launches)} of kernels, ` +
				`${countText(info.graph_launches)} of graphs`),
			el("dt", {}, "recording"),
			el("dd", {}, `${bytesText(info.file_bytes)}, ${numberOf(info.threads, "thread")}, ` +
				`process ${info.pid}`)));
}

/** How long each step took. @param {Json} steps */
function stepDurations({ begin_ns, warmup, p50_ns }) {
	const begins = begin_ns?.slice(warmup) ?? [];
	if (begins.length < 4) return null;
	const durations = begins.slice(1).map((/** @type {number} */ at, /** @type {number} */ k) =>
		at - begins[k]);
	const longest = durations.reduce((/** @type {number} */ most, /** @type {number} */ one) =>
		Math.max(most, one), 0);
	const curve = sparkline(durations, `durations of steps: median ${nsText(p50_ns)}`);
	return el("div", {}, curve, el("span", { class: "note" },
		` durations after the warm-up, up to ${nsText(longest)} `), saveSpark(curve, "steps"));
}

const RANKS_SHOWN = 16;
/** @param {Context} context @param {import("./report.js").Ranks} ranks */
const sideBySide = ({ report, link }, ranks) => el("section", { class: "card wide" },
	el("h2", {}, el("a", { href: link("ranks") }, "All recordings")), findingsOf(report, ranks),
	figuresTable(report, ranks, { limit: RANKS_SHOWN }),
	el("p", { class: "actions" }, el("a", { href: link("ranks") }, "details"),
		copyCommand(ranks.commands.timeline)));
