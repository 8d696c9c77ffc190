/**
 * Each figure of the overview against the text that its command prints: node overview_figures.mjs
 * RECORDING... prints a line for each recording; exit 1: some differ. browser.test.mjs has a part
 * of it. $GPUPROF and $CHROMIUM choose the programs.
 */
import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { chromium } from "../../page/node_modules/playwright-core/index.mjs";
import { nsText } from "../../page/src/amounts.js";
import { gpuprof } from "./exact.mjs";

/** The text of a command with one blank between words. */
const plain = (text) => text.replaceAll("µs", "us").replace(/\s+/g, " ").trim();

/** What the overview shows, as text: its head, its losses, and each card. */
const shownBy = (page) => page.evaluate(() => {
	const texts = (root, selector) =>
		[...(root?.querySelectorAll(selector) ?? [])].map((one) => one.textContent);
	return {
		head: texts(document, ".headline > *"), losses: texts(document, ".losses li"),
		cards: [...document.querySelectorAll(".card:not(.wide)")].map((card) => ({
			title: card.querySelector("h2").textContent,
			verdict: card.querySelector(".verdict")?.textContent,
			verdicts: texts(card, ".verdict"), texts: texts(card, "p:not(.actions)"),
			items: texts(card, "ol > li"), note: card.querySelector(":scope > .note")?.textContent,
			terms: Object.fromEntries([...card.querySelectorAll("dt")].map((term) =>
				[term.textContent, [...term.nextElementSibling.childNodes].filter(({ nodeType, nodeName }) =>
					nodeType === Node.TEXT_NODE || nodeName === "A").map((node) => node.textContent).join("")])),
			longest: card.querySelector("dd .note")?.textContent,
			bars: [...card.querySelectorAll(".amounts")].map((bar) => ({
				head: bar.previousElementSibling.textContent,
				parts: [...bar.querySelectorAll("li")].map((part) => {
					const amount = part.querySelector(".amount").textContent;
					return [part.textContent.slice(0, -amount.length), ...amount.split(" · ")];
				}),
			})),
			tables: [...card.querySelectorAll("table")].map((table) => ({
				head: table.querySelector("th").textContent,
				rows: [...table.querySelectorAll("tbody tr:not(.detail)")].map((row) => texts(row, "td")),
			})),
		})),
	};
});

const escaped = (text) => text.replace(/[.*+?^${}()|[\]\\]/g, "\\$&");

/** What must be in the text of a command, by the title of the card. `has(words, text)`: the output
 * of `gpuprof WORDS` has the text; a regular expression as well. */
