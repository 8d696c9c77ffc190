/*
 * Phases: a tree of random ranges on four threads against a plain model that keeps all events. Also
 * each rule by itself: backward's own threads, crossing and unbalanced ranges, spans.
 */
#include "range_records.h"

#include "analyze/phases/phase_high.h"

/* ---- one rule after the other ---- */

/* Three steps of 14 events each, after 6 other events. */
static void look_at_the_second(const char *path)
{
	struct gp_phases p;
	struct gp_phases_options second = whole;
	second.from_ns = (5 + 1 + 14 + 1) * 64;
	second.to_ns = (5 + 1 + 28) * 64;
	struct gp_recording *r = build_as(path, &second, &p);
	assert_int_equal(find(&p, "step")->calls, 1);
	assert_int_equal(find(&p, "step")->launches, 3);
	assert_int_equal(find(&p, "step")->time_ns, 13 * 64);
	close_all(r, &p);
	/* a moment inside a call: the call is clipped and open */
	second.to_ns = second.from_ns + 5 * 64;
	r = build_as(path, &second, &p);
	assert_int_equal(find(&p, "step")->open, 1);
	assert_int_equal(find(&p, "step/forward")->calls, 1);
	close_all(r, &p);
	second = whole;
	second.device = 7;
	r = build_as(path, &second, &p);
	assert_int_equal(find(&p, "step")->allocated_bytes + find(&p, "step")->launches, 0);
	assert_int_equal(find(&p, "step")->calls, 3);
	close_all(r, &p);
}

/* A call whose middle lies before the end of the warm-up does not count in the mean. */
static void look_at_the_mean(const char *path)
{
	const int64_t second_ns = (5 + 1 + 14 + 1) * 64, middle_ns = second_ns + 13 * 64 / 2;
	for (int64_t off = 0; off < 2; off++) {
		struct gp_phases p;
		struct gp_phases_options asked = whole;
		asked.warm_ns = middle_ns + off;
		struct gp_recording *r = build_as(path, &asked, &p);
		const struct gp_phase *step = find(&p, "step");
		assert_int_equal(step->calls, 3);
		assert_int_equal(step->time_ns, 3 * 13 * 64);
		assert_int_equal(step->steady_calls, 2 - off);
		assert_int_equal(step->mean_ns, 13 * 64);
		close_all(r, &p);
	}
}

static void a_step_has_its_own_figures(void **state)
{
	(void)state;
	struct writer w;
	struct gp_phases p;
	begin(&w, "step.gpr");
	put_alloc(&w, 1, 0x1000, 100);
	for (unsigned k = 0; k < 3; k++) {
		put_push(&w, 1, STEP, 1);
		put_push(&w, 1, FORWARD, 1);
		put_alloc(&w, 1, 0x2000, 512);
		put_alloc(&w, 1, 0x3000 + k * 4096, 256); /* leaks */
		put_launch(&w, 1);
		put_pop(&w, 1, 1);
		put_push(&w, 1, BACKWARD, 1);
		put_alloc(&w, 1, 0x100000, 1024);
		put_free(&w, 1, 0x100000);
		put_free(&w, 1, 0x2000);
		put_launch(&w, 1);
		put_launch(&w, 1);
		put_pop(&w, 1, 1);
		put_pop(&w, 1, 1);
	}
	put_launch(&w, 1);
	struct gp_recording *r = build(&w, &p);
	assert_int_equal(p.of, GP_CURVE_DRIVER);
	assert_int_equal(p.phases, 4);
	assert_int_equal(p.ranges, 9);
	assert_int_equal(p.unbalanced + p.unseen + p.unkept, 0);
	const struct gp_phase *step = &p.phase[0], *forward = &p.phase[1], *backward = &p.phase[2];
	assert_ptr_equal(find(&p, "step"), step);
	assert_ptr_equal(find(&p, "step/forward"), forward);
	assert_ptr_equal(find(&p, "step/backward"), backward);
	assert_int_equal(step->children, 2);
	assert_int_equal(step->calls, 3);
	assert_int_equal(step->time_ns, 3 * 13 * 64);
	assert_int_equal(step->mean_ns, 13 * 64);
	assert_int_equal(step->deviation_ns, 0);
	assert_int_equal(step->launches, 9);
	assert_int_equal(step->allocated_bytes, 3 * (512 + 256 + 1024));
	assert_int_equal(step->freed_bytes, 3 * (512 + 1024));
	assert_int_equal(step->retained_bytes, 3 * 256);
	assert_int_equal(step->peak_bytes, 100 + 3 * 256 + 512 + 1024);
	assert_int_equal(forward->allocated_bytes, 3 * (512 + 256));
	assert_int_equal(forward->freed_bytes, 0);
	assert_int_equal(forward->retained_bytes, 3 * (512 + 256));
	assert_int_equal(forward->peak_bytes, 100 + 3 * 256 + 512);
	assert_int_equal(backward->freed_bytes, 3 * (512 + 1024));
	assert_int_equal(backward->retained_bytes, 0);
	const struct gp_phase *outside = find(&p, "(outside)");
	assert_int_equal(outside->launches, 1);
	assert_int_equal(outside->allocated_bytes, 100);
	assert_int_equal(outside->retained_bytes, 100);
	assert_int_equal(outside->peak_bytes, 100 + 3 * 256); /* after the last step */
	assert_int_equal(outside->calls, 0);
	close_all(r, &p);
	look_at_the_second(w.path);
	look_at_the_mean(w.path);
}

