// The page in Chromium: figures against the commands, live sets against the slow replay, messages
// for missing data. Screenshots of each page lie in $SHOTS, by default build/page-shots.
import assert from "node:assert/strict";
import { execFileSync, spawnSync } from "node:child_process";
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { after, before, test } from "node:test";
import { fileURLToPath } from "node:url";
import { gunzipSync, gzipSync } from "node:zlib";
import { chromium } from "../../page/node_modules/playwright-core/index.mjs";
import { bytesText } from "../../page/src/amounts.js";
import { decodeLives } from "../../page/src/decode.js";
import { Lives } from "../../page/src/lives.js";
import { compareOverview } from "./overview_figures.mjs";

const root = dirname(dirname(dirname(fileURLToPath(import.meta.url))));
const gpuprof = process.env.GPUPROF ?? join(root, "build/gpuprof");
const executablePath = process.env.CHROMIUM ?? "/usr/bin/chromium";
const shots = process.env.SHOTS ?? join(root, "build/page-shots");
const skip = [gpuprof, executablePath].find((path) => !existsSync(path));
const options = { skip: skip && `${skip} is missing` };

const RECORDINGS = ["h200_gpt_oom", "h200_gpt_expandable", "leak_kv_cache", "fake-killed",
	"h200_jax", "h200_ddp", "h200_idle"];
const PAGES = ["overview", "timeline", "moment", "oom", "leaks", "frag", "phases", "graphs", "idle",
	"waits", "kernels", "collectives", "counters", "startup", "settings"];

const folder = mkdtempSync(join(tmpdir(), "gpuprof-page-"));
let browser;

before(async () => {
	if (skip) return;
	mkdirSync(shots, { recursive: true });
	browser = await chromium.launch({ executablePath, args: ["--no-sandbox"] });
});
after(async () => {
	await browser?.close();
	rmSync(folder, { recursive: true });
});

/** Has this gpuprof the command `report`? Then pages are its own, not those of fixture.py. */
const has_report = !skip && (() => {
	try {
		execFileSync(gpuprof, ["report", "--help"]);
		return true;
	} catch {
		return false;
	}
})();

const recordingPath = (name) => join(root, `tests/data/${name}.gpr`);

function writeFixture(name, names, ...more) {
	const html = join(folder, `${name}.html`);
	execFileSync("python3", [join(root, "page/tools/fixture.py"), "--gpuprof", gpuprof, "-o", html,
		...more, ...names.map(recordingPath)]);
	if (has_report && !more.includes("--beside")) {
		execFileSync(gpuprof, ["report", "--force", "-o", html, ...names.map(recordingPath)]);
	}
	return html;
}

const elementText = (html, id) =>
	new RegExp(`id="${id}">([^<]*)<`).exec(readFileSync(html, "utf8"))[1];
const unpack = (html, id) => gunzipSync(Buffer.from(elementText(html, id), "base64"));
const reportOf = (html) => JSON.parse(unpack(html, "gpuprof-report"));

/** A copy of a page with another report. */
function writeChanged(html, name, change) {
	const report = reportOf(html);
	change(report);
	const path = join(folder, `${name}.html`);
	writeFileSync(path, readFileSync(html, "utf8").replace(elementText(html, "gpuprof-report"),
		gzipSync(JSON.stringify(report)).toString("base64")));
	return path;
}

/** Opens a page and counts its requests and errors. */
async function open(html, hash, colorScheme = "light") {
	const page = await browser.newPage({ viewport: { width: 1400, height: 900 }, colorScheme });
	const faults = [];
	page.on("request", (request) => {
		if (!/^(file|data|blob):/.test(request.url())) faults.push(`request ${request.url()}`);
	});
	page.on("console", (line) => {
		if (["error", "warning"].includes(line.type())) faults.push(line.text());
	});
	page.on("pageerror", (error) => faults.push(String(error)));
	await page.goto(`file://${html}${hash}`);
	await shown(page, hash);
	return { page, faults };
}

const shown = async (page, hash) => {
	const name = hash.slice(1).split("?")[0];
	await page.waitForSelector(`main[data-state=ready][data-page=${name}]`);
	if (name === "timeline") {
		await page.waitForSelector(".timeline[data-state=ready], .note", { state: "attached" });
	}
};
const show = async (page, hash) => {
	await page.evaluate((to) => (location.hash = to), hash);
	await shown(page, hash);
};

