/* The live entries of one moment, by kind and by address. */
#include <stdlib.h>

#include "../../read/tables/array.h"
#include "../../read/tables/row_rank.h"
#include "memory_view.h"

#define SPACES_WHOLE                                                             \
	(1u << GP_SPACE_DEVICE | 1u << GP_SPACE_ASYNC | 1u << GP_SPACE_MANAGED | \
	 1u << GP_SPACE_ARRAY | 1u << GP_SPACE_PHYSICAL | 1u << GP_SPACE_GRAPH | \
	 1u << GP_SPACE_IPC)

struct listing {
	struct gp_memory_view *view;
	bool is_out_of_memory;
};

static struct gp_entries *entries_of(struct gp_memory_view *v, const struct gp_live_entry *e)
{
	switch (e->space) {
	case GP_SPACE_BLOCK:
		return &v->block;
	case GP_SPACE_SEGMENT:
		return &v->reported;
	case GP_SPACE_RESERVATION:
		return &v->reservation;
	case GP_SPACE_MAPPED:
		return &v->mapped;
	default:
		return (SPACES_WHOLE >> e->space & 1) != 0 ? &v->whole : NULL;
	}
}

/*
 * True: the view needs this entry. Entries that only give places, such as reservations, are all
 * listed.
 */
static bool is_selected(const struct gp_memory_view *v, const struct gp_live_entry *e)
{
	return !v->is_of_one || e->device == v->device || e->device >= GP_DEVICES ||
	       e->space == GP_SPACE_RESERVATION || e->space == GP_SPACE_MAPPED;
}

static void list(void *context, const struct gp_live_entry *e)
{
	struct listing *l = context;
	struct gp_entries *to = is_selected(l->view, e) ? entries_of(l->view, e) : NULL;
	if (to == NULL || e->bytes == 0 || e->address + e->bytes < e->address)
		return;
	if (gp_array_reserve(&to->entry, &to->room, to->count, 1, sizeof *to->entry))
		to->entry[to->count++] = *e;
	else
		l->is_out_of_memory = true;
}

static int compare_entries(const void *left, const void *right)
{
	const struct gp_live_entry *a = left, *b = right;
	if (a->address != b->address)
		return a->address < b->address ? -1 : 1;
	return (a->order > b->order) - (a->order < b->order);
}

static void sort(struct gp_entries *entries)
{
	if (entries->count > 1)
		qsort(entries->entry, entries->count, sizeof *entries->entry, compare_entries);
}

/*
 * Blocks do not overlap, and neither do reported segments. If events are missing, two may seem to
 * overlap: then the older one is gone.
 */
static void drop_overlaid(struct gp_entries *entries)
{
	size_t kept = 0;
	for (size_t i = 0; i < entries->count; i++) {
		const struct gp_live_entry e = entries->entry[i];
		while (kept > 0 && e.address - entries->entry[kept - 1].address <
					   entries->entry[kept - 1].bytes) {
			if (entries->entry[kept - 1].order > e.order)
				break;
			kept--;
		}
		if (kept == 0 ||
		    e.address - entries->entry[kept - 1].address >= entries->entry[kept - 1].bytes)
			entries->entry[kept++] = e;
	}
	entries->count = kept;
}

enum gp_status gp_memory_list(struct gp_memory_view *v)
{
	struct listing l = { .view = v };
	gp_live_walk_begin(v->recording->live, list, &l);
	while (!gp_live_walk_more(v->recording->live, 65536))
		;
	if (l.is_out_of_memory)
		return GP_E_MEMORY;
	sort(&v->reported);
	sort(&v->whole);
	sort(&v->reservation);
	sort(&v->mapped);
	sort(&v->block);
	drop_overlaid(&v->reported);
	drop_overlaid(&v->mapped);
	drop_overlaid(&v->block);
	return GP_OK;
}

void gp_memory_view_release(struct gp_memory_view *v)
{
	free(v->reported.entry);
	free(v->whole.entry);
	free(v->reservation.entry);
	free(v->mapped.entry);
	free(v->block.entry);
}

const struct gp_live_entry *gp_entries_before(const struct gp_entries *entries, uint64_t address)
{
	size_t behind =
		gp_row_rank(entries->entry, entries->count, sizeof *entries->entry, address);
	return behind > 0 ? &entries->entry[behind - 1] : NULL;
}

const struct gp_live_entry *gp_entries_find(const struct gp_entries *entries, uint64_t address)
{
	const struct gp_live_entry *e = gp_entries_before(entries, address);
	return e != NULL && address - e->address < e->bytes ? e : NULL;
}

bool gp_entries_overlap(const struct gp_entries *entries, uint64_t address, uint64_t bytes)
{
	const struct gp_live_entry *e = gp_entries_before(entries, address + bytes - 1);
	return e != NULL && e->address + e->bytes > address;
}
