/*
 * A new stack is mostly equal to the previous one except for its inner frames. From the frame where
 * both meet, the walk reuses the frames of the previous walk without looking up rules.
 *
 * Why the rules would give the same result: a frame's return address selects its rule. Its stack
 * pointer and the noted words decide where the rule leads. So if this walk is at a frame of the
 * previous one, and each word read from there on is unchanged, both end alike. Each saved return
 * address is compared in place, as are all noted words. A frame is not reused if its rule needs a
 * frame pointer that was saved further inward: those words may differ.
 */
#ifndef GP_NATIVE_FOLLOW_H
#define GP_NATIVE_FOLLOW_H

#include "../hot.h"
#include "native_bounds.h"
#include "native_memo.h"

/* Where a walk may meet the previous one. */
struct gp_native_meeting {
	const struct gp_native_walked *last;
	unsigned frame; /* its frame; frames inward of it are no longer valid */
	uintptr_t sp;	/* that frame's stack pointer; UINTPTR_MAX: they cannot meet */
};

/* The stack pointer of a frame that a rule led to. */
GP_HOT uintptr_t gp_native_sp_of(const struct gp_native_entry *entry, unsigned frame)
{
	return entry->sp + 8u * entry->at[frame] + 8;
}

/* [start, end) is the thread's own stack from the start of this walk. */
GP_HOT void gp_native_meeting_expect(struct gp_native_meeting *m,
				     const struct gp_native_walked *last, uintptr_t start,
				     uintptr_t end)
{
	const struct gp_native_entry *e = &last->entry;
	const uintptr_t nearest = start > e->sp ? (start - e->sp) / 8 : 0;
	unsigned k = e->stack.depth;
	*m = (struct gp_native_meeting){ last, k, UINTPTR_MAX };
	if (k <= last->steady_from || e->sp >= end || gp_native_sp_of(e, k - 1) > end)
		return;
	while (k > last->steady_from && e->at[k - 1] >= nearest &&
	       gp_native_word_above(e->sp, e->at[k - 1]) == e->stack.pc[k - 1])
		k--;
	for (unsigned i = last->words; i-- > 0 && last->word[i].by >= k;) {
		const uintptr_t at = e->sp + last->word[i].at;
		if (at < gp_native_sp_of(e, k) || gp_native_word(at) != last->word[i].value)
			k = last->word[i].by + 1;
	}
	if (last->frame_from && last->frame_by >= k && last->frame_from < gp_native_sp_of(e, k))
		k = last->frame_by + 1;
	if (k < e->stack.depth)
		*m = (struct gp_native_meeting){ last, k, gp_native_sp_of(e, k) };
}

/*
 * True if all words that this frame and the outer ones needed are there or further outward. A walk
 * that passed the expected meeting place came by other frames, whatever remains of the old ones.
 */
GP_HOT bool gp_native_meeting_is_steady(const struct gp_native_walked *last, unsigned frame)
{
	const struct gp_native_entry *e = &last->entry;
	const uintptr_t sp = gp_native_sp_of(e, frame);
	for (unsigned i = last->words; i-- > 0 && last->word[i].by >= frame;)
		if (e->sp + last->word[i].at < sp)
			return false;
	return !last->frame_from || last->frame_by < frame || last->frame_from >= sp;
}

/*
 * For a walk at or past that place: true if they meet here and all following frames have room. If
 * not, they may meet further on.
 */
GP_HOT bool gp_native_meeting_is_at(struct gp_native_meeting *m, uintptr_t pc, uintptr_t sp,
				    unsigned room)
{
	const struct gp_native_entry *e = &m->last->entry;
	for (; m->frame < e->stack.depth; m->frame++) {
		m->sp = gp_native_sp_of(e, m->frame);
		if (m->sp > sp)
			return false;
		if (m->sp == sp && e->stack.pc[m->frame] == pc &&
		    e->stack.depth - m->frame - 1u <= room &&
		    gp_native_meeting_is_steady(m->last, m->frame))
			return true;
	}
	m->sp = UINTPTR_MAX;
	return false;
}

/* Adds these frames to the existing `depth`, and to the sum. Returns how many were added. */
GP_HOT unsigned gp_native_meeting_follow(const struct gp_native_meeting *m,
					 struct gp_native_entry *to, unsigned depth, uint64_t *sum)
{
	const struct gp_native_entry *from = &m->last->entry;
	const unsigned first = m->frame + 1, frames = from->stack.depth - first;
	const uint16_t nearer = (uint16_t)((from->sp - to->sp) / 8);
	uint64_t pcs = *sum;
	for (unsigned k = 0; k < frames; k++) {
		const uintptr_t pc = from->stack.pc[first + k];
		pcs = gp_native_sum(pcs, pc);
		to->stack.pc[depth + k] = pc;
		to->at[depth + k] = (uint16_t)(from->at[first + k] + nearer);
	}
	*sum = pcs;
	return frames;
}

#endif
