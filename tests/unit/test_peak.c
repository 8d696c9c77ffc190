/* Holders of memory at the peak and their groups, against brute force on random histories. */
#include "stack_history.h"

/* ---- peak ---- */

/* Event `k` allocated memory that is live after the first `until` events. */
static bool is_alive(const struct history *h, size_t k, size_t until)
{
	const struct gp_record *r = &h->event[k];
	for (size_t i = k + 1; i < until; i++)
		if (h->event[i].v[0] == r->v[0] && h->event[i].kind == r->kind + 1)
			return false;
	return true;
}

struct brute_sum {
	uint64_t bytes[STACKS + 1], count[STACKS + 1], all;
};

static struct brute_sum sum_live(const struct history *h, size_t until, unsigned device,
				 enum gp_curve curve)
{
	struct brute_sum s = { 0 };
	for (size_t k = 0; k < until; k++) {
		const struct gp_record *r = &h->event[k];
		if (!is_birth(r) || curve_of(r) != curve || r->device != device ||
		    !is_alive(h, k, until))
			continue;
		s.bytes[r->stack] += r->v[1];
		s.count[r->stack]++;
		s.all += r->v[1];
	}
	return s;
}

static void assert_uses(const struct gp_holders *h, const struct brute_sum *s)
{
	uint64_t bytes[STACKS + 1] = { 0 }, count[STACKS + 1] = { 0 }, all = 0;
	for (size_t k = 0; k < h->uses; k++) {
		const struct gp_use *u = &h->use[k];
		assert_true(u->stack <= STACKS && (u->stack == 0) == (u->without != NULL));
		assert_true(k == 0 || h->use[k - 1].bytes >= u->bytes);
		assert_true(u->bytes > 0 && u->count > 0);
		/* outside of segments there is only managed memory */
		if (h->of == GP_CURVE_DRIVER)
			assert_int_equal(u->is_segment, u->space == GP_SPACE_DEVICE);
		bytes[u->stack] += u->bytes;
		count[u->stack] += u->count;
		all += u->bytes;
	}
	assert_int_equal(all, h->live_bytes);
	assert_int_equal(all, s->all);
	assert_memory_equal(bytes, s->bytes, sizeof bytes);
	assert_memory_equal(count, s->count, sizeof count);
}

/* The events at which a curve first reached its highest value. */
static size_t find_peak(unsigned device, enum gp_curve curve)
{
	uint64_t now = 0, best = 0;
	size_t at = 0;
	for (size_t k = 0; k < history.events; k++) {
		const struct gp_record *r = &history.event[k];
		if (is_birth(r) && r->device == device && curve_of(r) == curve)
			now += r->v[1];
		else if ((r->kind == GP_FREE || r->kind == GP_BLOCK_FREE) && r->device == device) {
			size_t born = k;
			while (!(history.event[born].v[0] == r->v[0] &&
				 is_birth(&history.event[born])))
				born--;
			if (curve_of(&history.event[born]) == curve)
				now -= history.event[born].v[1];
		}
		if (now > best) {
			best = now;
			at = k + 1;
		}
	}
	return at;
}

static const struct gp_holders *holders_of(const struct gp_peak *peak, unsigned device,
					   enum gp_curve curve)
{
	for (size_t k = 0; k < peak->holders; k++)
		if (peak->holder[k].device == device && peak->holder[k].of == curve)
			return &peak->holder[k];
	fail_msg("no holders of curve %d of device %u", curve, device);
	return NULL;
}

static void the_peak_is_explained_as_by_brute_force(void **state)
{
	(void)state;
	for (uint64_t seed = 1; seed <= 12; seed++) {
		struct gp_peak peak;
		struct gp_recording *r = record_history("peak.gpr", seed * 7919, 300 * seed);
		assert_int_equal(gp_peak_build(r, GP_AT_PEAK, 0, &peak), GP_OK);
		assert_int_equal(peak.holders, 6);
		for (unsigned device = 0; device < 2; device++) {
			for (int curve = GP_CURVE_DRIVER; curve < GP_CURVES; curve += 2) {
				size_t at = find_peak(device, (enum gp_curve)curve);
				struct brute_sum s =
					sum_live(&history, at, device, (enum gp_curve)curve);
				const struct gp_holders *h =
					holders_of(&peak, device, (enum gp_curve)curve);
				assert_int_equal(h->at_ns, history.event[at - 1].time - 1024);
				assert_int_equal(h->peak_bytes, h->live_bytes);
				assert_int_equal(h->peak_at_ns, h->at_ns);
				assert_false(h->is_overwritten || h->uncertain_bytes);
				assert_uses(h, &s);
			}
		}
		gp_peak_free(&peak);
		gp_recording_close(r);
	}
}

