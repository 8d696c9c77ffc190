// Firefox by WebDriver BiDi, without a network.
import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdirSync, readFileSync, readdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { createInterface } from "node:readline";
import WebSocket from "../../page/node_modules/ws/wrapper.mjs";

export const firefox = process.env.FIREFOX ?? "/usr/bin/firefox-esr";

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

const privateBytesOf = (pid) =>
	[...readFileSync(`/proc/${pid}/smaps_rollup`, "utf8").matchAll(/^Private_\w+:\s*(\d+)/gm)]
		.reduce((sum, [, kb]) => sum + 1024 * Number(kb), 0);

/** Of the processes for tabs, the largest: Firefox keeps empty ones in reserve.
 * @param {number} browser its process */
function privateBytesOfTab(browser) {
	const bytes = [];
	for (const pid of readdirSync("/proc").filter((name) => /^[0-9]+$/.test(name))) {
		try {
			const line = readFileSync(`/proc/${pid}/cmdline`, "utf8");
			if (/ tab\0*$/.test(line) && line.includes(` -parentPid ${browser} `)) {
				bytes.push(privateBytesOf(pid));
			}
		} catch (error) {
			if (error.code !== "ENOENT" && error.code !== "ESRCH") throw error; // it has ended
		}
	}
	assert.ok(bytes.length, "Firefox has no process for tabs");
	return Math.max(...bytes);
}

/** Firefox itself cannot reach a network; pages may call TestUtils.gc(). */
const PREFERENCES = ["http", "ssl"].flatMap((kind) => [
	`user_pref("network.proxy.${kind}", "127.0.0.1");`, `user_pref("network.proxy.${kind}_port", 9);`,
]).concat('user_pref("network.proxy.type", 1);',
	'user_pref("dom.testing.testutils.enabled", true);', "").join("\n");

/** Starts Firefox with a profile in `folder`, and opens `url`. `evaluate` returns the value of an
 * expression of the page, `events` has the lines of its log, `privateBytes` returns the memory that
 * only the process of its tab has.
 * @param {string} folder @param {string} url @param {number} timeout in milliseconds */
export async function openFirefox(folder, url, timeout) {
	mkdirSync(join(folder, "profile"));
	writeFileSync(join(folder, "profile/user.js"), PREFERENCES);
	const browser = spawn(firefox, ["--headless", "--no-remote", "--remote-debugging-port", "0",
		"--profile", join(folder, "profile")],
	{ stdio: ["ignore", "ignore", "pipe"], env: { ...process.env, HOME: folder }, timeout });
	const ended = once(browser, "exit");
	const close = async () => {
		browser.kill();
		await ended;
	};
	try {
		const { send, events, socket } = await connect(await addressOf(browser));
		browser.stderr.resume();
		socket.on("error", () => {});
		await send("session.new", { capabilities: {} });
		await send("session.subscribe", { events: ["log.entryAdded"] });
		const { contexts: [{ context }] } = await send("browsingContext.getTree");
		await send("browsingContext.setViewport", { context, viewport: { width: 1400, height: 900 } });
		await send("browsingContext.navigate", { context, url, wait: "complete" });
		const evaluate = async (expression) => (await send("script.evaluate",
			{ expression, target: { context }, awaitPromise: true })).result?.value;
		return { evaluate, events, close, privateBytes: () => privateBytesOfTab(browser.pid) };
	} catch (error) {
		await close();
		throw error;
	}
}
