// Measures the page with many lives and intervals of GPU time:
//     node tests/page/performance.mjs [LIVES] [FOLDER] [INTERVALS]
// Prints the time to the first picture, frames of zoom and pan, memory, requests and errors.
import { createHash } from "node:crypto";
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { gzipSync } from "node:zlib";
import { chromium } from "../../page/node_modules/playwright-core/index.mjs";
import { firefox, openFirefox } from "./firefox_bidi.mjs";
import { encodeCurve, encodeIntervals, encodeLives, randomLives, seeded } from "./random_lives.mjs";

const given = process.argv[2]?.endsWith(".html") ? resolve(process.argv[2]) : null;
const lives = Number(process.argv[2] ?? 2_000_000);
const folder = process.argv[3] ?? "build/page-performance";
const intervals = Number(process.argv[4] ?? 1_000_000);
const BLOCK = 65536;
/** Six streams, idle time, three threads. */
const LANES = 10;
const KERNELS = 300;
const GROUPS = 4000;
const STACKS = 3000;

/** Random intervals in [0, to_ns), of which no neighbours have one colour. */
function randomGpu(chance, to_ns, add) {
	const count = Math.floor(intervals / LANES);
	const lanes = Array.from({ length: LANES }, (_, lane) => {
		const rows = Array.from({ length: count }, (_, k) => ({
			begin: Math.floor((k * to_ns) / count), group: Math.floor(chance() * KERNELS),
			took: Math.floor((chance() * to_ns) / count) }));
		const blocks = [];
		for (let at = 0; at < count; at += BLOCK) {
			blocks.push(add(encodeIntervals(rows.slice(at, at + BLOCK))));
		}
		return { of: lane < 6 ? "stream" : lane === 6 ? "gaps" : "waits", is_rest: false,
			device: lane < 7 ? 0 : -1, context: 1, id: lane, count, blocks, parts: null };
	});
	const column = (value) => Array.from({ length: KERNELS }, (_, k) => value(k));
	return {
		from_ns: 0, part_ns: 1, shorter_than_ns: 0, clock_within_ns: 1000, lost: 0, lanes,
		text: ["", ...column((k) => `void kernel_${k}<float>`)],
		groups: { of: column(() => "kernel"), name: column((k) => k + 1), operator: column(() => 0),
			line: column(() => 0), phase: column(() => 0), count: column(() => 1),
			total_ns: column((k) => 1e6 - k), short_count: column(() => 0), short_ns: column(() => 0) },
	};
}

function writeReport() {
	const chance = seeded(11);
	const data = [];
	const add = (file) => {
		const number = data.length;
		writeFileSync(`${folder}/report_data/${number}.js`,
			`gpuprofData(${number},"${gzipSync(file, { level: 1 }).toString("base64")}")\n`);
		data.push({ file: `report_data/${number}.js`, bytes: file.length });
		return number;
	};
	mkdirSync(`${folder}/report_data`, { recursive: true });
	const blocks = [];
	let at = 0;
	for (let count = 0; count < lives; count += BLOCK) {
		const rows = randomLives(chance, Math.min(BLOCK, lives - count), GROUPS, 40_000);
		rows.forEach((row) => {
			row.birth += at;
			if (row.death !== null) row.death += at;
			row.order += 3 * count;
			if (row.death === null && count % (8 * BLOCK)) row.death = row.birth + 5e6;
		});
		at = rows.at(-1).birth;
		blocks.push(add(encodeLives(rows)));
	}
	const points = Array.from({ length: lives / 2 }, (_, k) => {
		const low = Math.floor(3e10 + 1e10 * Math.sin(k / 1e4) + 1e9 * chance());
		return { at: Math.floor((k * at) / (lives / 2)), low, high: low + 512 };
	});
	const pick = (count) => Array.from({ length: GROUPS }, () => Math.floor(chance() * count));
	const report = {
		page: 1, made_by: "the performance test", data, recordings: [{
			file: "generated", documents: {}, missing: { info: "generated data" }, commands: {},
			gpu: intervals ? randomGpu(chance, at, add) : null,
			lives: {
				from_ns: 0, to_ns: at, devices: [0],
				text: ["", ...Array.from({ length: 4000 }, (_, k) => `function_${k} (file_${k % 90}.py:${k})`)],
				frames: { text: Array.from({ length: 4000 }, (_, k) => k + 1),
					is_python: Array.from({ length: 4000 }, (_, k) => (k % 3 ? 1 : 0)) },
				stacks: [[], ...Array.from({ length: STACKS }, () =>
					Array.from({ length: 40 }, (_, k) => 100 * k + Math.floor(chance() ** 3 * 100)))],
				groups: {
					device: pick(1), of: Array.from({ length: GROUPS }, (_, k) => (k % 50 ? 0 : 1)),
					is_part: pick(1),
					stack: pick(STACKS), ...Object.fromEntries(["role", "phase", "module", "operator",
						"library", "line", "range", "pool"].map((key, k) => [key, pick(9 + 40 * k)])),
				},
				count: lives, shorter_than_ns: 0, left_out: 0, blocks, marks: [],
				curves: ["allocated", "driver"].map((curve) => ({ device: 0, curve,
					points: points.length, data: add(encodeCurve(points)), is_exact: true })),
			},
		}],
	};
	const dist = (name) => readFileSync(new URL(`../../page/dist/${name}`, import.meta.url), "utf8");
	const hash = (text) => `'sha256-${createHash("sha256").update(text).digest("base64")}'`;
	writeFileSync(`${folder}/report.html`, `<!doctype html><meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; script-src ${
	hash(dist("page.js"))} file:; style-src ${hash(dist("page.css"))}; img-src data: blob:">
<style>${dist("page.css")}</style><div id="page"></div>
<script type="text/plain" id="gpuprof-report">${
	gzipSync(JSON.stringify(report)).toString("base64")}</script>
<script>${dist("page.js")}</script>`);
}

