/*
 * The range stack of each event: random ranges, allocations and launches of four threads. A plain
 * model keeps a text for each live allocation. Then numbered names, late events, and texts without
 * room.
 */
#include "range_records.h"

#include "analyze/phases/range_path.h"

#define MODEL_LIVE 64u
#define MODEL_EVENTS 6000u

/* ---- a model that keeps all events ---- */

static const char *const names[] = { "?", "step", "forward", "backward", "optimizer", "data" };

struct model {
	uint32_t open[4][16]; /* names; 0: the engine */
	unsigned deep[4];
	char around[256]; /* the ranges around those of the worker */
	struct {
		uint64_t bytes;
		char path[256];
	} live[MODEL_LIVE];
	char (*recorded)[256]; /* of each event of memory and each launch, in order */
	size_t recordeds;
	uint64_t state;
};

static uint64_t any(struct model *m, uint64_t below)
{
	m->state ^= m->state << 13;
	m->state ^= m->state >> 7;
	m->state ^= m->state << 17;
	return (m->state >> 11) % below;
}

static bool is_in_engine(const struct model *m, unsigned thread, unsigned *deep)
{
	for (*deep = m->deep[thread]; *deep > 0; --*deep)
		if (m->open[thread][*deep - 1] == 0)
			return true;
	return false;
}

/* Appends its own ranges to the ranges around them. */
static void add_path(const struct model *m, unsigned thread, unsigned deep, char *out)
{
	for (unsigned k = 0; k < deep; k++) {
		const uint32_t name = m->open[thread][k];
		strcat(out, out[0] ? " > " : "");
		strcat(out, name ? names[name] : "(autograd engine)");
	}
}

/* "step > data"; "": outside. A worker (3) begins where the one thread in the engine is. */
static void write_path(const struct model *m, unsigned thread, char *out)
{
	unsigned inside = 0, deep;
	out[0] = '\0';
	for (unsigned t = 0; t < 3 && thread == 3 && m->deep[3] == 0; t++)
		if (is_in_engine(m, t, &deep) && inside++ == 0)
			add_path(m, t, deep, out);
	if (inside > 1)
		strcpy(out, "(ambiguous)");
	if (thread == 3 && m->deep[3] > 0)
		strcpy(out, m->around);
	add_path(m, thread, m->deep[thread], out);
}

static void add_event(struct model *m, unsigned thread)
{
	char *out = m->recorded[m->recordeds++];
	write_path(m, thread, out);
	if (out[0] == '\0')
		strcpy(out, "(outside of any range)");
}

static void push_range(struct model *m, struct writer *w, unsigned thread)
{
	bool is_engine = thread != 3 && any(m, 5) == 0;
	uint32_t name = is_engine ? 0 : 1 + (uint32_t)any(m, 5);
	if (m->deep[thread] == 8)
		return;
	if (thread == 3 && m->deep[3] == 0)
		write_path(m, 3, m->around);
	m->open[thread][m->deep[thread]++] = name;
	put_push(w, thread, name, is_engine ? GP_RANGE_ENGINE : GP_RANGE_NVTX);
}

static void pop_range(struct model *m, struct writer *w, unsigned thread)
{
	if (m->deep[thread] == 0)
		return;
	bool is_engine = m->open[thread][--m->deep[thread]] == 0;
	put_pop(w, thread, is_engine ? GP_RANGE_ENGINE : GP_RANGE_NVTX);
}

static void use_memory(struct model *m, struct writer *w, unsigned thread)
{
	const size_t which = any(m, MODEL_LIVE);
	add_event(m, thread);
	if (m->live[which].bytes != 0) {
		put_free(w, thread, 0x10000 + which * 0x10000);
		m->live[which].bytes = 0;
		return;
	}
	m->live[which].bytes = 1 + any(m, 5000);
	strcpy(m->live[which].path, m->recorded[m->recordeds - 1]);
	put_alloc(w, thread, 0x10000 + which * 0x10000, m->live[which].bytes);
}

static void act(struct model *m, struct writer *w)
{
	const unsigned thread = (unsigned)any(m, 4);
	switch (any(m, 6)) {
	case 0:
		push_range(m, w, thread);
		break;
	case 1:
		pop_range(m, w, thread);
		break;
	case 2:
		add_event(m, thread);
		put_launch(w, thread);
		break;
	default:
		use_memory(m, w, thread);
		break;
	}
}

