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

struct gp_command {
	const char *name;
	const char *synopsis; /* as in the manual page: "info [--json] FILE..." */
	const char *text;     /* one line */
	int (*run)(int argc,
		   char **argv); /* argv[0] is the command's name; returns the exit status */
};

/* Ends with NULL. */
extern const struct gp_command *const gp_commands[];

#endif
