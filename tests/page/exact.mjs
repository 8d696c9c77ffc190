/**
 * Exact figures of pages against the commands, with random moments and windows: node exact.mjs
 * [--windows N] [--moments N] RECORDING... prints a line for each recording; exit 1: some differ.
 * $GPUPROF chooses the program. exact.test.mjs has a small part of it.
 */
import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join, resolve } from "node:path";
import { fileURLToPath } from "node:url";
import { parseArgs } from "node:util";
import { gunzipSync } from "node:zlib";
import { decodeCurve, decodeLives } from "../../page/src/decode.js";
import { Lives, OF } from "../../page/src/lives.js";
import { Curve } from "../../page/src/pyramid.js";
import { segmentsAt } from "../../page/src/segment_map.js";
import { agesOf, whatFits } from "../../page/src/what_fits.js";
import { seeded } from "./random_lives.mjs";

const root = dirname(dirname(dirname(fileURLToPath(import.meta.url))));
export const gpuprof = resolve(process.env.GPUPROF ?? join(root, "build/gpuprof"));
export const recordingPath = (name) => join(root, `tests/data/${name}.gpr`);
const MOST_BYTES = 2 ** 30;

/** The output of a command, as JSON. */
const ask = (program, ...words) =>
	JSON.parse(execFileSync(program, words, { maxBuffer: MOST_BYTES, stdio: ["ignore", "pipe", "ignore"] }));

/** The parts of a page of one recording, read with the page's own code. */
export function openPage(recording, folder) {
	const html = join(folder, "exact.html");
	execFileSync(gpuprof, ["report", "--force", "-o", html, recording], { stdio: "pipe" });
	const text = readFileSync(html, "utf8");
	const unpack = (id) =>
		gunzipSync(Buffer.from(new RegExp(`id="${id}">([^<]*)<`).exec(text)[1], "base64"));
	const report = JSON.parse(unpack("gpuprof-report"));
	const header = report.recordings[0].lives;
	const block = (k) => (report.data[k].file === null ? unpack(`gpuprof-data-${k}`)
		: gunzipSync(Buffer.from(/"([^"]*)"/.exec(
			readFileSync(join(folder, decodeURIComponent(report.data[k].file)), "utf8"))[1], "base64")));
	const lives = new Lives(header.count, header.groups.of.length);
	header.blocks.reduce((at, k) => decodeLives(block(k), lives, at), 0);
	const curves = header.curves.map(({ device, curve, data }) =>
		({ device, name: curve, curve: new Curve(decodeCurve(block(data))) }));
	const open = (curve) => (curve ? new Curve(decodeCurve(block(curve.data))) : null);
	const capacities = new Map(header.capacities.map(({ device, total_bytes, used, limit }) =>
		[device, { total_bytes, used: open(used), limit: open(limit) }]));
	return { header, lives, curves, capacities, documents: report.recordings[0].documents };
}

/** Highest values in random windows, by the page and by `timeline --from A --to B --json`. */
export function compareWindows(recording, { header, curves }, chance, count) {
	for (let k = 0; k < count; k++) {
		const from = header.from_ns + Math.floor(chance() * (header.to_ns - header.from_ns));
		const to = from + 1 + Math.floor(chance() ** (1 + (k % 8)) * (header.to_ns - from));
		const said = ask(gpuprof, "timeline", "--json", "--points", "16", "--from", String(from),
			"--to", String(to), recording);
		for (const { device, name, curve } of curves) {
			const of = device < 0 ? said.host : said.devices.find((one) => one.device === device);
			assert.equal(curve.range(from, to + 1)?.high ?? 0, of?.[`${name}_peak_bytes`] ?? 0,
				`${name} of device ${device} from ${from} to ${to} ns`);
		}
	}
	return count * curves.length;
}

/** Live memory at random moments, by the page and by the slow replay of `dump --json`. */
export function compareMoments(recording, { header, lives }, count, seed) {
	const replayed = ask("python3", join(root, "page/tools/slow_replay.py"), gpuprof,
		String(count), String(seed), recording);
	for (const { at_ns, of, live } of replayed) {
		const found = [];
		lives.visitLive(at_ns, header.groups.of.map((kind) => kind === of), (life) =>
			found.push([lives.address[life], lives.bytes[life]]));
		assert.deepEqual(found.sort((a, b) => a[0] - b[0] || a[1] - b[1]), live,
			`kind ${of} at ${at_ns} ns`);
	}
	return replayed.length;
}

