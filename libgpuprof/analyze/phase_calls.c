/* Calls are counted by who knows their number; births stand in a list by age, and in an index. */
#include "phase_calls.h"

#include <stdlib.h>
#include <string.h>

#include "../format/seeded_hash.h"

void gp_phase_calls_release(struct gp_phase_calls *c)
{
	free(c->call);
	free(c->birth);
	free(c->place);
	free(c->sum);
	*c = (struct gp_phase_calls){ 0 };
}

/* ---- calls ---- */

uint32_t gp_phase_call_begin(struct gp_phase_calls *c, uint32_t node, uint32_t up)
{
	uint32_t number = c->free_call;
	if (number != 0) {
		c->free_call = c->call[number].up;
	} else {
		if (c->calls + 1 >= c->call_room) {
			uint32_t room = c->call_room ? c->call_room * 2 : 256;
			struct gp_phase_call *grown = realloc(c->call, room * sizeof *grown);
			if (grown == NULL)
				return 0;
			c->call = grown;
			c->call_room = room;
		}
		number = ++c->calls;
	}
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

/* Who has by now what was allocated in it; 0: nobody. */
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

/* Of all that is live, with room for as many births more. */
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

/* `bytes` as a two's complement: what dies is taken away. */
static void add_sum(struct gp_phase_calls *c, uint64_t number, uint64_t bytes)
{
	c->live_bytes += bytes;
	if (c->sum != NULL && number >= c->sums)
		make_sums(c); /* it is in there */
	else
		for (uint64_t k = number; k < c->sums; k += k & -k)
			c->sum[k] += bytes;
}

/* ---- births ---- */

static uint64_t hash_of(uint8_t space, uint64_t address)
{
	return gp_hash_number(address ^ (uint64_t)space << 57);
}

static uint32_t *find(const struct gp_phase_calls *c, uint8_t space, uint64_t address)
{
	for (uint64_t at = hash_of(space, address);; at++) {
		uint32_t *place = &c->place[at & (c->places - 1)];
		const struct gp_phase_birth *b = &c->birth[*place];
		if (*place == 0 || (b->address == address && b->space == space))
			return place;
	}
}

static bool grow(struct gp_phase_calls *c)
{
	uint32_t places = c->places ? c->places * 2 : 1024;
	struct gp_phase_birth *birth = realloc(c->birth, (places / 2 + 1) * sizeof *birth);
	if (birth == NULL)
		return false;
	if (c->birth == NULL)
		memset(birth, 0, sizeof *birth);
	c->birth = birth;
	uint32_t *place = calloc(places, sizeof *place);
	if (place == NULL)
		return false;
	free(c->place);
	c->place = place;
	c->places = places;
	c->birth_room = places / 2;
	for (uint32_t k = c->newest; k != 0; k = c->birth[k].before)
		*find(c, c->birth[k].space, c->birth[k].address) = k;
	return true;
}

bool gp_phase_calls_born(struct gp_phase_calls *c, const struct gp_phase_birth *birth)
{
	gp_phase_calls_dead(c, birth->space, birth->address); /* its end was not seen */
	if (c->live == c->birth_room && !grow(c))
		return false;
	uint32_t number = c->free_birth;
	if (number != 0)
		c->free_birth = c->birth[number].after;
	else
		number = ++c->births;
	struct gp_phase_birth *b = &c->birth[number];
	*b = *birth;
	b->number = ++c->number;
	b->before = c->newest;
	b->after = 0;
	if (c->newest != 0)
		c->birth[c->newest].after = number;
	c->newest = number;
	c->live++;
	*find(c, b->space, b->address) = number;
	add_sum(c, b->number, b->bytes);
	if (b->call != 0) {
		c->call[b->call].refs++;
		c->call[b->call].live_bytes += b->bytes;
	}
	return true;
}

/* Those behind it in the index move up, so that a search never meets a hole. */
static void take_out(struct gp_phase_calls *c, uint32_t *place)
{
	const uint32_t mask = c->places - 1;
	uint32_t hole = (uint32_t)(place - c->place), at = hole;
	for (;;) {
		at = (at + 1) & mask;
		if (c->place[at] == 0)
			break;
		const struct gp_phase_birth *b = &c->birth[c->place[at]];
		uint32_t home = (uint32_t)hash_of(b->space, b->address) & mask;
		if (((at - home) & mask) < ((at - hole) & mask))
			continue;
		c->place[hole] = c->place[at];
		hole = at;
	}
	c->place[hole] = 0;
}

void gp_phase_calls_dead(struct gp_phase_calls *c, uint8_t space, uint64_t address)
{
	uint32_t *place = c->places ? find(c, space, address) : NULL;
	if (place == NULL || *place == 0)
		return;
	const uint32_t number = *place;
	struct gp_phase_birth *b = &c->birth[number];
	take_out(c, place);
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
	c->live--;
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
