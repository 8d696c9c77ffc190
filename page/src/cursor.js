/** A cursor of the timeline that keys move, for readers without a mouse. */

/** A point of the bands, or of the lanes below them.
 * @typedef {{ x: number, y: number, is_lane: boolean }} Cursor */
/** Where a cursor may be. `row`: the height of a lane, by which it moves up and down; 0: bands.
 * @typedef {{ left: number, top: number, width: number, height: number, row: number }} Box */

const MOVES = /** @type {Record<string, [number, number]>} */ ({
	ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, -1], ArrowDown: [0, 1],
});
/** Pixels of an arrow up or down in the bands. A key that is held moves FAR times as far. */
const DOWN = 4;
const FAR = 10;
const RADIUS = 4;

/** @param {number} value @param {number} from @param {number} size */
const within = (value, from, size) => Math.min(Math.max(value, from), from + size - 1);

/** The cursor after a key, or null: the key is not Shift and an arrow. A new cursor starts in the
 * middle; from the bands to the lanes and back, it stays at its moment.
 * @param {Cursor | null} cursor @param {KeyboardEvent} event @param {Box} box */
export function movedCursor(cursor, { key, shiftKey, repeat }, { left, top, width, height, row }) {
	if (!shiftKey || !MOVES[key]) return null;
	const is_lane = row > 0;
	if (cursor?.is_lane !== is_lane) {
		return { x: cursor?.x ?? left + Math.floor(width / 2), y: top + height / 2, is_lane };
	}
	const [right, down] = MOVES[key];
	const far = repeat ? FAR : 1;
	return { is_lane, x: within(cursor.x + right * far, left, width),
		y: within(cursor.y + down * (row || DOWN * far), top, height) };
}

/** @param {CanvasRenderingContext2D} paint @param {Cursor} cursor @param {string} color */
export function drawCursor(paint, { x, y }, color) {
	paint.strokeStyle = color;
	paint.lineWidth = 2;
	paint.beginPath();
	paint.arc(x, y, RADIUS, 0, 2 * Math.PI);
	paint.stroke();
}
