// The page of `report` beside PyTorch's memory_viz, in one Chromium, on the same events:
//	node bench/page_peers.mjs MEMORY_VIZ FOLDER RECORDING...
// MEMORY_VIZ is a MemoryViz.js beside a node_modules with d3 5, d3-axis 1, d3-scale 1, d3-zoom 1,
// and d3-brush 1, which it imports by these names. `gpuprof export` writes what it opens. $ROUNDS: 3.
// Prints for each page the time to the first picture, frames of zoom and pan, and memory.
import { execFileSync } from "node:child_process";
import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { basename, join, resolve } from "node:path";
import { build } from "../page/node_modules/esbuild/lib/main.js";
import { chromium } from "../page/node_modules/playwright-core/index.mjs";

const [memory_viz, out, ...recordings] = process.argv.slice(2).map((path) => resolve(path));
const gpuprof = process.env.GPUPROF ?? "build/gpuprof";
const executablePath = process.env.CHROMIUM ?? "/usr/bin/chromium";
const rounds = Number(process.env.ROUNDS ?? 3);
const TIMEOUT_MS = 240_000;

/** A page with MemoryViz.js and a snapshot, as PyTorch's _memory_viz.py writes it. */
async function writeMemoryViz(recording, name) {
	const pickle = join(out, `${name}.pickle`);
	execFileSync(gpuprof, ["export", "--format", "torch", "--force", "-o", pickle, recording],
		{ stdio: "pipe" });
	const { outputFiles } = await build({ bundle: true, write: false, format: "iife", stdin: {
		contents: `import { add_local_files } from ${JSON.stringify(memory_viz)};
			add_local_files([{ name: "snapshot", base64: document.getElementById("data").textContent }],
				"Active Memory Timeline");`,
		resolveDir: resolve(memory_viz, "..") } });
	const html = join(out, `${name}-memory_viz.html`);
	writeFileSync(html, `<!doctype html><meta charset="utf-8"><body>
<script type="text/plain" id="data">${readFileSync(pickle).toString("base64")}</script>
<script>${outputFiles[0].text.replaceAll("</script", "<\\/script")}</script>`);
	return { html, hash: "", picture: "svg path, svg polygon", target: "svg" };
}

function writeReport(recording, name) {
	const html = join(out, `${name}-report.html`);
	execFileSync(gpuprof, ["report", "--force", "-o", html, recording], { stdio: "pipe" });
	return { html, hash: "#timeline", picture: ".timeline[data-state=ready]", target: "canvas.plot" };
}

/** The wheel zooms both pages, a drag moves both. */
async function measureFrames(selector) {
	const box = document.querySelector(selector).getBoundingClientRect();
	const target = document.elementFromPoint(box.x + box.width / 2, box.y + box.height * 0.8);
	const next = () => new Promise((resolve) => requestAnimationFrame(resolve));
	target.setPointerCapture = () => {};
	const fire = (type, k, more = {}) => {
		const make = type === "wheel" ? WheelEvent : type.startsWith("pointer") ? PointerEvent
			: MouseEvent;
		target.dispatchEvent(new make(type, { bubbles: true, cancelable: true, view: window, buttons: 1,
			clientX: box.x + box.width / 2 + k, clientY: box.y + box.height * 0.8, ...more }));
	};
	const drag = (what, k) => ["mouse", "pointer"].forEach((kind) => fire(`${kind}${what}`, k));
	const times = [];
	for (let k = 0, before = await next(); k < 300; k++) {
		if (k % 60 < 40) fire("wheel", 0, { deltaY: k % 120 < 60 ? -60 : 60 });
		else {
			if (k % 60 === 40) drag("down", 0);
			drag("move", 5 * (k % 20));
			if (k % 60 === 59) drag("up", 0);
		}
		const now = await next();
		times.push(now - before);
		before = now;
	}
	return times.sort((a, b) => a - b);
}

async function measure(browser, { html, hash, picture, target }) {
	const page = await browser.newPage({ viewport: { width: 1400, height: 900 } });
	const begin = performance.now();
	await page.goto(`file://${html}${hash}`, { timeout: TIMEOUT_MS });
	await page.waitForSelector(picture, { state: "attached", timeout: TIMEOUT_MS });
	await page.evaluate(() => new Promise((resolve) =>
		requestAnimationFrame(() => requestAnimationFrame(resolve))));
	const first_ms = performance.now() - begin;
	const frames = await page.evaluate(measureFrames, target);
	await page.screenshot({ path: html.replace(/html$/, "png") });
	const session = await page.context().newCDPSession(page);
	await session.send("HeapProfiler.collectGarbage");
	const heap = await session.send("Runtime.getHeapUsage");
	const { nodes } = await session.send("Memory.getDOMCounters");
	await page.close();
	return [first_ms, frames[150], frames[285],
		(heap.usedSize + (heap.backingStorageSize ?? 0)) / 1e6, nodes];
}

mkdirSync(out, { recursive: true });
const browser = await chromium.launch({ executablePath, args: ["--no-sandbox"] });
for (const recording of recordings) {
	const name = basename(recording, ".gpr");
	const pages = { report: writeReport(recording, name),
		memory_viz: await writeMemoryViz(recording, name) };
	const results = { report: [], memory_viz: [] };
	for (let k = 0; k < rounds; k++) {
		for (const [which, page] of Object.entries(pages)) {
			results[which].push(await measure(browser, page).catch(({ message }) => {
				console.log(`${name}, ${which}: ${message.split("\n")[0]}`);
				return [NaN, NaN, NaN, NaN, NaN];
			}));
		}
	}
	for (const [which, rows] of Object.entries(results)) {
		const [first, median, p95, heap, nodes] = rows[0].map((_, column) =>
			rows.map((row) => row[column]).sort((a, b) => a - b)[rounds >> 1]);
		console.log(`${name}, ${which}: first picture ${first.toFixed(0)} ms, frames ` +
			`${median.toFixed(1)} ms, p95 ${p95.toFixed(1)} ms, heap ${heap.toFixed(1)} MB, ` +
			`${nodes} nodes`);
	}
}
await browser.close();
