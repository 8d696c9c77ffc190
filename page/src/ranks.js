/** Several recordings on one axis of time: which rank differs, and what each did at one moment. */
import { button, copyCommand, download, el, message, select } from "./dom.js";
import { momentText, nsText, numberOf } from "./amounts.js";
import { drawCursor, movedCursor } from "./cursor.js";
import { themeColors } from "./palette.js";
import {
	LABEL, TOP, bytesAt, drawRanks, drawValues, measureRanks, offsetsOf, ranksBox, shortNames,
	wholeSpan,
} from "./ranks_plot.js";
import { hashOf, replaceRoute } from "./route.js";
import { panned, zoomed } from "./span.js";
import { SvgPainter } from "./svg.js";
import { bytes, change, count, makeTable, time, words } from "./table.js";

/** @typedef {import("./main.js").Context} Context */
/** @typedef {import("./report.js").Ranks} Ranks */
/** @typedef {import("./report.js").Json} Json */
/** @typedef {import("./ranks_plot.js").Row} Row */

const CURVES = ["allocated", "reserved", "driver"];
const MARK_COLOR = "#d55e00";
/** With fewer rows, no value is an outlier (docs/ANALYSIS.md, section 22). */
const ROWS_TO_COMPARE = 4;
const SHORTEST_NS = 200;
const CLICK_PIXELS = 4;
/** Heights of rows, in pixels. */
const ROW = { least: 20, most: 110, around: 440 };
const COLUMNS = { bytes, ns: time, count };

/** Rows of the table and of the picture, in the order of the commands.
 * @param {import("./report.js").Report} report @param {Ranks} ranks @returns {Row[]} */
function rowsOf(report, ranks) {
	const names = shortNames(report.recordings.map(({ file }) => file));
	return ranks.rows.map(({ recording, device }, k) => ({
		recording, device, header: report.recordings[recording].lives, curves: [],
		name: names[recording] + (ranks.rows.some((row, other) => other !== k &&
			row.recording === recording) ? ` GPU ${device}` : ""),
		note: report.recordings[recording].lives ? ""
			: `no curves: ${report.recordings[recording].missing.lives ?? "not in this report"}`,
		is_marked: ranks.findings.some(({ row }) => row === k),
	}));
}

/** The figures of all recordings; an orange mark shows the outlier of each column.
 * @param {import("./report.js").Report} report @param {Ranks} ranks
 * @param {{ more?: import("./table.js").Column[], all?: Row[], limit?: number }} [options]
 *     `all`: what `more` gets */
export function figuresTable(report, ranks, options = {}) {
	const { more = [], all = rowsOf(report, ranks), limit } = options;
	const rows = all.map((row, place) => ({ ...row, place,
		rank: ranks.recordings[row.recording].rank, state: ranks.recordings[row.recording].state }));
	const has = (/** @type {string} */ key) => rows.some((row) => /** @type {Json} */ (row)[key] !==
		null);
	return makeTable({ name: "ranks", rows, limit, columns: [
		words("Recording", "name", { link: (row) => hashOf("overview", { r: row.recording || null }),
			color: (row) => (row.is_marked ? MARK_COLOR : null) }),
		...(has("rank") ? [count("Rank", "rank", { title: "in NCCL's largest communicator" })] : []),
		...(has("state") ? [words("State", "state")] : []),
		...ranks.figures.filter(({ values }) => values.some((value) => value !== null))
			.map(({ figure, unit, command, values, outlier }) => COLUMNS[unit](
				figure[0].toUpperCase() + figure.slice(1), (row) => values[row.place],
				{ title: `gpuprof ${command} prints it`,
					color: (row) => (row.place === outlier ? MARK_COLOR : null) })),
		...more,
	] });
}

/** The recordings that the report leaves out; null: none.
 * @param {import("./report.js").Report} report */
export function unreadableList({ unreadable }) {
	return unreadable?.length ? el("ul", { class: "losses" }, unreadable.map(({ file, reason }) =>
		el("li", {}, `${file} is not in this report: ${reason}`))) : null;
}

