/*
 * The derived forward of a job that does not name one: loops of all kinds, each written as a line;
 * its figures, threads, holes.
 */
#include "forward_loops.h"

#include "analyze/phases/phase_kind.h"

/*
 * A loop as a line. d: a DataLoader's range; z: zero_grad; o: an optimizer's step with a launch. B:
 * a backward with three launches; a number: so many launches. (X opens the range that X stands for,
 * ) ends it.
 */
static void play(struct writer *w, unsigned thread, const char *line)
{
	while (*line != '\0') {
		char *end;
		unsigned long count = strtoul(line, &end, 10);
		char c = end != line ? '0' : *line;
		line = end != line ? end : line + 1;
		if (c == '0') {
			put_launches(w, thread, count);
		} else if (c == '(') {
			put_open(w, thread, *line++);
		} else if (c == ')') {
			put_end(w, thread);
		} else if (c != ' ') {
			put_open(w, thread, c);
			put_launches(w, thread, c == 'B' ? 3 : c == 'o');
			put_end(w, thread);
		}
	}
}

/* ---- loops ---- */

/* Three times the loop, and the derived forwards: at `path`, and in all. */
static const struct loop {
	const char *what, *line, *path;
	unsigned calls, launches, derived;
	unsigned is_named, none, unclear;
} loops[] = {
	{ "a loader, zero_grad first", "d 2 z 20 B o", "(derived)", 3, 60, 3, 0, 0, 0 },
	{ "zero_grad last", "d 20 B o z", "(derived)", 3, 60, 3, 0, 0, 0 },
	{ "zero_grad before backward", "d 20 z B o", "(derived)", 3, 60, 3, 0, 0, 0 },
	{ "the same with two optimizers", "d 20 z z B o o", "(derived)", 3, 60, 3, 0, 0, 0 },
	{ "the same, the loss is scaled: which is it?", "d 20 z 1 B o", "", 0, 0, 0, 0, 0, 3 },
	{ "no loader: the first begins nowhere", "20 B o z", "(derived)", 2, 40, 2, 0, 0, 1 },
	{ "no loader, zero_grad first", "z 20 B o", "(derived)", 3, 60, 3, 0, 0, 0 },
	{ "neither, only a step", "20 B o", "(derived)", 2, 40, 2, 0, 0, 1 },
	{ "not even that", "20 B", "(derived)", 2, 40, 2, 0, 0, 1 },
	{ "gradients are accumulated", "d 10 B d 10 B o z", "(derived)", 6, 60, 6, 0, 0, 0 },
	{ "and clipped", "d 20 B 7 o z", "(derived)", 3, 60, 3, 0, 0, 0 },
	{ "one graph twice", "d 20 B B o z", "(derived)", 3, 60, 3, 0, 3, 0 },
	{ "one graph, clipped between", "d 20 B 6 z B o", "(derived)", 3, 60, 3, 0, 0, 3 },
	{ "a penalty on gradients", "d z 20 B 8 B o", "(derived)", 6, 84, 6, 0, 0, 0 },
	{ "evaluation by a loader", "d 20 B o z d 9 d 9", "(derived)", 3, 60, 3, 0, 0, 0 },
	{ "evaluation that is named", "d (e 9 ) 20 B o z", "(derived)", 3, 87, 3, 0, 0, 0 },
	{ "it is a child", "d (e 9 ) 20 B o z", "(derived)/evaluate", 3, 27, 3, 0, 0, 0 },
	{ "an evaluation that loads", "d (e d 9 ) 20 B o z", "(derived)", 3, 60, 3, 0, 0, 0 },
	{ "inference alone", "d 20", "", 0, 0, 0, 0, 0, 0 },
	{ "two networks", "z 9 B 8 B o z 7 B o", "(derived)", 9, 72, 9, 0, 0, 0 },
	{ "two networks of one loss", "d 9 z B o 8 z B o", "(derived)", 6, 51, 6, 0, 0, 0 },
	{ "steps are named", "(s z 20 B o )", "a step/(derived)", 3, 60, 3, 0, 0, 0 },
	{ "steps, nothing before", "(s 20 B o z )", "a step/(derived)", 3, 60, 3, 0, 0, 0 },
	{ "steps behind a loader", "d 5 (s 20 B o z )", "a step/(derived)", 3, 60, 3, 0, 0, 0 },
	{ "steps with a log between", "(s d 20 B o z ) 4", "a step/(derived)", 3, 60, 3, 0, 0, 0 },
	{ "steps, zero_grad late", "(s d 20 z B o )", "a step/(derived)", 3, 60, 3, 0, 0, 0 },
	{ "micro batches", "d (m 20 B ) d (m 20 B ) o z", "micro batch/(derived)", 6, 120, 6, 0, 0,
	  0 },
	{ "a range over the loss: which is it?", "d 20 (m 2 B ) o z", "", 0, 0, 0, 0, 0, 3 },
	{ "a range around the model", "d (m 20 ) 3 B o z", "(derived)", 3, 69, 3, 0, 0, 0 },
	{ "it is a child, too", "d (m 20 ) 3 B o z", "(derived)/micro batch", 3, 60, 3, 0, 0, 0 },
	{ "layers", "d (l 5 ) (l 5 ) 3 B o z", "(derived)/feed_forward", 6, 30, 3, 0, 0, 0 },
	{ "the job names it", "d 2 (f 20 ) 3 B o z", "", 0, 0, 0, 3, 0, 0 },
	{ "it names a small part", "d (f 5 ) 20 B o z", "(derived)", 3, 75, 3, 0, 0, 0 },
	{ "it names it deeper", "d (m (f 20 ) 2 ) B o z", "", 0, 0, 0, 3, 0, 0 },
	{ "named, zero_grad late, scaled", "d (f 20 ) z 1 B o", "", 0, 0, 0, 3, 0, 0 },
	{ "backward in what is called forward", "d (f 20 B ) o z", "", 0, 0, 0, 3, 0, 0 },
	{ "backward is named", "d 20 (b 1 B ) o z", "(derived)", 3, 60, 3, 0, 0, 0 },
	{ "backward is named, in steps", "(s d 20 (b 1 B ) o z )", "a step/(derived)", 3, 60, 3, 0,
	  0, 0 },
	{ "two in one", "d 20 (b B 5 B ) o z", "(derived)", 3, 60, 3, 0, 3, 0 },
	{ "both in one name", "d (x 20 B ) o z", "forward and backward/(derived)", 3, 60, 3, 0, 0,
	  0 },
	{ "a closure", "d (o z 20 B 2 )", "Optimizer.step#AdamW.step/(derived)", 3, 60, 3, 0, 0,
	  0 },
	{ "a closure without zero_grad", "d (o 20 B 2 )", "Optimizer.step#AdamW.step/(derived)", 3,
	  60, 3, 0, 0, 0 },
	{ "backward inside backward", "d 20 (B 2 (B 2 ) 2 ) o z", "(derived)", 3, 60, 3, 0, 0, 0 },
	{ "an optimizer inside backward", "d 20 (B 2 o ) z", "(derived)", 3, 60, 3, 0, 0, 0 },
};

