/*
 * Stacks as recorded on H200s of PyTorch 2.11 (compiled, distributed, called from Python without
 * at::_ops), NCCL, JAX 0.11, CuPy 14, Triton 3.6 and ctypes. With each stack, the name that users
 * see.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

#include "name_frames.h"
#include "read/frames/library_names.h"

#define NCCL SITE "nvidia/nccl/lib/libnccl.so.2"
#define CUBLAS SITE "nvidia/cu13/lib/libcublas.so.13"
#define PLUGIN SITE "jax_plugins/xla_cuda13/xla_cuda_plugin.so"
#define JAX SITE "jaxlib/libjax_common.so"
#define ENDING ".cpython-312-x86_64-linux-gnu.so"
#define CUPY_RUNTIME SITE "cupy_backends/cuda/api/runtime" ENDING
#define CUPY_MEMORY SITE "cupy/cuda/memory" ENDING
#define CUPY_CORE SITE "cupy/_core/core" ENDING
#define ALLOCATOR "c10::cuda::CUDACachingAllocator::Native::"
#define JOB "/srv/job/train.py"
#define AUTOGRAD SITE "torch/autograd/function.py"
#define BOXED                                                                                    \
	"c10::impl::make_boxed_from_unboxed_functor<c10::impl::detail::WrapFunctionIntoFunctor_" \
	"<c10::CompileTimeFunctionPointer<at::Tensor (at::Tensor const&, at::Tensor const&), "   \
	"&at::(anonymous namespace)::wrapper_CUDA_mm>, at::Tensor, c10::guts::typelist::"        \
	"typelist<at::Tensor const&, at::Tensor const&> >, false>::call"

/* ---- nodes written in Python ---- */

static void a_node_in_python_is_called_by_its_class(void **state)
{
	(void)state;
	struct gp_name_frame frames[] = {
		NATIVE("at::_ops::clone::call", CPU),
		NATIVE("torch::autograd::THPVariable_clone", BINDING),
		NATIVE(NULL, CPYTHON),
		NATIVE("PyObject_Vectorcall", CPYTHON),
		PYTHON("Twice.backward", JOB),
		PYTHON("once_differentiable.<locals>.wrapper", AUTOGRAD),
		PYTHON("BackwardCFunction.apply", AUTOGRAD),
		NATIVE("_PyEval_EvalFrameDefault", CPYTHON),
		NATIVE(NULL, CPYTHON),
		NATIVE("torch::autograd::PyNode::apply", BINDING),
		NATIVE("torch::autograd::Node::operator()", CPU),
		{ 0 },
	};
	expect(frames, "aten::clone", "TwiceBackward", "PyTorch");
	frames[4].function = "make.<locals>.Twice.vjp";
	expect(frames, "aten::clone", "TwiceBackward", "PyTorch");
	/* a plain function has no class; and up to Python 3.10 frames have no class names */
	frames[4].function = "backward";
	expect(frames, "aten::clone", "PyNode", "PyTorch");
	frames[6].function = "apply";
	frames[4].function = "Twice.backward";
	expect(frames, "aten::clone", "PyNode", "PyTorch");
	/* a function of another package */
	frames[6] = (struct gp_name_frame)PYTHON("BackwardCFunction.apply", JOB);
	expect(frames, "aten::clone", "PyNode", "PyTorch");
	/* a call from C++ inside the node does not show its class */
	frames[6] = (struct gp_name_frame)PYTHON("BackwardCFunction.apply", AUTOGRAD);
	frames[5] = (struct gp_name_frame)NATIVE("ext::call_back", "/srv/job/ext.so");
	expect(frames, "aten::clone", "PyNode", "PyTorch");
}

#define AOT SITE "torch/_functorch/_aot_autograd/runtime_wrappers.py"
#define IN_POST_COMPILE "AOTDispatchAutograd.post_compile.<locals>.CompiledFunction."
static const struct gp_name_frame compiled_backward[] = {
	NATIVE(ALLOCATOR "DeviceCachingAllocator::alloc_found_block", C10),
	NATIVE("at::detail::empty_strided_generic", CPU),
	NATIVE("at::detail::empty_strided_cuda", CUDA),
	NATIVE("torch::dynamo::(anonymous namespace)::_empty_strided_device", BINDING),
	NATIVE(NULL, CPYTHON),
	NATIVE("_PyObject_MakeTpCall", CPYTHON),
	PYTHON("Runner.call", "/tmp/torchinductor_root/vt/cvtzhhrismnclldmuqurh4vhowzrhnpkoiq.py"),
	PYTHON("align_inputs_from_check_idxs.<locals>.run", SITE "torch/_inductor/utils.py"),
	PYTHON("CompiledFxGraph.__call__", SITE "torch/_inductor/output_code.py"),
	PYTHON(IN_POST_COMPILE "_backward_impl", AOT),
	PYTHON(IN_POST_COMPILE "backward.<locals>.impl_fn", AOT),
	PYTHON(IN_POST_COMPILE "backward", AOT),
	PYTHON("BackwardCFunction.apply", AUTOGRAD),
	/* inner frames may be missing: only this operator calls the frame above */
	{ 0 },
};

