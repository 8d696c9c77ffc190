/*
 * Finds the real driver: its functions, and the wrapper for each of their addresses. Fills gp_cuda.
 * Reads the tables of mapped objects. It does not enter the loader, calls no driver function and
 * takes no lock except dl_iterate_phdr's. So wrappers may resolve at any moment.
 */
#ifndef GP_RESOLVER_H
#define GP_RESOLVER_H

#include <stdbool.h>
#include <stdint.h>

#include "../driver/real_driver.h"

/*
 * True: libcuda.so.1, or an interposer in its place, is mapped and gp_cuda is filled. Cheap once it
 * was true; before that, each call walks the mapped objects. Keeps errno.
 */
bool gp_resolve(void);
bool gp_is_resolved(void);

/*
 * Fills in the pointer in gp_cuda for a wrapper that finds it NULL. False: the driver lacks
 * this function. With GPUPROF=off, it fills in only this pointer.
 */
bool gp_resolve_call(const char *symbol, void **real);

/*
 * Keeps the driver loaded, because its addresses are in the table. Rebuilds the table if another
 * driver is loaded by now. Enters the loader, so it is called in our dlsym, whose caller does the
 * same.
 */
void gp_resolver_pin(void);

/* The row or resolver to which a real address belongs; NULL: none. */
const struct gp_cuda_wrapper *gp_row_of(const void *real);

/*
 * The wrapper for an address from dlsym or the resolver; the address itself if it is not a row's.
 */
void *gp_route(void *real);

/*
 * `real` is another interposer's function in place of the row's. Calls will go through it. Returns
 * the function for the caller.
 */
void *gp_route_learn(void *real, const struct gp_cuda_wrapper *row);

/* The driver's own resolver of that name, one of two, behind any interposer. NULL: it has none. */
void *gp_driver_resolver(const char *symbol);
bool gp_is_in_driver(const void *address);

/*
 * Whether the caller is the driver, which calls itself, or an interposer between us and the driver.
 * Both get the real functions.
 */
bool gp_is_behind_us(const void *caller);

/*
 * start.c: the constructor's work, done once. Runs earlier if the constructor of a needed library
 * reaches a resolver or a wrapper before ours has run.
 */
void gp_start(void);

/*
 * For the resolvers: counts a request for `name` that returns `real` unchanged although a row has
 * that name. `real` is then another variant than the table has, or another interposer's. The count
 * is recorded when recording begins and whenever it grows afterwards. Look-ups alone never begin a
 * recording.
 */
void gp_miss_check(const char *name, void *real);
/* Records the count as FACT ROUTES, unless it is 0. On a recording thread, with depth raised. */
void gp_misses_write(void);

#endif
