/*
 * The steps of every recording in tests/data against the steps of its script. Also in parts of the
 * recording: without its ranges, stacks, allocations or launches. A row with a known wrong result
 * has the reason. The test also fails if the result is right and the row still has a reason.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "gpuprof.h"
#include "read/file/recording.h"
#include "recordings.h"

enum { ALL = 1, NO_RANGES = 2, NO_STACKS = 8, LAUNCHES = 16, ALLOCATIONS = 32 };

static const struct {
	unsigned bit;
	const char *name;
	bool has_no_ranges, has_no_stacks, has_no_launches, has_no_allocations;
} views[] = {
	{ ALL, "all", false, false, false, false },
	{ NO_RANGES, "without ranges", true, false, false, false },
	{ NO_STACKS, "without ranges and stacks", true, true, false, false },
	{ LAUNCHES, "launches alone", true, false, false, true },
	{ ALLOCATIONS, "allocations alone", true, false, true, false },
};
#define VIEWS (sizeof views / sizeof *views)

static const struct golden {
	const char *file;
	size_t steps; /* steps of the script; 0: it has no loop */
	enum gp_step_source source;
	unsigned open; /* views with another result */
	const char *why;
} goldens[] = {
	{ "fake-elsewhere", 40, GP_STEPS_UPDATES, NO_RANGES | NO_STACKS | LAUNCHES,
	  "sizes alone are few, and nothing is launched" },
	{ "fake-filling", 300, GP_STEPS_REPETITION, ALLOCATIONS, "sizes are drawn by chance" },
	{ "fake-filling-short", 60, GP_STEPS_REPETITION, ALLOCATIONS, "sizes are drawn by chance" },
	{ "fake-held", 3, GP_STEPS_REPETITION, ALL | NO_RANGES | LAUNCHES | ALLOCATIONS,
	  "three turns of few symbols" },
	/* of 4,000 steps: it was killed in the fourteenth */
	{ "fake-killed", 13, GP_STEPS_REPETITION, LAUNCHES | ALLOCATIONS,
	  "one kernel alone, or sizes drawn by chance, are no loop" },
	{ "fake-no_room", 0, GP_STEPS_NONE, ALLOCATIONS, "half of the events are lost" },
	{ "fake-ranges", 6, GP_STEPS_RANGES, NO_RANGES | NO_STACKS | LAUNCHES | ALLOCATIONS,
	  "one kernel, of which each step has three runs" },
	{ "fake-training", 3, GP_STEPS_REPETITION,
	  ALL | NO_RANGES | NO_STACKS | LAUNCHES | ALLOCATIONS,
	  "three turns of six symbols are too few" },
	{ "h200_calls", 0, GP_STEPS_NONE, 0, NULL },
	{ "h200_clean_compile", 60, GP_STEPS_UPDATES, ALLOCATIONS, "the first ones are compiled" },
	{ "h200_clean_compile_200", 200, GP_STEPS_UPDATES, ALLOCATIONS, "an evaluation's period" },
	{ "h200_clean_serve", 60, GP_STEPS_REPETITION, 0, NULL },
	{ "h200_clean_serve_200", 200, GP_STEPS_REPETITION, 0, NULL },
	{ "h200_clean_train", 60, GP_STEPS_UPDATES, ALLOCATIONS, "an evaluation's period" },
	{ "h200_clean_train_200", 200, GP_STEPS_UPDATES, ALLOCATIONS, "an evaluation's period" },
	{ "h200_cupy", 4, GP_STEPS_REPETITION, ALLOCATIONS, "the pool asks the driver once" },
	{ "h200_ddp", 4, GP_STEPS_REPETITION, 0, NULL },
	{ "h200_gpt_eager", 8, GP_STEPS_REPETITION, 0, NULL },
	{ "h200_gpt_expandable", 6, GP_STEPS_REPETITION, 0, NULL },
	/* three warm-ups, then one captured step is replayed for each of the other seven batches */
	{ "h200_gpt_graph", 10, GP_STEPS_REPETITION, ALLOCATIONS, "replays allocate nothing" },
	{ "h200_gpt_oom", 6, GP_STEPS_UPDATES, ALLOCATIONS, "three steps, an OOM, three steps" },
	{ "h200_gpt_stacks", 3, GP_STEPS_REPETITION, 0, NULL },
	/* two loops of 200 rounds each */
	{ "h200_idle", 400, GP_STEPS_REPETITION, ALLOCATIONS, "each loop has stacks of its own" },
	{ "h200_inductor", 4, GP_STEPS_REPETITION, ALLOCATIONS, "replays allocate nothing" },
	{ "h200_jax", 4, GP_STEPS_REPETITION, ALL | NO_RANGES | NO_STACKS | LAUNCHES | ALLOCATIONS,
	  "XLA tries kernels, in a loop of more turns than the job's own" },
	{ "h200_libraries", 0, GP_STEPS_NONE, 0, NULL },
	{ "h200_mlp", 50, GP_STEPS_REPETITION, ALLOCATIONS, "it allocates but once" },
	{ "h200_oom_kinds", 0, GP_STEPS_NONE, 0, NULL },
	{ "h200_phases", 10, GP_STEPS_RANGES, 0, NULL },
	/* twelve micro batches of two are six updates */
	{ "h200_ranges", 6, GP_STEPS_UPDATES, ALLOCATIONS, "micro batches" },
	{ "leak_hooks", 60, GP_STEPS_UPDATES, 0, NULL },
	{ "leak_kv_cache", 60, GP_STEPS_REPETITION, ALLOCATIONS,
	  "a request's words: what leaks is never given back between requests" },
	{ "leak_loss_list", 60, GP_STEPS_UPDATES, ALLOCATIONS, "an evaluation's period" },
	{ "leak_pinned", 60, GP_STEPS_UPDATES, 0, NULL },
	{ "leak_streams", 60, GP_STEPS_UPDATES, ALLOCATIONS, "an evaluation's period" },
};
#define GOLDENS (sizeof goldens / sizeof *goldens)