/* Autograd's workers have no ranges of their own: theirs are those of the thread in the engine. */
static void backward_belongs_to_the_waiting_thread(void **state)
{
	(void)state;
	struct writer w;
	struct gp_phases p;
	begin(&w, "backward.gpr");
	define_thread(&w, 1, "python");
	define_thread(&w, 2, "pt_autograd_0");
	define_thread(&w, 3, "pin_memory");
	put_push(&w, 1, BACKWARD, 1);
	put_launch(&w, 2); /* before the engine is entered */
	put_push(&w, 1, 0, GP_RANGE_ENGINE);
	put_launch(&w, 2);
	put_alloc(&w, 2, 0x1000, 64);
	put_push(&w, 2, DATA, GP_RANGE_TORCH); /* range of a hook */
	put_launch(&w, 2);
	put_pop(&w, 2, GP_RANGE_TORCH);
	put_launch(&w, 3); /* a thread that is not a worker */
	put_pop(&w, 1, GP_RANGE_ENGINE);
	put_launch(&w, 2);
	put_pop(&w, 1, 1);
	struct gp_recording *r = build(&w, &p);
	assert_int_equal(find(&p, "backward")->launches, 2);
	assert_int_equal(find(&p, "backward/NULL")->launches, 2);
	assert_int_equal(find(&p, "backward/NULL")->source, GP_RANGE_ENGINE);
	assert_int_equal(find(&p, "backward/NULL")->retained_bytes, 64);
	assert_int_equal(find(&p, "backward/NULL/data")->launches, 1);
	assert_int_equal(find(&p, "(outside)")->launches, 3);
	close_all(r, &p);
	struct gp_phases_options own = whole;
	own.is_own_thread = true;
	r = build_as(w.path, &own, &p);
	assert_int_equal(find(&p, "backward")->launches, 0);
	assert_int_equal(find(&p, "data")->launches, 1);
	assert_int_equal(find(&p, "(outside)")->launches, 4);
	close_all(r, &p);
}

/* A worker that recomputes a checkpoint enters the engine again: a backward inside the backward. */
static void a_worker_enters_again_for_another(void **state)
{
	(void)state;
	struct writer w;
	struct gp_phases p;
	begin(&w, "checkpoint.gpr");
	define_thread(&w, 2, "pt_autograd_0");
	define_thread(&w, 3, "pt_autograd_1");
	put_push(&w, 1, 0, GP_RANGE_ENGINE);
	put_launch(&w, 2);
	put_push(&w, 2, BACKWARD, GP_RANGE_ENGINE);
	put_launch(&w, 2);
	put_alloc(&w, 3, 0x1000, 64); /* of another device: there is only one backward */
	put_pop(&w, 2, GP_RANGE_ENGINE);
	put_launch(&w, 2);
	put_pop(&w, 1, GP_RANGE_ENGINE);
	struct gp_recording *r = build(&w, &p);
	assert_int_equal(find(&p, "NULL")->launches, 3);
	assert_int_equal(find(&p, "NULL")->calls, 1);
	assert_int_equal(find(&p, "NULL")->retained_bytes, 64);
	assert_int_equal(find(&p, "NULL/backward")->launches, 1);
	assert_int_equal(find(&p, "NULL/backward")->calls, 1);
	assert_int_equal(p.phases, 2);
	close_all(r, &p);
	unlink(w.path);
}

