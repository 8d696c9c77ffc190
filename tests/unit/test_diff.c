/* Equal stacks of two recordings are one group, even if ids, directories and order differ. */
#include "python_stacks.h"

#define SITE "/opt/venv/lib/python3.12/site-packages/"
#define CONDA "/opt/u/conda/lib/python3.10/site-packages/"

struct side {
	struct gp_recording *recording;
	struct gp_peak peak;
};

static void write_side(struct stacks *s, const char *name)
{
	*s = (struct stacks){ .why_native = GP_WHY_OFF };
	writer_open(&s->w, name, 0, 0);
}

static void read_side(struct stacks *s, struct side *side)
{
	writer_close(&s->w, true);
	assert_int_equal(gp_recording_open(s->w.path, &side->recording, NULL), GP_OK);
	assert_int_equal(gp_peak_build(side->recording, GP_AT_PEAK, 0, &side->peak), GP_OK);
}

static void close_side(struct side *side)
{
	gp_peak_free(&side->peak);
	gp_recording_close(side->recording);
}

/* Compares the first curve, in that order; the groups contain all bytes of a side. */
static struct gp_diff compare_how(const struct side *side, size_t sides,
				  const struct gp_diff_how *how)
{
	struct gp_diff_side held[4] = { 0 };
	struct gp_diff diff;
	for (size_t k = 0; k < sides; k++) {
		const struct gp_holders *h = &side[k].peak.holder[0];
		held[k] = (struct gp_diff_side){ side[k].recording, h->uses, h->use };
	}
	assert_int_equal(gp_diff_build(held, sides, how, &diff), GP_OK);
	for (size_t k = 0; k < sides; k++) {
		uint64_t bytes = 0;
		for (size_t g = 0; g < diff.groups; g++)
			bytes += diff.group[g].part[k].bytes;
		assert_int_equal(bytes, side[k].peak.holder[0].live_bytes);
	}
	for (size_t g = 0; g < diff.groups; g++)
		for (size_t i = 0; i < g; i++)
			assert_string_not_equal(diff.group[i].key, diff.group[g].key);
	return diff;
}

static struct gp_diff compare_sides(const struct side *side, size_t sides, enum gp_by by,
				    bool ignores_lines)
{
	const struct gp_grouping grouping = { .by = by };
	const struct gp_diff_how how = { .grouping = &grouping, .ignores_lines = ignores_lines };
	return compare_how(side, sides, &how);
}

/* ---- names instead of places ---- */

static const struct line old_step[] = { { "/srv/job/train.py", "<module>", 99 },
					{ SITE "torch/optim/adam.py", "Adam.step", 178 },
					{ "/srv/job/model.py", "Block.forward", 12 },
					{ 0 } };
static const struct line moved_step[] = { { "/opt/u/job/train.py", "<module>", 99 },
					  { CONDA "torch/optim/adam.py", "step", 178 },
					  { "/opt/u/job/model.py", "forward", 12 },
					  { 0 } };
static const struct line edited_step[] = { { "/srv/job/train.py", "<module>", 120 },
					   { SITE "torch/optim/adam.py", "Adam.step", 178 },
					   { "/srv/job/model.py", "Block.forward", 14 },
					   { 0 } };
static const struct line extra[] = { { "/srv/job/train.py", "<module>", 101 }, { 0 } };

static void other_directories_and_pythons_compare_equal(void **state)
{
	(void)state;
	struct stacks s;
	struct side side[2];
	write_side(&s, "here.gpr");
	add_block(&s, 4096, old_step);
	add_block(&s, 512, extra);
	read_side(&s, &side[0]);
	write_side(&s, "there.gpr");
	add_block(&s, 512, extra);
	add_block(&s, 1024, moved_step);
	add_block(&s, 3072, moved_step);
	read_side(&s, &side[1]);
	for (unsigned by = 0; by < 2; by++) {
		struct gp_diff diff = compare_sides(side, 2, by ? GP_BY_LINE : GP_BY_STACK, false);
		assert_int_equal(diff.groups, 2);
		assert_int_equal(diff.changed, 1); /* two blocks now, of as many bytes */
		assert_int_equal(diff.group[0].part[0].bytes, 4096);
		assert_int_equal(diff.group[0].part[1].bytes, 4096);
		assert_int_equal(diff.group[0].part[0].count, 1);
		assert_int_equal(diff.group[0].part[1].count, 2);
		assert_int_equal(diff.group[0].greatest, 0);
		assert_string_equal(diff.group[0].key, "model.py:12 forward");
		gp_diff_free(&diff);
	}
	close_side(&side[0]);
	close_side(&side[1]);
}

