/*
 * One log of captured values. Each capture covers the log from the place where it began. When it
 * ends, these values become the content of its graph. All graphs and execs made from that graph
 * share the content.
 */
#include "graph_content.h"

#include <stdlib.h>
#include <string.h>

#include "../read/tables/array.h"
#include "../read/tables/row_rank.h"

#define LOOKS_A_SORTED 8u	 /* looks for each value of a sort */
#define LAUNCHES_MOST (1u << 31) /* of one content */

void gp_graphs_open(struct gp_graphs *g, size_t sequence, uint64_t bytes)
{
	*g = (struct gp_graphs){ .sequence = sequence };
	gp_looks_open_bytes(&g->looks, bytes);
}

/* ---- values ---- */

static void values_drop(struct gp_graphs *g, struct gp_graph_values *values)
{
	if (values == NULL || --values->users > 0)
		return;
	g->held -= values->values;
	free(values->memo);
	free(values);
}

/*
 * Allocates `count` values with one user. False: out of memory. `*out` NULL: the bound of values is
 * reached.
 */
static bool values_make(struct gp_graphs *g, size_t count, uint64_t looks,
			struct gp_graph_values **out)
{
	*out = NULL;
	if (count > GP_GRAPH_VALUES_MOST - g->held || !gp_looks_take(&g->looks, looks))
		return true;
	struct gp_graph_values *made = malloc(sizeof *made + count * sizeof made->value[0]);
	if (made == NULL)
		return false;
	*made = (struct gp_graph_values){ .users = 1, .values = count };
	g->held += count;
	*out = made;
	return true;
}

static void values_shrink(struct gp_graphs *g, struct gp_graph_values **values, size_t count)
{
	g->held -= (*values)->values - count;
	(*values)->values = count;
	struct gp_graph_values *smaller =
		realloc(*values, sizeof **values + count * sizeof(*values)->value[0]);
	*values = smaller != NULL ? smaller : *values;
}

/* Takes the values of the log since `from`. False: out of memory. */
static bool values_take(struct gp_graphs *g, size_t from, struct gp_graph_values **out)
{
	size_t count = g->logged - from, kept = 0;
	if (g->sequence != 0 && count > g->sequence)
		count = g->sequence;
	if (!values_make(g, count, count * LOOKS_A_SORTED, out))
		return false;
	if (*out == NULL)
		return true;
	uint64_t *value = (*out)->value;
	if (count > 0)
		memcpy(value, g->log + from, count * sizeof *value);
	if (g->sequence != 0)
		return true;
	if (count > 1)
		qsort(value, count, sizeof *value, gp_row_order);
	for (size_t k = 0; k < count; k++)
		if (kept == 0 || value[kept - 1] != value[k])
			value[kept++] = value[k];
	values_shrink(g, out, kept);
	return true;
}

/* The union of two sets. */
static size_t unite(const struct gp_graph_values *a, const struct gp_graph_values *b, uint64_t *out)
{
	size_t n = 0, i = 0, k = 0;
	while (i < a->values || k < b->values) {
		bool is_left = k == b->values || (i < a->values && a->value[i] <= b->value[k]);
		uint64_t value = is_left ? a->value[i] : b->value[k];
		i += i < a->values && a->value[i] == value;
		k += k < b->values && b->value[k] == value;
		out[n++] = value;
	}
	return n;
}

static size_t append(const struct gp_graph_values *a, const struct gp_graph_values *b, size_t most,
		     uint64_t *out)
{
	size_t more = b->values < most - a->values ? b->values : most - a->values;
	memcpy(out, a->value, a->values * sizeof *out);
	memcpy(out + a->values, b->value, more * sizeof *out);
	return a->values + more;
}

