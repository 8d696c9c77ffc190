// Parts of the page without a browser: decoding, extremes, live sets, texts. Each is compared with
// a slow loop on random data.
import assert from "node:assert/strict";
import { test } from "node:test";
import { atLeastText, bytesText, changeText, countText, momentText, nsText, rateText, shareText }
	from "../../page/src/amounts.js";
import { decodeCurve, decodeLives } from "../../page/src/decode.js";
import { placeNodes } from "../../page/src/flame.js";
import { growthOf } from "../../page/src/growth.js";
import { chooseBands, sizeOf } from "../../page/src/keys.js";
import { Lives, orderEvents, selectGroups, upperBound } from "../../page/src/lives.js";
import { joined, neighbours } from "../../page/src/moment.js";
import { growthText } from "../../page/src/overview.js";
import { Bands, Curve, Highest } from "../../page/src/pyramid.js";
import {
	bytesAt, measureRanks, offsetsOf, shortNames, wholeSpan,
} from "../../page/src/ranks_plot.js";
import { masked } from "../../page/src/report.js";
import { findPage } from "../../page/src/route.js";
import { segmentsAt } from "../../page/src/segment_map.js";
import { SvgPainter } from "../../page/src/svg.js";
import { csvOf } from "../../page/src/table.js";
import { liveByBand } from "../../page/src/timeline_plot.js";
import { encodeCurve, encodeLives, leb128, randomLives, seeded } from "./random_lives.mjs";

const GROUPS = 40;

function fixture(seed, count, step_ns = 1000) {
	const chance = seeded(seed);
	const rows = randomLives(chance, count, GROUPS, step_ns);
	const header = {
		text: Array.from({ length: 30 }, (_, k) => (k ? `key ${k}` : "")),
		groups: {
			device: Array.from({ length: GROUPS }, (_, k) => k % 2),
			of: Array.from({ length: GROUPS }, (_, k) => k % 4 === 3 ? 1 : 0),
			role: Array.from({ length: GROUPS }, (_, k) => k % 23),
		},
	};
	const lives = new Lives(count);
	const half = count >> 1;
	const at = decodeLives(encodeLives(rows.slice(0, half)), lives, 0);
	assert.equal(decodeLives(encodeLives(rows.slice(half)), lives, at), count);
	return { chance, rows, header, lives };
}

const isLive = (row, moment) =>
	row.birth <= moment && (row.death === null || moment < row.death);

test("decoding returns each number of each column", () => {
	const { rows, lives } = fixture(1, 5000);
	rows.forEach((row, k) => {
		assert.equal(lives.birth[k], row.birth);
		assert.equal(lives.death[k], row.death ?? Infinity);
		assert.equal(lives.bytes[k], row.bytes);
		assert.equal(lives.group[k], row.group);
		assert.equal(lives.address[k], row.address);
		assert.equal(lives.order[k], row.order);
	});
});

test("orders and groups beyond the narrow ones are kept", () => {
	const rows = randomLives(seeded(8), 400, GROUPS);
	rows.forEach((row, k) => {
		row.order += k < 200 ? 0 : 2 ** 32 - 900;
		row.group += 65500;
	});
	const lives = new Lives(400, 65540);
	const at = decodeLives(encodeLives(rows.slice(0, 300)), lives, 0);
	decodeLives(encodeLives(rows.slice(300)), lives, at);
	assert.deepEqual([...lives.order], rows.map(({ order }) => order));
	assert.deepEqual([...lives.group], rows.map(({ group }) => group));
	assert.ok(rows.at(-1).order > 2 ** 32 && rows[299].order < 2 ** 32);
});

test("the growth of a stack is that of a slow loop", () => {
	const { rows, header, lives } = fixture(5, 3000);
	const { device, of } = header.groups;
	const stack = device.map((_, k) => k % 3);
	const moments = [0, ...rows.filter((_, k) => k % 100 === 0).flatMap(({ birth }) =>
		[birth, birth + 1])].sort((a, b) => a - b);
	for (const [k, example] of rows.entries()) {
		if (k % 500) continue;
		const group = example.group;
		const { birth: at_ns, address } = example;
		const suspect = { stacks: 1, examples: [{ at_ns, address: `0x${address.toString(16)}` }] };
		const same = rows.filter((row) => stack[row.group] === stack[group] &&
			device[row.group] === device[group] && of[row.group] === of[group]);
		assert.deepEqual(growthOf({ groups: { device, of, stack } }, lives, suspect, moments),
			stack[group] ? moments.map((moment) => same.filter((row) => isLive(row, moment))
				.reduce((sum, { bytes }) => sum + bytes, 0)) : null);
		suspect.stacks = 2;
		assert.equal(growthOf({ groups: { device, of, stack } }, lives, suspect, moments), null);
	}
	const unknown = { stacks: 1, examples: [{ at_ns: 2 ** 50, address: "0x1" }] };
	assert.equal(growthOf({ groups: { device, of, stack } }, lives, unknown, moments), null);
});

