/*
 * The state of memory at a moment against a plain model that knows where everything is: by order,
 * by time, at peaks, failures and snapshots, in files of many segments and of a ring.
 */
#include "framework_model.h"

#define MOMENTS 40u
#define STEPS 120u /* between two moments */

struct moment {
	struct model model;
	uint64_t order;
	int64_t at_ns;
	bool is_oom;
};

struct story {
	struct writer writer;
	struct moment *moment;
	struct model model;
	uint64_t oom[MOMENTS], snapshot[MOMENTS]; /* their moments */
	unsigned ooms, snapshots;
};

static void take_moment(struct story *s, unsigned i)
{
	struct writer *w = &s->writer;
	s->moment[i].model = s->model;
	s->moment[i].order = w->order;
	s->moment[i].at_ns = model_now_ns(w);
	if (i % 3 == 0) {
		s->oom[s->ooms++] = i;
		put(w, 1,
		    (struct gp_record){ .kind = i % 2 ? GP_OOM : GP_ALLOC_FAILED,
					.code = 2,
					.alloc_failed.bytes = i % 2 ? 0 : MIB });
		/* no failure for want of memory */
		put(w, 1, (struct gp_record){ .kind = GP_ALLOC_FAILED, .code = 1 });
	} else if (i % 3 == 1) {
		s->snapshot[s->snapshots++] = i;
		put(w, 2,
		    (struct gp_record){ .kind = GP_SNAPSHOT,
					.snapshot.active_bytes =
						s->model.allocated + s->model.pending });
	}
	if (i % 5 == 4)
		next_segment(w);
}

static void tell_story(struct story *s, const char *name, uint64_t seed, uint32_t slots,
		       uint64_t slot_bytes)
{
	memset(s, 0, sizeof *s);
	s->moment = calloc(MOMENTS, sizeof *s->moment);
	writer_open(&s->writer, name, slots, slot_bytes);
	model_begin(&s->model, &s->writer, seed);
	for (unsigned i = 0; i < MOMENTS; i++) {
		for (unsigned k = 0; k < STEPS; k++)
			model_step(&s->model, &s->writer);
		take_moment(s, i);
	}
	for (unsigned k = 0; k < STEPS; k++)
		model_step(&s->model, &s->writer);
	assert_int_equal(gp_live_count(s->writer.live, GP_COUNT_MISMATCHES), 0);
	assert_int_equal(gp_live_count(s->writer.live, GP_COUNT_ANOMALIES), 0);
}

static void build_and_compare(struct gp_recording *r, const struct gp_moment_of *at,
			      const struct model *model)
{
	struct gp_memory memory;
	assert_int_equal(gp_memory_build(r, at, &memory), GP_OK);
	assert_memory(model, &memory);
	gp_memory_free(&memory);
}

static void every_moment_is_as_it_was(void **state)
{
	(void)state;
	for (uint64_t seed = 1; seed <= 6; seed++) {
		struct story s;
		struct gp_recording *r;
		tell_story(&s, "memory.gpr", seed, 0, 0);
		writer_close(&s.writer, true);
		assert_int_equal(gp_recording_open(s.writer.path, &r, NULL), GP_OK);
		for (unsigned k = MOMENTS; k-- > 0;) {
			const struct moment *m = &s.moment[k];
			build_and_compare(
				r,
				&(struct gp_moment_of){ .when = GP_WHEN_ORDER, .number = m->order },
				&m->model);
			build_and_compare(
				r,
				&(struct gp_moment_of){ .when = GP_WHEN_TIME, .at_ns = m->at_ns },
				&m->model);
		}
		build_and_compare(r, &(struct gp_moment_of){ .when = GP_WHEN_END }, &s.model);
		build_and_compare(
			r, &(struct gp_moment_of){ .when = GP_WHEN_TIME, .at_ns = INT64_MAX },
			&s.model);
		for (unsigned k = 0; k < s.ooms; k++)
			build_and_compare(
				r, &(struct gp_moment_of){ .when = GP_WHEN_OOM, .number = k },
				&s.moment[s.oom[k]].model);
		for (unsigned k = 0; k < s.snapshots; k++)
			build_and_compare(
				r, &(struct gp_moment_of){ .when = GP_WHEN_SNAPSHOT, .number = k },
				&s.moment[s.snapshot[k]].model);
		/* and what else the recording answers is not moved by it */
		const struct gp_info *info;
		assert_int_equal(gp_recording_info(r, &info), GP_OK);
		assert_int_equal(info->kept_from_ns, 0);
		assert_int_equal(info->counts[GP_SNAPSHOT], s.snapshots);
		gp_recording_close(r);
		free(s.moment);
	}
}

