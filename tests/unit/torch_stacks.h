/*
 * Stacks of block allocations of PyTorch 2.11, innermost frame first: symbols of its libraries,
 * from a GPT training step on an H200. A line is a native function, or "function @ file:line" of
 * Python. "?" is a function of the interpreter without a symbol, "?libc" one of the C library. "W"
 * is the wrapper of a kernel, whose symbol is longer than a screen is wide.
 */
#ifndef TORCH_STACKS_H
#define TORCH_STACKS_H

#include <stdlib.h>
#include <string.h>

#include "gpuprof.h"
#include "read/frames/frame_names.h"

#define SITE_PACKAGES "/opt/venv/lib/python3.12/site-packages/"
#define TORCH_LIB SITE_PACKAGES "torch/lib/"
#define WRAPPER                                                                                 \
	"c10::impl::wrap_kernel_functor_unboxed_<c10::impl::detail::WrapFunctionIntoFunctor_<"  \
	"c10::CompileTimeFunctionPointer<at::Tensor (at::Tensor const&, c10::ArrayRef<long>), " \
	"&at::(anonymous namespace)::wrapper_CUDA__reshape>, at::Tensor, c10::guts::typelist::" \
	"typelist<at::Tensor const&, c10::ArrayRef<long> > >, at::Tensor (at::Tensor const&, "  \
	"c10::ArrayRef<long>)>::call"

#define ALLOCATED                                                                              \
	"c10::cuda::CUDACachingAllocator::Native::DeviceCachingAllocator::alloc_found_block\n" \
	"c10::cuda::CUDACachingAllocator::Native::DeviceCachingAllocator::malloc\n"            \
	"c10::cuda::CUDACachingAllocator::Native::NativeCachingAllocator::malloc\n"            \
	"c10::cuda::CUDACachingAllocator::Native::NativeCachingAllocator::allocate\n"
#define EMPTY_CALLED                                                                           \
	ALLOCATED                                                                              \
	"at::detail::empty_generic\n"                                                          \
	"at::detail::empty_cuda\n"                                                             \
	"at::detail::empty_cuda\n"                                                             \
	"at::native::empty_cuda\n"                                                             \
	"at::(anonymous namespace)::(anonymous namespace)::wrapper_CUDA_memory_format_empty\n" \
	"W\n"                                                                                  \
	"at::_ops::empty_memory_format::redispatch\n"                                          \
	"W\n"                                                                                  \
	"at::_ops::empty_memory_format::call\n"
#define EMPTY_STRIDED_CALLED                                                              \
	ALLOCATED                                                                         \
	"at::detail::empty_strided_generic\n"                                             \
	"at::detail::empty_strided_cuda\n"                                                \
	"at::detail::empty_strided_cuda\n"                                                \
	"at::native::empty_strided_cuda\n"                                                \
	"at::(anonymous namespace)::(anonymous namespace)::wrapper_CUDA__empty_strided\n" \
	"W\n"                                                                             \
	"at::_ops::empty_strided::redispatch\n"                                           \
	"W\n"                                                                             \
	"at::_ops::empty_strided::call\n"
#define STRUCTURED_OUT                \
	ALLOCATED                     \
	"at::detail::empty_generic\n" \
	"at::detail::empty_cuda\n"    \
	"at::detail::empty_cuda\n"    \
	"at::detail::empty_cuda\n"    \
	"at::(anonymous namespace)::create_out\n"
#define MODULE_CALLED                                                                    \
	"_PyEval_EvalFrameDefault\n"                                                     \
	"?\n"                                                                            \
	"Module._call_impl @ " SITE_PACKAGES "torch/nn/modules/module.py:1790\n"         \
	"_PyEval_EvalFrameDefault\n"                                                     \
	"?\n"                                                                            \
	"Module._wrapped_call_impl @ " SITE_PACKAGES "torch/nn/modules/module.py:1779\n" \
	"_PyEval_EvalFrameDefault\n"                                                     \
	"_PyObject_Call_Prepend\n"                                                       \
	"?\n"                                                                            \
	"_PyObject_MakeTpCall\n"
#define CLASS_CALLED                 \
	"_PyEval_EvalFrameDefault\n" \
	"_PyObject_Call_Prepend\n"   \
	"?\n"                        \
	"?\n"                        \
	"_PyObject_MakeTpCall\n"
#define PROGRAM                      \
	"_PyEval_EvalFrameDefault\n" \
	"PyEval_EvalCode\n"          \
	"?\n"                        \
	"?\n"                        \
	"_PyRun_SimpleFileObject\n"  \
	"_PyRun_AnyFileObject\n"     \
	"Py_RunMain\n"               \
	"Py_BytesMain\n"             \
	"?\n"                        \
	"__libc_start_main\n"        \
	"_start\n"