test("the growth of objects, which have no bytes, is their number", () => {
	const context = { recording: { documents: { info: { devices: [{}, {}] } } } };
	const suspect = { bytes_per_step: 0, count_per_step: 2, kind: "graph_exec", device: null };
	assert.equal(growthText(suspect, context), "2 graph execs a step");
	assert.equal(growthText({ ...suspect, bytes_per_step: 2048, device: 1 }, context),
		"2.00 KiB a step on GPU 1");
});

test("rates have at most two decimals", () => {
	assert.deepEqual([0, 0.004, 0.01, 1, 2.3333, 1234.567].map(rateText),
		["0", "< 0.01", "0.01", "1", "2.33", "1,234.57"]);
});

test("a page is found by its id, its label, and a near form of them", () => {
	const pages = [["overview", "Overview"], ["oom", "OOM"], ["frag", "Fragmentation"],
		["phases", "Phases"], ["kernels", "GPU time"], ["startup", "Start-up"]];
	for (const [name, index] of Object.entries({ oom: 1, OOM: 1, frag: 2, fragmentation: 2, phase: 3,
		phases: 3, kernel: 4, "gpu-time": 4, "gpu%20time": 4, "start-up": 5, "": 0, other: 0 })) {
		assert.equal(findPage(pages, name), index, name);
	}
});

test("decoding refuses damaged blocks", () => {
	const bytes = encodeLives(randomLives(seeded(2), 100, GROUPS));
	for (const cut of [0, 1, 5, 60, bytes.length - 1]) {
		assert.throws(() => decodeLives(bytes.slice(0, cut), new Lives(100), 0), /damaged|bytes/);
	}
	assert.throws(() => decodeLives(bytes, new Lives(99), 0), /more than the 99/);
	assert.throws(() => decodeLives(Uint8Array.of(...leb128([2 ** 53 - 1, 0, 0, 0, 0, 0, 0, 0])),
		new Lives(1), 0), /header/);
	assert.throws(() => decodeCurve(new Uint8Array(20).fill(255)), /damaged/);
});

test("the place of an extreme is that of a slow search", () => {
	const chance = seeded(3);
	for (const count of [1, 2, 15, 16, 17, 255, 256, 257, 5000]) {
		const values = Float64Array.from({ length: count }, () => Math.floor(chance() * 50));
		for (const sign of [1, -1]) {
			const tree = new Highest(values, sign);
			for (let k = 0; k < 200; k++) {
				const from = Math.floor(chance() * count);
				const to = from + 1 + Math.floor(chance() * (count - from));
				const part = [...values.slice(from, to)];
				const best = sign > 0 ? Math.max(...part) : Math.min(...part);
				assert.equal(tree.find(from, to), from + part.indexOf(best));
			}
		}
	}
});

for (const far of [0, 99, 1e11]) test(`a curve has the extremes of any span, ${far} apart`, () => {
	const chance = seeded(4);
	let at = 10;
	const points = Array.from({ length: 3000 }, () => {
		const low = Math.floor(chance() * 1e12);
		return { at: (at += 1 + Math.floor(chance() * 5)), low, high: low + Math.floor(chance() * far) };
	});
	const curve = new Curve(decodeCurve(encodeCurve(points)));
	assert.equal(curve.range(0, 5), null);
	for (let k = 0; k < 1000; k++) {
		const from = 10 + Math.floor(chance() * (at - 10));
		const to = from + 1 + Math.floor(chance() * 200);
		const inside = points.filter((point, n) => point.at < to &&
			(n + 1 === points.length || points[n + 1].at > from));
		const found = curve.range(from, to);
		assert.equal(found?.high ?? null, inside.length ? Math.max(...inside.map((p) => p.high)) : null);
		assert.equal(found?.low ?? null, inside.length ? Math.min(...inside.map((p) => p.low)) : null);
	}
});