/** What differs, in sentences. @param {import("./report.js").Report} report @param {Ranks} ranks */
export function findingsOf(report, ranks) {
	const rows = rowsOf(report, ranks);
	const differ = new Set(ranks.findings.map(({ row }) => rows[row].recording)).size;
	const ooms = ranks.figures.find(({ figure }) => figure === "OOMs")?.values ?? [];
	/* null: no OOM is recorded, but the recording lacks events */
	const unknown = new Set(rows.filter((_, k) => (ooms[k] ?? null) === null)
		.map(({ recording }) => recording)).size;
	return [
		el("p", { class: `verdict ${differ ? "warn" : unknown ? "note" : "good"}` }, differ
			? `${numberOf(differ, "recording")} of ${report.recordings.length} ` +
				`${differ === 1 ? "differs" : "differ"} from the others.`
			: rows.length < ROWS_TO_COMPARE
				? (unknown ? "" : "No recording ran out of memory. ") +
					`To compare figures, at least ${ROWS_TO_COMPARE} recordings are needed.`
				: "No recording differs from the others."),
		unknown > 0 && el("p", { class: "verdict note" }, `${numberOf(unknown, "recording")} ` +
			`${unknown === 1 ? "lacks" : "lack"} events: whether memory ran out is not known.`),
		differ > 0 && makeTable({ name: "outliers", rows: rows.flatMap((row, k) => {
			const found = ranks.findings.filter((one) => one.row === k);
			return found.length ? [{ ...row, text: found.map(({ text }) => text).join(" ") }] : [];
		}), columns: [
			words("Recording", "name", { color: () => MARK_COLOR,
				link: (row) => hashOf("overview", { r: row.recording || null }) }),
			words("Why it is marked", "text", { is_whole: true }),
		] }),
	];
}

/** How moments can be compared. @param {Ranks} ranks @returns {[string, string][]} */
const alignments = (ranks) => [
	["clock", ranks.is_one_clock ? "on the clock of the host" : "by time of day"],
	...(ranks.step === null ? [] : [/** @type {[string, string]} */ (
		["step", `aligned at step ${ranks.step}`])]),
	["start", "aligned at their starts"],
];

/** @param {Context} context */
export async function ranksPage(context) {
	const { ranks } = context.report;
	if (!ranks) return message("This report has one recording.");
	const view = new RanksView(context, ranks);
	view.start();
	return view.element;
}

class RanksView {
	/** @param {Context} context @param {Ranks} ranks */
	constructor(context, ranks) {
		const { report, values } = context;
		this.context = context;
		this.ranks = ranks;
		this.rows = rowsOf(report, ranks);
		this.headers = report.recordings.map(({ lives }) => lives);
		const choices = alignments(ranks);
		this.align = (choices.find(([id]) => id === values.align) ?? [ranks.align])[0];
		this.offsets = offsetsOf(ranks, this.headers, this.align);
		this.whole = wholeSpan(this.offsets, this.headers);
		this.hidden = new Set((values.hide ?? "").split(" ").filter(Boolean));
		const room = Math.floor((innerHeight - ROW.around) / this.rows.length);
		this.view = { ...this.whole, width: 1000,
			row: Math.min(ROW.most, Math.max(ROW.least, room)) };
		this.setSpan(Number(values.from ?? 0), Number(values.to ?? this.whole.to_ns));
		/** @type {import("./ranks_plot.js").Measured | null} */
		this.measured = null;
		this.canvas = el("canvas", { tabindex: 0, class: "ranks", role: "img",
			"aria-label": "memory of each recording; " +
				"keys: plus, minus, arrows, 0, Shift and arrows, Enter" });
		/** @type {import("./cursor.js").Cursor | null} */
		this.cursor = null;
		this.overlay = el("canvas", { class: "ranks-line", "aria-hidden": "true" });
		this.holder = el("div", { class: "ranks-holder" }, this.canvas, this.overlay);
		this.status = el("span", { class: "status" });
		this.table = el("div", {});
		this.element = el("div", { class: "ranks-page" },
			unreadableList(report), findingsOf(report, ranks),
			(this.align !== "clock" || !ranks.is_one_clock) && el("p", { class: "verdict note" },
				(ranks.why ? `${ranks.why} ` : "") + this.alignedText()),
			el("div", { class: "controls" },
				select(choices, this.align, (align) => {
					location.hash = hashOf("ranks", { ...context.values, align, from: null, to: null,
						t: null, u: null });
				}, "time axis"),
				el("span", { class: "curves" }, CURVES.map((name) => this.curveBox(name))),
				el("span", { class: "space" }),
				button("+", () => this.zoom(0.5), "zoom in (+)"),
				button("−", () => this.zoom(2), "zoom out (-)"),
				button("whole time", () => this.setSpanAndDraw(0, this.whole.to_ns), "0"),
				button("SVG", () => this.exportSvg(), "save the picture")),
			this.holder, this.status,
			el("h2", { class: "section" }, "Figures"), this.table,
			el("ul", { class: "commands" }, Object.entries(ranks.commands).map(([name, command]) =>
				el("li", {}, el("code", {}, `gpuprof ${name} …`), copyCommand(command)))));
	}

