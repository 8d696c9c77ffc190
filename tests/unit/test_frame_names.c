/*
 * Stacks of PyTorch, NCCL and cuBLAS, and the names under which users see them. Also stacks that
 * look alike and have no names.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

#include "name_frames.h"

static void a_forward_allocation(void **state)
{
	(void)state;
	static const struct gp_name_frame frames[] = {
		NATIVE("c10::cuda::CUDACachingAllocator::Native::NativeCachingAllocator::malloc",
		       C10),
		NATIVE("c10::StorageImpl::StorageImpl", CUDA),
		NATIVE("at::detail::empty_strided_cuda", CUDA),
		NATIVE(NULL, CUDA),
		NATIVE("at::(anonymous namespace)::wrapper_CUDA_addmm", CUDA),
		NATIVE("at::_ops::addmm::redispatch", CPU),
		NATIVE("torch::autograd::VariableType::(anonymous namespace)::addmm", CPU),
		NATIVE("at::_ops::addmm::call", CPU),
		NATIVE("at::native::linear", CPU),
		NATIVE("at::_ops::linear::call", CPU),
		NATIVE("torch::autograd::THPVariable_linear", BINDING),
		NATIVE("cfunction_call", CPYTHON),
		NATIVE("_PyEval_EvalFrameDefault", CPYTHON),
		PYTHON("Linear.forward", SITE "torch/nn/modules/linear.py"),
		{ 0 },
	};
	/* the operator that got the memory, and the operator that the user's line called */
	expect(frames, "aten::addmm", "", "PyTorch");
	assert_string_equal(names_of(frames).outer_operator, "aten::linear");
}

static void a_backward_allocation(void **state)
{
	(void)state;
	static const struct gp_name_frame frames[] = {
		NATIVE("c10::cuda::CUDACachingAllocator::Native::NativeCachingAllocator::malloc",
		       C10),
		NATIVE("at::_ops::mm::redispatch", CPU),
		NATIVE("at::_ops::mm::call", CPU),
		NATIVE("torch::autograd::generated::details::mm_mat1_grad", CPU),
		NATIVE("torch::autograd::generated::AddmmBackward0::apply", CPU),
		NATIVE("torch::autograd::Node::operator()", CPU),
		NATIVE("torch::autograd::Engine::evaluate_function", CPU),
		NATIVE("torch::autograd::Engine::thread_main", CPU),
		NATIVE("torch::autograd::python::PythonEngine::thread_init", BINDING),
		NATIVE(NULL, "/usr/lib/x86_64-linux-gnu/libstdc++.so.6.0.30"),
		NATIVE("start_thread", "/usr/lib/x86_64-linux-gnu/libc.so.6"),
		{ 0 },
	};
	expect(frames, "aten::mm", "AddmmBackward0", "PyTorch");
}

static void gradients_that_are_added_up(void **state)
{
	(void)state;
	static const struct gp_name_frame frames[] = {
		NATIVE("c10::cuda::CUDACachingAllocator::Native::NativeCachingAllocator::malloc",
		       C10),
		NATIVE("at::_ops::clone::call(at::Tensor const&, std::optional<c10::MemoryFormat>)",
		       CPU),
		NATIVE("torch::autograd::AccumulateGrad::apply(std::vector<at::Tensor>&&)", CPU),
		NATIVE("torch::autograd::Engine::evaluate_function", CPU),
		/* an operator that called the engine is not part of the stretch */
		NATIVE("at::_ops::_backward::call", CPU),
		{ 0 },
	};
	expect(frames, "aten::clone", "AccumulateGrad", "PyTorch");
}

/* frames outside of a node or of the engine have no name, even if one of the two is missing */
static void operators_beyond_the_engine(void **state)
{
	(void)state;
	static const struct gp_name_frame node[] = {
		NATIVE("at::_ops::mm::call", CPU),
		NATIVE("torch::autograd::generated::AddmmBackward0::apply", CPU),
		NATIVE("at::_ops::_backward::call", CPU),
		{ 0 },
	};
	expect(node, "aten::mm", "AddmmBackward0", "PyTorch");
	static const struct gp_name_frame engine[] = {
		NATIVE("at::_ops::add_Tensor::call", CPU),
		NATIVE("torch::autograd::InputBuffer::add", CPU),
		NATIVE("torch::autograd::Engine::evaluate_function", CPU),
		NATIVE("at::_ops::_backward::call", CPU),
		{ 0 },
	};
	expect(engine, "aten::add.Tensor", "InputBuffer (engine)", "PyTorch");
}

