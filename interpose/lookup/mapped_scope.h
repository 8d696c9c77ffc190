/*
 * The definition to which the loader would bind a reference of the caller's object without our
 * preload. If a process has two copies of a library, each uses its own. Reads only mapped objects:
 * no loader, no malloc, no lock except dl_iterate_phdr's. Not covered: a copy of PyTorch that is
 * unloaded and loaded again around the same caller, with its original elsewhere. It gets the old
 * one. PyTorch's libraries stay loaded.
 */
#ifndef GP_MAPPED_SCOPE_H
#define GP_MAPPED_SCOPE_H

#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>

#include "../../libgpuprof/record/hot.h"

/*
 * The function with one of the names; NULL ends the list, and the first match counts. Searches the
 * objects that the program started with, then the object around `caller`, then the libraries that
 * it needs, breadth first. This is the loader's order, except for libraries opened with
 * RTLD_GLOBAL, or needed only by the opener of `caller`'s library. NULL: not found. Walks the
 * objects once for each needed library.
 */
void *gp_mapped_bound(const void *caller, const char *const *names);

/*
 * The definition of `symbol` after the object around `after`, among the first `end` objects.
 * RTLD_NEXT has this result for an object that the program started with. NULL: none.
 */
void *gp_mapped_next(const void *after, unsigned end, const char *symbol);

/* Number of objects that define the function `symbol`, except ours. */
unsigned gp_mapped_count(const char *symbol);

/*
 * Originals that were found, by the object of the caller. Places are never reused, so readers take
 * no lock.
 */
#define GP_ORIGINALS 32u
struct gp_originals {
	struct {
		uintptr_t from;
		_Atomic uintptr_t bytes; /* 0: free; stored last, with release */
		void *found;
	} of[GP_ORIGINALS];
	_Atomic uint32_t claimed;
};

GP_HOT void *gp_original_known(const struct gp_originals *originals, const void *caller)
{
	for (unsigned i = 0; i < GP_ORIGINALS; i++) {
		/* partner: the release store in gp_original_keep */
		uintptr_t bytes =
			atomic_load_explicit(&originals->of[i].bytes, memory_order_acquire);
		if (bytes == 0)
			return NULL;
		if ((uintptr_t)caller - originals->of[i].from < bytes)
			return originals->of[i].found;
	}
	return NULL;
}

/* Stores `found` for all of the object around `caller`, if a place is free. */
void gp_original_keep(struct gp_originals *originals, const void *caller, void *found);

#endif
