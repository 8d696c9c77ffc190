/* A list a capture, which becomes that of its graph, which is copied to what is made of it. */
#include "graph_content.h"

#include <stdlib.h>
#include <string.h>

static void contents_release(struct gp_graph_contents *s)
{
	for (size_t k = 0; k < s->contents; k++)
		free(s->content[k].value);
	free(s->content);
	*s = (struct gp_graph_contents){ 0 };
}

void gp_graphs_release(struct gp_graphs *g)
{
	contents_release(&g->captures);
	contents_release(&g->graphs);
	contents_release(&g->execs);
}

static struct gp_graph_content *find(const struct gp_graph_contents *s, uint64_t handle)
{
	for (size_t k = 0; k < s->contents; k++)
		if (s->content[k].handle == handle)
			return &s->content[k];
	return NULL;
}

static void drop(struct gp_graph_contents *s, uint64_t handle)
{
	struct gp_graph_content *content = find(s, handle);
	if (content == NULL)
		return;
	free(content->value);
	*content = s->content[--s->contents];
}

/* An empty one, in the place of what has that handle. NULL: no memory. */
static struct gp_graph_content *begin(struct gp_graph_contents *s, uint64_t handle)
{
	drop(s, handle);
	if (s->contents == s->room) {
		size_t room = s->room ? s->room * 2 : 16;
		struct gp_graph_content *grown = realloc(s->content, room * sizeof *grown);
		if (grown == NULL)
			return NULL;
		s->content = grown;
		s->room = room;
	}
	struct gp_graph_content *content = &s->content[s->contents++];
	*content = (struct gp_graph_content){ .handle = handle };
	return content;
}

static bool add(struct gp_graph_content *content, const uint64_t *value, size_t count)
{
	if (content->values + count > content->room) {
		size_t room = (content->values + count) * 2;
		uint64_t *grown = realloc(content->value, room * sizeof *grown);
		if (grown == NULL)
			return false;
		content->value = grown;
		content->room = room;
	}
	if (count > 0)
		memcpy(content->value + content->values, value, count * sizeof *value);
	content->values += count;
	return true;
}

static int compare(const void *left, const void *right)
{
	uint64_t a = *(const uint64_t *)left, b = *(const uint64_t *)right;
	return (a > b) - (a < b);
}

static void settle(const struct gp_graphs *g, struct gp_graph_content *content)
{
	size_t kept = 0;
	if (g->is_sequence)
		return;
	if (content->values > 1)
		qsort(content->value, content->values, sizeof *content->value, compare);
	for (size_t k = 0; k < content->values; k++)
		if (kept == 0 || content->value[kept - 1] != content->value[k])
			content->value[kept++] = content->value[k];
	content->values = kept;
}

/* Makes `to`, of handle `handle`, what `from` is; nothing when that is not known. */
static bool copy(struct gp_graph_contents *to, uint64_t handle, const struct gp_graph_content *from)
{
	if (from == NULL) {
		drop(to, handle);
		return true;
	}
	const struct gp_graph_content kept = *from; /* it may lie in the array that grows */
	struct gp_graph_content *content = begin(to, handle);
	if (content == NULL || !add(content, kept.value, kept.values))
		return false;
	content->launches = kept.launches;
	content->is_partial = kept.is_partial;
	return true;
}

static bool capture_end(struct gp_graphs *g, const struct gp_record *r)
{
	struct gp_graph_content *content = find(&g->captures, r->capture_end.stream);
	bool is_fine = true;
	if (content != NULL && r->capture_end.graph != 0) {
		settle(g, content);
		is_fine = copy(&g->graphs, r->capture_end.graph, content);
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

static bool add_child(const struct gp_graphs *g, struct gp_graph_content *to,
		      const struct gp_graph_content *from)
{
	if (to == from)
		return true;
	to->is_partial |= from == NULL || from->is_partial;
	if (from == NULL)
		return true;
	to->launches += from->launches;
	bool is_fine = add(to, from->value, from->values);
	settle(g, to);
	return is_fine;
}

/* A graph that was not captured is not known, but as a copy of one or with one in it. */
static bool follow_node(struct gp_graphs *g, const struct gp_record *r)
{
	const struct gp_graph_content *from = find(&g->graphs, r->graph_add_node.address);
	if (r->aux == GP_NODE_CLONE)
		return copy(&g->graphs, r->graph_add_node.graph, from);
	struct gp_graph_content *to = find(&g->graphs, r->graph_add_node.graph);
	if (to != NULL && is_node_unseen(r->aux))
		to->is_partial = true;
	if (r->aux != GP_NODE_CHILD)
		return true;
	if (to != NULL)
		return add_child(g, to, from);
	if (!copy(&g->graphs, r->graph_add_node.graph, from))
		return false;
	/* nodes may have been added to it before */
	to = find(&g->graphs, r->graph_add_node.graph);
	if (to != NULL)
		to->is_partial = true;
	return true;
}

static void follow_launch(struct gp_graphs *g, const struct gp_record *r)
{
	const uint64_t variant = r->launch.block >> 48;
	if ((variant & GP_LAUNCH_CAPTURED) == 0 || r->code != 0)
		return;
	for (size_t k = 0; k < g->captures.contents; k++) {
		g->captures.content[k].launches++;
		g->captures.content[k].is_partial |= (variant & GP_LAUNCH_SCANNED) == 0;
	}
}

bool gp_graphs_add(struct gp_graphs *g, uint64_t value)
{
	bool is_fine = true;
	for (size_t k = 0; k < g->captures.contents; k++)
		is_fine &= add(&g->captures.content[k], &value, 1);
	return is_fine;
}

bool gp_graphs_follow(struct gp_graphs *g, const struct gp_record *r)
{
	bool is_ok = r->code == 0;
	switch (r->kind) {
	case GP_CAPTURE_BEGIN:
		return !is_ok || begin(&g->captures, r->capture_begin.stream) != NULL;
	case GP_CAPTURE_END:
		return capture_end(g, r);
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

const struct gp_graph_content *gp_graph_content_of(const struct gp_graphs *g, uint64_t exec)
{
	return find(&g->execs, exec);
}
