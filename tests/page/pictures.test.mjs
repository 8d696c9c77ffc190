// The pictures of docs/REPORT.md are those of this page. Fresh ones lie in $SHOTS/docs.
import assert from "node:assert/strict";
import { existsSync, readFileSync, readdirSync, statSync } from "node:fs";
import { dirname, join } from "node:path";
import { test } from "node:test";
import { fileURLToPath } from "node:url";
import {
	PICTURES, differingShare, executablePath, gpuprof, takePictures,
} from "../../page/tools/screenshots.mjs";

const root = dirname(dirname(dirname(fileURLToPath(import.meta.url))));
const docs = join(root, "docs/pages");
const fresh = join(process.env.SHOTS ?? join(root, "build/page-shots"), "docs");
const MOST_BYTES = 120_000;
const MOST_SHARE = 0.01;
const skip = [gpuprof, executablePath].find((path) => !existsSync(path));

test("docs/REPORT.md shows each picture once, and no picture is large", () => {
	const files = PICTURES.map(({ name }) => `${name}.png`);
	const shown = readFileSync(join(root, "docs/REPORT.md"), "utf8").matchAll(/\(pages\/([^)]*)\)/g);
	assert.deepEqual([...shown].map(([, file]) => file), files);
	assert.deepEqual(readdirSync(docs).sort(), [...files].sort());
	for (const file of files) {
		const { size } = statSync(join(docs, file));
		assert.ok(size <= MOST_BYTES, `docs/pages/${file} has ${size} bytes, limit ${MOST_BYTES}`);
	}
});

test("the pictures of docs/REPORT.md are fresh", { skip: skip && `${skip} is missing` }, async () => {
	await takePictures(fresh);
	const faults = PICTURES.flatMap(({ name }) => {
		const marked = join(fresh, `${name}.difference.png`);
		const share = differingShare(join(docs, `${name}.png`), join(fresh, `${name}.png`), marked);
		return share <= MOST_SHARE ? [] : [`docs/pages/${name}.png: ${(100 * share).toFixed(1)}% of ` +
			`the pixels differ, limit ${100 * MOST_SHARE}%; see ${marked}`];
	});
	assert.ok(!faults.length, [...faults,
		"After a change of the page, run make page-shots. If all pictures differ, the fonts may " +
		"be other ones: the pictures were made with DejaVu Sans."].join("\n"));
});