/* Two threads inside the engine: a worker's caller is ambiguous. */
static void ambiguous_work_is_marked(void **state)
{
	(void)state;
	struct writer w;
	struct gp_phases p;
	begin(&w, "unnamed.gpr");
	put_push(&w, 1, BACKWARD, 1);
	put_push(&w, 1, 0, GP_RANGE_ENGINE);
	put_launch(&w, 3); /* no thread has a name: it may be a worker */
	struct gp_recording *r = build(&w, &p);
	assert_int_equal(find(&p, "backward/NULL")->launches, 1);
	close_all(r, &p);
	begin(&w, "ambiguous.gpr");
	define_thread(&w, 3, "pt_autograd_1");
	put_push(&w, 1, BACKWARD, 1);
	put_push(&w, 1, 0, GP_RANGE_ENGINE);
	put_launch(&w, 3);
	put_push(&w, 2, FORWARD, 1);
	put_alloc(&w, 2, 0x1000, 4096);
	put_free(&w, 2, 0x1000);
	put_push(&w, 2, 0, GP_RANGE_ENGINE);
	put_alloc(&w, 2, 0x1000, 16);
	put_launch(&w, 3);
	put_alloc(&w, 2, 0x2000, 512);
	put_free(&w, 2, 0x2000);
	put_push(&w, 3, DATA, GP_RANGE_TORCH);
	put_launch(&w, 3);
	put_alloc(&w, 2, 0x2000, 64);
	put_free(&w, 2, 0x2000);
	put_pop(&w, 3, GP_RANGE_TORCH);
	put_launch(&w, 2); /* its own */
	put_pop(&w, 2, GP_RANGE_ENGINE);
	put_launch(&w, 3);
	r = build(&w, &p);
	assert_int_equal(find(&p, "backward/NULL")->launches, 2);
	assert_int_equal(find(&p, "forward/NULL")->launches, 1);
	assert_int_equal(find(&p, "(ambiguous)")->launches, 2);
	assert_int_equal(find(&p, "(ambiguous)/data")->launches, 1);
	/* of the work there, and while a range in it is open */
	assert_int_equal(find(&p, "(ambiguous)/data")->peak_bytes, 16 + 64);
	assert_int_equal(find(&p, "(ambiguous)")->peak_bytes, 16 + 64);
	assert_int_equal(find(&p, "backward")->open, 1);
	close_all(r, &p);
}

static void started_ranges_see_all_threads(void **state)
{
	(void)state;
	struct writer w;
	struct gp_phases p;
	begin(&w, "started.gpr");
	put_push(&w, 1, STEP, 1);
	put(&w, 1,
	    (struct gp_record){
		    .kind = GP_RANGE_START, .aux = DATA, .range_start = { 1, 0, 5, 0 } });
	put_alloc(&w, 1, 0x1000, 64);
	put_alloc(&w, 2, 0x2000, 128);
	put_free(&w, 1, 0x1000);
	put_launch(&w, 3);
	put(&w, 2, (struct gp_record){ .kind = GP_MARK, .aux = OPTIMIZER, .mark.source = 1 });
	put(&w, 1, (struct gp_record){ .kind = GP_MARK, .aux = OPTIMIZER, .mark.source = 1 });
	put(&w, 2, (struct gp_record){ .kind = GP_RANGE_END, .range_end = { 1, 0, 5, 0 } });
	put_launch(&w, 3);
	put(&w, 2, (struct gp_record){ .kind = GP_RANGE_END, .range_end = { 1, 0, 5, 0 } });
	put(&w, 1,
	    (struct gp_record){ .kind = GP_RANGE_POP, .aux = 1, .range_pop = { 2, 0, 1, 0 } });
	struct gp_recording *r = build(&w, &p);
	const struct gp_phase *data = find(&p, "data");
	assert_int_equal(data->style, GP_PHASE_STARTED);
	assert_int_equal(data->launches, 1);
	assert_int_equal(data->allocated_bytes, 192);
	assert_int_equal(data->freed_bytes, 64);
	assert_int_equal(data->retained_bytes, 128);
	assert_int_equal(data->peak_bytes, 192);
	assert_int_equal(data->time_ns, 7 * 64);
	assert_int_equal(p.unbalanced, 2);
	assert_int_equal(find(&p, "step/optimizer")->calls, 1);
	assert_int_equal(find(&p, "step/optimizer")->style, GP_PHASE_MARK);
	assert_int_equal(find(&p, "step")->allocated_bytes, 64);
	close_all(r, &p);
}