for (const [k, name] of RECORDINGS.entries()) {
	test(`${name}: each page, without requests and errors`, options, async () => {
		const html = writeFixture(name, [name]);
		const { page, faults } = await open(html, "#overview", k % 2 ? "dark" : "light");
		for (const id of PAGES) {
			await show(page, `#${id}`);
			const text = await page.textContent("main");
			assert.ok(text.length > 30, `${id} has text`);
			assert.doesNotMatch(text, /undefined|NaN|\[object|cannot be/, id);
			await page.screenshot({ path: join(shots, `${name}-${id}.png`), fullPage: true });
		}
		assert.deepEqual(faults, []);
		await page.close();
	});

	test(`${name}: each figure of the overview is that of its command`, options, async () => {
		const html = join(folder, `${name}.html`);
		const { page } = await open(html, "#overview");
		await compareOverview(page, recordingPath(name), reportOf(html).recordings[0].documents);
		await page.close();
	});

	test(`${name}: live sets are those of the slow replay, to the byte`, options, async () => {
		const file = join(folder, `${name}.json`);
		const html = writeFixture(`${name}-moments`, [name], "--lives", file, "--block-lives", "500");
		const header = reportOf(html).recordings[0].lives;
		const lives = new Lives(header.count);
		let count = 0;
		for (const block of header.blocks) {
			count = decodeLives(unpack(html, `gpuprof-data-${block}`), lives, count);
		}
		const { page } = await open(html, "#overview");
		for (const { at_ns, of, live } of JSON.parse(readFileSync(file, "utf8"))[0]) {
			const found = [];
			lives.visitLive(at_ns, header.groups.of.map((kind) => kind === of), (life) =>
				found.push([lives.address[life], lives.bytes[life]]));
			assert.deepEqual(found.sort((a, b) => a[0] - b[0] || a[1] - b[1]), live);
			if (of !== 0 || header.devices.length !== 1 || !header.groups.of.includes(0)) continue;
			await show(page, `#moment?t=${at_ns}&of=allocated&by=stack`);
			const sum = live.reduce((total, [, bytes]) => total + bytes, 0);
			await page.waitForSelector(`h1[title="${sum} bytes at ${at_ns} ns"]`);
		}
		await page.close();
	});
}

test("the timeline shows the exact peak at each zoom, and pins its moment", options, async () => {
	const { page, faults } = await open(join(folder, "h200_gpt_oom.html"), "#timeline");
	for (const key of ["", "+", "+", "+", "ArrowLeft", "ArrowRight", "-", "0"]) {
		if (key) await page.keyboard.press(key);
		await page.waitForTimeout(100);
	}
	assert.match(await page.textContent(".legend.side .head"), /754 ms: 123 GiB/);
	await page.fill("input[type=search]", "run_out_of_memory");
	await page.waitForFunction(() => location.hash.includes("q=run_out"));
	await page.screenshot({ path: join(shots, "timeline-search.png") });
	await page.press("input[type=search]", "Escape");
	await page.waitForFunction(() => !location.hash.includes("q="));
	assert.equal(await page.inputValue("input[type=search]"), "");
	assert.doesNotMatch(await page.textContent(".status"), /match/);
	const { curves: [{ live_bytes }] } = JSON.parse(execFileSync(gpuprof, ["peak", "--json",
		"--no-stacks", "--of", "allocated", recordingPath("h200_gpt_oom")]));
	for (const [search, match] of [[`> ${live_bytes}`, /^0 of/], [">=0B", /^([\d,]+) of \1 /],
		["run_out_of_memory >1GiB", /^[1-9]\d* of/], ["no_such_function >1GiB", /^0 of/]]) {
		await page.fill("input[type=search]", search);
		await page.waitForFunction((text) => document.querySelector(".status").textContent
			.includes(`“${text}”`), search);
		assert.match(await page.textContent(".status"), match);
	}
	const box = await page.locator("canvas.plot").boundingBox();
	await page.mouse.move(box.x + 200, box.y + 400);
	await page.mouse.click(box.x + 200, box.y + 400);
	await page.waitForSelector("main[data-page=moment] h1");
	assert.deepEqual(faults, []);
	await page.close();
});

test("keys move a cursor, and pin two moments", options, async () => {
	const { page, faults } = await open(join(folder, "h200_gpt_oom.html"),
		"#timeline?from=780000000&to=800000000&hide=driver+reserved+pinned");
	const text = () => page.textContent(".hover .moment");
	await page.waitForFunction(() => document.querySelector(".legend.side .head"));
	await page.keyboard.press("Shift+ArrowLeft");
	await page.waitForSelector(".hover .moment");
	const middle = await text();
	await page.keyboard.press("Shift+ArrowLeft");
	await page.waitForFunction((old) => document.querySelector(".hover .moment").textContent !== old,
		middle);
	for (let k = 0; k < 100 && !await page.$(".hover .block"); k++) {
		await page.keyboard.press("Shift+ArrowDown");
	}
	assert.match(await page.textContent(".hover .block"), /^block 0x/);
	await page.screenshot({ path: join(shots, "timeline-cursor.png") });
	await page.keyboard.press("Enter");
	await page.waitForSelector("main[data-page=moment] h1");
	const valueOf = (name) => page.evaluate((key) =>
		Number(new URLSearchParams(location.hash.split("?")[1]).get(key)), name);
	const first = await valueOf("t");
	assert.ok(first > 7.8e8 && first < 8e8, first);
	await page.click("text=show in the timeline");
	await page.waitForSelector(".timeline[data-state=ready] .legend.side .head");
	for (let k = 0; k < 9; k++) await page.keyboard.press("Shift+ArrowRight");
	await page.keyboard.press("Shift+Enter");
	await page.waitForSelector("main[data-page=moment] >> text=From A");
	assert.equal(await valueOf("t"), first);
	assert.ok(await valueOf("u") > first);
	assert.deepEqual(faults, []);
	await page.close();
});

test("pictures and tables can be saved", options, async () => {
	const { page, faults } = await open(join(folder, "h200_gpt_oom.html"), "#timeline");
	const saved = async (selector) => {
		const [download] = await Promise.all([page.waitForEvent("download"), page.click(selector)]);
		return [download.suggestedFilename(), readFileSync(await download.path(), "utf8")];
	};
	const [name, svg] = await saved(".controls >> text=SVG");
	assert.equal(name, "timeline.svg");
	assert.match(svg, /^<svg [^]*128 GiB[^]*out of memory[^]*<\/svg>\n$/);
	await show(page, "#moment?by=role");
	const [, csv] = await saved(".table-foot >> text=CSV");
	assert.match(csv, /^Role,Live,Share,Allocations\n.*unknown,\d+,/);
	assert.match((await saved(".picture >> nth=0 >> text=SVG"))[1], /<svg [^]*run_out_of_memory/);
	assert.match((await saved(".picture >> nth=1 >> text=SVG"))[1], /<svg [^]*0x7eed5e000000/);
	assert.deepEqual(faults, []);
	await page.close();
});

test("a moment has the command that prints it; bars and curves can be saved", options, async () => {
	const { page, faults } = await open(join(folder, "h200_gpt_oom.html"), "#overview");
	const printed = async () => {
		const command = await page.getAttribute(".moment-page .controls button", "title");
		assert.match(command, /^gpuprof /);
		const text = execFileSync("bash", ["-c", `"$0"${command.slice("gpuprof".length)} --json`,
			gpuprof], { encoding: "utf8" });
		return JSON.parse(text).curves.map(({ live_bytes }) => live_bytes).flat();
	};
	const titles = [];
	for (const at of [100000000, 700000000]) {
		await show(page, `#moment?t=${at}&by=operator`);
		await page.waitForSelector(`h1[title$="${at} ns"]`);
		titles.push(Number.parseInt(await page.getAttribute("h1", "title"), 10));
		assert.deepEqual(await printed(), titles.slice(-1));
	}
	await show(page, "#moment?t=100000000&by=phase");
	await page.waitForSelector("th:has-text('Phase')");
	assert.equal(await page.locator(".moment-page .controls >> text=copy command").count(), 0);
	await show(page, "#moment?t=100000000&u=700000000&by=operator");
	await page.waitForSelector("main >> text=From A");
	try {
		await printed();
		assert.fail("memory differs, so the status of diff is 1");
	} catch ({ status, stdout }) {
		assert.equal(status, 1);
		assert.deepEqual(JSON.parse(stdout).curves.map(({ live_bytes }) => live_bytes), [titles]);
	}
	// the timeline's command has the span of the view, also after a zoom
	await show(page, "#timeline?by=line");
	const copy = page.locator(".timeline .controls >> text=copy command");
	assert.equal(await copy.count(), 0);
	await show(page, "#timeline?by=role&from=100000000&to=900000000");
	await page.keyboard.press("+");
	await page.waitForFunction(() => location.hash.includes("from=300000000&to=700000000"));
	const command = await copy.getAttribute("title");
	const view = JSON.parse(execFileSync("bash", ["-c", `"$0"${command.slice("gpuprof".length)}`,
		gpuprof], { encoding: "utf8" }));
	assert.deepEqual([view.from_ns, view.to_ns], [300000000, 700000000]);
	const saved = async (selector) => {
		const [download] = await Promise.all([page.waitForEvent("download"), page.click(selector)]);
		return readFileSync(await download.path(), "utf8");
	};
	await show(page, "#frag");
	assert.match(await saved(".amounts >> nth=0 >> text=SVG"),
		/^<svg [^]*<rect [^]*in gaps between blocks of a segment[^]*151 MiB · 98\.8%[^]*<\/svg>\n$/);
	assert.match(await saved(".segment-rows >> text=SVG"), /^<svg [^]*0x7[^]*"#0072b2"[^]*<\/svg>\n$/);
	await show(page, "#overview");
	assert.match(await saved("dd >> text=SVG"), /^<svg [^]*fill="rgb\([^]*<path d="M/);
	assert.deepEqual(faults, []);
	await page.close();
});

test("leaks: the growth at the start of each step; names of other pages", options, async () => {
	const html = writeFixture("leak_loss_list", ["leak_loss_list"]);
	const { page, faults } = await open(html, "#leaks");
	const { leaks } = reportOf(html).recordings[0].documents;
	const text = await page.textContent("main");
	assert.match(text, /at the start of 58 steps\. The run has 60 steps .*2 warm-up steps are left/);
	assert.doesNotMatch(text, /gains 11/);
	const figure = await page.textContent("figure");
	const [, last] = /, ([^,]+) at step 60 /.exec(figure);
	assert.equal(last, bytesText(leaks.suspects[0].live_bytes));
	await page.evaluate(() => (location.hash = "#fragmentation"));
	await shown(page, "#frag");
	await page.evaluate(() => (location.hash = "#phase"));
	await shown(page, "#phases");
	await show(page, "#timeline");
	assert.match(await page.textContent(".hover"), /^Move over the picture/);
	assert.deepEqual(faults, []);
	await page.close();
});

test("oom: memory without known roles has a sentence, not a bar", options, async () => {
	const { page } = await open(writeFixture("h200_oom_kinds", ["h200_oom_kinds"]), "#oom");
	assert.match(await page.textContent("main"), /PyTorch's memory, by roleNo roles are known\./);
	await page.close();
});

test("ranks: one axis of time, outliers with their reason, links to moments", options, async () => {
	const ranks = Array.from({ length: 6 }, (_, k) => recordingPath(`ranks/rank-${k}`));
	const html = join(folder, "ranks.html");
	execFileSync(gpuprof, ["report", "-o", html, ...ranks], { stdio: "pipe" });
	const { page, faults } = await open(html, "#overview");
	const wide = page.locator(".card.wide");
	assert.match(await wide.textContent(), /3 recordings of 6 differ from the others/);
	const rank_3 = wide.locator(".table").nth(1).locator("tbody tr").nth(3);
	assert.equal(await rank_3.locator("td").nth(1).textContent(), "230 MiB");
	assert.equal(await rank_3.locator(".swatch").count(), 4);

	const ready = () => page.waitForSelector(".ranks-page[data-state=ready]");
	await page.click("nav >> text=Ranks");
	await ready();
	const reasons = await page.locator(".ranks-page .table").first().locator("tbody").textContent();
	assert.match(reasons, /rank-3The allocated peak, 230 MiB, is 39% above the usual 166 MiB\./);
	assert.match(reasons, /rank-5It ran out of memory\./);
	const saved = async (selector) => {
		const [download] = await Promise.all([page.waitForEvent("download"), page.click(selector)]);
		return readFileSync(await download.path(), "utf8");
	};
	assert.match(await saved(".controls >> text=SVG"),
		/^<svg [^]*rank-0[^]*166 MiB[^]*rank-5[^]*out of memory[^]*<\/svg>\n$/);
	assert.match(await saved(".table-foot >> nth=1 >> text=CSV"),
		/^Recording,Allocated peak,.*\nrank-0,174274048,[^]*rank-3,241382912,264241152,/);
	const commands = await page.locator(".commands button").evaluateAll((list) =>
		list.map((button) => button.title));
	assert.match(commands[0], /^gpuprof timeline .*rank-0\.gpr .*rank-5\.gpr$/);

	// two pinned moments: bytes of each rank at both, as the pages of the moments have them
	await page.evaluate(() => scrollTo(0, 0));
	const box = await page.locator("canvas.ranks").boundingBox();
	for (const part of [0.4, 0.6]) {
		await page.keyboard.down("Shift");
		await page.mouse.click(box.x + 220 + part * (box.width - 240), box.y + 60);
		await page.keyboard.up("Shift");
		await page.waitForSelector(`.ranks-page th:has-text("allocated at ${part < 0.5 ? "A" : "B"}")`);
		await ready();
	}
	const cells = page.locator(".ranks-page .table").nth(1).locator("tbody tr").nth(2).locator("td");
	const first = await cells.nth(10).textContent();
	const moment = await cells.nth(10).locator("a").getAttribute("href");
	await page.screenshot({ path: join(shots, "ranks.png"), fullPage: true });
	await show(page, moment);
	assert.ok((await page.textContent("h1")).includes(`: ${first} of PyTorch's blocks`), first);
	await page.goBack();
	await ready();
	await cells.nth(12).locator("a").click();
	await page.waitForSelector("main[data-page=moment] >> text=From A");

	// a click opens that recording's timeline at that moment
	await show(page, "#ranks?align=step");
	await ready();
	assert.match(await page.textContent(".ranks-page"), /aligns all recordings at step 3/);
	const again = await page.locator("canvas.ranks").boundingBox();
	await page.mouse.move(again.x + 700, again.y + 200);
	await page.mouse.click(again.x + 700, again.y + 26 + 2.5 * (again.height - 50) / 6);
	await page.waitForSelector("main[data-page=timeline]");
	assert.match(await page.evaluate(() => location.hash), /r=2&device=0&t=\d+/);

	// the same by keys: Shift and arrows move a cursor, Shift and Enter pin its moment
	await show(page, "#ranks");
	await ready();
	await page.keyboard.press("Shift+ArrowRight");
	await page.waitForSelector("canvas.ranks-line[title]");
	await page.keyboard.press("Shift+Enter");
	await page.waitForSelector(".ranks-page th:has-text('allocated at A')");
	await ready();
	await page.keyboard.press("Shift+ArrowRight");
	await page.keyboard.press("Shift+ArrowUp");
	await page.keyboard.press("Enter");
	await page.waitForSelector("main[data-page=timeline]");
	assert.match(await page.evaluate(() => location.hash), /r=2&device=0&t=\d+/);

	// other hosts: no common clock, so a step aligns them, and the page shows why
	const other = writeChanged(html, "hosts", (report) => Object.assign(report.ranks,
		{ is_one_clock: false, align: "step", why: "The recordings are of several hosts." }));
	await page.goto(`file://${other}#ranks`);
	await ready();
	assert.match(await page.textContent(".ranks-page"),
		/The recordings are of several hosts\. The picture aligns all recordings at step 3\./);

	// no finding, one file that is left out, and two recordings whose OOMs are not known
	const unknown = writeChanged(html, "unknown", (report) => {
		report.unreadable = [{ file: "rank-6.gpr", reason: "it is not a recording" }];
		report.ranks.findings = [];
		const { values } = report.ranks.figures.find(({ figure }) => figure === "OOMs");
		values[1] = null;
		values[2] = null;
	});
	for (const hash of ["#overview", "#ranks"]) {
		await page.goto(`file://${unknown}${hash}`);
		await page.waitForSelector(`main[data-state=ready][data-page=${hash.slice(1)}]`);
		assert.match(await page.locator("main").textContent(),
			/^rank-6\.gpr is not in this report: it is not a recording/);
		assert.match(await page.locator(".verdict.note").first().textContent(), /^No recording differs/);
		assert.match(await page.locator(".verdict.note").nth(1).textContent(),
			/^2 recordings lack events: whether memory ran out is not known\.$/);
	}
	assert.deepEqual(faults, []);
	await page.close();
});

test("several recordings: chosen by the selector; their data is beside the page", options,
	async () => {
		const html = writeFixture("several", ["h200_gpt_oom", "leak_kv_cache", "leak_hooks"], "--beside");
		const { page, faults } = await open(html, "#overview");
		await page.selectOption("header select", "1");
		await page.waitForFunction(() => document.querySelector("h1")?.textContent
			.includes("kv_cache"));
		await show(page, "#timeline?r=2");
		assert.equal(await page.locator(".timeline .bad").count(), 0);
		assert.deepEqual(faults, []);
		rmSync(join(folder, "several_data/1.js"));
		await page.reload();
		await show(page, "#timeline?r=0");
		assert.match(await page.textContent(".timeline .bad"), /folder of data beside the page/);
		await page.close();
	});

test("missing documents and data have a plain message", options, async () => {
	const html = writeChanged(join(folder, "h200_gpt_oom.html"), "missing", ({ recordings }) => {
		const [recording] = recordings;
		recording.documents = { info: recording.documents.info };
		recording.missing = { oom: "the command ended with 2" };
		recording.lives = null;
	});
	const { page } = await open(html, "#overview");
	assert.match(await page.textContent("main"), /No figures of gpuprof oom: the command ended with 2/);
	for (const id of PAGES) {
		await show(page, `#${id}`);
		if (id !== "settings") assert.match(await page.textContent("main"), /No figures|has no data/, id);
	}
	await page.close();
	const damaged = join(folder, "damaged.html");
	writeFileSync(damaged, readFileSync(join(folder, "h200_gpt_oom.html"), "utf8")
		.replace(/(id="gpuprof-data-0">)[^<]*/, "$1AAAA"));
	const second = await open(damaged, "#timeline");
	assert.match(await second.page.textContent(".timeline .bad"), /cannot be read/);
	await second.page.close();
});

/** A page of its own for one recording, without the documents of fixture.py. */
function writeReport(name, path = recordingPath(name)) {
	const html = join(folder, `${name}.html`);
	execFileSync(gpuprof, ["report", "--force", "-o", html, path], { stdio: "pipe" });
	return html;
}

test("no OOM: memory did not run out only if no event is missing", options, async () => {
	const html = writeReport("h200_idle");
	const change = (name, edit) => writeChanged(html, name, ({ recordings: [{ documents }] }) =>
		edit(documents));
	const torn = change("torn", ({ oom }) => (oom.complete = false));
	const ended = change("ended", ({ info }) => (info.ooms.all_recorded = false));
	const wrapped = change("overwritten", ({ info }) =>
		Object.assign(info.ooms, { all_recorded: false, overwritten: 2 }));
	for (const [path, text] of [[html, "Memory did not run out."],
		[torn, "No OOM was recorded, but events are missing."],
		[ended, "No OOM was recorded, but events are missing."],
		[wrapped, "No OOM was recorded, but events are missing. 2 OOMs were overwritten."]]) {
		const { page } = await open(path, "#oom");
		assert.equal(await page.textContent(".verdict"), text);
		await show(page, "#overview");
		assert.equal(await card(page, "Out of memory").locator(".verdict").textContent(), text);
		assert.equal(await card(page, "Out of memory").locator(".good").count(), path === html ? 1 : 0);
		await page.close();
	}
});

test("moments and GPUs outside of a recording have a message", options, async () => {
	const { page, faults } = await open(writeReport("h200_idle"), "#idle");
	assert.match(await page.locator("tr", { hasText: "64.1 MiB" }).first().textContent(),
		/never used.*outside PyTorch/);
	for (const id of ["moment", "timeline"]) {
		for (const values of ["t=99999999999999", "t=abc", "t=1000000&u=-5"]) {
			await show(page, `#${id}?${values}`);
			await page.waitForSelector("main >> text=This moment is not in the recording.");
		}
		await show(page, `#${id}?device=9`);
		await page.waitForSelector("main >> text=This GPU is not in the recording.");
		await show(page, `#${id}?device=0&t=1000000`);
		await page.waitForSelector(id === "moment" ? "h1:has-text('At 1.00 ms')" : "canvas.plot");
	}
	assert.deepEqual(faults, []);
	await page.close();
});

const two_gpus = join(root, "build/victims/two_gpus");

test("two GPUs: each has its part of the phases, and its links open its memory",
	{ skip: options.skip || (!existsSync(two_gpus) && `${two_gpus} is missing`) }, async () => {
		const path = join(folder, "two_gpus.gpr");
		execFileSync(gpuprof, ["run", "-o", path, two_gpus], { stdio: "pipe",
			env: { ...process.env, LD_LIBRARY_PATH: join(root, "build/fake") } });
		const { page, faults } = await open(writeReport("two_gpus", path), "#overview");
		await compareOverview(page, path, reportOf(join(folder, "two_gpus.html")).recordings[0].documents);
		const open_1 = [
			["overview", () => card(page, "Phases").locator("p:has-text('GPU 1:') a")],
			["phases", () => page.locator("h2:has-text('Peak of GPU 1') a")],
			["leaks", () => page.locator("figure a[title='what grew']").first()],
		];
		for (const [id, link] of open_1) {
			await show(page, `#${id}`);
			await link().click();
			await page.waitForSelector("main[data-page=moment] select[aria-label=device]");
			assert.equal(await page.locator("select[aria-label=device]").inputValue(), "1", id);
			if (id !== "leaks") assert.match(await page.textContent("h1"), /: 20\.0 MiB of PyTorch's blocks/);
		}
		assert.deepEqual(faults, []);
		await page.close();
	});

const maker = join(dirname(gpuprof), "frag/made_gpu_time");

test("NCCL and Counters begin with the answers of their commands",
	{ skip: options.skip || (!existsSync(maker) && `${maker} is missing`) }, async () => {
		for (const [kind, id] of [["nccl", "collectives"], ["counters", "counters"]]) {
			const path = join(folder, `${kind}.gpr`);
			execFileSync(maker, [path, kind]);
			const [, answer] = /: (.*)/.exec(execFileSync(gpuprof, [id, path], { encoding: "utf8" }));
			const { page, faults } = await open(writeReport(kind, path), `#${id}`);
			assert.equal(await page.textContent("main p:not(.command)"), `${answer}.`);
			assert.deepEqual(faults, []);
			await page.close();
		}
	});

test("texts of a recording are never HTML", options, async () => {
	const evil = `<img src=x onerror=alert(1)><script>alert(2)</script>${"x".repeat(65536)}`;
	const html = writeChanged(join(folder, "h200_gpt_oom.html"), "evil", ({ recordings }) => {
		const [{ documents, lives }] = recordings;
		documents.info.command = evil;
		documents.oom.ooms[0].answer.cause = evil;
		documents.phases.phases[0].name = evil;
		lives.text = lives.text.map((text) => text && `${text}${evil}`);
	});
	const { page, faults } = await open(html, "#overview");
	for (const id of PAGES) {
		await show(page, `#${id}`);
		assert.equal(await page.locator("main img, main script").count(), 0);
	}
	assert.deepEqual(faults, []);
	await page.close();
});

// Names of functions, files, modules, ranges, phases, kernels, the host and the GPU are scripts that
// would set `canary`.
test("no script of a recording runs, and no name turns the text around it", options, async () => {
	const path = join(folder, "canary.gpr");
	execFileSync(join(dirname(gpuprof), "hostile/made_hostile"), ["texts", "50", path]);
	const { page, faults } = await open(writeReport("canary", path), "#overview");
	for (const id of PAGES) {
		await show(page, `#${id}`);
		const text = await page.locator("header, main").allTextContents().then((all) => all.join());
		assert.doesNotMatch(text, /[\u2028\u202e]/);
		if (["overview", "moment", "phases", "leaks", "kernels", "settings"].includes(id)) {
			assert.match(text, /<script>canary=1<\/script>/, id);
		}
		assert.equal(await page.evaluate(() => typeof window.canary), "undefined", id);
		assert.equal(await page.locator("img, main script").count(), 0, id);
	}
	await page.evaluate(() => document.body.insertAdjacentHTML("beforeend",
		"<img src=x onerror='canary=1'>"));
	await page.waitForFunction(() => document.querySelector("img").complete);
	assert.equal(await page.evaluate(() => typeof window.canary), "undefined", "the policy");
	assert.match(faults.join(" "), /Content Security Policy/);
	await page.close();
});

/** The picture of the timeline as SVG. */
async function timelineOf(html) {
	const { page } = await open(html, "#timeline");
	const [download] = await Promise.all([page.waitForEvent("download"),
		page.click(".controls >> text=SVG")]);
	const svg = readFileSync(await download.path(), "utf8");
	const losses = await page.locator(".losses").allTextContents();
	await page.close();
	return [svg, losses.join()];
}

test("the timeline marks what a recording has not", options, async () => {
	const [damaged, lost] = ["damaged.gpr", "lost.gpr"].map((name) => join(folder, name));
	writeFileSync(damaged, readFileSync(recordingPath("h200_ranges")).fill("X", 5725, 5729));
	spawnSync(gpuprof, ["verify", "--repair", lost, damaged]);
	const [shaded, losses] = await timelineOf(writeReport("lost", lost));
	assert.match(shaded, /events are missing/);
	assert.match(shaded, /<rect [^>]*opacity="0\.16"/);
	assert.match(losses, /430 events were lost: 282 of memory/);
	const killed = writeReport("fake-killed");
	const [torn, end] = await timelineOf(killed);
	assert.match(torn, /the end is missing/);
	assert.match(end, /The end of the recording is missing\. If the file .* still exists/);
	assert.doesNotMatch(torn, /earlier events/);
	const wrapped = writeChanged(killed, "wrapped", ({ recordings: [{ documents }] }) => {
		documents.info.kept_from_ns = 1000;
	});
	assert.match((await timelineOf(wrapped))[0], /earlier events were overwritten/);
	const empty = join(folder, "empty.gpr");
	writeFileSync(empty, readFileSync(recordingPath("fake-training")).subarray(0, 20000));
	assert.match((await timelineOf(writeReport("empty", empty)))[0], /No memory .* was recorded/);
});

const card = (page, title) => page.locator(".card", { has: page.locator(`h2 >> text="${title}"`) });
const heading = (page, text) => page.waitForSelector(`h1:has-text("${text}")`);

// The clicks of docs/REPORT.md, "Five questions".
test("five questions: each answer is a few clicks away", options, async () => {
	const { page, faults } = await open(writeReport("h200_gpt_stacks"), "#overview");
	const holders = card(page, "Code that holds the peak");
	await holders.locator("tbody tr").first().click();
	const { peak } = reportOf(join(folder, "h200_gpt_stacks.html")).recordings[0].documents;
	const { groups } = peak.curves.find(({ of }) => of === "allocated");
	assert.match(await holders.locator("ol.stack").first().textContent(),
		new RegExp(groups[0].stack.at(-1).function));
	await card(page, "Memory at the peak, by role").locator("text=by module").click();
	await page.waitForSelector("main[data-page=moment]");
	const modules = JSON.parse(execFileSync(gpuprof, ["peak", "--by", "module", "--of", "allocated",
		"--no-stacks", "--json", recordingPath("h200_gpt_stacks")])).curves[0].groups;
	const rows = await page.locator(".table").first().locator("tbody tr").allTextContents();
	assert.deepEqual(rows.map((text) => text.slice(0, -1).split(/\d+\.?\d* [GM]iB/)[0]),
		modules.map(({ key }) => key));
	await page.close();

	const oom = (await open(writeReport("h200_gpt_oom"), "#overview")).page;
	await card(oom, "Out of memory").locator("text=details").click();
	await oom.waitForSelector("main[data-page=oom]");
	assert.match(await oom.textContent("main"),
		/by.*run_out_of_memory.*cause.*capacity: PyTorch uses.*Try.*make the request/s);
	await oom.close();

	const leak = (await open(writeReport("leak_loss_list"), "#overview")).page;
	await card(leak, "Leaks").locator("text=details").click();
	await leak.locator(".section", { hasText: "Memory that grows" }).locator("tbody tr").first().click();
	assert.match(await leak.locator("tr.detail:not([hidden])").textContent(), /leak_jobs\.py:87/);
	await leak.click("text=Overview");
	await card(leak, "The run").locator("text=compare memory at two steps").click();
	await heading(leak, "From A (start of step 3, 4.253 s) to B (start of step 60, 4.365 s)");
	await leak.selectOption("select[aria-label='group by']", "line");
	await leak.waitForSelector("th:has-text('Line of code')");
	assert.match(await leak.locator("tbody tr").first().textContent(), /leak_jobs\.py:87.*\+628 KiB259$/);
	await leak.fill("input[aria-label='first step']", "50");
	await leak.selectOption("select[aria-label='moment of a step']", "peak");
	await leak.click("text=compare the steps");
	await heading(leak, "From A (in step 50");
	assert.match(await leak.locator("tbody tr").first().textContent(), /leak_jobs\.py:87.*\+114 KiB5060$/);
	await leak.close();
	assert.deepEqual(faults, []);
});