#define ENGINE_THREAD                                          \
	"torch::autograd::Engine::evaluate_function\n"         \
	"torch::autograd::Engine::thread_main\n"               \
	"torch::autograd::Engine::thread_init\n"               \
	"torch::autograd::python::PythonEngine::thread_init\n" \
	"?libc\n"                                              \
	"?libc\n"                                              \
	"?libc\n"
#define ENGINE_CALLED "torch::autograd::Node::operator()\n" ENGINE_THREAD

static const char linear_forward[] = STRUCTURED_OUT
	"at::(anonymous namespace)::structured_addmm_out_cuda_functional::set_output_raw_strided\n"
	"at::meta::structured_addmm::meta\n"
	"W\n"
	"at::_ops::addmm::redispatch\n"
	"torch::autograd::VariableType::(anonymous namespace)::addmm\n"
	"W\n"
	"at::_ops::addmm::call\n"
	"at::native::_flatten_nd_linear\n"
	"at::native::linear\n"
	"W\n"
	"at::_ops::linear::call\n"
	"torch::autograd::THPVariable_linear\n"
	"?\n"
	"_PyObject_MakeTpCall\n"
	"Linear.forward @ " SITE_PACKAGES "torch/nn/modules/linear.py:134\n" MODULE_CALLED
	"Block.forward @ /srv/job/gpt.py:56\n" MODULE_CALLED
	"GPT.forward @ /srv/job/gpt.py:72\n" MODULE_CALLED "Job.step @ /srv/job/gpt.py:120\n"
	"main @ /srv/job/main.py:31\n"
	"<module> @ /srv/job/main.py:46\n" PROGRAM;
static const char adam_state[] =
	EMPTY_STRIDED_CALLED "at::native::empty_like\n"
			     "W\n"
			     "at::_ops::empty_like::call\n"
			     "at::empty_like\n"
			     "at::native::zeros_like\n"
			     "W\n"
			     "at::_ops::zeros_like::call\n"
			     "torch::autograd::THPVariable_zeros_like\n"
			     "?\n"
			     "_PyObject_MakeTpCall\n"
			     "Adam._init_group @ " SITE_PACKAGES "torch/optim/adam.py:178\n"
			     "Adam.step @ " SITE_PACKAGES "torch/optim/adam.py:238\n"
			     "_use_grad_for_differentiable.<locals>._use_grad @ " SITE_PACKAGES
			     "torch/optim/optimizer.py:81\n"
			     "Optimizer.profile_hook_step.<locals>.wrapper @ " SITE_PACKAGES
			     "torch/optim/optimizer.py:533\n"
			     "Job.step @ /srv/job/gpt.py:122\n"
			     "main @ /srv/job/main.py:31\n"
			     "<module> @ /srv/job/main.py:46\n" PROGRAM;
static const char matmul_copies[] = EMPTY_CALLED
	"at::empty_symint\n"
	"at::native::empty_like\n"
	"W\n"
	"at::_ops::empty_like::call\n"
	"at::empty_like\n"
	"at::native::clone\n"
	"W\n"
	"at::_ops::clone::redispatch\n"
	"torch::autograd::VariableType::(anonymous namespace)::clone\n"
	"W\n"
	"at::_ops::clone::call\n"
	"at::native::reshape_symint\n"
	"W\n"
	"at::_ops::reshape::call\n"
	"at::native::_matmul_impl\n"
	"at::native::matmul\n"
	"W\n"
	"at::_ops::matmul::call\n"
	"torch::autograd::THPVariable_matmul\n"
	"torch::autograd::TypeError_to_NotImplemented_<&torch::autograd::THPVariable_matmul>\n"
	"?\n"
	"?\n"
	"?\n"
	"?\n"
	"PyNumber_MatrixMultiply\n"
	"Block.attend @ /srv/job/gpt.py:49\n"
	"Block.forward @ /srv/job/gpt.py:55\n" MODULE_CALLED
	"GPT.forward @ /srv/job/gpt.py:72\n" MODULE_CALLED "Job.step @ /srv/job/gpt.py:120\n"
	"main @ /srv/job/main.py:31\n"
	"<module> @ /srv/job/main.py:46\n"
	"_PyEval_EvalFrameDefault\n"
	"PyEval_EvalCode\n"
	"?\n"
	"?\n"
	"_PyRun_SimpleFileObject\n"
	"_PyRun_AnyFileObject\n"
	"Py_RunMain\n"
	"Py_BytesMain\n"
	"?\n"
	"__libc_start_main\n";