/* Memory held inside other threads' ranges at that time is not live outside of ranges. */
static void outside_has_a_peak_of_its_own(void **state)
{
	(void)state;
	struct writer w;
	struct gp_phases p;
	begin(&w, "outside.gpr");
	put_alloc(&w, 1, 0x1000, 100);
	put_free(&w, 1, 0x1000);
	put_push(&w, 1, FORWARD, 1);
	put_alloc(&w, 1, 0x2000, 1000);
	put_alloc(&w, 1, 0x3000, 300);
	put_free(&w, 1, 0x2000);
	put_pop(&w, 1, 1); /* 300 are live, without an event */
	const int64_t between_ns = (int64_t)w.time - 1024;
	put_push(&w, 1, BACKWARD, 1);
	put_free(&w, 1, 0x3000);
	put_alloc(&w, 1, 0x4000, 600);
	put_alloc(&w, 2, 0x5000, 50); /* beside a range: 600 before it, 650 after it */
	put_free(&w, 2, 0x5000);
	const int64_t inside_ns = (int64_t)w.time - 1024;
	put_alloc(&w, 1, 0x6000, 5000);
	put_free(&w, 1, 0x6000);
	put_free(&w, 1, 0x4000);
	put_pop(&w, 1, 1);
	put_launch(&w, 1);
	struct gp_recording *r = build(&w, &p);
	assert_int_equal(find(&p, "forward")->peak_bytes, 1300);
	assert_int_equal(find(&p, "backward")->peak_bytes, 5600);
	assert_int_equal(find(&p, "(outside)")->peak_bytes, 650);
	assert_int_equal(find(&p, "(outside)")->allocated_bytes, 150);
	close_all(r, &p);
	struct gp_phases_options part = whole;
	part.to_ns = between_ns;
	r = build_as(w.path, &part, &p);
	assert_int_equal(find(&p, "(outside)")->peak_bytes, 300);
	close_all(r, &p);
	part.from_ns = inside_ns + 1;
	part.to_ns = INT64_MAX;
	r = build_as(w.path, &part, &p);
	assert_int_equal(find(&p, "(outside)")->peak_bytes, 0);
	assert_int_equal(find(&p, "(outside)")->launches, 1);
	close_all(r, &p);
	unlink(w.path);
}

static void no_ranges_is_all_outside(void **state)
{
	(void)state;
	struct writer w;
	struct gp_phases p;
	uint64_t seed = 0;
	begin(&w, "none.gpr");
	put_work(&w, 2000, &seed);
	struct expected e = expect(&w);
	struct gp_recording *r = build(&w, &p);
	assert_int_equal(p.of, GP_CURVE_ALLOCATED);
	assert_int_equal(p.phases, 1);
	assert_int_equal(p.phase[0].style, GP_PHASE_OUTSIDE);
	assert_int_equal(p.phase[0].launches, e.launches);
	assert_int_equal(p.phase[0].allocated_bytes - p.phase[0].freed_bytes,
			 e.device.curve[GP_CURVE_ALLOCATED].now_bytes);
	assert_int_equal(p.phase[0].retained_bytes, e.device.curve[GP_CURVE_ALLOCATED].now_bytes);
	assert_int_equal(p.phase[0].peak_bytes, e.device.curve[GP_CURVE_ALLOCATED].peak_bytes);
	close_all(r, &p);
}

