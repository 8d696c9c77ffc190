/*
 * Blocks that a framework's allocator had before its first report, in the history of a recording.
 * They exist from that report on, and their frees are acts.
 */
#include "recording_writer.h"

#define BASE 0x7f0000000000u
#define MIB (UINT64_C(1) << 20)

static struct writer w;

static void put_event(enum gp_kind kind, uint32_t aux, uint64_t address, uint64_t bytes,
		      uint64_t allocated)
{
	struct gp_record r = { .kind = (uint16_t)kind, .aux = aux, .code = 1 };
	r.block_alloc.address = address;
	r.block_alloc.bytes = bytes;
	if (kind == GP_BLOCK_EXISTING || kind == GP_BLOCK_FREE) {
		r.block_alloc.allocated = allocated;
		r.block_alloc.reserved = 20 * MIB;
	}
	put(&w, 0, r);
}

/* Recording begins late: a segment with blocks of 4, 2 and 1 MiB, the last of them pending. */
static const char *late_start(void)
{
	writer_open(&w, "found.gpr", 0, 0);
	struct gp_record gap = { .kind = GP_GAP };
	put(&w, 0, gap);
	struct gp_record arena = { .kind = GP_ARENA, .aux = 1, .arena = { .has_pool = 1 } };
	put(&w, 0, arena);
	put_event(GP_SEGMENT_ALLOC, 1, BASE, 20 * MIB, 0);
	put_event(GP_BLOCK_EXISTING, 1 + 100, BASE, 4 * MIB, 6 * MIB);
	put_event(GP_BLOCK_EXISTING, 1, BASE + 4 * MIB, 2 * MIB, 6 * MIB);
	put_event(GP_BLOCK_EXISTING, 1 | GP_FOUND_PENDING, BASE + 8 * MIB, MIB, 6 * MIB);
	put_event(GP_BLOCK_FREE, 0, BASE, 4 * MIB, 2 * MIB);
	struct gp_record completed = { .kind = GP_BLOCK_COMPLETED };
	completed.block_completed.address = BASE + 8 * MIB;
	put(&w, 0, completed);
	writer_close(&w, true);
	return w.path;
}

struct seen {
	size_t acts;
	struct gp_act act[32];
};

static bool see(void *context, const struct gp_act *act)
{
	struct seen *s = context;
	assert_true(s->acts < sizeof s->act / sizeof *s->act);
	s->act[s->acts++] = *act;
	return true;
}

static const struct gp_act *find(const struct seen *s, enum gp_act_kind kind, uint64_t address)
{
	for (size_t k = 0; k < s->acts; k++)
		if (s->act[k].kind == kind && s->act[k].address == address)
			return &s->act[k];
	return NULL;
}

static void found_blocks_live_and_end(void **state)
{
	(void)state;
	struct gp_history h;
	struct seen s = { 0 };
	struct gp_recording *r = fixture_open(late_start());
	assert_int_equal(gp_history_open(r, 0, INT64_MAX, &h), GP_OK);
	assert_int_equal(gp_history_visit(&h, see, &s), GP_OK);
	const struct gp_act *segment = find(&s, GP_ACT_SEGMENT_ALLOC, BASE);
	const struct gp_act *first = find(&s, GP_ACT_ALLOC, BASE);
	const struct gp_act *second = find(&s, GP_ACT_ALLOC, BASE + 4 * MIB);
	const struct gp_act *waits = find(&s, GP_ACT_FREE_REQUESTED, BASE + 8 * MIB);
	const struct gp_act *end = find(&s, GP_ACT_FREE_COMPLETED, BASE);
	assert_non_null(segment);
	assert_non_null(first);
	assert_non_null(second);
	assert_non_null(waits);
	assert_non_null(find(&s, GP_ACT_FREE_COMPLETED, BASE + 8 * MIB));
	assert_non_null(end);
	assert_true(segment < first && first < second && second < waits && waits < end);
	assert_int_equal(first->requested_bytes, 4 * MIB - 100);
	assert_int_equal(second->requested_bytes, 2 * MIB);
	/* its allocation was not recorded */
	assert_false(first->is_reported);
	assert_true(end->is_reported);
	assert_int_equal(h.orphaned, 0);
	/* after it, one block remains */
	assert_int_equal(h.memory.device[0].allocated_bytes, 2 * MIB);
	assert_null(find(&s, GP_ACT_FREE_COMPLETED, BASE + 4 * MIB));
	gp_history_close(&h);
	gp_recording_close(r);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(found_blocks_live_and_end),
	};
	return cmocka_run_group_tests(tests, make_directory, drop_directory);
}
