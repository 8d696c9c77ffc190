/*
 * Follows the ranges of NCCL's domain on each thread. Only the outermost one matters: inside it are
 * a call and what it launches. Depths show its end even if its pop was lost.
 */
#include "call_groups.h"

#include <stdlib.h>
#include <string.h>

#include "../../read/file/recording.h"
#include "nccl_kernels.h"

#define PENDING_MOST 500000u /* calls in groups at once, of all threads */

struct nccl_thread {
	uint64_t key; /* of gp_event.thread */
	struct gp_nccl_call *call;
	size_t calls, room;
	int64_t from_ns;
	uint32_t before;
	int64_t newest_ns; /* of the newest kernel */
	uint32_t newest;   /* kernels with that time */
	uint32_t depth;	   /* of the outermost range */
	uint32_t nested;
	bool is_inside;	 /* of a range */
	bool is_unsized; /* so far: the newest range is of a call */
	bool is_cut;
};

static const struct {
	enum gp_collective operation;
	const char *name;
} operations[] = {
	{ GP_ALL_GATHER, "AllGather" },
	{ GP_ALL_REDUCE, "AllReduce" },
	{ GP_BROADCAST, "Broadcast" },
	{ GP_REDUCE_SCATTER, "ReduceScatter" },
	{ GP_REDUCE, "Reduce" },
	{ GP_SEND, "Send" },
	{ GP_RECV, "Recv" },
	{ GP_ALL_TO_ALL, "AlltoAll" },
	{ GP_GATHER, "Gather" },
	{ GP_SCATTER, "Scatter" },
};

const char *gp_collective_name(uint32_t operation)
{
	for (size_t k = 0; k < sizeof operations / sizeof *operations; k++)
		if (operations[k].operation == operation)
			return operations[k].name;
	return NULL;
}

static bool is_call(const char *range)
{
	for (size_t k = 0; k < sizeof operations / sizeof *operations; k++)
		if (strncmp(range, "nccl", 4) == 0 && strcmp(range + 4, operations[k].name) == 0)
			return true;
	return false;
}

/* "": unknown. */
static const char *range_name(const struct gp_nccl_groups *g, uint64_t id)
{
	const char *text = id != 0 ? gp_recording_text(g->recording, GP_RANGE_NAME, id) : NULL;
	return text != NULL ? text : "";
}

static struct nccl_thread *thread_of(struct gp_nccl_groups *g, uint32_t thread, bool is_new)
{
	struct nccl_thread *t = gp_row_of_key(&g->threads, sizeof *t, thread);
	if (t == NULL && is_new) {
		t = gp_row_get_key(&g->threads, sizeof *t, thread);
		g->is_out_of_memory |= t == NULL;
	}
	return t;
}

static uint32_t kernels_at(const struct nccl_thread *t, int64_t at_ns)
{
	return t->newest_ns == at_ns ? t->newest : 0;
}

static void group_begin(struct nccl_thread *t, int64_t at_ns)
{
	t->from_ns = at_ns;
	t->before = kernels_at(t, at_ns);
}

static void group_end(struct gp_nccl_groups *g, struct nccl_thread *t, int64_t at_ns)
{
	const struct gp_nccl_group group = { .call = t->call,
					     .calls = t->calls,
					     .from_ns = t->from_ns,
					     .to_ns = at_ns,
					     .thread = (uint32_t)t->key,
					     .before = t->before,
					     .within = kernels_at(t, at_ns),
					     .is_whole = !t->is_cut };
	if (t->calls != 0)
		g->visit(g->context, &group);
	g->pending -= t->calls;
	t->calls = 0;
	t->is_cut = false;
}

static void sized(struct gp_nccl_groups *g, struct nccl_thread *t, bool has_size)
{
	g->unsized += t->is_unsized && !has_size;
	t->is_unsized = false;
}

static void range_end(struct gp_nccl_groups *g, struct nccl_thread *t, int64_t at_ns)
{
	sized(g, t, false);
	t->is_inside = false;
	if (t->nested == 0)
		group_end(g, t, at_ns);
}

