/* Groups by stack: which stacks are one group, and that no two groups have the same name. */
#include "python_stacks.h"

#define SITE "/opt/venv/lib/python3.12/site-packages/"
#define LONG_NAME "a_function_with_a_name_that_is_far_too_long_for_a_key_"

static struct gp_groups group(struct stacks *s, enum gp_by by, bool is_native)
{
	struct gp_peak peak;
	struct gp_groups groups;
	const struct gp_grouping how = { .by = by, .is_native = is_native };
	uint64_t bytes = 0;
	struct gp_recording *r = fixture_read(&s->w);
	assert_int_equal(gp_peak_build(r, GP_AT_PEAK, 0, &peak), GP_OK);
	const struct gp_holders *h = &peak.holder[0];
	assert_int_equal(gp_groups_build(r, h->use, h->uses, &how, &groups), GP_OK);
	for (size_t k = 0; k < groups.groups; k++) {
		bytes += groups.group[k].use.bytes;
		for (size_t i = 0; i < k; i++)
			assert_string_not_equal(groups.group[i].key, groups.group[k].key);
	}
	assert_int_equal(bytes, s->allocated);
	gp_peak_free(&peak);
	gp_recording_close(r);
	return groups;
}

#define STEP                                     \
	{ "/srv/job/train.py", "<module>", 99 }, \
	{                                        \
		"/srv/job/train.py", "step", 122 \
	}

/* ---- tests ---- */

/* One line of the user, three of the optimizer, one of them with a further call. */
static void groups_of_one_line_show_their_difference(void **state)
{
	(void)state;
	static const struct line first[] = { STEP,
					     { SITE "torch/optim/adam.py", "Adam.init", 178 },
					     { 0 } };
	static const struct line second[] = { STEP,
					      { SITE "torch/optim/adam.py", "Adam.init", 182 },
					      { 0 } };
	static const struct line deeper[] = { STEP,
					      { SITE "torch/optim/adam.py", "Adam.init", 182 },
					      { SITE "torch/optim/sgd.py", "Adam.init", 7 },
					      { 0 } };
	static const struct line none[] = { STEP, { 0 } };
	struct stacks s = { .why_native = GP_WHY_OFF };
	writer_open(&s.w, "apart.gpr", 0, 0);
	add_block(&s, 4096, first);
	add_block(&s, 2048, second);
	add_block(&s, 1024, deeper);
	add_block(&s, 512, none);
	struct gp_groups groups = group(&s, GP_BY_STACK, false);
	static const char *const expected[] = {
		"Adam.init  train.py:122 step  via adam.py:178 Adam.init",
		"Adam.init  train.py:122 step  via adam.py:182 Adam.init",
		"Adam.init  train.py:122 step  via adam.py:182 Adam.init  via sgd.py:7 Adam.init",
		"train.py:122 step",
	};
	assert_int_equal(groups.groups, 4);
	for (size_t k = 0; k < 4; k++)
		assert_string_equal(groups.group[k].key, expected[k]);
	gp_groups_free(&groups);
}

/* The common helper is already in the name; the callers separate the groups. */
static void a_line_is_not_its_own_caller(void **state)
{
	(void)state;
	static const struct line direct[] = { { "/srv/job/train.py", "main", 7 },
					      { "/srv/job/base.py", "alloc", 35 },
					      { 0 } };
	static const struct line by_work[] = { { "/srv/job/train.py", "main", 7 },
					       { "/srv/job/base.py", "work", 44 },
					       { "/srv/job/base.py", "alloc", 35 },
					       { 0 } };
	struct stacks s = { .why_native = GP_WHY_OFF };
	writer_open(&s.w, "helper.gpr", 0, 0);
	add_block(&s, 4096, direct);
	add_block(&s, 2048, by_work);
	struct gp_groups groups = group(&s, GP_BY_STACK, false);
	assert_int_equal(groups.groups, 2);
	assert_string_equal(groups.group[0].key, "base.py:35 alloc  via train.py:7 main");
	assert_string_equal(groups.group[1].key, "base.py:35 alloc  via base.py:44 work");
	gp_groups_free(&groups);
}

/* Frames that reports do not show make no difference, except if all frames are requested. */
static void stacks_that_differ_in_plumbing_are_one(void **state)
{
	(void)state;
	for (unsigned is_native = 0; is_native < 2; is_native++) {
		static const struct line old[] = { STEP,
						   { SITE "torch/nn/modules/module.py",
						     "Module._call_impl", 1790 },
						   { 0 } };
		static const struct line new[] = { STEP,
						   { SITE "torch/nn/modules/module.py",
						     "Module._call_impl", 1842 },
						   { 0 } };
		struct stacks s = { .why_native = GP_WHY_OFF };
		writer_open(&s.w, "plumbing.gpr", 0, 0);
		add_block(&s, 4096, old);
		add_block(&s, 2048, new);
		struct gp_groups groups = group(&s, GP_BY_STACK, is_native);
		assert_int_equal(groups.groups, 1 + is_native);
		assert_int_equal(groups.group[0].use.count, 2 - is_native);
		assert_string_equal(groups.group[0].key,
				    is_native ? "Module._call_impl  train.py:122 step  via "
						"module.py:1790 Module._call_impl" :
						"train.py:122 step");
		gp_groups_free(&groups);
	}
}