static const char module_to[] = EMPTY_STRIDED_CALLED
	"at::empty_strided\n"
	"at::native::_to_copy\n"
	"W\n"
	"at::_ops::_to_copy::redispatch\n"
	"W\n"
	"at::_ops::_to_copy::redispatch\n"
	"torch::autograd::VariableType::(anonymous namespace)::_to_copy\n"
	"W\n"
	"at::_ops::_to_copy::call\n"
	"at::native::to\n"
	"W\n"
	"at::_ops::to_dtype_layout::call\n"
	"torch::autograd::dispatch_to\n"
	"torch::autograd::THPVariable_to\n"
	"?\n"
	"PyObject_Vectorcall\n"
	"Module.to.<locals>.convert @ " SITE_PACKAGES "torch/nn/modules/module.py:1370\n"
	"Module._apply @ " SITE_PACKAGES "torch/nn/modules/module.py:965\n"
	"Module._apply @ " SITE_PACKAGES "torch/nn/modules/module.py:934\n"
	"Module.to @ " SITE_PACKAGES "torch/nn/modules/module.py:1384\n"
	"GPT.__init__.<locals>.<genexpr> @ /srv/job/gpt.py:65\n"
	"_PyEval_EvalFrameDefault\n"
	"?\n"
	"?\n"
	"ModuleList.extend @ " SITE_PACKAGES "torch/nn/modules/container.py:498\n"
	"ModuleList.__iadd__ @ " SITE_PACKAGES "torch/nn/modules/container.py:413\n"
	"_PyEval_EvalFrameDefault\n"
	"?\n"
	"?\n"
	"PyNumber_InPlaceAdd\n"
	"ModuleList.__init__ @ " SITE_PACKAGES "torch/nn/modules/container.py:364\n" CLASS_CALLED
	"GPT.__init__ @ /srv/job/gpt.py:65\n" CLASS_CALLED
	"Job.__init__ @ /srv/job/gpt.py:112\n" CLASS_CALLED "main @ /srv/job/main.py:25\n"
	"<module> @ /srv/job/main.py:46\n" PROGRAM;
static const char embedding_forward[] = ALLOCATED
	"at::native::resize_bytes_cuda\n"
	"at::native::resize_cuda_\n"
	"at::_ops::resize_::call\n"
	"at::native::resize_output\n"
	"at::native::(anonymous namespace)::index_select_out_cuda_impl<float>\n"
	"at::native::index_select_out_cuda\n"
	"at::native::index_select_cuda\n"
	"W\n"
	"at::_ops::index_select::call\n"
	"at::native::embedding_symint\n"
	"W\n"
	"at::_ops::embedding::redispatch\n"
	"torch::autograd::VariableType::(anonymous namespace)::embedding\n"
	"W\n"
	"at::_ops::embedding::call\n"
	"torch::autograd::THPVariable_embedding\n"
	"?\n"
	"_PyObject_MakeTpCall\n"
	"embedding @ " SITE_PACKAGES "torch/nn/functional.py:2567\n"
	"Embedding.forward @ " SITE_PACKAGES "torch/nn/modules/sparse.py:189\n" MODULE_CALLED
	"GPT.forward @ /srv/job/gpt.py:70\n" MODULE_CALLED "Job.step @ /srv/job/gpt.py:120\n"
	"main @ /srv/job/main.py:31\n"
	"<module> @ /srv/job/main.py:46\n" PROGRAM;
#define MM_CALLED                                                                                \
	STRUCTURED_OUT                                                                           \
	"at::(anonymous namespace)::structured_mm_out_cuda_functional::set_output_raw_strided\n" \
	"at::meta::structured_mm::meta\n"                                                        \
	"W\n"                                                                                    \
	"at::_ops::mm::redispatch\n"                                                             \
	"torch::autograd::VariableType::(anonymous namespace)::mm\n"                             \
	"W\n"                                                                                    \
	"at::_ops::mm::call\n"
static const char addmm_backward_mat1[] =
	MM_CALLED "torch::autograd::generated::details::mm_mat1_backward\n"
		  "torch::autograd::generated::AddmmBackward0_apply_functional\n"
		  "torch::autograd::generated::AddmmBackward0::apply\n" ENGINE_CALLED;
static const char addmm_backward_mat2[] =
	MM_CALLED "torch::autograd::generated::details::mm_mat2_backward\n"
		  "torch::autograd::generated::AddmmBackward0_apply_functional\n"
		  "torch::autograd::generated::AddmmBackward0::apply\n" ENGINE_CALLED;
