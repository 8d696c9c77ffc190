/* A process on the command line, and the recorded one that it started, such as `gpuprof run`. */
#ifndef STARTED_JOB_H
#define STARTED_JOB_H

#include "flags.h"

/* False: `word` is not the number of a process; said in the name of `command`. */
bool gp_process_read(const struct gp_command *command, const char *word, unsigned *pid);

/*
 * The only recorded process among the descendants of `pid`, where `pid` itself is not recorded; a
 * line on stderr names it. Else `pid`; of several recorded ones a line has the number.
 */
unsigned gp_started_job(unsigned pid);

#endif