static void any_moment_is_explained(void **state)
{
	(void)state;
	struct gp_recording *r = record_history("moment.gpr", 4711, 2000);
	for (size_t until = 60; until <= history.events; until += 97) {
		struct gp_peak peak;
		int64_t at_ns = (int64_t)history.event[until - 1].time - 1024;
		assert_int_equal(gp_peak_build(r, GP_AT_TIME, at_ns, &peak), GP_OK);
		for (size_t k = 0; k < peak.holders; k++) {
			const struct gp_holders *h = &peak.holder[k];
			assert_int_equal(h->at_ns, at_ns);
			if (h->of == GP_CURVE_RESERVED)
				continue;
			struct brute_sum s = sum_live(&history, until, h->device, h->of);
			assert_uses(h, &s);
		}
		gp_peak_free(&peak);
	}
	struct gp_peak none;
	assert_int_equal(gp_peak_build(r, GP_AT_OOM, 0, &none), GP_OK);
	assert_int_equal(none.holders, 0);
	gp_peak_free(&none);
	gp_recording_close(r);
}

/*
 * A CUDA call for a small segment fails, and the framework is then served: not an OOM. A later one
 * is.
 */
static void an_oom_is_reported_by_the_framework(void **state)
{
	(void)state;
	struct writer w;
	struct gp_peak peak;
	writer_open(&w, "oom.gpr", 0, 0);
	const struct gp_record refused = { .kind = GP_ALLOC_FAILED,
					   .space = GP_SPACE_DEVICE,
					   .code = 2,
					   .alloc_failed.bytes = 2 << 20 };
	for (unsigned device = 0; device < 2; device++)
		put(&w, 0,
		    (struct gp_record){ .kind = GP_BLOCK_ALLOC,
					.device = (uint8_t)device,
					.block_alloc = { 0x1000 + device, 512, 512, 0 } });
	put(&w, 0, refused);
	put(&w, 0,
	    (struct gp_record){ .kind = GP_BLOCK_ALLOC, .block_alloc = { 0x8000, 1024, 1536, 0 } });
	put(&w, 0, (struct gp_record){ .kind = GP_OOM, .oom.bytes = 1 << 20 });
	uint64_t reported = w.time;
	put(&w, 0,
	    (struct gp_record){ .kind = GP_BLOCK_FREE, .block_free = { 0x8000, 1024, 512, 0 } });
	struct gp_recording *r = fixture_read(&w);
	assert_int_equal(gp_peak_build(r, GP_AT_OOM, 0, &peak), GP_OK);
	assert_int_equal(peak.holders, 1);
	assert_int_equal(peak.holder[0].device, 0);
	assert_int_equal(peak.holder[0].at_ns, reported - 1024);
	assert_int_equal(peak.holder[0].live_bytes, 1536);
	gp_peak_free(&peak);
	gp_recording_close(r);
}

/* ---- groups and trees ---- */

static void assert_groups(struct gp_recording *r, const struct gp_holders *h, enum gp_by by,
			  const char *library, size_t expected, size_t rests)
{
	struct gp_groups groups;
	struct gp_grouping how = { .by = by, .library = library };
	assert_int_equal(gp_groups_build(r, h->use, h->uses, &how, &groups), GP_OK);
	uint64_t all = 0;
	size_t found = 0;
	for (size_t k = 0; k < groups.groups; k++) {
		all += groups.group[k].use.bytes;
		found += groups.group[k].is_rest;
		assert_true(k == 0 || !groups.group[k - 1].is_rest || groups.group[k].is_rest);
	}
	assert_int_equal(all, h->live_bytes);
	assert_int_equal(groups.groups - found, expected);
	assert_int_equal(found, rests);
	gp_groups_free(&groups);
}