static void loops_of_all_kinds(void **state)
{
	(void)state;
	for (size_t k = 0; k < sizeof loops / sizeof *loops; k++) {
		const struct loop *l = &loops[k];
		struct writer w;
		struct gp_phases p;
		print_message("    %s: %s\n", l->what, l->line);
		start(&w, "loop.gpr");
		for (unsigned turn = 0; turn < 3; turn++)
			play(&w, 1, l->line);
		struct gp_recording *r = finish(&w, &p);
		if (*l->path != '\0') {
			const struct gp_phase *phase = find(&p, l->path);
			assert_int_equal(phase->calls, l->calls);
			assert_int_equal(phase->launches, l->launches);
		}
		assert_int_equal(p.forwards, l->derived);
		assert_int_equal(p.forwards_named, l->is_named);
		assert_int_equal(p.forwards_none, l->none);
		assert_int_equal(p.forwards_unclear, l->unclear);
		close_all(r, &p);
		unlink(w.path);
	}
}

/* ---- figures, threads, holes ---- */

static void it_has_the_figures_of_a_phase(void **state)
{
	(void)state;
	struct writer w;
	struct gp_phases p;
	start(&w, "figures.gpr");
	play(&w, 1, "d");
	for (unsigned k = 0; k < 3; k++) {
		uint64_t before = w.time; /* the end of zero_grad or of the loader */
		put_alloc(&w, 1, 0x1000, 512);
		play(&w, 1, "(m 6");
		put_alloc(&w, 1, 0x2000, 256);
		put_alloc(&w, 1, 0x3000, 128);
		put_free(&w, 1, 0x3000);
		play(&w, 1, ") 2 (B");
		assert_int_equal(w.time - before, 15 * 64);
		put_free(&w, 1, 0x1000);
		put_free(&w, 1, 0x2000);
		play(&w, 1, ") o z");
	}
	put_alloc(&w, 1, 0x1000, 64); /* no backward follows the work that begins here */
	play(&w, 1, "5");
	struct gp_recording *r = finish(&w, &p);
	const struct gp_phase *forward = find(&p, "(derived)");
	assert_string_equal(forward->name, "forward");
	assert_int_equal(forward->source, GP_RANGE_DERIVED);
	assert_string_equal(gp_range_source_name(forward->source), "derived");
	assert_int_equal(forward->style, GP_PHASE_NESTED);
	assert_int_equal(forward->children, 1);
	assert_int_equal(forward->calls, 3);
	assert_int_equal(forward->time_ns, 3 * 15 * 64);
	assert_int_equal(forward->deviation_ns, 0);
	assert_int_equal(forward->allocated_bytes, 3 * (512 + 256 + 128));
	assert_int_equal(forward->freed_bytes, 3 * 128);
	assert_int_equal(forward->retained_bytes, 3 * (512 + 256));
	assert_int_equal(forward->peak_bytes, 512 + 256 + 128);
	assert_int_equal(forward->launches, 3 * 8);
	assert_int_equal(find(&p, "(derived)/micro batch")->retained_bytes, 3 * 256);
	assert_int_equal(find(&p, "backward")->freed_bytes, 3 * (512 + 256));
	assert_int_equal(find(&p, "(outside)")->launches, 5);
	assert_int_equal(find(&p, "(outside)")->allocated_bytes, 64);
	assert_int_equal(find(&p, "(outside)")->peak_bytes, 64);
	assert_int_equal(p.ranges, 1 + 3 * 4);
	close_all(r, &p);
	struct gp_phases_options recorded = whole;
	recorded.is_recorded_only = true;
	r = build_as(w.path, &recorded, &p);
	assert_int_equal(find(&p, "(outside)")->launches, 5 + 3 * 2);
	assert_int_equal(find(&p, "micro batch")->calls, 3);
	assert_int_equal(p.forwards + p.forwards_unclear, 0);
	close_all(r, &p);
}

