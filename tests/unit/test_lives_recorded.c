/*
 * Lives of real recordings: at each moment their sums are the curves, and the peaks are those of
 * gp_timeline_build. Their texts are those of `top`, and segments those of gp_memory_build.
 */
#include "lives_reader.h"
#include "recordings.h"

static bool is_whole(const struct gp_info *info)
{
	return !info->has_gap && info->uncertains == 0 && !info->has_framework_late &&
	       info->mismatches == 0 && info->lost_memory == 0;
}

static void assert_peaks(struct gp_recording *recording, const struct lives_reader *r)
{
	struct gp_timeline timeline;
	assert_int_equal(gp_timeline_build(recording, 1000, 0, INT64_MAX, &timeline), GP_OK);
	for (size_t k = 0; k < timeline.devices; k++)
		for (unsigned of = 0; of < GP_CURVES; of++)
			assert_int_equal(curve_peak(find_curve(r, timeline.device[k].device, of)),
					 timeline.device[k].peak_bytes[of]);
	if (timeline.host != NULL)
		assert_int_equal(curve_peak(find_curve(r, GP_DEVICE_UNKNOWN, GP_CURVE_PINNED)),
				 timeline.host->peak_bytes[GP_HOST_PINNED]);
	gp_timeline_free(&timeline);
}

static bool is_live_at(const struct read_life *l, uint64_t at_ns)
{
	return l->birth_ns <= at_ns && (l->span == 0 || at_ns - l->birth_ns + 1 < l->span);
}

/* The uses of a peak are the lives of its moment, and so are their roles' sums. */
static void assert_holders(struct gp_recording *recording, const struct lives_reader *r)
{
	struct gp_peak peak;
	assert_int_equal(
		gp_peak_build_with(recording, GP_AT_TIME, r->lives.to_ns / 2, GP_WITH_ROLES, &peak),
		GP_OK);
	for (size_t k = 0; k < peak.holders; k++) {
		const struct gp_holders *h = &peak.holder[k];
		uint64_t roles[GP_MEMORY_ROLES] = { 0 }, mine[GP_MEMORY_ROLES] = { 0 };
		if (h->of != GP_CURVE_ALLOCATED)
			continue;
		for (size_t i = 0; i < h->uses; i++)
			roles[gp_role_rule(h->use[i].rule)->role] += h->use[i].bytes;
		for (size_t i = 0; i < r->count; i++) {
			const struct read_life *l = &r->life[i];
			const struct gp_lives_group *g = &r->lives.group[l->group];
			const uint64_t at_ns = (uint64_t)r->lives.to_ns / 2;
			const bool is_live = is_live_at(l, at_ns);
			for (unsigned role = 0; role < GP_MEMORY_ROLES; role++)
				if (is_live && g->device == h->device &&
				    g->of == GP_LIVES_OF_BLOCK &&
				    strcmp(r->lives.text[g->role], gp_role_keys[role]) == 0)
					mine[role] += l->bytes;
		}
		for (unsigned role = 0; role < GP_MEMORY_ROLES; role++)
			assert_int_equal(mine[role], roles[role]);
	}
	gp_peak_free(&peak);
}

static int address_compare(const void *left, const void *right)
{
	const struct read_life *a = left, *b = right;
	return (a->address > b->address) - (a->address < b->address);
}

/* Live segments of a device, by address; parts of an expandable one that touch are joined. */
static size_t segments_at(const struct lives_reader *r, unsigned device, uint64_t at_ns,
			  struct read_life *out)
{
	size_t parts = 0, segments = 0;
	for (size_t k = 0; k < r->count; k++) {
		const struct gp_lives_group *g = &r->lives.group[r->life[k].group];
		if (g->device == device && is_live_at(&r->life[k], at_ns) &&
		    (g->of == GP_LIVES_OF_SEGMENT || g->of == GP_LIVES_OF_UNMAPPED))
			out[parts++] = r->life[k];
	}
	qsort(out, parts, sizeof *out, address_compare);
	for (size_t k = 0; k < parts; k++) {
		struct read_life *before = segments > 0 ? &out[segments - 1] : NULL;
		if (before != NULL && r->lives.group[before->group].is_part &&
		    r->lives.group[out[k].group].is_part &&
		    before->address + before->bytes == out[k].address)
			before->bytes += out[k].bytes;
		else
			out[segments++] = out[k];
	}
	return segments;
}