	alignedText() {
		return this.align === "clock" ? "The picture shows them by time of day."
			: this.align === "step" ? `The picture aligns all recordings at step ${this.ranks.step}.`
				: "The picture aligns all recordings at their starts.";
	}

	/** @param {string} name */
	curveBox(name) {
		const box = el("input", { type: "checkbox" });
		box.checked = !this.hidden.has(name);
		box.addEventListener("change", () => {
			if (box.checked) this.hidden.delete(name);
			else this.hidden.add(name);
			this.draw();
			this.remember();
		});
		return el("label", { class: `curve ${name}` }, box, name);
	}

	start() {
		const { signal } = this.context;
		const { canvas } = this;
		const resizer = new ResizeObserver(() => this.draw());
		resizer.observe(this.holder);
		signal.addEventListener("abort", () => resizer.disconnect());
		canvas.addEventListener("wheel", (event) => {
			const is_tall = canvas.clientHeight > innerHeight - ROW.around / 2;
			if (is_tall && !event.ctrlKey) return;
			event.preventDefault();
			this.zoom(2 ** (event.deltaY / 300), event.offsetX);
		}, { passive: false });
		canvas.addEventListener("pointerdown", (event) => this.drag(event));
		canvas.addEventListener("pointermove", (event) => {
			if (event.buttons || this.pointing) return;
			this.pointing = requestAnimationFrame(() => {
				this.pointing = 0;
				this.cursor = null;
				this.pointAt(event.offsetX);
			});
		});
		canvas.addEventListener("pointerleave", () => this.pointAt(-1));
		addEventListener("keydown", (event) => this.key(event), { signal });
		this.showTable();
		this.load();
	}

	async load() {
		for (const [number, { lives }] of this.context.report.recordings.entries()) {
			if (!lives) continue;
			const mine = this.rows.filter(({ recording }) => recording === number);
			this.status.textContent = `Reading recording ${number + 1}…`;
			try {
				const curves = await this.context.curvesOf(number);
				for (const row of mine) {
					row.curves = curves.filter(({ device }) => device === row.device);
					if (!row.curves.length) row.note = "no memory of a GPU was recorded";
				}
			} catch (error) {
				for (const row of mine) {
					row.note = `no curves: ${error instanceof Error ? error.message : error}`;
				}
			}
			if (this.context.signal.aborted) return;
			this.draw();
		}
		this.status.textContent = "Figures beside a name are the highest of the picture, or those at " +
			"the pointer. Click: the timeline of that recording. Shift and click: pin a moment; " +
			"twice: compare two." +
			(this.canvas.clientHeight > innerHeight - ROW.around / 2
				? " Ctrl and wheel: zoom." : "");
		this.showTable();
		this.element.dataset.state = "ready";
	}

	/** Pinned moments of the common axis. */
	pins() {
		const { t, u } = this.context.values;
		return [t, u].flatMap((at, k) => (at ? [{ at_ns: Number(at), label: "AB"[k] }] : []));
	}

	shown() {
		return CURVES.filter((name) => !this.hidden.has(name));
	}

