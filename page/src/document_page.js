/** A page that shows the document of one command. */
import { copyCommand, el, message } from "./dom.js";
import { lossList } from "./overview.js";

/** @typedef {import("./report.js").Json} Json */
/** @typedef {import("./main.js").Context} Context */
/** @typedef {import("./dom.js").Child} Child */

/** @param {Child} title @param {...Child} children */
export const section = (title, ...children) =>
	el("section", { class: "section" }, el("h2", {}, title), ...children);

/** @param {string} kind good, warn, bad or note @param {string} text */
export const verdict = (kind, text) => el("p", { class: `verdict ${kind}` }, text);

/** Makes a page from a function of a document. Losses and the command stand above it.
 * @param {string} name of the document
 * @param {(document: Json, context: Context) => Child | Promise<Child>} show
 * @returns {(context: Context) => Promise<Node>} */
export const documentPage = (name, show) => async (context) => {
	const { recording } = context;
	const document = recording.documents[name];
	return el("div", { class: "document" },
		el("p", { class: "command" }, el("code", {}, recording.commands[name] ?? ""),
			copyCommand(recording.commands[name])),
		lossList(context),
		document ? await show(document, context)
			: message(`No figures of gpuprof ${name}: ` +
				`${recording.missing[name] ?? "it is not in this report"}.`, "verdict note"));
};
