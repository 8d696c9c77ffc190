// A page's figures against the commands, at random windows and moments; exact.mjs does more of it.
import { existsSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, test } from "node:test";
import { compareMoments, compareSegments, compareWindows, gpuprof, openPage, recordingPath }
	from "./exact.mjs";
import { seeded } from "./random_lives.mjs";

const folder = mkdtempSync(join(tmpdir(), "gpuprof-exact-"));
after(() => rmSync(folder, { recursive: true }));
const options = { skip: !existsSync(gpuprof) && `${gpuprof} is missing` };

for (const name of ["fake-training", "h200_gpt_expandable", "h200_oom_kinds"]) {
	test(`${name}: peaks, live sets and segments are those of the commands`, options, () => {
		const path = recordingPath(name);
		const page = openPage(path, folder);
		const chance = seeded(1);
		compareWindows(path, page, chance, 25);
		compareMoments(path, page, 30, 1);
		compareSegments(path, page, chance, 10);
	});
}