/* Adds the values of `b` to `*a`. False: out of memory. `*is_all` false: the bound is reached. */
static bool values_join(struct gp_graphs *g, struct gp_graph_values **a, struct gp_graph_values *b,
			bool *is_all)
{
	struct gp_graph_values *both;
	*is_all = true;
	bool is_full = g->sequence != 0 && *a != NULL && (*a)->values == g->sequence;
	if (b == NULL || b->values == 0 || is_full || (*a == b && g->sequence == 0))
		return true;
	if (*a == NULL || (*a)->values == 0) {
		values_drop(g, *a);
		b->users++;
		*a = b;
		return true;
	}
	size_t count = (*a)->values + b->values;
	if (g->sequence != 0 && count > g->sequence)
		count = g->sequence;
	if (!values_make(g, count, count, &both))
		return false;
	*is_all = both != NULL;
	if (both == NULL)
		return true;
	size_t kept = g->sequence != 0 ? append(*a, b, g->sequence, both->value) :
					 unite(*a, b, both->value);
	values_shrink(g, &both, kept);
	values_drop(g, *a);
	*a = both;
	return true;
}

/* ---- look-up by handle ---- */

static struct gp_graph_content *table_find(const struct gp_row_table *t, uint64_t handle)
{
	return gp_row_of_key(t, sizeof(struct gp_graph_content), handle);
}

static void table_drop(struct gp_graphs *g, struct gp_row_table *t, uint64_t handle)
{
	struct gp_graph_content *gone = table_find(t, handle);
	if (gone == NULL)
		return;
	values_drop(g, gone->values);
	gp_row_drop_key(t, sizeof *gone, gone);
}

/* Sets the content of `handle`; NULL: unknown. False: out of memory. */
static bool table_set(struct gp_graphs *g, struct gp_row_table *t, uint64_t handle,
		      const struct gp_graph_content *content)
{
	struct gp_graph_content set = content != NULL ? *content : (struct gp_graph_content){ 0 };
	if (set.values != NULL)
		set.values->users++; /* before table_drop, which may drop the same values */
	table_drop(g, t, handle);
	const bool is_known = content != NULL && t->rows < GP_GRAPHS_MOST;
	struct gp_graph_content *made = is_known ? gp_row_get_key(t, sizeof *made, handle) : NULL;
	if (made == NULL) {
		values_drop(g, set.values);
		return !is_known;
	}
	*made = set;
	made->handle = handle;
	return true;
}

static void table_release(struct gp_graphs *g, struct gp_row_table *t)
{
	const struct gp_graph_content *content = t->row;
	for (size_t k = 0; k < t->rows; k++)
		values_drop(g, content[k].values);
	gp_row_table_release(t);
}

void gp_graphs_release(struct gp_graphs *g)
{
	table_release(g, &g->graphs);
	table_release(g, &g->execs);
	free(g->log);
	*g = (struct gp_graphs){ .sequence = g->sequence, .looks = g->looks };
}

/* ---- captures ---- */

/* The index of the stream's capture; `captures` if there is none. */
static size_t capture_find(const struct gp_graphs *g, uint64_t stream)
{
	size_t k = 0;
	while (k < g->captures && g->capture[k].stream != stream)
		k++;
	return k;
}

static void capture_drop(struct gp_graphs *g, size_t which)
{
	if (which >= g->captures)
		return;
	g->captures--;
	memmove(&g->capture[which], &g->capture[which + 1],
		(g->captures - which) * sizeof *g->capture);
	g->logged = g->captures > 0 ? g->logged : 0;
}

static void capture_begin(struct gp_graphs *g, uint64_t stream)
{
	capture_drop(g, capture_find(g, stream));
	if (g->captures == GP_CAPTURES_MOST)
		capture_drop(g, 0);
	g->capture[g->captures++] = (struct gp_graph_capture){ .stream = stream,
							       .from = g->logged,
							       .launches = g->launches,
							       .unscanned = g->unscanned };
}

static uint32_t launches_limit(uint64_t launches)
{
	return launches < LAUNCHES_MOST ? (uint32_t)launches : LAUNCHES_MOST;
}

static bool capture_end(struct gp_graphs *g, const struct gp_record *r)
{
	size_t which = capture_find(g, r->capture_end.stream);
	const struct gp_graph_capture *c = which < g->captures ? &g->capture[which] : NULL;
	struct gp_graph_content content = { 0 };
	bool is_fine = true;
	if (c == NULL) {
		table_drop(g, &g->graphs, r->capture_end.graph); /* the old graph of this handle */
	} else if (r->capture_end.graph != 0) {
		is_fine = values_take(g, c->from, &content.values);
		content.launches = launches_limit(g->launches - c->launches);
		content.is_partial = g->unscanned != c->unscanned || content.values == NULL;
		is_fine &= table_set(g, &g->graphs, r->capture_end.graph, &content);
		values_drop(g, content.values);
	}
	capture_drop(g, which);
	return is_fine;
}

