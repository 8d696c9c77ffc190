// Ranges as lanes of a recording without GPU time: counts and times against `phases`, and the
// timeline in Chromium.
import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { existsSync, mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, test } from "node:test";
import { gunzipSync } from "node:zlib";
import { chromium } from "../../page/node_modules/playwright-core/index.mjs";
import { plotBox } from "../../page/src/timeline_plot.js";
import { gpuprof, recordingPath } from "./exact.mjs";

const executablePath = process.env.CHROMIUM ?? "/usr/bin/chromium";
const folder = mkdtempSync(join(tmpdir(), "gpuprof-ranges-"));
after(() => rmSync(folder, { recursive: true }));
const missing = [gpuprof, executablePath].find((path) => !existsSync(path));
const options = { skip: missing && `${missing} is missing` };

function gpuOf(name) {
	const html = join(folder, `${name}.html`);
	execFileSync(gpuprof, ["report", "--force", "-o", html, recordingPath(name)], { stdio: "pipe" });
	const [, text] = /id="gpuprof-report">([^<]*)</.exec(readFileSync(html, "utf8"));
	return JSON.parse(gunzipSync(Buffer.from(text, "base64"))).recordings[0].gpu;
}

/** Calls and time by the range's or mark's own name, of `phases`. */
function sumsOf(name) {
	const sums = new Map();
	const add = ({ name: own, domain, style, calls, time_ns, children }) => {
		const key = `${style === "mark" ? "mark" : "range"} ` +
			(domain === null ? "" : `${domain}:`) + own;
		const [count, total] = sums.get(key) ?? [0, 0];
		/* marks have no time */
		if (own !== null) sums.set(key, [count + calls, total + (time_ns ?? 0)]);
		children?.forEach(add);
	};
	JSON.parse(execFileSync(gpuprof, ["phases", "--json", recordingPath(name)], { encoding: "utf8" }))
		.phases.forEach(add);
	return sums;
}

for (const name of ["fake-ranges", "h200_phases"]) {
	test(`${name}: ranges and marks have the calls and times of phases`, options, () => {
		const { groups, text, lanes } = gpuOf(name);
		const found = groups.name.map((id, k) =>
			[`${groups.of[k]} ${text[id]}`, [groups.count[k], groups.total_ns[k]]]);
		assert.deepEqual(new Map(found.sort()), new Map([...sumsOf(name)].sort()));
		assert.equal(found.some(([key]) => key === "mark saving"), name === "fake-ranges");
		assert.ok(lanes.every(({ of }) => of === "ranges" || of === "marks"));
		assert.equal(lanes.reduce((sum, { count }) => sum + count, 0),
			groups.count.reduce((sum, count) => sum + count, 0));
	});
}

test("a recording without ranges and GPU time has no lanes", options, () => {
	assert.equal(gpuOf("h200_mlp"), null);
});

test("the timeline has rows of ranges, with names and a search", options, async (context) => {
	gpuOf("fake-ranges");
	const browser = await chromium.launch({ executablePath, args: ["--no-sandbox"] });
	context.after(() => browser.close());
	const page = await browser.newPage({ viewport: { width: 1400, height: 900 } });
	const faults = [];
	page.on("pageerror", (error) => faults.push(String(error)));
	await page.goto(`file://${join(folder, "fake-ranges.html")}#timeline`);
	await page.waitForSelector(".timeline[data-state=ready]");
	const legend = await page.textContent(".legend.gpu");
	assert.match(legend, /^Ranges of the run: time of all callsepoch38\.4 msstep23\.8 ms/);
	assert.match(legend, /144 calls of ranges are not drawn/);
	assert.doesNotMatch(legend, /GPU time/);
	assert.equal(await page.locator("select[aria-label='GPU time by']").count(), 0);
	const box = await page.locator("canvas.lanes").boundingBox();
	await page.mouse.move(box.x + box.width * 0.7, box.y + 12);
	await page.waitForSelector(".hover strong:has-text('epoch')");
	assert.match(await page.textContent(".hover"), /epoch: 38\.4 ms on thread 1, level 1, from 27\.5/);
	await page.click(".legend.gpu a:has-text('optimizer')");
	await page.waitForSelector(".legend.gpu >> text=The search finds 6 intervals");
	const from = () => page.evaluate(() => /from=(\d+)/.exec(location.hash)?.[1]);
	await page.locator("canvas.plot").focus();
	await page.keyboard.press("n");
	await page.waitForFunction(() => location.hash.includes("from="));
	assert.ok(Number(await from()) > 0);
	await page.click(".legend.gpu a:has-text('saving')");
	await page.waitForSelector(".legend.gpu >> text=The search finds 1 mark.");
	await page.locator("canvas.plot").focus();
	await page.keyboard.press("n");
	/* the mark is in the middle of the view, and in the last row */
	await page.waitForFunction(() => {
		const [, begin, end] = /from=(\d+).*to=(\d+)/.exec(location.hash) ?? [];
		return Math.abs((Number(begin) + Number(end)) / 2 - 51_335_854) < 2;
	});
	const lanes = await page.locator("canvas.lanes").boundingBox();
	const { left, width } = plotBox({ width: lanes.width, height: 100 });
	await page.mouse.move(lanes.x + left + width / 2 + 3, lanes.y + lanes.height - 12);
	await page.waitForSelector(".hover strong:has-text('saving')");
	assert.match(await page.textContent(".hover"), /saving: a mark at 51\.336 ms/);
	await page.mouse.move(lanes.x + left + width / 2 + 30, lanes.y + lanes.height - 12);
	await page.waitForSelector(".hover >> text=No mark is near this point.");
	assert.deepEqual(faults, []);
});