test("bands have the exact peak and its parts at every zoom", () => {
	// short steps, so that many births and deaths have one time
	const { chance, rows, header, lives } = fixture(5, 3000, 6);
	const is_selected = selectGroups(header, 0, [0]);
	const events = orderEvents(lives, is_selected);
	const chosen = chooseBands(header, lives, events, "role");
	const bands = new Bands(lives, events,
		lives.group.map((group) => chosen.bandOfGroup[group]), 16);
	const selected = rows.filter((row) => is_selected[row.group]);
	const moments = [...new Set(selected.flatMap((row) => [row.birth, row.death ?? 0]))]
		.sort((a, b) => a - b);
	const sumsAt = (moment) => {
		const sums = new Array(16).fill(0);
		selected.filter((row) => isLive(row, moment))
			.forEach((row) => (sums[chosen.bandOfGroup[row.group]] += row.bytes));
		return sums;
	};
	const total = (sums) => sums.reduce((a, b) => a + b, 0);
	const end = moments.at(-1);
	for (let k = 0; k < 150; k++) {
		const from = Math.floor(chance() * end);
		const to = from + 1 + Math.floor(chance() ** 4 * (end - from));
		const inside = [from, ...moments.slice(upperBound(moments.length, (n) => moments[n], from),
			upperBound(moments.length, (n) => moments[n], to - 1))];
		const out = new Float64Array(16);
		const most = Math.max(...inside.map((moment) => total(sumsAt(moment))));
		assert.equal(bands.peakIn(from, to, out), most);
		const at = Math.max(from, bands.timeOf(bands.foundState));
		assert.ok(at >= from && at < to);
		assert.deepEqual([...out], sumsAt(at));
		const live = liveByBand(bands, bands.foundState).flat().sort((a, b) => a - b);
		assert.deepEqual(live, rows.flatMap((row, life) =>
			is_selected[row.group] && isLive(row, at) ? [life] : []));
	}
});

test("recordings on one axis: by clock, step or start; the first kept moment is 0", () => {
	const ranks = { recordings: [
		{ start_ns: 0, step_ns: 70 }, { start_ns: 50, step_ns: 30 }, { start_ns: 400, step_ns: 90 }] };
	const headers = [{ from_ns: 20, to_ns: 100 }, { from_ns: 0, to_ns: 200 }, null];
	const by = (align) => offsetsOf(ranks, headers, align);
	// kept from 20, 50 and 400 on the clock; from 50 before, 30 before and 90 before the step
	assert.deepEqual(by("clock"), [-20, 30, 380]);
	assert.deepEqual(by("step"), [20, 60, 0]);
	assert.deepEqual(by("start"), [-20, 0, 0]);
	assert.deepEqual(wholeSpan(by("clock"), headers), { from_ns: 0, to_ns: 380 });
	assert.deepEqual(wholeSpan(by("start"), headers), { from_ns: 0, to_ns: 200 });
	assert.deepEqual(shortNames(["a/run/r-1.gpr", "a/runs/x", "a/.gpr"]), ["run/r-1", "runs/x", ".gpr"]);
	assert.deepEqual(shortNames(["r/0.gpr", "r/1.gpr"]), ["0", "1"]);
	assert.deepEqual(shortNames(["0.gpr", "r/1.gpr"]), ["0", "r/1"]);
});

test("each column of a rank has the highest bytes of its time", () => {
	const chance = seeded(6);
	let at = 40;
	const points = Array.from({ length: 400 }, () => {
		const low = Math.floor(chance() * 1e6);
		return { at: (at += 1 + Math.floor(chance() ** 4 * 90)), low, high: low };
	});
	const curve = new Curve(decodeCurve(encodeCurve(points)));
	const header = { from_ns: 50, to_ns: at + 30, marks: [] };
	const row = { recording: 0, device: 0, name: "", header, note: "",
		curves: [{ device: 0, name: "driver", is_exact: true, curve }] };
	const offset = 17;
	const highest = (from, to) => {
		const inside = points.filter((point, n) => point.at < to &&
			(n + 1 === points.length || points[n + 1].at > Math.max(from, header.from_ns)));
		return to <= header.from_ns || from > header.to_ns || !inside.length ? NaN
			: Math.max(...inside.map(({ high }) => high));
	};
	for (const [from_ns, to_ns] of [[0, at + 100], [60, 60 + 300], [at - 100, at + 100], [80, 130.5]]) {
		const view = { from_ns, to_ns, width: 500, row: 20 };
		const { box, highs, top } = measureRanks(view,
			{ rows: [row], offsets: [offset], curves: ["driver"], pins: [], theme: {} });
		const span = (to_ns - from_ns) / box.width;
		const moment = (x) => Math.floor(from_ns + x * span - offset);
		const slow = Array.from(highs[0][0], (_, x) =>
			highest(moment(x), Math.max(moment(x) + 1, moment(x + 1))));
		assert.deepEqual([...highs[0][0]], slow);
		assert.ok(top > Math.max(...slow.filter((value) => !Number.isNaN(value))));
	}
	assert.deepEqual(bytesAt(row, [offset], ["allocated", "driver"], points[200].at + offset),
		[null, points[200].high]);
	assert.deepEqual(bytesAt(row, [offset], ["driver"], header.to_ns + offset + 1), [null]);
});

