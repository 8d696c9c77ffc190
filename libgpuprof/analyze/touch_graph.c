/* A set a capture, which becomes that of its graph, which is copied to what is made of it. */
#include "touch_graph.h"

#include <stdlib.h>
#include <string.h>

static void sets_release(struct gp_touch_sets *s)
{
	for (size_t k = 0; k < s->sets; k++)
		free(s->set[k].address);
	free(s->set);
	*s = (struct gp_touch_sets){ 0 };
}

void gp_touch_graphs_release(struct gp_touch_graphs *g)
{
	sets_release(&g->captures);
	sets_release(&g->graphs);
	sets_release(&g->execs);
}

static struct gp_touch_set *find(const struct gp_touch_sets *s, uint64_t handle)
{
	for (size_t k = 0; k < s->sets; k++)
		if (s->set[k].handle == handle)
			return &s->set[k];
	return NULL;
}

static void drop(struct gp_touch_sets *s, uint64_t handle)
{
	struct gp_touch_set *set = find(s, handle);
	if (set == NULL)
		return;
	free(set->address);
	*set = s->set[--s->sets];
}

/* An empty one, in the place of what has that handle. NULL: no memory. */
static struct gp_touch_set *begin(struct gp_touch_sets *s, uint64_t handle)
{
	drop(s, handle);
	if (s->sets == s->room) {
		size_t room = s->room ? s->room * 2 : 16;
		struct gp_touch_set *grown = realloc(s->set, room * sizeof *grown);
		if (grown == NULL)
			return NULL;
		s->set = grown;
		s->room = room;
	}
	struct gp_touch_set *set = &s->set[s->sets++];
	*set = (struct gp_touch_set){ .handle = handle };
	return set;
}

static bool add(struct gp_touch_set *set, const uint64_t *address, size_t count)
{
	if (set->addresses + count > set->room) {
		size_t room = (set->addresses + count) * 2;
		uint64_t *grown = realloc(set->address, room * sizeof *grown);
		if (grown == NULL)
			return false;
		set->address = grown;
		set->room = room;
	}
	if (count > 0)
		memcpy(set->address + set->addresses, address, count * sizeof *address);
	set->addresses += count;
	return true;
}

static int compare(const void *left, const void *right)
{
	uint64_t a = *(const uint64_t *)left, b = *(const uint64_t *)right;
	return (a > b) - (a < b);
}

static void settle(struct gp_touch_set *set)
{
	size_t kept = 0;
	if (set->addresses > 1)
		qsort(set->address, set->addresses, sizeof *set->address, compare);
	for (size_t k = 0; k < set->addresses; k++)
		if (kept == 0 || set->address[kept - 1] != set->address[k])
			set->address[kept++] = set->address[k];
	set->addresses = kept;
}

/* Makes `to`, of handle `handle`, what `from` is; nothing when that is not known. */
static bool copy(struct gp_touch_sets *to, uint64_t handle, const struct gp_touch_set *from)
{
	if (from == NULL) {
		drop(to, handle);
		return true;
	}
	const struct gp_touch_set kept = *from; /* it may lie in the array that grows */
	struct gp_touch_set *set = begin(to, handle);
	if (set == NULL || !add(set, kept.address, kept.addresses))
		return false;
	set->launches = kept.launches;
	set->is_partial = kept.is_partial;
	return true;
}

static bool capture_end(struct gp_touch_graphs *g, const struct gp_record *r)
{
	struct gp_touch_set *set = find(&g->captures, r->capture_end.stream);
	bool is_fine = true;
	if (set != NULL && r->capture_end.graph != 0) {
		settle(set);
		is_fine = copy(&g->graphs, r->capture_end.graph, set);
	}
	drop(&g->captures, r->capture_end.stream);
	return is_fine;
}

/* What such a node works on is not told. */
static bool is_node_unseen(uint64_t type)
{
	return type == GP_NODE_KERNEL || type == GP_NODE_MEMCPY || type == GP_NODE_MEMSET ||
	       type == GP_NODE_BATCH_MEM_OP || type == GP_NODE_CONDITIONAL;
}

static bool add_child(struct gp_touch_set *to, const struct gp_touch_set *from)
{
	if (to == from)
		return true;
	to->is_partial |= from == NULL || from->is_partial;
	if (from == NULL)
		return true;
	to->launches += from->launches;
	bool is_fine = add(to, from->address, from->addresses);
	settle(to);
	return is_fine;
}

/* A graph that was not captured is not known, but as a copy of one or with one in it. */
static bool follow_node(struct gp_touch_graphs *g, const struct gp_record *r)
{
	const struct gp_touch_set *from = find(&g->graphs, r->graph_add_node.address);
	if (r->aux == GP_NODE_CLONE)
		return copy(&g->graphs, r->graph_add_node.graph, from);
	struct gp_touch_set *to = find(&g->graphs, r->graph_add_node.graph);
	if (to != NULL && is_node_unseen(r->aux))
		to->is_partial = true;
	if (r->aux != GP_NODE_CHILD)
		return true;
	if (to != NULL)
		return add_child(to, from);
	if (!copy(&g->graphs, r->graph_add_node.graph, from))
		return false;
	/* nodes may have been added to it before */
	to = find(&g->graphs, r->graph_add_node.graph);
	if (to != NULL)
		to->is_partial = true;
	return true;
}

static void follow_launch(struct gp_touch_graphs *g, const struct gp_record *r)
{
	const uint64_t variant = r->launch.block >> 48;
	if ((variant & GP_LAUNCH_CAPTURED) == 0 || r->code != 0)
		return;
	for (size_t k = 0; k < g->captures.sets; k++) {
		g->captures.set[k].launches++;
		g->captures.set[k].is_partial |= (variant & GP_LAUNCH_SCANNED) == 0;
	}
}

static bool follow_use(struct gp_touch_graphs *g, const struct gp_record *r)
{
	bool is_fine = true;
	for (size_t k = 0; (r->aux & GP_USE_CAPTURED) != 0 && k < g->captures.sets; k++)
		for (unsigned v = 0; v < 4; v++)
			if (r->v[v] != 0)
				is_fine &= add(&g->captures.set[k], &r->v[v], 1);
	return is_fine;
}

bool gp_touch_graphs_follow(struct gp_touch_graphs *g, const struct gp_record *r)
{
	bool is_ok = r->code == 0;
	switch (r->kind) {
	case GP_CAPTURE_BEGIN:
		return !is_ok || begin(&g->captures, r->capture_begin.stream) != NULL;
	case GP_CAPTURE_END:
		return capture_end(g, r);
	case GP_USE:
		return follow_use(g, r);
	case GP_LAUNCH:
		follow_launch(g, r);
		return true;
	case GP_GRAPH_INSTANTIATE:
		return !is_ok || copy(&g->execs, r->graph_instantiate.exec,
				      find(&g->graphs, r->graph_instantiate.graph));
	case GP_GRAPH_UPDATE:
		return !is_ok || copy(&g->execs, r->graph_update.exec,
				      find(&g->graphs, r->graph_update.graph));
	case GP_GRAPH_ADD_NODE:
		return follow_node(g, r);
	case GP_GRAPH_DESTROY:
		drop(&g->graphs, r->graph_destroy.graph);
		return true;
	case GP_GRAPH_EXEC_DESTROY:
		drop(&g->execs, r->graph_exec_destroy.exec);
		return true;
	default:
		return true;
	}
}

const struct gp_touch_set *gp_touch_graph_of(const struct gp_touch_graphs *g, uint64_t exec)
{
	return find(&g->execs, exec);
}
