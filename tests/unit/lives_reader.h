/*
 * Reads the blocks of gp_lives_build as gpuprof_lives.h describes them, with no code of the
 * library. Adds up lives at each moment and compares the sums with the curves.
 */
#ifndef LIVES_READER_H
#define LIVES_READER_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "gpuprof.h"

struct read_life {
	uint64_t birth_ns, span, bytes, group, address, order;
};
struct read_point {
	uint64_t at_ns, most, range;
};
struct read_curve {
	size_t points;
	struct read_point *point;
};
struct lives_reader {
	struct gp_lives lives;
	size_t blocks;
	unsigned char *block[4096];
	size_t bytes[4096];
	size_t count;
	struct read_life *life;
	struct read_curve curve[GP_DEVICES * GP_CURVES + 1];
};

static inline enum gp_status keep_block(void *context, const unsigned char *bytes, size_t count,
					size_t *number)
{
	struct lives_reader *r = context;
	*number = r->blocks;
	r->block[r->blocks] = malloc(count);
	memcpy(r->block[r->blocks], bytes, count);
	r->bytes[r->blocks++] = count;
	return GP_OK;
}

static inline uint64_t read_number(const unsigned char **at, const unsigned char *end)
{
	uint64_t number = 0;
	for (unsigned shift = 0;; shift += 7) {
		assert_true(*at < end && shift < 64);
		number |= (uint64_t)(**at & 0x7f) << shift;
		if (*(*at)++ < 0x80)
			return number;
	}
}

static inline uint64_t unsign(uint64_t zigzag)
{
	return zigzag >> 1 ^ (0 - (zigzag & 1));
}

/* Sets `column` and `end` of each column; returns the number of rows. */
static inline uint64_t read_header(const unsigned char *block, size_t bytes, unsigned columns,
				   const unsigned char **column, const unsigned char **end)
{
	uint64_t number[8];
	const unsigned char *at = block, *last = block + bytes;
	const uint64_t rows = read_number(&at, last);
	for (unsigned k = 0; k < columns; k++)
		number[k] = read_number(&at, last);
	for (unsigned k = 0; k < columns; k++) {
		column[k] = at;
		end[k] = at += number[k];
	}
	assert_ptr_equal(at, last);
	return rows;
}

static inline void read_lives(struct lives_reader *r, size_t which)
{
	const unsigned char *at[7], *end[7];
	struct read_life last = { 0 };
	const size_t rows = read_header(r->block[which], r->bytes[which], 7, at, end);
	assert_in_range(rows, 1, GP_LIVES_A_BLOCK);
	r->life = realloc(r->life, (r->count + rows) * sizeof *r->life);
	const uint64_t before = r->count > 0 ? r->life[r->count - 1].birth_ns : 0;
	for (size_t k = 0; k < rows; k++) {
		last.birth_ns += read_number(&at[0], end[0]);
		last.span = read_number(&at[1], end[1]);
		last.bytes = read_number(&at[2], end[2]);
		last.group = read_number(&at[3], end[3]);
		last.address += unsign(read_number(&at[4], end[4]));
		last.order += unsign(read_number(&at[5], end[5]));
		assert_true(last.birth_ns >= before && last.group < r->lives.groups);
		r->life[r->count++] = last;
	}
	for (unsigned k = 0; k < 7; k++)
		assert_ptr_equal(at[k], end[k]);
}

static inline void read_curve(struct lives_reader *r, size_t which)
{
	const unsigned char *at[4], *end[4];
	const struct gp_lives_curve *c = &r->lives.curve[which];
	struct read_point last = { 0 };
	const size_t rows = read_header(r->block[c->data], r->bytes[c->data], 4, at, end);
	assert_int_equal(rows, c->points);
	r->curve[which].point = calloc(rows + 1, sizeof *r->curve[which].point);
	r->curve[which].points = rows;
	for (size_t k = 0; k < rows; k++) {
		last.at_ns += read_number(&at[0], end[0]);
		last.most += unsign(read_number(&at[1], end[1]));
		last.range = read_number(&at[2], end[2]);
		r->curve[which].point[k] = last;
	}
	for (unsigned k = 0; k < 4; k++)
		assert_ptr_equal(at[k], end[k]);
}

static inline void read_all(struct lives_reader *r)
{
	for (size_t k = 0; k < r->lives.blocks; k++)
		read_lives(r, r->lives.block[k]);
	assert_int_equal(r->count, r->lives.count);
	for (size_t k = 0; k < r->lives.curves; k++)
		read_curve(r, k);
}

static inline void lives_read(struct lives_reader *r, struct gp_recording *recording,
			      const struct gp_steps *steps)
{
	memset(r, 0, sizeof *r);
	const struct gp_lives_sink sink = { .write = keep_block, .context = r };
	assert_int_equal(gp_lives_build(recording, steps, &sink, &r->lives), GP_OK);
	size_t capacities = 0;
	for (unsigned k = 0; k < GP_DEVICES; k++)
		capacities += (r->lives.capacity[k].used.points > 0 ? 1u : 0u) +
			      (r->lives.capacity[k].limit.points > 0 ? 1u : 0u);
	assert_int_equal(r->blocks, r->lives.blocks + r->lives.curves + capacities);
	read_all(r);
}