static void see_push(struct gp_nccl_groups *g, const struct gp_event *e)
{
	const struct gp_record *r = &e->record;
	const bool is_nccl = r->range_push.source == GP_RANGE_NVTX && r->range_push.domain != 0 &&
			     strcmp(range_name(g, r->range_push.domain), "NCCL") == 0;
	struct nccl_thread *t = thread_of(g, e->thread, is_nccl);
	if (t == NULL)
		return;
	if (t->is_inside && r->range_push.depth <= t->depth)
		range_end(g, t, e->at_ns);
	if (!is_nccl)
		return;
	const char *name = range_name(g, r->aux);
	sized(g, t, false);
	if (!t->is_inside) {
		t->is_inside = true;
		t->depth = (uint32_t)r->range_push.depth;
		if (t->nested == 0) {
			group_end(g, t, e->at_ns);
			group_begin(t, e->at_ns);
		}
	}
	t->is_unsized = is_call(name);
	if (strcmp(name, "ncclGroupStart") == 0)
		t->nested++;
	else if (strcmp(name, "ncclGroupEnd") == 0 && t->nested != 0)
		t->nested--;
}

static void see_call(struct gp_nccl_groups *g, const struct gp_event *e)
{
	const struct gp_record *r = &e->record;
	struct nccl_thread *t = thread_of(g, e->thread, true);
	if (t == NULL)
		return;
	sized(g, t, true);
	if (!t->is_inside && t->nested == 0) { /* its push is not kept */
		group_end(g, t, e->at_ns);
		group_begin(t, e->at_ns);
	}
	if (g->pending == PENDING_MOST) {
		t->is_cut = true;
		g->beyond++;
		return;
	}
	if (t->calls == t->room) {
		const size_t room = t->room + t->room / 2 + 4;
		void *grown = realloc(t->call, room * sizeof *t->call);
		g->is_out_of_memory |= grown == NULL;
		if (grown == NULL)
			return;
		t->call = grown;
		t->room = room;
	}
	g->pending++;
	t->call[t->calls++] = (struct gp_nccl_call){ .communicator = r->collective.communicator,
						     .bytes = r->collective.bytes,
						     .at_ns = e->at_ns,
						     .operation = r->aux,
						     .peer = (uint32_t)r->collective.peer };
}

static void see_launch(struct gp_nccl_groups *g, const struct gp_event *e)
{
	if (gp_launched_as(&e->record) != GP_LAUNCHED_KERNEL ||
	    !gp_nccl_is_kernel(gp_recording_kernel_name(g->recording, e->record.launch.kernel)))
		return;
	struct nccl_thread *t = thread_of(g, e->thread, true);
	if (t == NULL)
		return;
	t->newest = kernels_at(t, e->at_ns) + 1;
	t->newest_ns = e->at_ns;
}

void gp_nccl_groups_see(struct gp_nccl_groups *g, const struct gp_event *e)
{
	const struct gp_record *r = &e->record;
	struct nccl_thread *t;
	if (r->kind == GP_RANGE_PUSH)
		see_push(g, e);
	else if (r->kind == GP_COLLECTIVE)
		see_call(g, e);
	else if (r->kind == GP_LAUNCH)
		see_launch(g, e);
	else if (r->kind == GP_RANGE_POP && (t = thread_of(g, e->thread, false)) != NULL &&
		 t->is_inside && r->range_pop.depth <= t->depth)
		range_end(g, t, e->at_ns);
}

void gp_nccl_groups_end(struct gp_nccl_groups *g)
{
	struct nccl_thread *t = g->threads.row;
	for (uint32_t k = 0; k < g->threads.rows; k++)
		group_end(g, &t[k], INT64_MAX);
}

void gp_nccl_groups_release(struct gp_nccl_groups *g)
{
	struct nccl_thread *t = g->threads.row;
	for (uint32_t k = 0; k < g->threads.rows; k++)
		free(t[k].call);
	gp_row_table_release(&g->threads);
}
