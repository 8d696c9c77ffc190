/*
 * Jobs made of ranges and launches by hand, with the true begin of each step. The work of a body
 * repeats only if its size does.
 */
#ifndef STEP_STORY_H
#define STEP_STORY_H

#include "range_records.h"

#define STORY_STEPS 1024u
#define NAMES_MOST 512u

struct story {
	struct writer w;
	char name[NAMES_MOST][64];
	uint32_t names;
	uint64_t random;
	/* of the steps: ticks */
	uint64_t begin[STORY_STEPS], end;
	size_t steps;
	bool is_next, is_next_work; /* the next event, or launch, begins a step */
};

static struct story *story_open(const char *name, uint32_t slots, uint64_t slot_bytes)
{
	struct story *s = calloc(1, sizeof *s);
	assert_non_null(s);
	memset(depth_of, 0, sizeof depth_of);
	s->random = 88172645463325252u;
	writer_open(&s->w, name, slots, slot_bytes);
	return s;
}

static uint64_t story_draw(struct story *s, uint64_t below)
{
	s->random ^= s->random << 13;
	s->random ^= s->random >> 7;
	s->random ^= s->random << 17;
	return (s->random >> 11) % below;
}

static uint32_t name_of_text(struct story *s, const char *text)
{
	for (uint32_t k = 0; k < s->names; k++)
		if (strcmp(s->name[k], text) == 0)
			return k + 1;
	assert_true(s->names < NAMES_MOST);
	snprintf(s->name[s->names], sizeof *s->name, "%s", text);
	define_name(&s->w, s->names + 1, text);
	return ++s->names;
}

/* Begins a new segment; each segment has all names. */
static inline void story_segment(struct story *s)
{
	next_segment(&s->w);
	for (uint32_t k = 0; k < s->names; k++)
		define_name(&s->w, k + 1, s->name[k]);
}

/* The step begins with the next event, or with the next launch. */
static void step_next(struct story *s)
{
	s->is_next = true;
}

static inline void step_next_work(struct story *s)
{
	s->is_next_work = true;
}

static void see_begin(struct story *s, bool is_work)
{
	if (!s->is_next && !(s->is_next_work && is_work))
		return;
	assert_true(s->steps < STORY_STEPS);
	s->begin[s->steps++] = s->w.time;
	s->is_next = s->is_next_work = false;
}

static void push_by(struct story *s, unsigned thread, const char *text, unsigned source)
{
	uint32_t name = name_of_text(s, text);
	put_push(&s->w, thread, name, source);
	see_begin(s, false);
}

static void pop_by(struct story *s, unsigned thread, unsigned source)
{
	put_pop(&s->w, thread, source);
	s->end = s->w.time;
}

static inline void push(struct story *s, const char *text)
{
	push_by(s, 0, text, GP_RANGE_NVTX);
}

static inline void pop(struct story *s)
{
	pop_by(s, 0, GP_RANGE_NVTX);
}

static void pause_for(struct story *s, uint64_t ticks)
{
	s->w.time += ticks & ~63ull;
}

/* `n` kernels, from `kernel` on. */
static void work_by(struct story *s, unsigned thread, unsigned n, unsigned kernel)
{
	for (unsigned k = 0; k < n; k++) {
		put(&s->w, thread,
		    (struct gp_record){ .kind = GP_LAUNCH,
					.launch = { .kernel = 0x1000 + kernel + k, .grid = 1 } });
		see_begin(s, true);
	}
	pause_for(s, 640);
}

static inline void work(struct story *s, unsigned n)
{
	work_by(s, 0, n, 0);
}

/* Work of random length, without repetition. */
static inline void work_of_any_length(struct story *s)
{
	unsigned n = 10 + (unsigned)story_draw(s, 30);
	for (unsigned k = 0; k < n; k++)
		work_by(s, 0, 1, (unsigned)story_draw(s, 20));
}

/* ---- ranges of PyTorch ---- */

static void torch_range(struct story *s, unsigned thread, const char *text, unsigned launches,
			unsigned kernel)
{
	push_by(s, thread, text, GP_RANGE_TORCH);
	work_by(s, thread, launches, kernel);
	pop_by(s, thread, GP_RANGE_TORCH);
}

static inline void load_data(struct story *s)
{
	torch_range(s, 0, "enumerate(DataLoader)#_SingleProcessDataLoaderIter.__next__", 0, 0);
}

static inline void zero_grad(struct story *s)
{
	torch_range(s, 0, "Optimizer.zero_grad#SGD.zero_grad", 0, 0);
}

static inline void update_as(struct story *s, const char *text)
{
	torch_range(s, 0, text, 4, 200);
}

static inline void update(struct story *s)
{
	update_as(s, "Optimizer.step#SGD.step");
}

static void backward_by(struct story *s, unsigned thread, unsigned worker, unsigned launches)
{
	push_by(s, thread, "backward", GP_RANGE_ENGINE);
	work_by(s, worker, launches, 100);
	pop_by(s, thread, GP_RANGE_ENGINE);
}

static inline void backward(struct story *s, unsigned launches)
{
	backward_by(s, 0, 0, launches);
}

static inline void train(struct story *s)
{
	zero_grad(s);
	work(s, 12);
	backward(s, 20);
	update(s);
}

/* ---- results ---- */

static int64_t ns_of(uint64_t ticks)
{
	return (int64_t)ticks - 1024;
}

static void find_steps(struct story *s, struct gp_steps *steps)
{
	struct gp_recording *r = fixture_read(&s->w);
	assert_int_equal(gp_steps_find(r, steps), GP_OK);
	gp_recording_close(r);
}

/* Each begins at its true begin and ends where the next begins; the last one ends at `end`. */
static void expect_steps(struct story *s, enum gp_step_source source)
{
	struct gp_steps steps;
	find_steps(s, &steps);
	if (steps.steps != s->steps)
		print_message("%zu steps of %zu\n", steps.steps, s->steps);
	assert_int_equal(steps.steps, s->steps);
	assert_int_equal(steps.source, source);
	for (size_t k = 0; k < s->steps; k++) {
		if (steps.step[k].begin_ns != ns_of(s->begin[k]))
			print_message("step %zu\n", k + 1);
		assert_int_equal(steps.step[k].begin_ns, ns_of(s->begin[k]));
		assert_int_equal(steps.step[k].end_ns,
				 ns_of(k + 1 < s->steps ? s->begin[k + 1] : s->end));
	}
	gp_steps_free(&steps);
	free(s);
}

static inline void expect_ranges(struct story *s)
{
	expect_steps(s, GP_STEPS_RANGES);
}

static inline void expect_updates(struct story *s)
{
	expect_steps(s, GP_STEPS_UPDATES);
}

#endif
