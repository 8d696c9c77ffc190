// Names of modules, call stacks and moments, without a browser.
import assert from "node:assert/strict";
import { test } from "node:test";
import { moduleFrames, moduleLabel } from "../../page/src/flame.js";
import { distinctNames } from "../../page/src/keys.js";
import { momentName, stepsOf } from "../../page/src/steps.js";

test("a module lies in those around it, and numbers stay with their list", () => {
	const text = ["", "model.layers.0.mlp.act_fn", "GPT > Block > Linear", "lm_head",
		"no module: in backward", "blocks.11"];
	const framesOf = moduleFrames({ text });
	const labels = (id) => framesOf(id).map(moduleLabel);
	assert.deepEqual(framesOf(1), ["model", "model.layers.0", "model.layers.0.mlp", text[1]]);
	assert.deepEqual(labels(1), ["model", "layers.0", "mlp", "act_fn"]);
	assert.deepEqual(labels(2), ["GPT", "Block", "Linear"]);
	assert.deepEqual([3, 4, 5, 0].map(labels),
		[["lm_head"], ["no module: in backward"], ["blocks.11"], ["no module"]]);
});

test("call stacks with one name get the frames that differ", () => {
	const header = {
		text: ["", "f (a.py:1)", "g (/x/a.py:2)", "h (a.py:3)", "main (a.py:9)", "no operator"],
		frames: { text: [1, 2, 3, 4], is_python: [1, 1, 1, 1] },
		stacks: [[], [0, 1, 3], [0, 2, 3], [0, 2, 2, 3], [1, 3]],
		groups: { stack: [1, 2, 3, 4], operator: [5, 5, 5, 5], line: [0, 0, 0, 0] },
	};
	const names = distinctNames(header, "stack", [1, 2, 3, 4]);
	const all = [1, 2, 3, 4].map(names);
	assert.equal(new Set(all).size, 4);
	assert.match(all[0], /f \(a\.py:1\) < g \(a\.py:2\)$/);
	assert.match(all[2], / < h \(a\.py:3\) < h \(a\.py:3\)$/);
	assert.doesNotMatch(all[3], /</);
});

test("moments are named by their steps; the last step ends with the recording", () => {
	const steps = stepsOf({ to_ns: 50, marks: [{ kind: "step", at_ns: 10, number: 1 },
		{ kind: "oom", at_ns: 15 }, { kind: "step", at_ns: 20, number: 2 }] });
	assert.deepEqual(steps, [{ number: 1, from_ns: 10, to_ns: 20 },
		{ number: 2, from_ns: 20, to_ns: 50 }]);
	assert.deepEqual([5, 10, 19, 20, 49].map((at) => momentName(steps, at)), ["5 ns",
		"start of step 1, 10 ns", "in step 1, 19 ns", "start of step 2, 20 ns", "in step 2, 49 ns"]);
});