static void groups_add_up_with_the_one_without_a_stack(void **state)
{
	(void)state;
	struct gp_peak peak;
	struct gp_groups groups;
	struct gp_recording *r = record_history("groups.gpr", 99, 3000);
	assert_int_equal(gp_peak_build(r, GP_AT_PEAK, 0, &peak), GP_OK);
	const struct gp_holders *h = holders_of(&peak, 1, GP_CURVE_ALLOCATED);
	/* five lines; the block without a stack has no line */
	assert_groups(r, h, GP_BY_STACK, NULL, LINES, 1);
	assert_groups(r, h, GP_BY_LINE, NULL, LINES, 1);
	assert_groups(r, h, GP_BY_OPERATOR, NULL, 1, 1);
	assert_groups(r, h, GP_BY_KIND, NULL, 1, 0);
	assert_groups(r, h, GP_BY_LIBRARY, "cuBLAS", 0, 2);
	assert_groups(r, holders_of(&peak, 0, GP_CURVE_ALLOCATED), GP_BY_STACK, NULL, LINES, 0);
	assert_groups(r, holders_of(&peak, 0, GP_CURVE_DRIVER), GP_BY_KIND, NULL, 2, 0);
	struct gp_grouping how = { .by = GP_BY_LINE };
	assert_int_equal(gp_groups_build(r, h->use, h->uses, &how, &groups), GP_OK);
	const struct gp_group *last = &groups.group[groups.groups - 1];
	assert_int_equal(last->use.count, 1);
	assert_string_equal(last->key, "no stack was recorded");
	size_t at = find_peak(1, GP_CURVE_ALLOCATED);
	struct brute_sum s = sum_live(&history, at, 1, GP_CURVE_ALLOCATED);
	assert_int_equal(last->use.bytes, s.bytes[0]);
	for (size_t k = 0; k + 1 < groups.groups; k++) {
		uint64_t bytes = 0, line = 0;
		assert_int_equal(sscanf(groups.group[k].key, "/srv/job/train.py:%" SCNu64, &line),
				 1);
		for (unsigned id = 1; id <= STACKS; id++)
			bytes += 10 + id % LINES == line ? s.bytes[id] : 0;
		assert_int_equal(groups.group[k].use.bytes, bytes);
	}
	gp_groups_free(&groups);
	gp_peak_free(&peak);
	gp_recording_close(r);
}

static void trees_add_up_in_each_node(void **state)
{
	(void)state;
	struct gp_peak peak;
	struct gp_tree tree;
	struct gp_recording *r = record_history("tree.gpr", 5, 2000);
	assert_int_equal(gp_peak_build(r, GP_AT_PEAK, 0, &peak), GP_OK);
	const struct gp_holders *h = holders_of(&peak, 1, GP_CURVE_ALLOCATED);
	struct gp_grouping how = { 0 };
	assert_int_equal(gp_tree_build(r, h->use, h->uses, &how, &tree), GP_OK);
	/* step at five lines, below each the module's frame; and memory without a stack */
	assert_int_equal(tree.nodes, 2 * LINES + 1);
	uint64_t roots = 0;
	for (size_t k = tree.root; k != SIZE_MAX; k = tree.node[k].next) {
		const struct gp_tree_node *n = &tree.node[k];
		roots += n->bytes;
		if (n->child == SIZE_MAX) {
			assert_string_equal(n->frame.unknown, "no stack was recorded");
			assert_int_equal(n->count, 1);
			continue;
		}
		assert_string_equal(n->frame.function, "step");
		assert_true(n->frame.is_user);
		assert_int_equal(tree.node[n->child].bytes, n->bytes);
		assert_int_equal(tree.node[n->child].count, n->count);
		assert_int_equal(tree.node[n->child].parent, k);
		assert_false(tree.node[n->child].frame.is_user);
	}
	assert_int_equal(roots, h->live_bytes);
	gp_tree_free(&tree);
	gp_peak_free(&peak);
	gp_recording_close(r);
}

static struct gp_record block(uint64_t address, uint64_t bytes, uint64_t allocated, uint32_t stack)
{
	return (struct gp_record){ .kind = GP_BLOCK_ALLOC,
				   .stack = stack,
				   .block_alloc = { address, bytes, allocated, 0 } };
}