static uint64_t model_bytes(const struct model *m, const char *path)
{
	uint64_t bytes = 0;
	for (size_t k = 0; k < MODEL_LIVE; k++)
		if (m->live[k].bytes != 0 && strcmp(m->live[k].path, path) == 0)
			bytes += m->live[k].bytes;
	return bytes;
}

/* ---- paths of the reader ---- */

static void compare_events(struct gp_recording *r, const struct model *m)
{
	struct gp_event e;
	struct gp_range_paths *paths;
	size_t seen = 0;
	assert_int_equal(gp_recording_rewind(r), GP_OK);
	assert_int_equal(gp_range_paths_open(r, &paths), GP_OK);
	while (gp_recording_next(r, &e) == GP_OK) {
		char text[GP_NAME_MAX * 4];
		unsigned class = gp_event_infos[e.record.kind].class;
		gp_range_paths_see(paths, e.thread, &e.record);
		if (class != GP_CLASS_MEMORY && class != GP_CLASS_LAUNCH)
			continue;
		const struct gp_range_path *path = gp_range_paths_of(paths, e.thread);
		gp_range_path_text(path, text, sizeof text);
		assert_string_equal(text, m->recorded[seen]);
		seen++;
		if (class == GP_CLASS_MEMORY && e.record.kind == GP_ALLOC)
			assert_ptr_equal(gp_range_paths_at(paths, e.record.order), path);
	}
	assert_int_equal(seen, m->recordeds);
	assert_int_equal(gp_range_paths_at(paths, UINT64_MAX)->known, GP_RANGE_UNRECORDED);
	assert_int_equal(gp_range_paths_status(paths), GP_OK);
	gp_range_paths_close(paths);
}

/* Without derived forwards, which the model does not have. */
static void write_recorded(const struct gp_range_path *path, char *out)
{
	struct gp_range_path recorded[40];
	size_t n = 0;
	for (; path != NULL; path = path->up)
		if (path->source != GP_RANGE_DERIVED)
			recorded[n++] = *path;
	for (size_t k = 0; k < n; k++)
		recorded[k].up = k + 1 < n ? &recorded[k + 1] : NULL;
	strcpy(out, "(outside of any range)");
	if (n > 0)
		gp_range_path_text(recorded, out, 512);
}

/* For `is_top` the live bytes, else all bytes. */
static uint64_t bytes_of(const struct gp_use *use, bool is_top)
{
	return is_top ? use->live_bytes : use->bytes;
}

static void compare_uses(struct gp_recording *r, const struct gp_use *use, size_t uses, bool is_top,
			 const struct model *m)
{
	const struct gp_grouping how = { .by = GP_BY_RANGE };
	struct gp_groups groups;
	uint64_t live = 0, sum = 0, grouped = 0;
	for (size_t k = 0; k < MODEL_LIVE; k++) {
		uint64_t bytes = 0;
		live += m->live[k].bytes;
		for (size_t i = 0; i < uses && m->live[k].bytes != 0; i++) {
			char recorded[512];
			write_recorded(use[i].range, recorded);
			bytes += strcmp(recorded, m->live[k].path) == 0 ?
					 bytes_of(&use[i], is_top) :
					 0;
		}
		if (m->live[k].bytes != 0)
			assert_int_equal(bytes, model_bytes(m, m->live[k].path));
	}
	for (size_t i = 0; i < uses; i++)
		sum += bytes_of(&use[i], is_top);
	assert_int_equal(sum, live);
	assert_int_equal(gp_groups_build(r, use, uses, &how, &groups), GP_OK);
	for (size_t k = 0; k < groups.groups; k++) {
		assert_false(groups.group[k].is_rest);
		assert_int_equal(groups.group[k].stacks, 1);
		grouped += bytes_of(&groups.group[k].use, is_top);
	}
	assert_int_equal(grouped, live);
	gp_groups_free(&groups);
}

