/** Texts of amounts, as gpuprof's own reports print them (tools/io/amount.c). */

const UNITS = ["B", "KiB", "MiB", "GiB", "TiB", "PiB"];

/** @param {number} value */
const digits = (value) => (value < 9.995 ? 2 : value < 99.95 ? 1 : 0);

/** A number with so many decimals. Of two that are equally near, it is the even one, as in C.
 * @param {number} value not negative @param {number} places */
export function decimals(value, places) {
	const parts = value * 2 ** (places + 1);
	const halves = parts * 5 ** places;
	if (!Number.isInteger(parts) || halves % 2 === 0) return value.toFixed(places);
	const below = (halves - 1) / 2;
	return ((below + (below % 2)) / 10 ** places).toFixed(places);
}

/** @param {number | null | undefined} count @param {boolean} is_at_least round up */
export function bytesText(count, is_at_least = false) {
	if (count === null || count === undefined) return "not known";
	const sign = count < 0 ? "-" : "";
	let value = Math.abs(count);
	let unit = 0;
	while (value >= 1023.5 && unit + 1 < UNITS.length) {
		value /= 1024;
		unit++;
	}
	const places = unit ? digits(value) : 0;
	if (is_at_least) value = Math.ceil(value * 10 ** places) / 10 ** places;
	return `${sign}${decimals(value, places)} ${UNITS[unit]}`;
}

/** Rounded up: a need. @param {number} count */
export const atLeastText = (count) => bytesText(count, true);

/** Bytes with a sign, for changes. @param {number} count */
export const changeText = (count) => (count > 0 ? "+" : "") + bytesText(count);

/** @param {number | null | undefined} ns */
export function nsText(ns) {
	if (ns === null || ns === undefined) return "not known";
	const sign = ns < 0 ? "-" : "";
	const value = Math.abs(ns);
	const two = (/** @type {number} */ n) => String(n).padStart(2, "0");
	if (value >= 3600e9) {
		const minutes = Math.floor(value / 60e9);
		return `${sign}${Math.floor(minutes / 60)} h ${two(minutes % 60)} min`;
	}
	if (value >= 120e9) {
		const seconds = Math.floor(value / 1e9);
		return `${sign}${Math.floor(seconds / 60)} min ${two(seconds % 60)} s`;
	}
	if (value >= 1e9) return `${sign}${decimals(value / 1e9, 3)} s`;
	for (const [size, unit] of /** @type {[number, string][]} */ ([[1e6, "ms"], [1e3, "µs"]])) {
		if (value >= size) return `${sign}${decimals(value / size, digits(value / size))} ${unit}`;
	}
	return value > 0 ? `${sign}${value.toFixed(0)} ns` : "0 s";
}

/** A moment with as many digits as a span of `within_ns` needs. @param {number} ns
 * @param {number} within_ns */
export function momentText(ns, within_ns) {
	const whole = ns >= 1e9 ? [1e9, "s"] : ns >= 1e6 ? [1e6, "ms"] : [1e3, "µs"];
	const unit = /** @type {number} */ (whole[0]);
	const places = Math.ceil(Math.log10(unit / Math.max(1, within_ns / 1000)));
	return `${(ns / unit).toFixed(Math.min(9, Math.max(0, places)))} ${whole[1]}`;
}

/** @param {number | null | undefined} count */
export function countText(count) {
	if (count === null || count === undefined) return "not known";
	return Number.isInteger(count) || count >= 999.95
		? Math.round(count).toLocaleString("en-US")
		: count.toLocaleString("en-US", { maximumSignificantDigits: 4 });
}

/** A rate, with at most two decimals. @param {number} value */
export const rateText = (value) => (value > 0 && value < 0.01 ? "< 0.01"
	: value.toLocaleString("en-US", { maximumFractionDigits: 2 }));

/** @param {number} part @param {number} whole */
export const shareText = (part, whole) =>
	whole ? `${decimals((100 * part) / whole, 1)}%` : "-";

/** "1 block", "2 blocks". @param {number} count @param {string} noun @param {string} [plural] */
export const numberOf = (count, noun, plural = `${noun}s`) =>
	`${countText(count)} ${count === 1 ? noun : plural}`;