/* The segments of several moments are those of gp_memory_build. */
static void assert_segments(struct gp_recording *recording, const struct lives_reader *r)
{
	struct read_life *found = calloc(r->count + 1, sizeof *found);
	for (unsigned part = 1; part <= 4; part++) {
		const int64_t at_ns = r->lives.to_ns * part / 4;
		const struct gp_moment_of moment = { .when = GP_WHEN_TIME, .at_ns = at_ns };
		struct gp_memory memory;
		assert_int_equal(gp_memory_build(recording, &moment, &memory), GP_OK);
		size_t k = 0;
		for (unsigned device = 0; device < GP_DEVICES; device++) {
			const size_t count = segments_at(r, device, (uint64_t)at_ns, found);
			for (size_t i = 0; i < count; i++, k++) {
				assert_true(k < memory.segments);
				assert_int_equal(memory.segment[k].device, device);
				assert_int_equal(memory.segment[k].address, found[i].address);
				assert_int_equal(memory.segment[k].bytes, found[i].bytes);
			}
		}
		assert_int_equal(k, memory.segments);
		gp_memory_free(&memory);
	}
	free(found);
}

static int life_compare(const void *left, const void *right)
{
	const struct read_life *a = left, *b = right;
	return a->order != b->order ? (a->order > b->order) - (a->order < b->order) :
				      (a->birth_ns > b->birth_ns) - (a->birth_ns < b->birth_ns);
}

static uint32_t text_of(const struct gp_lives_group *g, enum gp_by by)
{
	switch ((int)by) {
	case GP_BY_OPERATOR:
		return g->operator;
	case GP_BY_LIBRARY:
		return g->library;
	case GP_BY_LINE:
		return g->line;
	case GP_BY_MODULE:
		return g->module;
	case GP_BY_RANGE:
		return g->range;
	default:
		return g->role;
	}
}

/* `life`: by order. An allocation is its first life: its role may change later. */
static uint64_t allocated_by(const struct lives_reader *r, const struct read_life *life,
			     unsigned device, enum gp_by by, const char *key)
{
	uint64_t bytes = 0;
	for (size_t k = 0; k < r->count; k++) {
		const struct gp_lives_group *g = &r->lives.group[life[k].group];
		const bool is_first = k == 0 || life[k].order != life[k - 1].order;
		if (is_first && g->of == GP_LIVES_OF_BLOCK && g->device == device &&
		    strcmp(r->lives.text[text_of(g, by)], key) == 0)
			bytes += life[k].bytes;
	}
	return bytes;
}

/* The groups of `top` have the texts of lives, and their bytes. */
static void assert_keys(struct gp_recording *recording, const struct lives_reader *r)
{
	static const enum gp_by by[] = { GP_BY_OPERATOR, GP_BY_LIBRARY, GP_BY_LINE,
					 GP_BY_MODULE,	 GP_BY_RANGE,	GP_BY_ROLE };
	struct gp_top top;
	assert_int_equal(gp_top_build_with(recording, INT64_MIN, INT64_MAX, 0,
					   GP_WITH_RANGES | GP_WITH_ROLES, &top),
			 GP_OK);
	struct read_life *life = calloc(r->count + 1, sizeof *life);
	memcpy(life, r->life, r->count * sizeof *life);
	qsort(life, r->count, sizeof *life, life_compare);
	for (size_t k = 0; k < top.curves; k++) {
		const struct gp_top_curve *c = &top.curve[k];
		for (size_t i = 0; c->of == GP_CURVE_ALLOCATED && i < sizeof by / sizeof *by; i++) {
			const struct gp_grouping how = { .by = by[i] };
			struct gp_groups groups;
			assert_int_equal(gp_groups_build(recording, c->use, c->uses, &how, &groups),
					 GP_OK);
			for (size_t g = 0; g < groups.groups; g++)
				assert_int_equal(allocated_by(r, life, c->device, by[i],
							      groups.group[g].key),
						 groups.group[g].use.bytes);
			gp_groups_free(&groups);
		}
	}
	free(life);
	gp_top_free(&top);
}

static bool assert_recording(const char *path)
{
	struct gp_recording *recording;
	const struct gp_info *info;
	static struct lives_reader r;
	assert_int_equal(gp_recording_open(path, &recording, NULL), GP_OK);
	assert_int_equal(gp_recording_info(recording, &info), GP_OK);
	lives_read(&r, recording, NULL);
	const bool has_all = is_whole(info);
	if (has_all)
		assert_sums(&r);
	if (has_all && info->kept_from_ns == 0) {
		assert_peaks(recording, &r);
		assert_holders(recording, &r);
		assert_segments(recording, &r);
		assert_keys(recording, &r);
	}
	print_message("%s: %zu lives, %zu groups, %zu stacks, %zu texts%s\n", path, r.count,
		      r.lives.groups, r.lives.stacks, r.lives.texts,
		      has_all ? "" : ", events are missing");
	lives_reader_free(&r);
	gp_recording_close(recording);
	return has_all;
}

static void every_recording_adds_up(void **state)
{
	(void)state;
	assert_true(recordings_visit(assert_recording) >= 5);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_recording_adds_up),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
