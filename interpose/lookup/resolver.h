/*
 * The way to the real driver: the functions it has, and the wrapper that belongs to each of their
 * addresses. Fills gp_cuda. Reads the tables of mapped objects: it enters no loader, calls nothing
 * of the driver and takes no lock but dl_iterate_phdr's, so wrappers may resolve at any moment.
 */
#ifndef GP_RESOLVER_H
#define GP_RESOLVER_H

#include <stdbool.h>
#include <stdint.h>

#include "../driver/real_driver.h"

/*
 * True when libcuda.so.1, or an interposer that stands for it, is mapped and gp_cuda is filled.
 * Cheap once it was true; before, it walks the mapped objects each time. Keeps errno.
 */
bool gp_resolve(void);
bool gp_is_resolved(void);

/* For a wrapper whose pointer in gp_cuda is NULL: fills it. False: there is no such function. With
 * GPUPROF=off, this one pointer alone. */
bool gp_resolve_call(const char *symbol, void **real);

/*
 * Keeps the driver loaded, for its addresses are in the table; builds the table anew where another
 * driver is loaded by now. Enters the loader: in our dlsym, whose caller does so itself.
 */
void gp_resolver_pin(void);

/* The row or resolver whose function an address is, without us; NULL: none. */
const struct gp_cuda_wrapper *gp_row_of(const void *real);

/* The wrapper that belongs to an address that dlsym or the resolver gave; the address itself when
 * it is not a row's. */
void *gp_route(void *real);

/*
 * `real` is what another interposer gives instead of the function of `row`: calls shall pass it.
 * Returns what the caller gets.
 */
void *gp_route_learn(void *real, const struct gp_cuda_wrapper *row);

/* The driver's own function of that name, whatever stands before it; one of the two resolvers.
 * NULL: it has none. */
void *gp_driver_resolver(const char *symbol);
bool gp_is_in_driver(const void *address);

/* The driver calls itself, and an interposer behind us looks for what is behind it: both get what
 * is really there. */
bool gp_is_behind_us(const void *caller);

/*
 * start.c: the constructor's work, once; earlier when the constructor of a library that the program
 * needs comes to a resolver or a wrapper before ours ran.
 */
void gp_start(void);

/*
 * For the resolvers: `real` is returned as it is to a request for `name`. Counted when a row has
 * that name: another variant than the table has, or another interposer's. The count is recorded
 * when recording begins and whenever it grows after that; look-ups alone never begin a recording.
 */
void gp_miss_check(const char *name, void *real);
/* Writes the count as FACT ROUTES, if there is any. On a thread that records, depth raised. */
void gp_misses_tell(void);

#endif
