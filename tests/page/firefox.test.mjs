// A report in Firefox: the page opens from a file, without errors.
import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { existsSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { test } from "node:test";
import { fileURLToPath } from "node:url";
import { firefox, openFirefox } from "./firefox_bidi.mjs";

const root = dirname(dirname(dirname(fileURLToPath(import.meta.url))));
const gpuprof = process.env.GPUPROF ?? join(root, "build/gpuprof");
const skip = [gpuprof, firefox].find((path) => !existsSync(path));
const TIMEOUT_MS = 120_000;

/** An expression: the text of the page, as soon as an element is there. */
const textWhen = (selector) => `new Promise((resolve) => {
	const look = () => document.querySelector("${selector}")
		? resolve(document.querySelector("main").textContent) : requestAnimationFrame(look);
	look();
})`;

test("Firefox shows the overview, the timeline and a moment, without errors",
	{ skip: skip && `${skip} is missing`, timeout: TIMEOUT_MS }, async () => {
		const folder = mkdtempSync(join(tmpdir(), "gpuprof-firefox-"));
		const html = join(folder, "report.html");
		execFileSync(gpuprof, ["report", "-o", html, join(root, "tests/data/h200_gpt_oom.gpr")],
			{ stdio: "pipe" });
		const { evaluate, events, close } =
			await openFirefox(folder, `file://${html}#overview`, TIMEOUT_MS);
		try {
			assert.match(await evaluate(textWhen("main[data-page=overview]")),
				/Memory ran out.*123 GiB/s);
			await evaluate('void (location.hash = "#timeline")');
			assert.match(await evaluate(textWhen(".timeline[data-state=ready]")), /allocations of/);
			await evaluate('void (location.hash = "#moment")');
			assert.match(await evaluate(textWhen(".moment-page h1")), /are live, in/);
			assert.deepEqual(events.filter(({ params }) => params.level !== "info" &&
				params.level !== "debug").map(({ params }) => params.text), []);
		} finally {
			await close();
			rmSync(folder, { recursive: true, force: true });
		}
	});