static void a_compiled_backward(void **state)
{
	(void)state;
	expect(compiled_backward, "inductor buffer", "CompiledFunctionBackward", "PyTorch");
	static const struct gp_name_frame tuning[] = {
		NATIVE(ALLOCATOR "DeviceCachingAllocator::alloc_found_block", C10),
		NATIVE("at::_ops::empty_memory_format::redispatch", CPU),
		NATIVE("at::_ops::empty_memory_format::call", CPU),
		NATIVE("torch::autograd::THPVariable_empty", BINDING),
		NATIVE(NULL, CPYTHON),
		NATIVE("_PyObject_MakeTpCall", CPYTHON),
		PYTHON("InductorBenchmarker.benchmark_gpu",
		       SITE "torch/_inductor/runtime/benchmarking.py"),
		{ 0 },
	};
	expect(tuning, "inductor benchmark", "", "PyTorch");
}

/* ---- operators without at::_ops ---- */

static void an_operator_that_python_called_boxed(void **state)
{
	(void)state;
	static const struct gp_name_frame wrapped[] = {
		NATIVE("at::cuda::setWorkspaceForHandle", CUDA),
		NATIVE("at::native::structured_mm_out_cuda::impl", CUDA),
		NATIVE("at::(anonymous namespace)::wrapper_CUDA_mm_out_out", CUDA),
		NATIVE("c10::Dispatcher::callBoxed", CPU),
		NATIVE("torch::jit::invokeOperatorFromPython", BINDING),
		PYTHON("OpOverload.__call__", SITE "torch/_ops.py"),
		{ 0 },
	};
	expect(wrapped, "aten::mm.out", "", "PyTorch");
	static const struct gp_name_frame argument[] = {
		NATIVE("at::meta::structured_mm::meta", CPU),
		NATIVE(BOXED, CUDA),
		NATIVE("c10::Dispatcher::callBoxed", CPU),
		{ 0 },
	};
	expect(argument, "aten::mm", "", "PyTorch");
	/* it is inside the operator that called it */
	static const struct gp_name_frame called[] = {
		NATIVE(BOXED, CUDA),
		NATIVE("at::_ops::matmul::call", CPU),
		{ 0 },
	};
	expect(called, "aten::matmul", "", "PyTorch");
}

static void kernels_and_their_operators(void **state)
{
	(void)state;
	static const char twice[] = "at::(anonymous namespace)::(anonymous namespace)::",
			  once[] = "at::(anonymous namespace)::";
	static const struct {
		const char *space, *wrapper, *operator;
		bool is_allocation;
	} known[] = {
		{ once, "wrapper_CUDA_mm", "aten::mm", false },
		{ once, "wrapper_CUDA_addmm_out_out", "aten::addmm.out", false },
		{ once, "wrapper_CUDA_add__Tensor", "aten::add_.Tensor", false },
		{ once, "wrapper_CUDA_sum_out_IntList_out", "aten::sum.IntList_out", false },
		{ once, "wrapper_CUDA__linalg_svd", "aten::_linalg_svd", false },
		{ once, "wrapper_CUDA_remainder_Tensor", "aten::remainder.Tensor", false },
		{ once, "wrapper_CUDA_gelu_backward_out_grad_input",
		  "aten::gelu_backward.grad_input", false },
		{ twice, "wrapper_CUDA__empty_strided", "aten::empty_strided", true },
		{ twice, "wrapper_CUDA_memory_format_empty", "aten::empty.memory_format", true },
		{ twice, "wrapper_CUDA___cudnn_rnn_backward", "aten::_cudnn_rnn_backward", false },
		{ twice, "wrapper_CompositeExplicitAutograd__zeros", "aten::zeros", false },
		{ twice, "wrapper_CUDA_out_index_out", "aten::index.out", false },
		{ twice, "wrapper_CUDA_Scalar_fill_", "aten::fill_.Scalar", false },
		/* ambiguous, or not from PyTorch's generator */
		{ once, "wrapper_CUDA_div_out_out_mode", NULL, false },
		{ once, "wrapper_CUDA_mm_out", NULL, false },
		{ twice, "wrapper_CUDA_m_out_eye_out", NULL, false },
		{ twice, "wrapper_CUDA_out_index", NULL, false },
		{ twice, "wrapper_CUDA_", NULL, false },
		{ twice, "wrapper_CUDA", NULL, false },
		{ twice, "wrapper_CUDA_Tensor_", NULL, false },
		{ once, "wrapper_CUDA_mm<int>", NULL, false },
		{ "at::", "wrapper_CUDA_mm", NULL, false },
		{ "mine::at::(anonymous namespace)::", "wrapper_CUDA_mm", NULL, false },
	};
	for (size_t i = 0; i < sizeof known / sizeof *known; i++) {
		char function[256], name[GP_NAME_MAX];
		bool is_allocation = false;
		snprintf(function, sizeof function, "%s%s", known[i].space, known[i].wrapper);
		bool found = gp_operator_of_kernel(function, name, &is_allocation);
		assert_int_equal(found, known[i].operator!= NULL);
		if (!found)
			continue;
		assert_string_equal(name, known[i].operator);
		assert_int_equal(is_allocation, known[i].is_allocation);
	}
}

