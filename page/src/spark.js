/** A small curve without axes: how a figure changes over time. */
import { button, download } from "./dom.js";

const SIZE = { width: 240, height: 28 };
const NAMESPACE = "http://www.w3.org/2000/svg";

/** The highest value of each pixel column. Values that are not known leave a gap.
 * @param {(number | null)[]} values @param {string} title */
export function sparkline(values, title, { width, height } = SIZE) {
	const columns = Math.min(width, values.length);
	const high = Array.from({ length: columns }, (_, k) => Math.max(...values
		.slice(Math.floor((k * values.length) / columns),
			Math.max(Math.floor(((k + 1) * values.length) / columns), 1))
		.map((value) => value ?? -Infinity)));
	const top = Math.max(...high, 0) || 1;
	const svg = document.createElementNS(NAMESPACE, "svg");
	const path = document.createElementNS(NAMESPACE, "path");
	const label = document.createElementNS(NAMESPACE, "title");
	label.textContent = title;
	svg.setAttribute("width", String(width));
	svg.setAttribute("height", String(height));
	svg.setAttribute("class", "spark");
	path.setAttribute("d", high.map((value, k) => {
		if (value === -Infinity) return "";
		const x = (k * width) / columns;
		const y = height - Math.max(1, (value / top) * (height - 2));
		return `M${x} ${height}V${y}H${x + Math.max(0.7, width / columns - 0.4)}V${height}Z`;
	}).join(""));
	svg.append(label, path);
	return svg;
}

/** A button that saves such a curve. @param {SVGElement} svg @param {string} name of the file */
export const saveSpark = (svg, name) => {
	const save = button("SVG", () => {
		const copy = /** @type {SVGElement} */ (svg.cloneNode(true));
		copy.setAttribute("fill", getComputedStyle(svg).fill);
		download(`${name}.svg`, "image/svg+xml", new XMLSerializer().serializeToString(copy));
	}, "save the picture");
	save.className = "quiet";
	return save;
};
