/** Keys by which memory is grouped; bands of the timeline: the largest keys and the rest. */
import { bytesText } from "./amounts.js";

/** @typedef {import("./report.js").LivesHeader} LivesHeader */

/** Keys in the order of the select box: property of `groups` and its name on the page. */
export const KEYS = /** @type {const} */ ([
	["role", "role"],
	["stack", "call stack"],
	["operator", "operator"],
	["line", "line of code"],
	["module", "module"],
	["library", "library"],
	["phase", "phase"],
	["range", "range"],
	["pool", "pool"],
]);
/** @typedef {typeof KEYS[number][0]} Key */

/** Keys that divide the memory of the recording. @param {LivesHeader} header
 * @returns {[Key, string][]} */
export const keyChoices = (header) => KEYS.filter(([key]) => key === "role" ||
	new Set(header.groups[key]).size > 1).map(([key, text]) => [key, `by ${text}`]);

/** The key that divides memory at first: the role, or the call stack if no role is known.
 * @param {LivesHeader} header @returns {Key} */
export const defaultKey = ({ groups, text }) => (new Set(groups.stack).size > 1 &&
	groups.role.every((role) => ["", "unknown"].includes(text[role])) ? "stack" : "role");

/** Bands of the timeline; the others are one more band. */
export const BANDS = 15;

/** @param {LivesHeader} header @param {number} frame */
export const frameText = (header, frame) =>
	header.text[header.frames.text[frame]] || "frame without a name";

/** The frames of a stack, innermost first. @param {LivesHeader} header @param {number} stack */
export const stackLines = (header, stack) =>
	header.stacks[stack].map((frame) => frameText(header, frame));

/** A group of each stack; its operator and line name the stack.
 * @type {WeakMap<LivesHeader, Map<number, number>>} */
const groups_of_stacks = new WeakMap();

/** @param {LivesHeader} header @param {number} stack */
function groupOfStack(header, stack) {
	let groups = groups_of_stacks.get(header);
	if (!groups) {
		groups = new Map(header.groups.stack.map((id, group) => [id, group]));
		groups_of_stacks.set(header, groups);
	}
	return groups.get(stack) ?? 0;
}

