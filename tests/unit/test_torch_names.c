/* Names of stacks of PyTorch 2.11: operators, nodes, and steps of the engine. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

#include "name_frames.h"
#include "torch_stacks.h"

static void stacks_of_a_training_step(void **state)
{
	(void)state;
	static const struct {
		const char *stack, *operator, * outer, *node;
	} known[] = {
		{ linear_forward, "aten::addmm", "aten::linear", "" },
		{ adam_state, "aten::zeros_like", "", "" },
		{ matmul_copies, "aten::clone", "aten::matmul", "" },
		{ module_to, "aten::_to_copy", "aten::to.dtype_layout", "" },
		{ embedding_forward, "aten::index_select", "aten::embedding", "" },
		{ addmm_backward_mat1, "aten::mm", "", "AddmmBackward0" },
		{ addmm_backward_mat2, "aten::mm", "", "AddmmBackward0" },
		{ embedding_backward, "aten::zeros", "aten::embedding_backward",
		  "EmbeddingBackward0" },
		{ engine_reduces, "aten::sum.dim_IntList", "", "validate_outputs (engine)" },
		{ engine_reduces_scratch, "aten::sum.dim_IntList", "",
		  "validate_outputs (engine)" },
		{ cublas_workspace, "aten::mm", "", "MmBackward0" },
	};
	for (size_t i = 0; i < sizeof known / sizeof *known; i++) {
		struct gp_frame frame[GP_FRAMES_MAX];
		struct gp_name_frame named[GP_FRAMES_MAX];
		struct gp_names names;
		char *text;
		size_t frames = read_stack(known[i].stack, frame, &text);
		for (size_t k = 0; k < frames; k++)
			named[k] = (struct gp_name_frame){ frame[k].function, frame[k].module,
							   frame[k].file, frame[k].is_python };
		gp_names_of(named, frames, "/usr/bin/python3.12", &names);
		assert_string_equal(names.operator, known[i].operator);
		assert_string_equal(names.outer_operator, known[i].outer);
		assert_string_equal(names.node, known[i].node);
		assert_string_equal(names.library, "PyTorch");
		assert_int_equal(names.is_outside_backward, known[i].node[0] == '\0');
		assert_int_equal(names.user != SIZE_MAX, known[i].node[0] == '\0');
		free(text);
	}
}

/* An unnamed frame of PyTorch may be a node; one of the C library may not. */
static void no_node_is_reported_only_if_certain(void **state)
{
	(void)state;
	struct gp_name_frame frames[] = {
		NATIVE("at::_ops::mm::call", CPU),
		NATIVE(NULL, "/usr/lib/x86_64-linux-gnu/libc.so.6"),
		NATIVE(NULL, CPYTHON),
		PYTHON("step", "/srv/job/train.py"),
		{ 0 },
	};
	assert_true(names_of(frames).is_outside_backward);
	frames[1].module = CPU;
	assert_false(names_of(frames).is_outside_backward);
	struct gp_names names;
	frames[1].module = NULL;
	gp_names_of(frames, 4, NULL, &names);
	assert_false(names.is_outside_backward);
	/* Python frames alone are not enough */
	assert_false(names_of(&frames[3]).is_outside_backward);
}

/*
 * With any native frames missing: nodes run on the engine's threads or below a caller of the
 * engine.
 */
