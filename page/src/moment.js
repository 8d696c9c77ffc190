/** Live memory of a moment: table by key, flame graph, segments; the change to a second one. */
import { copyCommand, el, message, select } from "./dom.js";
import { bytesText, countText, nsText, numberOf, shareText } from "./amounts.js";
import { amountBar } from "./bar.js";
import { fitsView } from "./fits_view.js";
import { flameGraph, moduleFrames, moduleLabel, stackFrames } from "./flame.js";
import {
	BANDS, defaultKey, distinctNames, keyChoices, keyText, nameOf, stackLines, sumByKey,
} from "./keys.js";
import { addressFault, selectGroups } from "./lives.js";
import { lossList } from "./overview.js";
import { OTHER_COLOR, bandColor, roleColor } from "./palette.js";
import { hashOf } from "./route.js";
import { segmentMap } from "./segment_map.js";
import { momentName, stepControls, stepsOf } from "./steps.js";
import { bytes, change, count, makeTable, words } from "./table.js";
import { CURVES, memoryChoices } from "./timeline.js";

/** @typedef {import("./main.js").Context} Context */
/** @typedef {import("./report.js").LivesHeader} LivesHeader */
/** @typedef {{ id: number, bytes: number, count: number }} Sum */

/** @param {Context} context */
export async function momentPage(context) {
	const { recording, values } = context;
	const header = recording.lives;
	if (!header) {
		return message("This report has no data about single allocations, so the memory of a moment " +
			"is not known. " + (recording.missing.lives ?? ""));
	}
	const fault = addressFault(header, context);
	if (fault) return message(fault, "verdict note");
	const [lives, curves, capacities] = await Promise.all([context.lives(), context.curves(),
		context.capacities()]);
	const device = Number(values.device ?? header.devices[0] ?? 0);
	const choices = memoryChoices(header);
	const memory = choices.find(([id]) => id === values.of) ?? choices[0];
	const keys = keyChoices(header);
	const by = keys.find(([key]) => key === values.by)?.[0] ?? defaultKey(header);
	const named = namedMoments(context, header, device);
	const moment = Number(values.t ?? named[0][0]);
	const second = values.u ? Number(values.u) : null;
	const steps = stepsOf(header);
	const exact = curves.find(({ name, device: of }) => name === memory[0] &&
		(of === device || name === "pinned"));
	const is_selected = selectGroups(header, device, [...memory[2]]);
	const sums = (/** @type {number} */ at, /** @type {typeof by} */ key) =>
		sumByKey(header, lives, at, is_selected, key);
	const first = sums(moment, by);
	const total = totalOf(first);

	const order = new Map(first.map(({ id }, k) => [id, k]));
	const colorOf = (/** @type {number} */ id) => {
		const place = order.get(id) ?? BANDS;
		if (by === "role") return roleColor(header.text[id], place);
		return place < BANDS ? bandColor(place) : OTHER_COLOR;
	};
	const go = (/** @type {Record<string, string | null>} */ more) => {
		location.hash = hashOf("moment", { ...values, ...more });
	};
	const choose = (/** @type {string} */ name, /** @type {string | null} */ chosen,
		/** @type {string} */ label, /** @type {[string, string][]} */ extra) => {
		const known = named.some(([at]) => at === chosen);
		/** @type {[string, string][]} */
		const own = chosen && !known ? [[chosen, momentName(steps, Number(chosen))]] : [];
		return select([...extra, ...own, ...named],
		chosen ?? "", (at) => go({ [name]: at || null }), label);
	};

	const fits = fitsView(recording, lives, device, moment, capacities.get(device),
		curves.find(({ name, device: of }) => name === "allocated" && of === device));
	if (second !== null) fits.line?.prepend("At A: ");
	const near = neighbours(lives, is_selected, moment);
	const step = (/** @type {string} */ label, /** @type {number | null} */ at) => at === null ? null
		: el("a", { href: hashOf("moment", { ...values, t: at }), title: nsText(at) }, label);

	return el("div", { class: "moment-page" }, lossList(context),
		el("div", { class: "controls" },
			el("label", {}, "moment A ", choose("t", String(moment), "moment A", [])),
			el("label", {}, "compare with B ", choose("u", second === null ? null : String(second),
				"moment B", [["", "no moment"]])),
			header.devices.length > 1 && select(header.devices.map((one) =>
				[String(one), `GPU ${one}`]), String(device), (one) => go({ device: one }), "device"),
			select(choices.map(([id, text]) => [id, text]), memory[0], (of) => go({ of }), "memory"),
			select(keys, by, (key) => go({ by: key }), "group by"),
			el("span", { class: "steps" },
				step("◂ event before", near.before), step("event after ▸", near.after)),
			el("a", { href: hashOf("timeline", { ...values, t: moment }) }, "show in the timeline"),
			copyCommand(momentCommand(recording, { moment, second, of: memory[0], by, device }))),
		stepControls(context, exact, go),
		el("h1", { title: `${total} bytes at ${moment} ns` }, second === null
			? `At ${nsText(moment)}: ${bytesText(total)} of ${memory[1]} are live, in ` +
				numberOf(first.reduce((sum, row) => sum + row.count, 0), "allocation")
			: `From A (${momentName(steps, moment)}) to B (${momentName(steps, second)}): ` +
				`${grownText(totalOf(sums(second, by)) - total)} of ${memory[1]}`),
		el("p", { class: "curve-values" }, second !== null && "At A: ",
			curves.filter((curve) => curve.device === device || curve.name === "pinned")
			.sort((a, b) => CURVES.indexOf(a.name) - CURVES.indexOf(b.name))
			.map(({ name, curve }) => el("span", { class: `curve ${name}` },
			`${name} ${bytesText(curve.range(moment, moment + 1)?.high ?? 0)}`))),
		fits.line,
		notRecorded(header, exact, moment, total),
		second === null
			? [amountBar(barParts(header, by, first, colorOf), total, { has_list: false }),
				table(header, by, first, total, colorOf)]
			: comparison(header, by, first, sums(second, by), colorOf),
		by === "module" && flame(context, "module", first, second === null ? null : sums(second, by)),
		flame(context, "stack", sums(moment, "stack"), second === null ? null : sums(second, "stack")),
		el("h2", {}, `PyTorch's segments at ${nsText(moment)}, coloured by ${nameOf(by)}`),
		segmentMap(header, lives, device, moment, fits.pins,
			(life) => colorOf(header.groups[by][lives.group[life]]),
			(life) => `${keyText(header, by, header.groups[by][lives.group[life]])}: ` +
				`block 0x${lives.address[life].toString(16)}, ${bytesText(lives.bytes[life])}, since ` +
				`${nsText(lives.birth[life])}; ` +
				stackLines(header, header.groups.stack[lives.group[life]]).slice(0, 3).join(" < ")),
		fits.parts);
}

