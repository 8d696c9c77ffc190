// A report in Firefox, by WebDriver BiDi: the page opens from a file, without errors.
import assert from "node:assert/strict";
import { execFileSync, spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { createInterface } from "node:readline";
import { test } from "node:test";
import { fileURLToPath } from "node:url";
import WebSocket from "../../page/node_modules/ws/wrapper.mjs";

const root = dirname(dirname(dirname(fileURLToPath(import.meta.url))));
const gpuprof = process.env.GPUPROF ?? join(root, "build/gpuprof");
const firefox = process.env.FIREFOX ?? "/usr/bin/firefox-esr";
const skip = [gpuprof, firefox].find((path) => !existsSync(path));
const TIMEOUT_MS = 120_000;

/** The address that Firefox prints on stderr. */
async function addressOf(browser) {
	const printed = [];
	for await (const line of createInterface({ input: browser.stderr })) {
		const [, address] = /WebDriver BiDi listening on (ws:\S+)/.exec(line) ?? [];
		if (address) return address;
		printed.push(line);
	}
	throw Error(`Firefox ended without an address:\n${printed.join("\n")}`);
}

/** Commands of BiDi over a socket; `events` gets the events. */
async function connect(address) {
	const socket = new WebSocket(`${address}/session`);
	const waiting = new Map();
	const events = [];
	socket.on("message", (data) => {
		const answer = JSON.parse(data);
		if (answer.type === "event") events.push(answer);
		else waiting.get(answer.id)(answer);
	});
	await once(socket, "open");
	let id = 0;
	const send = async (method, params = {}) => {
		socket.send(JSON.stringify({ id: ++id, method, params }));
		const answer = await new Promise((resolve) => waiting.set(id, resolve));
		assert.equal(answer.type, "success", `${method}: ${answer.message}`);
		return answer.result;
	};
	return { send, events, socket };
}

/** An expression: the text of the page, as soon as an element is there. */
const textWhen = (selector) => `new Promise((resolve) => {
	const look = () => document.querySelector("${selector}")
		? resolve(document.querySelector("main").textContent) : requestAnimationFrame(look);
	look();
})`;

/** Firefox itself cannot reach a network. */
const PREFERENCES = ["http", "ssl"].flatMap((kind) => [
	`user_pref("network.proxy.${kind}", "127.0.0.1");`, `user_pref("network.proxy.${kind}_port", 9);`,
]).concat('user_pref("network.proxy.type", 1);', "").join("\n");

test("Firefox shows the overview, the timeline and a moment, without errors",
	{ skip: skip && `${skip} is missing`, timeout: TIMEOUT_MS }, async () => {
		const folder = mkdtempSync(join(tmpdir(), "gpuprof-firefox-"));
		const html = join(folder, "report.html");
		execFileSync(gpuprof, ["report", "-o", html, join(root, "tests/data/h200_gpt_oom.gpr")],
			{ stdio: "pipe" });
		mkdirSync(join(folder, "profile"));
		writeFileSync(join(folder, "profile/user.js"), PREFERENCES);
		const browser = spawn(firefox, ["--headless", "--no-remote", "--remote-debugging-port", "0",
			"--profile", join(folder, "profile")],
		{ stdio: ["ignore", "ignore", "pipe"], env: { ...process.env, HOME: folder },
			timeout: TIMEOUT_MS });
		const ended = once(browser, "exit");
		try {
			const { send, events, socket } = await connect(await addressOf(browser));
			browser.stderr.resume();
			await send("session.new", { capabilities: {} });
			await send("session.subscribe", { events: ["log.entryAdded"] });
			const { contexts: [{ context }] } = await send("browsingContext.getTree");
			const evaluate = async (expression) => (await send("script.evaluate",
				{ expression, target: { context }, awaitPromise: true })).result?.value;
			await send("browsingContext.navigate",
				{ context, url: `file://${html}#overview`, wait: "complete" });
			assert.match(await evaluate(textWhen("main[data-page=overview]")),
				/Memory ran out.*123 GiB/s);
			await evaluate('void (location.hash = "#timeline")');
			assert.match(await evaluate(textWhen(".timeline[data-state=ready]")), /allocations of/);
			await evaluate('void (location.hash = "#moment")');
			assert.match(await evaluate(textWhen(".moment-page h1")), /are live, in/);
			assert.deepEqual(events.filter(({ params }) => params.level !== "info" &&
				params.level !== "debug").map(({ params }) => params.text), []);
			await send("session.end");
			socket.close();
		} finally {
			browser.kill();
			await ended;
			rmSync(folder, { recursive: true, force: true });
		}
	});
