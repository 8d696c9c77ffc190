/*
 * The recordings that a reading command was given: files, and directories in the place of the
 * recordings in them. Also the error of what cannot be answered for several.
 */
#ifndef GP_INPUTS_H
#define GP_INPUTS_H

#include "flags.h"

/*
 * Parses the options like gp_flags_parse. Each word that is a directory is replaced by its files
 * NAME.gpr, in natural order (rank-2 before rank-10), not by those of its subdirectories. Returns
 * the number of recordings, at least 1, and sets *argv to them: they live until the program ends.
 * Or a negative value for gp_flags_exit: the error is printed.
 */
int gp_inputs_parse(const struct gp_command *command, const struct gp_flag *flags, int argc,
		    char ***argv);

/* False: `what`, an option with its dashes or a command, got more than one recording; printed. */
bool gp_inputs_is_one(const struct gp_command *command, const char *what, int recordings);

/* For a command that compares recordings. False: one of the words is a directory; printed. */
bool gp_inputs_are_files(const struct gp_command *command, int words, char *const *argv);

#endif