/* From inside the second forward into the third. */
static void a_span_clips_it(void **state)
{
	(void)state;
	struct writer w;
	struct gp_phases p;
	struct gp_phases_options span = whole;
	start(&w, "clipped.gpr");
	play(&w, 1, "d 20 B o z (s 10");
	span.from_ns = (int64_t)(w.time - w.header.start_ticks) + 64;
	play(&w, 1, "10 B o z ) (s 5 (m 5");
	span.to_ns = (int64_t)(w.time - w.header.start_ticks);
	play(&w, 1, "5 ) 5 B o z )");
	close_all(finish(&w, &p), &p);
	struct gp_recording *r = build_as(w.path, &span, &p);
	const struct gp_phase *forward = find(&p, "a step/(derived)");
	assert_int_equal(forward->calls, 2);
	assert_int_equal(forward->open, 1);
	assert_int_equal(forward->launches, 10 + 10);
	assert_int_equal(forward->time_ns, (10 + 11) * 64);
	assert_int_equal(find(&p, "a step/(derived)/micro batch")->open, 1);
	assert_int_equal(find(&p, "a step")->open, 1);
	close_all(r, &p);
}

static void threads_have_their_own(void **state)
{
	(void)state;
	struct writer w;
	struct gp_phases p;
	start(&w, "threads.gpr");
	define_thread(&w, 1, "python");
	define_thread(&w, 2, "trainer");
	define_thread(&w, 3, "pt_autograd_0");
	for (unsigned k = 0; k < 4; k++) {
		play(&w, 1, "d 3");
		play(&w, 2, "(s d 2 (m 2");
		play(&w, 1, "7 (B");
		play(&w, 2, "8");
		play(&w, 3, "4");	 /* for thread 1 */
		play(&w, 3, "1 (B 1 )"); /* a checkpoint's own backward */
		play(&w, 3, "9 (B 1 )"); /* this is not a forward */
		play(&w, 1, ") o z");
		play(&w, 2, ") 1 B o z )");
	}
	struct gp_recording *r = finish(&w, &p);
	assert_int_equal(find(&p, "(derived)")->calls, 4);
	assert_int_equal(find(&p, "(derived)")->launches, 4 * 10);
	assert_int_equal(find(&p, "a step/(derived)")->calls, 4);
	assert_int_equal(find(&p, "a step/(derived)")->launches, 4 * 13);
	assert_int_equal(find(&p, "a step/(derived)/micro batch")->launches, 4 * 10);
	assert_int_equal(find(&p, "backward")->launches, 4 * 16);
	assert_int_equal(p.forwards, 8);
	assert_int_equal(p.forwards_unclear + p.forwards_none + p.forwards_named, 0);
	close_all(r, &p);
	/* backward() is called on another thread than forward */
	start(&w, "elsewhere.gpr");
	define_thread(&w, 3, "pt_autograd_0");
	for (unsigned k = 0; k < 3; k++) {
		play(&w, 1, "d 20");
		play(&w, 2, "B");
		play(&w, 1, "o z");
	}
	r = finish(&w, &p);
	assert_int_equal(p.forwards, 0);
	assert_int_equal(p.forwards_unclear, 1);
	assert_int_equal(p.forwards_none, 2); /* work of thread 2 between two backwards */
	close_all(r, &p);
}

