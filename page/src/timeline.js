/** The timeline: controls, zoom and pan, search, the block or band under the pointer. */
import { drawCursor, movedCursor } from "./cursor.js";
import { button, copyCommand, download, el, message, select } from "./dom.js";
import { bytesText, countText, momentText, nsText, numberOf, shareText } from "./amounts.js";
import {
	BANDS, chooseBands, defaultKey, keyChoices, keyText, nameOf, searchLives, stackLines,
} from "./keys.js";
import { OF, addressFault, orderEvents, selectGroups } from "./lives.js";
import { OTHER_COLOR, bandColor, roleColor, themeColors } from "./palette.js";
import { drawLanes, lanesBox } from "./lane_plot.js";
import { LanesView } from "./lanes.js";
import { lossList } from "./overview.js";
import { Bands } from "./pyramid.js";
import { hashOf, replaceRoute } from "./route.js";
import { panned, zoomed } from "./span.js";
import { SvgPainter } from "./svg.js";
import {
	bandAt, drawTimeline, edgeMarks, liveByBand, measure, plotBox, timeAt,
} from "./timeline_plot.js";

/** @typedef {import("./main.js").Context} Context */
/** @typedef {import("./keys.js").Key} Key */
/** @typedef {import("./report.js").LivesHeader} LivesHeader */

/** The shortest span that a view has. */
const SHORTEST_NS = 200;
const CLICK_PIXELS = 4;
/** A match is shown in such a part of the run, or less. */
const PARTS_OF_RUN = 50;
const HINT = "Move over the picture, or press Shift and arrows: the block or band at that point, " +
	"with its call stack. Click or Enter: all memory that is live at that moment. " +
	"Wheel: zoom. Drag: move.";
/** Curves in the order of the page. */
export const CURVES = ["driver", "reserved", "allocated", "pinned"];

/** Kinds of memory that the bands can show. */
export const MEMORY = /** @type {const} */ ([
	["allocated", "PyTorch's blocks", [OF.BLOCK]],
	["reserved", "PyTorch's segments", [OF.SEGMENT, OF.UNMAPPED]],
	["driver", "driver memory", [OF.SEGMENT, OF.DRIVER]],
	["pinned", "pinned host memory", [OF.PINNED]],
]);

/** The kinds of memory that a recording has. @param {LivesHeader} header */
export function memoryChoices(header) {
	const present = new Set(header.groups.of);
	const choices = MEMORY.filter(([, , kinds]) => kinds.some((kind) => present.has(kind)));
	return choices.length ? choices : [MEMORY[2]];
}

/** @param {Context} context */
export async function timelinePage(context) {
	const header = context.recording.lives;
	if (!header) {
		return message("This report has no data about single allocations, so there is no timeline. " +
			(context.recording.missing.lives ?? ""));
	}
	const fault = addressFault(header, context);
	if (fault) return message(fault, "verdict note");
	const view = new TimelineView(context, header);
	view.start();
	return view.element;
}

/** @param {LivesHeader} header @param {number} stack */
const stackOf = (header, stack) =>
	el("ol", { class: "stack" }, stackLines(header, stack).map((line) => el("li", {}, line)));