static void compare_live(struct gp_recording *r, const struct model *m)
{
	struct gp_peak peak;
	struct gp_top top;
	assert_int_equal(gp_peak_build_with(r, GP_AT_TIME, INT64_MAX, GP_WITH_RANGES, &peak),
			 GP_OK);
	assert_int_equal(peak.holders, 1);
	assert_int_equal(peak.holder[0].uncertain_bytes, 0);
	compare_uses(r, peak.holder[0].use, peak.holder[0].uses, false, m);
	gp_peak_free(&peak);
	assert_int_equal(gp_top_build_with(r, INT64_MIN, INT64_MAX, 0, GP_WITH_RANGES, &top),
			 GP_OK);
	assert_int_equal(top.curves, 1);
	compare_uses(r, top.curve[0].use, top.curve[0].uses, true, m);
	gp_top_free(&top);
}

static void events_have_the_paths_of_the_model(void **state)
{
	(void)state;
	for (uint64_t seed = 1; seed <= 6; seed++) {
		struct writer w;
		struct model m = { .state = seed * 88172645463325252u };
		m.recorded = calloc(MODEL_EVENTS, sizeof *m.recorded);
		begin(&w, "model.gpr");
		define_thread(&w, 3, "pt_autograd_0");
		for (unsigned k = 0; k < MODEL_EVENTS; k++)
			act(&m, &w);
		struct gp_recording *r = fixture_read(&w);
		compare_events(r, &m);
		compare_live(r, &m);
		gp_recording_close(r);
		free(m.recorded);
	}
}

/* ---- one rule after the other ---- */

/*
 * One allocation in each of `count` ranges of different names; the whole is repeated `calls` times.
 */
static void write_numbered(const char *file, const char *name, uint32_t first, uint32_t count,
			   uint32_t calls, struct gp_recording **out)
{
	struct writer w;
	begin(&w, file);
	for (uint32_t k = 0; k < count; k++) {
		char text[32];
		snprintf(text, sizeof text, "%s %u", name, first + k);
		define_name(&w, 10 + k, text);
		for (uint32_t i = 0; i < calls; i++) {
			put_push(&w, 1, 10 + k, GP_RANGE_NVTX);
			put_push(&w, 1, FORWARD, GP_RANGE_NVTX);
			if (i == 0)
				put_alloc(&w, 1, 0x1000 * (k + 1), 100);
			put_pop(&w, 1, GP_RANGE_NVTX);
			put_pop(&w, 1, GP_RANGE_NVTX);
		}
	}
	put_alloc(&w, 1, 0x100000, 10);
	writer_close(&w, true);
	assert_int_equal(gp_recording_open(w.path, out, NULL), GP_OK);
}

static void names_that_count_up_are_one(void **state)
{
	(void)state;
	struct gp_recording *r;
	struct gp_peak peak;
	struct gp_groups groups;
	const struct gp_grouping by_range = { .by = GP_BY_RANGE };
	write_numbered("count_up.gpr", "step", 0, 9, 1, &r);
	assert_int_equal(gp_peak_build_with(r, GP_AT_PEAK, 0, GP_WITH_RANGES, &peak), GP_OK);
	assert_int_equal(
		gp_groups_build(r, peak.holder[0].use, peak.holder[0].uses, &by_range, &groups),
		GP_OK);
	assert_int_equal(groups.groups, 2);
	assert_string_equal(groups.group[0].key, "step # > forward");
	assert_int_equal(groups.group[0].use.bytes, 900);
	assert_int_equal(groups.group[0].use.count, 9);
	assert_int_equal(groups.group[0].stacks, 1);
	assert_int_equal(groups.group[1].use.bytes, 10);
	assert_int_equal(groups.group[1].use.range->known, GP_RANGE_OUTSIDE);
	gp_groups_free(&groups);
	gp_peak_free(&peak);
	gp_recording_close(r);
}

/* Grouped by range below `range`: the key of the first group, and its bytes. */
static void assert_first(struct gp_recording *r, const struct gp_peak *peak, const char *range,
			 const char *key, uint64_t bytes, size_t groups)
{
	const struct gp_grouping how = { .by = GP_BY_RANGE, .range = range };
	struct gp_groups g;
	assert_int_equal(gp_groups_build(r, peak->holder[0].use, peak->holder[0].uses, &how, &g),
			 GP_OK);
	assert_string_equal(g.group[0].key, key);
	assert_int_equal(g.group[0].use.bytes, bytes);
	assert_int_equal(g.groups, groups);
	assert_true(g.group[0].is_selected);
	assert_string_equal(g.group[g.groups - 1].key, "of other ranges");
	assert_false(g.group[g.groups - 1].is_selected);
	gp_groups_free(&g);
}

