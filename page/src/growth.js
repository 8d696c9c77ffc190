/** How the memory of a leak's call stack grows. */
import { upperBound } from "./lives.js";

/** @typedef {import("./report.js").Json} Json */

/** Bytes that are live at each moment, of all memory with the suspect's stack. An example of the
 * suspect finds the stack. null: the suspect has several stacks or none, or no example is known.
 * @param {import("./report.js").LivesHeader} header @param {import("./lives.js").Lives} lives
 * @param {Json} suspect @param {number[]} moments in order of time */
export function growthOf({ groups }, lives, suspect, moments) {
	const example = suspect.examples.map((/** @type {Json} */ one) => findLife(lives, one))
		.find((/** @type {number} */ life) => life >= 0);
	if (suspect.stacks !== 1 || example === undefined) return null;
	const group = lives.group[example];
	const stack = groups.stack[group];
	if (!stack) return null;
	const is_same = groups.of.map((of, k) => of === groups.of[group] &&
		groups.device[k] === groups.device[group] && groups.stack[k] === stack);
	const change = new Float64Array(moments.length + 1);
	const firstAtOrAfter = (/** @type {number} */ ns) =>
		upperBound(moments.length, (k) => moments[k], ns - 1);
	for (let life = 0; life < lives.count; life++) {
		if (!is_same[lives.group[life]]) continue;
		change[firstAtOrAfter(lives.birth[life])] += lives.bytes[life];
		change[firstAtOrAfter(lives.death[life])] -= lives.bytes[life];
	}
	let sum = 0;
	return moments.map((_, k) => (sum += change[k]));
}

/** The life of an allocation, or -1. @param {import("./lives.js").Lives} lives @param {Json} one */
function findLife(lives, { at_ns, address }) {
	for (let life = lives.bornBy(at_ns - 1); lives.birth[life] === at_ns; life++) {
		if (lives.address[life] === Number(address)) return life;
	}
	return -1;
}