/* The depth of a recursion makes no difference. */
static void a_recursion_is_one_group_at_any_depth(void **state)
{
	(void)state;
	static const struct line once[] = { STEP, { "/srv/job/tree.py", "walk", 5 }, { 0 } };
	static const struct line thrice[] = { STEP,
					      { "/srv/job/tree.py", "walk", 5 },
					      { "/srv/job/tree.py", "walk", 5 },
					      { "/srv/job/tree.py", "walk", 5 },
					      { 0 } };
	struct stacks s = { .why_native = GP_WHY_OFF };
	writer_open(&s.w, "recursion.gpr", 0, 0);
	add_block(&s, 4096, once);
	add_block(&s, 2048, thrice);
	struct gp_groups groups = group(&s, GP_BY_STACK, false);
	assert_int_equal(groups.groups, 1);
	assert_string_equal(groups.group[0].key, "tree.py:5 walk");
	assert_int_equal(groups.group[0].stacks, 2);
	gp_groups_free(&groups);
}

/* Their difference does not fit into a key: they are numbered. */
static void groups_with_equal_keys_are_numbered(void **state)
{
	(void)state;
	static const struct line one[] = { { "/srv/job/made.py", LONG_NAME "one", 1 }, { 0 } };
	static const struct line two[] = { { "/srv/job/made.py", LONG_NAME "two", 1 }, { 0 } };
	struct stacks s = { .why_native = GP_WHY_OFF };
	writer_open(&s.w, "numbered.gpr", 0, 0);
	add_block(&s, 4096, one);
	add_block(&s, 2048, two);
	struct gp_groups groups = group(&s, GP_BY_STACK, false);
	assert_int_equal(groups.groups, 2);
	assert_non_null(strstr(groups.group[0].key, "(1)"));
	assert_non_null(strstr(groups.group[1].key, "(2)"));
	gp_groups_free(&groups);
}

/* A cut stack is marked as cut, except if it lacks only frames that reports do not show. */
static void cut_stacks_are_marked(void **state)
{
	(void)state;
	static const struct line whole[] = { STEP, { 0 } };
	static const struct line inner[] = { { "/srv/job/train.py", "step", 122 }, { 0 } };
	struct gp_peak peak;
	struct gp_tree tree;
	struct gp_groups groups;
	const struct gp_grouping how = { .by = GP_BY_STACK };
	struct stacks s = { .why_native = GP_WHY_TRUNCATED };
	writer_open(&s.w, "cut.gpr", 0, 0);
	add_block(&s, 4096, whole);
	s.why_python = GP_WHY_TRUNCATED;
	add_block(&s, 2048, inner);
	struct gp_recording *r = fixture_read(&s.w);
	assert_int_equal(gp_peak_build(r, GP_AT_PEAK, 0, &peak), GP_OK);
	const struct gp_holders *h = &peak.holder[0];
	assert_int_equal(gp_groups_build(r, h->use, h->uses, &how, &groups), GP_OK);
	assert_int_equal(groups.groups, 2);
	assert_null(groups.group[0].cut);
	assert_string_equal(groups.group[1].cut, "deeper frames are left out");
	assert_int_equal(gp_tree_build(r, h->use, h->uses, &how, &tree), GP_OK);
	const struct gp_tree_node *first = &tree.node[tree.root], *cut = &tree.node[first->next];
	assert_int_equal(first->bytes, 4096);
	assert_string_equal(first->frame.function, "<module>");
	assert_int_equal(cut->bytes, 2048);
	assert_null(cut->frame.function);
	assert_string_equal(cut->frame.unknown, "deeper frames are left out");
	assert_string_equal(tree.node[cut->child].frame.function, "step");
	gp_tree_free(&tree);
	gp_groups_free(&groups);
	gp_peak_free(&peak);
	gp_recording_close(r);
}