static void moments_that_were_not_are_none(void **state)
{
	(void)state;
	struct story s;
	struct gp_recording *r;
	struct gp_memory memory;
	tell_story(&s, "none.gpr", 3, 0, 0);
	writer_close(&s.writer, true);
	assert_int_equal(gp_recording_open(s.writer.path, &r, NULL), GP_OK);
	const struct gp_moment_of none[] = {
		{ .when = GP_WHEN_OOM, .number = s.ooms },
		{ .when = GP_WHEN_SNAPSHOT, .number = s.snapshots },
		{ .when = GP_WHEN_ORDER, .number = s.writer.order + 1 },
		{ .when = GP_WHEN_PEAK, .device = 5 },
	};
	for (unsigned i = 0; i < sizeof none / sizeof *none; i++)
		assert_int_equal(gp_memory_build(r, &none[i], &memory), GP_END);
	/* before anything happened */
	const struct gp_moment_of begin = { .when = GP_WHEN_TIME, .at_ns = -1 };
	assert_int_equal(gp_memory_build(r, &begin, &memory), GP_OK);
	assert_int_equal(memory.segments + memory.outsides, 0);
	gp_memory_free(&memory);
	gp_recording_close(r);
	free(s.moment);
}

static void the_peak_is_the_highest_moment(void **state)
{
	(void)state;
	for (uint64_t seed = 10; seed < 14; seed++) {
		struct story s;
		struct gp_recording *r;
		struct gp_memory memory;
		tell_story(&s, "peak.gpr", seed, 0, 0);
		writer_close(&s.writer, true);
		assert_int_equal(gp_recording_open(s.writer.path, &r, NULL), GP_OK);
		const struct gp_moment_of peak = { .when = GP_WHEN_PEAK,
						   .device = GP_DEVICE_UNKNOWN };
		assert_int_equal(gp_memory_build(r, &peak, &memory), GP_OK);
		assert_int_equal(memory.device[0].reserved_bytes, s.model.peak_reserved);
		uint64_t bytes = 0;
		for (size_t i = 0; i < memory.segments; i++)
			bytes += memory.segment[i].bytes;
		assert_int_equal(bytes, s.model.peak_reserved);
		gp_memory_free(&memory);
		gp_recording_close(r);
		free(s.moment);
	}
}

/* Of a ring the first segments are gone: moments in them are none, all others are as they were. */
static void of_a_ring_what_is_kept_is_right(void **state)
{
	(void)state;
	struct story s;
	struct gp_recording *r;
	struct gp_memory memory;
	tell_story(&s, "ring.gpr", 7, 5, 1 << 20);
	writer_close(&s.writer, true);
	assert_int_equal(gp_recording_open(s.writer.path, &r, NULL), GP_OK);
	const struct gp_info *info;
	assert_int_equal(gp_recording_info(r, &info), GP_OK);
	assert_true(info->kept_from_ns > 0);
	unsigned gone = 0;
	for (unsigned k = 0; k < MOMENTS; k++) {
		const struct moment *m = &s.moment[k];
		const struct gp_moment_of by_order = { .when = GP_WHEN_ORDER, .number = m->order },
					  by_time = { .when = GP_WHEN_TIME, .at_ns = m->at_ns };
		if (m->at_ns < (int64_t)info->kept_from_ns) {
			gone++;
			assert_int_equal(gp_memory_build(r, &by_order, &memory), GP_END);
			assert_int_equal(gp_memory_build(r, &by_time, &memory), GP_END);
			continue;
		}
		build_and_compare(r, &by_order, &m->model);
		build_and_compare(r, &by_time, &m->model);
	}
	assert_true(gone > 5 && gone < MOMENTS - 5);
	gp_recording_close(r);
	free(s.moment);
}

/* ---- damage ---- */

/* The n-th block of that type of that segment gets a wrong payload. */
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