	showTable() {
		const { recordings } = this.context.report;
		const curve = this.shown()[0] ?? CURVES[0];
		/** @param {Row} row */
		const peakOf = (row) => recordings[row.recording].documents.info?.peaks.find(
			(/** @type {Json} */ peak) => peak.of === "allocated" && peak.device === row.device) ??
			recordings[row.recording].documents.info?.peaks.find(
				(/** @type {Json} */ peak) => peak.of === "driver" && peak.device === row.device);
		/** @param {Row} row */
		const holderOf = (row) => recordings[row.recording].documents.peak?.curves.find(
			(/** @type {Json} */ one) => one.of === peakOf(row)?.of &&
				one.device === row.device)?.groups[0]?.key;
		const moment = (/** @type {Row} */ row, /** @type {number} */ at) =>
			Math.round(at - this.offsets[row.recording]);
		const pins = this.pins();
		const at = (/** @type {Row} */ row, /** @type {number} */ k) =>
			bytesAt(row, this.offsets, [curve], pins[k].at_ns)[0];
		/** @param {Row} row @param {Record<string, string | number>} more */
		const momentLink = (row, more) =>
			hashOf("moment", { r: row.recording || null, device: row.device, ...more });
		const isKnown = (/** @type {Row} */ row) => pins.every((_, k) => at(row, k) !== null);
		/** @type {import("./table.js").Column[]} */
		const more = [
			time("Peak, own clock", (row) => peakOf(row)?.peak_at_ns, { link: (row) => (peakOf(row)
				? momentLink(row, { of: peakOf(row).of, t: peakOf(row).peak_at_ns }) : null) }),
			words("Top holder", (row) => holderOf(row) ?? ""),
			...pins.map(({ label, at_ns }, k) => bytes(`${curve} at ${label}`, (row) => at(row, k), {
				link: (row) => (at(row, k) === null ? null
					: momentLink(row, { of: curve, t: moment(row, at_ns) })) })),
			...(pins.length > 1 ? [change("Change", (row) => (isKnown(row)
				? Number(at(row, 1)) - Number(at(row, 0)) : null), { link: (row) => (isKnown(row)
				? momentLink(row, { of: curve, t: moment(row, pins[0].at_ns),
					u: moment(row, pins[1].at_ns) }) : null) })] : []),
		];
		this.table.replaceChildren(
			figuresTable(this.context.report, this.ranks, { all: this.rows, more }));
	}

	/** @param {number} from @param {number} to */
	setSpan(from, to) {
		const whole = this.whole.to_ns;
		const span = Math.min(whole, Math.max(SHORTEST_NS, to - from || whole));
		this.view.from_ns = Math.min(Math.max(0, from || 0), whole - span);
		this.view.to_ns = this.view.from_ns + span;
	}

	/** @param {number} from @param {number} to */
	setSpanAndDraw(from, to) {
		this.setSpan(from, to);
		this.draw();
		this.remember();
	}

	routeValues() {
		const { from_ns, to_ns } = this.view;
		const is_whole = from_ns === 0 && to_ns === this.whole.to_ns;
		return { ...this.context.values, hide: [...this.hidden].join(" "),
			from: is_whole ? null : Math.round(from_ns), to: is_whole ? null : Math.round(to_ns) };
	}

	remember() {
		clearTimeout(this.remembering);
		this.remembering = setTimeout(() => {
			if (!this.context.signal.aborted) replaceRoute("ranks", this.routeValues());
		}, 200);
	}

	/** @param {number} x */
	timeAt(x) {
		const { from_ns, to_ns, width } = this.view;
		const box = ranksBox({ from_ns, to_ns, width, row: 1 }, 1);
		return from_ns + ((x - box.left) / box.width) * (to_ns - from_ns);
	}

	/** @param {number} factor @param {number} [x] the point that stays */
	zoom(factor, x) {
		const { from_ns, to_ns } = this.view;
		const at = x === undefined ? (from_ns + to_ns) / 2 : this.timeAt(x);
		this.setSpanAndDraw(...zoomed(this.view, factor, at));
	}

	/** @param {number} part of the view */
	pan(part) {
		this.setSpanAndDraw(...panned(this.view, part));
	}

	/** @param {KeyboardEvent} event */
	key(event) {
		if (event.ctrlKey || event.metaKey || event.altKey ||
			event.target instanceof HTMLSelectElement) return;
		const { cursor } = this;
		const moved = movedCursor(cursor, event, { ...ranksBox(this.view, this.rows.length),
			row: this.view.row });
		const is_on_button = event.target instanceof Element && event.target.closest("a, button, tr");
		if (event.key === "Enter" && (is_on_button || !cursor)) return;
		const actions = /** @type {Record<string, () => void>} */ ({
			"+": () => this.zoom(0.5), "=": () => this.zoom(0.5), "-": () => this.zoom(2),
			Enter: () => this.choose({ offsetX: cursor?.x ?? 0, offsetY: cursor?.y ?? 0,
				shiftKey: event.shiftKey }),
			ArrowLeft: () => this.pan(-0.2), ArrowRight: () => this.pan(0.2),
			0: () => this.setSpanAndDraw(0, this.whole.to_ns),
		});
		if (!moved && !actions[event.key]) return;
		event.preventDefault();
		if (moved) {
			this.cursor = moved;
			this.pointAt(moved.x);
		} else actions[event.key]();
	}