static void more_names_than_are_kept(void **state)
{
	(void)state;
	struct writer w;
	struct gp_phases p;
	begin(&w, "names.gpr");
	for (uint32_t k = 0; k < GP_PHASES_MOST + 100; k++) {
		put_push(&w, 1, 10 + k, 1);
		put_pop(&w, 1, 1);
	}
	struct gp_recording *r = build(&w, &p);
	assert_int_equal(p.phases, GP_PHASES_MOST + 1);
	assert_int_equal(p.phase[p.phases - 1].style, GP_PHASE_REST);
	assert_int_equal(p.phase[p.phases - 1].calls, 100);
	assert_null(p.phase[0].name);
	close_all(r, &p);
}

/* ---- the highest value since a moment ---- */

static void highest_values_match_a_search(void **state)
{
	(void)state;
	static uint64_t value[2000];
	struct gp_high high = { 0 };
	uint64_t seed = 1;
	for (unsigned k = 1; k < 2000; k++) {
		seed = seed * 6364136223846793005u + 1;
		value[k] = seed >> 54;
		assert_true(gp_high_put(&high, value[k]));
		assert_int_equal(high.number, k);
		unsigned since = 1 + (unsigned)(seed >> 20) % k;
		uint64_t most = 0;
		for (unsigned i = since; i <= k; i++)
			most = value[i] > most ? value[i] : most;
		assert_int_equal(gp_high_since(&high, since), most);
	}
	assert_int_equal(gp_high_since(&high, 5000), 0);
	gp_high_release(&high);
}

/* ---- random ranges against a model that keeps all events ---- */

#define CALLS 4000u
#define BLOCKS_LIVE 64u
struct model_call {
	unsigned path[16], depth; /* names from the outermost inward */
	uint64_t from, to, allocated, freed, launches, retained, peak;
	bool is_open;
};
struct model_block {
	uint64_t bytes;
	unsigned call[16], calls; /* all open calls when it was allocated */
};
static struct model_call call[CALLS];
static unsigned calls, open_call[4][16], open_calls[4];
static struct model_block block[BLOCKS_LIVE];
static uint64_t live_bytes, outside_launches, outside_peak;

static void model_outside(void)
{
	outside_peak = live_bytes > outside_peak ? live_bytes : outside_peak;
}

/* After each event: no thread is in a range. */
static void model_between(void)
{
	if (open_calls[0] + open_calls[1] + open_calls[2] + open_calls[3] == 0)
		model_outside();
}

static void model_step(void)
{
	for (unsigned k = 0; k < calls; k++)
		if (call[k].is_open && live_bytes > call[k].peak)
			call[k].peak = live_bytes;
}

static void model_push(struct writer *w, unsigned thread, unsigned name)
{
	struct model_call *c = &call[calls];
	unsigned depth = open_calls[thread];
	memset(c, 0, sizeof *c);
	for (unsigned d = 0; d < depth; d++)
		c->path[d] = call[open_call[thread][d]].path[d];
	c->path[depth] = name;
	c->depth = depth + 1;
	put_push(w, thread, name, 1);
	c->from = w->time;
	c->is_open = true;
	c->peak = live_bytes;
	open_call[thread][open_calls[thread]++] = calls++;
}

static void model_pop(struct writer *w, unsigned thread)
{
	unsigned which = open_call[thread][--open_calls[thread]];
	put_pop(w, thread, 1);
	call[which].to = w->time;
	call[which].is_open = false;
	for (unsigned b = 0; b < BLOCKS_LIVE; b++)
		for (unsigned k = 0; block[b].bytes && k < block[b].calls; k++)
			if (block[b].call[k] == which)
				call[which].retained += block[b].bytes;
}

static void model_block(struct writer *w, unsigned thread, unsigned b, uint64_t bytes)
{
	bool is_free = block[b].bytes != 0;
	if (open_calls[thread] == 0)
		model_outside();
	if (is_free) {
		put_free(w, thread, 0x10000 + b * 65536);
		live_bytes -= block[b].bytes;
		for (unsigned d = 0; d < open_calls[thread]; d++)
			call[open_call[thread][d]].freed += block[b].bytes;
		block[b].bytes = 0;
	} else {
		put_alloc(w, thread, 0x10000 + b * 65536, bytes);
		live_bytes += bytes;
		block[b].bytes = bytes;
		block[b].calls = open_calls[thread];
		memcpy(block[b].call, open_call[thread], sizeof block[b].call);
		for (unsigned d = 0; d < open_calls[thread]; d++)
			call[open_call[thread][d]].allocated += bytes;
	}
	if (open_calls[thread] == 0)
		model_outside();
	model_step();
}

