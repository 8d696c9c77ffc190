/*
 * Answers that a recording keeps for later questions. Several reports on one recording need the
 * same ones; prepare/prepare.c finds them in one replay.
 */
#ifndef GP_KEPT_H
#define GP_KEPT_H

#include "../read/file/recording.h"

enum gp_kept_what {
	GP_KEPT_STEPS,	  /* struct gp_steps */
	GP_KEPT_ROLES,	  /* struct gp_roles */
	GP_KEPT_TIMELINE, /* struct gp_timeline; its key: points */
	GP_KEPT_BANDS,	  /* struct gp_role_timeline; its key: points */
	GP_KEPT_LEAKS,	  /* struct gp_leaks */
	GP_KEPT_PHASES,	  /* struct gp_phases of all devices; its key: warm_ns */
	GP_KEPT_WAITS,	  /* struct gp_waits */
	GP_KEPTS,
};

/*
 * Keeps an answer in memory from malloc, which `drop` frees with all that it holds. Replaces an
 * older one. Out of memory: drops it.
 */
void gp_keep(struct gp_recording *recording, enum gp_kept_what what, uint64_t key, void *answer,
	     void (*drop)(void *answer));
/*
 * NULL: nothing was kept, or with another key, or before the owner overwrote a part. Valid until
 * the next call for the same `what`.
 */
void *gp_kept_get(struct gp_recording *recording, enum gp_kept_what what, uint64_t key);
/* The same, and the caller owns it. */
void *gp_kept_take(struct gp_recording *recording, enum gp_kept_what what, uint64_t key);
/* Drops what was kept, since it no longer answers the question. */
void gp_kept_forget(struct gp_recording *recording, enum gp_kept_what what);

#endif
