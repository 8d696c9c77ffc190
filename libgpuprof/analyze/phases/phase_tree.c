/* Nodes are found by parent and name. */
#include "phase_tree.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "../../read/file/recording.h"
#include "../../read/frames/frame_phase.h"
#include "phase_fold.h"

void gp_phase_tree_release(struct gp_phase_tree *t)
{
	gp_row_table_release(&t->nodes);
}

static bool is_like(const struct gp_phase_node *a, const struct gp_phase_node *b)
{
	return a->parent == b->parent && a->name == b->name && a->domain == b->domain &&
	       a->source == b->source && a->style == b->style;
}

static uint32_t phase_tree_hash_of(const struct gp_phase_node *like)
{
	const uint64_t kind =
		(uint64_t)like->source << 40 | (uint64_t)like->style << 32 | like->domain;
	return gp_row_hash(gp_hash_pair((uint64_t)like->parent << 32 | like->name, kind));
}

uint32_t gp_phase_tree_get(struct gp_phase_tree *t, uint32_t parent, uint32_t name, uint32_t domain,
			   uint32_t source, enum gp_phase_style style)
{
	const struct gp_phase_node like = {
		.parent = parent, .name = name, .domain = domain, .source = source, .style = style
	};
	const uint32_t hash = phase_tree_hash_of(&like);
	for (uint32_t step = 0, at; (at = gp_row_next(&t->nodes, hash, &step)) != 0;)
		if (at > 1 && is_like(gp_phase_node_at(t, at - 1), &like))
			return at - 1;
	if (t->nodes.rows == 0 && gp_row_add(&t->nodes, sizeof like, 0) == NULL)
		return 0;
	/* the few nodes that are not ranges have reserved room */
	if (t->nodes.rows > GP_PHASES_MOST && style <= GP_PHASE_MARK)
		return gp_phase_tree_get(t, 0, 0, 0, 0, GP_PHASE_REST);
	struct gp_phase_node *node = gp_row_add(&t->nodes, sizeof like, hash);
	if (node == NULL)
		return 0;
	*node = like;
	const uint32_t number = t->nodes.rows - 1;
	struct gp_phase_node *above = gp_phase_node_at(t, parent);
	if (above->last != 0)
		gp_phase_node_at(t, above->last)->next = number;
	else
		above->first = number;
	above->last = number;
	return number;
}

/* Welford's method: sums of squares of nanoseconds would lose all digits. */
void gp_phase_node_add(struct gp_phase_node *n, uint64_t ns, bool is_steady)
{
	n->own.calls++;
	n->own.time_ns += ns;
	if (!is_steady)
		return;
	n->own.steady_calls++;
	n->steady_ns += ns;
	double off = (double)ns - n->mean_ns;
	n->mean_ns += off / (double)n->own.steady_calls;
	n->squares += off * ((double)ns - n->mean_ns);
}

static const char *text_of(const struct gp_recording *r, uint32_t id)
{
	struct gp_named name;
	if (id == 0 || !gp_defined_get(r->definitions, GP_RANGE_NAME, id, &name))
		return NULL;
	return name.text != NULL ? name.text : "";
}

const char *gp_phase_node_text(const struct gp_phase_node *n, const struct gp_recording *r)
{
	if (n->folded != NULL)
		return n->folded;
	if (n->source == GP_RANGE_FRAMES)
		return gp_frame_phase_name(n->name);
	return n->source == GP_RANGE_DERIVED ? "forward" : text_of(r, n->name);
}

const char *gp_phase_node_domain(const struct gp_phase_node *n, const struct gp_recording *r)
{
	return text_of(r, n->domain);
}

static void phase_tree_fill(const struct gp_phase_node *n, unsigned depth,
			    const struct gp_recording *r, struct gp_phase *out)
{
	*out = n->own;
	out->name = gp_phase_node_text(n, r);
	out->names = n->names != 0 ? n->names : n->style < GP_PHASE_OUTSIDE;
	out->domain = gp_phase_node_domain(n, r);
	out->source = n->source;
	out->style = n->style;
	out->depth = depth;
	if (n->own.steady_calls == 0)
		return;
	out->mean_ns = n->steady_ns / n->own.steady_calls;
	out->deviation_ns = (uint64_t)llround(sqrt(n->squares / (double)n->own.steady_calls));
}

