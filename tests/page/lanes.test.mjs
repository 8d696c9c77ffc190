// Lanes of GPU time: the index of intervals against slow loops, and the page against `kernels`.
import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { test } from "node:test";
import { fileURLToPath } from "node:url";
import { gunzipSync } from "node:zlib";
import { chromium } from "../../page/node_modules/playwright-core/index.mjs";
import { nsText, shareText } from "../../page/src/amounts.js";
import { decodeIntervals } from "../../page/src/decode.js";
import {
	LaneIndex, ShortIndex, exactWords, groupName, mergeLanes, searchLanes, shortName, sumGroups,
} from "../../page/src/lane_index.js";
import { encodeIntervals, seeded } from "./random_lives.mjs";

const root = dirname(dirname(dirname(fileURLToPath(import.meta.url))));
const gpuprof = process.env.GPUPROF ?? join(root, "build/gpuprof");
const maker = join(dirname(gpuprof), "frag/made_gpu_time");
const executablePath = process.env.CHROMIUM ?? "/usr/bin/chromium";
const shots = process.env.SHOTS ?? join(root, "build/page-shots");
const skip = [gpuprof, maker, executablePath].find((path) => !existsSync(path));

/** Intervals that may overlap, begin together, and take no time. */
function randomRows(chance, count, can_overlap) {
	let at = -50;
	return Array.from({ length: count }, () => {
		if (chance() < 0.9) at += Math.floor(chance() * 40);
		const took = chance() < 0.05 ? 0 : Math.floor(chance() * (can_overlap ? 200 : 20));
		const row = { begin: at, took, group: Math.floor(chance() * 9) };
		if (!can_overlap) at += took;
		return row;
	});
}

function decoded(rows) {
	const lane = { begin: new Float64Array(rows.length), took: new Float64Array(rows.length),
		group: new Uint32Array(rows.length) };
	const half = rows.length >> 1;
	const at = decodeIntervals(encodeIntervals(rows.slice(0, half)), lane, 0);
	assert.equal(decodeIntervals(encodeIntervals(rows.slice(half)), lane, at), rows.length);
	return lane;
}

const slowCovered = (rows, from, to) => {
	let covered = 0;
	for (let t = from; t < to; t++) {
		if (rows.some(({ begin, took }) => begin <= t && begin + took > t)) covered++;
	}
	return covered;
};

for (const can_overlap of [false, true]) {
	test(`a lane's index, overlaps ${can_overlap}`, () => {
		const chance = seeded(can_overlap ? 5 : 6);
		const rows = randomRows(chance, 300, can_overlap);
		const index = new LaneIndex(decoded(rows));
		const last = rows.at(-1).begin + 300;
		for (let k = 0; k < 200; k++) {
			const from = Math.floor(chance() * (last + 100)) - 100;
			const to = from + 1 + Math.floor(chance() * 60);
			assert.equal(index.coveredBy(to) - index.coveredBy(from), slowCovered(rows, from, to));
			const inside = rows.filter(({ begin, took }) => begin < to && begin + took > from);
			const longest = index.longestIn(from, to);
			/* an interval that has ended may lie between longer ones, but none is missed */
			assert.ok(inside.every(({ took }) => longest >= 0 && index.took[longest] >= took));
			const at = index.at(from);
			const here = rows.findLastIndex(({ begin, took }) => begin <= from && begin + took > from);
			assert.equal(at, here);
		}
		const parts = [];
		index.visitParts(-60.5, 37, 80, (...part) => parts.push(part));
		parts.forEach(([part, covered, longest], k) => {
			const from = -60.5 + 37 * k;
			assert.deepEqual([part, longest], [k, index.longestIn(from, from + 37)]);
			assert.equal(covered, index.coveredBy(from + 37) - index.coveredBy(from));
		});
		const odd = index.select(Uint8Array.from({ length: 9 }, (_, group) => group % 2));
		assert.deepEqual([...odd.begin], rows.filter(({ group }) => group % 2).map((r) => r.begin));
	});
}

test("lanes become one, in the order of their begin", () => {
	const chance = seeded(7);
	const lists = [3, 40, 200].map((count) => randomRows(chance, count, true));
	const merged = mergeLanes(lists.map(decoded));
	assert.deepEqual([...merged.begin],
		lists.flat().map(({ begin }) => begin).sort((a, b) => a - b));
	assert.equal(merged.took.reduce((a, b) => a + b), lists.flat().reduce((a, r) => a + r.took, 0));
});

