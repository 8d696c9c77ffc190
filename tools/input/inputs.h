/*
 * The recordings on the command line of a reading command: files, directories for the recordings in
 * them, and `-` for stdin. Also prints the error if a command takes only one.
 */
#ifndef GP_INPUTS_H
#define GP_INPUTS_H

#include "flags.h"

enum {
	GP_INPUTS_DIRECTORIES = 1,
	GP_INPUTS_STDIN = 2,
	GP_INPUTS_NONE = 4, /* no recording is not an error */
};

/*
 * Parses the options like gp_flags_parse. Replaces each directory by its files NAME.gpr, in natural
 * order (rank-2 before rank-10), without those of subdirectories. The word `-` stays and stands for
 * stdin (stdin_recording.h). The `inputs` of a command may exclude directories and stdin. Returns
 * the number of recordings, and sets *argv to them; they live until the program ends. Without
 * GP_INPUTS_NONE the number is at least 1. Or returns a negative value for gp_flags_exit, after
 * printing the error.
 */
int gp_inputs_parse(const struct gp_command *command, const struct gp_flag *flags, int argc,
		    char ***argv);

/* The directory, if it was the only word; else NULL. It lives as long as argv. */
const char *gp_inputs_directory(void);

/*
 * False: `what`, an option with its dashes or a command, got more than one recording. Prints the
 * error.
 */
bool gp_inputs_is_one(const struct gp_command *command, const char *what, int recordings);

#endif
