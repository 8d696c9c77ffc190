/* When too many are kept, the bound rises by an eighth until few enough are as long or longer. */
#include "lane_store.h"

#include <stdlib.h>

#include "../../format/varint.h"
#include "../../gpuprof_lanes.h"
#include "../../read/tables/array.h"
#include "../lives/life_code.h"

#define HEADER (GP_LANE_COLUMNS + 2u) /* numbers: rows, columns, 0 */

/* The part of time in which a moment lies, or the nearest one. */
static uint64_t part_at(const struct gp_lane_store *s, int64_t at_ns)
{
	if (at_ns <= s->from_ns)
		return 0;
	const uint64_t part = ((uint64_t)at_ns - (uint64_t)s->from_ns) / s->part_ns;
	return part < GP_LANE_PARTS_MOST ? part : GP_LANE_PARTS_MOST - 1;
}

/* Divides an interval at the borders of parts. All of it counts, also where it is off the axis. */
static void parts_add(const struct gp_lane_store *s, struct gp_lane_part *part,
		      const struct gp_lane_row *row)
{
	const uint64_t first = part_at(s, row->begin_ns);
	const uint64_t last = part_at(s, row->begin_ns + (int64_t)row->took_ns);
	uint64_t left_ns = row->took_ns;
	part[first].count++;
	for (uint64_t k = first; k < last; k++) {
		const int64_t end_ns = s->from_ns + (int64_t)((k + 1) * s->part_ns);
		const uint64_t ns = k == first ? (uint64_t)(end_ns - row->begin_ns) : s->part_ns;
		part[k].ns += ns;
		left_ns -= ns;
	}
	part[last].ns += left_ns;
}

static void store_leave_out(struct gp_lane_store *s, const struct gp_lane_row *row)
{
	s->is_out_of_memory |=
		!gp_array_reach(&s->part, &s->lane_room, row->lane,
				sizeof(struct gp_lane_part *)) ||
		!gp_array_reach(&s->group, &s->group_room, row->group, sizeof *s->group);
	if (s->is_out_of_memory)
		return;
	struct gp_lane_part **part = &s->part[row->lane];
	if (*part == NULL)
		*part = calloc(GP_LANE_PARTS_MOST, sizeof **part);
	s->is_out_of_memory |= *part == NULL;
	if (*part == NULL)
		return;
	parts_add(s, *part, row);
	s->group[row->group].ns += row->took_ns;
	s->group[row->group].count++;
}

static void store_shrink(struct gp_lane_store *s)
{
	while (s->rows > s->most && !s->is_out_of_memory) {
		size_t kept = 0;
		s->shorter_than_ns += s->shorter_than_ns / 8 + 1;
		for (size_t k = 0; k < s->rows; k++)
			if (s->row[k].took_ns < s->shorter_than_ns)
				store_leave_out(s, &s->row[k]);
			else
				s->row[kept++] = s->row[k];
		s->rows = kept;
	}
}

void gp_lane_store_add(struct gp_lane_store *s, const struct gp_lane_row *row)
{
	if (row->took_ns < s->shorter_than_ns) {
		store_leave_out(s, row);
		return;
	}
	s->is_out_of_memory |= !gp_array_reserve(&s->row, &s->room, s->rows, 1, sizeof *s->row);
	if (s->is_out_of_memory)
		return;
	s->row[s->rows++] = *row;
	store_shrink(s);
}

static int row_compare(const void *left, const void *right)
{
	const struct gp_lane_row *a = left, *b = right;
	if (a->lane != b->lane)
		return a->lane < b->lane ? -1 : 1;
	if (a->begin_ns != b->begin_ns)
		return a->begin_ns < b->begin_ns ? -1 : 1;
	if (a->took_ns != b->took_ns)
		return a->took_ns < b->took_ns ? -1 : 1;
	return (a->group > b->group) - (a->group < b->group);
}

void gp_lane_store_sort(struct gp_lane_store *s)
{
	if (s->rows > 1)
		qsort(s->row, s->rows, sizeof *s->row, row_compare);
}

void gp_lane_store_release(struct gp_lane_store *s)
{
	for (size_t k = 0; k < s->lane_room; k++)
		free(s->part[k]);
	free(s->part);
	free(s->group);
	free(s->row);
	*s = (struct gp_lane_store){ 0 };
}

size_t gp_lane_room(size_t rows)
{
	return (HEADER + rows * GP_LANE_COLUMNS) * GP_VARINT_MAX;
}

const unsigned char *gp_lane_encode(const uint64_t (*row)[GP_LANE_COLUMNS], size_t rows,
				    unsigned char *room, size_t *count)
{
	unsigned char *const columns = room + HEADER * GP_VARINT_MAX, *end = columns;
	uint64_t number[HEADER] = { rows };
	for (unsigned column = 0; column < GP_LANE_COLUMNS; column++) {
		const unsigned char *begin = end;
		for (size_t k = 0; k < rows; k++)
			end = gp_varint_put(end, row[k][column]);
		number[1 + column] = (uint64_t)(end - begin);
	}
	const unsigned char *first = gp_life_header(number, HEADER, columns);
	*count = (size_t)(end - first);
	return first;
}