/* One stack, but at its address one library was replaced by another: two places. */
static void a_stack_uses_the_modules_of_its_time(void **state)
{
	(void)state;
	static const char before[] = "- /srv/job/before.so", after[] = "- /srv/job/after.so";
	struct writer w;
	struct gp_peak peak;
	struct gp_groups groups;
	const struct gp_grouping how = { .by = GP_BY_STACK };
	writer_open(&w, "modules.gpr", 0, 0);
	uint64_t change = w.time + 4 * 64;
	const struct gp_record module = { .kind = GP_MODULE,
					  .module = { .base = 0x100000, .bytes = 0x100000 } };
	struct gp_record first = module, second = module;
	first.aux = 2;
	first.module.until = change;
	second.aux = 3;
	second.module.since = change;
	put_text(&w, first, before, sizeof before - 1);
	put_text(&w, second, after, sizeof after - 1);
	put(&w, 0,
	    (struct gp_record){ .kind = GP_NATIVE_FRAME, .aux = 7, .native_frame.pc = 0x100501 });
	put(&w, 0, (struct gp_record){ .kind = GP_CALL_STACK, .aux = 1, .call_stack.native = 7 });
	put(&w, 0, block(0x1000, 512, 512, 1));
	w.time = change + 64;
	put(&w, 0, block(0x2000, 1024, 1536, 1));
	put(&w, 0, block(0x3000, 1024, 2560, 1));
	struct gp_recording *r = fixture_read(&w);
	assert_int_equal(gp_peak_build(r, GP_AT_PEAK, 0, &peak), GP_OK);
	const struct gp_holders *h = &peak.holder[0];
	assert_int_equal(h->uses, 2);
	assert_int_equal(gp_groups_build(r, h->use, h->uses, &how, &groups), GP_OK);
	assert_int_equal(groups.groups, 2);
	assert_int_equal(groups.group[0].use.count, 2);
	assert_non_null(strstr(groups.group[0].key, "after.so"));
	assert_int_equal(groups.group[1].use.count, 1);
	assert_non_null(strstr(groups.group[1].key, "before.so"));
	gp_groups_free(&groups);
	gp_peak_free(&peak);
	gp_recording_close(r);
}

/* ---- overwritten events ---- */

/* The peak lies in an overwritten segment: the report marks it, and the rest adds up. */
static void an_overwritten_peak_is_reported(void **state)
{
	(void)state;
	struct writer w;
	struct gp_peak peak;
	writer_open(&w, "ring.gpr", 2, 1 << 20);
	put(&w, 0, block(0x1000, 1024, 1024, 0));
	put(&w, 0, block(0x9000, 1 << 30, 1024 + (1 << 30), 0));
	put(&w, 0,
	    (struct gp_record){ .kind = GP_BLOCK_FREE,
				.block_free = { 0x9000, 1 << 30, 1024, 0 } });
	for (unsigned k = 0; k < 4; k++) {
		next_segment(&w);
		put(&w, 0, block(0x20000 + k * 4096, 512, 1024 + 512 * (k + 1), 0));
	}
	struct gp_recording *r = fixture_read(&w);
	assert_int_equal(gp_peak_build(r, GP_AT_PEAK, 0, &peak), GP_OK);
	assert_int_equal(peak.holders, 1);
	assert_true(peak.holder[0].is_overwritten);
	assert_int_equal(peak.holder[0].peak_bytes, 1024 + (1 << 30));
	assert_int_equal(peak.holder[0].live_bytes, 1024 + 4 * 512);
	assert_int_equal(peak.holder[0].uses, 1);
	assert_int_equal(peak.holder[0].use[0].count, 5);
	gp_peak_free(&peak);
	gp_recording_close(r);
}

/* Segments begin with checkpoints; a ring keeps only the last ones. */
static void peaks_over_segments_add_up(void **state)
{
	(void)state;
	for (uint32_t slots = 0; slots <= 4; slots += 4) {
		struct gp_peak peak;
		struct expected e;
		uint64_t blocks;
		struct gp_recording *r = record_segments(slots, &e, &blocks);
		assert_int_equal(gp_peak_build(r, GP_AT_PEAK, 0, &peak), GP_OK);
		for (size_t k = 0; k < peak.holders; k++) {
			const struct gp_holders *h = &peak.holder[k];
			const struct gp_curve_state *c = &e.device.curve[h->of];
			uint64_t all = 0;
			for (size_t i = 0; i < h->uses; i++)
				all += h->use[i].bytes;
			assert_int_equal(all, h->live_bytes);
			assert_int_equal(h->peak_bytes, c->peak_bytes);
			assert_int_equal(h->is_overwritten, h->live_bytes < c->peak_bytes);
			assert_false(h->is_overwritten && slots == 0);
		}
		assert_int_equal(peak.holders, 3);
		gp_peak_free(&peak);
		gp_recording_close(r);
	}
}