/* ---- distributed ---- */

static void memory_of_data_parallel_training(void **state)
{
	(void)state;
	struct gp_name_frame buckets[] = {
		NATIVE(ALLOCATOR "NativeCachingAllocator::allocate", C10),
		NATIVE("at::_ops::empty_memory_format::call", CPU),
		NATIVE("at::empty", CPU),
		NATIVE("c10d::Reducer::initialize_buckets", CPU),
		NATIVE("pybind11::cpp_function::dispatcher", BINDING),
		PYTHON("DistributedDataParallel.__init__", SITE "torch/nn/parallel/distributed.py"),
		{ 0 },
	};
	expect(buckets, "DDP buckets", "", "PyTorch");
	buckets[1].function = "at::_ops::zeros::call";
	expect(buckets, "aten::zeros", "", "PyTorch");
	static const struct gp_name_frame communicator[] = {
		NATIVE("ncclCuMemAlloc", NCCL),
		NATIVE("ncclCudaCallocAsyncDebug<ncclDevChannelPeer>", NCCL),
		NATIVE("initChannel", NCCL),
		NATIVE("ncclTopoComputeP2pChannels", NCCL),
		NATIVE("ncclAsyncJobMain", NCCL),
		NATIVE("ncclGroupEndInternal", NCCL),
		NATIVE("ncclCommInitRankConfig", NCCL),
		NATIVE("c10d::NCCLComm::create", CUDA),
		{ 0 },
	};
	expect(communicator, "ncclCommInitRankConfig", "", "NCCL");
	struct gp_name_frame proxy[] = {
		NATIVE("ncclCuMemAlloc", NCCL),
		NATIVE("ncclP2pAllocateShareableBuffer", NCCL),
		NATIVE("p2pRecvProxySetup", NCCL),
		NATIVE("proxyProgressAsync", NCCL),
		NATIVE("proxyServiceInitOp", NCCL),
		NATIVE("ncclProxyService", NCCL),
		NATIVE(NULL, "/usr/lib/x86_64-linux-gnu/libc.so.6"),
		{ 0 },
	};
	expect(proxy, "p2pRecvProxySetup", "", "NCCL");
	/* of NCCL's frames reports show only those with names */
	assert_true(gp_frame_is_folded(&proxy[0]));
	assert_false(gp_frame_is_folded(&proxy[2]));
	assert_true(gp_frame_is_folded(&proxy[3]));
	assert_false(gp_frame_is_folded(&proxy[5]));
	proxy[2].function = NULL;
	expect(proxy, "ncclProxyService", "", "NCCL");
	assert_true(gp_frame_is_folded(&proxy[2]));
}

/* ---- other frameworks ---- */