/* checkpointing: the forward runs again, in Python, inside a node */
static void forward_in_python_inside_a_node(void **state)
{
	(void)state;
	static const struct gp_name_frame frames[] = {
		NATIVE("at::_ops::gelu::call", CPU),
		NATIVE("torch::autograd::THPVariable_gelu", BINDING),
		NATIVE("_PyEval_EvalFrameDefault", CPYTHON),
		PYTHON("Block.forward", "/srv/job/model.py"),
		PYTHON("CheckpointFunction.backward", SITE "torch/utils/checkpoint.py"),
		NATIVE("PyObject_CallObject", CPYTHON),
		NATIVE("torch::autograd::PyNode::apply", BINDING),
		NATIVE("torch::autograd::Engine::evaluate_function", CPU),
		{ 0 },
	};
	expect(frames, "aten::gelu", "PyNode", "PyTorch");
}

/* Python code between operators that calls no PyTorch: the outer operator is not named */
static void python_parts_stretches(void **state)
{
	(void)state;
	static const struct gp_name_frame frames[] = {
		NATIVE("cuMemAlloc_v2", DRIVER),
		NATIVE("launch", "/var/cache/.triton/cache/ABC/__triton_launcher.cpython-312.so"),
		NATIVE("_PyEval_EvalFrameDefault", CPYTHON),
		PYTHON("run", SITE "triton/runtime/jit.py"),
		NATIVE("_PyObject_Call", CPYTHON),
		NATIVE("at::_ops::mm::call", CPU),
		{ 0 },
	};
	expect(frames, "", "", "Triton");
	/* without Python frames the interpreter's own frames have the same effect */
	static const struct gp_name_frame bare[] = {
		NATIVE("c10::cuda::get_stream", C10),
		NATIVE("_PyEval_EvalFrameDefault", CPYTHON),
		NATIVE("at::_ops::mm::call", CPU),
		{ 0 },
	};
	expect(bare, "", "", "PyTorch");
}

static void cxx_nodes(void **state)
{
	(void)state;
	static const struct gp_name_frame function[] = {
		NATIVE("torch::autograd::CppNode<ext::Scan<float> >::apply", "/srv/job/scan.so"),
		{ 0 },
	};
	expect(function, "", "CppNode<ext::Scan<float> >", "scan");
	/* forward code calls Function<F>::apply */
	static const struct gp_name_frame forward[] = {
		NATIVE("torch::autograd::Function<ext::Scan>::apply<at::Tensor>",
		       "/srv/job/scan.so"),
		NATIVE("torch::autograd::Function<ext::Scan>::apply", "/srv/job/scan.so"),
		NATIVE("torch::autograd::Node::apply", CPU),
		{ 0 },
	};
	expect(forward, "", "", "scan");
}

static void collectives(void **state)
{
	(void)state;
	static const struct gp_name_frame frames[] = {
		NATIVE("gp_entry", OURS),
		NATIVE(NULL, RUNTIME),
		NATIVE("cudaMalloc", RUNTIME),
		NATIVE(NULL, SITE "nvidia/nccl/lib/libnccl.so.2"),
		NATIVE("pncclAllReduce", SITE "nvidia/nccl/lib/libnccl.so.2"),
		NATIVE("ncclGroupEnd", SITE "nvidia/nccl/lib/libnccl.so.2"),
		NATIVE("c10d::ProcessGroupNCCL::allreduce_impl", CUDA),
		NATIVE("c10d::ops::(anonymous namespace)::allreduce_CUDA", CPU),
		{ 0 },
	};
	expect(frames, "ncclAllReduce", "", "NCCL");
	static const struct gp_name_frame inside[] = {
		NATIVE("ncclAllReduce", SITE "nvidia/nccl/lib/libnccl.so.2"),
		NATIVE("at::_ops::_sync::call", CPU),
		{ 0 },
	};
	expect(inside, "aten::_sync", "", "NCCL");
	static const struct gp_name_frame others[] = {
		NATIVE("ncclAllReduceKernel", "/srv/job/x.so"),
		NATIVE("my::ncclAllReduce", "/srv/job/x.so"),
		NATIVE("ncclAll", "/srv/job/x.so"),
		{ 0 },
	};
	expect(others, "", "", "x");
}

