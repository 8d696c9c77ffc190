/*
 * "2.11.0+cu130" as numbers, because tables of layouts have a row for each minor version.
 */
#ifndef GP_TORCH_VERSION_H
#define GP_TORCH_VERSION_H

#include <stdbool.h>
#include <stdlib.h>

/* False: `version` does not begin with two numbers. */
static inline bool gp_torch_numbers(const char *version, unsigned long *major, unsigned long *minor)
{
	char *end;
	*major = strtoul(version, &end, 10);
	if (end == version || *end != '.')
		return false;
	*minor = strtoul(end + 1, NULL, 10);
	return true;
}

#endif
