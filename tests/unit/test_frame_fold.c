/* The frames of a stack that reports show, and the one-line name of a frame. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

#include "torch_stacks.h"

#define CALLERS                     \
	"GPT.forward (gpt.py:72)\n" \
	"Job.step (gpt.py:120)\n"   \
	"main (main.py:31)\n"       \
	"<module> (main.py:46)\n"

static void frames_shown_of_a_training_step(void **state)
{
	(void)state;
	static const struct {
		const char *stack, *shown;
	} known[] = {
		{ linear_forward, "aten::addmm\naten::linear\n"
				  "Linear.forward (torch/nn/modules/linear.py:134)\n"
				  "Block.forward (gpt.py:56)\n" CALLERS },
		{ adam_state, "aten::zeros_like\n"
			      "Adam._init_group (torch/optim/adam.py:178)\n"
			      "Adam.step (torch/optim/adam.py:238)\n"
			      "Job.step (gpt.py:122)\nmain (main.py:31)\n<module> (main.py:46)\n" },
		{ matmul_copies, "aten::clone\naten::reshape\naten::matmul\n"
				 "Block.attend (gpt.py:49)\nBlock.forward (gpt.py:55)\n" CALLERS },
		/* mm_mat1 or mm_mat2: the frame shows which of the two factors it is */
		{ addmm_backward_mat1,
		  "aten::mm\n"
		  "torch::autograd::generated::details::mm_mat1_backward [libtorch_cpu.so]\n"
		  "AddmmBackward0\nautograd engine\n" },
		{ addmm_backward_mat2,
		  "aten::mm\n"
		  "torch::autograd::generated::details::mm_mat2_backward [libtorch_cpu.so]\n"
		  "AddmmBackward0\nautograd engine\n" },
		{ embedding_backward, "aten::zeros\naten::embedding_dense_backward\n"
				      "aten::embedding_backward\nEmbeddingBackward0\n"
				      "autograd engine\n" },
		{ engine_reduces, "aten::sum.dim_IntList\nvalidate_outputs (engine)\n"
				  "autograd engine\n" },
		{ engine_reduces_scratch, "aten::sum.dim_IntList\nvalidate_outputs (engine)\n"
					  "autograd engine\n" },
		{ cublas_workspace,
		  "cuBLAS workspace\ncuBLAS handle\n"
		  "at::cuda::blas::gemm_internal_cublas<float, float> [libtorch_cpu.so]\n"
		  "aten::mm\n"
		  "torch::autograd::generated::details::mm_mat2_backward [libtorch_cpu.so]\n"
		  "MmBackward0\nautograd engine\n" },
	};
	for (size_t i = 0; i < sizeof known / sizeof *known; i++) {
		struct gp_frame frame[GP_FRAMES_MAX];
		char shown[4096] = "", *text;
		size_t frames = gp_frames_shorten(frame, read_stack(known[i].stack, frame, &text));
		for (size_t k = 0; k < frames; k++) {
			char label[512];
			gp_frame_label(&frame[k], "/srv/job/", label, sizeof label);
			strcat(strcat(shown, label), "\n");
		}
		assert_string_equal(shown, known[i].shown);
		free(text);
	}
}

static struct gp_frame python(const char *function, uint32_t line)
{
	return (struct gp_frame){
		.function = function, .file = "/srv/job/a.py", .line = line, .is_python = true
	};
}

/* f calls itself, or g and h each other: only the outermost turn is shown */
static void one_turn_of_a_recursion_is_shown(void **state)
{
	(void)state;
	struct gp_frame once[] = { python("leaf", 9), python("f", 3), python("f", 3),
				   python("f", 3),    python("f", 1), python("main", 7) };
	assert_int_equal(gp_frames_shorten(once, 6), 4);
	assert_string_equal(once[0].function, "leaf");
	assert_int_equal(once[1].line, 3);
	assert_int_equal(once[2].line, 1);
	assert_string_equal(once[3].function, "main");
	struct gp_frame turns[] = { python("h", 2),   python("g", 1), python("h", 2),
				    python("g", 1),   python("h", 2), python("g", 1),
				    python("main", 7) };
	assert_int_equal(gp_frames_shorten(turns, 7), 3);
	assert_string_equal(turns[0].function, "h");
	assert_string_equal(turns[1].function, "g");
	assert_string_equal(turns[2].function, "main");
}

