/** Spans of time that a view shows: after a zoom or a move. */

/** @typedef {{ from_ns: number, to_ns: number }} Span */

/** The span after a zoom; the moment `at` keeps its place. @param {Span} span
 * @param {number} factor @param {number} at @returns {[number, number]} */
export const zoomed = ({ from_ns, to_ns }, factor, at) =>
	[at - (at - from_ns) * factor, at + (to_ns - at) * factor];

/** The span moved by a part of its length. @param {Span} span @param {number} part
 * @returns {[number, number]} */
export function panned({ from_ns, to_ns }, part) {
	const move = (to_ns - from_ns) * part;
	return [from_ns + move, to_ns + move];
}
