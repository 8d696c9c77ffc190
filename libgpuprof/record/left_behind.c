/*
 * A thread enters a wrapper while it is inside another one: decides whether the outer call still
 * runs. It runs if its frame lives. The evidence is the thread's own stack and the return address
 * that the frame began with. If neither decides, the outer call counts as running, so that a slot
 * that it may have reserved is never taken twice. No malloc, no lock, does not read /proc. Keeps
 * errno.
 */
#include <errno.h>
#include <signal.h>
#include <ucontext.h>

#include "native/native_bounds.h"
#include "record.h"
#include "recorder.h"
#include "stacks/stack_take.h"

#define ADDRESS_MASK ((UINT64_C(1) << GP_HERE_BITS) - 1)

struct entry {
	uintptr_t at; /* address of its return address */
	uint64_t mark;
	bool is_own; /* it is on the thread's own stack */
};

static struct entry entry_of(uint64_t here)
{
	const uintptr_t at = here & ADDRESS_MASK;
	return (struct entry){ at, here >> GP_HERE_BITS,
			       gp_native_bounds_find(&gp_thread.bounds, at) };
}

static bool is_on_alternate_stack(void)
{
	const int error = errno;
	stack_t stack = { .ss_flags = 0 };
	const bool is_on = sigaltstack(NULL, &stack) == 0 && stack.ss_flags & SS_ONSTACK;
	errno = error;
	return is_on;
}

/* Calls after a jump overwrite a return address; calls by a living frame do not. */
static bool has_return_address(const struct entry *e)
{
	return (e->is_own || gp_native_is_readable(e->at)) &&
	       (uint16_t)gp_native_word(e->at) == e->mark;
}

/*
 * An inner entry lies below the outer one, or on another stack: a handler's, a coroutine's. From
 * another stack only a jump leads back to the thread's own.
 */
static bool is_running(const struct entry *outer, const struct entry *inner)
{
	if (outer->at == inner->at || (inner->is_own && !outer->is_own) ||
	    !has_return_address(outer))
		return false;
	/* an alternate stack may be a part of the thread's own: an array in one of its frames */
	return outer->at > inner->at || !inner->is_own || is_on_alternate_stack();
}

#define GREG(number) (offsetof(ucontext_t, uc_mcontext.gregs) + 8 * (size_t)(number))
/* cs 0x33, gs 0, fs 0, ss 0x2b: the code and stack segments of each 64-bit program */
#define SEGMENTS UINT64_C(0x002b000000000033)
#define STACK_MOST (UINT64_C(256) << 20) /* how far below the outer entry an interruption may be */

/*
 * True if a signal interrupted the outer call. The kernel then stored its registers between both
 * entries. Remains of a finished handler look the same; then one loss too many is counted.
 */
static bool is_handler(const struct entry *outer, const struct entry *inner)
{
	if (!outer->is_own || !inner->is_own || outer->at < inner->at)
		return true;
	const uintptr_t back = GREG(REG_CSGSFS) - GREG(REG_RSP);
	for (uintptr_t at = inner->at + back; at < outer->at; at += 8) {
		const uintptr_t interrupted = gp_native_word(at - back);
		if (gp_native_word(at) == SEGMENTS && outer->at - interrupted < STACK_MOST)
			return true;
	}
	return false;
}

bool gp_was_left_behind(uint64_t here)
{
	struct gp_thread *t = &gp_thread;
	if (t->is_drain)
		return false;
	/* the outer one first: a handler's stack must not be taken for the thread's own */
	const struct entry outer = entry_of(t->inside), inner = entry_of(here);
	const bool is_left = !is_running(&outer, &inner);
	/*
	 * counts as memory, since it may be, so that figures do not look complete. Word 0: a forked
	 * child, which has no ring yet
	 */
	if ((is_left || is_handler(&outer, &inner)) && t->ring &&
	    t->generation == gp_recorder.generation && atomic_load(&gp_local->word) != 0)
		gp_count_lost(GP_ALLOC);
	if (!is_left)
		return false;
	t->inside = 0;
	t->limit = 0;
	gp_thread_refuse_ring(t);
	gp_stack_thread_left(t);
	return true;
}
