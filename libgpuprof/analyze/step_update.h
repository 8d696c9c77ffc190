/*
 * Updates of parameters, as PyTorch tells them by its ranges: optimizers, zero_grad, and its engine
 * of autograd. An update is all backwards whose gradients nobody used or cleared in between, and
 * what the optimizers then made of them: micro batches that add up are one, two optimizers that
 * step one behind the other are one, and so is one that a GradScaler left out.
 */
#ifndef GP_STEP_UPDATE_H
#define GP_STEP_UPDATE_H

#include <stdbool.h>

#include "../format/status.h"
#include "step_place.h"

#define GP_TRAINERS_MOST 8u    /* threads whose optimizers are looked at */
#define GP_OPTIMIZERS_MOST 32u /* names that are told apart */
#define GP_EARLY_MARKS 64u
#define GP_EARLY_WORK 16384u /* launches and allocations from a begin to the first optimizer */

/* What all threads have done by now. */
struct gp_step_progress {
	struct gp_step_place here;
	uint64_t work; /* launches and allocations, a graph counts for many */
};

/* Gradients were used, or cleared. */
struct gp_step_use {
	struct gp_step_place behind; /* the first work behind it */
	struct gp_step_place end;
	uint64_t work;			      /* before it, since the last one */
	uint64_t token;			      /* when the first optimizer began */
	uint64_t backwards, backwards_behind; /* by its first optimizer, and by its last one */
	uint64_t optimized;		      /* work of the optimizers themselves */
	uint32_t names;			      /* of optimizers, a bit each; 0: there was none */
	bool has_backward;		      /* before it, since the last one */
};

struct gp_step_trainer {
	uint32_t thread;
	bool is_worker;		  /* of autograd: it works for another thread */
	unsigned depth;		  /* optimizers that are open */
	bool is_waiting;	  /* `behind` of the last use is not known yet */
	bool has_closure;	  /* the optimizer that is open does forward and backward itself */
	uint32_t name;		  /* of it */
	uint64_t work, backwards; /* at the last use */
	uint64_t begin_work, begin_token; /* when the optimizer was opened */
	uint64_t optimizers;
	struct gp_step_use *use;
	size_t uses;
};

struct gp_step_updates {
	struct gp_step_trainer trainer[GP_TRAINERS_MOST];
	unsigned trainers, waiting;
	uint64_t optimizer[GP_OPTIMIZERS_MOST]; /* hashes of names */
	unsigned optimizers;
	unsigned backwards_open;
	uint64_t backwards;
	/* where a step may begin: what the framework did before the first use, the newest last */
	struct {
		struct gp_step_place place;
		uint64_t backwards;
	} early[GP_EARLY_MARKS];
	struct gp_step_place work[GP_EARLY_WORK];
	uint64_t earlies, works;
	bool has_use;
	bool is_cut; /* what came before is no longer kept: the caller's */
	/* of the answer */
	bool is_told; /* backwards are */
	struct gp_step_cuts cuts;
};

/* The framework begins a range of any kind: the first step may begin there. */
void gp_step_updates_begin(struct gp_step_updates *updates, const struct gp_step_progress *now);
/* False: no memory. */
bool gp_step_updates_optimizer(struct gp_step_updates *updates, uint32_t thread, bool is_worker,
			       const char *name, const struct gp_step_progress *now);
bool gp_step_updates_optimizer_end(struct gp_step_updates *updates, uint32_t thread,
				   const struct gp_step_progress *now);
bool gp_step_updates_zero_grad(struct gp_step_updates *updates, uint32_t thread, bool is_worker,
			       const struct gp_step_progress *now);
/* The engine of autograd runs. */
void gp_step_updates_backward(struct gp_step_updates *updates, bool is_worker);
void gp_step_updates_backward_end(struct gp_step_updates *updates);
/* A launch or an allocation comes. */
void gp_step_updates_token(struct gp_step_updates *updates, const struct gp_step_place *here);

/* After all: `cuts` are the updates, none where there are too few. GP_E_MEMORY. */
enum gp_status gp_step_updates_settle(struct gp_step_updates *updates);
void gp_step_updates_free(struct gp_step_updates *updates);

#endif
