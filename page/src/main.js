/** Starts the page: opens the report, shows the tab that the address names, answers keys. */
import { button, el, message, select } from "./dom.js";
import { findPage, hashOf, readRoute } from "./route.js";
import { restoreTheme, switchTheme } from "./palette.js";
import { loadCapacities, loadCurves, loadLanes, loadLives, openReport } from "./report.js";
import { overviewPage } from "./overview.js";
import {
	collectivesPage, countersPage, graphsPage, kernelsPage, settingsPage, startupPage, waitsPage,
} from "./time_pages.js";
import { timelinePage } from "./timeline.js";
import { helpBox } from "./help.js";
import { fragPage, idlePage, leaksPage, oomPage, phasesPage } from "./memory_pages.js";
import { momentPage } from "./moment.js";
import { ranksPage } from "./ranks.js";

/** @typedef {import("./report.js").Report} Report */
/**
 * @typedef {object} Context What a page gets.
 * @property {Report} report
 * @property {number} number of the recording
 * @property {import("./report.js").Recording} recording
 * @property {Record<string, string>} values of the route
 * @property {() => Promise<import("./report.js").NamedCurve[]>} curves decoded once
 * @property {(number: number) => Promise<import("./report.js").NamedCurve[]>} curvesOf those of any
 *     recording
 * @property {() => Promise<import("./lives.js").Lives>} lives decoded once
 * @property {() => Promise<Map<number, import("./report.js").Capacity>>} capacities by device;
 *     decoded once
 * @property {() => Promise<import("./report.js").Lane[]>} lanes decoded once; of GPU time
 * @property {(page: string, values?: Record<string, string | number | null>) => string} link
 *     a hash for the same recording
 * @property {AbortSignal} signal ends when another page is shown
 */
/** @typedef {(context: Context) => Node | Promise<Node>} Page */

/** @type {[id: string, label: string, page: Page][]} */
const PAGES = [
	["overview", "Overview", overviewPage],
	["timeline", "Timeline", timelinePage],
	["moment", "Moment", momentPage],
	["ranks", "Ranks", ranksPage],
	["oom", "OOM", oomPage],
	["leaks", "Leaks", leaksPage],
	["frag", "Fragmentation", fragPage],
	["phases", "Phases", phasesPage],
	["graphs", "Graphs", graphsPage],
	["idle", "Idle", idlePage],
	["waits", "Waits", waitsPage],
	["kernels", "GPU time", kernelsPage],
	["collectives", "NCCL", collectivesPage],
	["counters", "Counters", countersPage],
	["startup", "Start-up", startupPage],
	["settings", "Settings", settingsPage],
];

/** After this time the page shows that it reads. */
const SLOW_MS = 200;

/** Keeps the result of a function per recording. @template T
 * @param {(number: number) => Promise<T>} make */
function once(make) {
	/** @type {Map<number, Promise<T>>} */
	const made = new Map();
	return (/** @type {number} */ number) => {
		const old = made.get(number) ?? make(number);
		made.set(number, old);
		return old;
	};
}

/** @param {Report} report */
function startApp(report) {
	const header = (/** @type {number} */ number) => {
		const { lives } = report.recordings[number];
		if (!lives) throw new Error("This report has no data about single allocations.");
		return lives;
	};
	const pages = PAGES.filter(([id]) => report.ranks || id !== "ranks");
	const curvesOf = once(async (number) => loadCurves(report, header(number)));
	const livesOf = once(async (number) => loadLives(report, header(number)));
	const capacitiesOf = once(async (number) => loadCapacities(report, header(number)));
	const lanesOf = once(async (number) => {
		const { gpu } = report.recordings[number];
		return gpu ? loadLanes(report, gpu) : [];
	});
	const tabs = el("nav", { "aria-label": "pages" });
	const content = el("main", { tabindex: -1 });
	const chooser = el("span", {});
	const help = helpBox();
	let shown = new AbortController();

	const show = async () => {
		shown.abort();
		const mine = (shown = new AbortController());
		const { page, values } = readRoute();
		const number = Math.min(Number(values.r ?? 0) || 0, report.recordings.length - 1);
		/** @type {Context["link"]} */
		const link = (to, more = {}) => hashOf(to, { r: number || null, ...more });
		const entry = pages[findPage(pages, page)];
		tabs.replaceChildren(...pages.map(([id, label]) => el("a", {
			href: link(id), "aria-current": id === entry[0] ? "page" : null }, label)));
		if (report.recordings.length > 1) {
			chooser.replaceChildren(select(report.recordings.map(({ file }, k) =>
				[String(k), file]), String(number), (chosen) => {
				location.hash = hashOf(entry[0], { r: chosen });
			}, "recording"));
		} else chooser.replaceChildren(el("span", { class: "file" }, report.recordings[0].file));
		content.dataset.state = "loading";
		const slow = setTimeout(() => content.replaceChildren(message("Reading the data…")), SLOW_MS);
		mine.signal.addEventListener("abort", () => clearTimeout(slow));
		let result;
		try {
			result = await entry[2]({
				report, number, recording: report.recordings[number], values, link,
				curves: () => curvesOf(number), curvesOf, lives: () => livesOf(number),
				capacities: () => capacitiesOf(number), lanes: () => lanesOf(number), signal: mine.signal,
			});
		} catch (error) {
			console.warn(error);
			result = message(`This page cannot be shown: ${messageOf(error)}`, "bad");
		}
		clearTimeout(slow);
		if (mine.signal.aborted) return;
		content.replaceChildren(result);
		if (content.dataset.page !== entry[0]) scrollTo(0, 0);
		content.dataset.state = "ready";
		content.dataset.page = entry[0];
	};

	document.getElementById("page")?.replaceChildren(
		el("header", {}, el("a", { class: "brand", href: "#overview" }, "gpuprof"), chooser, tabs,
			el("span", { class: "space" }),
			button("◐", () => {
				switchTheme();
				show();
			}, "dark or light"),
			button("?", () => help.showModal(), "keys and help (?)")),
		content, help,
		el("footer", {}, `Written by ${report.made_by}. This page uses no network.`));
	addEventListener("hashchange", show);
	matchMedia("(prefers-color-scheme: dark)").addEventListener("change", show);
	addEventListener("keydown", (event) => {
		if (event.ctrlKey || event.metaKey || event.altKey) return;
		if (event.target instanceof HTMLInputElement || event.target instanceof HTMLSelectElement) {
			return;
		}
		const number = "123456789".indexOf(event.key);
		if (event.key === "?") help.showModal();
		else if (number >= 0) location.hash = hashOf(pages[number][0], { r: readRoute().values.r });
	});
	show();
}

/** @param {unknown} error */
const messageOf = (error) => (error instanceof Error ? error.message : String(error));

restoreTheme();
openReport().then(startApp).catch((error) => {
	console.warn(error);
	document.getElementById("page")?.replaceChildren(
		message(`The report cannot be opened: ${messageOf(error)}`, "bad"));
});
