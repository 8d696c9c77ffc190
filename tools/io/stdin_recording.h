/*
 * A recording on stdin: the word `-`. A file is read in place. Input of a pipe is copied to a file
 * without a name until the program ends, since recordings need random access.
 */
#ifndef GP_STDIN_RECORDING_H
#define GP_STDIN_RECORDING_H

#include <stdbool.h>

/* Whether `path` is "-". Reports and messages use that name. */
bool gp_is_stdin(const char *path);

/*
 * Reads stdin to its end, once a program. Then gp_readable_path of "-" opens it. False: the error
 * is printed, and *exit_status is that of the command.
 */
bool gp_stdin_take(int *exit_status);

/* The path for open(2) of a recording, and the name of the recording for such a path. */
const char *gp_readable_path(const char *path);
const char *gp_named_path(const char *readable);

#endif
