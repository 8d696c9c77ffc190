/** A horizontal bar of parts that add up to a whole, with a list of the parts. */
import { button, download, el } from "./dom.js";
import { bytesText, shareText } from "./amounts.js";
import { themeColors } from "./palette.js";
import { SvgPainter } from "./svg.js";

const PICTURE = { width: 640, bar: 22, row: 18 };

/** The bar and its list as SVG. @param {{ text: string, bytes: number, color: string }[]} parts
 * @param {number} whole @param {(amount: number) => string} textOf */
export function barSvg(parts, whole, textOf) {
	const { width, bar, row } = PICTURE;
	const theme = themeColors();
	const paint = new SvgPainter(width, bar + 6 + row * parts.length);
	paint.fillStyle = theme.ground;
	paint.fillRect(0, 0, width, paint.height);
	paint.fillStyle = theme.grid;
	paint.fillRect(0, 0, width, bar);
	paint.textBaseline = "middle";
	let x = 0;
	parts.forEach(({ text, bytes, color }, k) => {
		const y = bar + 6 + row * (k + 0.5);
		paint.fillStyle = color;
		paint.fillRect(x, 0, (width * bytes) / whole, bar);
		paint.fillRect(0, y - 6, 11, 11);
		x += (width * bytes) / whole;
		paint.fillStyle = theme.ink;
		paint.textAlign = "left";
		paint.fillText(text, 18, y);
		paint.textAlign = "right";
		paint.fillText(`${textOf(bytes)} · ${shareText(bytes, whole)}`, width, y);
	});
	return paint.toString();
}

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
				`${textOf(part.bytes)} · ${shareText(part.bytes, whole)}`)))),
		shown.length > 0 && el("div", { class: "table-foot" }, button("SVG", () => download("parts.svg",
			"image/svg+xml", barSvg(shown, whole, textOf)), "save the picture")));
}
