/*
 * The state of memory with damage, lost events or contradictory events. Parts that can be
 * determined are right, others are marked as uncertain. Blocks and gaps cover each segment in any
 * case.
 */
#include "framework_story.h"

/* Damages the payload of the n-th block of that type in that segment. */
static void break_block(const struct writer *w, enum gp_block_type type, uint32_t segment,
			unsigned n)
{
	int fd = open(w->path, O_RDWR);
	unsigned char bytes[GP_BLOCK_HEADER];
	struct gp_block_header h;
	for (size_t i = 0; i < w->blocks; i++) {
		off_t at = (off_t)w->block_start[i];
		assert_int_equal(pread(fd, bytes, sizeof bytes, at), sizeof bytes);
		assert_int_equal(gp_block_header_decode(bytes, &h), GP_OK);
		if (h.type != type || h.segment != segment || n-- != 0)
			continue;
		at += GP_BLOCK_HEADER + h.stored_bytes / 2;
		assert_int_equal(pread(fd, bytes, 1, at), 1);
		bytes[0] ^= 0x55;
		assert_int_equal(pwrite(fd, bytes, 1, at), 1);
		close(fd);
		return;
	}
	fail();
}

/* After damage the state is uncertain until the next checkpoint. */
static void damage_is_over_with_the_next_checkpoint(void **state)
{
	(void)state;
	struct story s;
	write_story(&s, "damaged.gpr", 21, 0, 0);
	writer_close(&s.writer, true);
	break_block(&s.writer, GP_BLOCK_EVENTS, 3, 0); /* moments 15 to 19 */
	struct gp_recording *r = fixture_open(s.writer.path);
	for (unsigned k = 0; k < MOMENTS; k++) {
		const struct gp_moment_of at = { .when = GP_WHEN_TIME, .at_ns = s.moment[k].at_ns };
		struct gp_memory memory;
		if (k < 15 || k > 19) {
			build_and_compare(r, &at, &s.moment[k].model);
			continue;
		}
		assert_int_equal(gp_memory_build(r, &at, &memory), GP_OK);
		assert_true(k == 15 || memory.is_uncertain);
		assert_true(k == 15 || strstr(memory.caveat, "events are missing") != NULL);
		gp_memory_free(&memory);
	}
	gp_recording_close(r);
	free(s.moment);
}

/* A checkpoint that cannot be read: the one before it is used. */
static void a_broken_checkpoint_is_passed_over(void **state)
{
	(void)state;
	struct story s;
	write_story(&s, "checkpoint.gpr", 22, 0, 0);
	writer_close(&s.writer, true);
	break_block(&s.writer, GP_BLOCK_CHECKPOINT, 5, 0); /* moments 25 to 29 */
	struct gp_recording *r = fixture_open(s.writer.path);
	for (unsigned k = MOMENTS; k-- > 20;) {
		struct gp_memory memory;
		for (unsigned i = 0; i < 2; i++) {
			const struct gp_moment_of at = {
				.when = i == 0 ? GP_WHEN_TIME : GP_WHEN_ORDER,
				.at_ns = s.moment[k].at_ns,
				.number = s.moment[k].order,
			};
			assert_int_equal(gp_memory_build(r, &at, &memory), GP_OK);
			assert_int_equal(memory.order, s.moment[k].order);
			assert_int_equal(memory.device[0].active_bytes,
					 s.moment[k].model.allocated + s.moment[k].model.pending);
			assert_int_equal(memory.device[0].reserved_bytes,
					 s.moment[k].model.reserved);
			gp_memory_free(&memory);
		}
	}
	gp_recording_close(r);
	free(s.moment);
}