/* Damage makes what follows uncertain, until the next checkpoint puts it right. */
static void damage_is_over_with_the_next_checkpoint(void **state)
{
	(void)state;
	struct story s;
	struct gp_recording *r;
	tell_story(&s, "damaged.gpr", 21, 0, 0);
	writer_close(&s.writer, true);
	break_block(&s.writer, GP_BLOCK_EVENTS, 3, 0); /* moments 15 to 19 */
	assert_int_equal(gp_recording_open(s.writer.path, &r, NULL), GP_OK);
	for (unsigned k = 0; k < MOMENTS; k++) {
		const struct gp_moment_of at = { .when = GP_WHEN_TIME, .at_ns = s.moment[k].at_ns };
		struct gp_memory memory;
		if (k < 15 || k > 19) {
			build_and_compare(r, &at, &s.moment[k].model);
			continue;
		}
		assert_int_equal(gp_memory_build(r, &at, &memory), GP_OK);
		assert_true(k == 15 || memory.is_uncertain);
		assert_true(k == 15 || strstr(memory.doubt, "events are missing") != NULL);
		gp_memory_free(&memory);
	}
	gp_recording_close(r);
	free(s.moment);
}

/* A checkpoint that cannot be read: the one before it serves as well. */
static void a_broken_checkpoint_is_passed_over(void **state)
{
	(void)state;
	struct story s;
	struct gp_recording *r;
	tell_story(&s, "checkpoint.gpr", 22, 0, 0);
	writer_close(&s.writer, true);
	break_block(&s.writer, GP_BLOCK_CHECKPOINT, 5, 0); /* moments 25 to 29 */
	assert_int_equal(gp_recording_open(s.writer.path, &r, NULL), GP_OK);
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

/* Events that contradict each other in every way: whatever is made of them, it tiles. */
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
		struct gp_recording *r;
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
		writer_close(&w, true);
		assert_int_equal(gp_recording_open(w.path, &r, NULL), GP_OK);
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

/* ---- captures, limits, doubts ---- */

static void capture(struct story *s, uint64_t graph, bool is_begin)
{
	put(&s->writer, 0,
	    (struct gp_record){ .kind = is_begin ? GP_CAPTURE_BEGIN : GP_CAPTURE_END,
				.capture_begin = { .stream = 0x88, .graph = graph } });
}

static const struct gp_arena *private_arena(const struct gp_memory *memory)
{
	for (size_t i = 0; i < memory->arenas; i++)
		if (memory->arena[i].pool == 1)
			return &memory->arena[i];
	return NULL;
}

/* However late the replay begins, the pool is of the capture that made it. */
static void a_private_pool_is_of_its_capture(void **state)
{
	(void)state;
	struct story s = { 0 };
	struct gp_recording *r;
	struct gp_memory memory;
	writer_open(&s.writer, "capture.gpr", 0, 0);
	model_begin(&s.model, &s.writer, 5);
	capture(&s, 0x111, true);
	capture(&s, 0x111, false);
	next_segment(&s.writer);
	put(&s.writer, 0,
	    (struct gp_record){ .kind = GP_CAPTURE_BEGIN,
				.capture_begin = { .stream = 0x99, .graph = 0x999 } });
	capture(&s, 0x222, true);
	int64_t captured_at_ns = model_now_ns(&s.writer);
	next_segment(&s.writer);
	put_definition(
		&s.writer, 0,
		(struct gp_record){ .kind = GP_ARENA, .aux = 5, .arena = { 0x88, 1, 0, 1 } });
	model_new_segment(&s.model, &s.writer, 5);
	capture(&s, 0x222, false);
	uint64_t first = s.writer.order;
	next_segment(&s.writer);
	capture(&s, 0x333, true);
	model_new_segment(&s.model, &s.writer, 5);
	model_new_segment(&s.model, &s.writer, 6);
	capture(&s, 0x333, false);
	next_segment(&s.writer);
	model_step(&s.model, &s.writer);
	writer_close(&s.writer, true);
	assert_int_equal(gp_recording_open(s.writer.path, &r, NULL), GP_OK);
	const struct gp_moment_of moments[] = { { .when = GP_WHEN_END },
						{ .when = GP_WHEN_ORDER, .number = first } };
	for (unsigned i = 0; i < 2; i++) {
		assert_int_equal(gp_memory_build(r, &moments[i], &memory), GP_OK);
		const struct gp_arena *a = private_arena(&memory);
		assert_non_null(a);
		assert_int_equal(a->graph, 0x222);
		assert_int_equal(a->captured_at_ns, captured_at_ns);
		for (size_t k = 0; k < memory.arenas; k++)
			if (&memory.arena[k] != a) {
				assert_int_equal(memory.arena[k].graph, 0);
				assert_int_equal(memory.arena[k].captured_at_ns, -1);
			}
		gp_memory_free(&memory);
	}
	gp_recording_close(r);
}

static void what_the_driver_counted_last_is_known_later(void **state)
{
	(void)state;
	struct story s = { 0 };
	struct gp_recording *r;
	struct gp_memory memory;
	writer_open(&s.writer, "used.gpr", 0, 0);
	model_begin(&s.model, &s.writer, 6);
	model_new_segment(&s.model, &s.writer, 1);
	uint64_t before = s.writer.order, driver = s.model.reserved;
	put(&s.writer, 0,
	    (struct gp_record){ .kind = GP_DEVICE_MEMORY,
				.aux = 1,
				.device_memory = { .free_bytes = 700 * MIB,
						   .total_bytes = 1000 * MIB,
						   .limit_bytes = 500 * MIB } });
	int64_t used_at_ns = model_now_ns(&s.writer);
	model_new_segment(&s.model, &s.writer, 2);
	next_segment(&s.writer);
	model_new_segment(&s.model, &s.writer, 2);
	writer_close(&s.writer, true);
	assert_int_equal(gp_recording_open(s.writer.path, &r, NULL), GP_OK);
	assert_int_equal(gp_memory_build(r, &(struct gp_moment_of){ .when = GP_WHEN_END }, &memory),
			 GP_OK);
	const struct gp_memory_device *d = memory.device;
	assert_int_equal(d->used_bytes, 300 * MIB);
	assert_int_equal(d->total_bytes, 1000 * MIB);
	assert_int_equal(d->limit_bytes, 500 * MIB);
	assert_int_equal(d->used_at_ns, used_at_ns);
	assert_int_equal(d->used_driver_bytes, driver);
	gp_memory_free(&memory);
	assert_int_equal(gp_memory_build(r,
					 &(struct gp_moment_of){ .when = GP_WHEN_ORDER,
								 .number = before - 1 },
					 &memory),
			 GP_OK);
	assert_int_equal(memory.device[0].used_bytes, GP_BYTES_UNKNOWN);
	assert_int_equal(memory.device[0].limit_bytes, GP_BYTES_UNKNOWN);
	gp_memory_free(&memory);
	gp_recording_close(r);
}

/* Without tier B: the driver's memory in which blocks lie, and nothing is made up. */
static void without_tier_b_it_says_what_is_not_known(void **state)
{
	(void)state;
	struct writer w;
	struct gp_recording *r;
	struct gp_memory memory;
	uint64_t seed = 0;
	writer_open(&w, "untold.gpr", 0, 0);
	put_work(&w, 2000, &seed);
	uint64_t reserved = gp_live_device(w.live, 0)->curve[GP_CURVE_RESERVED].now_bytes;
	uint64_t allocated = gp_live_device(w.live, 0)->curve[GP_CURVE_ALLOCATED].now_bytes;
	writer_close(&w, true);
	assert_int_equal(gp_recording_open(w.path, &r, NULL), GP_OK);
	assert_int_equal(gp_memory_build(r, &(struct gp_moment_of){ .when = GP_WHEN_END }, &memory),
			 GP_OK);
	assert_false(memory.has_tier_b);
	assert_false(memory.is_uncertain);
	assert_non_null(strstr(memory.doubt, "told no streams"));
	assert_int_equal(memory.segments, 1);
	assert_int_equal(memory.segment[0].bytes, reserved);
	assert_int_equal(memory.segment[0].allocated_bytes, allocated);
	assert_int_equal(memory.segment[0].requested_bytes, GP_BYTES_UNKNOWN);
	assert_int_equal(memory.segment[0].arena, 0);
	assert_false(memory.arena[0].is_known);
	assert_int_equal(memory.device[0].requested_bytes, GP_BYTES_UNKNOWN);
	gp_memory_free(&memory);
	gp_recording_close(r);
}

/* Recorded since some moment: blocks in unknown memory are left out, and that is said. */
static void what_is_older_than_the_recording_is_not_made_up(void **state)
{
	(void)state;
	struct writer w;
	struct gp_recording *r;
	struct gp_memory memory;
	writer_open(&w, "late.gpr", 0, 0);
	put(&w, 0, (struct gp_record){ .kind = GP_GAP, .aux = GP_WHY_LATE_START });
	put(&w, 0,
	    (struct gp_record){ .kind = GP_BLOCK_ALLOC,
				.code = 3,
				.aux = 1,
				.block_alloc = { 0x7000000000, 4096, 90 * MIB, 100 * MIB } });
	put(&w, 0,
	    (struct gp_record){ .kind = GP_ALLOC,
				.space = GP_SPACE_DEVICE,
				.alloc = { .address = 0x7100000000, .bytes = 2 * MIB } });
	put(&w, 0,
	    (struct gp_record){ .kind = GP_BLOCK_ALLOC,
				.code = 3,
				.aux = 1,
				.block_alloc = { 0x7100000200, 512, 90 * MIB + 512, 102 * MIB } });
	writer_close(&w, true);
	assert_int_equal(gp_recording_open(w.path, &r, NULL), GP_OK);
	assert_int_equal(gp_memory_build(r, &(struct gp_moment_of){ .when = GP_WHEN_END }, &memory),
			 GP_OK);
	assert_non_null(strstr(memory.doubt, "under way when the recording began"));
	assert_non_null(strstr(memory.doubt, "left out"));
	assert_false(memory.is_uncertain);
	assert_int_equal(memory.segments, 1);
	assert_int_equal(memory.segment[0].blocks, 3); /* a gap before, a gap behind */
	assert_int_equal(memory.segment[0].allocated_bytes, 512);
	assert_int_equal(memory.segment[0].requested_bytes, 512);
	assert_int_equal(memory.device[0].reserved_bytes, 102 * MIB);
	gp_memory_free(&memory);
	gp_recording_close(r);
}

/* Lost events: what lies over each other is the younger one, and it is said to be uncertain. */
static void lost_events_make_it_uncertain(void **state)
{
	(void)state;
	struct writer w;
	struct gp_recording *r;
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
	/* two of them were freed unseen */
	put(&w, 0,
	    (struct gp_record){
		    .kind = GP_BLOCK_ALLOC,
		    .block_alloc = { 0x7100000800, 8192 - 0x800, 16384 - 0x800, 2 * MIB } });
	/* beyond its segment: clipped */
	put(&w, 0,
	    (struct gp_record){ .kind = GP_BLOCK_ALLOC,
				.block_alloc = { 0x7100000000 + 2 * MIB - 512, 4096,
						 16384 - 0x800 + 4096, 2 * MIB } });
	writer_close(&w, true);
	assert_int_equal(gp_recording_open(w.path, &r, NULL), GP_OK);
	assert_int_equal(gp_memory_build(r, &(struct gp_moment_of){ .when = GP_WHEN_END }, &memory),
			 GP_OK);
	assert_true(memory.is_uncertain);
	assert_non_null(strstr(memory.doubt, "events are missing"));
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

/* A state that may begin at its end is as if all had been replayed. */
static void a_million_blocks_are_no_burden(void **state)
{
	(void)state;
	struct writer w;
	struct gp_recording *r;
	struct gp_memory memory;
	const uint64_t n = 1000000;
	writer_open(&w, "million.gpr", 0, 0);
	put(&w, 0,
	    (struct gp_record){ .kind = GP_ALLOC,
				.space = GP_SPACE_DEVICE,
				.alloc = { .address = 0x7100000000, .bytes = n * 1024 } });
	for (uint64_t i = 0; i < n; i++)
		put(&w, 0,
		    (struct gp_record){ .kind = GP_BLOCK_ALLOC,
					.block_alloc = { 0x7100000000 + i * 1024, 512,
							 (i + 1) * 512, n * 1024 } });
	writer_close(&w, true);
	assert_int_equal(gp_recording_open(w.path, &r, NULL), GP_OK);
	assert_int_equal(gp_memory_build(r, &(struct gp_moment_of){ .when = GP_WHEN_END }, &memory),
			 GP_OK);
	assert_int_equal(memory.blocks, 2 * n);
	assert_int_equal(memory.segment[0].allocated_bytes, n * 512);
	gp_memory_free(&memory);
	gp_recording_close(r);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_moment_is_as_it_was),
		cmocka_unit_test(moments_that_were_not_are_none),
		cmocka_unit_test(the_peak_is_the_highest_moment),
		cmocka_unit_test(of_a_ring_what_is_kept_is_right),
		cmocka_unit_test(damage_is_over_with_the_next_checkpoint),
		cmocka_unit_test(a_broken_checkpoint_is_passed_over),
		cmocka_unit_test(nonsense_tiles_all_the_same),
		cmocka_unit_test(a_private_pool_is_of_its_capture),
		cmocka_unit_test(what_the_driver_counted_last_is_known_later),
		cmocka_unit_test(without_tier_b_it_says_what_is_not_known),
		cmocka_unit_test(what_is_older_than_the_recording_is_not_made_up),
		cmocka_unit_test(lost_events_make_it_uncertain),
		cmocka_unit_test(a_million_blocks_are_no_burden),
	};
	return cmocka_run_group_tests(tests, make_directory, drop_directory);
}
