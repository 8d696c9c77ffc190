/*
 * Private pools at one moment: which of them captures use, and what to do about their free memory.
 * A pool in which no capture allocated is a MemPool, unless the recording may lack captures.
 */
#include "frag_report.h"

const struct gp_private_text gp_private_texts[] = {
	[GP_PRIVATE_GRAPH] = { "graphs", "delete graphs that are done", "delete unused graphs" },
	[GP_PRIVATE_GRAPHS] = { "graphs",
				"give all graphs one graph_pool_handle(), and delete graphs that "
				"are done",
				"share one pool" },
	[GP_PRIVATE_MEMPOOL] = { "MemPools", "delete MemPools that are done",
				 "delete unused MemPools" },
	[GP_PRIVATE_EITHER] = { "graphs and MemPools", "delete graphs and MemPools that are done",
				"delete unused pools" },
};

static bool private_is_same(const struct gp_arena *a, const struct gp_arena *b)
{
	return a->pool == b->pool && a->user_pool == b->user_pool;
}

struct gp_frag_private gp_frag_private(const struct gp_frag *f)
{
	struct gp_frag_private out = { .other = f->memory->is_uncertain ? GP_PRIVATE_EITHER :
									  GP_PRIVATE_MEMPOOL };
	const struct gp_arena *first = NULL; /* of a graph */
	uint64_t of_graphs = 0, of_others = 0;
	bool has_several = false;
	for (size_t k = 0; k < f->pools; k++) {
		const struct gp_frag_pool *p = &f->pool[k];
		const struct gp_arena *a = &f->memory->arena[p->arena];
		if (!gp_arena_is_private(a))
			continue;
		const bool is_graph = a->captured_at_ns >= 0;
		const bool is_idle = !p->allocated_bytes && !p->pending_bytes;
		*(is_graph ? &out.idle_graph_bytes : &out.idle_other_bytes) +=
			is_idle ? p->reserved_bytes : 0;
		if (is_graph) {
			has_several |= first && !private_is_same(first, a);
			first = first ? first : a;
		}
		if (p->arena != f->home)
			*(is_graph ? &of_graphs : &of_others) += p->free_bytes;
	}
	if (of_others > of_graphs)
		out.use = out.other;
	else
		out.use = has_several ? GP_PRIVATE_GRAPHS : GP_PRIVATE_GRAPH;
	return out;
}
