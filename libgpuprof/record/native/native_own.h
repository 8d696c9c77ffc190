/*
 * Remembers how our own frames were left, from the recording function to its caller. They are the
 * same few frames of fixed sizes each time, so their return addresses are compared in place.
 */
#ifndef GP_NATIVE_OWN_H
#define GP_NATIVE_OWN_H

#include "../hot.h"
#include "native_bounds.h"
#include "native_memo.h"

#define GP_NATIVE_OWN_MOST 4u /* own frames between a caller and the walk, each of a fixed size */
#define GP_NATIVE_OWN_WAYS 4u

struct gp_native_text {
	uintptr_t from, bytes;
};

/* Words that were read, in bytes from the frame address. */
struct gp_native_own_way {
	uintptr_t pc[GP_NATIVE_OWN_MOST];
	uint16_t pc_at[GP_NATIVE_OWN_MOST + 1]; /* the last one: the caller's */
	uint16_t frame_at;			/* of the caller's frame pointer */
	uint16_t frames;			/* 0: unknown */
};

GP_HOT bool gp_native_is_in(const struct gp_native_text *text, uintptr_t pc)
{
	return pc - text->from < text->bytes;
}

/* The way, of GP_NATIVE_OWN_WAYS, that begins there. */
GP_HOT struct gp_native_own_way *gp_native_own_way_of(struct gp_native_own_way *ways, uintptr_t pc)
{
	return &ways[pc / 16 % GP_NATIVE_OWN_WAYS];
}

/* The caller's start, if a remembered way out of own frames matches. */
GP_HOT bool gp_native_own_leave(struct gp_native_own_way *ways, const struct gp_native_text *own,
				uintptr_t frame, struct gp_native_start *start)
{
	start->pc = gp_native_word(frame + 8);
	start->sp = frame + 16;
	start->frame = gp_native_word(frame);
	if (!gp_native_is_in(own, start->pc))
		return true;
	const struct gp_native_own_way *way = gp_native_own_way_of(ways, start->pc);
	unsigned k = 0;
	/* one after the other: memory beyond the last frame must not be read */
	while (k < way->frames && gp_native_word(frame + way->pc_at[k]) == way->pc[k])
		k++;
	if (gp_unlikely(k == 0 || k < way->frames))
		return false;
	const uintptr_t at = frame + way->pc_at[k];
	const uintptr_t pc = gp_native_word(at);
	if (gp_unlikely(gp_native_is_in(own, pc)))
		return false; /* this way is longer */
	start->pc = pc;
	start->sp = at + 8;
	start->frame = gp_native_word(frame + way->frame_at);
	return true;
}

#endif
