/*
 * Part of gpuprof.h, which includes it: where the time goes from the start of the program to the
 * end of its first step. Each moment counts for one part: the first of the list below that it is
 * in, so the parts add up to the whole.
 */
#ifndef GPUPROF_STARTUP_H
#define GPUPROF_STARTUP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "format/status.h"

struct gp_recording;

enum gp_startup_part {
	GP_STARTUP_CONTEXTS, /* in calls that make contexts */
	GP_STARTUP_MODULES,  /* in calls that load modules and libraries */
	GP_STARTUP_GRAPHS,   /* in calls that instantiate graphs */
	GP_STARTUP_CAPTURES, /* while a capture is under way */
	GP_STARTUP_COMPILE,  /* in ranges of PyTorch's compiler */
	GP_STARTUP_FIRST_STEP,
	GP_STARTUP_COPIES, /* in calls that copy or wait, before the first step */
	GP_STARTUP_BEFORE, /* before the first recorded call: imports, cuInit */
	GP_STARTUP_OTHER,  /* no other part */
	GP_STARTUP_PARTS,
};
extern const char *const gp_startup_part_names[GP_STARTUP_PARTS]; /* "contexts", "module_loads" */

struct gp_startup_row {
	enum gp_startup_part part;
	int64_t at_ns;	  /* the beginning of the first */
	int64_t took_ns;  /* time of this part */
	uint64_t count;	  /* calls, captures or ranges; 0 of BEFORE and OTHER, 1 of FIRST_STEP */
	uint64_t untimed; /* of these: calls of unknown duration, which count for other parts */
	uint64_t bytes;	  /* of images or copies */
};

/* Module loads at one line of code. */
struct gp_startup_line {
	char *key;	     /* the line, a text for people */
	const char *file;    /* NULL: unknown */
	uint32_t line;	     /* 0: unknown */
	const char *without; /* the reason for a missing line, a static text; NULL: not missing */
	uint32_t stack;	     /* of the call that took longest; 0: none */
	int64_t at_ns;	     /* of that call's return */
	int64_t longest_ns;  /* of that call; -1: no duration is known */
	int64_t took_ns;     /* sum over all threads */
	uint64_t count, untimed, bytes;
	uint64_t ptx; /* loads of PTX text, which the driver compiles */
};

struct gp_startup {
	const char *why; /* the reason for a missing report, a static text; NULL: not missing */
	/* from the program's start, or from the first recorded call */
	int64_t from_ns, to_ns;
	bool has_program_start;
	bool has_first_step; /* false: to_ns is the end of the recording */
	const char *no_step; /* the reason for no step; NULL: a step was found */
	bool is_cut;	     /* some calls are not in the times: more than 2^18 of one part */
	size_t rows;
	struct gp_startup_row row[GP_STARTUP_PARTS]; /* by at_ns; parts that happened */
	size_t lines;
	struct gp_startup_line *line; /* longest first */
};

/* Two replays. Free with gp_startup_free. GP_E_MEMORY, and what a replay returns. */
enum gp_status gp_startup_build(struct gp_recording *recording, struct gp_startup *out);
void gp_startup_free(struct gp_startup *startup);

#endif