static void edited_lines_are_one_only_when_lines_are_ignored(void **state)
{
	(void)state;
	struct stacks s;
	struct side side[2];
	write_side(&s, "before.gpr");
	add_block(&s, 4096, old_step);
	add_block(&s, 512, extra);
	read_side(&s, &side[0]);
	write_side(&s, "after.gpr");
	add_block(&s, 8192, edited_step);
	add_block(&s, 512, extra);
	read_side(&s, &side[1]);
	struct gp_diff diff = compare_sides(side, 2, GP_BY_STACK, false);
	assert_int_equal(diff.groups, 3);
	assert_int_equal(diff.changed, 2);
	assert_int_equal(diff.moved, 2);
	assert_string_equal(diff.group[0].key, "model.py:14 Block.forward");
	assert_int_equal(diff.group[0].part[0].stacks, 0);
	assert_true(diff.group[0].is_moved && diff.group[1].is_moved);
	assert_false(diff.group[2].is_moved);
	gp_diff_free(&diff);
	diff = compare_sides(side, 2, GP_BY_STACK, true);
	assert_int_equal(diff.groups, 2);
	assert_int_equal(diff.changed, 1);
	assert_int_equal(diff.moved, 0);
	assert_int_equal(diff.group[0].greatest, 4096);
	gp_diff_free(&diff);
	close_side(&side[0]);
	close_side(&side[1]);
}

/* A stack that has another line of the caller's file in each recording is two groups. */
static void keys_separate_stacks_of_one_side(void **state)
{
	(void)state;
	static const struct line from_first[] = { { "/srv/a.py", "<module>", 1 },
						  { SITE "lib/pool.py", "get", 5 },
						  { 0 } };
	static const struct line from_second[] = { { "/srv/a.py", "<module>", 1 },
						   { SITE "lib/pool.py", "get", 6 },
						   { 0 } };
	struct stacks s;
	struct side side[2];
	write_side(&s, "one.gpr");
	add_block(&s, 4096, from_first);
	read_side(&s, &side[0]);
	write_side(&s, "other.gpr");
	add_block(&s, 2048, from_second);
	read_side(&s, &side[1]);
	struct gp_diff diff = compare_sides(side, 2, GP_BY_STACK, false);
	assert_int_equal(diff.groups, 2);
	assert_string_equal(diff.group[0].key, "get  a.py:1 <module>  via pool.py:5 get");
	assert_string_equal(diff.group[1].key, "get  a.py:1 <module>  via pool.py:6 get");
	gp_diff_free(&diff);
	diff = compare_sides(side, 2, GP_BY_LINE, false);
	assert_int_equal(diff.groups, 1);
	assert_int_equal(diff.group[0].greatest, 2048);
	gp_diff_free(&diff);
	close_side(&side[0]);
	close_side(&side[1]);
}

/*
 * Code that inductor generated again has another file and other lines, but belongs to the same
 * caller.
 */
static void generated_files_are_one_when_lines_are_ignored(void **state)
{
	(void)state;
	static const struct line first[] = { { "/srv/a.py", "<module>", 1 },
					     { "/tmp/torchinductor_u/ab/cabc.py", "call", 99 },
					     { 0 } };
	static const struct line second[] = { { "/srv/a.py", "<module>", 1 },
					      { "/tmp/torchinductor_u/de/cdef.py", "call", 105 },
					      { 0 } };
	struct stacks s;
	struct side side[2];
	write_side(&s, "cached.gpr");
	add_block(&s, 4096, first);
	read_side(&s, &side[0]);
	write_side(&s, "compiled.gpr");
	add_block(&s, 4096, second);
	read_side(&s, &side[1]);
	struct gp_diff diff = compare_sides(side, 2, GP_BY_STACK, false);
	assert_int_equal(diff.changed, 2);
	assert_int_equal(diff.moved, 2);
	gp_diff_free(&diff);
	diff = compare_sides(side, 2, GP_BY_STACK, true);
	assert_int_equal(diff.changed, 0);
	gp_diff_free(&diff);
	close_side(&side[0]);
	close_side(&side[1]);
}