static void operators_with_overloads(void **state)
{
	(void)state;
	static const char *const name[][2] = {
		{ "addmm", "aten::addmm" },
		{ "addmm_out", "aten::addmm.out" },
		{ "add_Tensor", "aten::add.Tensor" },
		{ "add__Tensor", "aten::add_.Tensor" },
		{ "sum_dim_IntList", "aten::sum.dim_IntList" },
		{ "norm_ScalarOpt_dim_dtype_out", "aten::norm.ScalarOpt_dim_dtype_out" },
		{ "_foreach_add__ScalarList", "aten::_foreach_add_.ScalarList" },
		{ "_fused_adamw_", "aten::_fused_adamw_" },
		{ "softmax_int", "aten::softmax.int" },
		{ "upsample_nearest2d_vec", "aten::upsample_nearest2d.vec" },
		{ "max_pool2d_with_indices_backward_grad_input",
		  "aten::max_pool2d_with_indices_backward.grad_input" },
		{ "_scaled_dot_product_flash_attention_backward",
		  "aten::_scaled_dot_product_flash_attention_backward" },
		{ "empty_memory_format", "aten::empty.memory_format" },
		/* max.dim, but take_along_dim */
		{ "max_dim", "aten::max.dim" },
		{ "max_dim_max", "aten::max.dim_max" },
		{ "take_along_dim", "aten::take_along_dim" },
		{ "to_dtype_layout", "aten::to.dtype_layout" },
		{ "to_dtype", "aten::to.dtype" },
		{ "squeeze__dims", "aten::squeeze_.dims" },
		{ "embedding_dense_backward", "aten::embedding_dense_backward" },
		{ "nll_loss_nd", "aten::nll_loss_nd" },
		/* ambiguous names stay whole */
		{ "linalg_norm_ord_str", "aten::linalg_norm_ord_str" },
		{ "segment_reduce_out", "aten::segment_reduce_out" },
		{ "affine_grid_generator_out", "aten::affine_grid_generator_out" },
		{ "__and___Tensor", "aten::__and__.Tensor" },
		/* an ending is not the whole name */
		{ "out", "aten::out" },
		{ "_out", "aten::_out" },
	};
	for (size_t i = 0; i < sizeof name / sizeof name[0]; i++) {
		char function[128];
		snprintf(function, sizeof function, "at::_ops::%s::%s", name[i][0],
			 i % 2 ? "call" : "redispatch");
		const struct gp_name_frame frames[] = { NATIVE(function, CPU), { 0 } };
		expect(frames, name[i][1], "", "PyTorch");
	}
}

static void functions_that_are_not_operators(void **state)
{
	(void)state;
	static const char *const function[] = {
		"at::native::addmm",
		"at::addmm",
		"at::_ops::addmm",
		"at::_ops::addmm::schema",
		"at::_ops::addmm::calls",
		"at::_ops::addmm::call::operator()",
		"at::_ops::addmm<int>::call",
		"at::_ops::::call",
		"my_at::_ops::addmm::call",
		"c10::impl::wrap<at::_ops::addmm::call>",
		"torch::autograd::generated::AddmmBackward0::release_variables",
		"torch::autograd::generated::AddmmBackward0::applys",
		"torch::autograd::generated::AddmmBackward0_apply",
		"torch::autograd::generated::::apply",
		"torch::autograd::generated::A<B::apply",
		"std::function<torch::autograd::CopySlices::apply>",
		"",
		"at::_ops::a_name_that_is_longer_than_any_that_pytorch_has_or_will_have_and_so_"
		"long_"
		"that_it_would_not_fit_into_what_we_have_to_hold_it_in_so_it_is_left_out::call",
	};
	for (size_t i = 0; i < sizeof function / sizeof function[0]; i++) {
		const struct gp_name_frame frames[] = { NATIVE(function[i], CPU), { 0 } };
		expect(frames, "", "", "PyTorch");
	}
}

