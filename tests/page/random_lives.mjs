// Random lives and curves, and their encoding as docs of the report describe it.

/** A generator of numbers in [0, 1) with a seed (mulberry32). */
export function seeded(seed) {
	let state = seed >>> 0;
	return () => {
		state = (state + 0x6d2b79f5) >>> 0;
		let mixed = Math.imul(state ^ (state >>> 15), state | 1);
		mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
		return ((mixed ^ (mixed >>> 14)) >>> 0) / 4294967296;
	};
}

export function leb128(values) {
	const bytes = [];
	for (let value of values) {
		for (; value > 127; value = Math.floor(value / 128)) bytes.push((value % 128) | 128);
		bytes.push(value);
	}
	return bytes;
}

const zigzag = (value) => (value >= 0 ? 2 * value : -2 * value - 1);
const differences = (values) => values.map((value, k) => value - (k ? values[k - 1] : 0));

/** Lives sorted by birth: many short ones, some that stay, equal times, no length. */
export function randomLives(chance, count, groups, step_ns = 1000) {
	let at = 0;
	return Array.from({ length: count }, (_, order) => {
		if (chance() < 0.8) at += Math.floor(chance() * step_ns);
		const kind = chance();
		const length = kind < 0.05 ? 0 : kind < 0.9 ? Math.floor(chance() * 50 * step_ns)
			: Math.floor(chance() * count * step_ns);
		return {
			birth: at, death: kind > 0.97 ? null : at + length, order: order * 3,
			bytes: 512 * (1 + Math.floor(2 ** (chance() * 24))), group: Math.floor(chance() * groups),
			address: 0x7f0000000000 + 512 * Math.floor(chance() * 2 ** 28),
		};
	});
}

export function encodeLives(rows) {
	const columns = [
		leb128(differences(rows.map((row) => row.birth))),
		leb128(rows.map((row) => (row.death === null ? 0 : row.death - row.birth + 1))),
		leb128(rows.map((row) => row.bytes)),
		leb128(rows.map((row) => row.group)),
		leb128(differences(rows.map((row) => row.address)).map(zigzag)),
		leb128(differences(rows.map((row) => row.order)).map(zigzag)),
	];
	return joinBlock(leb128([rows.length, ...columns.map((column) => column.length), 0]), columns);
}

/** A block of intervals of a lane. @param {{ begin: number, took: number, group: number }[]} rows */
export function encodeIntervals(rows) {
	const columns = [
		leb128(differences(rows.map((row) => row.begin)).map(zigzag)),
		leb128(rows.map((row) => row.took)), leb128(rows.map((row) => row.group)),
	];
	return joinBlock(leb128([rows.length, ...columns.map((column) => column.length), 0]), columns);
}

export function encodeCurve(points) {
	const columns = [
		leb128(differences(points.map((point) => point.at))),
		leb128(differences(points.map((point) => point.high)).map(zigzag)),
		leb128(points.map((point) => point.high - point.low)), [],
	];
	return joinBlock(leb128([points.length, ...columns.map((column) => column.length)]), columns);
}

function joinBlock(header, columns) {
	const parts = [header, ...columns];
	const bytes = new Uint8Array(parts.reduce((sum, part) => sum + part.length, 0));
	let at = 0;
	for (const part of parts) {
		bytes.set(part, at);
		at += part.length;
	}
	return bytes;
}