static void one_numbered_range_can_be_requested(void **state)
{
	(void)state;
	struct gp_recording *r;
	struct gp_peak peak;
	write_numbered("one_of_them.gpr", "step", 0, 20, 1, &r);
	assert_int_equal(gp_peak_build_with(r, GP_AT_PEAK, 0, GP_WITH_RANGES, &peak), GP_OK);
	assert_first(r, &peak, "step 17", "step 17 > forward", 100, 2);
	assert_first(r, &peak, "step 17 > forward", "step 17 > forward", 100, 2);
	assert_first(r, &peak, "step 1?", "step 10 > forward", 100, 11);
	assert_first(r, &peak, "step *", "step # > forward", 2000, 2);
	assert_first(r, &peak, "step #", "step # > forward", 2000, 2);
	assert_first(r, &peak, "forward", "step # > forward", 2000, 2);
	assert_first(r, &peak, "step # > forward", "step # > forward", 2000, 2);
	assert_first(r, &peak, "step 17 > for*", "step 17 > forward", 100, 2);
	assert_first(r, &peak, "(outside of any range)", "(outside of any range)", 10, 2);
	gp_peak_free(&peak);
	gp_recording_close(r);
}

/* Changed groups and all groups of a comparison by range, and the key of the greatest change. */
static void assert_compared(struct gp_recording *const *r, size_t changed, size_t groups,
			    const char *key)
{
	struct gp_peak peak[2];
	struct gp_range_paths *paths[2];
	struct gp_diff_side side[2];
	struct gp_diff diff;
	const struct gp_grouping by_range = { .by = GP_BY_RANGE };
	const struct gp_diff_how how = { .grouping = &by_range };
	for (unsigned k = 0; k < 2; k++) {
		assert_int_equal(gp_peak_build_with(r[k], GP_AT_PEAK, 0, GP_WITH_RANGES, &peak[k]),
				 GP_OK);
		paths[k] = peak[k].ranges;
		side[k] = (struct gp_diff_side){ r[k], peak[k].holder[0].uses,
						 peak[k].holder[0].use };
	}
	assert_int_equal(gp_range_paths_fold(paths, 2), GP_OK);
	assert_int_equal(gp_diff_build(side, 2, &how, &diff), GP_OK);
	assert_int_equal(diff.changed, changed);
	assert_int_equal(diff.groups, groups);
	assert_string_equal(diff.group[0].key, key);
	gp_diff_free(&diff);
	gp_peak_free(&peak[0]);
	gp_peak_free(&peak[1]);
}

static void numbered_names_are_one_in_both_recordings(void **state)
{
	(void)state;
	struct gp_recording *r[2];
	write_numbered("few.gpr", "step", 0, 4, 1, &r[0]);
	write_numbered("more.gpr", "step", 0, 9, 1, &r[1]);
	assert_compared(r, 1, 2, "step # > forward");
	gp_recording_close(r[0]);
	write_numbered("others.gpr", "phase", 0, 4, 1, &r[0]);
	assert_compared(r, 5, 6, "step # > forward");
	gp_recording_close(r[1]);
	/* no recording has more than five, but both together have */
	write_numbered("further.gpr", "phase", 4, 4, 1, &r[1]);
	assert_compared(r, 0, 2, "phase # > forward");
	gp_recording_close(r[1]);
	/* layers of a model that was enlarged, and ran once */
	write_numbered("layers.gpr", "phase", 0, 9, 10, &r[1]);
	assert_compared(r, 5, 10, "phase 4 > forward");
	gp_recording_close(r[0]);
	gp_recording_close(r[1]);
}

