/*
 * The way to the real driver: which functions it has, which of its addresses are whose wrapper.
 * Owns gp_cuda. No lock anywhere: a fork at any moment leaves the child able to resolve. Enters the
 * loader: for the doors and for wrappers that were called through an ELF export before any look-up,
 * never for hooks.
 */
#ifndef GP_RESOLVER_H
#define GP_RESOLVER_H

#include <stdbool.h>
#include <stdint.h>

#include "cuda_api.h"

typedef void *gp_dlsym_function(void *handle, const char *name);
typedef CUresult gp_get_proc_address_v2(const char *, void **, int, cuuint64_t, int *);
typedef CUresult gp_get_proc_address(const char *, void **, int, cuuint64_t);

/* dlsym as it would be without us: the next one in the search order, another preload's or libc's.
 * Never NULL after gp_dlsym_find. */
extern gp_dlsym_function *gp_next_dlsym __attribute__((visibility("hidden")));
/* libc's own, whatever stands between. */
extern gp_dlsym_function *gp_libc_dlsym __attribute__((visibility("hidden")));
void gp_dlsym_find(void);

/*
 * At a door, where the loader may be entered: whatever stacks are read with is looked for here,
 * until it is found.
 */
void gp_find_stacks(void);

/* The real resolvers; NULL as in gp_cuda. They are no rows: their own doors are in
 * door_procaddress.c. */
extern gp_get_proc_address *gp_real_get_proc_address __attribute__((visibility("hidden")));
extern gp_get_proc_address_v2 *gp_real_get_proc_address_v2 __attribute__((visibility("hidden")));

/*
 * True when libcuda.so.1 is loaded and gp_cuda is filled. Cheap once it was true; before, it asks
 * the loader each time. Never loads the driver. Keeps errno; leaves no dlerror behind.
 */
bool gp_resolve(void);
bool gp_is_resolved(void);

/* What the driver itself exports under a name. Enters the loader. */
void *gp_driver_find(const char *symbol);

/* The wrapper that belongs to an address that dlsym or the resolver gave; the address itself when
 * it is not a row's. */
void *gp_route(void *real);

bool gp_is_routed(const void *real);

/* The driver calls itself, and an interposer behind us looks for what is behind it: both get what
 * is really there. */
bool gp_is_behind_us(const void *caller);

/* start.c: what the constructor does, once; earlier when the constructor of a library that the
 * program needs comes to a door before ours ran. */
void gp_start(void);

/* False with GPUPROF=off: the doors hand out nothing of ours. Set by the constructor. */
extern bool gp_doors_open __attribute__((visibility("hidden")));

/* Objects that were loaded when the constructor ran: the global scope of the program. */
extern unsigned gp_objects_at_start __attribute__((visibility("hidden")));

#endif
