/*
 * A command of `gpuprof`: one plain struct in one file tools/cmd_x.c. The build makes the list.
 * Files in tools/ include only gpuprof.h of the library.
 */
#ifndef GP_COMMAND_H
#define GP_COMMAND_H

#include "gpuprof.h"

enum gp_exit {
	GP_EXIT_OK = 0,
	GP_EXIT_FOUND = 1, /* the search succeeded, or a limit is exceeded */
	GP_EXIT_USAGE = 2,
	GP_EXIT_DAMAGED = 3, /* unreadable or damaged, or cannot be judged */
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
	 * Members for commands that read recordings, see report/reading.h. Hooks except `one` may
	 * be NULL. They return an exit status.
	 */
	unsigned options;     /* of enum gp_shared_option */
	unsigned inputs;      /* of GP_INPUTS_*; 0: all */
	unsigned json_levels; /* nesting levels broken into lines, in the report on one recording */
	uint64_t top;	      /* rows of a table in text output without --top */
	bool opens_itself;    /* `one` gets the path and no open recording */
	/* Called after the options are read. Prints its own errors. */
	int (*check)(struct gp_reading *reading, int recordings);
	/* Called when the output is open. */
	void (*begin)(struct gp_reading *reading);
	/*
	 * Reports on one open recording. The caller prints its damage and sets the exit status for
	 * it.
	 */
	int (*one)(struct gp_reading *reading);
	/* Called for a recording that did not open, after its message: gp_report_reason. */
	void (*unopened)(struct gp_reading *reading);
	/*
	 * After the last recording, before the table and held text, which are written only if
	 * has_report is set. `worst`: the status so far.
	 */
	int (*end)(struct gp_reading *reading, int worst);
};

/* Ends with NULL. */
extern const struct gp_command *const gp_commands[];

#endif
