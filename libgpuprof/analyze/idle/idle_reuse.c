/*
 * Sweeps the intervals of use of each size once. The ends are sorted separately, so no heap is
 * needed.
 */
#include "idle_reuse.h"

#include <stdlib.h>

struct span {
	uint64_t bytes, first, last;
	const struct gp_peak_part *part;
};

static int by_first(const void *left, const void *right)
{
	const struct span *a = left, *b = right;
	if (a->bytes != b->bytes)
		return a->bytes < b->bytes ? 1 : -1;
	if (a->first != b->first)
		return a->first < b->first ? -1 : 1;
	return (a->last > b->last) - (a->last < b->last);
}

static int by_last(const void *left, const void *right)
{
	const struct span *a = left, *b = right;
	if (a->bytes != b->bytes)
		return a->bytes < b->bytes ? 1 : -1;
	return (a->last > b->last) - (a->last < b->last);
}

static int by_saved(const void *left, const void *right)
{
	const struct gp_idle_reuse *a = left, *b = right;
	uint64_t x = (a->count - a->needed) * a->each_bytes,
		 y = (b->count - b->needed) * b->each_bytes;
	return x != y ? (x < y ? 1 : -1) :
			(a->each_bytes < b->each_bytes) - (a->each_bytes > b->each_bytes);
}

/*
 * Handles the intervals of one size. The report shows the first pair that could share one buffer.
 */
static void sweep(const struct span *first, const struct span *last, size_t spans,
		  struct gp_idle_device *d)
{
	struct gp_idle_reuse reuse = { .each_bytes = first->bytes, .count = spans };
	uint64_t now = 0;
	for (size_t k = 0, over = 0; k < spans; k++) {
		now++;
		/* buffers whose last use came before this first use */
		for (; over < spans && last[over].last < first[k].first; over++, now--) {
			if (reuse.born_ns)
				continue;
			reuse.stack = first[k].part->entry.stack;
			reuse.born_ns = first[k].part->then.born_ns;
			reuse.other_stack = last[over].part->entry.stack;
			reuse.other_born_ns = last[over].part->then.born_ns;
		}
		reuse.needed = now > reuse.needed ? now : reuse.needed;
	}
	if (reuse.needed < reuse.count)
		d->reuse[d->reuses++] = reuse;
}

enum gp_status gp_idle_reuse_find(const struct gp_peak_part *part, size_t parts,
				  struct gp_idle_device *d)
{
	struct span *first = calloc(parts + 1, sizeof *first),
		    *last = calloc(parts + 1, sizeof *last);
	size_t spans = 0;
	d->reuse = calloc(parts + 1, sizeof *d->reuse);
	bool is_fine = first != NULL && last != NULL && d->reuse != NULL;
	for (size_t k = 0; k < parts && is_fine; k++) {
		const struct gp_peak_part *p = &part[k];
		/*
		 * Only the program's own buffers of the peak's memory count: a library keeps its
		 * buffers.
		 */
		bool is_programs = gp_idle_is_of_peak(d, p->owner) &&
				   p->owner != GP_IDLE_WORKSPACE && p->owner != GP_IDLE_LIBRARY;
		/* without a use, or with unknown earlier uses, its interval is unknown */
		if (p->entry.device != d->device || !is_programs || !p->is_used || p->then.is_old)
			continue;
		first[spans] =
			(struct span){ p->entry.bytes, p->then.is_used ? p->then.first : p->next,
				       p->last, p };
		last[spans] = first[spans];
		spans++;
	}
	if (is_fine && spans > 1) {
		qsort(first, spans, sizeof *first, by_first);
		qsort(last, spans, sizeof *last, by_last);
		for (size_t k = 0, end; k < spans; k = end) {
			for (end = k + 1; end < spans && first[end].bytes == first[k].bytes;)
				end++;
			sweep(&first[k], &last[k], end - k, d);
		}
		if (d->reuses > 1)
			qsort(d->reuse, d->reuses, sizeof *d->reuse, by_saved);
	}
	free(first);
	free(last);
	return is_fine ? GP_OK : GP_E_MEMORY;
}