const CARDS = {
	Peaks: ({ tables, verdict }, has, { info }) => {
		if (verdict) return assert.equal(info.peaks.length, 0);
		return tables[0].rows.forEach(([where, of, peak, share, at], k) => {
			if (of === "pinned") has("peak --of pinned", `${peak} of pinned memory at peak, ${at}`);
			else has("info", `${peak} ${of} (${at})`);
			const { peak_bytes, device } = info.peaks[k];
			const total = info.devices.find((one) => one.device === device)?.total_bytes;
			assert.equal(where, device === null ? "host" : `GPU ${device}`);
			assert.ok(share ? Math.abs(Number.parseFloat(share) - (100 * peak_bytes) / total) <= 0.0501
				: !total, `${share} of the GPU`);
		});
	},
	"Out of memory": ({ verdict, terms, texts }, has, { info, oom }) => {
		const calls = texts.find((text) => text.includes("CUDA call"));
		if (calls) has("info", new RegExp(`${/^[\d,]+/.exec(calls)[0]} failed CUDA calls?`));
		if (!oom.ooms.length) {
			const is_whole = info.complete && info.ooms.all_recorded;
			assert.equal(verdict.startsWith("No OOM was recorded, but events are missing"), !is_whole);
			has("oom", is_whole ? "no OOM was recorded" : "no OOM was recorded, but events are missing");
			return has("info", /OOMs none/);
		}
		const one = oom.ooms.length === 1;
		const words = one ? "oom" : `oom --number ${oom.ooms.at(-1).number}`;
		if (one) has(words, `at ${terms.at}`);
		else has("oom", `memory ran out ${/([\d,]+) times/.exec(verdict)[1]} times`);
		const [, size, requester] = /^(\S+ \S+) by (.*)$/.exec(terms.requested);
		has(words, `requested ${size} (`);
		if (requester !== "unknown code") has(words, requester.split(" <")[0]);
		if (terms.missing) has(words, `missing ${terms.missing}`);
		if (terms.cause !== "not known") has(words, terms.cause);
		return terms.try && has(words, new RegExp(`1\\. (\\w+: )?${escaped(terms.try)}`));
	},
	Leaks: ({ verdict, items }, has, { info }) => {
		has("leaks", verdict);
		for (const item of items) {
			const [, rate, gpu, name, place] =
				/^(\S+ \S+ a step)(?: on (GPU \d+))?: (.*?)(?: \((.*)\))?$/.exec(item);
			assert.equal(Boolean(gpu), info.devices.length > 1);
			has("leaks", new RegExp(`${escaped(rate)} since step [^:]*: ${escaped(name)}` +
				(place ? ` \\([^)]*${escaped(place)}\\)` : "") + (gpu ? ` ${gpu}, ` : "")));
		}
	},
	"Memory at the peak, by role": ({ bars }, has) => bars.forEach(({ head, parts }) => {
		const [, device, size, at] = /^GPU (\d+): (.*) allocated at (.*)$/.exec(head);
		const words = `peak --by role --top 0 --device ${device}`;
		has(words, new RegExp(`: (at least )?${escaped(size)} allocated by PyTorch at peak, ` +
			escaped(at)));
		for (const [role, bytes, share] of parts) {
			has(words, new RegExp(`${escaped(`${bytes} ${share}`)} [\\d,]+ ${role.replaceAll(" ", "_")} `));
		}
	}),
	"Code that holds the peak": ({ tables }, has) => tables.forEach(({ head, rows }) => {
		const [, device, of] = /^GPU (\d+), (.*)$/.exec(head);
		const words = `peak --top 0 --of ${of} --device ${device}`;
		for (const [key, bytes, share, count] of rows) {
			if (key === "no stack was recorded") has(words, "No stacks were recorded");
			else has(words, `${bytes} ${share} ${count} ${key}`);
		}
	}),
	Fragmentation: ({ verdicts, texts }, has) => verdicts.forEach((verdict) => {
		const found = /^GPU (\d+): (.*) of (.*) reserved memory is unused \((.*)\), at (.*)\.$/
			.exec(verdict);
		if (!found) return has("frag", verdict.replace(/\.$/, ""));
		const [, device, unused, reserved, share, at] = found;
		has("frag", new RegExp(`GPU ${device}, .*?, ${escaped(at)}[:, ].*?unused: ${escaped(
			`${unused} of ${reserved} reserved${unused === "0 B" ? "" : ` (${share})`}`)}`));
		const most = texts[texts.indexOf(verdict) + 1];
		const [, size] = /: (\S+ \S+)\.$/.exec(most ?? "") ?? [];
		return size && has("frag", new RegExp(`${escaped(size)} [\\d.]+% `));
	}),
	Phases: ({ texts, tables, verdict }, has) => {
		if (verdict) return has("phases", "No phases are known");
		return texts.forEach((text, k) => {
			const [, device, of, phase, at] =
				/^GPU (\d+): the peak of (.*) memory is (.*)\. Memory at the peak, (.*):$/.exec(text);
			has("phases", new RegExp(`GPU ${device},[^:]*: [^:]*${of}.*? at peak, ${escaped(at)}, ` +
				escaped(phase)));
			// the text has the first rows of a long list
			tables[k].rows.slice(0, 3).forEach(([name, bytes]) => has("phases", new RegExp(
				`${escaped(bytes)} [\\d.]+% ${escaped(name)}`)));
		});
	},
	"All memory of the GPU": (card, has, { info }) => assert.equal(info.number_line, null),
	number_line: ({ title, bars }, has) => {
		const [, at, sum] = /^At (.*?): (.*)$/.exec(bars[0].head);
		has("info", sum);
		has(`timeline --device ${/\d+$/.exec(title)[0]}`, sum);
		has("info", `(${at})`);
		for (const [name, bytes] of bars[0].parts) has("info", `${bytes} ${name}`);
	},
	"The run": ({ terms, longest }, has, { info }) => {
		const [, count, source, durations] = /^(.*) by (.*), median (.*)$/.exec(terms.steps) ?? [];
		has("info", new RegExp(count ? `steps ${count}, by ${source}( \\(inferred\\))?: median ` +
			escaped(durations) : escaped(terms.steps)));
		const begins = info.steps.begin_ns?.slice(info.steps.warmup) ?? [];
		assert.equal(longest?.trim(), begins.length < 4 ? undefined : "durations after the warm-up, up to " +
			nsText(Math.max(...begins.slice(1).map((at, k) => at - begins[k]))));
		const [, kernels, graphs] = /^([\d,]+) of kernels, ([\d,]+) of graphs$/.exec(terms.launches);
		assert.deepEqual([kernels, graphs].map((text) => Number(text.replaceAll(",", ""))),
			[info.launches, info.graph_launches]);
		if (kernels !== "0") has("info", new RegExp(`launches ${kernels} launch`));
		if (graphs !== "0") has("info", `${graphs} graph launch`);
		const [size, threads, pid] = terms.recording.split(", ");
		has("info", `file ${size}`);
		has("info", threads);
		has("info", pid);
	},
};

