/* Finds the bounds, page by page. */
#include "native_bounds.h"

#include <errno.h>
#include <pthread.h>
#include <stddef.h>
#include <sys/auxv.h>
#include <sys/syscall.h>
#include <unistd.h>

/*
 * A little more than the stacks of real systems: threads of 64 MiB exist, main threads of 256 MiB
 * too.
 */
#define PAGES_MOST 65536u
#define PAGE ((uintptr_t)4096) /* the smallest page size: larger pages are tested more than once */

bool gp_native_is_readable(uintptr_t at)
{
	/*
	 * The kernel reads the new mask before it checks `how`. EFAULT: it cannot be read; EINVAL:
	 * it can; neither changes the mask. A null pointer would request the old mask.
	 */
	int error = errno;
	at &= ~(PAGE - 1);
	bool is_readable = at != 0 &&
			   syscall(SYS_rt_sigprocmask, ~0, at, NULL, sizeof(uint64_t)) == -1 &&
			   errno == EINVAL;
	errno = error;
	return is_readable;
}

#if defined(__SANITIZE_ADDRESS__)
__attribute__((no_sanitize("address"), noinline)) uint64_t gp_native_word(uintptr_t at)
{
	return *(const volatile uint64_t *)at;
}
#endif

/* The first page at or above `from` that cannot be read; at most `to`. */
static uintptr_t readable_until(uintptr_t from, uintptr_t to)
{
	uintptr_t page = from & ~(PAGE - 1);
	for (unsigned n = 0; page < to && n < PAGES_MOST; n++, page += PAGE)
		if (!gp_native_is_readable(page))
			return page;
	return page < to ? page : to;
}

static bool take_own(struct gp_native_bounds *b, uintptr_t sp, uintptr_t high)
{
	if (high <= sp || high - sp > PAGES_MOST * PAGE)
		return false;
	uintptr_t end = readable_until(sp, high);
	if (end < high) {
		b->foreign_low = sp & ~(PAGE - 1);
		b->foreign_high = end;
		return false;
	}
	b->low = sp & ~(PAGE - 1);
	b->high = high;
	return true;
}

/* The descriptor of the thread that the program began with; 0: constructors are still running. */
static uintptr_t first_descriptor;

__attribute__((constructor)) static void note_first_thread(void)
{
	first_descriptor = (uintptr_t)pthread_self();
}

bool gp_native_is_first_thread(void)
{
	return first_descriptor ? (uintptr_t)pthread_self() == first_descriptor :
				  syscall(SYS_gettid) == getpid();
}

bool gp_native_bounds_find(struct gp_native_bounds *b, uintptr_t sp)
{
	if (gp_native_bounds_hold(b, sp))
		return true;
	if (sp - b->foreign_low < b->foreign_high - b->foreign_low)
		return false;
	if (b->high) { /* deeper than before, or another stack */
		if (sp > b->low || b->low - sp > PAGES_MOST * PAGE)
			return false;
		uintptr_t end = readable_until(sp, b->low);
		if (end == b->low) {
			b->low = sp & ~(PAGE - 1);
			return true;
		}
		b->foreign_low = sp & ~(PAGE - 1);
		b->foreign_high = end;
		return false;
	}
	/*
	 * The last word of a stack must be readable as a whole. A forked child's main thread has
	 * the stack of the thread that forked. The first thread's descriptor is not on its stack,
	 * because a handler's stack may lie just below it.
	 */
	if (gp_native_is_first_thread())
		return take_own(b, sp, (uintptr_t)getauxval(AT_RANDOM) & ~(uintptr_t)15);
	return take_own(b, sp, (uintptr_t)pthread_self() & ~(uintptr_t)15);
}

GP_COLD bool gp_native_look(struct gp_native_reach *r, uintptr_t at)
{
	r->has_left = true;
	if (at % 8 || at < 4096)
		return false;
	if (gp_native_bounds_find(r->bounds, at)) {
		r->low = at;
		r->high = r->bounds->high;
		return true;
	}
	if (!gp_native_is_readable(at))
		return false;
	r->low = at & ~(uintptr_t)4095;
	r->high = r->low + 4096;
	return true;
}