static inline void lives_reader_free(struct lives_reader *r)
{
	for (size_t k = 0; k < r->blocks; k++)
		free(r->block[k]);
	for (size_t k = 0; k < r->lives.curves; k++)
		free(r->curve[k].point);
	free(r->life);
	gp_lives_free(&r->lives);
}

/* ---- sums ---- */

struct change {
	uint64_t at_ns, bytes; /* bytes: wraps */
};

static inline int change_compare(const void *left, const void *right)
{
	const struct change *a = left, *b = right;
	return (a->at_ns > b->at_ns) - (a->at_ns < b->at_ns);
}

static inline bool is_in_curve(unsigned of, enum gp_curve curve)
{
	const unsigned curves[] = {
		[GP_LIVES_OF_BLOCK] = 1u << GP_CURVE_ALLOCATED,
		[GP_LIVES_OF_SEGMENT] = 1u << GP_CURVE_RESERVED | 1u << GP_CURVE_DRIVER,
		[GP_LIVES_OF_DRIVER] = 1u << GP_CURVE_DRIVER,
		[GP_LIVES_OF_PINNED] = 1u << GP_CURVE_PINNED,
		[GP_LIVES_OF_UNMAPPED] = 1u << GP_CURVE_RESERVED,
		[GP_LIVES_OF_PENDING] = 0,
	};
	assert_in_range(of, 0, GP_LIVES_OF_PENDING);
	return (curves[of] >> curve & 1) != 0;
}

/* The changes that lives make in a curve, by time. The caller frees them. */
static inline struct change *changes_of(const struct lives_reader *r, unsigned device,
					enum gp_curve curve, size_t *count)
{
	struct change *change = calloc(2 * r->count + 1, sizeof *change);
	*count = 0;
	for (size_t k = 0; k < r->count; k++) {
		const struct read_life *l = &r->life[k];
		const struct gp_lives_group *g = &r->lives.group[l->group];
		if (g->device != device || !is_in_curve(g->of, curve))
			continue;
		change[(*count)++] = (struct change){ l->birth_ns, l->bytes };
		if (l->span != 0)
			change[(*count)++] =
				(struct change){ l->birth_ns + l->span - 1, 0 - l->bytes };
	}
	qsort(change, *count, sizeof *change, change_compare);
	return change;
}

/* The number of moments at which the sum of lives is not the curve; 0 for whole recordings. */
static inline size_t sum_differences(const struct lives_reader *r, size_t which)
{
	const struct gp_lives_curve *c = &r->lives.curve[which];
	const struct read_curve *curve = &r->curve[which];
	size_t changes, differences = 0;
	struct change *change = changes_of(r, c->device, c->of, &changes);
	uint64_t sum = 0, now = 0;
	for (size_t i = 0, k = 0; i < changes || k < curve->points;) {
		uint64_t at = i < changes ? change[i].at_ns : UINT64_MAX;
		at = k < curve->points && curve->point[k].at_ns < at ? curve->point[k].at_ns : at;
		for (; i < changes && change[i].at_ns == at; i++)
			sum += change[i].bytes;
		for (; k < curve->points && curve->point[k].at_ns == at; k++)
			now = curve->point[k].most;
		differences += sum != now;
	}
	free(change);
	return differences;
}

/* Lives of a device without a curve would be missed by sum_differences. */
static inline void assert_sums(const struct lives_reader *r)
{
	for (size_t k = 0; k < r->lives.curves; k++)
		assert_int_equal(sum_differences(r, k), 0);
	for (size_t k = 0; k < r->count; k++) {
		const struct gp_lives_group *g = &r->lives.group[r->life[k].group];
		size_t curves = 0;
		for (size_t i = 0; i < r->lives.curves; i++)
			curves += r->lives.curve[i].device == g->device &&
				  is_in_curve(g->of, r->lives.curve[i].of);
		assert_int_equal(curves, g->of == GP_LIVES_OF_SEGMENT ? 2 :
					 g->of == GP_LIVES_OF_PENDING ? 0 :
									1);
	}
}

/* ---- curves ---- */

static inline const struct read_curve *find_curve(const struct lives_reader *r, unsigned device,
						  enum gp_curve of)
{
	for (size_t k = 0; k < r->lives.curves; k++)
		if (r->lives.curve[k].device == device && r->lives.curve[k].of == of)
			return &r->curve[k];
	return NULL;
}

static inline uint64_t curve_peak(const struct read_curve *curve)
{
	uint64_t peak = 0;
	for (size_t k = 0; curve != NULL && k < curve->points; k++)
		peak = curve->point[k].most > peak ? curve->point[k].most : peak;
	return peak;
}

#endif
