/*
 * The history of a caching allocator as a recording of several segments, with copies of the model
 * at some moments. Failures and snapshots follow directly after these moments.
 */
#ifndef FRAMEWORK_STORY_H
#define FRAMEWORK_STORY_H

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
		/* this failure has another cause than lack of memory */
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

static void write_story(struct story *s, const char *name, uint64_t seed, uint32_t slots,
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

#endif
