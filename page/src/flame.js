/** A flame graph of memory by call stack: the outermost frame is the root, at the top. */
import { button, download, el } from "./dom.js";
import { bytesText, numberOf, shareText } from "./amounts.js";
import { frameText, keyText, pythonFrames } from "./keys.js";
import { bandColor, textOn, themeColors } from "./palette.js";
import { SvgPainter, fitted } from "./svg.js";

/** @typedef {import("./report.js").LivesHeader} LivesHeader */
/** @typedef {{ id: number, bytes: number, count: number }} Sum */
/** @typedef {(id: number) => string[]} FramesOf The frames of a row, the outermost first. */
/**
 * @typedef {object} Node
 * @property {string} text
 * @property {number} bytes
 * @property {number} count
 * @property {Map<string, Node>} children
 */
/** @typedef {{ node: Node, x: number, y: number, width: number }} Placed */

const ROW = 19;
/** Narrower parts are drawn without their children. */
const LEAST_PIXELS = 1;

/** Native frames are left out of stacks that have Python frames, unless requested.
 * @param {LivesHeader} header @param {boolean} with_native @returns {FramesOf} */
export const stackFrames = (header, with_native) => (id) => {
	const frames = with_native ? header.stacks[id] : pythonFrames(header, id);
	return frames.toReversed().map((frame) => frameText(header, frame));
};

/** Ends the name of a module around others. Older recordings have classes: "GPT > Block". */
const MODULE_END = / > |\.(?!\d+(\.|$))/g;

/** A module and those around it: "model", "model.layers.0", "model.layers.0.mlp".
 * @param {LivesHeader} header @returns {FramesOf} */
export const moduleFrames = (header) => (id) => {
	const name = keyText(header, "module", id);
	const ends = name.startsWith("no module") ? [] : [...name.matchAll(MODULE_END)];
	return [...ends.map(({ index }) => name.slice(0, index)), name];
};

/** A module without those around it. @param {string} name */
export const moduleLabel = (name) => name.split(" > ").at(-1)?.match(/[^.]*(\.\d+)*$/)?.[0] || name;

/** Adds rows to a tree. @param {Sum[]} rows @param {FramesOf} framesOf */
export function flameTree(rows, framesOf) {
	/** @type {Node} */
	const root = { text: "all", bytes: 0, count: 0, children: new Map() };
	for (const { id, bytes, count } of rows) {
		let node = root;
		node.bytes += bytes;
		node.count += count;
		for (const text of framesOf(id)) {
			let child = node.children.get(text);
			if (!child) {
				child = { text, bytes: 0, count: 0, children: new Map() };
				node.children.set(text, child);
			}
			child.bytes += bytes;
			child.count += count;
			node = child;
		}
	}
	return root;
}

/** Places of the nodes below `top`, whose parents lie above it at full width.
 * @param {Node[]} path from the root to the node that fills the width @param {number} width */
export function placeNodes(path, width) {
	/** @type {Placed[]} */
	const placed = path.map((node, k) => ({ node, x: 0, y: k * ROW, width }));
	/** @param {Placed} parent */
	const below = (parent) => {
		let { x } = parent;
		const scale = parent.width / parent.node.bytes;
		const children = [...parent.node.children.values()].sort((a, b) => b.bytes - a.bytes);
		for (const node of children) {
			const place = { node, x, y: parent.y + ROW, width: node.bytes * scale };
			x += place.width;
			if (place.width < LEAST_PIXELS) break;
			placed.push(place);
			below(place);
		}
	};
	const last = placed.at(-1);
	if (last && last.node.bytes > 0) below(last);
	return placed;
}

/** A colour by the name of a function, so that it stays the same in each picture.
 * @param {string} text */
function colorOf(text) {
	let sum = 0;
	for (let k = 0; k < text.length; k++) sum = (sum * 31 + text.charCodeAt(k)) % 9973;
	return bandColor(sum);
}

/** @param {Sum[]} rows @param {string} name of the file
 * @param {{ framesOf: FramesOf, allFramesOf?: FramesOf,
 *     labelOf?: (text: string) => string }} options
 *     `allFramesOf`: frames on request; `labelOf`: the text of a frame in the picture */