static void libraries_behind_the_runtime(void **state)
{
	(void)state;
	static const char *const library[][2] = {
		{ SITE "nvidia/cublas/lib/libcublas.so.12", "cuBLAS" },
		{ SITE "nvidia/cublas/lib/libcublasLt.so.12", "cuBLASLt" },
		{ SITE "nvidia/cudnn/lib/libcudnn_engines_precompiled.so.9", "cuDNN" },
		{ SITE "nvidia/cufft/lib/libcufft.so.11", "cuFFT" },
		{ SITE "nvidia/cusparse/lib/libcusparse.so.12", "cuSPARSE" },
		{ SITE "cusparselt/lib/libcusparseLt.so.0", "cuSPARSELt" },
		{ SITE "nvidia/cusolver/lib/libcusolver.so.11", "cuSOLVER" },
		{ "/usr/lib/libnvinfer.so.10.3.0", "TensorRT" },
		{ SITE "nvidia/nvshmem/lib/libnvshmem_host.so.3", "NVSHMEM" },
		{ SITE "jaxlib/libjax_common.so", "JAX/XLA" },
		{ SITE "jax_plugins/xla_cuda12/xla_cuda_plugin.so", "JAX/XLA" },
		{ SITE "cupy_backends/cuda/api/runtime.cpython-312-x86_64-linux-gnu.so", "CuPy" },
		{ SITE "librmm/lib64/librmm.so", "RMM" },
		{ SITE "vllm/_C.abi3.so", "vLLM" },
		{ SITE "flash_attn_2_cuda.cpython-312-x86_64-linux-gnu.so", "FlashAttention" },
		{ "/var/tmp/torchinductor_me/triton/0/XY/cuda_utils.cpython-312.so", "Triton" },
		{ "/var/tmp/torchinductor_me/ab/cab.main.so", "PyTorch" },
		{ SITE "triton/_C/libtriton.so", "Triton" },
		{ SITE "torch/_C.cpython-312-x86_64-linux-gnu.so", "PyTorch" },
		/* an unlisted library: its package, else its file */
		{ SITE "somebody/_C.cpython-312-x86_64-linux-gnu.so", "somebody" },
		{ SITE "alone.cpython-312-x86_64-linux-gnu.so", "alone" },
		{ "/opt/solver/lib/libsolver.so.3.1", "libsolver" },
		{ "/srv/job/simulate", "simulate" },
		{ "/srv/torch/build/libmine.so", "libmine" },
	};
	for (size_t i = 0; i < sizeof library / sizeof library[0]; i++) {
		const struct gp_name_frame frames[] = {
			NATIVE("gp_entry", OURS),
			NATIVE(NULL, DRIVER),
			NATIVE(NULL, RUNTIME),
			NATIVE("cudaMalloc", RUNTIME),
			NATIVE("__pthread_once_slow", "/usr/lib/x86_64-linux-gnu/libc.so.6"),
			/* a CUDA runtime inside the library, as in cuBLAS */
			NATIVE("cudaMalloc", library[i][0]),
			NATIVE(NULL, library[i][0]),
			NATIVE("at::_ops::mm::call", CPU),
			{ 0 },
		};
		expect(frames, "aten::mm", "", library[i][1]);
	}
}

static void calls_through_ctypes(void **state)
{
	(void)state;
	struct gp_name_frame frames[] = {
		NATIVE("cuMemAlloc_v2", DRIVER),
		NATIVE("ffi_call", "/usr/lib/x86_64-linux-gnu/libffi.so.8"),
		NATIVE(NULL, "/usr/lib/python3.12/lib-dynload/_ctypes.cpython-312-x86_64.so"),
		NATIVE("_PyObject_Call", CPYTHON),
		PYTHON("driver_call", SITE "numba/cuda/cudadrv/driver.py"),
		PYTHON("main", "/srv/job/train.py"),
		{ 0 },
	};
	expect(frames, "", "", "Numba");
	frames[4].file = "/srv/job/alloc.py";
	expect(frames, "", "", "Python");
	/* the owner is the Python frame that called, not an outer one */
	frames[5].file = SITE "numba/cuda/x.py";
	expect(frames, "", "", "Python");
	frames[4].file = NULL;
	expect(frames, "", "", "Python");
}

