/*
 * Reads the numbers of at::RecordFunction by their places in the class. A wrong place has no
 * consequence but a missing module: a node is known only if both of its numbers are.
 */
#include "torch_nodes.h"

#include <errno.h>
#include <stdatomic.h>
#include <stdint.h>
#include <string.h>

#include "../../libgpuprof/record/process/settings.h"
#include "../../libgpuprof/record/stacks/node_modules.h"
#include "../../libgpuprof/record/stacks/stack_take.h"
#include "../hooks/deferred_call.h"

/* Of at::RecordFunction since 2.4, by its header; with libstdc++. Not yet seen on a GPU. */
#define FIRST_MINOR 4u
#define THREAD_AT 88u
#define SEQUENCE_AT 200u /* -1: the operator makes no node */
#define FORWARD_THREAD_AT 304u

/* NULL: not tried; "": added; else why not. */
static const char *_Atomic outcome;

static uint64_t word_at(const void *function, size_t place)
{
	uint64_t word;
	memcpy(&word, (const char *)function + place, sizeof word);
	return word;
}

static void *operator_started(void **context, const void *function)
{
	const int kept = errno;
	const int64_t sequence = (int64_t)word_at(function, SEQUENCE_AT);
	*context = NULL;
	if (sequence >= 0 && gp_enter()) {
		gp_node_made(word_at(function, THREAD_AT), (uint64_t)sequence,
			     gp_stack_module_now());
		gp_leave();
	}
	errno = kept;
	return context;
}

static void *node_started(void **context, const void *function)
{
	const int kept = errno;
	*context = NULL;
	if (gp_enter()) {
		struct gp_node_stack *nodes = gp_stack_nodes();
		if (nodes)
			gp_node_begin(nodes, word_at(function, FORWARD_THREAD_AT),
				      word_at(function, SEQUENCE_AT), function);
		gp_leave();
	}
	errno = kept;
	return context;
}

static void node_ended(const void *function, void *context)
{
	const int kept = errno;
	(void)context;
	if (gp_enter()) {
		struct gp_node_stack *nodes = gp_stack_nodes();
		if (nodes)
			gp_node_end(nodes, function);
		gp_leave();
	}
	errno = kept;
}

static void torch_nodes_record(const char *why)
{
	gp_define_fact(GP_FACT_NODE_MODULES, !*why, why);
}

void gp_torch_nodes_request(void)
{
	/* partner: the store in gp_torch_nodes_attach */
	const char *before = atomic_load_explicit(&outcome, memory_order_acquire);
	if (!gp_settings.has_backward_modules)
		return;
	if (before)
		torch_nodes_record(before);
	else
		gp_is_due(GP_DUE_RANGES);
}

static const char *torch_nodes_add(gp_torch_add *add)
{
	if (!gp_settings.has_python)
		return "stacks have no Python frames";
	/* nodes first: without them, operators need not call */
	const char *why = add(GP_TORCH_NODE, FIRST_MINOR, node_started, node_ended);
	return *why ? why : add(GP_TORCH_OPERATOR, FIRST_MINOR, operator_started, NULL);
}

void gp_torch_nodes_attach(gp_torch_add *add)
{
	if (!gp_settings.has_backward_modules ||
	    atomic_load_explicit(&outcome, memory_order_relaxed))
		return;
	const char *why = torch_nodes_add(add);
	/* partner: the load in gp_torch_nodes_request */
	atomic_store_explicit(&outcome, why, memory_order_release);
	torch_nodes_record(why);
}
