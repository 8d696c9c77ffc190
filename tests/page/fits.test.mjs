// What fits and pins at a moment: the page in Chromium against the text of `gpuprof frag`, and the
// rules against it for the settings of invented jobs.
import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { existsSync, mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { after, test } from "node:test";
import { chromium } from "../../page/node_modules/playwright-core/index.mjs";
import { bytesText } from "../../page/src/amounts.js";
import { markPins } from "../../page/src/segment_map.js";
import { compareSegments, gpuprof, openPage, recordingPath } from "./exact.mjs";
import { seeded } from "./random_lives.mjs";

const executablePath = process.env.CHROMIUM ?? "/usr/bin/chromium";
const maker = join(dirname(gpuprof), "frag/made_memory");
const folder = mkdtempSync(join(tmpdir(), "gpuprof-fits-"));
after(() => rmSync(folder, { recursive: true }));
const missing = [gpuprof, executablePath, maker].find((path) => !existsSync(path));
const options = { skip: missing && `${missing} is missing` };

for (const settings of ["max_split_size_mb:32,max_non_split_rounding_mb:64",
	"roundup_power2_divisions:8", "expandable_segments:True"]) {
	test(`${settings}: what fits is what frag prints`, options, () => {
		const path = join(folder, "made.gpr");
		execFileSync(maker, [path, `PYTORCH_CUDA_ALLOC_CONF=${settings}`]);
		const page = openPage(path, folder);
		assert.ok(compareSegments(path, page, seeded(2), 3) > 0);
		page.header.allocator.max_split_bytes = 5 * 2 ** 20;
		page.header.allocator.roundup_divisions.fill(2);
		page.header.arenas.forEach((arena) => (arena.stream = "0x1"));
		assert.throws(() => compareSegments(path, page, seeded(2), 3));
	});
}

test("of triangles without room, the pin with most bytes has one", () => {
	assert.deepEqual(markPins([{ x: 10, keeps: 1 }, { x: 12, keeps: 5 }, { x: 18, keeps: 4 },
		{ x: 30, keeps: 1 }]), [12, 30]);
	assert.deepEqual(markPins([]), []);
});

test("the page has the line, the pins and the map of frag", options, async (context) => {
	const recording = recordingPath("h200_gpt_oom");
	const html = join(folder, "fits.html");
	execFileSync(gpuprof, ["report", "--force", "-o", html, recording], { stdio: "pipe" });
	const browser = await chromium.launch({ executablePath, args: ["--no-sandbox"] });
	context.after(() => browser.close());
	const page = await browser.newPage({ viewport: { width: 1400, height: 900 } });
	const faults = [];
	page.on("pageerror", (error) => faults.push(String(error)));
	await page.goto(`file://${html}#moment?t=757578348`);
	const command = await page.getAttribute(".moment-page > p > button", "title");
	assert.match(command, /^gpuprof frag --at \d+ --device 0 /);
	const printed = (more) => execFileSync("bash", ["-c", `"$0"${command.slice("gpuprof".length)}${more}`,
		gpuprof], { encoding: "utf8" });
	const [, cached, stream, released] =
		/fits: (.*) from the cache on stream (\w+), ((?:at most )?.*) after empty_cache/.exec(printed(""));
	const line = await page.textContent("p.fits");
	assert.ok(line.startsWith(`Largest request that fits: ${cached} in PyTorch's free blocks on ` +
		`stream ${stream}; ${released} after empty_cache(), with the driver's free `), line);
	const { pins } = JSON.parse(printed(" --json --top 0")).devices[0];
	const heads = page.locator("table:has(th:has-text('Would free'))");
	const all = heads.locator("xpath=../..").locator("button:has-text('show all')");
	if (await all.count()) await all.click();
	const rows = await heads.locator("tbody tr.openable").all();
	assert.equal(rows.length, pins.length);
	for (const [k, { address, bytes, hostage_bytes }] of pins.entries()) {
		const cells = await rows[k].locator("td").allTextContents();
		assert.deepEqual(cells.slice(0, 3), [address, bytesText(bytes), bytesText(hostage_bytes)]);
	}
	const [download] = await Promise.all([page.waitForEvent("download"),
		page.click(".picture:has(canvas.segments) >> text=SVG")]);
	const svg = readFileSync(await download.path(), "utf8");
	const marks = svg.match(/<path d="M[^"]*Z" fill=/g)?.length ?? 0;
	assert.ok(marks > 0 && marks <= pins.length, `${marks} triangles of ${pins.length} pins`);
	assert.deepEqual(faults, []);
});
