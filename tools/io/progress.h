/*
 * The progress of long work, on one line of stderr: after the first second, where stderr is a
 * terminal and the command is not in the background. The line is erased before other output.
 */
#ifndef GP_PROGRESS_H
#define GP_PROGRESS_H

#include <stdbool.h>
#include <stdint.h>

#include "gpuprof.h"

/* Whether there may be a line at all: if not, leave out what would feed it. */
bool gp_progress_is_seen(void);

/* True: it is time for a new line, "reading run.gpr: 42%", which gp_progress_show prints. */
bool gp_progress_is_due(void);
void gp_progress_show(const char *doing, const char *path, const char *how_far);
/* Recordings that the command was given: of several a line has which one is read. */
void gp_progress_expect(unsigned recordings);
/* The same of reading `recording`, of that path, by itself from now on. */
void gp_progress_watch(struct gp_recording *recording);

/* Takes the line away. */
void gp_progress_clear(void);

#endif