static uint32_t next_seen(const struct gp_phase_tree *t, uint32_t at)
{
	while (at != 0 && !gp_phase_node_at(t, at)->is_seen)
		at = gp_phase_node_at(t, at)->next;
	return at;
}

static void list_below(const struct gp_phase_tree *t, const struct gp_recording *r,
		       struct gp_phases *out)
{
	uint32_t at = next_seen(t, gp_phase_node_at(t, 0)->first);
	unsigned depth = 0;
	while (at != 0) {
		const struct gp_phase_node *n = gp_phase_node_at(t, at);
		struct gp_phase *phase = &out->phase[out->phases++];
		phase_tree_fill(n, depth, r, phase);
		for (uint32_t k = n->first; k != 0; k = gp_phase_node_at(t, k)->next)
			phase->children += gp_phase_node_at(t, k)->is_seen;
		if (phase->children != 0) {
			at = next_seen(t, n->first);
			depth++;
			continue;
		}
		while (at != 0 && next_seen(t, gp_phase_node_at(t, at)->next) == 0) {
			at = gp_phase_node_at(t, at)->parent;
			depth -= at != 0;
		}
		at = at != 0 ? next_seen(t, gp_phase_node_at(t, at)->next) : 0;
	}
}

/* Moves the nodes that are not ranges to the end. */
static void move_last(struct gp_phase_tree *t)
{
	uint32_t kept[GP_PHASE_REST + 1] = { 0 }, *from = &gp_phase_node_at(t, 0)->first, last = 0;
	while (*from != 0) {
		struct gp_phase_node *n = gp_phase_node_at(t, *from);
		if (n->style < GP_PHASE_OUTSIDE) {
			last = *from;
			from = &n->next;
			continue;
		}
		kept[n->style] = *from;
		*from = n->next;
		n->next = 0;
	}
	for (unsigned style = GP_PHASE_OUTSIDE; style <= GP_PHASE_REST; style++) {
		if (kept[style] == 0)
			continue;
		*(last != 0 ? &gp_phase_node_at(t, last)->next : &gp_phase_node_at(t, 0)->first) =
			kept[style];
		last = kept[style];
	}
}

static void find_seen(struct gp_phase_tree *t)
{
	for (uint32_t k = t->nodes.rows; k-- > 1;) {
		struct gp_phase_node *n = gp_phase_node_at(t, k);
		n->is_seen |= n->own.calls != 0 || n->own.allocated_bytes != 0 ||
			      n->own.freed_bytes != 0 || n->own.launches != 0 ||
			      n->own.captured_launches != 0 || n->own.graph_launches != 0;
		gp_phase_node_at(t, n->parent)->is_seen |= n->is_seen;
	}
}

static void add_up(struct gp_phase_tree *t)
{
	for (uint32_t k = t->nodes.rows; k-- > 1;) {
		const struct gp_phase_node *n = gp_phase_node_at(t, k);
		struct gp_phase *above = &gp_phase_node_at(t, n->parent)->own;
		above->allocated_bytes += n->own.allocated_bytes;
		above->freed_bytes += n->own.freed_bytes;
		above->launches += n->own.launches;
		above->captured_launches += n->own.captured_launches;
		above->graph_launches += n->own.graph_launches;
	}
}

enum gp_status gp_phase_tree_list(struct gp_phase_tree *t, struct gp_recording *r, uint64_t fold,
				  struct gp_phases *out)
{
	if (t->nodes.rows < 2)
		return GP_OK;
	out->phase = calloc(t->nodes.rows, sizeof *out->phase);
	if (out->phase == NULL)
		return GP_E_MEMORY;
	find_seen(t);
	if (fold != 0 && !gp_phase_tree_fold(t, r, fold, out))
		return GP_E_MEMORY;
	add_up(t);
	move_last(t);
	list_below(t, r, out);
	return GP_OK;
}