static void stacks_without_names(void **state)
{
	(void)state;
	struct gp_names names;
	gp_names_of(NULL, 0, NULL, &names);
	assert_string_equal(names.operator, "");
	assert_string_equal(names.node, "");
	assert_string_equal(names.library, "");
	/* the driver's caller is in no module: it has no owner */
	static const struct gp_name_frame lost[] = {
		NATIVE("cuMemAlloc_v2", DRIVER),
		NATIVE("?", NULL),
		NATIVE("at::native::empty", CPU),
		{ 0 },
	};
	expect(lost, "", "", "");
	static const struct gp_name_frame only_driver[] = {
		NATIVE("cuMemAlloc_v2", DRIVER),
		NATIVE(NULL, RUNTIME),
		{ 0 },
	};
	expect(only_driver, "", "", "");
}

static size_t user_of(const struct gp_name_frame *frame)
{
	return names_of(frame).user;
}

static void the_users_line_is_the_innermost_of_his_own(void **state)
{
	(void)state;
	struct gp_name_frame frames[] = {
		NATIVE("at::_ops::addmm::call", CPU),
		PYTHON("Linear.forward", SITE "torch/nn/modules/linear.py"),
		PYTHON("Attention.forward", SITE "transformers/models/gpt2.py"),
		PYTHON("Net.forward", "/srv/job/model.py"),
		PYTHON("Module._call_impl", SITE "torch/nn/modules/module.py"),
		PYTHON("train", "/srv/job/train.py"),
		NATIVE("main", "/srv/job/simulate"),
		{ 0 },
	};
	assert_int_equal(user_of(frames), 3);
	/* generated code, the standard library, PyTorch built in place: not the user's lines */
	static const char *const others[] = {
		"<frozen runpy>",
		"/usr/lib/python3.11/contextlib.py",
		"/usr/lib/python3/asyncio.py",
		"/srv/pytorch/torch/nn/modules/linear.py",
		"/tmp/torchinductor_me/ab/cab.py",
		"<eval_with_key>.3",
		NULL,
	};
	for (size_t k = 0; k < sizeof others / sizeof *others; k++) {
		frames[3].file = others[k];
		assert_int_equal(user_of(frames), 5);
		assert_false(gp_python_is_user(others[k]));
	}
	/* without a frame of the user another package counts, but not PyTorch */
	frames[5].file = SITE "torch/optim/adamw.py";
	assert_int_equal(user_of(frames), 2);
	frames[2].file = SITE "torch/optim/adamw.py";
	assert_int_equal(user_of(frames), SIZE_MAX);
	/* typed code, or code made by the standard library: only if there are no better frames */
	frames[2].file = "<string>";
	assert_int_equal(user_of(frames), 2);
	frames[5].file = "/srv/lib/python3job/train.py";
	assert_int_equal(user_of(frames), 5);
	assert_true(gp_python_is_user(frames[5].file));
}

static void without_python_the_program_is_the_user(void **state)
{
	(void)state;
	static const struct gp_name_frame frames[] = {
		NATIVE("cuMemAlloc_v2", DRIVER),
		NATIVE("cublasCreate_v2", "/usr/lib/libcublas.so.12"),
		NATIVE(NULL, "/srv/job/simulate"),
		NATIVE("solve", "/srv/job/simulate"),
		NATIVE("main", "/srv/job/simulate"),
		{ 0 },
	};
	struct gp_names names;
	names = names_of(frames);
	assert_int_equal(names.user, 3);
	assert_int_equal(names.caller, 1);
	gp_names_of(frames, length(frames), NULL, &names);
	assert_int_equal(names.user, SIZE_MAX);
}

