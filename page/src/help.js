/** The help box: keys, and how to read the timeline. */
import { button, el } from "./dom.js";

const KEYS = [
	["1 to 9", "show one of the first nine pages"],
	["+ or wheel", "timeline and ranks: zoom in"],
	["- or wheel", "timeline and ranks: zoom out"],
	["← →, or drag", "timeline and ranks: move"],
	["0", "timeline and ranks: show the whole run"],
	["/", "search: functions, files, modules, kernels"],
	["n, p", "timeline: next or previous interval of the GPU that the search finds"],
	["click", "timeline: pin a moment and show what is live then"],
	["shift and click", "timeline: pin a second moment, to compare"],
	["Esc", "close this box, or clear the search"],
	["?", "show this box"],
	["+ - ← → 0, drag", "ranks: zoom and move, as in the timeline"],
	["click", "ranks: show the timeline of a recording at that moment"],
	["shift and click", "ranks: pin a moment, and then a second one, to compare"],
];

const NOTES = [
	"Each pixel column of the timeline shows its highest moment. So no peak is missing at any zoom.",
	"Allocated memory is the blocks that PyTorch gave to tensors. " +
		"Reserved memory is the segments in which PyTorch keeps its blocks. " +
		"Driver memory is all that the job got from the driver.",
	"The lanes under the bands are GPU time. Where many intervals share a pixel column, the height " +
		"is the share of time that they cover, and the colour is that of the longest.",
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