static void jax(void **state)
{
	(void)state;
	static const struct gp_name_frame running[] = {
		NATIVE("stream_executor::gpu::CudaDeviceAllocator::Allocate", PLUGIN),
		NATIVE("tsl::BFCAllocator::AllocateRaw", PLUGIN),
		NATIVE("xla::gpu::GpuExecutable::ExecuteAsyncOnStream", PLUGIN),
		NATIVE("pjrt::PJRT_LoadedExecutable_Execute", PLUGIN),
		NATIVE("xla::PjRtCApiLoadedExecutable::Execute", JAX),
		NATIVE("nanobind::detail::nb_func_vectorcall_medium_pos", JAX),
		NATIVE("PyObject_Vectorcall", CPYTHON),
		PYTHON("ExecuteReplicated.__call__", SITE "jax/_src/interpreters/pxla.py"),
		PYTHON("with_jax", JOB),
		{ 0 },
	};
	expect(running, "PJRT_LoadedExecutable_Execute", "", "JAX/XLA");
	assert_int_equal(names_of(running).user, 8);
	static const struct gp_name_frame tuning[] = {
		NATIVE("stream_executor::RedzoneAllocator::CreateBuffer", PLUGIN),
		NATIVE("xla::gpu::GpuProfiler::CreateInputBuffers", PLUGIN),
		NATIVE("xla::Autotuner::GetTunedConfig(xla::HloInstruction const*, int) "
		       "const::$_0::operator()",
		       PLUGIN),
		NATIVE("Eigen::ThreadPoolTempl<tsl::thread::EigenEnvironment>::WorkerLoop", PLUGIN),
		{ 0 },
	};
	expect(tuning, "XLA autotuner", "", "JAX/XLA");
	static const struct gp_name_frame library[] = {
		NATIVE(NULL, SITE "nvidia/cudnn/lib/libcudnn_graph.so.9"),
		NATIVE("cudnnCreate", SITE "nvidia/cudnn/lib/libcudnn_graph.so.9"),
		NATIVE("cudnnCreate", SITE "nvidia/cudnn/lib/libcudnn.so.9"),
		NATIVE("stream_executor::gpu::CudnnSupport::Init", PLUGIN),
		NATIVE("pjrt::PJRT_Client_Compile", PLUGIN),
		{ 0 },
	};
	expect(library, "PJRT_Client_Compile", "", "cuDNN");
}

static void cupy(void **state)
{
	(void)state;
	static const struct gp_name_frame frames[] = {
		NATIVE("libcudart_static_5382377d5c772c9d197c0cda9fd9742ee6ad893c", CUPY_RUNTIME),
		NATIVE("cudaMalloc", CUPY_RUNTIME),
		NATIVE("__pyx_f_13cupy_backends_4cuda_3api_7runtime_malloc", CUPY_RUNTIME),
		NATIVE("__pyx_pw_4cupy_4cuda_6memory_6Memory_1__init__", CUPY_MEMORY),
		NATIVE(NULL, CPYTHON),
		NATIVE("_PyObject_MakeTpCall", CPYTHON),
		NATIVE("__pyx_pw_4cupy_5_core_4core_7ndarray_1__new__", CUPY_CORE),
		NATIVE("_PyObject_MakeTpCall", CPYTHON),
		PYTHON("ones", SITE "cupy/_creation/basic.py"),
		{ 0 },
	};
	expect(frames, "cupy._core.core.ndarray.__new__", "", "CuPy");
	/* the library's own function, not that of the runtime linked into it */
	assert_int_equal(names_of(frames).caller, 2);
	assert_true(gp_frame_is_folded(&frames[0]));
	assert_true(gp_frame_is_folded(&frames[1]));
	/* without Python's own frames the stretch ends at the interpreter's loop */
	static const struct gp_name_frame bare[] = {
		NATIVE("cudaMalloc", CUPY_RUNTIME),
		NATIVE("_PyEval_EvalFrameDefault", CPYTHON),
		NATIVE("__pyx_pw_4cupy_5_core_4core_7ndarray_1__new__", CUPY_CORE),
		{ 0 },
	};
	expect(bare, "", "", "CuPy");
}