/* Events that contradict each other in every way: blocks and gaps still cover each segment. */
static void nonsense_tiles_all_the_same(void **state)
{
	(void)state;
	static const uint16_t kinds[] = { GP_ALLOC,	    GP_ALLOC,	     GP_FREE,
					  GP_FREE_FAILED,   GP_MAP,	     GP_UNMAP,
					  GP_UNMAP_FAILED,  GP_OWNER_GONE,   GP_BLOCK_ALLOC,
					  GP_BLOCK_ALLOC,   GP_BLOCK_FREE,   GP_BLOCK_COMPLETED,
					  GP_SEGMENT_ALLOC, GP_SEGMENT_FREE, GP_SEGMENT_MAP,
					  GP_SEGMENT_UNMAP, GP_SNAPSHOT,     GP_DEVICE_MEMORY,
					  GP_CAPTURE_BEGIN, GP_CAPTURE_END,  GP_OOM };
	static const uint64_t bytes[] = { 0,	   512,	     MIB,	 2 * MIB,
					  6 * MIB, 20 * MIB, 1ull << 40, UINT64_MAX };
	for (uint64_t seed = 1; seed <= 30; seed++) {
		struct model m = { .random = seed * 0x9e3779b97f4a7c15u | 1 };
		struct writer w;
		writer_open(&w, "nonsense.gpr", 0, 0);
		for (unsigned i = 0; i < 1500; i++) {
			uint64_t at = 0x7100000000 + model_draw(&m, 40) * (MIB / 2);
			struct gp_record record = {
				.kind = kinds[model_draw(&m, sizeof kinds / sizeof *kinds)],
				.space = (uint8_t)model_draw(&m, 17),
				.device = model_draw(&m, 9) ? (uint8_t)model_draw(&m, 2) : 255,
				.code = (uint16_t)model_draw(&m, 4),
				.aux = (uint32_t)model_draw(&m, 600),
				.v = { model_draw(&m, 50) ? at : UINT64_MAX - model_draw(&m, MIB),
				       bytes[model_draw(&m, 8)], bytes[model_draw(&m, 8)],
				       model_draw(&m, 3) },
			};
			put(&w, (unsigned)model_draw(&m, 4), record);
			if (i % 400 == 399)
				next_segment(&w);
		}
		struct gp_recording *r = fixture_read(&w);
		for (uint64_t order = 0; order <= w.order; order += 37) {
			const struct gp_moment_of at = { .when = GP_WHEN_ORDER, .number = order };
			struct gp_memory memory;
			assert_int_equal(gp_memory_build(r, &at, &memory), GP_OK);
			for (size_t i = 0; i < memory.segments; i++) {
				const struct gp_memory_segment *s = &memory.segment[i];
				uint64_t next = s->address;
				for (size_t k = s->first; k < s->first + s->blocks; k++) {
					assert_int_equal(memory.block[k].address, next);
					assert_true(memory.block[k].bytes > 0);
					next += memory.block[k].bytes;
				}
				assert_int_equal(next, s->address + s->bytes);
			}
			gp_memory_free(&memory);
		}
		gp_recording_close(r);
	}
}

/*
 * Lost events: of overlapping blocks the younger one stays, and the state is marked as uncertain.
 */
static void lost_events_make_it_uncertain(void **state)
{
	(void)state;
	struct writer w;
	struct gp_memory memory;
	writer_open(&w, "lost.gpr", 0, 0);
	put(&w, 0,
	    (struct gp_record){ .kind = GP_ALLOC,
				.space = GP_SPACE_DEVICE,
				.alloc = { .address = 0x7100000000, .bytes = 2 * MIB } });
	for (unsigned i = 0; i < 4; i++)
		put(&w, 0,
		    (struct gp_record){ .kind = GP_BLOCK_ALLOC,
					.block_alloc = { 0x7100000000 + i * 4096, 4096,
							 (i + 1) * 4096, 2 * MIB } });
	put(&w, 0, (struct gp_record){ .kind = GP_LOST, .lost = { .memory = 3 } });
	/* two of them were freed, and these frees were lost */
	put(&w, 0,
	    (struct gp_record){
		    .kind = GP_BLOCK_ALLOC,
		    .block_alloc = { 0x7100000800, 8192 - 0x800, 16384 - 0x800, 2 * MIB } });
	/* beyond its segment: clipped */
	put(&w, 0,
	    (struct gp_record){ .kind = GP_BLOCK_ALLOC,
				.block_alloc = { 0x7100000000 + 2 * MIB - 512, 4096,
						 16384 - 0x800 + 4096, 2 * MIB } });
	struct gp_recording *r = fixture_read(&w);
	assert_int_equal(gp_memory_build(r, &(struct gp_moment_of){ .when = GP_WHEN_END }, &memory),
			 GP_OK);
	assert_true(memory.is_uncertain);
	assert_non_null(strstr(memory.caveat, "events are missing"));
	assert_int_equal(memory.segments, 1);
	const struct gp_memory_segment *s = memory.segment;
	uint64_t at = s->address;
	for (size_t i = 0; i < s->blocks; i++) {
		assert_int_equal(memory.block[i].address, at);
		at += memory.block[i].bytes;
	}
	assert_int_equal(at, s->address + s->bytes);
	assert_int_equal(memory.block[1].address, 0x7100000800);
	gp_memory_free(&memory);
	gp_recording_close(r);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(damage_is_over_with_the_next_checkpoint),
		cmocka_unit_test(a_broken_checkpoint_is_passed_over),
		cmocka_unit_test(nonsense_tiles_all_the_same),
		cmocka_unit_test(lost_events_make_it_uncertain),
	};
	return cmocka_run_group_tests(tests, make_directory, drop_directory);
}
