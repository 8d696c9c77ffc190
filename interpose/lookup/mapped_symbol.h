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
 * The address of the function `symbol` as the first mapped object defines it whose file name
 * (without its directory) starts with `prefix`; any object when `prefix` is NULL. Our own object
 * is never an answer, NULL when there is none. `path` (may be NULL) receives the file name of that
 * object, "" when it does not fit or has none. Walks the objects with dl_iterate_phdr: call it
 * once and keep the answer. Keeps errno.
 */
void *gp_mapped_symbol(const char *prefix, const char *symbol, char *path, size_t path_bytes);

/* The same for a data symbol; `bytes` receives its size. */
void *gp_mapped_data(const char *prefix, const char *symbol, size_t *bytes);

/* The same for a function or a data symbol of any object. */
void *gp_mapped_any(const char *symbol);

enum gp_mapped_part {
	GP_MAPPED_ANY,
	GP_MAPPED_CODE,
	/* cannot be written: never could, or not since it was relocated; anything in an object that
	 * was linked without such a part */
	GP_MAPPED_CONSTANT,
};

/* Whether all of [at, at + bytes) lies in that part of the object that `anchor` lies in. */
bool gp_mapped_is_part(const void *anchor, enum gp_mapped_part part, const void *at, size_t bytes);

/*
 * libc's dl_iterate_phdr, with forks held up (fork_gate.h); for the resolvers, which need an answer
 * and so walk all the same after 50 ms. Works before the constructors of other libraries have run.
 */
int gp_mapped_walk(int (*look)(struct dl_phdr_info *, size_t, void *), void *context);

#endif