/** Keys that the commands have as well. */
const COMMAND_KEYS = new Set(["role", "stack", "operator", "line", "module", "library", "range"]);

/** The command that prints the bytes of a moment, or the change from it to a second one. Undefined:
 * no command has this key.
 * @param {import("./report.js").Recording} recording
 * @param {{ moment: number, second: number | null, of: string, by: string, device: number }} at */
export function momentCommand({ commands }, at) {
	const { moment, second, of, by, device } = at;
	const file = /^gpuprof peak --json ([^]*)$/.exec(commands.peak ?? "")?.[1];
	return file && COMMAND_KEYS.has(by) ? `gpuprof ${second === null ? `peak --at ${moment}`
		: `diff --from ${moment} --to ${second}`} --of ${of} ` +
		`--by ${by}${of === "pinned" ? "" : ` --device ${device}`} ${file}` : undefined;
}

/** Moments with a name: peaks, OOMs, the end. The first is the default.
 * @param {Context} context @param {LivesHeader} header @param {number} device
 * @returns {[string, string][]} */
function namedMoments({ recording }, header, device) {
	const { info, oom } = recording.documents;
	const kept = (/** @type {number} */ at) => at >= header.from_ns && at <= header.to_ns;
	/** @type {[string, string][]} */
	const peaks = (info?.peaks ?? [])
		.filter((/** @type {import("./report.js").Json} */ peak) =>
			(peak.device === device || peak.device === null) && kept(peak.peak_at_ns))
		.map((/** @type {import("./report.js").Json} */ peak) =>
			[String(peak.peak_at_ns), `peak of ${peak.of} memory, ${nsText(peak.peak_at_ns)}`]);
	/** @type {[string, string][]} */
	const ooms = (oom?.ooms ?? []).filter((/** @type {import("./report.js").Json} */ one) =>
		kept(one.at_ns)).slice(0, 50).map((/** @type {import("./report.js").Json} */ one) =>
		[String(one.at_ns), `out of memory, ${nsText(one.at_ns)}`]);
	/** @type {[string, string][]} */
	const all = [...peaks, ...ooms, [String(header.to_ns), `the end, ${nsText(header.to_ns)}`]];
	return all.filter(([at], k) => all.findIndex(([other]) => other === at) === k);
}

/** The times of the events before and after a moment. The first is the begin of what is shown.
 * @param {import("./lives.js").Lives} lives @param {Uint8Array} is_selected by group
 * @param {number} moment */
export function neighbours(lives, is_selected, moment) {
	let since = -1;
	let before = -1;
	let after = Infinity;
	const look = (/** @type {number} */ at) => {
		if (at > moment) after = Math.min(after, at);
		else if (at > since) [before, since] = [since, at];
		else if (at > before && at < since) before = at;
	};
	for (let k = 0; k < lives.count; k++) {
		if (!is_selected[lives.group[k]]) continue;
		look(lives.birth[k]);
		look(lives.death[k]);
	}
	return { before: before < 0 ? null : before, after: after === Infinity ? null : after };
}

/** @param {Sum[]} rows */
const totalOf = (rows) => rows.reduce((sum, row) => sum + row.bytes, 0);

/** The difference to the exact curve, if events are missing or were left out.
 * @param {LivesHeader} header @param {import("./report.js").NamedCurve | undefined} curve
 * @param {number} moment @param {number} total */