class TimelineView {
	/** @param {Context} context @param {LivesHeader} header */
	constructor(context, header) {
		const { values } = context;
		this.context = context;
		this.header = header;
		const memory = memoryChoices(header);
		const keys = keyChoices(header);
		this.device = Number(values.device ?? header.devices[0] ?? 0);
		this.memory = memory.find(([id]) => id === values.of) ?? memory[0];
		/** @type {Key} */
		this.by = keys.find(([key]) => key === values.by)?.[0] ?? defaultKey(header);
		this.search = values.q ?? "";
		this.hidden = new Set((values.hide ?? "").split(" ").filter(Boolean));
		this.view = { from_ns: 0, to_ns: 0, width: 1000, height: 460 };
		this.setSpan(Number(values.from ?? header.from_ns), Number(values.to ?? header.to_ns));
		if (values.t && !values.from) this.showAround(Number(values.t));
		/** @type {import("./lives.js").Lives | null} */
		this.lives = null;
		/** @type {import("./report.js").NamedCurve[]} */
		this.curves = [];
		/** @type {Bands | null} */
		this.bands = null;
		/** @type {ReturnType<typeof chooseBands> | null} */
		this.chosen = null;
		/** @type {ReturnType<typeof measure> | null} */
		this.measured = null;
		/** Number of bands, the rest included. */
		this.visible = BANDS + 1;
		this.marked = -1;
		this.is_dimmed = false;
		this.marks = [...header.marks, ...edgeMarks(context.recording, header)];
		/** @type {{ at: number, from_ns: number, to_ns: number } | null} the last one shown */
		this.match = null;
		/** @type {import("./cursor.js").Cursor | null} */
		this.cursor = null;
		this.canvas = el("canvas", { tabindex: 0, class: "plot", role: "img",
			"aria-label": "memory over time; keys: plus, minus, arrows, 0, Shift and arrows, Enter" });
		const { gpu } = context.recording;
		/** Lanes of GPU time and of ranges, if they were recorded. */
		this.lanes = gpu ? new LanesView(context, gpu, this.device, (change) => this.choose(change))
			: null;
		this.copy = copyCommand(this.viewCommand());
		this.status = el("span", { class: "status" });
		this.hover = el("div", { class: "hover" }, message(HINT));
		this.legend = el("ul", { class: "legend side" });
		this.curveBoxes = el("span", { class: "curves" });
		this.searchBox = el("input", { type: "search",
			placeholder: `functions, files, ${this.lanes?.has_work ? "kernels" : "modules"}, >1GiB`,
			value: this.search, "aria-label": "search" });
		this.element = el("div", { class: "timeline" }, lossList(context),
			el("div", { class: "controls" },
				header.devices.length > 1 && select(header.devices.map((device) =>
					[String(device), `GPU ${device}`]), String(this.device),
				(device) => this.choose({ device }), "device"),
				select(memory.map(([id, text]) => [id, text]), this.memory[0],
					(of) => this.choose({ of }), "memory"),
				select(keys, this.by, (by) => this.choose({ by }), "group by"),
				this.lanes?.chooser, this.searchBox, this.curveBoxes, el("span", { class: "space" }),
				button("+", () => this.zoom(0.5), "zoom in (+)"),
				button("−", () => this.zoom(2), "zoom out (-)"),
				button("whole run", () => this.setSpanAndDraw(header.from_ns, header.to_ns), "0"),
				button("SVG", () => this.exportSvg(), "save the picture"),
				this.copy),
			el("div", { class: "plot-row" }, el("div", { class: "plots" }, this.canvas,
				this.lanes?.canvas), el("div", { class: "sides" }, this.legend, this.lanes?.legend)),
			this.status, this.hover);
		this.element.style.setProperty("--lanes", `${this.lanes?.height ?? 0}px`);
	}

	start() {
		const { signal } = this.context;
		const resizer = new ResizeObserver(() => this.draw());
		resizer.observe(this.canvas);
		signal.addEventListener("abort", () => resizer.disconnect());
		this.listen(this.canvas, (x, y) => this.pointAt(x, y));
		if (this.lanes) this.listen(this.lanes.canvas, (x, y) => this.pointAtLane(x, y));
		addEventListener("keydown", (event) => this.key(event), { signal });
		this.searchBox.addEventListener("input", () => {
			clearTimeout(this.searching);
			this.searching = setTimeout(() => {
				this.search = this.searchBox.value;
				this.build();
				this.remember();
			}, 250);
		});
		this.load();
	}

	/** Zoom, pan, pin and hover. @param {HTMLCanvasElement} canvas
	 * @param {(x: number, y: number) => void} pointAt */
	listen(canvas, pointAt) {
		canvas.addEventListener("wheel", (event) => {
			event.preventDefault();
			if (event.shiftKey || Math.abs(event.deltaX) > Math.abs(event.deltaY)) {
				this.pan((event.deltaX || event.deltaY) / canvas.clientWidth);
			} else this.zoom(2 ** (event.deltaY / 300), event.offsetX);
		}, { passive: false });
		canvas.addEventListener("pointerdown", (event) => this.drag(event));
		canvas.addEventListener("pointermove", (event) => {
			if (this.cursor && (event.movementX || event.movementY)) {
				this.cursor = null;
				this.draw();
			}
			if (event.buttons || this.pointing) return;
			this.pointing = requestAnimationFrame(() => {
				this.pointing = 0;
				pointAt(event.offsetX, event.offsetY);
			});
		});
	}

	async load() {
		try {
			this.status.textContent = `Reading ${countText(this.header.count)} allocations…`;
			this.curves = (await this.context.curves()).filter((curve) =>
				curve.device === this.device || curve.name === "pinned")
				.sort((a, b) => CURVES.indexOf(a.name) - CURVES.indexOf(b.name));
			this.showCurveBoxes();
			this.draw();
			this.lives = await this.context.lives();
			await this.lanes?.load();
			this.build();
		} catch (error) {
			this.status.className = "bad";
			this.status.textContent = `The data cannot be read: ${
				error instanceof Error ? error.message : error}`;
		}
		this.element.dataset.state = "ready";
	}

