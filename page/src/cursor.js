/** A cursor of the timeline that keys move, for readers without a mouse. */

/** @typedef {{ x: number, y: number }} Cursor */

/** Pixels of an arrow key; a key that is held moves FAR times as far. */
const MOVES = /** @type {Record<string, [number, number]>} */ ({
	ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, -4], ArrowDown: [0, 4],
});
const FAR = 10;
const RADIUS = 4;

/** @param {number} value @param {number} from @param {number} size */
const within = (value, from, size) => Math.min(Math.max(value, from), from + size - 1);

/** The cursor after a key, or null: the key is not Shift and an arrow. A new cursor starts in the
 * middle.
 * @param {Cursor | null} cursor @param {KeyboardEvent} event
 * @param {ReturnType<typeof import("./timeline_plot.js").plotBox>} box */
export function movedCursor(cursor, { key, shiftKey, repeat }, { left, top, width, height }) {
	if (!shiftKey || !MOVES[key]) return null;
	if (!cursor) return { x: left + Math.floor(width / 2), y: top + height / 2 };
	const [right, down] = MOVES[key].map((pixels) => pixels * (repeat ? FAR : 1));
	return { x: within(cursor.x + right, left, width), y: within(cursor.y + down, top, height) };
}

/** @param {CanvasRenderingContext2D} paint @param {Cursor} cursor @param {string} color */
export function drawCursor(paint, { x, y }, color) {
	paint.strokeStyle = color;
	paint.lineWidth = 2;
	paint.beginPath();
	paint.arc(x, y, RADIUS, 0, 2 * Math.PI);
	paint.stroke();
}