static void names_that_cython_mangled(void **state)
{
	(void)state;
	static const struct {
		const char *function, *module, *name;
	} known[] = {
		{ "__pyx_pw_4cupy_5_core_4core_13_ndarray_base_135__truediv__", CUPY_CORE,
		  "cupy._core.core._ndarray_base.__truediv__" },
		{ "__pyx_pw_4cupy_4cuda_6memory_10MemoryPool_3malloc", CUPY_MEMORY,
		  "cupy.cuda.memory.MemoryPool.malloc" },
		{ "__pyx_pw_4cupy_4cuda_6memory_3_malloc", CUPY_MEMORY,
		  "cupy.cuda.memory._malloc" },
		{ "__pyx_pw_4cupy_4cuda_6memory_alloc", CUPY_MEMORY, "cupy.cuda.memory.alloc" },
		/* the third function `get_handle` of a module, or `handle` of a class `get` */
		{ "__pyx_pw_4cupy_4cuda_6memory_3get_handle", CUPY_MEMORY, NULL },
		/* another module than the file's, no module, cut off, not for Python */
		{ "__pyx_pw_4cupy_4cuda_6memory_3_malloc", CUPY_CORE, NULL },
		{ "__pyx_pw_4cupy_4cuda_6memory_3_malloc", NULL, NULL },
		{ "__pyx_pw_4cupy_4cuda_6memory_3_malloc", "memory.so", NULL },
		{ "__pyx_pw_4cupy_4cuda_6memory_", CUPY_MEMORY, NULL },
		{ "__pyx_pw_4cupy_4cuda_6memory_3", CUPY_MEMORY, NULL },
		{ "__pyx_pw_4cupy_4cuda_999memory_x", CUPY_MEMORY, NULL },
		{ "__pyx_pw_4cupy_4cuda_6memory_3_malloc.cold", CUPY_MEMORY, NULL },
		{ "__pyx_f_4cupy_4cuda_6memory_alloc", CUPY_MEMORY, NULL },
		{ "__pyx_pw_", CUPY_MEMORY, NULL },
	};
	for (size_t i = 0; i < sizeof known / sizeof *known; i++) {
		char name[GP_NAME_MAX];
		bool found = gp_cython_name(known[i].function, known[i].module, name);
		assert_int_equal(found, known[i].name != NULL);
		assert_string_equal(name, found ? known[i].name : "");
	}
}

static void triton_and_ctypes(void **state)
{
	(void)state;
	static const struct gp_name_frame launch[] = {
		NATIVE("launch", "/srv/job/.triton/cache/4PXO3FN3M6/__triton_launcher" ENDING),
		NATIVE(NULL, CPYTHON),
		NATIVE("PyObject_Call", CPYTHON),
		PYTHON("CudaLauncher.__call__", SITE "triton/backends/nvidia/driver.py"),
		PYTHON("JITFunction.run", SITE "triton/runtime/jit.py"),
		PYTHON("with_triton", JOB),
		{ 0 },
	};
	expect(launch, "", "", "Triton");
	assert_int_equal(names_of(launch).user, 5);
	static const struct gp_name_frame ctypes[] = {
		NATIVE(NULL, "/usr/lib/x86_64-linux-gnu/libffi.so.8.1.4"),
		NATIVE("ffi_call", "/usr/lib/x86_64-linux-gnu/libffi.so.8.1.4"),
		NATIVE(NULL, "/usr/lib/python3.12/lib-dynload/_ctypes" ENDING),
		NATIVE("_PyObject_MakeTpCall", CPYTHON),
		PYTHON("with_ctypes", JOB),
		{ 0 },
	};
	expect(ctypes, "", "", "Python");
	assert_int_equal(names_of(ctypes).user, 4);
}

/* A library is named by the function that entered it; its unnamed frames are left out. */
static void libraries_with_exported_names_only(void **state)
{
	(void)state;
	static const struct gp_name_frame frames[] = {
		NATIVE(NULL, CUBLAS),
		NATIVE(NULL, CUBLAS),
		NATIVE("cublasCreate_v2", CUBLAS),
		NATIVE("cusolverDnCreate", SITE "nvidia/cu13/lib/libcusolver.so.12"),
		NATIVE("solve", THE_PROGRAM),
		{ 0 },
	};
	expect(frames, "", "", "cuBLAS");
	assert_int_equal(names_of(frames).caller, 2);
	assert_true(gp_frame_is_folded(&frames[0]));
	assert_false(gp_frame_is_folded(&frames[2]));
	/* unnamed frames of other files are different places */
	static const struct gp_name_frame own = NATIVE(NULL, THE_PROGRAM);
	assert_false(gp_frame_is_folded(&own));
}

/* ---- owners of files ---- */