static void ranges_can_be_requested(void **state)
{
	(void)state;
	struct writer w;
	struct gp_peak peak;
	struct gp_groups groups;
	const char *const asked[] = { "step", "forward", "for*", "nosuch" };
	const uint64_t bytes[] = { 300, 200, 200, 0 };
	begin(&w, "asked.gpr");
	put_push(&w, 1, STEP, GP_RANGE_NVTX);
	put_alloc(&w, 1, 0x1000, 100);
	put_push(&w, 1, FORWARD, GP_RANGE_NVTX);
	put_alloc(&w, 1, 0x2000, 200);
	put_pop(&w, 1, GP_RANGE_NVTX);
	put_pop(&w, 1, GP_RANGE_NVTX);
	put_alloc(&w, 1, 0x3000, 1000);
	struct gp_recording *r = fixture_read(&w);
	assert_int_equal(gp_peak_build_with(r, GP_AT_PEAK, 0, GP_WITH_RANGES, &peak), GP_OK);
	for (unsigned k = 0; k < 4; k++) {
		const struct gp_grouping how = { .by = GP_BY_KIND, .range = asked[k] };
		uint64_t in = 0, all = 0;
		assert_int_equal(
			gp_groups_build(r, peak.holder[0].use, peak.holder[0].uses, &how, &groups),
			GP_OK);
		for (size_t g = 0; g < groups.groups; g++) {
			all += groups.group[g].use.bytes;
			in += groups.group[g].is_rest ? 0 : groups.group[g].use.bytes;
		}
		assert_int_equal(in, bytes[k]);
		assert_int_equal(all, 1300);
		assert_int_equal(groups.matched != 0, bytes[k] != 0);
		gp_groups_free(&groups);
	}
	gp_peak_free(&peak);
	gp_recording_close(r);
}

static void see(struct gp_range_paths *paths, uint32_t thread, unsigned kind, uint64_t order)
{
	const struct gp_record record = { .kind = (uint16_t)kind, .order = order };
	gp_range_paths_see(paths, thread, &record);
}

static void late_events_are_known_as_well(void **state)
{
	(void)state;
	struct writer w;
	struct gp_range_paths *paths;
	const struct gp_record push = { .kind = GP_RANGE_PUSH,
					.aux = STEP,
					.range_push = { GP_RANGE_NVTX, 0, 0, 0 } };
	begin(&w, "late.gpr");
	put_launch(&w, 1);
	struct gp_recording *r = fixture_read(&w);
	assert_int_equal(gp_range_paths_open(r, &paths), GP_OK);
	gp_range_paths_see(paths, 1, &push);
	see(paths, 1, GP_ALLOC, 5);
	see(paths, 2, GP_ALLOC, 9);
	see(paths, 1, GP_FREE, 10);
	see(paths, 1, GP_ALLOC, 7); /* late */
	see(paths, 2, GP_ALLOC, 3);
	see(paths, 1, GP_ALLOC, 11);
	const enum gp_range_known known[] = {
		GP_RANGE_UNRECORDED, GP_RANGE_OUTSIDE, GP_RANGE_UNRECORDED, GP_RANGE_IN,
		GP_RANGE_UNRECORDED, GP_RANGE_IN,      GP_RANGE_UNRECORDED, GP_RANGE_OUTSIDE,
		GP_RANGE_OUTSIDE,    GP_RANGE_IN,      GP_RANGE_UNRECORDED
	};
	for (uint64_t k = 0; k < sizeof known / sizeof *known; k++)
		assert_int_equal(gp_range_paths_at(paths, 2 + k)->known, known[k]);
	gp_range_paths_close(paths);
	gp_recording_close(r);
}

