/* Columns grow by a number each; where parts become longer, they are read and written again. */
#include "curve_points.h"

#include <stdlib.h>
#include <string.h>

#include "../../format/varint.h"
#include "../../read/tables/array.h"
#include "life_code.h"

#define BITS 64u

static void column_put(struct gp_curve_points *c, unsigned which, uint64_t number)
{
	struct gp_curve_column *column = &c->column[which];
	if (!gp_array_reserve(&column->bytes, &column->room, column->count, GP_VARINT_MAX, 1)) {
		c->is_out_of_memory = true;
		return;
	}
	column->count =
		(size_t)(gp_varint_put(column->bytes + column->count, number) - column->bytes);
}

/* Encodes the last point. */
static void curve_flush(struct gp_curve_points *c)
{
	if (!c->has_last)
		return;
	column_put(c, GP_POINT_TIME, c->last.at_ns - c->before.at_ns);
	column_put(c, GP_POINT_MOST, gp_zigzag(c->last.most - c->before.most));
	column_put(c, GP_POINT_RANGE, c->last.most - c->last.fewest);
	c->before = c->last;
	c->has_last = false;
	c->points++;
}

static void curve_append(struct gp_curve_points *c, const struct gp_curve_point *p)
{
	const bool is_one =
		c->bits > 0 && c->has_last && p->at_ns >> c->bits == c->last.at_ns >> c->bits;
	if (!is_one) {
		curve_flush(c);
		c->last = *p;
		c->has_last = true;
		return;
	}
	c->last.most = p->most > c->last.most ? p->most : c->last.most;
	c->last.fewest = p->fewest < c->last.fewest ? p->fewest : c->last.fewest;
}

/* Reads the points of columns one by one. */
struct curve_reader {
	const unsigned char *at[GP_POINT_COLUMNS];
	uint64_t left;
	struct gp_curve_point last;
};

static bool curve_read(struct curve_reader *r)
{
	uint64_t number[GP_POINT_COLUMNS];
	if (r->left == 0)
		return false;
	for (unsigned k = 0; k < GP_POINT_COLUMNS; k++)
		r->at[k] = gp_varint_get(r->at[k], r->at[k] + GP_VARINT_MAX, &number[k]);
	r->left--;
	r->last.at_ns += number[GP_POINT_TIME];
	r->last.most += gp_unzigzag(number[GP_POINT_MOST]);
	r->last.fewest = r->last.most - number[GP_POINT_RANGE];
	return true;
}

static struct curve_reader curve_reader(const struct gp_curve_points *c)
{
	return (struct curve_reader){ .at = { c->column[0].bytes, c->column[1].bytes,
					      c->column[2].bytes },
				      .left = c->points };
}

/* The shortest parts of time that leave half of the points. */
static unsigned bits_find(const struct gp_curve_points *c)
{
	uint64_t unlike[BITS + 1] = { 0 }, before = 0; /* points by the highest bit that differs */
	for (struct curve_reader r = curve_reader(c); curve_read(&r); before = r.last.at_ns) {
		const uint64_t bits = r.last.at_ns ^ before;
		unlike[bits != 0 ? BITS - (unsigned)__builtin_clzll(bits) : 0]++;
	}
	uint64_t left = c->points - unlike[0];
	unsigned bits = 1;
	for (; bits <= c->bits || (left - unlike[bits] > c->most / 2 && bits < BITS - 1); bits++)
		left -= unlike[bits];
	return bits;
}

/* Writes all points again as longer parts. */
static void curve_shorten(struct gp_curve_points *c)
{
	struct gp_curve_points to = { .most = c->most, .now = c->now, .bits = bits_find(c) };
	for (struct curve_reader r = curve_reader(c); curve_read(&r) && !to.is_out_of_memory;)
		curve_append(&to, &r.last);
	if (c->has_last)
		curve_append(&to, &c->last);
	gp_points_release(c);
	*c = to;
}

void gp_points_add(struct gp_curve_points *c, uint64_t at_ns, uint64_t bytes)
{
	if (bytes == c->now || c->is_out_of_memory)
		return;
	c->now = bytes;
	curve_append(c, &(struct gp_curve_point){ at_ns, bytes, bytes });
	if (c->points >= c->most)
		curve_shorten(c);
}

unsigned char *gp_points_finish(struct gp_curve_points *c, size_t *count)
{
	curve_flush(c);
	const uint64_t number[] = { c->points, c->column[0].count, c->column[1].count,
				    c->column[2].count, 0 };
	const size_t header = sizeof number / sizeof *number * GP_VARINT_MAX;
	unsigned char *block = !c->is_out_of_memory ?
				       malloc(header + c->column[0].count + c->column[1].count +
					      c->column[2].count) :
				       NULL;
	if (block == NULL)
		return NULL;
	unsigned char *end = block + header;
	for (unsigned k = 0; k < GP_POINT_COLUMNS; k++) {
		if (c->column[k].count > 0)
			memcpy(end, c->column[k].bytes, c->column[k].count);
		end += c->column[k].count;
	}
	const unsigned char *first = gp_life_header(number, GP_POINT_COLUMNS + 2, block + header);
	*count = (size_t)(end - first);
	return memmove(block, first, *count);
}

void gp_points_release(struct gp_curve_points *c)
{
	for (unsigned k = 0; k < GP_POINT_COLUMNS; k++)
		free(c->column[k].bytes);
	*c = (struct gp_curve_points){ .most = c->most };
}
