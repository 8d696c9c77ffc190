// A page's figures against the commands, at random windows and moments; exact.mjs does more of it.
import { execFileSync } from "node:child_process";
import { existsSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
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

const victim = join(dirname(gpuprof), "victims/expandable");
const missing = [gpuprof, victim].find((path) => !existsSync(path));

test("mapped memory whose handle is released is live until it is unmapped",
	{ skip: missing && `${missing} is missing` }, () => {
		const path = join(folder, "expandable.gpr");
		execFileSync(gpuprof, ["run", "-o", path, victim, "6"], { stdio: "pipe",
			env: { ...process.env, LD_LIBRARY_PATH: join(dirname(gpuprof), "fake") } });
		const page = openPage(path, folder);
		compareWindows(path, page, seeded(1), 5);
		compareMoments(path, page, 30, 1);
		compareSegments(path, page, seeded(1), 5);
	});