export function flameGraph(rows, name, { framesOf, allFramesOf, labelOf = (text) => text }) {
	const native = el("input", { type: "checkbox" });
	const canvas = el("canvas", { class: "flame", role: "img", "aria-label": "flame graph" });
	const info = el("p", { class: "flame-info" });
	let path = [flameTree(rows, framesOf)];
	/** @type {Placed[]} */
	let placed = [];

	/** @param {import("./svg.js").Painter} paint @param {number} width @param {number} height */
	const paintAll = (paint, width, height) => {
		const theme = themeColors();
		paint.fillStyle = theme.ground;
		paint.fillRect(0, 0, width, height);
		paint.font = "12px system-ui, sans-serif";
		paint.textAlign = "left";
		paint.textBaseline = "middle";
		placed.forEach(({ node, x, y, width: wide }, k) => {
			const color = k === 0 ? theme.grid : colorOf(labelOf(node.text));
			paint.globalAlpha = k < path.length - 1 ? 0.5 : 1;
			paint.fillStyle = color;
			paint.fillRect(x, y, Math.max(0.5, wide - 0.6), ROW - 1);
			paint.globalAlpha = 1;
			const text = fitted(labelOf(node.text), wide - 8);
			if (!text) return;
			paint.fillStyle = k === 0 ? theme.ink : textOn(color);
			paint.fillText(text, x + 4, y + ROW / 2);
		});
	};
	const heightOf = () => placed.reduce((most, { y }) => Math.max(most, y + ROW), ROW);
	const draw = () => {
		const width = canvas.parentElement?.clientWidth ?? 0;
		if (!width) return;
		placed = placeNodes(path, width);
		const ratio = devicePixelRatio || 1;
		canvas.style.height = `${heightOf()}px`;
		canvas.width = width * ratio;
		canvas.height = heightOf() * ratio;
		const paint = canvas.getContext("2d");
		paint?.setTransform(ratio, 0, 0, ratio, 0, 0);
		if (paint) paintAll(paint, width, heightOf());
		describe(path.at(-1));
	};
	/** @param {Node | undefined} node */
	const describe = (node) => {
		if (node) {
			info.textContent = `${node.text}: ${bytesText(node.bytes)} in ` +
				`${numberOf(node.count, "allocation")}, ${shareText(node.bytes, path[0].bytes)}`;
		}
	};
	/** @param {MouseEvent} event */
	const at = (event) => placed.find(({ x, y, width }) => event.offsetX >= x &&
		event.offsetX < x + width && event.offsetY >= y && event.offsetY < y + ROW);
	canvas.addEventListener("mousemove", (event) => describe(at(event)?.node ?? path.at(-1)));
	canvas.addEventListener("click", (event) => {
		const found = at(event);
		if (!found) return;
		path = pathTo(path[0], found.node) ?? path;
		draw();
	});
	native.addEventListener("change", () => {
		path = [flameTree(rows, native.checked && allFramesOf ? allFramesOf : framesOf)];
		draw();
	});
	const holder = el("div", { class: "canvas-holder" }, canvas);
	new ResizeObserver(draw).observe(holder);
	return el("div", { class: "picture" },
		el("div", { class: "controls" }, allFramesOf && el("label", {}, native, "native frames too"),
			el("span", { class: "note" }, "A click on a frame zooms in; a click on “all” zooms out."),
			el("span", { class: "space" }),
			button("SVG", () => {
				const paint = new SvgPainter(holder.clientWidth, heightOf());
				paintAll(paint, holder.clientWidth, heightOf());
				download(`${name}.svg`, "image/svg+xml", paint.toString());
			}, "save the picture")),
		holder, info);
}

/** The nodes from the root to a node. @param {Node} node @param {Node} wanted
 * @returns {Node[] | null} */
function pathTo(node, wanted) {
	if (node === wanted) return [node];
	for (const child of node.children.values()) {
		const rest = pathTo(child, wanted);
		if (rest) return [node, ...rest];
	}
	return null;
}
