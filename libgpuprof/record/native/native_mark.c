/*
 * Finds which frames of a native stack contain given stack addresses. Reads the walk's notes, not
 * the stack.
 */
#include <stddef.h>

#include "../hot.h"
#include "native_memo.h"
#include "native_walk.h"

/*
 * Frame k contains the addresses between its callee's return address and its own, which `end`
 * includes.
 */
GP_HOT uintptr_t frame_end(const struct gp_native_entry *e, unsigned k)
{
	return e->sp + 8u * e->at[k + 1];
}

GP_HOT bool is_in_frame(const struct gp_native_entry *e, unsigned k, uintptr_t address)
{
	return address < frame_end(e, k) && address >= (k ? frame_end(e, k - 1) + 8 : e->sp);
}

/* True if each marked frame contains the next address, with as many marks as addresses. */
static bool is_confirmed(const struct gp_native_entry *e, const void *const *address,
			 unsigned addresses, uint64_t marks)
{
	for (unsigned i = 0; i < addresses; i++) {
		if (!marks)
			return false;
		const unsigned k = (unsigned)__builtin_ctzll(marks);
		if (!is_in_frame(e, k, (uintptr_t)address[i]))
			return false;
		marks &= marks - 1;
	}
	return marks == 0;
}

bool gp_native_stack_is_up_to(const struct gp_native_stack *stack, const void *up_to)
{
	const struct gp_native_entry *e =
		(const void *)((const char *)stack - offsetof(struct gp_native_entry, stack));
	if (stack->end == GP_NATIVE_UP_TO)
		return up_to && is_in_frame(e, stack->depth - 2u, (uintptr_t)up_to);
	/* with an end inside, a walk would have ended earlier, in a frame with a known end */
	return !up_to || stack->depth < 2 || (uintptr_t)up_to >= frame_end(e, stack->depth - 2u);
}

GP_HOT_TEXT bool gp_native_stack_mark(const struct gp_native_stack *stack,
				      const void *const *address, unsigned addresses,
				      uint64_t known, uint64_t *marks)
{
	const struct gp_native_entry *e =
		(const void *)((const char *)stack - offsetof(struct gp_native_entry, stack));
	*marks = known;
	if (known && is_confirmed(e, address, addresses, known))
		return true;
	*marks = 0;
	unsigned k = 0;
	uintptr_t before = e->sp - 1;
	for (unsigned i = 0; i < addresses; before = (uintptr_t)address[i++]) {
		const uintptr_t at = (uintptr_t)address[i];
		if (at <= before)
			return false;
		const uintptr_t words = (at - e->sp) / 8;
		while (k + 1u < stack->depth && words >= e->at[k + 1])
			k++;
		if (k + 1u >= stack->depth)
			break;
		if (!is_in_frame(e, k, at) || *marks >> k & 1)
			return false;
		*marks |= UINT64_C(1) << k;
	}
	return true;
}
