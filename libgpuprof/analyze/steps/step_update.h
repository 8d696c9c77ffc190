/*
 * Updates of parameters, by the ranges that PyTorch opens: a step ends where its optimizers are
 * through. docs/ANALYSIS.md, section 1, has the rule.
 */
#ifndef GP_STEP_UPDATE_H
#define GP_STEP_UPDATE_H

#include <stdbool.h>

#include "../../format/status.h"
#include "step_place.h"

#define GP_STEP_TRAINERS 8u    /* capacity: threads with optimizers */
#define GP_STEP_OPENINGS 4096u /* capacity: ranges before the first optimizer */

struct gp_step_update {
	struct gp_step_place end, behind; /* and the first work behind it */
	uint64_t before;		  /* tokens before its first optimizer */
};

struct gp_step_trainer {
	uint32_t thread;
	unsigned depth;	 /* optimizers that are open */
	bool is_waiting; /* `behind` of the last update is not known yet */
	struct gp_step_place opened;
	uint64_t work, backwards, graphs; /* when the last optimizer ended */
	uint64_t work_before;		  /* when the open one began */
	struct gp_step_update *update;
	size_t updates;
};

struct gp_step_updates {
	struct gp_step_trainer trainer[GP_STEP_TRAINERS];
	unsigned trainers;
	uint64_t backwards, graphs, work;		/* so far: of all threads */
	struct gp_step_place opening[GP_STEP_OPENINGS]; /* a ring, up to the first optimizer */
	uint64_t openings;
	struct gp_step_place first; /* work */
};

/* A range begins: the first step may begin there. */
void gp_step_updates_opening(struct gp_step_updates *updates, const struct gp_step_place *here);
/* A launch or an allocation, that stands for `work` of them. */
void gp_step_updates_work(struct gp_step_updates *updates, const struct gp_step_place *here,
			  unsigned work, bool is_graph);
void gp_step_updates_backward(struct gp_step_updates *updates);
void gp_step_updates_optimizer(struct gp_step_updates *updates, uint32_t thread,
			       const struct gp_step_place *here);
/* False: no memory. */
bool gp_step_updates_optimizer_end(struct gp_step_updates *updates, uint32_t thread,
				   const struct gp_step_place *here);
/*
 * After all: steps, none where there are too few updates. `is_cut`: what came before is no longer
 * kept. Free out->cut. GP_E_MEMORY.
 */
enum gp_status gp_step_updates_cut(const struct gp_step_updates *updates, bool is_cut,
				   struct gp_step_cuts *out);
void gp_step_updates_free(struct gp_step_updates *updates);

#endif