static void a_folder_further_out_names_no_library(void **state)
{
	(void)state;
	static const char *const rows[][2] = {
		{ "/opt/vllm/venv/lib/python3.12/site-packages/torch/_C" ENDING, "PyTorch" },
		{ "/srv/jobs/vllm/.venv/lib/python3.12/site-packages/torch/lib/libfbgemm.so",
		  "PyTorch" },
		{ "/srv/u/triton/.venv/lib/python3.12/site-packages/mylib/_ext.so", NULL },
		{ "/srv/u/deepspeed/train/build/my_kernels.so", NULL },
		{ "/opt/tensorflow/lib/libmine.so", NULL },
		{ "/srv/flash_attn_tests/mine.so", NULL },
		{ "/srv/u/apex/mine.so", NULL },
		{ SITE "mine/vllm/_C.so", NULL },
		{ SITE "vllm/_C.abi3.so", "vLLM" },
		{ SITE "flash_attn_3/_C.abi3.so", "FlashAttention" },
		{ SITE "cuda/bindings/driver" ENDING, "CUDA Python" },
		{ SITE "apex/mine.so", "Apex" },
		{ "/srv/jobs/vllm/vllm/_C.abi3.so", "vLLM" },
		{ "/srv/home/.triton/cache/ab12/launcher.so", "Triton" },
		{ "/tmp/torchinductor_root/vt/cvtz.so", "PyTorch" },
		{ "/usr/lib/libmpicustom.so", NULL },
		{ "/usr/lib/libmpich.so.12", "MPI" },
		{ "/usr/lib/libmpi.so.40", "MPI" },
		{ "/usr/lib/libraftconsensus.so", NULL },
		{ "/usr/lib/libnppx.so", NULL },
		{ "/usr/lib/libnppif.so.12", "NPP" },
		{ "/usr/lib/libc10x.so", NULL },
		{ "/usr/lib/libc10_cuda.so", "PyTorch" },
		{ "/usr/lib/libcublas-3b81d170.so.12", "cuBLAS" },
		{ "/usr/lib/libcublasLt.so.13", "cuBLASLt" },
		{ "/usr/lib/libcudnn_ops.so.9", "cuDNN" },
	};
	for (size_t k = 0; k < sizeof rows / sizeof *rows; k++) {
		const char *name = gp_library_of(rows[k][0]);
		if (!name != !rows[k][1] || (name && strcmp(name, rows[k][1]) != 0))
			fail_msg("%s is called %s", rows[k][0], name ? name : "nothing");
	}
	assert_null(gp_python_library_of("/srv/vllm/train.py"));
	assert_null(gp_python_library_of("/srv/jobs/bitsandbytes/x.py"));
	assert_null(gp_python_library_of("/srv/u/triton/lib/site-packages/mine/a.py"));
	assert_string_equal(gp_python_library_of(SITE "triton/backends/nvidia/driver.py"),
			    "Triton");
}

static void a_folder_called_torch_may_be_the_users(void **state)
{
	(void)state;
	static const char *const users[] = {
		"/srv/u/torch/utils/mine.py",
		"/srv/u/proj/torch/_mine.py",
		"/data/torch/nn/model.py",
		"/srv/jobs/torchinductor_work/train.py",
		"/srv/jobs/torchinductor_work/models/gpt.py",
	};
	static const char *const others[] = {
		SITE "torch/utils/mine.py",
		SITE "horovod/torch/__init__.py",
		"/srv/pytorch/torch/nn/modules/linear.py",
		"/build/torch/nn/functional.py",
		"/tmp/torchinductor_root/vt/cvtzhhrismnclldm.py",
		"/usr/lib/python3.12/threading.py",
	};
	for (size_t k = 0; k < sizeof users / sizeof *users; k++)
		if (!gp_python_is_user(users[k]))
			fail_msg("%s is the user's", users[k]);
	for (size_t k = 0; k < sizeof others / sizeof *others; k++)
		if (gp_python_is_user(others[k]))
			fail_msg("%s is not the user's", others[k]);
	/* another package counts if the stack has no frame of the user; PyTorch never does */
	struct gp_name_frame frames[] = {
		PYTHON("_wait", SITE "torch/cuda/streams.py"),
		PYTHON("allreduce", SITE "horovod/torch/__init__.py"),
	};
	struct gp_names names;
	gp_names_of(frames, 2, NULL, &names);
	assert_int_equal(names.user, 1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_node_in_python_is_called_by_its_class),
		cmocka_unit_test(a_compiled_backward),
		cmocka_unit_test(an_operator_that_python_called_boxed),
		cmocka_unit_test(kernels_and_their_operators),
		cmocka_unit_test(memory_of_data_parallel_training),
		cmocka_unit_test(jax),
		cmocka_unit_test(cupy),
		cmocka_unit_test(names_that_cython_mangled),
		cmocka_unit_test(triton_and_ctypes),
		cmocka_unit_test(libraries_with_exported_names_only),
		cmocka_unit_test(a_folder_further_out_names_no_library),
		cmocka_unit_test(a_folder_called_torch_may_be_the_users),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
