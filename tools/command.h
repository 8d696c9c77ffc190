/*
 * What a command of `gpuprof` is: one plain struct in one file tools/cmd_x.c. The build makes the
 * list. Everything in tools/ stands on gpuprof.h alone.
 */
#ifndef GP_COMMAND_H
#define GP_COMMAND_H

#include "gpuprof.h"

enum gp_exit {
	GP_EXIT_OK = 0,
	GP_EXIT_FOUND = 1, /* what was asked for was found */
	GP_EXIT_USAGE = 2,
	GP_EXIT_DAMAGED = 3, /* unreadable or damaged, or it cannot be judged */
	GP_EXIT_INTERNAL = 4,
};

struct gp_reading;

struct gp_command {
	const char *name;
	const char *synopsis; /* as in the manual page: "info [--json] FILE..." */
	const char *text;     /* one line */
	/* argv[0] is the command's name; returns the exit status */
	int (*run)(const struct gp_command *command, int argc, char **argv);
	/*
	 * What a command that reads recordings adds, for report/reading.h. Hooks but `one` may be
	 * NULL; they return an exit status.
	 */
	unsigned options;     /* of enum gp_shared_option */
	unsigned inputs;      /* of GP_INPUTS_*; 0: all of them */
	unsigned json_levels; /* of the report on one recording that are broken into lines */
	uint64_t top;	      /* rows of a table that a person gets, without --top */
	bool opens_itself;    /* `one` gets the path alone */
	/* After the options are read; an error is said. */
	int (*check)(struct gp_reading *reading, int recordings);
	/* When the output is open. */
	void (*begin)(struct gp_reading *reading);
	/* Reports on one open recording. Its damage is said, and counts without being returned. */
	int (*one)(struct gp_reading *reading);
	/*
	 * After the last recording, before a table and held text are written; without has_report
	 * neither is. `worst`: the status so far.
	 */
	int (*end)(struct gp_reading *reading, int worst);
};

/* Ends with NULL. */
extern const struct gp_command *const gp_commands[];

#endif
