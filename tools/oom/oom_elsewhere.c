/*
 * Advice on memory that is cached for other streams and pools: where the request would be served,
 * and which line allocates there.
 */
#include "../frag/frag_report.h"
#include "../io/amount.h"
#include "oom_answer.h"

#define BRIEF(v, ...) snprintf((v)->brief, sizeof(v)->brief, __VA_ARGS__)
#define TEXT(v, ...) snprintf((v)->text, sizeof(v)->text, __VA_ARGS__)

/* The pool with most cached memory, of other streams or private pools; NULL: unknown. */
static const struct gp_frag_pool *elsewhere_most(const struct gp_oom_case *c, bool is_private)
{
	const struct gp_frag *f = &c->frag;
	const struct gp_frag_pool *most = NULL;
	for (size_t k = 0; k < f->pools; k++) {
		const struct gp_frag_pool *p = &f->pool[k];
		const struct gp_arena *a = &c->memory.arena[p->arena];
		if (p->arena != f->home && a->is_known && gp_arena_is_private(a) == is_private &&
		    (!most || p->free_bytes > most->free_bytes))
			most = p;
	}
	return most;
}

/* The line that allocated the largest live block there. */
static enum gp_status elsewhere_site(const struct gp_oom_report *r, const struct gp_oom *o,
				     const struct gp_oom_case *c, const struct gp_frag_pool *p,
				     char site[GP_OOM_SITE_MAX])
{
	const struct gp_memory *m = &c->memory;
	const struct gp_memory_device *d = c->frag.device;
	const struct gp_memory_block *most = NULL;
	for (size_t k = d->first_segment; k < d->first_segment + d->segments; k++) {
		const struct gp_memory_segment *s = &m->segment[k];
		if (s->arena != p->arena || s->is_small != p->is_small)
			continue;
		for (size_t i = s->first; i < s->first + s->blocks; i++)
			if (m->block[i].state != GP_STATE_FREE &&
			    (!most || m->block[i].bytes > most->bytes))
				most = &m->block[i];
	}
	return most ? gp_oom_sites_distinguish(r, o, c, most->stack, most->at_ns, site) : GP_OK;
}

static enum gp_status elsewhere_pools(const struct gp_oom_report *r, const struct gp_oom *o,
				      const struct gp_oom_case *c, struct gp_oom_advice *v)
{
	const struct gp_frag_pool *p = elsewhere_most(c, true);
	char shorter[GP_OOM_SITE_MAX];
	enum gp_status status = p ? elsewhere_site(r, o, c, p, v->site) : GP_OK;
	const struct gp_private_text *text = &gp_private_texts[gp_frag_private(&c->frag).use];
	BRIEF(v, "%s", text->brief);
	TEXT(v, "%s%s%s%s", text->advice, *v->site ? "; " : "",
	     *v->site ? gp_oom_site_short(v->site, 77, shorter) : "",
	     *v->site ? " allocates in one" : "");
	return status;
}

/* Advice if a gap on another stream serves the request. */
static enum gp_status elsewhere_place(const struct gp_oom_report *r, const struct gp_oom *o,
				      const struct gp_oom_case *c, struct gp_oom_advice *v)
{
	const struct gp_arena *arena = c->memory.arena;
	const struct gp_text other = gp_oom_stream_text(arena[c->other->arena].stream);
	char shorter[GP_OOM_SITE_MAX];
	enum gp_status status = elsewhere_site(r, o, c, c->other, v->site);
	BRIEF(v, "allocate on another stream");
	TEXT(v, "allocate on %s%s%s%s (and synchronise it)", other.s, *v->site ? ", as " : "",
	     *v->site ? gp_oom_site_short(v->site, 64, shorter) : "", *v->site ? " does" : "");
	return status;
}

static enum gp_status elsewhere_streams(const struct gp_oom_report *r, const struct gp_oom *o,
					const struct gp_oom_case *c, struct gp_oom_advice *v)
{
	const struct gp_frag_pool *p = elsewhere_most(c, false);
	char shorter[GP_OOM_SITE_MAX];
	enum gp_status status = p ? elsewhere_site(r, o, c, p, v->site) : GP_OK;
	BRIEF(v, "allocate on one stream");
	TEXT(v, "allocating on %s (%s cached) may help%s%s%s",
	     p ? gp_oom_stream_text(c->memory.arena[p->arena].stream).s : "one stream",
	     gp_bytes_text(p ? p->free_bytes : v->bytes).s, *v->site ? "; " : "",
	     *v->site ? gp_oom_site_short(v->site, 60, shorter) : "", *v->site ? " uses it" : "");
	return status;
}

enum gp_status gp_oom_elsewhere_text(const struct gp_oom_report *r, const struct gp_oom *o,
				     const struct gp_oom_case *c, struct gp_oom_advice *v)
{
	const uint64_t *cause = c->frag.cause_bytes;
	if (v->is_sure)
		return elsewhere_place(r, o, c, v);
	if (cause[GP_CAUSE_PRIVATE] > cause[GP_CAUSE_STREAM])
		return elsewhere_pools(r, o, c, v);
	return elsewhere_streams(r, o, c, v);
}
