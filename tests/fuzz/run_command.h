/* Commands of the program `gpuprof` in this process, with their output sent to /dev/null. */
#ifndef RUN_COMMAND_H
#define RUN_COMMAND_H

#include <stddef.h>

/*
 * Runs the words of `line`. The word `@` stands for `recording`; `#`, which letters may follow, for
 * `other`. The limits for a file of `bytes` apply. Aborts if the command returns a status that is
 * not one of enum gp_exit. FUZZ_SHOW in the environment leaves the output visible.
 */
void run_command(const char *line, const char *recording, const char *other, size_t bytes);

#endif
