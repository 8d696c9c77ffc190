/*
 * PyTorch's ranges (torch_ranges.h). Its function takes a class by value, for which a plain struct
 * is passed. A table lists the versions with this layout; others are not attached to.
 */
#include "torch_ranges.h"

#include <stddef.h>
#include <string.h>

#include "../../libgpuprof/record/process/fork_gate.h"
#include "../../libgpuprof/record/process/settings.h"
#include "../../libgpuprof/record/ranges/range_mark.h"
#include "../hooks/deferred_call.h"
#include "../lookup/mapped_symbol.h"
#include "hook_torch.h"
#include "torch_nodes.h"
#include "torch_version.h"

#define ADD "_ZN2at17addGlobalCallbackENS_22RecordFunctionCallbackE"
#define NAME "_ZNK2at14RecordFunction4nameEv"

/*
 * at::RecordFunctionCallback with ten scopes, as in PyTorch 2.1 to 2.14 (seen on 2.11): passed by
 * value, so on the stack.
 */
#define FIRST_MINOR 1u
#define LAST_MINOR 14u
#define SCOPES 10u
struct callback {
	gp_torch_start *start;
	gp_torch_end *end;
	double probability;
	bool scopes[SCOPES];
	bool needs_inputs, needs_outputs, needs_ids;
};
_Static_assert(sizeof(struct callback) == 40 && offsetof(struct callback, scopes) == 24,
	       "the class has this layout");

static const char *(*name_of)(const void *function);
/* NULL: not tried; "": added; else why not. Stored with release, after `name_of`. */
static const char *_Atomic outcome;

/*
 * The context that PyTorch keeps from start to end. The end may come on another thread: that of a
 * future's callback, or of RPC. PyTorch uses our handle as an at::ObserverContext and calls only
 * its virtual destructors. In the Itanium ABI's table, the second one also deletes the object. The
 * memory is ours, so they do nothing.
 */
static void leave_alone(void *context)
{
	(void)context;
}

static const struct {
	uintptr_t to_top, type; /* of a class without casts */
	void (*destroy)(void *), (*destroy_and_delete)(void *);
} context_class = { 0, 0, leave_alone, leave_alone };

/* The range of a data loader gets a stack: no other event of that time has the line that waits. */
#define LOADER "enumerate(DataLoader)#"

static void *started(void **context, const void *function)
{
	const char *name = name_of(function);
	struct gp_range_handle *handle = gp_range_push_kept(
		&(struct gp_range){ .source = GP_RANGE_TORCH,
				    .text = name,
				    .bytes = GP_TO_NUL,
				    .has_stack =
					    name && strncmp(name, LOADER, sizeof LOADER - 1) == 0 },
		function);
	if (gp_likely(handle != NULL))
		handle->shown = &context_class.destroy;
	*context = handle;
	return context;
}

static void ended(const void *function, void *context)
{
	gp_range_pop_kept(GP_RANGE_TORCH, context, function);
}

static void torch_ranges_record(const char *why)
{
	gp_define_fact(GP_FACT_TORCH_RANGES, !*why, why);
}

void gp_torch_ranges_request(void)
{
	/* partner: the store in gp_torch_ranges_attach */
	const char *before = atomic_load_explicit(&outcome, memory_order_acquire);
	if (!gp_settings.has_torch_ranges)
		torch_ranges_record("switched off");
	else if (before)
		torch_ranges_record(before);
	else
		gp_is_due(GP_DUE_RANGES);
}

static const char *callback_add(enum gp_torch_scope scope, unsigned first_minor,
				gp_torch_start *start, gp_torch_end *end)
{
	char version[64];
	unsigned long major, minor;
	if (!gp_torch_version(version, sizeof version) ||
	    !gp_torch_numbers(version, &major, &minor))
		return "the version of PyTorch is not known";
	if (major != 2 || minor < FIRST_MINOR || minor < first_minor || minor > LAST_MINOR)
		return "the interface of ranges is not known for this version of PyTorch";
	uint64_t (*add_callback)(struct callback);
	*(void **)&add_callback = gp_mapped_symbol("libtorch_cpu", ADD, NULL, 0);
	if (!add_callback)
		return "PyTorch's functions for ranges were not found";
	struct callback callback = { .start = start, .end = end, .probability = 1.0 };
	callback.scopes[scope] = true;
	add_callback(callback);
	return "";
}

static const char *torch_ranges_add(void)
{
	*(void **)&name_of = gp_mapped_symbol("libtorch_cpu", NAME, NULL, 0);
	return name_of ? callback_add(GP_TORCH_USER, 0, started, ended) :
			 "PyTorch's functions for ranges were not found";
}

static void ranges_attach(void)
{
	if (!gp_settings.has_torch_ranges || atomic_load_explicit(&outcome, memory_order_relaxed))
		return;
	const char *why = torch_ranges_add();
	/* partner: the load in gp_torch_ranges_request */
	atomic_store_explicit(&outcome, why, memory_order_release);
	torch_ranges_record(why);
}

void gp_torch_ranges_attach(void)
{
	uint64_t signals;
	if (!gp_walks_begin(&signals)) { /* a fork is in progress */
		gp_is_due(GP_DUE_RANGES);
		return;
	}
	gp_walks_end(&signals);
	ranges_attach();
	gp_torch_nodes_attach(callback_add);
}