/** A path without its folders, in a line of code or a frame. @param {string} text */
export const withoutFolders = (text) => text.replace(/(^|\()[^()]*\//, "$1");

/** Frames of Python, or all if a stack has none.
 * @param {LivesHeader} header @param {number} stack */
export function pythonFrames(header, stack) {
	const frames = header.stacks[stack];
	const python = frames.filter((frame) => header.frames.is_python[frame]);
	return python.length ? python : frames;
}

/** The name of a stack: operator, line of code, and the innermost frame if it is another one.
 * @param {LivesHeader} header @param {number} stack */
function stackText(header, stack) {
	const frames = header.stacks[stack];
	if (!frames.length) return "no stack";
	const group = groupOfStack(header, stack);
	const operator = header.text[header.groups.operator[group]];
	const line = header.text[header.groups.line[group]];
	const known_line = /:\d+$/.test(line) ? withoutFolders(line) : "";
	const texts = pythonFrames(header, stack).map((frame) => frameText(header, frame));
	const inner = withoutFolders(texts.find((text) => !text.startsWith("c10::")) ?? texts[0]);
	return [operator.startsWith("no ") || operator === inner ? "" : operator, known_line,
		known_line && inner.includes(known_line) ? inner.replace(/ ?\(?[^ ]*:\d+\)? ?/, "")
			: `${known_line ? "via " : ""}${inner}`].filter(Boolean).join("  ");
}

/** The name of a key. @param {LivesHeader} header @param {Key} key @param {number} id */
export function keyText(header, key, id) {
	if (key === "stack") return stackText(header, id);
	const text = header.text[id];
	if (key === "role") return roleText(text);
	return (key === "line" ? withoutFolders(text) : text) || `no ${nameOf(key)}`;
}

/** Frames that are added to a name, at most. */
const MORE_FRAMES = 3;

/** Names of keys. Call stacks with one name get the frames that differ.
 * @param {LivesHeader} header @param {Key} key @param {number[]} ids */
export function distinctNames(header, key, ids) {
	/** @type {Map<string, number[]>} */
	const same = new Map();
	for (const id of ids) {
		const text = keyText(header, key, id);
		const others = same.get(text);
		if (others) others.push(id);
		else same.set(text, [id]);
	}
	return (/** @type {number} */ id) => {
		const name = keyText(header, key, id);
		if (key !== "stack") return name;
		const frames = pythonFrames(header, id);
		let others = (same.get(name) ?? []).map((other) => pythonFrames(header, other));
		const differing = frames.filter((frame, k) => {
			const equal = others.filter((other) => other[k] === frame);
			const is_other = equal.length < others.length;
			others = equal;
			return is_other;
		});
		return [name, ...differing.slice(0, MORE_FRAMES).map((frame) =>
			withoutFolders(frameText(header, frame)))].join(" < ");
	};
}

/** @param {Key} key */
export const nameOf = (key) => KEYS.find(([id]) => id === key)?.[1] ?? key;

/** @param {string} role */
export const roleText = (role) => (role ? role.replace(/_/g, " ") : "no role");

/** Bands of the largest keys, each by its own peak. Band BANDS is the sum of all others.
 * @param {LivesHeader} header @param {import("./lives.js").Lives} lives
 * @param {{ births: Uint32Array, deaths: Uint32Array }} events @param {Key} key */
export function chooseBands(header, lives, events, key) {
	const ids = header.groups[key];
	const slots = new Map();
	const slotOf = Uint32Array.from(ids, (id) => {
		if (!slots.has(id)) slots.set(id, slots.size);
		return slots.get(id);
	});
	const sums = new Float64Array(slots.size);
	const peaks = new Float64Array(slots.size);
	const { births, deaths } = events;
	for (let born = 0, dead = 0; born < births.length; born++) {
		const life = births[born];
		while (dead < deaths.length && lives.death[deaths[dead]] <= lives.birth[life]) {
			sums[slotOf[lives.group[deaths[dead]]]] -= lives.bytes[deaths[dead]];
			dead++;
		}
		const slot = slotOf[lives.group[life]];
		sums[slot] += lives.bytes[life];
		if (sums[slot] > peaks[slot]) peaks[slot] = sums[slot];
	}
	const largest = [...slots].filter(([, slot]) => peaks[slot] > 0)
		.sort(([, a], [, b]) => peaks[b] - peaks[a]);
	const names = distinctNames(header, key, largest.slice(0, BANDS).map(([id]) => id));
	const bandOfSlot = new Uint8Array(slots.size).fill(BANDS);
	largest.slice(0, BANDS).forEach(([, slot], band) => (bandOfSlot[slot] = band));
	return {
		bandOfGroup: Uint8Array.from(slotOf, (slot) => bandOfSlot[slot]),
		bands: largest.slice(0, BANDS).map(([id, slot]) => ({
			id, text: names(id), peak_bytes: peaks[slot],
		})),
		other_count: Math.max(0, largest.length - BANDS),
	};
}

/** Sums of the lives of a moment by key, largest first.
 * @param {LivesHeader} header @param {import("./lives.js").Lives} lives @param {number} moment
 * @param {Uint8Array} is_selected @param {Key} key */
export function sumByKey(header, lives, moment, is_selected, key) {
	/** @type {Map<number, { id: number, bytes: number, count: number }>} */
	const rows = new Map();
	lives.visitLive(moment, is_selected, (life) => {
		const id = header.groups[key][lives.group[life]];
		let row = rows.get(id);
		if (!row) rows.set(id, (row = { id, bytes: 0, count: 0 }));
		row.bytes += lives.bytes[life];
		row.count++;
	});
	return [...rows.values()].sort((a, b) => b.bytes - a.bytes);
}

/** Flags by group: does a frame of its stack, its line, module or another key match?
 * @param {LivesHeader} header @param {string} words */
function searchGroups(header, words) {
	const wanted = words.toLowerCase();
	const text_matches = header.text.map((text) => text.toLowerCase().includes(wanted));
	const frame_matches = header.frames.text.map((text) => text_matches[text]);
	const stack_matches = header.stacks.map((stack) => stack.some((f) => frame_matches[f]));
	const { groups } = header;
	const keys = KEYS.map(([key]) => key).filter((key) => key !== "stack");
	return Uint8Array.from(groups.of, (_, k) =>
		stack_matches[groups.stack[k]] || keys.some((key) => text_matches[groups[key][k]])
			? 1 : 0);
}

/** Other words, comparison, number and unit. */
const SIZE = /^(?:(.*[^\s<>=])\s+)?(?:([<>]=?)\s*)?(\d+(?:\.\d+)?)\s*(?:([KMGT])iB|B)?$/i;

/** A size in a search, after other words or alone: 16MiB, >1 GiB, plain bytes. A size with a unit
 * has the sizes that the page prints so. Null: none. A number after other words is not a size.
 * @param {string} search */
export function sizeOf(search) {
	const text = search.trim();
	const [, words = "", sign = "", number, unit = ""] = SIZE.exec(text) ?? [];
	if (!number || (words && !sign && !/b$/i.test(text))) return null;
	const wanted = Number(number) * 1024 ** (" KMGT".indexOf(unit.toUpperCase() || " "));
	const shown = bytesText(wanted);
	const tests = /** @type {Record<string, (bytes: number) => boolean>} */ ({
		"<": (bytes) => bytes < wanted, "<=": (bytes) => bytes <= wanted,
		">": (bytes) => bytes > wanted, ">=": (bytes) => bytes >= wanted,
		"": (bytes) => bytes === wanted || (unit !== "" &&
			Math.abs(bytes - wanted) < wanted / 100 && bytesText(bytes) === shown),
	});
	return { words, has: tests[sign] };
}

/** Flags by life: do its texts match, or its size and the other words?
 * @param {LivesHeader} header @param {import("./lives.js").Lives} lives @param {string} search */
export function searchLives(header, lives, search) {
	const groups = searchGroups(header, search);
	const is_match = new Uint8Array(lives.count).map((_, life) => groups[lives.group[life]]);
	const size = sizeOf(search);
	if (size) {
		const others = searchGroups(header, size.words);
		lives.bytes.forEach((bytes, life) => {
			if (others[lives.group[life]] && size.has(bytes)) is_match[life] = 1;
		});
	}
	return is_match;
}
