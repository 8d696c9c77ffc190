/*
 * Blocks to free for a request: those of a holder that fill segments, or a set that was found.
 */
#include <stdlib.h>

#include "../io/amount.h"
#include "../report/report.h"
#include "oom_answer.h"

#define UNSPLIT_MOST (UINT64_C(1) << 20) /* PyTorch never splits off a smaller rest */

#define OOM_LINE(...) snprintf(out, GP_OOM_LINE_MAX, __VA_ARGS__)

const char *gp_oom_blocks_text(size_t some, size_t all, uint64_t bytes, char out[GP_OOM_BLOCKS_MAX])
{
	const struct gp_text size = gp_bytes_text(bytes);
	if (all == 1)
		snprintf(out, GP_OOM_BLOCKS_MAX, "the block (%s)", size.s);
	else if (some == all)
		snprintf(out, GP_OOM_BLOCKS_MAX, "the %zu blocks (%s)", all, size.s);
	else
		snprintf(out, GP_OOM_BLOCKS_MAX, "%s (%s) of the %zu", gp_plural(some, "block").s,
			 size.s, all);
	return out;
}

/* ---- blocks that go back to the driver ---- */

static int compare_bytes(const void *left, const void *right)
{
	const uint64_t *a = left, *b = right;
	return (*a < *b) - (*a > *b);
}

/* Segments with one live block, which is of the stack; the largest first. */
static uint64_t *list_alone(const struct gp_oom_case *c, const struct gp_oom_holder *h,
			    size_t *count)
{
	const struct gp_memory_device *d = c->frag.device;
	uint64_t *alone = calloc(d->segments + 1, sizeof *alone);
	*count = 0;
	for (size_t k = 0; alone && k < d->segments; k++) {
		const struct gp_memory_segment *s = &c->memory.segment[d->first_segment + k];
		for (size_t i = s->first; i < s->first + s->blocks; i++) {
			const struct gp_memory_block *b = &c->memory.block[i];
			if (b->state == GP_STATE_FREE || b->stack != h->stack)
				continue;
			if (!s->is_expandable && b->bytes == s->active_bytes)
				alone[(*count)++] = s->bytes;
		}
	}
	if (alone && *count > 1)
		qsort(alone, *count, sizeof *alone, compare_bytes);
	return alone;
}

enum gp_status gp_oom_holder_free(const struct gp_oom_case *c, uint64_t needed,
				  struct gp_oom_holder *h)
{
	size_t count;
	uint64_t *alone = list_alone(c, h, &count);
	if (!alone)
		return GP_E_MEMORY;
	/* the largest first, and last the smallest that is enough */
	for (size_t k = 0; k < count && h->freed_bytes < needed; k++) {
		while (k + 1 < count && h->freed_bytes + alone[k + 1] >= needed)
			k++;
		h->freed_bytes += alone[k];
		h->freed++;
	}
	h->is_enough = h->freed_bytes >= needed;
	free(alone);
	return GP_OK;
}

/* ---- a set ---- */

enum gp_status gp_oom_set_site(const struct gp_oom_report *r, const struct gp_oom *o,
			       const struct gp_oom_case *c, const struct gp_block_set *set,
			       char site[GP_OOM_SITE_MAX])
{
	const struct gp_memory *m = &c->memory;
	site[0] = '\0';
	if (!set->is_found || !set->blocks)
		return GP_OK;
	for (size_t k = 1; k < set->blocks; k++)
		if (m->block[set->block[k]].stack != m->block[set->block[0]].stack)
			return GP_OK;
	const struct gp_memory_block *b = &m->block[set->block[0]];
	return gp_oom_sites_distinguish(r, o, c, b->stack, b->at_ns, site);
}

/* The live blocks in the segments of a set. */
struct emptied {
	uint64_t bytes; /* of the segments */
	size_t like;	/* blocks of the device with the set's stack */
	bool is_whole;	/* each block fills its segment */
};

static struct emptied emptied_by(const struct gp_oom_case *c, const struct gp_block_set *set)
{
	const struct gp_memory *m = &c->memory;
	const struct gp_memory_device *d = c->frag.device;
	const uint32_t stack = m->block[set->block[0]].stack;
	struct emptied e = { 0 };
	size_t next = 0;
	for (size_t k = d->first_segment; k < d->first_segment + d->segments; k++) {
		const struct gp_memory_segment *s = &m->segment[k];
		const size_t first = next;
		while (next < set->blocks && set->block[next] < s->first + s->blocks)
			next++;
		e.bytes += next > first ? s->bytes : 0;
		for (size_t i = s->first; i < s->first + s->blocks; i++)
			e.like += m->block[i].stack == stack &&
				  m->block[i].state == GP_STATE_ALLOCATED;
	}
	e.is_whole = e.bytes == set->bytes;
	return e;
}