static void model_launch(struct writer *w, unsigned thread)
{
	put_launch(w, thread);
	outside_launches += open_calls[thread] == 0;
	if (open_calls[thread] == 0)
		model_outside();
	for (unsigned d = 0; d < open_calls[thread]; d++)
		call[open_call[thread][d]].launches++;
}

static void assert_path(const struct gp_phases *p, size_t at, const unsigned *path, unsigned depth)
{
	uint64_t n = 0, time = 0, allocated = 0, freed = 0, retained = 0, peak = 0, launches = 0;
	for (unsigned k = 0; k < calls; k++) {
		const struct model_call *c = &call[k];
		if (c->depth != depth || memcmp(c->path, path, depth * sizeof *path) != 0)
			continue;
		n++;
		time += c->to - c->from;
		allocated += c->allocated;
		freed += c->freed;
		retained += c->retained;
		launches += c->launches;
		peak = c->peak > peak ? c->peak : peak;
	}
	assert_int_equal(p->phase[at].calls, n);
	assert_int_equal(p->phase[at].time_ns, time);
	assert_int_equal(p->phase[at].allocated_bytes, allocated);
	assert_int_equal(p->phase[at].freed_bytes, freed);
	assert_int_equal(p->phase[at].retained_bytes, retained);
	assert_int_equal(p->phase[at].peak_bytes, peak);
	assert_int_equal(p->phase[at].launches, launches);
}

static void random_ranges_match_a_model(void **state)
{
	(void)state;
	struct writer w;
	struct gp_phases p;
	uint64_t seed = 88172645463325252u;
	calls = 0;
	memset(open_calls, 0, sizeof open_calls);
	begin(&w, "random.gpr");
	for (unsigned i = 0; i < 30000 && calls < CALLS; i++) {
		seed = seed * 6364136223846793005u + 1442695040888963407u;
		unsigned thread = (unsigned)(seed >> 60) & 3, what = (unsigned)(seed >> 40) % 10;
		if (what < 2 && open_calls[thread] < 5)
			model_push(&w, thread, 1 + (unsigned)(seed >> 30) % 3);
		else if (what < 4 && open_calls[thread])
			model_pop(&w, thread);
		else if (what < 8)
			model_block(&w, thread, (unsigned)(seed >> 20) % BLOCKS_LIVE,
				    512 + (seed >> 50) * 8);
		else
			model_launch(&w, thread);
		model_between();
	}
	for (unsigned thread = 0; thread < 4; thread++)
		while (open_calls[thread])
			model_pop(&w, thread);
	model_between();
	struct gp_recording *r = build(&w, &p);
	static const char *const names[] = { "", "step", "forward", "backward" };
	unsigned path[16];
	uint64_t seen = 0;
	for (size_t k = 0; k < p.phases; k++) {
		const struct gp_phase *phase = &p.phase[k];
		if (phase->style != GP_PHASE_NESTED)
			continue;
		for (unsigned name = 1; name < 4; name++)
			if (strcmp(phase->name, names[name]) == 0)
				path[phase->depth] = name;
		assert_path(&p, k, path, phase->depth + 1);
		seen += phase->calls;
	}
	assert_true(calls > 2000);
	assert_int_equal(seen, calls);
	assert_int_equal(p.ranges, calls);
	assert_int_equal(find(&p, "(outside)")->launches, outside_launches);
	assert_int_equal(find(&p, "(outside)")->peak_bytes, outside_peak);
	close_all(r, &p);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_step_has_its_own_figures),
		cmocka_unit_test(backward_belongs_to_the_waiting_thread),
		cmocka_unit_test(a_worker_enters_again_for_another),
		cmocka_unit_test(ambiguous_work_is_marked),
		cmocka_unit_test(started_ranges_see_all_threads),
		cmocka_unit_test(outside_has_a_peak_of_its_own),
		cmocka_unit_test(no_ranges_is_all_outside),
		cmocka_unit_test(more_names_than_are_kept),
		cmocka_unit_test(highest_values_match_a_search),
		cmocka_unit_test(random_ranges_match_a_model),
	};
	return cmocka_run_group_tests(tests, make_directory, drop_directory);
}