/* The framework had a block of 4096 bytes before the recording began: it has no event. */
static void earlier_memory_has_a_group_with_its_reason(void **state)
{
	(void)state;
	struct writer w;
	struct gp_peak peak;
	writer_open(&w, "late.gpr", 0, 0);
	define_stacks(&w);
	put(&w, 0, (struct gp_record){ .kind = GP_GAP, .aux = GP_WHY_LATE_START });
	put(&w, 0, block(0x1000, 1024, 4096 + 1024, 1));
	put(&w, 0, block(0x2000, 512, 4096 + 1024 + 512, 2));
	struct gp_recording *r = fixture_read(&w);
	assert_int_equal(gp_peak_build(r, GP_AT_PEAK, 0, &peak), GP_OK);
	assert_int_equal(peak.holders, 1);
	const struct gp_holders *h = &peak.holder[0];
	assert_int_equal(h->live_bytes, 4096 + 1024 + 512);
	assert_int_equal(h->uncertain_bytes, 4096);
	assert_int_equal(h->uses, 3);
	assert_int_equal(h->use[0].bytes, 4096);
	assert_int_equal(h->use[0].count, 0);
	assert_int_equal(h->use[0].stack, 0);
	assert_non_null(strstr(h->use[0].without, "before the recording began"));
	gp_peak_free(&peak);
	gp_recording_close(r);
}

/* A block of 256 bytes was allocated while events were lost: recorded blocks stay in the report. */
static void unrecorded_memory_has_a_group_with_its_reason(void **state)
{
	(void)state;
	struct writer w;
	struct gp_peak peak;
	writer_open(&w, "unseen.gpr", 0, 0);
	define_stacks(&w);
	put(&w, 0, block(0x1000, 1024, 1024, 1));
	put(&w, 0, (struct gp_record){ .kind = GP_LOST, .lost.memory = 1 });
	put(&w, 0, block(0x3000, 512, 1024 + 256 + 512, 3));
	struct gp_recording *r = fixture_read(&w);
	assert_int_equal(gp_peak_build(r, GP_AT_PEAK, 0, &peak), GP_OK);
	const struct gp_holders *h = &peak.holder[0];
	assert_int_equal(h->live_bytes, 1024 + 256 + 512);
	assert_int_equal(h->uncertain_bytes, 256);
	assert_int_equal(h->uses, 3);
	assert_int_equal(h->use[0].stack, 1);
	assert_int_equal(h->use[1].stack, 3);
	assert_string_equal(h->use[2].without, "its allocation event was lost");
	gp_peak_free(&peak);
	gp_recording_close(r);
}

/* Blocks from before a gap may be freed: if the totals show that, none is reported as live. */
static void uncertain_memory_has_a_group_with_its_reason(void **state)
{
	(void)state;
	struct writer w;
	struct gp_peak peak;
	writer_open(&w, "gone.gpr", 0, 0);
	define_stacks(&w);
	put(&w, 0, block(0x1000, 1024, 1024, 1));
	put(&w, 0, block(0x2000, 2048, 3072, 2));
	put(&w, 0, (struct gp_record){ .kind = GP_LOST, .lost.memory = 1 });
	/* the free of the first was lost */
	put(&w, 0, block(0x3000, 512, 2048 + 512, 3));
	struct gp_recording *r = fixture_read(&w);
	assert_int_equal(gp_peak_build(r, GP_AT_TIME, INT64_MAX, &peak), GP_OK);
	const struct gp_holders *h = &peak.holder[0];
	assert_int_equal(h->live_bytes, 2048 + 512);
	assert_int_equal(h->uncertain_bytes, 2048);
	assert_int_equal(h->uses, 2);
	assert_int_equal(h->use[1].stack, 3);
	assert_non_null(strstr(h->use[0].without, "may be gone"));
	gp_peak_free(&peak);
	gp_recording_close(r);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_peak_is_explained_as_by_brute_force),
		cmocka_unit_test(any_moment_is_explained),
		cmocka_unit_test(an_oom_is_reported_by_the_framework),
		cmocka_unit_test(groups_add_up_with_the_one_without_a_stack),
		cmocka_unit_test(trees_add_up_in_each_node),
		cmocka_unit_test(a_stack_uses_the_modules_of_its_time),
		cmocka_unit_test(an_overwritten_peak_is_reported),
		cmocka_unit_test(peaks_over_segments_add_up),
		cmocka_unit_test(earlier_memory_has_a_group_with_its_reason),
		cmocka_unit_test(unrecorded_memory_has_a_group_with_its_reason),
		cmocka_unit_test(uncertain_memory_has_a_group_with_its_reason),
	};
	return cmocka_run_group_tests(tests, make_directory, drop_directory);
}
