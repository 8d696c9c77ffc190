/** Tables with plain heads: sorted by a click, opened rows, CSV. */
import { button, download, el } from "./dom.js";
import { bytesText, changeText, countText, decimals, nsText } from "./amounts.js";

/** @typedef {import("./report.js").Json} Json */
/**
 * @typedef {object} Column
 * @property {string} head
 * @property {(row: any) => any} value What is sorted and exported.
 * @property {(value: any, row: any) => string} text
 * @property {boolean} is_number
 * @property {string} [title]
 * @property {(row: any) => string | null} [link]
 * @property {boolean} [has_bar]
 * @property {(row: any) => string | null} [color]
 * @property {boolean} [is_whole] Long texts are sentences, and are not cut.
 */

/** @param {any} row @param {string} path "a.b" */
const get = (row, path) => path.split(".").reduce((at, key) => at?.[key], row);

/** @param {(value: any, row: any) => string} text @param {boolean} is_number */
const columnOf = (text, is_number) =>
	/** @param {string} head @param {string | ((row: any) => any)} from
	 * @param {Partial<Column>} more @returns {Column} */
	(head, from, more = {}) => ({
		head,
		value: typeof from === "function" ? from : (row) => get(row, from),
		text: (value, row) => (value === null || value === undefined ? "" : text(value, row)),
		is_number,
		...more,
	});

export const words = columnOf(String, false);
export const bytes = columnOf((value) => bytesText(value), true);
export const change = columnOf(changeText, true);
export const time = columnOf(nsText, true);
export const count = columnOf(countText, true);
export const share = columnOf((value) => `${decimals(100 * value, 1)}%`, true);
export const yesNo = columnOf((value) => (value ? "yes" : "no"), false);

/** Paths and names of C++ may break after their parts. @param {string} text */
const breakable = (text) => text.split(/(?<=\/|::)/).flatMap((part) => [part, el("wbr")]);

/** @param {any} value */
const csvCell = (value) => {
	const text = value === null || value === undefined ? "" : String(value);
	return /[",\n\r]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
};

/** @param {Column[]} columns @param {any[]} rows */
export const csvOf = (columns, rows) =>
	[columns.map((column) => csvCell(column.head)),
		...rows.map((row) => columns.map((column) => csvCell(column.value(row))))]
		.map((cells) => `${cells.join(",")}\n`).join("");

const ROWS_SHOWN = 100;
/** Longer texts, such as names of kernels, are cut to two lines until their row is opened. */
const LONG = 120;
/** Columns with longer texts stay wide enough to be read in a narrow window. */
const WIDE = 24;

/** @param {{ name: string, columns: Column[], rows: any[], sort?: number, limit?: number,
 *     open?: (row: any) => Node | null, depth?: (row: any) => number }} options
 *     `sort`: column that sorts at first, the largest on top; else the order of the rows. */
export function makeTable({ name, columns, rows, sort, open, depth, limit = ROWS_SHOWN }) {
	if (!rows.length) return el("p", { class: "note" }, "None.");
	let sorted_by = sort ?? -1;
	let is_up = false;
	let shown = limit;
	const body = el("tbody");
	const heads = el("tr");
	const foot = el("div", { class: "table-foot" });
	const highest = columns.map((column) =>
		column.has_bar ? rows.reduce((most, row) => Math.max(most, column.value(row) ?? 0), 0) : 0);

	const sorted = () => {
		if (sorted_by < 0) return rows;
		const { value, is_number } = columns[sorted_by];
		const rank = (/** @type {any} */ row) => value(row) ?? (is_number ? -Infinity : "");
		const order = (/** @type {any} */ a, /** @type {any} */ b) =>
			is_number ? rank(a) - rank(b) : String(rank(a)).localeCompare(String(rank(b)));
		return [...rows].sort((a, b) => (is_up ? order(a, b) : order(b, a)));
	};

	/** @param {any} row */
	const rowOf = (row) => {
		const line = el("tr");
		columns.forEach((column, k) => {
			const value = column.value(row);
			const text = column.text(value, row);
			const href = column.link?.(row);
			const color = column.color?.(row);
			const is_cut = text.length > LONG && !column.is_whole;
			const shown_text = text.length > WIDE && !is_cut ? breakable(text) : text;
			const cell = el("td", { class: column.is_number ? "number"
				: text.startsWith("0x") ? "address" : text.length > WIDE ? "words wide" : "words" },
				color && el("span", { class: "swatch", style: { background: color } }),
				(href && text) || is_cut ? el(href ? "a" : "span", { href,
					class: is_cut ? "clip" : null, title: is_cut ? text : null }, shown_text)
					: shown_text);
			if (k === 0 && depth) cell.style.paddingLeft = `${8 + 18 * depth(row)}px`;
			if (highest[k] > 0 && value > 0) {
				cell.append(el("div", { class: "bar",
					style: { width: `${Math.max(1, (100 * value) / highest[k])}%` } }));
			}
			line.append(cell);
		});
		const opened = open?.(row);
		if (!opened) return [line];
		const detail = el("tr", { class: "detail", hidden: true },
			el("td", { colspan: columns.length }, opened));
		line.className = "openable";
		line.tabIndex = 0;
		line.setAttribute("aria-expanded", "false");
		const toggle = () => {
			detail.hidden = !detail.hidden;
			line.classList.toggle("opened", !detail.hidden);
			line.setAttribute("aria-expanded", String(!detail.hidden));
		};
		line.addEventListener("click", (event) => {
			if (!(event.target instanceof HTMLAnchorElement)) toggle();
		});
		line.addEventListener("keydown", (event) => {
			if (event.key === "Enter" && event.target === line) toggle();
		});
		return [line, detail];
	};

	const draw = () => {
		heads.replaceChildren(...columns.map((column, k) => el("th", {
			class: column.is_number ? "number" : "words",
			title: column.title,
			"aria-sort": k === sorted_by ? (is_up ? "ascending" : "descending") : null,
		}, el("button", { type: "button", on: { click: () => {
			is_up = k === sorted_by ? !is_up : !column.is_number;
			sorted_by = k;
			draw();
		} } }, column.head, k === sorted_by ? (is_up ? " ▲" : " ▼") : ""))));
		body.replaceChildren(...sorted().slice(0, shown).flatMap(rowOf));
		foot.replaceChildren(
			button("CSV", () => download(`${name}.csv`, "text/csv", csvOf(columns, sorted())),
				"save this table as comma-separated values"));
		if (rows.length > shown) {
			foot.prepend(el("span", {}, `${countText(shown)} of ${countText(rows.length)} rows `),
				button("show all", () => {
					shown = Infinity;
					draw();
				}));
		}
	};
	draw();
	return el("div", { class: "table" },
		el("div", { class: "scroll" }, el("table", {}, el("thead", {}, heads), body)), foot);
}

/** A call stack of a document, innermost frame first. @param {Json[]} stack
 * @param {string | null} [why] the reason for a missing stack */
export function stackList(stack, why) {
	if (!stack?.length) return el("p", { class: "note" }, why || "no stack was recorded");
	return el("ol", { class: "stack" }, stack.map((frame) => {
		const file = frame.file ? `${frame.file}${frame.line ? `:${frame.line}` : ""}` : frame.module;
		return el("li", { class: frame.module ? "native" : "python" },
			el("span", { class: "function" }, frame.function ?? frame.address ?? frame.why ?? "?"),
			el("span", { class: "file" }, file ?? ""));
	}));
}