test("short intervals are spread over their part of time, which they never exceed", () => {
	const short = new ShortIndex({ from_ns: 100, part_ns: 50 }, [
		{ part: Float64Array.of(1, 3), ns: Float64Array.of(10, 50) },
		{ part: Float64Array.of(3, 4), ns: Float64Array.of(20, 5) }]);
	const parts = [];
	short.visitParts(150, 25, 3, (...part) => parts.push(part));
	assert.deepEqual(parts, [[0, 5, -1], [1, 5, -1], [2, 0, -1]]);
	assert.deepEqual([0, 100, 150, 175, 200, 300, 350, 9e9].map((at) => short.coveredBy(at)),
		[0, 0, 0, 5, 10, 60, 65, 65]);
});

const HEADER = {
	text: ["", "void at::native::gelu<float>", "host_to_device", "late_launch", "aten::gelu", "a.py:3",
		"forward"],
	groups: { of: ["kernel", "copy", "gap", "kernel"], name: [1, 2, 3, 1], operator: [4, 0, 0, 0],
		line: [5, 5, 0, 0], phase: [6, 6, 0, 0], count: [2, 3, 1, 4], total_ns: [20, 30, 100, 5] },
};

test("names, sums and searches of groups", () => {
	assert.equal(groupName(HEADER, 1), "copy from host to GPU");
	assert.equal(groupName(HEADER, 2), "late launch");
	assert.equal(shortName("void at::native::(anonymous namespace)::f<c10::Half>"), "f<Half>");
	assert.deepEqual(sumGroups(HEADER, "operator", (group) => HEADER.groups.of[group] === "kernel"), [
		{ key: "aten::gelu", count: 2, total_ns: 20 }, { key: "none", count: 4, total_ns: 5 }]);
	assert.deepEqual([...searchLanes(HEADER, "A.PY")], [1, 1, 0, 0]);
	assert.deepEqual([...searchLanes(HEADER, "from host")], [0, 1, 0, 0]);
	assert.deepEqual([...searchLanes(HEADER, exactWords("phase", "forward"))], [1, 1, 0, 0]);
	assert.deepEqual([...searchLanes(HEADER, exactWords("name", HEADER.text[1]))], [1, 0, 0, 1]);
	assert.deepEqual([...searchLanes(HEADER, exactWords("name", "gelu"))], [0, 0, 0, 0]);
});

/** Sums of a lane's intervals in blocks, by the name of their group. */
function sumBlocks(html, gpu) {
	const sums = new Map();
	for (const lane of gpu.lanes) {
		const intervals = { begin: new Float64Array(lane.count),
			took: new Float64Array(lane.count), group: new Uint32Array(lane.count) };
		let at = 0;
		for (const block of lane.blocks) at = decodeIntervals(unpack(html, `data-${block}`), intervals, at);
		intervals.took.forEach((took, k) => {
			const group = intervals.group[k];
			if (gpu.groups.of[group] !== "kernel") return;
			const name = gpu.text[gpu.groups.name[group]];
			sums.set(name, (sums.get(name) ?? 0) + took);
		});
	}
	return sums;
}

const unpack = (html, id) => gunzipSync(Buffer.from(
	new RegExp(`id="gpuprof-${id}">([^<]*)<`).exec(html)[1], "base64"));