/* Events at its beginning may be missing. */
static void holes_leave_it_out(void **state)
{
	(void)state;
	static const struct gp_record hole[] = {
		{ .kind = GP_LOST, .aux = 64, .lost = { .other = 1 } },
		{ .kind = GP_GAP, .aux = 1 },
		{ .kind = GP_SCOPE, .aux = 1, .scope = { .number = 1 } },
		/* a range around it whose beginning is missing */
		{ .kind = GP_RANGE_PUSH, .aux = 13, .range_push = { 1, 0, 3, 0 } },
	};
	for (unsigned k = 0; k < 5; k++) {
		struct writer w;
		struct gp_phases p;
		start(&w, "hole.gpr");
		play(&w, 1, "d 20 B o z d 10");
		if (k < 4)
			put(&w, 1, hole[k]);
		if (k == 3) {
			put(&w, 1,
			    (struct gp_record){ .kind = GP_RANGE_POP,
						.range_pop = { 1, 0, 3, 0 } });
		}
		play(&w, 1, "10 B o z d 20 B");
		struct gp_recording *r = finish(&w, &p);
		assert_int_equal(p.forwards, k < 4 ? 2 : 3);
		assert_int_equal(p.forwards_unclear, k < 4 ? 1 : 0);
		close_all(r, &p);
	}
}

/* A recording that begins within a step: the range is recorded, its earlier content is not. */
static void ranges_from_before_have_no_forward(void **state)
{
	(void)state;
	struct writer w;
	struct gp_phases p;
	start(&w, "late.gpr");
	put(&w, 1,
	    (struct gp_record){ .kind = GP_RANGE_RESUMED,
				.aux = 10,
				.range_resumed = { 1, 0, 0, w.time - 128 } });
	depth_of[1] = 1;
	open_source[1][0] = GP_RANGE_NVTX;
	play(&w, 1, "20 B o z ) (s 20 B o z )");
	struct gp_recording *r = finish(&w, &p);
	assert_int_equal(find(&p, "a step")->calls, 2);
	assert_int_equal(find(&p, "a step/(derived)")->calls, 1);
	assert_int_equal(p.forwards_unclear, 1);
	close_all(r, &p);
}