static void follow_launch(struct gp_graphs *g, const struct gp_record *r)
{
	const uint64_t variant = r->launch.block >> 48;
	if ((variant & GP_LAUNCH_CAPTURED) == 0 || r->code != 0)
		return;
	g->launches++;
	g->unscanned += (variant & GP_LAUNCH_SCANNED) == 0;
}

bool gp_graphs_add(struct gp_graphs *g, uint64_t value)
{
	if (g->captures == 0)
		return true;
	/* The end of such a long capture must be missing: give it up, and those beside it. */
	if (g->logged == GP_GRAPH_VALUES_MOST) {
		g->captures = 0;
		g->logged = 0;
		return true;
	}
	if (!gp_array_reserve(&g->log, &g->log_room, g->logged, 1, sizeof *g->log))
		return false;
	g->log[g->logged++] = value;
	return true;
}

/* ---- graphs ---- */

/* True: the recorder does not have the memory that such a node uses. */
static bool is_node_unseen(uint64_t type)
{
	return type == GP_NODE_KERNEL || type == GP_NODE_MEMCPY || type == GP_NODE_MEMSET ||
	       type == GP_NODE_BATCH_MEM_OP || type == GP_NODE_CONDITIONAL;
}

static bool add_child(struct gp_graphs *g, struct gp_graph_content *to,
		      const struct gp_graph_content *from)
{
	bool is_all = from != NULL, is_fine = true;
	if (to == from)
		return true;
	if (from != NULL) {
		to->launches = launches_limit((uint64_t)to->launches + from->launches);
		is_fine = values_join(g, &to->values, from->values, &is_all);
	}
	to->is_partial |= !is_all || from->is_partial;
	return is_fine;
}

/*
 * The content of a graph that was not captured is unknown, unless it is a copy of a captured one or
 * contains one.
 */
static bool follow_node(struct gp_graphs *g, const struct gp_record *r)
{
	const struct gp_graph_content *from = table_find(&g->graphs, r->graph_add_node.address);
	if (r->aux == GP_NODE_CLONE)
		return table_set(g, &g->graphs, r->graph_add_node.graph, from);
	struct gp_graph_content *to = table_find(&g->graphs, r->graph_add_node.graph);
	if (to != NULL && is_node_unseen(r->aux))
		to->is_partial = true;
	if (r->aux != GP_NODE_CHILD)
		return true;
	if (to != NULL)
		return add_child(g, to, from);
	if (!table_set(g, &g->graphs, r->graph_add_node.graph, from))
		return false;
	/* earlier nodes of this graph may have been missed */
	to = table_find(&g->graphs, r->graph_add_node.graph);
	if (to != NULL)
		to->is_partial = true;
	return true;
}

bool gp_graphs_follow(struct gp_graphs *g, const struct gp_record *r)
{
	bool is_ok = r->code == 0;
	switch (r->kind) {
	case GP_CAPTURE_BEGIN:
		if (is_ok)
			capture_begin(g, r->capture_begin.stream);
		return true;
	case GP_CAPTURE_END:
		return capture_end(g, r);
	case GP_LAUNCH:
		follow_launch(g, r);
		return true;
	case GP_GRAPH_INSTANTIATE:
		return !is_ok || table_set(g, &g->execs, r->graph_instantiate.exec,
					   table_find(&g->graphs, r->graph_instantiate.graph));
	case GP_GRAPH_UPDATE:
		return !is_ok || table_set(g, &g->execs, r->graph_update.exec,
					   table_find(&g->graphs, r->graph_update.graph));
	case GP_GRAPH_ADD_NODE:
		return follow_node(g, r);
	case GP_GRAPH_DESTROY:
		table_drop(g, &g->graphs, r->graph_destroy.graph);
		return true;
	case GP_GRAPH_EXEC_DESTROY:
		table_drop(g, &g->execs, r->graph_exec_destroy.exec);
		return true;
	default:
		return true;
	}
}

const struct gp_graph_content *gp_graph_content_of(const struct gp_graphs *g, uint64_t exec)
{
	return table_find(&g->execs, exec);
}