test("the timeline has lanes, whose sums are those of kernels", { skip: skip && `${skip} is missing` },
	async () => {
		const folder = mkdtempSync(join(tmpdir(), "gpuprof-lanes-"));
		mkdirSync(shots, { recursive: true });
		execFileSync(maker, [join(folder, "made.gpr"), "frees"]);
		execFileSync(gpuprof, ["report", join(folder, "made.gpr")], { stdio: "pipe" });
		const html = readFileSync(join(folder, "made.html"), "utf8");
		const [{ gpu, documents: { kernels } }] = JSON.parse(unpack(html, "report")).recordings;
		const rows = kernels.kernels.map((row) => [row.name, row.total_ns]);
		assert.deepEqual([...sumBlocks(html, gpu)].sort((a, b) => b[1] - a[1]), rows);

		const browser = await chromium.launch({ executablePath, args: ["--no-sandbox"] });
		try {
			const page = await browser.newPage({ viewport: { width: 1400, height: 900 },
				colorScheme: "dark" });
			const faults = [];
			page.on("console", (line) => {
				if (["error", "warning"].includes(line.type())) faults.push(line.text());
			});
			page.on("pageerror", (error) => faults.push(String(error)));
			const shown = (name) => page.waitForSelector(`main[data-state=ready][data-page=${name}]`);
			await page.goto(`file://${folder}/made.html#timeline`);
			await page.waitForSelector(".timeline[data-state=ready]");
			await page.waitForFunction(() => document.querySelector(".legend.gpu .swatch"));
			const legend = await page.locator(".legend.gpu").textContent();
			const all = gpu.groups.of.reduce((sum, of, k) =>
				sum + (["kernel", "copy", "set"].includes(of) ? gpu.groups.total_ns[k] : 0), 0);
			for (const [name, ns] of rows) {
				assert.ok(legend.includes(`${shortName(name)}${nsText(ns)} · ${shareText(ns, all)}`), name);
			}
			const box = await page.locator("canvas.lanes").boundingBox();
			const plot = await page.locator("canvas.plot").boundingBox();
			assert.deepEqual([box.x, box.width], [plot.x, plot.width], "one axis");
			/* three rows of ranges come first; the middle of the widest kernel's first operation */
			const ranges = 3 * 23;
			const xOf = (ns) => 78 + (ns / 18.0e6) * (box.width - 92);
			await page.mouse.move(box.x + xOf(8.13e6), box.y + ranges + 12);
			await page.waitForFunction(() => document.querySelector(".hover strong"));
			assert.match(await page.textContent(".hover"),
				/gemm_bf16_128x128: 92\.2 µs on stream 8.*step\/srv\/job\/train\.py:11$/);
			await page.mouse.move(box.x + xOf(2.1e6), box.y + ranges + 35);
			await page.waitForFunction(() => /no work/.test(document.querySelector(".hover").textContent));
			assert.match(await page.textContent(".hover"),
				/The GPU had no work for [\d.]+ µs, from [\d.]+ ms\. Mostly due to: free.*train\.py:12/);
			await page.screenshot({ path: join(shots, "timeline-lanes.png") });
			const [download] = await Promise.all([page.waitForEvent("download"),
				page.click(".controls >> text=SVG")]);
			assert.match(readFileSync(await download.path(), "utf8"), /GPU idle[^]*host waits/);
			/* the same by keys: Tab reaches the lanes, arrows move from lane to lane */
			await page.focus("canvas.plot");
			await page.keyboard.press("Tab");
			const words = () => page.textContent(".hover");
			const after = async (key) => {
				const before = await words();
				await page.keyboard.press(`Shift+${key}`);
				await page.waitForFunction((old) =>
					document.querySelector(".hover").textContent !== old, before);
				return words();
			};
			const middle = await after("ArrowLeft");
			assert.match(middle, /on stream 8/);
			assert.match(await after("ArrowDown"), /The GPU had no work|in “GPU idle”/);
			assert.equal(await after("ArrowUp"), middle);
			assert.match(await after("ArrowUp"), /on thread 1, level 1/);
			assert.equal(await after("ArrowDown"), middle);
			await page.keyboard.press("Enter");
			await shown("moment");
			await page.evaluate(() => (location.hash = "waits"));
			await shown("waits");
			assert.equal(await page.getAttribute("main a >> nth=0", "href"),
				"#timeline?q=%2Fsrv%2Fjob%2Ftrain.py%3A12");
			/* a row of the table leads to its intervals */
			await page.evaluate(() => (location.hash = "kernels"));
			await shown("kernels");
			const text = await page.textContent("main");
			assert.match(text, /Kernels by operator.*Kernels by phase.*backward.*forward/s);
			await page.click("text=gelu<float>");
			await shown("timeline");
			await page.waitForFunction(() => /finds 63 intervals/.test(
				document.querySelector(".legend.gpu")?.textContent ?? ""));
			/* the next match, the one after it, and back */
			const middles = [];
			for (const [key, middle] of [["n", 0], ["n", 1], ["p", 0]]) {
				const before = await page.evaluate(() => location.hash);
				await page.keyboard.press(key);
				await page.waitForFunction((old) => location.hash !== old, before);
				const [, from, to] = /from=(\d+)&to=(\d+)/.exec(await page.evaluate(() => location.hash));
				middles.push((Number(from) + Number(to)) / 2);
				assert.equal(middles[middle], middles.at(-1));
			}
			assert.ok(middles[1] > middles[0]);
			/* a click pins the moment */
			await page.mouse.click(box.x + 400, box.y + 12);
			await shown("moment");
			assert.deepEqual(faults, []);
		} finally {
			await browser.close();
			rmSync(folder, { recursive: true });
		}
	});
