/* Grows at half full: a search always ends at an unused entry. */
#include "thread_table.h"

#include <stdlib.h>

#include "../format/seeded_hash.h"

static struct gp_thread_value *place_of(const struct gp_thread_table *t, uint32_t thread)
{
	size_t at = gp_hash_number(thread) & (t->room - 1);
	while (t->entry[at].is_used && t->entry[at].thread != thread)
		at = (at + 1) & (t->room - 1);
	return &t->entry[at];
}

static bool grow(struct gp_thread_table *t)
{
	struct gp_thread_table grown = { .threads = t->threads,
					 .room = t->room == 0 ? 64 : t->room * 2 };
	grown.entry = calloc(grown.room, sizeof *grown.entry);
	if (grown.entry == NULL)
		return false;
	for (size_t i = 0; i < t->room; i++)
		if (t->entry[i].is_used)
			*place_of(&grown, t->entry[i].thread) = t->entry[i];
	free(t->entry);
	*t = grown;
	return true;
}

uint64_t *gp_thread_table_find(struct gp_thread_table *t, uint32_t thread)
{
	if (t->threads * 2 >= t->room && !grow(t))
		return NULL;
	struct gp_thread_value *v = place_of(t, thread);
	t->threads += !v->is_used;
	v->thread = thread;
	v->is_used = true;
	return &v->value;
}

void gp_thread_table_release(struct gp_thread_table *t)
{
	free(t->entry);
	*t = (struct gp_thread_table){ 0 };
}