/* ---- against a simple comparison ---- */

#define STACKS 60u
#define FRAMES 3u
#define SIDES 3u

struct drawn {
	struct line line[FRAMES + 1];
	char file[FRAMES][32], function[FRAMES][32];
	uint64_t bytes[SIDES], count[SIDES];
};

static uint64_t draw(uint64_t *random)
{
	*random = *random * 6364136223846793005u + 1442695040888963407u;
	return *random >> 33;
}

/* Different stacks with few names, so that many of them share frames and keys. */
static void draw_stacks(struct drawn *drawn, uint64_t *random)
{
	for (unsigned k = 0; k < STACKS; k++) {
		struct drawn *d = &drawn[k];
		*d = (struct drawn){ 0 };
		for (unsigned f = 0; f < FRAMES; f++) {
			snprintf(d->file[f], sizeof d->file[f], "/srv/%u.py",
				 (unsigned)(draw(random) % 2));
			snprintf(d->function[f], sizeof d->function[f], "f%u",
				 (unsigned)(draw(random) % 2));
			d->line[f] = (struct line){ d->file[f], d->function[f],
						    1 + (uint32_t)(draw(random) % 3) };
		}
		/* the line of the outermost frame is the number of the stack */
		d->line[0].line = 100 + k;
	}
}

static void write_drawn(struct drawn *drawn, unsigned number, uint64_t *random, struct side *side)
{
	char name[32];
	struct stacks s;
	snprintf(name, sizeof name, "drawn-%u.gpr", number);
	write_side(&s, name);
	for (unsigned k = 0; k < STACKS; k++) {
		/* each side has its own order */
		struct drawn *d = &drawn[(k * 7 + number * 13) % STACKS];
		for (uint64_t left = draw(random) % 3; left > 0; left--) {
			uint64_t bytes = 512 * (1 + draw(random) % 8);
			add_block(&s, bytes, d->line);
			d->bytes[number] += bytes;
			d->count[number]++;
		}
	}
	read_side(&s, side);
}

static uint64_t greatest_of(const struct drawn *d)
{
	uint64_t greatest = 0;
	for (unsigned s = 1; s < SIDES; s++) {
		uint64_t change = d->bytes[s] > d->bytes[0] ? d->bytes[s] - d->bytes[0] :
							      d->bytes[0] - d->bytes[s];
		greatest = change > greatest ? change : greatest;
	}
	return greatest;
}

/* Finds the stack of a group by the line of its outermost frame. */
static struct drawn *drawn_of(struct drawn *drawn, const struct side *side,
			      const struct gp_diff_group *g)
{
	struct gp_stack s;
	struct gp_frame frame[8];
	assert_true(gp_recording_stack(side[g->shown].recording, g->stack, g->at_ns,
				       GP_STACK_SYMBOLS, &s, frame, 8));
	assert_int_equal(s.frames, FRAMES);
	return &drawn[frame[FRAMES - 1].line - 100];
}

static void sums_and_order_are_those_of_the_plainest_way(void **state)
{
	(void)state;
	uint64_t random = 7;
	for (unsigned turn = 0; turn < 20; turn++) {
		struct drawn drawn[STACKS];
		struct side side[SIDES];
		size_t there = 0, changed = 0;
		draw_stacks(drawn, &random);
		for (unsigned k = 0; k < SIDES; k++)
			write_drawn(drawn, k, &random, &side[k]);
		for (unsigned k = 0; k < STACKS; k++) {
			const struct drawn *d = &drawn[k];
			bool is_same = memcmp(d->count,
					      (uint64_t[]){ d->count[0], d->count[0], d->count[0] },
					      sizeof d->count) == 0;
			there += d->count[0] + d->count[1] + d->count[2] > 0;
			changed += !is_same || greatest_of(d) > 0;
		}
		struct gp_diff diff = compare_sides(side, SIDES, GP_BY_STACK, false);
		assert_int_equal(diff.groups, there);
		assert_int_equal(diff.changed, changed);
		for (size_t g = 0; g < diff.groups; g++) {
			const struct drawn *d = drawn_of(drawn, side, &diff.group[g]);
			for (unsigned k = 0; k < SIDES; k++) {
				assert_int_equal(diff.group[g].part[k].bytes, d->bytes[k]);
				assert_int_equal(diff.group[g].part[k].count, d->count[k]);
			}
			assert_int_equal(diff.group[g].greatest, greatest_of(d));
			if (g > 0 && g < diff.changed)
				assert_true(diff.group[g].greatest <= diff.group[g - 1].greatest);
		}
		gp_diff_free(&diff);
		for (unsigned k = 0; k < SIDES; k++)
			close_side(&side[k]);
	}
}

