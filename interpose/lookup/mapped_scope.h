/*
 * The definition that a reference of a caller's object would be bound to without our preload. Two
 * copies of one library in a process each have their own. Reads mapped objects only: no loader, no
 * malloc, no lock but dl_iterate_phdr's.
 * Not covered: a copy of PyTorch that is unloaded and comes back around the same caller, with its
 * original elsewhere, gets the old one. PyTorch's libraries stay loaded.
 */
#ifndef GP_MAPPED_SCOPE_H
#define GP_MAPPED_SCOPE_H

#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>

#include "../../libgpuprof/record/hot.h"

/*
 * The function with one of the names (NULL ends the list, the first found wins) in the objects that
 * the program started with, else in the object around `caller`, else in the libraries that it
 * needs, breadth first. The loader's own order, but for libraries that were opened with
 * RTLD_GLOBAL, or that only the opener of `caller`'s library needs. NULL: not found there. Walks
 * the objects once per needed library.
 */
void *gp_mapped_bound(const void *caller, const char *const *names);

/*
 * The definition of `symbol` behind the object around `after`, among the first `end` objects: what
 * RTLD_NEXT finds there for an object that the program started with. NULL: none.
 */
void *gp_mapped_next(const void *after, unsigned end, const char *symbol);

/* How many objects but ours define the function `symbol`. */
unsigned gp_mapped_count(const char *symbol);

/* Originals found, by the object of the caller. Places are never reused: readers take no lock. */
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

/* Remembers `found` for all of the object around `caller`, while there is a place. */
void gp_original_keep(struct gp_originals *originals, const void *caller, void *found);

#endif