if (!given) writeReport();
const address = `file://${given ?? resolve(folder, "report.html")}`;
const browser = await chromium.launch({ executablePath: "/usr/bin/chromium",
	args: ["--no-sandbox"] });
const page = await browser.newPage({ viewport: { width: 1400, height: 900 } });
let requests = 0;
const errors = [];
page.on("request", (request) => (requests += /^(https?|wss?):/.test(request.url()) ? 1 : 0));
page.on("console", (text) => text.type() === "error" && errors.push(text.text()));
page.on("pageerror", (error) => errors.push(String(error)));
const since = async (selector, begin) => {
	await page.waitForSelector(selector, { timeout: 60_000, state: "attached" });
	return Math.round(performance.now() - begin);
};
const begin = performance.now();
await page.goto(`${address}#overview`);
console.log(`overview: ${await since("main[data-state=ready]", begin)} ms`);
const clicked = performance.now();
await page.evaluate(() => (location.hash = "timeline"));
console.log(`timeline, controls: ${await since("main[data-page=timeline] canvas", clicked)} ms`);
await page.waitForFunction(() => document.querySelector("canvas.plot").width > 400);
console.log(`timeline, curves: ${Math.round(performance.now() - clicked)} ms`);
console.log(`timeline, all bands: ${await since(".timeline[data-state=ready]", clicked)} ms`);

/** Changes the view in each frame, and measures from frame to frame. */
async function measureFrames() {
	const times = [];
	const next = () => new Promise((resolve) => requestAnimationFrame(resolve));
	const keys = [..."+".repeat(20).split(""), ..."-".repeat(12).split("")];
	for (let k = 0, before = await next(); k < 300; k++) {
		const key = k % 3 === 2 ? keys[Math.floor(k / 3) % keys.length]
			: k % 60 < 30 ? "ArrowRight" : "ArrowLeft";
		dispatchEvent(new KeyboardEvent("keydown", { key }));
		const now = await next();
		times.push(now - before);
		before = now;
	}
	return JSON.stringify(times.sort((a, b) => a - b));
}
function printFrames(browser_name, json) {
	const frames = JSON.parse(json);
	const part = (share) => frames[Math.floor(frames.length * share)].toFixed(1);
	console.log(`${browser_name}, 300 frames, each with another view: median ${part(0.5)} ms, ` +
		`p95 ${part(0.95)} ms, longest ${frames.at(-1).toFixed(1)} ms`);
}
printFrames("Chromium", await page.evaluate(measureFrames));
const session = await page.context().newCDPSession(page);
await session.send("HeapProfiler.collectGarbage");
const heap = await session.send("Runtime.getHeapUsage");
console.log(`heap ${(heap.usedSize / 1e6).toFixed(0)} MB, ` +
	`typed arrays ${((heap.backingStorageSize ?? 0) / 1e6).toFixed(0)} MB`);
const pinned = performance.now();
await page.evaluate(() => (location.hash = "moment"));
console.log(`moment: ${await since("main[data-page=moment]", pinned)} ms`);
console.log(`requests ${requests}, errors ${errors.length} ${errors.join("; ")}`);
await browser.close();

/** Calls `use` with Firefox that shows `url`. */
async function withFirefox(url, use) {
	const home = mkdtempSync(join(tmpdir(), "gpuprof-firefox-"));
	const opened = await openFirefox(home, url, 120_000);
	const result = await use(opened);
	await opened.close();
	rmSync(home, { recursive: true, force: true });
	return result;
}
if (existsSync(firefox)) {
	const empty = await withFirefox("about:blank", ({ privateBytes }) => privateBytes());
	await withFirefox(`${address}#timeline`,
		async ({ evaluate, privateBytes }) => {
			await evaluate(`new Promise((resolve) => {
				const look = () => document.querySelector(".timeline[data-state=ready]")
					? resolve() : requestAnimationFrame(look);
				look();
			})`);
			printFrames("Firefox", await evaluate(`(${measureFrames})()`));
			await evaluate("TestUtils.gc()");
			console.log(`Firefox, process of the tab: ${(privateBytes() / 1e6).toFixed(0)} MB, ` +
				`without a page ${(empty / 1e6).toFixed(0)} MB`);
		});
}