test("the bands are the keys with the highest peaks", () => {
	const { rows, header, lives } = fixture(8, 1500);
	const is_selected = selectGroups(header, 0, [0]);
	const events = orderEvents(lives, is_selected);
	const { bands, other_count } = chooseBands(header, lives, events, "role");
	const selected = rows.filter((row) => is_selected[row.group]);
	const keys = [...new Set(selected.map((row) => header.groups.role[row.group]))];
	const peaks = keys.map((id) => {
		const own = selected.filter((row) => header.groups.role[row.group] === id);
		return { id, peak_bytes: Math.max(...own.map(({ birth }) => own
			.filter((row) => isLive(row, birth)).reduce((sum, { bytes }) => sum + bytes, 0))) };
	}).sort((a, b) => b.peak_bytes - a.peak_bytes);
	assert.ok(keys.length > 15);
	assert.equal(other_count, keys.length - 15);
	assert.deepEqual(bands.map(({ id, peak_bytes }) => ({ id, peak_bytes })), peaks.slice(0, 15));
});

test("the live set of a moment is that of a slow loop", () => {
	const { chance, rows, header, lives } = fixture(6, 4000);
	const is_selected = selectGroups(header, 1, [0, 1]);
	for (let k = 0; k < 200; k++) {
		const at = k % 2 ? Math.floor(chance() * 3e12) : rows[Math.floor(chance() * 4000)].death ?? 0;
		const found = [];
		lives.visitLive(at, is_selected, (life) => found.push(life));
		assert.deepEqual(found, rows.flatMap((row, life) =>
			is_selected[row.group] && isLive(row, at) ? [life] : []));
	}
});

test("the events around a moment are those of a sorted list", () => {
	const { chance, rows, lives } = fixture(7, 500);
	const all = new Array(GROUPS).fill(1);
	const times = [...new Set(rows.flatMap((row) => [row.birth, row.death ?? Infinity]))]
		.filter(Number.isFinite).sort((a, b) => a - b);
	for (let k = 0; k < 300; k++) {
		const at = k % 2 ? times[k] : Math.floor(chance() * times.at(-1));
		const since = times.findLastIndex((time) => time <= at);
		assert.deepEqual(neighbours(lives, all, at),
			{ before: times[since - 1] ?? null, after: times[since + 1] ?? null });
	}
});

test("segments that touch are rows of their own, but parts of an expandable one are one row", () => {
	const MIB = 2 ** 20;
	const rows = [[0, 0, 2], [0, 2, 2], [1, 8, 2], [1, 10, 4], [0, 14, 2], [2, 3, 1], [2, 9, 5],
		[2, 30, 1]].map(([group, address, bytes], k) => ({ birth: k, death: null, order: k, group,
		address: address * MIB, bytes: bytes * MIB }));
	const lives = new Lives(rows.length);
	decodeLives(encodeLives(rows), lives, 0);
	const header = { groups: { device: [0, 0, 0], of: [1, 1, 0], is_part: [0, 1, 0] } };
	const { segments, outside } = segmentsAt(header, lives, 0, rows.length);
	assert.deepEqual(segments.map(({ address, bytes, used, blocks }) =>
		[address / MIB, bytes / MIB, used / MIB, blocks]),
	[[0, 2, 0, []], [2, 2, 1, [5]], [8, 6, 5, [6]], [14, 2, 0, []]]);
	assert.equal(outside, MIB);
});

