/*
 * The recordings that a reading command was given: files, directories in the place of the
 * recordings in them, and `-` for stdin. Also the error of what cannot be answered for several.
 */
#ifndef GP_INPUTS_H
#define GP_INPUTS_H

#include "flags.h"

enum { GP_INPUTS_DIRECTORIES = 1, GP_INPUTS_STDIN = 2 };

/*
 * Parses the options like gp_flags_parse. Each word that is a directory is replaced by its files
 * NAME.gpr, in natural order (rank-2 before rank-10), not by those of its subdirectories. The word
 * `-` stays and stands for stdin (stdin_recording.h). A command may take neither: its `inputs`.
 * Returns the number of recordings, at least 1, and sets *argv to them: they live until the program
 * ends. Or a negative value for gp_flags_exit: the error is printed.
 */
int gp_inputs_parse(const struct gp_command *command, const struct gp_flag *flags, int argc,
		    char ***argv);

/* The directory, if the command line had that alone; else NULL. It lives as long as argv. */
const char *gp_inputs_directory(void);

/* False: `what`, an option with its dashes or a command, got more than one recording; printed. */
bool gp_inputs_is_one(const struct gp_command *command, const char *what, int recordings);

#endif