/* The keys of stacks without frames, by the reasons in the recording; `refusal`: text of a fact. */
static void assert_why(enum gp_stack_why native, enum gp_stack_why python, enum gp_fact fact,
		       const char *refusal, const char *expected)
{
	static const struct line none[] = { { 0 } };
	static const enum gp_by by[] = { GP_BY_STACK, GP_BY_OPERATOR, GP_BY_NODE, GP_BY_LIBRARY,
					 GP_BY_LINE };
	struct gp_peak peak;
	struct gp_groups groups;
	const struct gp_info *info;
	struct stacks s = { .why_native = native, .why_python = python };
	writer_open(&s.w, "without.gpr", 0, 0);
	add_block(&s, 4096, none);
	if (refusal)
		put_text(&s.w, (struct gp_record){ .kind = GP_FACT, .aux = fact }, refusal,
			 strlen(refusal));
	struct gp_recording *r = fixture_read(&s.w);
	assert_int_equal(gp_recording_info(r, &info), GP_OK);
	assert_int_equal(info->no_python != NULL, refusal && fact == GP_FACT_NO_PYTHON);
	assert_int_equal(info->no_native != NULL, refusal && fact == GP_FACT_NO_NATIVE);
	assert_int_equal(gp_peak_build(r, GP_AT_PEAK, 0, &peak), GP_OK);
	const struct gp_holders *h = &peak.holder[0];
	for (size_t k = 0; k < sizeof by / sizeof *by; k++) {
		const struct gp_grouping how = { .by = by[k] };
		assert_int_equal(gp_groups_build(r, h->use, h->uses, &how, &groups), GP_OK);
		assert_int_equal(groups.groups, 1);
		assert_string_equal(groups.group[0].key, expected);
		assert_null(groups.group[0].cut);
		gp_groups_free(&groups);
	}
	gp_peak_free(&peak);
	gp_recording_close(r);
}

static void stacks_without_frames_have_a_reason(void **state)
{
	(void)state;
	const char *const unknown = "this Python is not known";
	assert_why(GP_WHY_OFF, GP_WHY_NO_THREAD, 0, NULL,
		   "no Python frames: the thread runs no Python");
	assert_why(GP_WHY_OFF, GP_WHY_NO_FRAMES, 0, NULL, "no Python frames: none was running");
	assert_why(GP_WHY_OFF, GP_WHY_OFF, GP_FACT_NO_PYTHON, unknown,
		   "no Python frames: this Python is not known");
	assert_why(GP_WHY_OFF, GP_WHY_OFF, GP_FACT_NO_NATIVE, "libunwind was not found",
		   "no native frames: libunwind was not found");
	/* for a thread without Python, the interpreter is not the reason of missing frames */
	assert_why(GP_WHY_OFF, GP_WHY_NO_THREAD, GP_FACT_NO_PYTHON, unknown,
		   "no Python frames: the thread runs no Python");
	assert_why(GP_WHY_OFF, GP_WHY_OFF, 0, NULL, "no frames could be taken");
	assert_why(GP_WHY_GATE, GP_WHY_NO_THREAD, 0, NULL,
		   "no native frames: the process was forking, or was forked while it looked code "
		   "up");
}

/*
 * Missing native frames may contain a node, but not if Python's frames are complete and call none.
 */
static void not_backward_is_reported_only_if_certain(void **state)
{
	(void)state;
	static const char sure[] = "not in backward: forward, optimizer, set-up";
	static const struct line forward[] = { STEP, { 0 } };
	static const struct line backward[] = { STEP,
						{ SITE "torch/autograd/graph.py",
						  "_engine_run_backward", 829 },
						{ "/srv/job/node.py", "Mine.backward", 5 },
						{ 0 } };
	static const struct line hook[] = { { "/srv/job/node.py", "hook", 9 }, { 0 } };
	static const struct {
		const struct line *line;
		enum gp_stack_why native, python;
		const char *key;
	} known[] = {
		{ forward, GP_WHY_TRUNCATED, GP_WHY_WHOLE, sure },
		{ forward, GP_WHY_NO_RULE, GP_WHY_WHOLE, sure },
		{ forward, GP_WHY_OFF, GP_WHY_WHOLE, sure },
		{ forward, GP_WHY_TRUNCATED, GP_WHY_TRUNCATED,
		  "no autograd node seen: deeper frames are left out" },
		{ backward, GP_WHY_TRUNCATED, GP_WHY_WHOLE,
		  "no autograd node seen: deeper frames are left out" },
		{ hook, GP_WHY_TRUNCATED, GP_WHY_WHOLE,
		  "no autograd node seen: deeper frames are left out" },
		{ backward, GP_WHY_OFF, GP_WHY_WHOLE, "no autograd node seen" },
	};
	for (size_t i = 0; i < sizeof known / sizeof *known; i++) {
		struct stacks s = { .why_native = known[i].native, .why_python = known[i].python };
		writer_open(&s.w, "node.gpr", 0, 0);
		add_block(&s, 4096, known[i].line);
		struct gp_groups groups = group(&s, GP_BY_NODE, false);
		assert_int_equal(groups.groups, 1);
		assert_string_equal(groups.group[0].key, known[i].key);
		gp_groups_free(&groups);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(groups_of_one_line_show_their_difference),
		cmocka_unit_test(a_line_is_not_its_own_caller),
		cmocka_unit_test(stacks_that_differ_in_plumbing_are_one),
		cmocka_unit_test(a_recursion_is_one_group_at_any_depth),
		cmocka_unit_test(groups_with_equal_keys_are_numbered),
		cmocka_unit_test(cut_stacks_are_marked),
		cmocka_unit_test(stacks_without_frames_have_a_reason),
		cmocka_unit_test(not_backward_is_reported_only_if_certain),
	};
	return cmocka_run_group_tests(tests, make_directory, drop_directory);
}
