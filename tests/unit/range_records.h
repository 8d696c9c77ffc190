/*
 * Recordings of ranges, made by hand: pushes and pops with their depth, allocations and launches of
 * four threads. Also the result of gp_phases_build, found by path.
 */
#ifndef RANGE_RECORDS_H
#define RANGE_RECORDS_H

#include "recording_writer.h"

/* ---- names: defined before their first use, and again in each segment ---- */

static void define_name(struct writer *w, uint32_t id, const char *text)
{
	struct gp_record name[3] = { { .kind = GP_RANGE_NAME, .aux = id } };
	fill_text(name, text);
	name[0].order = w->order;
	name[0].time = w->time += 64;
	gp_live_apply(w->live, name);
	for (unsigned k = 0; k <= name->extra; k++)
		w->buffer[0][w->buffered[0]++] = name[k];
	flush(w, 0);
}

static inline void define_thread(struct writer *w, unsigned thread, const char *text)
{
	struct gp_record name[3] = { { .kind = GP_THREAD, .aux = thread, .thread.tid = 100 } };
	fill_text(name, text);
	name[0].order = w->order;
	name[0].time = w->time += 64;
	gp_live_apply(w->live, name);
	for (unsigned k = 0; k <= name->extra; k++)
		w->buffer[thread][w->buffered[thread]++] = name[k];
	flush(w, thread);
}

static uint32_t depth_of[4];
static void put_push(struct writer *w, unsigned thread, uint32_t name, unsigned source)
{
	put(w, thread,
	    (struct gp_record){ .kind = GP_RANGE_PUSH,
				.device = GP_DEVICE_UNKNOWN,
				.aux = name,
				.range_push = { source, 0, depth_of[thread]++, 0 } });
}
static void put_pop(struct writer *w, unsigned thread, unsigned source)
{
	put(w, thread,
	    (struct gp_record){ .kind = GP_RANGE_POP,
				.device = GP_DEVICE_UNKNOWN,
				.range_pop = { source, 0, --depth_of[thread], 0 } });
}
static inline void put_alloc(struct writer *w, unsigned thread, uint64_t address, uint64_t bytes)
{
	put(w, thread,
	    (struct gp_record){ .kind = GP_ALLOC,
				.space = GP_SPACE_DEVICE,
				.alloc = { .address = address, .bytes = bytes } });
}
static inline void put_free(struct writer *w, unsigned thread, uint64_t address)
{
	put(w, thread,
	    (struct gp_record){
		    .kind = GP_FREE, .space = GP_SPACE_DEVICE, .free = { .address = address } });
}
static inline void put_launch(struct writer *w, unsigned thread)
{
	put(w, thread, (struct gp_record){ .kind = GP_LAUNCH, .launch = { .kernel = 0xabc } });
}

static inline void begin(struct writer *w, const char *name)
{
	static const char *const names[] = { "step", "forward", "backward", "optimizer", "data" };
	memset(depth_of, 0, sizeof depth_of);
	writer_open(w, name, 0, 0);
	for (uint32_t k = 0; k < 5; k++)
		define_name(w, k + 1, names[k]);
}
enum { STEP = 1, FORWARD, BACKWARD, OPTIMIZER, DATA };

static const struct gp_phases_options whole = {
	.device = GP_DEVICE_UNKNOWN, .of = GP_CURVES, .from_ns = INT64_MIN, .to_ns = INT64_MAX
};

static inline struct gp_recording *build_as(const char *path, const struct gp_phases_options *asked,
					    struct gp_phases *out)
{
	struct gp_recording *r = fixture_open(path);
	assert_int_equal(gp_phases_build(r, asked, out), GP_OK);
	return r;
}

static inline struct gp_recording *build(struct writer *w, struct gp_phases *out)
{
	writer_close(w, true);
	return build_as(w->path, &whole, out);
}

/* Finds the phase of a path such as "step/forward", or of the part of it that exists. */
static inline const struct gp_phase *find(const struct gp_phases *p, const char *path)
{
	char at[16][64];
	for (size_t k = 0; k < p->phases; k++) {
		const struct gp_phase *phase = &p->phase[k];
		char whole_path[1024] = "";
		snprintf(at[phase->depth], sizeof *at, "%s",
			 phase->style == GP_PHASE_OUTSIDE   ? "(outside)" :
			 phase->style == GP_PHASE_AMBIGUOUS ? "(ambiguous)" :
			 phase->source == GP_RANGE_DERIVED  ? "(derived)" :
			 phase->name			    ? phase->name :
							      "NULL");
		for (unsigned d = 0; d <= phase->depth; d++) {
			strcat(whole_path, d ? "/" : "");
			strcat(whole_path, at[d]);
		}
		if (strcmp(whole_path, path) == 0)
			return phase;
	}
	fail_msg("no phase %s", path);
	return NULL;
}

static inline void close_all(struct gp_recording *r, struct gp_phases *p)
{
	gp_phases_free(p);
	gp_recording_close(r);
}

#endif
