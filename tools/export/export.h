/*
 * What `gpuprof export` hands to a format: one struct of three callbacks in one file
 * tools/export/export_x.c, `--format x` chooses it. The build makes the list.
 */
#ifndef GP_EXPORT_H
#define GP_EXPORT_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "gpuprof.h"

struct gp_export {
	struct gp_recording *recording;
	const struct gp_info *info;
	/* its memory is the state behind the last act; `outside` is known when `end` is called */
	const struct gp_history *history;
	FILE *out;
	unsigned device;  /* only of this one; GP_DEVICE_UNKNOWN: of all */
	unsigned devices; /* ordinals are below: acts and memory of no known device are left out */
	bool has_stacks;  /* they are wanted, and there are some */
};

struct gp_export_format {
	const char *name; /* "torch" */
	const char *text;
	/* What is passed on to the others; NULL: out of memory. */
	void *(*begin)(const struct gp_export *e);
	/* False: out of memory, no more acts are passed. */
	bool (*act)(void *state, const struct gp_act *act);
	/*
	 * Releases the state. `is_whole`: all acts were passed, so the rest may be written;
	 * *entries is the number of entries in the traces of the file. False: as above.
	 */
	bool (*end)(void *state, bool is_whole, uint64_t *entries);
};

/* Ends with NULL. */
extern const struct gp_export_format *const gp_export_formats[];

/* The acts and memory of this device are wanted. */
static inline bool gp_export_has(const struct gp_export *e, unsigned device)
{
	return device < e->devices && (e->device == GP_DEVICE_UNKNOWN || e->device == device);
}

#endif
