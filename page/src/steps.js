/** Two steps of a run, compared at their start or at their peak. */
import { button, el, select } from "./dom.js";
import { nsText } from "./amounts.js";

/** @typedef {import("./report.js").LivesHeader} LivesHeader */
/** @typedef {import("./report.js").NamedCurve} NamedCurve */
/** @typedef {{ number: number, from_ns: number, to_ns: number }} Step */

/** The steps with a mark. The last one ends with the recording.
 * @param {LivesHeader} header @returns {Step[]} */
export function stepsOf(header) {
	const marks = header.marks.filter(({ kind }) => kind === "step");
	return marks.map(({ at_ns, number = 0 }, k) =>
		({ number, from_ns: at_ns, to_ns: marks[k + 1]?.at_ns ?? header.to_ns }));
}

/** A moment's name: the step in which it lies, and its time.
 * @param {Step[]} steps @param {number} at_ns */
export function momentName(steps, at_ns) {
	const step = steps.find(({ from_ns, to_ns }) => from_ns <= at_ns && at_ns < to_ns);
	if (!step) return nsText(at_ns);
	return `${step.from_ns === at_ns ? "start of" : "in"} step ${step.number}, ${nsText(at_ns)}`;
}

/** The first step after the warm-up and the last one. Null: there are not two steps.
 * @param {import("./main.js").Context} context */
export function firstAndLast({ recording }) {
	if (!recording.lives) return null;
	const steps = stepsOf(recording.lives);
	const warmup = recording.documents.info?.steps.warmup ?? 0;
	const first = steps.find(({ number }) => number > warmup);
	const last = steps.at(-1);
	return first && last && first !== last ? { first, last } : null;
}

/** A line of controls that compares two steps; null if there are not two.
 * @param {import("./main.js").Context} context @param {NamedCurve | undefined} curve its peaks
 * @param {(values: Record<string, string>) => void} go */
export function stepControls(context, curve, go) {
	const { values, recording } = context;
	const ends = firstAndLast(context);
	if (!recording.lives || !ends) return null;
	const steps = stepsOf(recording.lives);
	const box = (/** @type {string} */ name, /** @type {number} */ number) =>
		el("input", { type: "number", min: steps[0].number, max: ends.last.number,
			value: values[name] ?? number, "aria-label": name === "a" ? "first step" : "second step" });
	const boxes = [box("a", ends.first.number), box("b", ends.last.number)];
	let at = values.at ?? "start";
	const momentOf = (/** @type {HTMLInputElement} */ { value }) => {
		const { from_ns, to_ns } = steps.find(({ number }) => number >= Number(value)) ?? ends.last;
		const peak = at === "peak" ? curve?.curve.range(from_ns, to_ns)?.at_ns : null;
		return String(Math.floor(peak ?? from_ns));
	};
	const compare = () => go({ t: momentOf(boxes[0]), u: momentOf(boxes[1]), at,
		a: boxes[0].value, b: boxes[1].value });
	boxes.forEach((one) => one.addEventListener("keydown", (event) => {
		if (event.key === "Enter") compare();
	}));
	return el("div", { class: "controls" }, "step ", boxes[0], " with step ", boxes[1],
		select([["start", "at their starts"], ["peak", "at their peaks"]], at,
			(chosen) => (at = chosen), "moment of a step"),
		button("compare the steps", compare));
}