static void cut_texts_keep_the_inner_ranges(void **state)
{
	(void)state;
	const struct gp_range_path step = { .name = "step" },
				   forward = { .up = &step, .name = "forward", .domain = "job" },
				   layer = { .up = &forward, .name = "layer 3" },
				   arrow = { .up = &step, .name = "a > b" };
	char text[64];
	gp_range_path_text(&layer, text, sizeof text);
	assert_string_equal(text, "step > job:forward > layer 3");
	gp_range_path_text(&layer, text, 29);
	assert_int_equal(strlen(text) < 29, true);
	gp_range_path_text(&layer, text, 24);
	assert_string_equal(text, "... > layer 3");
	gp_range_path_text(&layer, text, 9);
	assert_int_equal(strlen(text), 8);
	assert_true(gp_range_path_has(&layer, "forward"));
	assert_true(gp_range_path_has(&layer, "lay*"));
	assert_true(gp_range_path_has(&layer, "job:forward"));
	assert_true(gp_range_path_has(&layer, "job:*"));
	assert_true(gp_range_path_has(&layer, "step > job:forward > layer 3"));
	assert_true(gp_range_path_has(&layer, "forward > lay*"));
	assert_true(gp_range_path_has(&layer, "step > forward"));
	assert_true(gp_range_path_has(&layer, "... > layer 3"));
	assert_false(gp_range_path_has(&layer, "step > layer 3"));
	assert_false(gp_range_path_has(&layer, "..."));
	assert_false(gp_range_path_has(&layer, "... > step > layer 3"));
	assert_false(gp_range_path_has(&layer, "other > step"));
	assert_false(gp_range_path_has(&layer, "other:forward"));
	assert_false(gp_range_path_has(&layer, "job:step"));
	assert_true(gp_range_path_has(&arrow, "a > b"));
	assert_true(gp_range_path_has(&arrow, "step > a > b"));
	assert_true(gp_range_path_has(&arrow, "... > a > b"));
	assert_false(gp_range_path_has(&arrow, "... > b"));
	assert_false(gp_range_path_has(&arrow, "a > b > "));
	assert_false(gp_range_path_has(&arrow, "a > "));
	assert_false(gp_range_path_has(&arrow, "a > step > a > b"));
	assert_false(gp_range_path_has(&arrow, "a > b > b"));
	assert_false(gp_range_path_has(&arrow, " > "));
	assert_false(gp_range_path_has(&arrow, ""));
	assert_true(gp_range_path_has(&(struct gp_range_path){ .name = "" }, "\"\""));
	assert_false(gp_range_path_has(&layer, "lay"));
	assert_false(gp_range_path_has(NULL, "lay"));
}

static void no_memory_has_no_groups(void **state)
{
	(void)state;
	struct writer w;
	struct gp_groups groups;
	const struct gp_grouping by_range = { .by = GP_BY_RANGE };
	begin(&w, "nothing.gpr");
	put_launch(&w, 1);
	struct gp_recording *r = fixture_read(&w);
	assert_int_equal(gp_groups_build(r, NULL, 0, &by_range, &groups), GP_OK);
	assert_int_equal(groups.groups, 0);
	gp_groups_free(&groups);
	gp_recording_close(r);
}

/* ---- the phase of a path ---- */

static void the_outermost_phase_is_it(void **state)
{
	(void)state;
	const struct gp_range_path step = { .source = GP_RANGE_NVTX, .name = "step" };
	const struct gp_range_path layer = { .source = GP_RANGE_NVTX,
					     .name = "layer",
					     .up = &step };
	const struct gp_range_path backward = { .source = GP_RANGE_NVTX,
						.name = "my backward",
						.up = &step };
	const struct gp_range_path engine = { .source = GP_RANGE_ENGINE, .up = &backward };
	const struct gp_range_path again = { .source = GP_RANGE_NVTX,
					     .name = "forward",
					     .up = &engine };
	const struct gp_range_path adam = { .source = GP_RANGE_TORCH,
					    .name = "Optimizer.step#Adam.step",
					    .up = &layer };
	const struct gp_range_path optimizer = { .source = GP_RANGE_FRAMES, .name = "optimizer" };
	const struct gp_range_path closure = { .source = GP_RANGE_FRAMES,
					       .name = "backward",
					       .up = &optimizer };
	const struct gp_range_path outside = { .known = GP_RANGE_OUTSIDE };
	assert_ptr_equal(gp_range_path_phase(&again), &backward);
	assert_ptr_equal(gp_range_path_phase(&engine), &backward);
	assert_ptr_equal(gp_range_path_phase(&layer), &layer); /* it lies in none */
	assert_ptr_equal(gp_range_path_phase(&step), &step);
	assert_ptr_equal(gp_range_path_phase(&adam), &adam);
	assert_ptr_equal(gp_range_path_phase(&closure), &optimizer);
	assert_ptr_equal(gp_range_path_phase(&outside), &outside);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_outermost_phase_is_it),
		cmocka_unit_test(events_have_the_paths_of_the_model),
		cmocka_unit_test(names_that_count_up_are_one),
		cmocka_unit_test(one_numbered_range_can_be_requested),
		cmocka_unit_test(numbered_names_are_one_in_both_recordings),
		cmocka_unit_test(ranges_can_be_requested),
		cmocka_unit_test(late_events_are_known_as_well),
		cmocka_unit_test(cut_texts_keep_the_inner_ranges),
		cmocka_unit_test(no_memory_has_no_groups),
	};
	return cmocka_run_group_tests(tests, make_directory, drop_directory);
}