	/** @param {PointerEvent} down */
	drag(down) {
		const { from_ns, to_ns } = this.view;
		const scale = (to_ns - from_ns) / ranksBox(this.view, 1).width;
		const end = new AbortController();
		let is_drag = false;
		this.canvas.setPointerCapture(down.pointerId);
		this.canvas.addEventListener("pointermove", (event) => {
			const moved = event.clientX - down.clientX;
			if (Math.abs(moved) > CLICK_PIXELS) is_drag = true;
			if (is_drag) this.setSpanAndDraw(from_ns - moved * scale, to_ns - moved * scale);
		}, { signal: end.signal });
		this.canvas.addEventListener("pointerup", (event) => {
			end.abort();
			if (!is_drag) this.choose(event);
		}, { signal: end.signal });
		this.canvas.addEventListener("pointercancel", () => end.abort(), { signal: end.signal });
	}

	/** Opens the timeline of the row at that moment; with shift, pins the moment.
	 * @param {{ offsetX: number, offsetY: number, shiftKey: boolean }} event */
	choose(event) {
		const row = this.rows[Math.floor((event.offsetY - TOP) / this.view.row)];
		const at_ns = Math.floor(this.timeAt(event.offsetX));
		if (event.offsetX < LABEL || !row) return;
		const { t, u } = this.context.values;
		if (event.shiftKey) {
			location.hash = hashOf("ranks", { ...this.routeValues(),
				...(t && !u ? { u: at_ns } : { t: at_ns, u: null }) });
		} else {
			location.hash = hashOf("timeline", { r: row.recording || null, device: row.device,
				t: Math.round(at_ns - this.offsets[row.recording]) });
		}
	}

	/** The line through all rows and the bytes of each row. @param {number} x */
	pointAt(x) {
		const { overlay, view, measured } = this;
		const paint = overlay.getContext("2d");
		if (!paint || !measured) return;
		const { box } = measured;
		const theme = themeColors();
		paint.clearRect(0, 0, view.width, box.whole);
		if (x < box.left || x > box.left + box.width) return;
		const at_ns = this.timeAt(x);
		this.rows.forEach((row, k) => drawValues(paint, view, theme, this.shown(),
			bytesAt(row, this.offsets, this.shown(), at_ns), box.top + k * view.row));
		paint.fillStyle = theme.ink;
		paint.fillRect(Math.floor(x), box.top, 1, box.height);
		const text = momentText(at_ns, view.to_ns - view.from_ns);
		paint.fillStyle = theme.ground;
		paint.fillRect(x - 70, 2, 140, box.top - 4);
		paint.fillStyle = theme.ink;
		paint.textAlign = "center";
		paint.fillText(text, x, box.top / 2);
		overlay.title = nsText(at_ns);
		if (this.cursor) drawCursor(paint, this.cursor, theme.ink);
	}

	/** @returns {import("./ranks_plot.js").Scene} */
	scene() {
		return { rows: this.rows, offsets: this.offsets, curves: this.shown(), pins: this.pins(),
			theme: themeColors() };
	}

	draw() {
		if (this.drawing) return;
		this.drawing = requestAnimationFrame(() => {
			this.drawing = 0;
			this.view.width = this.holder.clientWidth;
			if (!this.view.width || this.context.signal.aborted) return;
			this.measured = measureRanks(this.view, this.scene());
			const ratio = devicePixelRatio || 1;
			const height = this.measured.box.whole;
			for (const canvas of [this.canvas, this.overlay]) {
				canvas.style.height = `${height}px`;
				canvas.width = Math.round(this.view.width * ratio);
				canvas.height = Math.round(height * ratio);
				canvas.getContext("2d")?.setTransform(ratio, 0, 0, ratio, 0, 0);
			}
			const paint = this.canvas.getContext("2d");
			if (paint) drawRanks(paint, this.view, this.scene(), this.measured);
		});
	}

	exportSvg() {
		if (!this.measured) return;
		const paint = new SvgPainter(this.view.width, this.measured.box.whole);
		drawRanks(paint, this.view, this.scene(), this.measured);
		download("ranks.svg", "image/svg+xml", paint.toString());
	}
}
