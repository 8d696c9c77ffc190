/** The help box: keys, and how to read the timeline. */
import { button, el } from "./dom.js";

const KEYS = [
	["1 to 9", "show one of the first nine pages"],
	["+ or wheel", "timeline and ranks: zoom in"],
	["- or wheel", "timeline and ranks: zoom out"],
	["← →, or drag", "timeline and ranks: move"],
	["0", "timeline and ranks: show the whole run"],
	["/", "timeline: search functions, files, modules, kernels, sizes (16MiB, >1GiB)"],
	["n, p", "timeline: next or previous match in the lanes, not in memory"],
	["Shift and arrows", "timeline: move a cursor, and show the block or band at its point"],
	["Tab", "timeline: go to the lanes of the GPU, in which the cursor moves from lane to lane"],
	["click, or Enter", "timeline: pin a moment, and show what is live then"],
	["Shift and click or Enter", "timeline: pin a second moment, to compare"],
	["Esc", "close this box; in the search box: clear the search"],
	["?", "show this box"],
	["Shift and arrows", "ranks: move a cursor, and show the bytes of each recording"],
	["click, or Enter", "ranks: show the timeline of a recording at that moment"],
	["Shift and click or Enter", "ranks: pin a moment, and then a second one, to compare"],
];

const NOTES = [
	"Each pixel column of the timeline shows its highest moment. So no peak is missing at any zoom.",
	"Allocated memory is the blocks that PyTorch gave to tensors. " +
		"Reserved memory is the segments in which PyTorch keeps its blocks. " +
		"Driver memory is all that the job got from the driver.",
	"The lanes under the bands are ranges, marks and GPU time. " +
		"Where many intervals share a pixel column, the height is the share of time that they " +
		"cover, and the colour is that of the longest.",
	"“copy command” copies a command of gpuprof that prints the figures of the view. " +
		"A view without such a command has no button.",
];

export function helpBox() {
	/** @type {HTMLDialogElement} */
	const box = el("dialog", { "aria-label": "help" },
		el("h2", {}, "Keys"),
		el("table", { class: "keys" }, el("tbody", {}, KEYS.map(([key, text]) =>
			el("tr", {}, el("td", {}, el("kbd", {}, key)), el("td", {}, text))))),
		el("h2", {}, "How to read this page"),
		NOTES.map((note) => el("p", {}, note)),
		button("close", () => box.close()));
	return box;
}