function notRecorded(header, curve, moment, total) {
	const exact = curve?.curve.range(moment, moment + 1);
	if (!exact || (total >= exact.low && total <= exact.high)) return null;
	const difference = exact.high - total;
	return el("p", { class: "verdict warn" }, difference > 0
		? `${bytesText(difference)} more were live: ${header.left_out
			? "allocations with short lives, which this report leaves out."
			: "their events were not recorded."}`
		: `The allocations below are ${bytesText(-difference)} more than the curve: ` +
			"frees are missing.");
}

/** @param {LivesHeader} header @param {import("./keys.js").Key} by @param {Sum[]} rows
 * @param {(id: number) => string} colorOf */
function barParts(header, by, rows, colorOf) {
	const names = distinctNames(header, by, rows.slice(0, BANDS).map(({ id }) => id));
	const parts = rows.slice(0, BANDS).map(({ id, bytes: size }) =>
		({ text: names(id), bytes: size, color: colorOf(id) }));
	const rest = totalOf(rows.slice(BANDS));
	return rest ? [...parts, { text: `${countText(rows.length - BANDS)} others`, bytes: rest,
		color: OTHER_COLOR }] : parts;
}

/** @param {LivesHeader} header @param {import("./keys.js").Key} by */
const openStack = (header, by) => by !== "stack" ? undefined :
	(/** @type {Sum} */ { id }) => el("ol", { class: "stack" },
		stackLines(header, id).map((line) => el("li", {}, line)));

/** @param {LivesHeader} header @param {import("./keys.js").Key} by @param {Sum[]} rows
 * @param {number} total @param {(id: number) => string} colorOf */
function table(header, by, rows, total, colorOf) {
	const names = distinctNames(header, by, rows.map(({ id }) => id));
	return makeTable({ name: `live-by-${by}`, rows, sort: 1, open: openStack(header, by),
		limit: 20, columns: [
			words(capital(nameOf(by)), (row) => names(row.id),
				{ color: (row) => colorOf(row.id) }),
			bytes("Live", "bytes", { has_bar: true }),
			bytes("Share", "bytes", { text: (value) => shareText(value, total) }),
			count("Allocations", "count"),
		] });
}

/** @param {number} bytes */
const grownText = (bytes) => (bytes === 0 ? "as many bytes"
	: `${bytesText(Math.abs(bytes))} ${bytes > 0 ? "more" : "less"}`);

/** @param {LivesHeader} header @param {import("./keys.js").Key} by @param {Sum[]} first
 * @param {Sum[]} second @param {(id: number) => string} colorOf */
function comparison(header, by, first, second, colorOf) {
	const far = (/** @type {ReturnType<typeof joined>[0]} */ row) => Math.abs(row.bytes - row.before);
	const rows = joined(first, second).sort((a, b) => far(b) - far(a));
	const names = distinctNames(header, by, rows.map(({ id }) => id));
	return makeTable({ name: `change-by-${by}`, rows, open: openStack(header, by), limit: 30,
		columns: [
			words(capital(nameOf(by)), (row) => names(row.id),
				{ color: (row) => colorOf(row.id) }),
			bytes("Live at A", "before"), bytes("Live at B", "bytes"),
			change("Change", (row) => row.bytes - row.before),
			count("Allocations at A", "count_before"), count("Allocations at B", "count"),
		] });
}

/** Sums of two moments by key. @param {Sum[]} first @param {Sum[]} second */
export function joined(first, second) {
	const rows = new Map(first.map(({ id, bytes: size, count: number }) => [id,
		{ id, before: size, count_before: number, bytes: 0, count: 0 }]));
	for (const row of second) {
		rows.set(row.id, { before: 0, count_before: 0, ...rows.get(row.id), ...row });
	}
	return [...rows.values()];
}

/** A flame graph of a moment, or of what grew from it to a second one.
 * @param {Context} context @param {"stack" | "module"} key @param {Sum[]} first
 * @param {Sum[] | null} second */
function flame({ recording }, key, first, second) {
	const header = /** @type {LivesHeader} */ (recording.lives);
	const rows = second ? joined(first, second).filter((row) => row.bytes > row.before)
		.map(({ id, bytes: size, before, count: number, count_before }) =>
			({ id, bytes: size - before, count: Math.max(0, number - count_before) })) : first;
	const has_stacks = key === "module" || rows.some(({ id }) => header.stacks[id].length);
	const off = recording.documents.info?.stacks_off_by;
	return [
		el("h2", {}, `By ${nameOf(key)}${second ? ": memory that grew from A to B" : ""}`),
		second && !rows.length ? message(`No ${nameOf(key)} has more memory at B than at A.`)
			: !has_stacks ? message("This memory has no call stacks" +
				(off ? `: stacks were off by ${off}.` : "."))
				: key === "stack"
					? flameGraph(rows, second ? "grown" : "flame", {
						framesOf: stackFrames(header, false), allFramesOf: stackFrames(header, true) })
					: flameGraph(rows, "modules", {
						framesOf: moduleFrames(header), labelOf: moduleLabel }),
	];
}

/** @param {string} text */
const capital = (text) => text[0].toUpperCase() + text.slice(1);