	/** Another device, memory or key is another page of the history.
	 * @param {Record<string, string>} change */
	choose(change) {
		const hide = change.of ? { hide: null } : {};
		location.hash = hashOf("timeline", { ...this.routeValues(), ...hide, ...change });
	}

	routeValues() {
		const { from_ns, to_ns } = this.view;
		const is_whole = from_ns === this.header.from_ns && to_ns === this.header.to_ns;
		return {
			...this.context.values, t: null, device: this.device, of: this.memory[0], by: this.by,
			from: is_whole ? null : Math.round(from_ns), to: is_whole ? null : Math.round(to_ns),
			q: this.search, hide: [...this.hidden].join(" "),
		};
	}

	/** The command that prints the view. Only roles of PyTorch's blocks have one. */
	viewCommand() {
		const { device, from, to } = this.routeValues();
		const { commands } = this.context.recording;
		const [, command, file] = /^(gpuprof timeline --by role --json) ([^]*)$/
			.exec(commands.timeline ?? "") ?? [];
		if (!command || this.by !== "role" || this.memory[0] !== "allocated") return undefined;
		const span = from === null ? "" : ` --from ${from} --to ${to}`;
		return `${command}${span} --device ${device} ${file}`;
	}

	remember() {
		clearTimeout(this.remembering);
		this.remembering = setTimeout(() => {
			if (!this.context.signal.aborted) replaceRoute("timeline", this.routeValues());
		}, 200);
	}

	/** Selects the lives and builds the bands of the chosen key, once. */
	build() {
		const { header, lives } = this;
		if (!lives) return;
		const is_selected = selectGroups(header, this.device, [...this.memory[2]]);
		const events = orderEvents(lives, is_selected);
		this.chosen = chooseBands(header, lives, events, this.by);
		const { bandOfGroup } = this.chosen;
		const bandOfLife = new Uint8Array(lives.count)
			.map((_, life) => bandOfGroup[lives.group[life]]);
		/** @type {number | null} */
		let matches = null;
		this.lanes?.search(this.search);
		this.is_dimmed = false;
		if (this.search) {
			const is_match = searchLives(header, lives, this.search);
			matches = events.births.reduce((sum, life) => sum + is_match[life], 0);
			/* words that only kernels have leave the bands as they are */
			this.is_dimmed = matches > 0 || !this.lanes?.matches;
			if (this.is_dimmed) {
				is_match.forEach((is_found, life) => {
					if (!is_found) bandOfLife[life] += this.visible;
				});
			}
		}
		this.bands = new Bands(lives, events, bandOfLife, this.visible * (this.is_dimmed ? 2 : 1));
		this.marked = -1;
		this.status.textContent = this.summary(events.births.length, matches);
		this.lanes?.showLegend();
		this.draw();
	}

	/** @param {number} shown @param {number | null} matches */
	summary(shown, matches) {
		const { left_out, shorter_than_ns, marks_left_out } = this.header;
		const { t, u } = this.context.values;
		return (matches === null ? "" : `${countText(matches)} of `) +
			`${numberOf(shown, "allocation")} of ${this.memory[1]}` +
			`${matches === null ? "" : ` match “${this.search}”`}. Each pixel column shows its ` +
			"highest moment." + (left_out ? ` ${countText(left_out)} allocations ` +
				`${shorter_than_ns === null ? "with short lives"
					: `that lived less than ${nsText(shorter_than_ns)}`} ` +
				"are not drawn as bands; the curves have them." : "") +
			(marks_left_out ? ` ${countText(marks_left_out)} more marks are not drawn.` : "") +
			(t && !u ? " A is pinned: Shift and click, or Shift and Enter at the cursor, pins B." : "");
	}

	showCurveBoxes() {
		this.curveBoxes.replaceChildren(...this.curves.map(({ name, is_exact }) => {
			const box = el("input", { type: "checkbox" });
			const is_other = (name === "pinned") !== (this.memory[0] === "pinned");
			if (is_other && !this.context.values.hide) this.hidden.add(name);
			box.checked = !this.hidden.has(name);
			box.addEventListener("change", () => {
				if (box.checked) this.hidden.delete(name);
				else this.hidden.add(name);
				this.draw();
				this.remember();
			});
			return el("label", { class: `curve ${name}` }, box, is_exact ? name : `${name} (thinned)`);
		}));
	}

