/**
 * Decodes data blocks of a report: columns of LEB128 numbers below 2^53 behind a header of byte
 * lengths. Damage throws an error with its place; a caller shows its message.
 */

/** Reads `count` numbers from [begin, end) and returns the position behind the last one.
 * @param {Uint8Array} bytes @param {number} begin @param {number} end
 * @param {Float64Array} out @param {number} count */
export function readColumn(bytes, begin, end, out, count) {
	let at = begin;
	for (let k = 0; k < count; k++) {
		let value = 0;
		let byte = 128;
		for (let scale = 1; byte > 127; scale *= 128) {
			if (at >= end) fail(begin, k);
			byte = bytes[at++];
			value += (byte & 127) * scale;
		}
		if (value > Number.MAX_SAFE_INTEGER) fail(begin, k);
		out[k] = value;
	}
	return at;
}

/** @param {number} column @param {number} row @returns {never} */
function fail(column, row) {
	throw new Error(`the column at byte ${column} is damaged in row ${row}`);
}

/** Writes the sums of differences to `out`, which may be the same list, from place `at` on.
 * @param {Float64Array} differences @param {Float64Array} out @param {number} at
 * @param {boolean} is_zigzag */
function addUp(differences, out, at, is_zigzag) {
	let sum = 0;
	for (let k = 0; k < differences.length; k++) {
		const value = differences[k];
		const half = Math.floor(value / 2);
		if (!is_zigzag) sum += value;
		else sum += value === 2 * half ? half : -half - 1;
		out[at + k] = sum;
	}
}

/** Reads the header and the columns of a block.
 * @param {Uint8Array} bytes @param {number} columns
 * @param {number} padding Numbers of the header behind the lengths.
 * @returns {{ count: number, column: (k: number) => Float64Array }} */
function openBlock(bytes, columns, padding) {
	const header = new Float64Array(1 + columns + padding);
	let begin = readColumn(bytes, 0, bytes.length, header, header.length);
	const count = header[0];
	/** @type {number[]} */
	const begins = [];
	for (let k = 0; k < columns; k++) {
		begins.push(begin);
		begin += header[1 + k];
	}
	if (begin > bytes.length || count > bytes.length) {
		throw new Error(`the block has ${bytes.length} bytes, but its header names ${begin}`);
	}
	const numbers = new Float64Array(count);
	return {
		count,
		/** The numbers of a column; the next call overwrites them. */
		column(k) {
			readColumn(bytes, begins[k], begins[k] + header[1 + k], numbers, count);
			return numbers;
		},
	};
}

/** Adds the lives of a block behind the first `at` lives. Returns the number of lives then.
 * @param {Uint8Array} bytes @param {import("./lives.js").Lives} lives @param {number} at */
export function decodeLives(bytes, lives, at) {
	const { count, column } = openBlock(bytes, 6, 1);
	if (at + count > lives.birth.length) {
		throw new Error(`the data have more than the ${lives.birth.length} lives announced`);
	}
	addUp(column(0), lives.birth, at, false);
	column(1).forEach((value, k) => {
		lives.death[at + k] = value ? lives.birth[at + k] + value - 1 : Infinity;
	});
	lives.bytes.set(column(2), at);
	lives.group.set(column(3), at);
	addUp(column(4), lives.address, at, true);
	const orders = column(5);
	addUp(orders, orders, 0, true);
	lives.setOrders(orders, at);
	return at + count;
}

/** Adds the intervals of a block behind the first `at` of a lane. Returns their number then.
 * @param {Uint8Array} bytes @param {import("./lane_index.js").Intervals} lane @param {number} at */
export function decodeIntervals(bytes, lane, at) {
	const { count, column } = openBlock(bytes, 3, 1);
	if (at + count > lane.begin.length) {
		throw new Error(`the data have more than the ${lane.begin.length} intervals announced`);
	}
	addUp(column(0), lane.begin, at, true);
	lane.took.set(column(1), at);
	lane.group.set(column(2), at);
	return at + count;
}

/** Short intervals by part of time: number of the part, duration in it, and how many begin in it.
 * @param {Uint8Array} bytes */
export function decodeParts(bytes) {
	const { count, column } = openBlock(bytes, 3, 1);
	const part = new Float64Array(count);
	addUp(column(0), part, 0, false);
	return { part, ns: column(1).slice(), count: column(2).slice() };
}

/** Numbers in as few bytes as they need; null: all are 0. @param {Float64Array} numbers */
function narrowed(numbers) {
	const most = numbers.reduce((a, b) => Math.max(a, b), 0);
	return most === 0 ? null : most < 2 ** 32 ? Uint32Array.from(numbers) : numbers.slice();
}

/** Times and highest values of a curve, and how far the lowest ones are below; null: not at all.
 * A point holds until the next one. @param {Uint8Array} bytes */
export function decodeCurve(bytes) {
	const { count, column } = openBlock(bytes, 4, 0);
	const time = new Float64Array(count);
	const high = new Float64Array(count);
	addUp(column(0), time, 0, false);
	addUp(column(1), high, 0, true);
	return { time, high, drop: narrowed(column(2)) };
}