/* Hides all other parts of the recording. */
static void hide(struct gp_recording *r, size_t view)
{
	const struct gp_info *info;
	assert_int_equal(gp_recording_info(r, &info), GP_OK);
	r->info.has_ranges &= !views[view].has_no_ranges;
	r->info.has_stacks &= !views[view].has_no_stacks;
	if (views[view].has_no_launches)
		r->info.kept[GP_LAUNCH] = r->info.kept[GP_GRAPH_LAUNCH] = 0;
	if (views[view].has_no_allocations)
		r->info.kept[GP_BLOCK_ALLOC] = r->info.kept[GP_ALLOC] = 0;
}

static bool is_right(const struct golden *g, size_t view)
{
	char path[4096];
	struct gp_recording *r;
	struct gp_steps found;
	snprintf(path, sizeof path, "%s/%s.gpr", recordings_directory(), g->file);
	assert_int_equal(gp_recording_open(path, &r, NULL), GP_OK);
	hide(r, view);
	assert_int_equal(gp_steps_find(r, &found), GP_OK);
	const bool is_reported = views[view].bit == ALL || g->source == GP_STEPS_NONE;
	const enum gp_step_source source = is_reported ? g->source : GP_STEPS_REPETITION;
	const bool is_it = found.steps == g->steps && found.source == source;
	const bool is_open = (g->open & views[view].bit) != 0;
	if (is_it == is_open)
		print_message("%s, %s: %zu by %s, of %zu%s\n", g->file, views[view].name,
			      found.steps, gp_step_source_names[found.source], g->steps,
			      is_open ? ": it is no longer open" : "");
	assert_true((found.steps > 0) == (found.source != GP_STEPS_NONE));
	assert_true((found.steps > 0) == (found.why == NULL));
	gp_steps_free(&found);
	gp_recording_close(r);
	return is_it;
}

static void steps_are_those_of_the_script(void **state)
{
	(void)state;
	size_t right = 0, as_known = 0;
	for (size_t k = 0; k < GOLDENS; k++) {
		assert_true((goldens[k].open != 0) == (goldens[k].why != NULL));
		for (size_t view = 0; view < VIEWS; view++) {
			const bool is_it = is_right(&goldens[k], view);
			right += is_it;
			as_known += is_it == ((goldens[k].open & views[view].bit) == 0);
		}
	}
	print_message("steps as in the script in %zu of %zu views of %zu recordings\n", right,
		      GOLDENS * VIEWS, GOLDENS);
	assert_int_equal(as_known, GOLDENS * VIEWS);
}

static bool has_row(const char *path)
{
	const char *name = strrchr(path, '/') + 1;
	const size_t length = strlen(name) - strlen(".gpr");
	for (size_t k = 0; k < GOLDENS; k++)
		if (strlen(goldens[k].file) == length &&
		    strncmp(goldens[k].file, name, length) == 0)
			return true;
	print_message("%s: how many steps does its job do?\n", name);
	return false;
}

static void each_recording_has_its_row(void **state)
{
	(void)state;
	assert_int_equal(recordings_visit(has_row), GOLDENS);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(steps_are_those_of_the_script),
		cmocka_unit_test(each_recording_has_its_row),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
