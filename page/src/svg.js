/**
 * The part of a 2D canvas that the page's pictures use, written as SVG. So the code that draws a
 * picture also exports it.
 */

/** @typedef {CanvasRenderingContext2D | SvgPainter} Painter */

/** @param {string} text */
const escaped = (text) =>
	// eslint-disable-next-line no-control-regex
	text.replace(/[\x00-\x08\x0b\x0c\x0e-\x1f]/g, "?")
		.replace(/[&<>"]/g, (c) => ({ "&": "&amp;", "<": "&lt;", ">": "&gt;", '"': "&quot;" })[c] ?? c);

export class SvgPainter {
	/** @param {number} width @param {number} height */
	constructor(width, height) {
		this.width = width;
		this.height = height;
		/** @type {string[]} */
		this.parts = [];
		this.fillStyle = "#000000";
		this.strokeStyle = "#000000";
		this.lineWidth = 1;
		this.globalAlpha = 1;
		this.font = "12px sans-serif";
		this.textAlign = "left";
		this.textBaseline = "alphabetic";
		this.dash = "";
		this.path = "";
	}

	beginPath() { this.path = ""; }

	/** @param {number} x @param {number} y */
	moveTo(x, y) { this.path += `M${short(x)} ${short(y)}`; }

	/** @param {number} x @param {number} y */
	lineTo(x, y) { this.path += `L${short(x)} ${short(y)}`; }

	closePath() { this.path += "Z"; }

	/** @param {number[]} lengths */
	setLineDash(lengths) { this.dash = lengths.join(" "); }

	fill() {
		this.parts.push(`<path d="${this.path}" fill="${this.fillStyle}"${this.opacity()}/>`);
	}

	stroke() {
		this.parts.push(`<path d="${this.path}" fill="none"${this.strokes()}/>`);
	}

	/** @param {number} x @param {number} y @param {number} width @param {number} height */
	fillRect(x, y, width, height) {
		this.parts.push(`<rect${box(x, y, width, height)} fill="${this.fillStyle}"` +
			`${this.opacity()}/>`);
	}

	/** @param {number} x @param {number} y @param {number} width @param {number} height */
	strokeRect(x, y, width, height) {
		this.parts.push(`<rect${box(x, y, width, height)} fill="none"${this.strokes()}/>`);
	}

	/** @param {string} text @param {number} x @param {number} y */
	fillText(text, x, y) {
		const anchor = { right: "end", center: "middle" }[this.textAlign] ?? "start";
		const dy = { middle: ".35em", top: ".8em" }[this.textBaseline] ?? "0";
		const [, size, family] = /([\d.]+)px (.*)/.exec(this.font) ?? ["", "12", "sans-serif"];
		this.parts.push(`<text x="${short(x)}" y="${short(y)}" dy="${dy}" text-anchor="${anchor}"` +
			` font-size="${size}" font-family="${escaped(family)}" fill="${this.fillStyle}"` +
			`${this.opacity()}>${escaped(text)}</text>`);
	}

	opacity() {
		return this.globalAlpha < 1 ? ` opacity="${this.globalAlpha}"` : "";
	}

	strokes() {
		return ` stroke="${this.strokeStyle}" stroke-width="${this.lineWidth}"` +
			`${this.dash ? ` stroke-dasharray="${this.dash}"` : ""}${this.opacity()}`;
	}

	toString() {
		return `<svg xmlns="http://www.w3.org/2000/svg" width="${this.width}" ` +
			`height="${this.height}" viewBox="0 0 ${this.width} ${this.height}">\n` +
			`${this.parts.join("\n")}\n</svg>\n`;
	}
}

/** @param {number} x @param {number} y @param {number} width @param {number} height */
const box = (x, y, width, height) =>
	` x="${short(x)}" y="${short(y)}" width="${short(width)}" height="${short(height)}"`;

/** @param {number} value */
const short = (value) => String(Math.round(value * 100) / 100);

/** A text cut to a width. Seven tenths of the font's size is the mean width of a letter at most.
 * @param {string} text @param {number} width @param {number} size of the font */
export function fitted(text, width, size = 12) {
	const letters = Math.floor(width / (size * 0.56));
	if (letters >= text.length) return text;
	return letters < 3 ? "" : `${text.slice(0, letters - 1)}…`;
}
