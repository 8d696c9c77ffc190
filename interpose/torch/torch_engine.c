/*
 * Marks threads that are inside autograd's engine. torch::autograd::Engine::execute, which Python's
 * backward() calls, is exported, so that callers reach this file first. The call is a range
 * "backward" of the source GP_RANGE_ENGINE. The engine's own threads work for the thread that is
 * inside. An exception through this frame ends the range: the frame's own personality does that, so
 * that no unwinder is linked. A jump over it (siglongjmp) runs no hook. The range has words in the
 * frame, by which the jump is detected later. A left frame counts as alive until its words are
 * overwritten. Green threads that copy slices of one stack (greenlet) and switch inside a backward
 * end the range early. If recording begins inside a backward, its range is recorded when it
 * returns. Until then, work of the engine's threads is in no range.
 */
#include <stddef.h>
#include <stdint.h>

#include "../../libgpuprof/record/process/settings.h"
#include "../../libgpuprof/record/ranges/range_mark.h"
#include "../lookup/mapped_scope.h"
#include "../lookup/mapped_symbol.h"

#define EXECUTE                                                                                    \
	"_ZN5torch8autograd6Engine7executeERKSt6vectorINS0_4EdgeESaIS3_EERKS2_IN2at6TensorESaIS9_" \
	"EEbbbS7_"
#define EXPORT __attribute__((visibility("default")))

/*
 * A vector is returned through the hidden first argument. The flags fill a byte of their register
 * or word; the rest is passed on unchanged.
 */
typedef void *execute(void *result, void *engine, const void *roots, const void *inputs,
		      uint64_t keeps_graph, uint64_t creates_graph, uint64_t accumulates,
		      const void *outputs);

static struct gp_originals originals;

/*
 * By the caller's object: the engine of one copy of PyTorch must not run the graph of another.
 * Every caller is linked with the library that defines it, so that library is mapped.
 */
static __attribute__((noinline)) execute *find_original(const void *caller)
{
	static const char *const names[] = { EXECUTE, NULL };
	void *found = gp_original_known(&originals, caller);
	if (found)
		return (execute *)found;
	found = gp_mapped_bound(caller, names);
	if (!found)
		found = gp_mapped_symbol("libtorch_cpu", EXECUTE, NULL, 0);
	if (!found)
		found = gp_mapped_symbol(NULL, EXECUTE, NULL, 0);
	if (found)
		gp_original_keep(&originals, caller, found);
	return (execute *)found;
}

/*
 * Continuing would train without gradients. So throws std::runtime_error, which PyTorch passes to
 * Python. Every caller of the engine has a C++ runtime, and this library is not linked with one.
 */
static void *torch_engine_refuse(void *result)
{
	static const char message[] = "autograd's engine was called and cannot be found";
	void (*throw)(const char *) = (void (*)(const char *))gp_mapped_symbol(
		"libstdc++", "_ZSt21__throw_runtime_errorPKc", NULL, 0);
	gp_log(true, message, NULL);
	if (throw)
		throw(message);
	return result;
}

static void torch_engine_enter(struct gp_range_frame *frame)
{
	static const char name[] = "backward";
	if (gp_settings.has_torch_ranges)
		gp_range_push(&(struct gp_range){ .source = GP_RANGE_ENGINE,
						  .text = name,
						  .bytes = sizeof name - 1,
						  .frame = frame });
}

static void leave(const struct gp_range_frame *frame)
{
	if (gp_settings.has_torch_ranges)
		gp_range_pop_frame(GP_RANGE_ENGINE, frame);
}

/* From the C++ ABI. The unwinder calls it twice: to find a handler, then to clean up. */
#define CLEANUP_PHASE 2
#define CONTINUE_UNWIND 8
int gp_engine_thrown(int version, int actions, uint64_t class, void *exception, void *context)
	__attribute__((used, visibility("hidden")));
int gp_engine_thrown(int version, int actions, uint64_t class, void *exception, void *context)
{
	(void)version, (void)class, (void)exception, (void)context;
	if (actions & CLEANUP_PHASE)
		leave(NULL);
	return CONTINUE_UNWIND;
}

EXPORT execute gp_engine_execute __asm__(EXECUTE);
void *gp_engine_execute(void *result, void *engine, const void *roots, const void *inputs,
			uint64_t keeps_graph, uint64_t creates_graph, uint64_t accumulates,
			const void *outputs)
{
	/* 0x1b: relative to its own address, four bytes */
	__asm__ volatile(".cfi_personality 0x1b, gp_engine_thrown");
	struct gp_range_frame frame = { 0 };
	torch_engine_enter(&frame); /* first: a later exception ends the range */
	execute *next = find_original(__builtin_return_address(0));
	result = next ? next(result, engine, roots, inputs, keeps_graph, creates_graph, accumulates,
			     outputs) :
			torch_engine_refuse(result);
	leave(&frame);
	return result;
}
