/*
 * The interface of the formats of `gpuprof export`: one struct of three callbacks in one file
 * tools/export/export_x.c, chosen by `--format x`. The build makes the list.
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
	/* its memory is the state after the last act; `outside` is valid when `end` is called */
	const struct gp_history *history;
	FILE *out;
	unsigned device;  /* only this device; GP_DEVICE_UNKNOWN: all */
	unsigned devices; /* above all ordinals; acts without a known device are left out */
	bool has_stacks;  /* stacks are requested and recorded */
};

struct gp_export_format {
	const char *name; /* "torch" */
	const char *text;
	/* Returns the state for the other callbacks; NULL: out of memory. */
	void *(*begin)(const struct gp_export *e);
	/* False: out of memory; no more acts follow. */
	bool (*act)(void *state, const struct gp_act *act);
	/*
	 * Releases the state. `is_whole`: all acts were passed, so write the rest. *entries is the
	 * number of entries in the traces of the file. False: out of memory.
	 */
	bool (*end)(void *state, bool is_whole, uint64_t *entries);
};

/* Ends with NULL. */
extern const struct gp_export_format *const gp_export_formats[];

/* Whether acts and memory of this device are exported. */
static inline bool gp_export_has(const struct gp_export *e, unsigned device)
{
	return device < e->devices && (e->device == GP_DEVICE_UNKNOWN || e->device == device);
}

#endif