test("amounts are printed as gpuprof prints them", () => {
	for (const [bytes, text] of [[0, "0 B"], [1023, "1023 B"], [1024, "1.00 KiB"],
		[37748736, "36.0 MiB"], [1071644672, "1022 MiB"], [132172668928, "123 GiB"],
		[2 ** 30 * 9.99, "9.99 GiB"], [108.5 * 1024, "108 KiB"], [109.5 * 1024, "110 KiB"],
		[1.125 * 1024, "1.12 KiB"], [1.375 * 2 ** 20, "1.38 MiB"], [2 ** 52, "4.00 PiB"],
		[-2048, "-2.00 KiB"], [null, "not known"]]) {
		assert.equal(bytesText(bytes), text);
	}
	assert.equal(changeText(2048), "+2.00 KiB");
	assert.deepEqual([12409.4, 999.96, 999.94, 80.594, 20.8, 7].map(countText),
		["12,409", "1,000", "999.9", "80.59", "20.8", "7"]);
	assert.equal(atLeastText(1.125 * 1024), "1.13 KiB");
	assert.deepEqual([[1, 8], [5, 8], [1, 3], [1, 0]].map(([a, b]) => shareText(a, b)),
		["12.5%", "62.5%", "33.3%", "-"]);
	assert.deepEqual([[49, 400], [51, 400]].map(([a, b]) => shareText(a, b)), ["12.2%", "12.8%"]);
	for (const [ns, text] of [[0, "0 s"], [999, "999 ns"], [24300, "24.3 µs"], [9.09e6, "9.09 ms"],
		[758e6, "758 ms"], [3.749e9, "3.749 s"], [125e9, "2 min 05 s"], [3700e9, "1 h 01 min"]]) {
		assert.equal(nsText(ns), text);
	}
	assert.equal(momentText(540175812, 300), "540.175812 ms");
	assert.equal(momentText(540175812, 3e8), "540.2 ms");
});

test("tables, comparisons and marks", () => {
	const column = (head, key) => ({ head, value: (row) => row[key] });
	assert.equal(csvOf([column("Code, line", "a"), column("Bytes", "b")],
		[{ a: 'x "y"', b: 3 }, { a: null, b: 0 }]), '"Code, line",Bytes\n"x ""y""",3\n,0\n');
	assert.deepEqual(joined([{ id: 1, bytes: 5, count: 1 }], [{ id: 2, bytes: 7, count: 2 }]), [
		{ id: 1, before: 5, count_before: 1, bytes: 0, count: 0 },
		{ id: 2, before: 0, count_before: 0, bytes: 7, count: 2 }]);
});

test("a flame's parts lie inside their parents, the widest first", () => {
	const leaf = (text, bytes) => ({ text, bytes, count: 1, children: new Map() });
	const inner = { ...leaf("inner", 60), children: new Map([[1, leaf("a", 20)], [2, leaf("b", 40)]]) };
	const root = { ...leaf("all", 100), children: new Map([[1, leaf("c", 40)], [2, inner]]) };
	assert.deepEqual(placeNodes([root], 1000).map(({ node, x, width }) => [node.text, x, width]), [
		["all", 0, 1000], ["inner", 0, 600], ["b", 0, 400], ["a", 400, 200], ["c", 600, 400]]);
});

test("exported pictures escape texts of the recording", () => {
	const paint = new SvgPainter(10, 10);
	paint.fillText('<script>"&\x01', 1, 2);
	assert.ok(paint.toString().includes("&lt;script&gt;&quot;&amp;?"));
	assert.ok(!paint.toString().includes("<script"));
});

test("control characters of names are masked, and escaped backslashes stay", () => {
	const text = "a\u202eb\\u202ec\"\ttab\nline\u{e0041}";
	const json = JSON.stringify([text]).replace(/[\u202e\u{e0041}]/gu, (c) =>
		c.split("").map((unit) => `\\u${unit.charCodeAt(0).toString(16)}`).join(""));
	assert.deepEqual(JSON.parse(masked(json)),
		["a\ufffdb\\u202ec\"\ttab\nline\ufffd\ufffd"]);
});

test("a search has a size, alone or after other words", () => {
	const MiB = 2 ** 20;
	const found = (search, ...sizes) => sizes.filter((bytes) => sizeOf(search).has(bytes));
	assert.deepEqual(found("16MiB", 15 * MiB, 16 * MiB, 16 * MiB + 512, 17 * MiB),
		[16 * MiB, 16 * MiB + 512]);
	assert.deepEqual(found(">1GiB", 1024 * MiB, 1024 * MiB + 1), [1024 * MiB + 1]);
	assert.deepEqual(found("< 2 KiB", 2047, 2048), [2047]);
	assert.deepEqual(found(">=1.5 kib", 1535, 1536), [1536]);
	assert.deepEqual(found("512", 511, 512, 513), [512]);
	assert.deepEqual(found("512 B", 511, 512, 513), [512]);
	assert.equal(sizeOf("a.py:3 > 1MiB").words, "a.py:3");
	assert.equal(sizeOf("aten::mm 16 MiB").words, "aten::mm");
	for (const text of ["step 3", "train.py:87", "MiB", ">", "gemm_128x128", ""]) {
		assert.equal(sizeOf(text), null, text);
	}
});
