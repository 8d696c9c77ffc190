/**
 * Pictures of pages for docs/REPORT.md: node tools/screenshots.mjs FOLDER. $GPUPROF and $CHROMIUM
 * choose the programs.
 */
import { execFileSync } from "node:child_process";
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join, resolve } from "node:path";
import { fileURLToPath } from "node:url";
import pixelmatch from "pixelmatch";
import { chromium } from "playwright-core";
import pngjs from "pngjs";

const { PNG } = pngjs;
const root = dirname(dirname(dirname(fileURLToPath(import.meta.url))));
export const gpuprof = resolve(process.env.GPUPROF ?? join(root, "build/gpuprof"));
export const executablePath = process.env.CHROMIUM ?? "/usr/bin/chromium";

/** Name of the picture, recording, and page. `at`: part of the plot under the pointer; `height` in
 * pixels, if a picture is lower than most. `made`: the recording is one of an invented job, which
 * tests/frag/made_gpu_time.c writes. */
export const PICTURES = [
	{ name: "overview", recording: "h200_gpt_stacks", hash: "#overview" },
	{ name: "timeline", recording: "h200_gpt_stacks", hash: "#timeline?by=role", at: [0.43, 0.8] },
	{ name: "lanes", recording: "made", made: "frees", hash: "#timeline", at: [0.48, 0.57],
		plot: "canvas.lanes" },
	{ name: "moment", recording: "h200_gpt_stacks", hash: "#moment?by=role" },
	{ name: "ranks", recording: "ranks", hash: "#ranks", at: [0.55, 0.3], plot: "canvas.ranks" },
	{ name: "leaks", recording: "leak_loss_list", hash: "#leaks" },
	{ name: "oom", recording: "h200_gpt_oom", hash: "#oom" },
	{ name: "frag", recording: "h200_gpt_oom", hash: "#frag" },
	{ name: "phases", recording: "h200_gpt_stacks", hash: "#phases" },
	{ name: "graphs", recording: "h200_inductor", hash: "#graphs", height: 350 },
	{ name: "idle", recording: "h200_idle", hash: "#idle" },
	{ name: "waits", recording: "made", made: "frees", hash: "#waits", height: 560 },
	{ name: "kernels", recording: "made", made: "frees", hash: "#kernels", height: 560 },
	{ name: "collectives", recording: "nccl", made: "nccl", hash: "#collectives", height: 480 },
	{ name: "counters", recording: "counters", made: "counters", hash: "#counters", height: 360 },
	{ name: "startup", recording: "h200_clean_compile", hash: "#startup", height: 480 },
	{ name: "settings", recording: "h200_clean_compile", hash: "#settings", height: 600 },
];

const SIZE = { width: 1280, height: 800 };

/** A smaller file: fewer colours, and a compression that suits flat areas.
 * @param {Buffer} png @returns {Buffer} */
function smaller(png) {
	const picture = PNG.sync.read(png);
	picture.data.forEach((value, k) => (picture.data[k] = Math.min(255, Math.round(value / 4) * 4)));
	return PNG.sync.write(picture, { colorType: 2, deflateLevel: 9, deflateStrategy: 0,
		filterType: 0 });
}

/** The share of pixels that differ visibly; `marked` becomes a picture of them.
 * @param {string} before @param {string} after @param {string} marked paths */
export function differingShare(before, after, marked) {
	const [a, b] = [before, after].map((path) => PNG.sync.read(readFileSync(path)));
	if (a.width !== b.width || a.height !== b.height) return 1;
	const { width, height } = a;
	const picture = new PNG({ width, height });
	const count = pixelmatch(a.data, b.data, picture.data, width, height, { threshold: 0.1 });
	writeFileSync(marked, PNG.sync.write(picture));
	return count / (width * height);
}

/** Writes FOLDER/NAME.png of each picture. @param {string} folder */
export async function takePictures(folder) {
	const pages = mkdtempSync(join(tmpdir(), "gpuprof-pictures-"));
	const browser = await chromium.launch({ executablePath, args: ["--no-sandbox"] });
	try {
		mkdirSync(folder, { recursive: true });
		for (const { recording, made } of PICTURES) {
			const html = join(pages, `${recording}.html`);
			if (existsSync(html)) continue;
			const cwd = made ? pages : join(root, "tests/data");
			if (made) {
				execFileSync(join(dirname(gpuprof), "frag/made_gpu_time"), [`${recording}.gpr`, made], { cwd });
			}
			execFileSync(gpuprof, ["report", "-o", html,
				recording === "ranks" ? recording : `${recording}.gpr`], { cwd, stdio: "pipe" });
		}
		for (const { name, recording, hash, at, height, plot: canvas = "canvas.plot" } of PICTURES) {
			const page = await browser.newPage({
				viewport: { ...SIZE, height: height ?? SIZE.height },
				colorScheme: "light", locale: "en-US", timezoneId: "UTC" });
			await page.goto(`file://${pages}/${recording}.html${hash}`);
			await page.waitForSelector("main[data-state=ready]");
			if (name === "ranks") await page.waitForSelector(".ranks-page[data-state=ready]");
			if (hash.startsWith("#timeline")) await page.waitForSelector(".timeline[data-state=ready]");
			if (at) {
				const plot = await page.locator(canvas).boundingBox();
				await page.mouse.move(plot.x + plot.width * at[0], plot.y + plot.height * at[1]);
				await page.waitForSelector(".hover .moment, canvas.ranks-line[title]");
			}
			if ((await page.textContent("body")).includes(root)) throw Error(`${name} shows ${root}`);
			writeFileSync(join(folder, `${name}.png`), smaller(await page.screenshot()));
			await page.close();
		}
	} finally {
		await browser.close();
		rmSync(pages, { recursive: true });
	}
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
	if (process.argv.length !== 3) {
		console.error("usage: node tools/screenshots.mjs FOLDER");
		process.exit(2);
	}
	await takePictures(resolve(process.argv[2]));
}
