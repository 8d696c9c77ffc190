/*
 * A full block is sorted and encoded. When too many are kept, the least length that leaves few
 * enough is found from the counts, and all blocks are written again without shorter lives. Lengths
 * only rise, so the result is as if the final one had been known at first.
 */
#include "life_store.h"

#include <stdlib.h>
#include <string.h>

#include "../../read/tables/array.h"

static unsigned length_bits(uint64_t span)
{
	return span > 1 ? 64u - (unsigned)__builtin_clzll(span - 1) : 0;
}

/* Encodes the rows as one more run. */
static void store_flush(struct gp_life_store *s)
{
	size_t count;
	if (s->rows == 0 || s->is_out_of_memory)
		return;
	gp_life_sort(s->row, s->rows);
	const unsigned char *bytes = gp_life_encode(s->row, s->rows, s->room, &count);
	struct gp_life_run *run = gp_array_append(&s->run, &s->runs, sizeof *run);
	unsigned char *copy = run != NULL ? malloc(count) : NULL;
	if (run != NULL)
		*run = (struct gp_life_run){ copy, copy != NULL ? count : 0 };
	if (copy == NULL)
		s->is_out_of_memory = true;
	else
		memcpy(copy, bytes, count);
	s->rows = 0;
}

static void store_put(struct gp_life_store *s, const struct gp_life_row *row)
{
	if (row->span != 0 && length_bits(row->span) < s->bits)
		return;
	if (s->row == NULL) {
		s->row = malloc(s->a_block * sizeof *s->row);
		s->room = malloc(gp_life_room(s->a_block));
	}
	s->is_out_of_memory |= s->row == NULL || s->room == NULL;
	if (s->is_out_of_memory)
		return;
	s->row[s->rows++] = *row;
	s->kept += row->span != 0;
	if (s->rows == s->a_block)
		store_flush(s);
}

/* Ended lives of so many bits and more. */
static uint64_t ended_from(const struct gp_life_store *s, unsigned bits)
{
	uint64_t sum = 0;
	for (; bits < GP_LIFE_LENGTHS; bits++)
		sum += s->ended[bits];
	return sum;
}

/* Leaves out shorter lives until at most `most` ended ones are kept. */
static void store_shrink(struct gp_life_store *s, uint64_t most)
{
	while (s->bits < GP_LIFE_LENGTHS && ended_from(s, s->bits) > most)
		s->bits++;
	store_flush(s);
	struct gp_life_run *old = s->run;
	const size_t olds = s->runs;
	s->run = NULL;
	s->runs = 0;
	s->kept = 0;
	for (size_t k = 0; k < olds; k++) {
		struct gp_life_reader reader;
		if (!s->is_out_of_memory &&
		    gp_life_reader_open(&reader, old[k].bytes, old[k].count))
			while (gp_life_read(&reader))
				store_put(s, &reader.last);
		free(old[k].bytes);
	}
	free(old);
}

void gp_life_store_add(struct gp_life_store *s, const struct gp_life_row *row)
{
	s->added++;
	if (row->span != 0)
		s->ended[length_bits(row->span)]++;
	else
		s->live++;
	store_put(s, row);
	if (s->kept > s->most)
		store_shrink(s, s->most);
}

bool gp_life_store_settle(struct gp_life_store *s)
{
	const uint64_t live = s->live < s->most ? s->live : s->most;
	if (s->kept > s->most - live)
		store_shrink(s, s->most - live);
	store_flush(s);
	return !s->is_out_of_memory;
}

uint64_t gp_life_store_shorter(const struct gp_life_store *s)
{
	if (s->live > s->most || s->bits == GP_LIFE_LENGTHS)
		return UINT64_MAX;
	return s->bits > 0 ? 1ull << (s->bits - 1) : 0;
}

bool gp_life_merge_open(struct gp_life_merge *m, const struct gp_life_store *s)
{
	*m = (struct gp_life_merge){ .reader = calloc(s->runs + 1, sizeof *m->reader) };
	if (m->reader == NULL)
		return false;
	for (size_t k = 0; k < s->runs; k++) {
		struct gp_life_reader *reader = &m->reader[m->readers];
		if (gp_life_reader_open(reader, s->run[k].bytes, s->run[k].count) &&
		    gp_life_read(reader))
			m->readers++;
	}
	return true;
}

bool gp_life_merge_next(struct gp_life_merge *m, struct gp_life_row *out)
{
	struct gp_life_reader *first = m->reader;
	if (m->readers == 0)
		return false;
	for (size_t k = 1; k < m->readers; k++)
		if (gp_life_is_before(&m->reader[k].last, &first->last))
			first = &m->reader[k];
	*out = first->last;
	if (!gp_life_read(first))
		*first = m->reader[--m->readers];
	return true;
}

void gp_life_merge_close(struct gp_life_merge *m)
{
	free(m->reader);
	*m = (struct gp_life_merge){ 0 };
}

void gp_life_store_release(struct gp_life_store *s)
{
	for (size_t k = 0; k < s->runs; k++)
		free(s->run[k].bytes);
	free(s->run);
	free(s->row);
	free(s->room);
	*s = (struct gp_life_store){ .most = s->most, .a_block = s->a_block };
}