/** Throws if a figure of the overview, which `page` shows, is not in the output of its command. */
export async function compareOverview(page, recording, documents) {
	const outputs = new Map();
	let count = 0;
	const has = (words, text) => {
		if (!outputs.has(words)) {
			outputs.set(words, plain(execFileSync(gpuprof, [...words.split(" "), recording],
				{ encoding: "utf8", stdio: ["ignore", "pipe", "pipe"] })));
		}
		const output = outputs.get(words);
		count++;
		assert.ok(typeof text === "string" ? output.includes(plain(text))
			: new RegExp(plain(text.source)).test(output),
		`gpuprof ${words} does not print '${text}', but\n${output}`);
	};
	const shown = await shownBy(page);
	const [command, about] = shown.head;
	has("info", command);
	const [ran, ...more] = about.split(" · ");
	has("info", `${ran.replace(/^ran /, "")}, `);
	more.filter((text) => text !== "no GPU").forEach((text) =>
		text.split(/, (?=GPU \d)/).forEach((part) => has("info", part)));
	for (const loss of shown.losses) {
		if (loss.startsWith("Recording paused or began late: ")) {
			const { gaps } = documents.info;
			assert.match(loss, new RegExp(`: ${gaps.length} times?, last until ${nsText(gaps.at(-1))}\\.`));
			continue;
		}
		for (const [number] of loss.matchAll(/\d[\d.,]*\d|\d/g)) has("info", number);
	}
	for (const card of shown.cards) {
		const compare = CARDS[card.title] ??
			(/^All memory of GPU \d+$/.test(card.title) ? CARDS.number_line : undefined);
		assert.ok(compare, `the overview has a card '${card.title}' without a comparison`);
		if (!card.note) compare(card, has, documents);
	}
	return count;
}

async function main() {
	const folder = mkdtempSync(join(tmpdir(), "gpuprof-overview-"));
	const browser = await chromium.launch({ args: ["--no-sandbox"],
		executablePath: process.env.CHROMIUM ?? "/usr/bin/chromium" });
	const page = await browser.newPage();
	const html = join(folder, "overview.html");
	for (const recording of process.argv.slice(2)) {
		execFileSync(gpuprof, ["report", "--force", "-o", html, recording], { stdio: "pipe" });
		await page.goto("about:blank");
		await page.goto(`file://${html}#overview`);
		await page.waitForSelector("main[data-state=ready]");
		const [info, oom] = [["info", "--steps"], ["oom"]].map((words) => JSON.parse(
			execFileSync(gpuprof, [...words, "--json", recording], { encoding: "utf8" })));
		try {
			console.log(`${recording}: ${await compareOverview(page, recording, { info, oom })} figures`);
		} catch (error) {
			process.exitCode = 1;
			console.log(`${recording}: ${error.message.slice(0, 3000)}`);
		}
	}
	await browser.close();
	rmSync(folder, { recursive: true });
}

if (process.argv[1] === fileURLToPath(import.meta.url)) await main();
