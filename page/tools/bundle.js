/** Writes dist/: page.js, page.css and csp.txt, the hashes for the page's policy. */
import { createHash } from "node:crypto";
import { readFileSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { build } from "esbuild";

const root = dirname(dirname(fileURLToPath(import.meta.url)));
const out = process.argv[2] ?? join(root, "dist");

await build({
	absWorkingDir: root,
	entryPoints: ["src/main.js", "src/style.css"].map((path) => ({ in: path, out: "page" })),
	outdir: out, bundle: true, minify: true, format: "iife", target: "es2022", charset: "ascii",
});
const hashes = ["page.js", "page.css"].map((name) =>
	`sha256-${createHash("sha256").update(readFileSync(join(out, name))).digest("base64")}\n`);
writeFileSync(join(out, "csp.txt"), hashes.join(""));
