/*
 * Functions with the names that PyTorch calls on the way to its allocator: forward; backward, which
 * runs on a thread of its own without a Python frame; and the engine's work after a node. Built as
 * libtorch_cpu.so without debug information, as PyTorch is. Blocks come from build/fake/libc10.so.
 */
#include "fake_c10.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stdlib.h>

#define VISIBLE __attribute__((visibility("default"), noinline))

/*
 * A function `name` of symbol `symbol` that calls `inner`. It must not be its last act: a tail call
 * is a jump.
 */
#define CALLS(name, symbol, inner)                        \
	VISIBLE void *name(size_t bytes) __asm__(symbol); \
	void *name(size_t bytes)                          \
	{                                                 \
		return kept(inner(bytes));                \
	}

static void *kept(void *block)
{
	__asm__ volatile("" : "+r"(block));
	return block;
}

VISIBLE void *empty(size_t bytes) __asm__("_ZN2at6detail10empty_cudaEm");
void *empty(size_t bytes)
{
	const struct fake_c10 *allocator = dlsym(dlopen("libc10.so", RTLD_NOW), "fake_c10");
	if (allocator == NULL)
		abort();
	return kept(allocator->allocate(0, bytes));
}

CALLS(empty_call, "_ZN2at4_ops19empty_memory_format4callEm", empty)
CALLS(addmm_redispatch, "_ZN2at4_ops5addmm10redispatchEm", empty)
CALLS(addmm_call, "_ZN2at4_ops5addmm4callEm", addmm_redispatch)
CALLS(linear_native, "_ZN2at6native6linearEm", addmm_call)
CALLS(linear_call, "_ZN2at4_ops6linear4callEm", linear_native)
CALLS(add_call, "_ZN2at4_ops10add_Tensor4callEm", empty)
CALLS(zeros_like_call, "_ZN2at4_ops10zeros_like4callEm", empty_call)
CALLS(mm_call, "_ZN2at4_ops2mm4callEm", empty)
CALLS(sum_call, "_ZN2at4_ops15sum_dim_IntList4callEm", empty)
CALLS(linear, "_ZN5torch8autograd18THPVariable_linearEm", linear_call)
CALLS(add, "_ZN5torch8autograd15THPVariable_addEm", add_call)
CALLS(zeros_like, "_ZN5torch8autograd22THPVariable_zeros_likeEm", zeros_like_call)
CALLS(node, "_ZN5torch8autograd9generated14AddmmBackward05applyEm", mm_call)
CALLS(validate, "_ZN5torch8autograd16validate_outputsEm", sum_call)

VISIBLE void evaluate(size_t bytes) __asm__("_ZN5torch8autograd6Engine17evaluate_functionEm");
void evaluate(size_t bytes)
{
	kept(node(bytes));
	kept(validate(bytes / 3));
}

VISIBLE void *engine(void *bytes) __asm__("_ZN5torch8autograd6Engine11thread_mainEPv");
void *engine(void *bytes)
{
	evaluate(*(size_t *)bytes);
	return kept(bytes);
}

VISIBLE void backward(size_t bytes);
void backward(size_t bytes)
{
	pthread_t thread;
	if (pthread_create(&thread, NULL, engine, &bytes) != 0)
		abort();
	pthread_join(thread, NULL);
}
