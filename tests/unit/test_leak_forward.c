/* Activations of one forward pass and a leak: the blocks after the first one decide. */
#include "recording_writer.h"

#include "analyze/leaks/leak_forward.h"
#include "python_stacks.h"

#define FIRST_BLOCK 0x100000u

static const struct line forward_line[] = { { "/srv/job/train.py", "<module>", 7 },
					    { "/x/torch/nn/modules/module.py", "_call_impl", 1 },
					    { NULL, NULL, 0 } };
static const struct line backward_line[] = { { "/srv/job/train.py", "<module>", 8 },
					     { "/x/torch/autograd/__init__.py", "backward", 9 },
					     { NULL, NULL, 0 } };

static int64_t now_ns(const struct stacks *s)
{
	return (int64_t)(s->w.time - s->w.header.start_ticks);
}

static void put_oom(struct stacks *s)
{
	put(&s->w, 0, (struct gp_record){ .kind = GP_OOM, .oom = { .bytes = 1 << 30 } });
}

static void free_block(struct stacks *s, uint64_t address, uint64_t bytes)
{
	s->allocated -= bytes;
	put(&s->w, 0,
	    (struct gp_record){ .kind = GP_BLOCK_FREE,
				.block_free = { address, bytes, s->allocated, 0 } });
}

/*
 * Letters, in order: F and B a block that a forward and a backward allocates, O an OOM, | the last
 * sample. X frees the newest block of the suspect: the last F before the sample.
 */
static void judge(const char *story, bool is_sealed, struct gp_leak leak, struct gp_leaks *all)
{
	static struct gp_leak found;
	struct stacks s = { .why_native = GP_WHY_OFF };
	uint64_t newest = 0;
	writer_open(&s.w, "forward", 0, 0);
	found = leak;
	found.since_ns = now_ns(&s) + 1;
	*all = (struct gp_leaks){ .steps = all->steps, .leaks = 1, .leak = &found };
	for (const char *at = story; *at != '\0'; at++) {
		if (*at == 'F' || *at == 'B')
			add_block(&s, 4096, *at == 'F' ? forward_line : backward_line);
		if (*at == 'F' && all->last_ns == 0)
			/* the address that add_block gives */
			newest = (uint64_t)FIRST_BLOCK * s.ids;
		if (*at == 'O')
			put_oom(&s);
		if (*at == 'X')
			free_block(&s, newest, 4096);
		if (*at == '|')
			all->last_ns = now_ns(&s);
	}
	found.examples = 1;
	found.example[0].address = newest;
	writer_close(&s.w, is_sealed);
	const struct gp_info *info;
	struct gp_recording *r = fixture_info(s.w.path, &info);
	assert_int_equal(gp_leak_forward_judge(r, all), GP_OK);
	gp_recording_close(r);
}

enum verdict { LEAK, PERHAPS, ACTIVATIONS };

static enum verdict verdict_of(const struct gp_leaks *all)
{
	assert_int_equal(all->leaks + all->activations, 1);
	if (all->activations == 1)
		return ACTIVATIONS;
	return all->leak[0].may_be_activations ? PERHAPS : LEAK;
}

static const struct gp_leak of_pytorch = { .space = GP_SPACE_BLOCK };

static void a_backward_pass_decides(void **state)
{
	(void)state;
	static const struct {
		const char *story;
		bool is_sealed;
		enum verdict verdict;
	} rows[] = {
		{ "FFFF|", true, LEAK },      /* an inference job */
		{ "FFFF|", false, PERHAPS },  /* that was killed here */
		{ "FFFF|FO", true, PERHAPS }, /* the forward pass ended in an OOM */
		{ "FFOFF|F", true, LEAK },    /* an OOM that the job survived */
		{ "FFFF|BX", true, ACTIVATIONS },
		{ "FFFF|BXF", true, ACTIVATIONS },
		{ "FFFF|BF", true, LEAK },	 /* the backward pass has not freed it */
		{ "FFFF|BFX", true, LEAK },	 /* freed, but after the backward pass */
		{ "FFFFB|", true, ACTIVATIONS }, /* the pass was under way at the end */
		{ "FFFFB|BXF", true, ACTIVATIONS },
		{ "FFBFF|", true, LEAK }, /* it survived a backward pass */
		{ "FFBFF|BX", true, LEAK },
		{ "FFBFF|O", true, LEAK },
		{ "FFBFF|", false, LEAK },
	};
	for (size_t k = 0; k < sizeof rows / sizeof *rows; k++) {
		struct gp_leaks all = { 0 };
		judge(rows[k].story, rows[k].is_sealed, of_pytorch, &all);
		print_message("%s: %u\n", rows[k].story, verdict_of(&all));
		assert_int_equal(verdict_of(&all), rows[k].verdict);
	}
}

/* Only blocks of the framework are activations, and only where the job does not name its steps. */
static void others_stay(void **state)
{
	(void)state;
	const struct gp_leak others[] = { { .space = GP_SPACE_DEVICE },
					  { .space = GP_SPACE_BLOCK, .is_object = true } };
	for (size_t k = 0; k < 2; k++) {
		struct gp_leaks all = { 0 };
		judge("FFFF|BX", true, others[k], &all);
		assert_int_equal(verdict_of(&all), LEAK);
	}
	struct gp_leaks all = { .steps.source = GP_STEPS_RANGES };
	judge("FFFF|BX", true, of_pytorch, &all);
	assert_int_equal(verdict_of(&all), LEAK);
	all = (struct gp_leaks){ 0 };
	judge("FFFF|BX", true, of_pytorch, &all);
	assert_int_equal(verdict_of(&all), ACTIVATIONS);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_backward_pass_decides),
		cmocka_unit_test(others_stay),
	};
	return cmocka_run_group_tests(tests, make_directory, drop_directory);
}
