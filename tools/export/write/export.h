/*
 * The interface of the formats of `gpuprof export`: one struct in one file tools/export/export_x.c,
 * chosen by `--format x`. The build makes the list.
 */
#ifndef GP_EXPORT_H
#define GP_EXPORT_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "gpuprof.h"
#include "job_rank.h"

#define GP_RANK_NAME_BYTES 128u

/* One recording to export. */
struct gp_export {
	struct gp_recording *recording;
	const struct gp_info *info;
	int64_t from_ns, to_ns; /* the span; INT64_MIN, INT64_MAX: no limit */
	unsigned device;	/* only this device; GP_DEVICE_UNKNOWN: all */
	unsigned devices;   /* above all ordinals; what has no known device below it is left out */
	bool has_stacks;    /* stacks are requested and recorded */
	const char *select; /* one of gp_export_format.selections; NULL: the format has none */
	FILE *const *part;  /* a file for each of the selections; NULL: `out` gets the selected */
	/* of takes_many: this is recording `number`, from 0, of `recordings` */
	unsigned number, recordings;
	/* from the start of the first recording to that of this one, on a common clock if it can */
	int64_t apart_ns;
	bool (*piece)(struct gp_export *e); /* of gp_export_piece */
	/* gp_export_piece changes it. Errors of writing are found when it is closed. */
	FILE *out;
	const char *path;      /* of the file, which has a temporary name; NULL: it is not a file */
	uint64_t entries;      /* result: written, in units of gp_export_format.unit */
	uint64_t most_entries; /* that a file may have: --entries; 0: no limit */
	/* of a file for a rank in a folder; NULL: gp_job_rank_find */
	const struct gp_job_rank *rank;
	/* the path of the recording, for messages */
	const char *recording_path;
};

struct gp_export_format {
	const char *name;  /* "torch" */
	const char *unit;  /* of gp_export.entries, in the plural: "trace entries" */
	const char *opens; /* "open it at pytorch.org/memory_viz" */
	/* values of --select, of which the first is the default; ends with NULL. NULL: none */
	const char *const *selections;
	/* -o DIR/ writes a file for each selection, with this ending; NULL: it does not */
	const char *part_ending;
	bool takes_many; /* several recordings become one file */
	bool is_text;	 /* a terminal may show it */
	/* of a file, by default; 0: the format has no --entries */
	uint64_t most_entries;
	/* -o DIR/ writes a file for each recording, with this name in DIR; NULL: it does not */
	void (*rank_name)(char out[GP_RANK_NAME_BYTES], uint64_t step, uint32_t rank);
	bool is_own_file; /* writes gp_export.path, not gp_export.out; never to stdout */
	/*
	 * Writes a recording, and prints what the file cannot hold or lacks. Recordings of
	 * takes_many come in the order of the command line.
	 */
	enum gp_status (*write)(struct gp_export *e);
};

/* Ends with NULL. */
extern const struct gp_export_format *const gp_export_formats[];

/* Whether acts and memory of this device are exported. */
static inline bool gp_export_has(const struct gp_export *e, unsigned device)
{
	return device < e->devices && (e->device == GP_DEVICE_UNKNOWN || e->device == device);
}

/*
 * Ends the file and begins the next one beside it: after OUT.x come OUT-2.x, OUT-3.x. False:
 * writing goes on in the same file. It is stdout or a device, or the next file cannot be created,
 * which ends the command with an error.
 */
static inline bool gp_export_piece(struct gp_export *e)
{
	return e->piece(e);
}

#endif