static const char embedding_backward[] = EMPTY_CALLED
	"at::native::zeros_symint\n"
	"W\n"
	"at::_ops::zeros::redispatch\n"
	"W\n"
	"at::_ops::zeros::call\n"
	"at::native::embedding_dense_backward_cuda\n"
	"at::(anonymous namespace)::(anonymous namespace)::wrapper_CUDA__embedding_dense_backward\n"
	"W\n"
	"at::_ops::embedding_dense_backward::redispatch\n"
	"torch::autograd::VariableType::(anonymous namespace)::embedding_dense_backward\n"
	"W\n"
	"at::_ops::embedding_dense_backward::call\n"
	"at::native::embedding_backward_symint\n"
	"W\n"
	"at::_ops::embedding_backward::call\n"
	"torch::autograd::generated::EmbeddingBackward0_apply_functional\n"
	"torch::autograd::generated::EmbeddingBackward0::apply\n" ENGINE_CALLED;
#define REDUCED                                                                   \
	"W\n"                                                                     \
	"at::_ops::sum_dim_IntList::redispatch\n"                                 \
	"torch::autograd::VariableType::(anonymous namespace)::sum_dim_IntList\n" \
	"W\n"                                                                     \
	"at::_ops::sum_dim_IntList::call\n"                                       \
	"at::_sum_to<c10::SymInt>\n"                                              \
	"torch::autograd::InputMetadata::reduce_grad\n"                           \
	"torch::autograd::InputMetadata::maybe_reduce\n"                          \
	"torch::autograd::validate_outputs_impl<torch::autograd::Edge>\n" ENGINE_THREAD
static const char engine_reduces[] = STRUCTURED_OUT
	"at::(anonymous namespace)::structured_sum_out_functional::set_output_raw_strided\n"
	"at::meta::resize_reduction\n" REDUCED;
static const char engine_reduces_scratch[] = ALLOCATED
	"at::native::gpu_reduce_kernel<float, float, 4, 4, at::native::func_wrapper_t<float, "
	"__nv_hdl_wrapper_t<false, true, false, __nv_dl_tag<void (at::native::sum_functor<float, "
	"float, float>::*)(at::TensorIterator&), &at::native::sum_functor<float, float, "
	"float>::operator(), 1u>, float (float, float)> >, double>\n"
	"at::native::structured_sum_out::impl\n" REDUCED;
static const char cublas_workspace[] =
	ALLOCATED "at::cuda::setWorkspaceForHandle\n"
		  "at::cuda::getCurrentCUDABlasHandle\n"
		  "at::cuda::blas::gemm_internal_cublas<float, float>\n"
		  "at::native::(anonymous namespace)::addmm_out_cuda_impl\n"
		  "at::native::structured_mm_out_cuda::impl\n"
		  "W\n"
		  "at::_ops::mm::redispatch\n"
		  "torch::autograd::VariableType::(anonymous namespace)::mm\n"
		  "W\n"
		  "at::_ops::mm::call\n"
		  "torch::autograd::generated::details::mm_mat2_backward\n"
		  "torch::autograd::generated::MmBackward0_apply_functional\n"
		  "torch::autograd::generated::MmBackward0::apply\n" ENGINE_CALLED;

static const char *module_of(const char *function)
{
	if (strncmp(function, "c10::cuda::", 11) == 0)
		return TORCH_LIB "libc10_cuda.so";
	if (strstr(function, "THPVariable") || strstr(function, "PythonEngine"))
		return TORCH_LIB "libtorch_python.so";
	if (strstr(function, "::") || strcmp(function, "W") == 0)
		return TORCH_LIB "libtorch_cpu.so";
	if (strcmp(function, "?libc") == 0)
		return "/usr/lib/x86_64-linux-gnu/libc.so.6";
	return "/usr/bin/python3.12";
}

/*
 * Reads into `frame`, which has room for GP_FRAMES_MAX; returns the number of frames. Their texts
 * lie in `text`, which the caller frees.
 */
static size_t read_stack(const char *stack, struct gp_frame *frame, char **text)
{
	size_t frames = 0;
	char *rest = *text = strdup(stack);
	for (char *line; (line = strsep(&rest, "\n")) != NULL && *line != '\0';) {
		char *at = strstr(line, " @ ");
		struct gp_frame *f = &frame[frames++];
		*f = (struct gp_frame){ .function = line, .address = frames };
		if (at == NULL) {
			f->module = module_of(line);
			f->function = strcmp(line, "W") == 0 ? WRAPPER : *line != '?' ? line : NULL;
			f->is_interpreter = gp_frame_is_interpreter(f->function, f->module);
			continue;
		}
		*at = '\0';
		char *file = at + 3, *colon = strrchr(file, ':');
		*colon = '\0';
		f->line = (uint32_t)strtoul(colon + 1, NULL, 10);
		f->is_python = true;
		f->file = file;
		f->is_user = gp_python_is_user(f->file);
	}
	return frames;
}

#endif