static void every_stack_has_a_shown_frame(void **state)
{
	(void)state;
	struct gp_frame plumbing[] = {
		{ .function = "at::native::empty_cuda", .module = "/x/libtorch_cpu.so" },
		{ .function = "c10::impl::call", .module = "/x/libtorch_cpu.so" },
		{ .function = "_PyEval_EvalFrameDefault",
		  .module = "/usr/bin/python3.12",
		  .is_interpreter = true },
	};
	assert_int_equal(gp_frames_shorten(plumbing, 3), 2);
	assert_string_equal(plumbing[1].function, "c10::impl::call");
	assert_int_equal(gp_frames_shorten(plumbing, 0), 0);
	/* a plain allocation is the request if the stack has no other operator */
	struct gp_frame empty[] = {
		{ .function = "at::_ops::empty_memory_format::call", .module = "/x/libtorch.so" },
		python("main", 7),
	};
	assert_int_equal(gp_frames_shorten(empty, 2), 2);
	/* each unnamed place is a frame of its own */
	struct gp_frame unnamed[] = { { .module = "/srv/solver.so", .module_offset = 16 },
				      { .module = "/srv/solver.so", .module_offset = 32 } };
	assert_int_equal(gp_frames_shorten(unnamed, 2), 2);
}

static void expect_name(const char *name, const char *expected)
{
	char out[128];
	gp_short_name(name, out, sizeof out);
	assert_string_equal(out, expected);
}

static void names_fit_on_a_line(void **state)
{
	(void)state;
	expect_name("at::native::foreach_unary_op<float, at::native::Sqrt>",
		    "at::native::foreach_unary_op<float, at::native::Sqrt>");
	expect_name(WRAPPER, "c10::impl::wrap_kernel_functor_unboxed_<...>::call");
	expect_name("std::vector<std::pair<long, std::map<int, std::vector<char> > > >::operator->",
		    "std::vector<...>::operator->");
	expect_name("ns::operator<< <std::vector<std::pair<long, long>, std::allocator<long> > >",
		    "ns::operator<< <...>");
	expect_name("a_function_whose_name_is_longer_than_a_line_has_room_for_though_it_has_no_"
		    "arguments_of_a_template",
		    "a_function_whose_name_is_longer_th..._it_has_no_arguments_of_a_template");
	/* unpaired brackets are left as they are */
	expect_name("> is_no_name_that_anybody_has_given_to_a_function_but_a_file_may_say_so",
		    "> is_no_name_that_anybody_has_given_to_a_function_but_a_file_may_say_so");
	expect_name("f<a_long_argument_list_that_never_ends, and_goes_on_and_on_and_on_until_here",
		    "f<a_long_argument_list_that_never_...d_goes_on_and_on_and_on_until_here");
}

static void paths_are_relative_to_their_package(void **state)
{
	(void)state;
	static const char *const path[][2] = {
		{ SITE_PACKAGES "torch/nn/modules/module.py", "torch/nn/modules/module.py" },
		{ "/usr/lib/python3/dist-packages/yaml/loader.py", "yaml/loader.py" },
		{ "/usr/lib/python3.11/contextlib.py", "contextlib.py" },
		{ "/srv/job/train.py", "/srv/job/train.py" },
		{ "<string>", "<string>" },
	};
	for (size_t i = 0; i < sizeof path / sizeof *path; i++)
		assert_string_equal(gp_short_path(path[i][0]), path[i][1]);
}

static void expect_label(struct gp_frame frame, const char *expected)
{
	char out[128];
	gp_frame_label(&frame, "/srv/job/", out, sizeof out);
	assert_string_equal(out, expected);
}

static void frames_without_names_show_their_place(void **state)
{
	(void)state;
	expect_label((struct gp_frame){ .module = "/x/libcublas.so.12", .module_offset = 0x70 },
		     "+0x70 [libcublas.so.12]");
	expect_label((struct gp_frame){ .address = 0x1234, .unknown = "in no module" }, "0x1234");
	expect_label((struct gp_frame){ .unknown = "no stack was recorded" },
		     "no stack was recorded");
	expect_label((struct gp_frame){ .function = "solve",
					.module = "/x/s.so",
					.file = "/srv/job/src/s.cc",
					.line = 12 },
		     "solve (s.cc:12)");
	expect_label((struct gp_frame){ .function = "f", .file = "/srv/b.py", .is_python = true },
		     "f (/srv/b.py)");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(frames_shown_of_a_training_step),
		cmocka_unit_test(one_turn_of_a_recursion_is_shown),
		cmocka_unit_test(every_stack_has_a_shown_frame),
		cmocka_unit_test(names_fit_on_a_line),
		cmocka_unit_test(paths_are_relative_to_their_package),
		cmocka_unit_test(frames_without_names_show_their_place),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
