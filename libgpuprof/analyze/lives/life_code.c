/* Columns of differences. Sums and differences wrap, so any numbers come back. */
#include "life_code.h"

#include <stdlib.h>
#include <string.h>

#include "../../format/varint.h"

#define HEADER (GP_LIFE_COLUMNS + 2u) /* numbers: lives, columns, 0 */

bool gp_life_is_before(const struct gp_life_row *a, const struct gp_life_row *b)
{
	return a->birth_ns != b->birth_ns ? a->birth_ns < b->birth_ns : a->order < b->order;
}

static int life_compare(const void *left, const void *right)
{
	return gp_life_is_before(left, right) ? -1 : gp_life_is_before(right, left);
}

void gp_life_sort(struct gp_life_row *row, size_t rows)
{
	if (rows > 1)
		qsort(row, rows, sizeof *row, life_compare);
}

size_t gp_life_room(size_t rows)
{
	return HEADER * GP_VARINT_MAX + rows * GP_LIFE_COLUMNS * GP_VARINT_MAX;
}

unsigned char *gp_life_header(const uint64_t *number, unsigned numbers, unsigned char *columns)
{
	unsigned char header[16 * GP_VARINT_MAX], *end = header;
	for (unsigned k = 0; k < numbers; k++)
		end = gp_varint_put(end, number[k]);
	return memcpy(columns - (end - header), header, (size_t)(end - header));
}

/* The number of a column for a life that follows `last`. */
static uint64_t life_number(unsigned column, const struct gp_life_row *row,
			    const struct gp_life_row *last)
{
	switch (column) {
	case 0:
		return row->birth_ns - last->birth_ns;
	case 1:
		return row->span;
	case 2:
		return row->bytes;
	case 3:
		return row->group;
	case 4:
		return gp_zigzag(row->address - last->address);
	default:
		return gp_zigzag(row->order - last->order);
	}
}

const unsigned char *gp_life_encode(const struct gp_life_row *row, size_t rows, unsigned char *room,
				    size_t *count)
{
	static const struct gp_life_row zero;
	unsigned char *const columns = room + HEADER * GP_VARINT_MAX, *end = columns;
	uint64_t number[HEADER] = { rows };
	for (unsigned column = 0; column < GP_LIFE_COLUMNS; column++) {
		const unsigned char *begin = end;
		for (size_t k = 0; k < rows; k++)
			end = gp_varint_put(
				end, life_number(column, &row[k], k > 0 ? &row[k - 1] : &zero));
		number[1 + column] = (uint64_t)(end - begin);
	}
	const unsigned char *first = gp_life_header(number, HEADER, columns);
	*count = (size_t)(end - first);
	return first;
}

bool gp_life_reader_open(struct gp_life_reader *r, const unsigned char *bytes, size_t count)
{
	const unsigned char *end = bytes + count, *at = bytes;
	uint64_t number[HEADER];
	*r = (struct gp_life_reader){ 0 };
	for (unsigned k = 0; k < HEADER; k++) {
		at = gp_varint_get(at, end, &number[k]);
		if (at == NULL)
			return false;
	}
	for (unsigned column = 0; column < GP_LIFE_COLUMNS; column++) {
		if (number[1 + column] > (uint64_t)(end - at))
			return false;
		r->at[column] = at;
		at += number[1 + column];
		r->end[column] = at;
	}
	r->left = number[0];
	return true;
}

bool gp_life_read(struct gp_life_reader *r)
{
	uint64_t number[GP_LIFE_COLUMNS];
	if (r->left == 0)
		return false;
	for (unsigned column = 0; column < GP_LIFE_COLUMNS; column++) {
		r->at[column] = gp_varint_get(r->at[column], r->end[column], &number[column]);
		if (r->at[column] == NULL) {
			r->left = 0;
			return false;
		}
	}
	r->left--;
	r->last.birth_ns += number[0];
	r->last.span = number[1];
	r->last.bytes = number[2];
	r->last.group = (uint32_t)number[3];
	r->last.address += gp_unzigzag(number[4]);
	r->last.order += gp_unzigzag(number[5]);
	return true;
}
