/*
 * CUPTI's library in this process, and its functions. Reads the tables of mapped objects, and never
 * looks a name up through the loader: libgpuprof.so stands in front of dlsym.
 */
#ifndef GP_CUPTI_LIBRARY_H
#define GP_CUPTI_LIBRARY_H

#include <stdbool.h>

#include "cupti_abi.h"

/* CUPTI's own functions; NULL: the library lacks it. */
struct gp_cupti {
#define EXPORT(symbol, parameters, arguments) CALL(symbol, parameters)
#define CALL(symbol, parameters) uint32_t(*symbol) parameters;
#include "cupti_exports.def"
#undef EXPORT
#undef CALL
#define CALL(symbol) uint32_t (*symbol)(void *parameters);
#include "../counters/pm_sampling.def"
#include "../counters/range_profiler.def"
#undef CALL
};

/*
 * The functions of the first mapped CUPTI; NULL: none is mapped. Walks the list of objects until
 * one is found, so only for the collecting thread, and for calls of CUPTI that the job makes.
 */
const struct gp_cupti *gp_cupti_find(void);

/* The result of an earlier gp_cupti_find; NULL: none. For callbacks. */
const struct gp_cupti *gp_cupti_found(void);

/* The number of mapped CUPTI libraries. */
unsigned gp_cupti_count(void);

/* The first function that we need and that the library lacks; NULL: it has all. */
const char *gp_cupti_missing(const struct gp_cupti *cupti);

/*
 * Loads a CUPTI if none is mapped, and keeps it. Only for the collecting thread, which holds no
 * lock of the job. False: none was found.
 */
bool gp_cupti_load(void);

/* Loads the file of this name in CUPTI's folder, else as the loader finds it. As gp_cupti_load. */
bool gp_cupti_load_beside(const char *name);

/*
 * A function of the first mapped object that defines it and whose file name begins with `file`.
 * NULL: none. Walks the list of objects.
 */
void *gp_mapped_function(const char *file, const char *symbol);

/* Whether gp_cupti_load brought it into the process, and not the job. */
bool gp_cupti_is_loaded_by_us(void);

/* Forgets the library that we brought, so that the next look-up finds the job's own. */
void gp_cupti_prefer_job(void);

#endif
