/* Parts that the fake's range profiler and PM sampling share. */
#ifndef FAKE_PROFILER_H
#define FAKE_PROFILER_H

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../../interpose/counters/range_profiler_abi.h"
#include "../../interpose/cupti/cupti_abi.h"

enum { FAKE_UNKNOWN_ERROR = 999 };

static inline unsigned long fake_setting(const char *name, unsigned long standard)
{
	const char *text = getenv(name);
	return text && *text ? strtoul(text, NULL, 0) : standard;
}

static inline void fake_fail(const char *what)
{
	fprintf(stderr, "fake range profiler: %s\n", what);
	abort();
}

static inline bool fake_is_failing(const char *function)
{
	const char *name = getenv("FAKE_PROFILER_FAILS");
	return name && strcmp(name, function) == 0;
}

/* First in each function: the size of its struct is that of CUDA 13.0. */
#define CALLED(bytes)                                                             \
	do {                                                                      \
		if (p->size != (bytes))                                           \
			fake_fail("a struct has another size than in CUDA 13.0"); \
		if (p->unused)                                                    \
			fake_fail("pPriv is not NULL");                           \
		if (fake_is_failing(__func__))                                    \
			return FAKE_UNKNOWN_ERROR;                                \
	} while (0)

/* In fake_pm_sampling.c: the values of a sample, if `p` has an image of samples. */
bool fake_pm_has_image(const struct gp_host_values *p);
uint32_t fake_pm_values(struct gp_host_values *p);
void fake_pm_finalize(void);

#endif