static void callers_of_the_engine_are_seen_in_python(void **state)
{
	(void)state;
	static const struct {
		struct gp_name_frame frame[4]; /* innermost first, ended by an empty one */
		bool has_no_call;
	} known[] = {
		{ { PYTHON("step", "/srv/train.py"), PYTHON("<module>", "/srv/train.py") }, true },
		{ { PYTHON("Function.apply", SITE "torch/autograd/function.py"),
		    PYTHON("<module>", "/srv/train.py") },
		  true },
		{ { PYTHON("Thread._bootstrap_inner", "/usr/lib/python3.12/threading.py"),
		    PYTHON("Thread._bootstrap", "/usr/lib/python3.12/threading.py") },
		  true },
		{ { PYTHON("_bootstrap", "/usr/lib/python3.10/threading.py") }, true },
		{ { PYTHON("_run_module_as_main", "<frozen runpy>") }, true },
		{ { PYTHON("_run_module_as_main", "/usr/lib/python3.8/runpy.py"),
		    NATIVE("main", CPYTHON) },
		  true },
		/* backward called from Python */
		{ { PYTHON("_engine_run_backward", SITE "torch/autograd/graph.py"),
		    PYTHON("<module>", "/srv/train.py") },
		  false },
		{ { PYTHON("Mine.backward", "/srv/train.py"),
		    PYTHON("grad", SITE "torch/autograd/__init__.py"),
		    PYTHON("<module>", "/srv/train.py") },
		  false },
		/* a node of Python, or a hook, on a thread of the engine */
		{ { PYTHON("Mine.backward", "/srv/train.py"),
		    PYTHON("BackwardCFunction.apply", SITE "torch/autograd/function.py") },
		  false },
		{ { PYTHON("hook", "/srv/train.py") }, false },
		/*
		 * the same name in another file; and a function of the engine's file that does not
		 * call it
		 */
		{ { PYTHON("_engine_run_backward", "/srv/train.py"),
		    PYTHON("<module>", "/srv/train.py") },
		  true },
		{ { PYTHON("save_on_cpu.__init__.<locals>.pack_to_cpu",
			   SITE "torch/autograd/graph.py"),
		    PYTHON("<module>", "/srv/train.py") },
		  true },
		/*
		 * an unnamed frame could call it, or is not the thread's first one; or there is no
		 * Python
		 */
		{ { PYTHON("_engine_run_backward", NULL), PYTHON("<module>", "/srv/train.py") },
		  false },
		{ { PYTHON(NULL, SITE "torch/autograd/graph.py"),
		    PYTHON("<module>", "/srv/train.py") },
		  false },
		{ { PYTHON("step", "/srv/train.py"), PYTHON(NULL, NULL) }, false },
		{ { PYTHON("Thread._bootstrap", NULL) }, false },
		{ { NATIVE("main", "/srv/job") }, false },
	};
	for (size_t i = 0; i < sizeof known / sizeof *known; i++)
		assert_int_equal(names_of(known[i].frame).has_no_engine_call, known[i].has_no_call);
}

static void the_engine_names_its_own_steps(void **state)
{
	(void)state;
	static const char *const step[][2] = {
		{ "torch::autograd::validate_outputs_impl<torch::autograd::Edge>",
		  "validate_outputs (engine)" },
		{ "torch::autograd::validate_outputs", "validate_outputs (engine)" },
		{ "torch::autograd::InputBuffer::accumulate", "InputBuffer (engine)" },
		{ "torch::autograd::call_tensor_pre_hooks", "hooks (engine)" },
		{ "torch::autograd::something_new", "autograd engine" },
	};
	for (size_t i = 0; i < sizeof step / sizeof *step; i++) {
		const struct gp_name_frame frames[] = {
			NATIVE("at::_ops::sum_dim_IntList::call", CPU),
			NATIVE(step[i][0], CPU),
			NATIVE("torch::autograd::Engine::evaluate_function", CPU),
			{ 0 },
		};
		expect(frames, "aten::sum.dim_IntList", step[i][1], "PyTorch");
	}
}

/* an operator that only gets memory is named if there is no other */
static void operators_that_only_get_memory(void **state)
{
	(void)state;
	static const struct gp_name_frame alone[] = {
		NATIVE("at::_ops::empty_memory_format::redispatch", CPU),
		NATIVE("at::_ops::empty_memory_format::call", CPU),
		NATIVE("at::_ops::empty_like::call", CPU),
		PYTHON("step", "/srv/job/train.py"),
		{ 0 },
	};
	expect(alone, "aten::empty_like", "", "PyTorch");
	static const struct gp_name_frame resized[] = {
		NATIVE("at::_ops::resize_::call", CPU),
		NATIVE("at::_ops::add_out::call", CPU),
		NATIVE("at::_ops::_foreach_add_List::call", CPU),
		{ 0 },
	};
	expect(resized, "aten::add.out", "", "PyTorch");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(stacks_of_a_training_step),
		cmocka_unit_test(no_node_is_reported_only_if_certain),
		cmocka_unit_test(callers_of_the_engine_are_seen_in_python),
		cmocka_unit_test(the_engine_names_its_own_steps),
		cmocka_unit_test(operators_that_only_get_memory),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
