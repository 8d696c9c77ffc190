/** A horizontal bar of parts that add up to a whole, with a list of the parts. */
import { el } from "./dom.js";
import { bytesText, shareText } from "./amounts.js";

/** @param {{ text: string, bytes: number, color: string, href?: string }[]} parts
 * @param {number} whole
 * @param {{ has_list?: boolean, textOf?: (amount: number) => string }} options `has_list`: false
 *     if a table has the same colours */
export function amountBar(parts, whole, { has_list = true, textOf = bytesText } = {}) {
	const shown = parts.filter(({ bytes }) => bytes > 0);
	const title = ({ text = "", bytes = 0 }) =>
		`${text}: ${textOf(bytes)}, ${shareText(bytes, whole)}`;
	return el("div", { class: "amounts" },
		el("div", { class: "amount-bar", role: "img", "aria-label": shown.map(title).join("; ") },
			shown.map((part) => el("span", { title: title(part), style: {
				background: part.color, width: `${(100 * part.bytes) / whole}%` } }))),
		has_list && el("ul", { class: "legend" }, shown.map((part) => el("li", {},
			el("span", { class: "swatch", style: { background: part.color } }),
			part.href ? el("a", { href: part.href }, part.text) : part.text,
			el("span", { class: "amount" },
				`${textOf(part.bytes)} · ${shareText(part.bytes, whole)}`)))));
}