/* Without launches, allocations show the work. */
static void memory_has_to_do(void **state)
{
	(void)state;
	struct writer w;
	struct gp_phases p;
	start(&w, "memory.gpr");
	for (unsigned k = 0; k < 3; k++) {
		play(&w, 1, "d");
		for (unsigned b = 0; b < 6; b++)
			put_alloc(&w, 1, 0x1000 + b * 0x1000 + k * 0x100000, 512);
		play(&w, 1, "(B ) (B ) (o ) z");
	}
	struct gp_recording *r = finish(&w, &p);
	assert_int_equal(find(&p, "(derived)")->calls, 3);
	assert_int_equal(find(&p, "(derived)")->allocated_bytes, 3 * 6 * 512);
	assert_int_equal(p.forwards_none, 3);
	close_all(r, &p);
}

static void names_are_words(void **state)
{
	(void)state;
	static const struct {
		unsigned source;
		const char *text;
		enum gp_phase_kind kind;
	} names[] = {
		{ GP_RANGE_NVTX, "forward", GP_PHASE_FORWARD },
		{ GP_RANGE_NVTX, "Forward 12", GP_PHASE_FORWARD },
		{ GP_RANGE_TORCH, "DistributedDataParallel.forward", GP_PHASE_FORWARD },
		{ GP_RANGE_NVTX, "fwd_0", GP_PHASE_FORWARD },
		{ GP_RANGE_TORCH, "FSDP::pre_forward (layers.0)", GP_PHASE_OTHER },
		{ GP_RANGE_TORCH, "FullyShardedDataParallel._pre_forward", GP_PHASE_OTHER },
		{ GP_RANGE_TORCH, "FSDP::post_backward_reduce (x)", GP_PHASE_OTHER },
		{ GP_RANGE_NVTX, "feed forward", GP_PHASE_OTHER },
		{ GP_RANGE_NVTX, "straightforward", GP_PHASE_OTHER },
		{ GP_RANGE_NVTX, "forward-backward", GP_PHASE_OTHER },
		{ GP_RANGE_NVTX, "DeepSpeedEngine.backward", GP_PHASE_BACKWARD },
		{ GP_RANGE_NVTX, "AddmmBackward0", GP_PHASE_OTHER },
		{ GP_RANGE_NVTX, "", GP_PHASE_OTHER },
		{ GP_RANGE_NVTX, NULL, GP_PHASE_OTHER },
		{ GP_RANGE_ENGINE, NULL, GP_PHASE_ENGINE },
		{ GP_RANGE_CONTROL, "forward", GP_PHASE_OTHER },
		{ GP_RANGE_TORCH, "Optimizer.step#Adam.step", GP_PHASE_OPTIMIZER },
		{ GP_RANGE_NVTX, "Optimizer.step#Adam.step", GP_PHASE_OTHER },
		{ GP_RANGE_TORCH, "Optimizer.zero_grad#Adam.zero_grad", GP_PHASE_ZERO_GRAD },
		{ GP_RANGE_TORCH, "enumerate(DataLoader)#X.__next__", GP_PHASE_DATA },
	};
	for (size_t k = 0; k < sizeof names / sizeof *names; k++)
		assert_int_equal(gp_phase_kind_of(names[k].source, names[k].text), names[k].kind);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(loops_of_all_kinds),
		cmocka_unit_test(it_has_the_figures_of_a_phase),
		cmocka_unit_test(a_span_clips_it),
		cmocka_unit_test(threads_have_their_own),
		cmocka_unit_test(holes_leave_it_out),
		cmocka_unit_test(ranges_from_before_have_no_forward),
		cmocka_unit_test(memory_has_to_do),
		cmocka_unit_test(names_are_words),
	};
	return cmocka_run_group_tests(tests, make_directory, drop_directory);
}