/* Counts the blocks of a stack that leave a large enough gap when freed alone. */
static size_t count_serving(const struct gp_oom_case *c, uint32_t stack)
{
	const struct gp_memory_device *d = c->frag.device;
	size_t count = 0;
	for (size_t k = d->first_segment; k < d->first_segment + d->segments; k++) {
		const struct gp_memory_segment *s = &c->memory.segment[k];
		for (size_t i = s->first; s->arena == c->frag.home && i < s->first + s->blocks;
		     i++) {
			const struct gp_memory_block *b = &c->memory.block[i];
			count += b->stack == stack && b->state == GP_STATE_ALLOCATED &&
				 b->bytes >= c->frag.fit.rounded_bytes;
		}
	}
	return count;
}

void gp_oom_set_text(const struct gp_oom_case *c, const struct gp_block_set *set, bool is_beside,
		     const char *site, char out[GP_OOM_LINE_MAX])
{
	const struct emptied e = emptied_by(c, set);
	const size_t blocks = set->blocks - set->pending;
	char shorter[GP_OOM_SITE_MAX], some[GP_OOM_BLOCKS_MAX];
	gp_oom_site_short(site, 42, shorter);
	if (is_beside && set->blocks == 1 && set->bytes >= c->frag.fit.rounded_bytes)
		OOM_LINE("free or offload %s from %s",
			 gp_oom_blocks_text(1,
					    count_serving(c, c->memory.block[set->block[0]].stack),
					    set->bytes, some),
			 shorter);
	else if (is_beside)
		OOM_LINE("free %s (%s) beside gaps, from %s", gp_plural(blocks, "block").s,
			 gp_bytes_text(set->bytes).s, shorter);
	else if (e.is_whole)
		OOM_LINE("free or offload %s from %s",
			 gp_oom_blocks_text(blocks, e.like, set->bytes, some), shorter);
	else if (blocks == 1)
		OOM_LINE("free the block (--details) that pins %s of %s, from %s",
			 set->segments == 1 ? "a segment" : gp_plural(set->segments, "segment").s,
			 gp_bytes_text(e.bytes).s, gp_oom_site_short(site, 64, shorter));
	else
		OOM_LINE("free the %zu blocks (--details) that pin %s (%s), from %s", blocks,
			 gp_plural(set->segments, "segment").s, gp_bytes_text(e.bytes).s,
			 gp_oom_site_short(site, 64, shorter));
}

/* ---- blocks of the request's size ---- */

/* PyTorch cuts a block to the size, or uses the whole segment if at most 1 MiB would remain. */
static bool is_of_size(const struct gp_oom_facts *f, uint64_t bytes)
{
	const uint64_t segment = f->limited_bytes;
	return bytes == f->bytes || (bytes == segment && segment - f->bytes <= UNSPLIT_MOST);
}

/* The block's gap serves the request, or its segment goes back to the driver. */
static bool is_served_by(const struct gp_oom_case *c, const struct gp_memory_segment *s,
			 const struct gp_memory_block *b)
{
	const bool is_home = c->facts.has_arena && s->arena == c->frag.home;
	const bool is_alone = !s->is_expandable && s->active_bytes == b->bytes;
	return is_home || (is_alone && s->bytes >= c->finding.missing_bytes);
}

void gp_oom_alike_find(const struct gp_oom_case *c, struct gp_oom_alike *out)
{
	const struct gp_memory_device *d = c->frag.device;
	*out = (struct gp_oom_alike){ .is_enough = true };
	for (size_t k = d->first_segment; k < d->first_segment + d->segments; k++) {
		const struct gp_memory_segment *s = &c->memory.segment[k];
		for (size_t i = s->first; i < s->first + s->blocks; i++) {
			const struct gp_memory_block *b = &c->memory.block[i];
			if (b->state != GP_STATE_ALLOCATED || !is_of_size(&c->facts, b->bytes))
				continue;
			out->blocks++;
			out->bytes += b->bytes;
			out->is_enough &= is_served_by(c, s, b);
		}
	}
	out->is_most = out->blocks && 2 * out->bytes >= c->facts.allocated_bytes;
}
