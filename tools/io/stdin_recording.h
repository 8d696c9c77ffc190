/*
 * A recording on stdin: the word `-`. A file is read where it lies; what a pipe brings is kept in
 * a file without a name, since a recording is read at many places, until the program ends.
 */
#ifndef GP_STDIN_RECORDING_H
#define GP_STDIN_RECORDING_H

#include <stdbool.h>

/* "-", by which reports and messages name it. */
bool gp_is_stdin(const char *path);

/*
 * Reads stdin to its end, once a program; then gp_readable_path of "-" opens it. False: said why,
 * and *exit_status is that of the command.
 */
bool gp_stdin_take(int *exit_status);

/* What open(2) takes for `path`, the name of a recording; and its name again. */
const char *gp_readable_path(const char *path);
const char *gp_named_path(const char *readable);

#endif