	/** @param {number} from @param {number} to */
	setSpan(from, to) {
		const { from_ns, to_ns } = this.header;
		const whole = Math.max(SHORTEST_NS, to_ns - from_ns);
		const span = Math.min(whole, Math.max(SHORTEST_NS, to - from || whole));
		const begin = Math.min(Math.max(from_ns, from || 0), from_ns + whole - span);
		this.view.from_ns = begin;
		this.view.to_ns = begin + span;
	}

	/** A hundredth of the run around a moment. @param {number} moment */
	showAround(moment) {
		const half = (this.header.to_ns - this.header.from_ns) / 200;
		this.setSpan(moment - half, moment + half);
	}

	/** @param {number} from @param {number} to */
	setSpanAndDraw(from, to) {
		this.setSpan(from, to);
		this.draw();
		this.remember();
	}

	/** @param {number} factor @param {number} [x] the point that stays */
	zoom(factor, x) {
		const { from_ns, to_ns } = this.view;
		const at = x === undefined ? (from_ns + to_ns) / 2 : timeAt(this.view, x);
		this.setSpanAndDraw(...zoomed(this.view, factor, at));
	}

	/** @param {number} part of the view */
	pan(part) {
		this.setSpanAndDraw(...panned(this.view, part));
	}

	/** @param {KeyboardEvent} event */
	key(event) {
		if (event.ctrlKey || event.metaKey || event.altKey) return;
		if (event.target instanceof HTMLInputElement || event.target instanceof HTMLSelectElement) {
			if (event.key === "Escape" && event.target === this.searchBox) this.clearSearch();
			return;
		}
		const { cursor } = this;
		const moved = movedCursor(cursor, event, this.lanes && event.target === this.lanes.canvas
			? lanesBox(this.view, this.lanes.rows.length) : { ...plotBox(this.view), row: 0 });
		const is_on_button = event.target instanceof Element && event.target.closest("a, button");
		if (moved) {
			event.preventDefault();
			this.cursor = moved;
			this.draw();
			return;
		}
		if (event.key === "Enter" && (is_on_button || !cursor)) return;
		const actions = /** @type {Record<string, () => void>} */ ({
			"+": () => this.zoom(0.5, cursor?.x), "=": () => this.zoom(0.5, cursor?.x),
			"-": () => this.zoom(2, cursor?.x),
			Enter: () => this.pin({ offsetX: cursor?.x ?? 0, shiftKey: event.shiftKey }),
			ArrowLeft: () => this.pan(-0.2), ArrowRight: () => this.pan(0.2),
			0: () => this.setSpanAndDraw(this.header.from_ns, this.header.to_ns),
			"/": () => this.searchBox.focus(),
			n: () => this.showMatch(1), p: () => this.showMatch(-1),
		});
		if (!actions[event.key]) return;
		event.preventDefault();
		actions[event.key]();
	}

	clearSearch() {
		clearTimeout(this.searching);
		this.searchBox.value = this.search = "";
		this.canvas.focus();
		this.build();
		this.remember();
	}

	/** @param {PointerEvent} down */
	drag(down) {
		const { from_ns, to_ns } = this.view;
		const canvas = /** @type {HTMLCanvasElement} */ (down.currentTarget);
		const scale = (to_ns - from_ns) / plotBox(this.view).width;
		const end = new AbortController();
		let is_drag = false;
		canvas.setPointerCapture(down.pointerId);
		canvas.addEventListener("pointermove", (event) => {
			const moved = event.clientX - down.clientX;
			if (Math.abs(moved) > CLICK_PIXELS) is_drag = true;
			if (is_drag) this.setSpanAndDraw(from_ns - moved * scale, to_ns - moved * scale);
		}, { signal: end.signal });
		canvas.addEventListener("pointerup", (event) => {
			end.abort();
			if (!is_drag) this.pin(event);
		}, { signal: end.signal });
		canvas.addEventListener("pointercancel", () => end.abort(), { signal: end.signal });
	}

	/** Shows the Moment page of the column's highest state.
	 * @param {{ offsetX: number, shiftKey: boolean }} event */
	pin(event) {
		const column = this.columnAt(event.offsetX);
		if (column < 0 || !this.bands || !this.measured) return;
		const moment = this.momentOf(column);
		const { t } = this.context.values;
		location.hash = hashOf("moment", {
			...this.routeValues(), hide: null, from: null, to: null,
			...(event.shiftKey && t ? { t, u: moment } : { t: moment, u: null }),
		});
	}

