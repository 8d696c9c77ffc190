/*
 * A process on the command line, and the recorded process that it started, for example under
 * `gpuprof run`.
 */
#ifndef STARTED_JOB_H
#define STARTED_JOB_H

#include "flags.h"

/* Reads the number of a process. False: it is not one; printed with the usage of `command`. */
bool gp_process_read(const struct gp_command *command, const char *word, unsigned *pid);

/*
 * If `pid` is not recorded, returns its only recorded descendant and prints its number on stderr.
 * Else returns `pid`; prints the number of recorded descendants if there are several.
 */
unsigned gp_started_job(unsigned pid);

#endif