/* The other order has opposite signs: the sides of a group do not depend on the order. */
static void the_reverse_order_negates_the_changes(void **state)
{
	(void)state;
	uint64_t random = 11;
	struct drawn drawn[STACKS];
	struct side side[2], turned[2];
	draw_stacks(drawn, &random);
	write_drawn(drawn, 0, &random, &side[0]);
	write_drawn(drawn, 1, &random, &side[1]);
	turned[0] = side[1];
	turned[1] = side[0];
	struct gp_diff a = compare_sides(side, 2, GP_BY_STACK, false);
	struct gp_diff b = compare_sides(turned, 2, GP_BY_STACK, false);
	assert_int_equal(a.groups, b.groups);
	assert_int_equal(a.changed, b.changed);
	for (size_t g = 0; g < a.groups; g++) {
		const struct drawn *d = drawn_of(drawn, side, &a.group[g]);
		size_t i = 0;
		while (i < b.groups && drawn_of(drawn, turned, &b.group[i]) != d)
			i++;
		assert_true(i < b.groups);
		assert_int_equal(b.group[i].part[0].bytes, a.group[g].part[1].bytes);
		assert_int_equal(b.group[i].part[1].bytes, a.group[g].part[0].bytes);
		assert_int_equal(b.group[i].greatest, a.group[g].greatest);
	}
	gp_diff_free(&a);
	gp_diff_free(&b);
	/* a recording compared with itself has no difference */
	turned[0] = turned[1] = side[0];
	a = compare_sides(turned, 2, GP_BY_STACK, false);
	assert_int_equal(a.changed, 0);
	assert_int_equal(a.moved, 0);
	gp_diff_free(&a);
	close_side(&side[0]);
	close_side(&side[1]);
}

/* ---- renamed callers ---- */

static const struct line old_caller[] = { { "/srv/job/serve.py", "main", 20 },
					  { "/srv/job/serve.py", "serve", 40 },
					  { "/srv/job/model.py", "forward", 12 },
					  { SITE "torch/functional.py", "cat", 7 },
					  { 0 } };
static const struct line new_caller[] = {
	{ "/srv/job/serve.py", "main", 21 },	  { "/srv/job/cache.py", "with_cache", 3 },
	{ "/srv/job/serve.py", "serve", 40 },	  { "/srv/job/model.py", "forward", 12 },
	{ SITE "torch/functional.py", "cat", 7 }, { 0 }
};
/* this stack shares the line of the package and the line of the user with old_caller, */
static const struct line line_alone[] = { { "/srv/job/cache.py", "warm_up", 8 },
					  { "/srv/job/model.py", "forward", 12 },
					  { SITE "torch/functional.py", "cat", 7 },
					  { 0 } };
/* and this one only the line of the package */
static const struct line line_beside[] = { { "/srv/job/cache.py", "warm_up", 8 },
					   { "/srv/job/model.py", "forward", 13 },
					   { SITE "torch/functional.py", "cat", 7 },
					   { 0 } };

static struct gp_diff compare_two(const struct line *a, uint64_t a_bytes,
				  const struct line *const b[2], const uint64_t b_bytes[2],
				  bool matches_inner)
{
	const struct gp_grouping grouping = { .by = GP_BY_STACK };
	const struct gp_diff_how how = { .grouping = &grouping, .matches_inner = matches_inner };
	struct stacks s;
	struct side side[2];
	write_side(&s, "a.gpr");
	add_block(&s, a_bytes, a);
	read_side(&s, &side[0]);
	write_side(&s, "b.gpr");
	for (size_t k = 0; k < 2; k++)
		if (b[k] != NULL)
			add_block(&s, b_bytes[k], b[k]);
	read_side(&s, &side[1]);
	struct gp_diff diff = compare_how(side, 2, &how);
	close_side(&side[0]);
	close_side(&side[1]);
	return diff;
}