	/** @param {number} x */
	columnAt(x) {
		const box = plotBox(this.view);
		const column = Math.floor(x - box.left);
		return column >= 0 && column < box.width ? column : -1;
	}

	/** The moment that a column shows. @param {number} column */
	momentOf(column) {
		const since = this.bands?.timeOf(this.measured?.states[column] ?? 0) ?? 0;
		return Math.max(since, Math.floor(timeAt(this.view, column + plotBox(this.view).left)));
	}

	/** @param {number} x @param {number} y */
	pointAt(x, y) {
		const column = this.columnAt(x);
		const { bands, measured, lives } = this;
		if (column < 0 || !bands || !measured || !lives || !this.chosen) return;
		const { box, top } = measured;
		const bytes = ((box.top + box.height - y) / box.height) * top;
		const moment = this.momentOf(column);
		const span = this.view.to_ns - this.view.from_ns;
		const found = bandAt(measured, column, bytes);
		/** @type {Node[]} */
		const lines = [el("p", { class: "moment" }, `at ${momentText(moment, span)}: `,
			...this.curves.map(({ name, curve }) => el("span", { class: `curve ${name}` },
				`${name} ${bytesText(curve.range(moment, moment + 1)?.high ?? 0)}`)))];
		let marked = -1;
		if (found) {
			const list = liveByBand(bands, measured.states[column])?.[found.band] ?? [];
			const band = found.band % this.visible;
			const sum = measured.sums[column * measured.count + found.band];
			let base = found.base;
			const life = list.find((one) => (base += lives.bytes[one]) > bytes) ?? -1;
			const is_tall = life >= 0 && (lives.bytes[life] / top) * box.height >= 1;
			if (is_tall) marked = life;
			lines.push(this.bandLine(band, sum, list.length));
			if (is_tall) lines.push(this.blockLines(life));
			else if (this.by === "stack" && this.chosen.bands[band]) {
				lines.push(stackOf(this.header, this.chosen.bands[band].id));
			}
		}
		this.hover.replaceChildren(...lines);
		if (marked !== this.marked) {
			this.marked = marked;
			this.paint();
		}
	}

	/** @param {number} x @param {number} y */
	pointAtLane(x, y) {
		if (!this.lanes || this.columnAt(x) < 0) return;
		const { lines, is_changed } = this.lanes.pointAt(this.view, x, y);
		this.hover.replaceChildren(...lines);
		if (is_changed) this.lanes.paint(this.view, this.pins(), this.cursor);
	}

	/** Moves to the next interval of the GPU that the search finds. @param {1 | -1} way */
	showMatch(way) {
		const { from_ns, to_ns } = this.view;
		const is_unmoved = this.match?.from_ns === from_ns && this.match.to_ns === to_ns;
		const at = this.lanes?.nextMatch(
			is_unmoved ? this.match?.at ?? 0 : (from_ns + to_ns) / 2, way) ?? null;
		if (at === null) return;
		const half = Math.min(to_ns - from_ns,
			(this.header.to_ns - this.header.from_ns) / PARTS_OF_RUN) / 2;
		this.setSpanAndDraw(at - half, at + half);
		this.match = { at, from_ns: this.view.from_ns, to_ns: this.view.to_ns };
	}

	/** @param {number} band @param {number} sum @param {number} count */
	bandLine(band, sum, count) {
		const key = this.chosen?.bands[band];
		return el("p", {}, el("span", { class: "swatch", style: { background: this.color(band) } }),
			el("strong", {}, key ? key.text : `other ${nameOf(this.by)}s`),
			`: ${bytesText(sum)} in ${numberOf(count, "allocation")}`);
	}

	/** @param {number} life */
	blockLines(life) {
		const { header, lives } = this;
		if (!lives) return el("div");
		const group = lives.group[life];
		const death = lives.death[life];
		const keys = keyChoices(header).filter(([key]) => key !== "stack" && key !== this.by &&
			!/^(no |$)/.test(header.text[header.groups[key][group]]));
		return el("div", { class: "block" },
			el("p", {}, `block 0x${lives.address[life].toString(16)}, ${bytesText(lives.bytes[life])}, ` +
				`allocated at ${nsText(lives.birth[life])}, ` +
				(death === Infinity ? "live at the end" : `freed at ${nsText(death)} after ` +
					nsText(death - lives.birth[life])) + `, event ${countText(lives.order[life])}`),
			keys.length > 0 && el("p", {}, keys.map(([key]) =>
				`${nameOf(key)} ${keyText(header, key, header.groups[key][group])}`).join(" · ")),
			stackOf(header, header.groups.stack[group]));
	}

