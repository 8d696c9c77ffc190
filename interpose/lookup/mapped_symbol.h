/*
 * Finds a function in an object that is already mapped, by reading the object's own hash table in
 * memory. For places where the loader must not be entered (DESIGN 3.8): no dlopen, no dlsym, no
 * malloc, no file.
 */
#ifndef GP_MAPPED_SYMBOL_H
#define GP_MAPPED_SYMBOL_H

#include <link.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * The address of the function `symbol` in the first mapped object that defines it and whose file
 * name (without its directory) starts with `prefix`. `prefix` NULL: any object. Our own object is
 * skipped; NULL: none. `path` (may be NULL) receives the file name of that object, or "" if it does
 * not fit or has no name. Walks the objects with dl_iterate_phdr, so call it once and keep the
 * result. Keeps errno.
 */
void *gp_mapped_symbol(const char *prefix, const char *symbol, char *path, size_t path_bytes);

/* The same for a data symbol; `bytes` receives its size. */
void *gp_mapped_data(const char *prefix, const char *symbol, size_t *bytes);

/* The same for a function or a data symbol of any object. */
void *gp_mapped_any(const char *symbol);

enum gp_mapped_part {
	GP_MAPPED_ANY,
	GP_MAPPED_CODE,
	/*
	 * read-only: from the start, or since relocation; all of an object that was linked without
	 * such a part
	 */
	GP_MAPPED_CONSTANT,
};

/* Whether all of [at, at + bytes) lies in that part of the object around `anchor`. */
bool gp_mapped_is_part(const void *anchor, enum gp_mapped_part part, const void *at, size_t bytes);

/*
 * libc's dl_iterate_phdr, with forks held up (fork_gate.h). The resolvers need an answer, so they
 * walk after 50 ms anyway. Works before the constructors of other libraries have run.
 */
int gp_mapped_walk(int (*look)(struct dl_phdr_info *, size_t, void *), void *context);

#endif