static void a_renamed_caller_compares_equal(void **state)
{
	(void)state;
	const struct line *const b[2] = { new_caller, extra };
	const uint64_t bytes[2] = { 65536, 512 };
	struct gp_diff diff = compare_two(old_caller, 65536, b, bytes, true);
	assert_int_equal(diff.groups, 2);
	assert_int_equal(diff.changed, 1);
	assert_int_equal(diff.renamed, 1);
	assert_int_equal(diff.group[0].part[1].bytes, 512);
	assert_true(diff.group[1].is_renamed && !diff.group[1].is_moved);
	gp_diff_free(&diff);
	diff = compare_two(old_caller, 65536, b, bytes, false);
	assert_int_equal(diff.changed, 3);
	assert_int_equal(diff.renamed, 0);
	gp_diff_free(&diff);
}

/* The rule begins to hold where the user's line is the same, and not one frame before. */
static void the_line_of_the_user_must_be_the_same(void **state)
{
	(void)state;
	const uint64_t bytes[2] = { 4096, 0 };
	const struct line *b[2] = { line_alone, NULL };
	struct gp_diff diff = compare_two(old_caller, 1024, b, bytes, true);
	assert_int_equal(diff.groups, 1);
	assert_int_equal(diff.renamed, 1);
	assert_int_equal(diff.group[0].greatest, 3072);
	gp_diff_free(&diff);
	b[0] = line_beside;
	diff = compare_two(old_caller, 1024, b, bytes, true);
	assert_int_equal(diff.groups, 2);
	assert_int_equal(diff.renamed, 0);
	gp_diff_free(&diff);
}

/* In edited source a line number stands for other code; --ignore-lines handles that. */
static void stacks_with_moved_lines_do_not_match(void **state)
{
	(void)state;
	static const struct line edited[] = { { "/srv/job/serve.py", "main", 20 },
					      { "/srv/job/serve.py", "serve", 41 },
					      { "/srv/job/model.py", "forward", 12 },
					      { SITE "torch/functional.py", "cat", 7 },
					      { 0 } };
	const struct line *const b[2] = { edited, NULL };
	const uint64_t bytes[2] = { 1024, 0 };
	struct gp_diff diff = compare_two(old_caller, 1024, b, bytes, true);
	assert_int_equal(diff.groups, 2);
	assert_int_equal(diff.moved, 2);
	assert_int_equal(diff.renamed, 0);
	gp_diff_free(&diff);
}

/*
 * The number of equal innermost frames decides before the bytes. Stacks without a match stay alone.
 */
static void most_innermost_frames_match_first(void **state)
{
	(void)state;
	const struct line *const b[2] = { line_alone, new_caller };
	const uint64_t bytes[2] = { 1024, 65536 };
	struct gp_diff diff = compare_two(old_caller, 1024, b, bytes, true);
	assert_int_equal(diff.groups, 2);
	assert_int_equal(diff.group[0].greatest, 65536 - 1024);
	assert_true(diff.group[0].is_renamed);
	assert_int_equal(diff.group[1].part[0].stacks, 0);
	assert_false(diff.group[1].is_renamed);
	gp_diff_free(&diff);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_renamed_caller_compares_equal),
		cmocka_unit_test(the_line_of_the_user_must_be_the_same),
		cmocka_unit_test(stacks_with_moved_lines_do_not_match),
		cmocka_unit_test(most_innermost_frames_match_first),
		cmocka_unit_test(other_directories_and_pythons_compare_equal),
		cmocka_unit_test(edited_lines_are_one_only_when_lines_are_ignored),
		cmocka_unit_test(keys_separate_stacks_of_one_side),
		cmocka_unit_test(generated_files_are_one_when_lines_are_ignored),
		cmocka_unit_test(sums_and_order_are_those_of_the_plainest_way),
		cmocka_unit_test(the_reverse_order_negates_the_changes),
	};
	return cmocka_run_group_tests(tests, make_directory, drop_directory);
}