	/** @param {number} band */
	color(band) {
		const key = this.chosen?.bands[band];
		if (band >= BANDS || !key) return OTHER_COLOR;
		return this.by === "role" ? roleColor(this.header.text[key.id], band) : bandColor(band);
	}

	draw() {
		if (this.drawing) return;
		this.drawing = requestAnimationFrame(() => {
			this.drawing = 0;
			const { canvas } = this;
			this.view.width = canvas.clientWidth;
			this.view.height = canvas.clientHeight;
			if (!this.view.width || this.context.signal.aborted) return;
			if (this.copy) this.copy.title = this.viewCommand() ?? "";
			this.measured = measure(this.view, this.scene());
			this.paint();
			this.showLegend();
			this.lanes?.paint(this.view, this.pins(), this.cursor);
			if (this.cursor?.is_lane) this.pointAtLane(this.cursor.x, this.cursor.y);
			else if (this.cursor) this.pointAt(this.cursor.x, this.cursor.y);
		});
	}

	pins() {
		const { t, u } = this.context.values;
		const pins = [t, u].flatMap((at, k) => (at ? [{ at_ns: Number(at), label: "AB"[k] }] : []));
		return this.cursor ? [...pins, { at_ns: timeAt(this.view, this.cursor.x), label: "cursor" }]
			: pins;
	}

	/** @returns {import("./timeline_plot.js").Scene} */
	scene() {
		return {
			bands: this.bands, visible: this.visible ?? 1, is_dimmed: this.is_dimmed,
			colors: Array.from({ length: BANDS + 1 }, (_, band) => this.color(band)),
			curves: this.curves.filter(({ name }) => !this.hidden.has(name)),
			marks: this.marks, missing: this.context.recording.documents.info?.uncertain ?? [],
			empty: this.lives ? "No memory of this kind was recorded." : "", theme: themeColors(),
			pins: this.pins(),
		};
	}

	paint() {
		const { canvas, view, measured } = this;
		const ratio = devicePixelRatio || 1;
		const paint = canvas.getContext("2d");
		if (!paint || !measured) return;
		const width = Math.round(view.width * ratio);
		const height = Math.round(view.height * ratio);
		if (canvas.width !== width) canvas.width = width;
		if (canvas.height !== height) canvas.height = height;
		paint.setTransform(ratio, 0, 0, ratio, 0, 0);
		drawTimeline(paint, view, this.scene(), measured, this.marked);
		if (this.cursor && !this.cursor.is_lane) drawCursor(paint, this.cursor, themeColors().ink);
	}

	showLegend() {
		const { chosen, measured } = this;
		if (!chosen || !measured) return;
		const { sums, count, states, box } = measured;
		let best = 0;
		let most = -1;
		for (let column = 0; column < box.width; column++) {
			let total = 0;
			for (let band = 0; band < count; band++) total += sums[column * count + band];
			if (total > most) [most, best] = [total, column];
		}
		const bytesOf = (/** @type {number} */ band) => sums[best * count + band] +
			(count > this.visible ? sums[best * count + band + this.visible] : 0);
		const rows = chosen.bands.map(({ text }, band) => ({ text, band }));
		if (chosen.other_count) {
			rows.push({ text: `${countText(chosen.other_count)} others`, band: BANDS });
		}
		const at = this.bands?.timeOf(states[best]) ?? 0;
		this.legend.replaceChildren(
			el("li", { class: "head" }, `peak of this view, ${nsText(at)}: ${bytesText(most)}`),
			...rows.reverse().map(({ text, band }) => el("li", { title: text },
				el("span", { class: "swatch", style: { background: this.color(band) } }),
				el("span", { class: "key" }, text),
				el("span", { class: "amount" },
					`${bytesText(bytesOf(band))} · ${shareText(bytesOf(band), most)}`))));
	}

	exportSvg() {
		if (!this.measured) return;
		const { width, height } = this.view;
		const paint = new SvgPainter(width, height + (this.lanes?.height ?? 0));
		drawTimeline(paint, this.view, this.scene(), this.measured, this.marked);
		if (this.lanes) drawLanes(paint, this.view, this.lanes.scene(this.pins()), height);
		download("timeline.svg", "image/svg+xml", paint.toString());
	}
}