/** What fits at a moment, pools and pins, by the page and by `frag`. */
function compareFits({ header, lives, capacities }, at, theirs) {
	const { device, total_bytes, driver_used_bytes } = theirs;
	const fits = whatFits(header, lives, device, at, capacities.get(device));
	const where = `what fits on device ${device} at ${at} ns`;
	assert.deepEqual({
		largest: fits.largest, any: fits.largest_any, after: fits.after, is_bound: fits.is_bound,
		stream: fits.stream, releasable: fits.releasable, driver_free: fits.driver_free,
	}, {
		largest: theirs.largest_request_bytes, any: theirs.largest_any_bytes,
		after: theirs.largest_after_release_bytes, is_bound: theirs.largest_after_release_is_bound,
		stream: theirs.stream, releasable: theirs.releasable_bytes,
		driver_free: driver_used_bytes === null ? null : total_bytes - driver_used_bytes,
	}, where);
	const byText = (a, b) => JSON.stringify(a).localeCompare(JSON.stringify(b));
	assert.deepEqual(fits.pools.map((pool) => [pool.stream, pool.pool, pool.is_small, pool.segments,
		pool.gaps, pool.reserved, pool.allocated, pool.pending, pool.free, pool.largest_gap,
		pool.largest, pool.releasable]).sort(byText), theirs.pools.map((pool) => [pool.stream, pool.pool,
		pool.small, pool.segments, pool.gaps, pool.reserved_bytes, pool.allocated_bytes,
		pool.pending_bytes, pool.free_bytes, pool.largest_gap_bytes, pool.largest_request_bytes,
		pool.releasable_bytes]).sort(byText), where);
	const ages = agesOf(header, lives, fits.pins.map(({ life }) => life), at);
	assert.deepEqual(fits.pins.map(({ room, life, keeps }) => ({ segment: room.address,
		address: lives.address[life], bytes: lives.bytes[life], keeps })),
	theirs.pins.map(({ segment, address, bytes, hostage_bytes }) => ({ segment: Number(segment),
		address: Number(address), bytes, keeps: hostage_bytes })), where);
	/* threads read their clocks out of order: a life begins when an earlier one was seen */
	fits.pins.forEach((_, k) => assert.ok(ages[k].is_least ? theirs.pins[k].age_ns >= ages[k].age_ns
		: Math.abs(ages[k].age_ns - theirs.pins[k].age_ns) <= 1e5,
	`pin ${k}: ${ages[k].age_ns} ns old, not ${theirs.pins[k].age_ns}, ${where}`));
	return fits.pins.length;
}

/** Segments at moments of random events, what fits and pins, by the page and by `frag --at`. */
export function compareSegments(recording, page, chance, count) {
	const { header, lives } = page;
	let segments = 0;
	for (let k = 0; k < count && header.count; k++) {
		const at = Math.max(header.from_ns, Math.min(header.to_ns,
			lives.birth[Math.floor(chance() * header.count)] + 1));
		const said = ask(gpuprof, "frag", "--json", "--no-stacks", "--top", "0", "--at", String(at),
			recording);
		for (const one of said.devices) {
			const { device, segments: theirs } = one;
			const found = segmentsAt(header, lives, device, at).segments.map((segment) => [
				segment.address, segment.bytes, segment.blocks.map((life) =>
					[lives.address[life], lives.bytes[life]]).sort((a, b) => a[0] - b[0])]);
			assert.deepEqual(found, theirs.map(({ address, bytes, blocks }) => [
				Number(address), bytes, blocks.filter(({ state }) => state === "allocated")
					.map((block) => [Number(block.address), block.bytes])])
				.sort((a, b) => a[0] - b[0]), `segments of device ${device} at ${at} ns`);
			segments += found.length;
			compareFits(page, at, one);
		}
	}
	return segments;
}

function main() {
	const { values, positionals } = parseArgs({ allowPositionals: true, options: {
		windows: { type: "string", default: "150" }, moments: { type: "string", default: "100" },
		seed: { type: "string", default: "1" } } });
	const folder = mkdtempSync(join(tmpdir(), "gpuprof-exact-"));
	const seed = Number(values.seed);
	for (const recording of positionals) {
		const page = openPage(recording, folder);
		const chance = seeded(seed);
		const parts = [
			["peaks", () => compareWindows(recording, page, chance, Number(values.windows))],
			["live sets", () => compareMoments(recording, page, Number(values.moments), seed)],
			["segments", () => compareSegments(recording, page, chance, Number(values.moments))],
		];
		const texts = parts.map(([name, compare]) => {
			try {
				return `${compare()} ${name}`;
			} catch (error) {
				process.exitCode = 1;
				return `${name} DIFFER: ${error.message.slice(0, 1500)}`;
			}
		});
		console.log(`${recording}: ${texts.join(", ")}`);
	}
	rmSync(folder, { recursive: true });
}

if (process.argv[1] === fileURLToPath(import.meta.url)) main();
