/*
 * The progress of long work, on one line of stderr. It appears after the first second, if stderr is
 * a terminal and the command is not in the background. The line is erased before other output.
 */
#ifndef GP_PROGRESS_H
#define GP_PROGRESS_H

#include <stdbool.h>
#include <stdint.h>

#include "gpuprof.h"

/* Whether progress can be shown. If not, skip the work for it. */
bool gp_progress_is_seen(void);

/* True: a new line is due. Print it with gp_progress_show, "reading run.gpr: 42%". */
bool gp_progress_is_due(void);
void gp_progress_show(const char *doing, const char *path, const char *how_far);
/* The number of recordings on the command line. With several, the line shows which one is read. */
void gp_progress_expect(unsigned recordings);
/* Shows the progress of reading `recording` automatically from now on. */
void gp_progress_watch(struct gp_recording *recording);

/* Erases the line. */
void gp_progress_clear(void);

#endif
