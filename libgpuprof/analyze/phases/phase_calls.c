/* Calls have reference counts. Births form a list by age, with an index by address. */
#include "phase_calls.h"

#include <stdlib.h>

#include "../../read/tables/array.h"

void gp_phase_calls_release(struct gp_phase_calls *c)
{
	free(c->call);
	free(c->birth);
	gp_row_index_release(&c->index);
	free(c->sum);
	*c = (struct gp_phase_calls){ 0 };
}

/* ---- calls ---- */

uint32_t gp_phase_call_begin(struct gp_phase_calls *c, uint32_t node, uint32_t up)
{
	uint32_t number = c->free_call;
	if (number != 0)
		c->free_call = c->call[number].up;
	else if (gp_array_reach(&c->call, &c->call_room, c->calls + 1, sizeof *c->call))
		number = ++c->calls;
	else
		return 0;
	c->call[number] =
		(struct gp_phase_call){ .node = node, .up = up, .refs = 1, .is_open = true };
	if (up != 0)
		c->call[up].refs++;
	return number;
}

static void drop(struct gp_phase_calls *c, uint32_t number)
{
	while (number != 0 && --c->call[number].refs == 0) {
		uint32_t up = c->call[number].up;
		c->call[number].up = c->free_call;
		c->free_call = number;
		number = up;
	}
}

/* The open call that now holds the allocations of this call; 0: none. */
static uint32_t open_around(const struct gp_phase_calls *c, uint32_t number)
{
	while (number != 0 && !c->call[number].is_open)
		number = c->call[number].up;
	return number;
}

uint64_t gp_phase_call_end(struct gp_phase_calls *c, uint32_t number)
{
	struct gp_phase_call *call = &c->call[number];
	const uint64_t left = call->live_bytes;
	call->is_open = false;
	uint32_t around = open_around(c, number);
	if (around != 0)
		c->call[around].live_bytes += left;
	drop(c, number);
	return left;
}

/* ---- live bytes by number of birth ---- */

static void drop_sums(struct gp_phase_calls *c)
{
	free(c->sum);
	c->sum = NULL;
	c->sums = 0;
}

/* Builds the sums of all live births, with room for as many more. */
static void make_sums(struct gp_phase_calls *c)
{
	drop_sums(c);
	c->sum = c->number < SIZE_MAX / 16 ? calloc(2 * c->number + 1024, sizeof *c->sum) : NULL;
	if (c->sum == NULL)
		return;
	c->sums = 2 * c->number + 1024;
	for (uint32_t k = c->newest; k != 0; k = c->birth[k].before)
		c->sum[c->birth[k].number] = c->birth[k].bytes;
	for (uint64_t k = 1; k < c->sums; k++)
		if (k + (k & -k) < c->sums)
			c->sum[k + (k & -k)] += c->sum[k];
}

/* `bytes` may be a two's complement, to subtract. */
static void add_sum(struct gp_phase_calls *c, uint64_t number, uint64_t bytes)
{
	c->live_bytes += bytes;
	if (c->sum != NULL && number >= c->sums)
		make_sums(c); /* the new sums include it */
	else
		for (uint64_t k = number; k < c->sums; k += k & -k)
			c->sum[k] += bytes;
}

/* ---- births ---- */

static uint32_t birth_hash(uint8_t space, uint64_t address)
{
	return gp_row_hash(address ^ (uint64_t)space << 57);
}

/* The index of the birth; 0: none. */
static uint32_t birth_find(const struct gp_phase_calls *c, uint8_t space, uint64_t address)
{
	uint32_t number;
	for (uint32_t step = 0, hash = birth_hash(space, address);
	     (number = gp_row_index_next(&c->index, hash, &step)) != 0;)
		if (c->birth[number].address == address && c->birth[number].space == space)
			break;
	return number;
}

bool gp_phase_calls_born(struct gp_phase_calls *c, const struct gp_phase_birth *birth)
{
	gp_phase_calls_dead(c, birth->space, birth->address); /* its end was missed */
	if (!gp_row_index_reserve(&c->index, 1))
		return false;
	uint32_t number = c->free_birth;
	if (number != 0)
		c->free_birth = c->birth[number].after;
	else if (gp_array_reach(&c->birth, &c->birth_room, c->births + 1, sizeof *c->birth))
		number = ++c->births;
	else
		return false;
	struct gp_phase_birth *b = &c->birth[number];
	*b = *birth;
	b->number = ++c->number;
	b->before = c->newest;
	b->after = 0;
	if (c->newest != 0)
		c->birth[c->newest].after = number;
	c->newest = number;
	gp_row_index_add(&c->index, birth_hash(b->space, b->address), number);
	add_sum(c, b->number, b->bytes);
	if (b->call != 0) {
		c->call[b->call].refs++;
		c->call[b->call].live_bytes += b->bytes;
	}
	return true;
}

void gp_phase_calls_dead(struct gp_phase_calls *c, uint8_t space, uint64_t address)
{
	const uint32_t number = birth_find(c, space, address);
	if (number == 0)
		return;
	struct gp_phase_birth *b = &c->birth[number];
	gp_row_index_drop(&c->index, birth_hash(space, address), number);
	add_sum(c, b->number, -b->bytes);
	const uint32_t holder = open_around(c, b->call);
	if (holder != 0)
		c->call[holder].live_bytes -= b->bytes;
	if (b->call != 0)
		drop(c, b->call);
	if (b->before != 0)
		c->birth[b->before].after = b->after;
	if (b->after != 0)
		c->birth[b->after].before = b->before;
	else
		c->newest = b->before;
	b->after = c->free_birth;
	c->free_birth = number;
}

uint64_t gp_phase_calls_born_since(struct gp_phase_calls *c, uint64_t number)
{
	uint64_t bytes = c->live_bytes;
	if (c->sum == NULL)
		make_sums(c);
	if (c->sum != NULL) {
		for (uint64_t k = number; k != 0; k &= k - 1)
			bytes -= c->sum[k];
		return bytes;
	}
	bytes = 0;
	for (uint32_t k = c->newest; k != 0 && c->birth[k].number > number; k = c->birth[k].before)
		bytes += c->birth[k].bytes;
	return bytes;
}