static void interpreter_frames(void **state)
{
	(void)state;
	assert_true(gp_frame_is_interpreter("_PyEval_EvalFrameDefault", CPYTHON));
	assert_true(gp_frame_is_interpreter(NULL, CPYTHON));
	assert_true(gp_frame_is_interpreter("anything", "/usr/lib/libpython3.12.so.1.0"));
	assert_true(gp_frame_is_interpreter(NULL, "/usr/lib/libpython3.7m.so.1.0"));
	assert_true(gp_frame_is_interpreter(NULL, "/opt/venv/bin/python"));
	assert_true(gp_frame_is_interpreter(NULL, "/opt/bin/python3.13t"));
	/* linked into another program */
	assert_true(gp_frame_is_interpreter("_PyEval_EvalFrameDefault", "/usr/bin/blender"));
	assert_true(gp_frame_is_interpreter("PyObject_CallMethod", "/usr/bin/blender"));
	assert_true(gp_frame_is_interpreter("method_vectorcall_VARARGS_KEYWORDS", NULL));
	assert_true(gp_frame_is_interpreter("slot_tp_call", NULL));
	/* ambiguous names count as the other library's */
	assert_false(gp_frame_is_interpreter("slot_tp_call", CPU));
	assert_false(gp_frame_is_interpreter("run_mod", "/srv/job/simulate"));
	assert_false(gp_frame_is_interpreter("_PyEval", "/srv/job/simulate"));
	assert_false(gp_frame_is_interpreter("my_PyEval_EvalFrame", CPU));
	assert_false(gp_frame_is_interpreter("THPVariable_add", BINDING));
	assert_false(gp_frame_is_interpreter(NULL, BINDING));
	assert_false(gp_frame_is_interpreter(NULL, "/usr/bin/python3-config-gpu"));
	assert_false(gp_frame_is_interpreter(NULL, SITE "torch/lib/libtorch_python.so"));
	assert_false(gp_frame_is_interpreter(NULL, "/srv/python3/job"));
	assert_false(gp_frame_is_interpreter(NULL, NULL));
}

/*
 * Memory that the framework keeps for a library, and the callers of the driver: the program or a
 * library.
 */
static void memory_has_an_owner(void **state)
{
	(void)state;
	static const struct gp_name_frame workspace[] = {
		NATIVE("c10::cuda::CUDACachingAllocator::Native::NativeCachingAllocator::malloc",
		       C10),
		NATIVE("at::cuda::getCUDABlasLtWorkspace", CUDA),
		NATIVE("at::_ops::addmm::call", CPU),
		PYTHON("Linear.forward", SITE "torch/nn/modules/linear.py"),
		{ 0 },
	};
	static const struct gp_name_frame beyond[] = {
		NATIVE("c10::cuda::CUDACachingAllocator::Native::NativeCachingAllocator::malloc",
		       C10),
		NATIVE("at::_ops::empty::call", CPU),
		PYTHON("Linear.forward", SITE "torch/nn/modules/linear.py"),
		NATIVE("at::cuda::setWorkspaceForHandle", CUDA),
		{ 0 },
	};
	static const struct gp_name_frame program[] = {
		NATIVE("cuMemAlloc_v2", DRIVER),
		NATIVE("main", THE_PROGRAM),
		{ 0 },
	};
	static const struct gp_name_frame library[] = {
		NATIVE("cuMemAlloc_v2", DRIVER),
		NATIVE("solve", "/srv/job/libsolver.so"),
		NATIVE("main", THE_PROGRAM),
		{ 0 },
	};
	static const struct gp_name_frame own_python[] = {
		NATIVE("ffi_call", "/usr/lib/x86_64-linux-gnu/libffi.so.8"),
		PYTHON("take", "/srv/job/train.py"),
		{ 0 },
	};
	static const struct gp_name_frame packages[] = {
		PYTHON("alloc", SITE "cupy/cuda/memory.py"),
		{ 0 },
	};
	assert_string_equal(names_of(workspace).workspace, "cuBLASLt");
	assert_string_equal(names_of(beyond).workspace, "");
	assert_string_equal(names_of(program).workspace, "");
	assert_false(names_of(workspace).is_own);
	assert_true(names_of(program).is_own);
	assert_false(names_of(library).is_own);
	assert_true(names_of(own_python).is_own);
	assert_false(names_of(packages).is_own);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_forward_allocation),
		cmocka_unit_test(a_backward_allocation),
		cmocka_unit_test(gradients_that_are_added_up),
		cmocka_unit_test(operators_beyond_the_engine),
		cmocka_unit_test(forward_in_python_inside_a_node),
		cmocka_unit_test(python_parts_stretches),
		cmocka_unit_test(cxx_nodes),
		cmocka_unit_test(collectives),
		cmocka_unit_test(operators_with_overloads),
		cmocka_unit_test(functions_that_are_not_operators),
		cmocka_unit_test(libraries_behind_the_runtime),
		cmocka_unit_test(calls_through_ctypes),
		cmocka_unit_test(stacks_without_names),
		cmocka_unit_test(the_users_line_is_the_innermost_of_his_own),
		cmocka_unit_test(without_python_the_program_is_the_user),
		cmocka_unit_test(interpreter_frames),
		cmocka_unit_test(memory_has_an_owner),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
