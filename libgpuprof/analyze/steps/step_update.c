/* Optimizers of one thread are joined: a backward pass, or work that replaces it, comes between. */
#include "step_update.h"

#include <stdlib.h>
#include <string.h>

#include "step_stat.h"

static struct gp_step_trainer *update_trainer(struct gp_step_updates *u, uint32_t thread)
{
	for (unsigned k = 0; k < u->trainers; k++)
		if (u->trainer[k].thread == thread)
			return &u->trainer[k];
	if (u->trainers == GP_STEP_TRAINERS)
		return NULL;
	u->trainer[u->trainers].thread = thread;
	return &u->trainer[u->trainers++];
}

void gp_step_updates_opening(struct gp_step_updates *u, const struct gp_step_place *here)
{
	if (u->trainers == 0)
		u->opening[u->openings++ % GP_STEP_OPENINGS] = *here;
}

void gp_step_updates_work(struct gp_step_updates *u, const struct gp_step_place *here,
			  unsigned work, bool is_graph)
{
	u->first = u->work == 0 ? *here : u->first;
	u->work += work;
	u->graphs += is_graph;
	for (unsigned k = 0; k < u->trainers; k++) {
		struct gp_step_trainer *t = &u->trainer[k];
		if (t->is_waiting)
			t->update[t->updates - 1].behind = *here;
		t->is_waiting = false;
	}
}

void gp_step_updates_backward(struct gp_step_updates *u)
{
	u->backwards++;
}

void gp_step_updates_optimizer(struct gp_step_updates *u, uint32_t thread,
			       const struct gp_step_place *here)
{
	struct gp_step_trainer *t = update_trainer(u, thread);
	if (t == NULL || t->depth++ > 0)
		return;
	t->opened = *here;
	t->work_before = u->work;
}

/* Does the optimizer belong to another update than the one before it? */
static bool update_is_new(const struct gp_step_updates *u, const struct gp_step_trainer *t)
{
	if (t->updates == 0 || u->backwards > t->backwards || u->graphs > t->graphs)
		return true;
	/* without backwards: more than clearing and clipping, which is less than what it does */
	return u->backwards == 0 && t->work_before - t->work > u->work - t->work_before;
}

bool gp_step_updates_optimizer_end(struct gp_step_updates *u, uint32_t thread,
				   const struct gp_step_place *here)
{
	struct gp_step_trainer *t = update_trainer(u, thread);
	if (t == NULL || t->depth == 0 || --t->depth > 0)
		return true;
	if (update_is_new(u, t)) {
		struct gp_step_update *update = gp_step_grow(t->update, t->updates, sizeof *update);
		if (update == NULL)
			return false;
		t->update = update;
		t->update[t->updates++].before = t->opened.token;
	}
	struct gp_step_update *last = &t->update[t->updates - 1];
	last->end = last->behind = *here;
	t->is_waiting = true;
	t->work = u->work;
	t->backwards = u->backwards;
	t->graphs = u->graphs;
	return true;
}

/* The first step begins with a range, about as far before its optimizer as others do. */
static struct gp_step_place update_find_begin(const struct gp_step_updates *u,
					      const struct gp_step_update *first, uint64_t usual)
{
	const uint64_t oldest = u->openings > GP_STEP_OPENINGS ? u->openings - GP_STEP_OPENINGS : 0;
	struct gp_step_place found = u->first;
	uint64_t nearest = UINT64_MAX;
	for (uint64_t k = u->openings; k-- > oldest;) {
		const struct gp_step_place *place = &u->opening[k % GP_STEP_OPENINGS];
		const uint64_t off = gp_distance(first->before - place->token, usual);
		found = off <= nearest ? *place : found;
		nearest = off <= nearest ? off : nearest;
	}
	return found;
}

enum gp_status gp_step_updates_cut(const struct gp_step_updates *u, bool is_cut,
				   struct gp_step_cuts *out)
{
	const struct gp_step_trainer *t = &u->trainer[0];
	for (unsigned k = 1; k < u->trainers; k++)
		t = u->trainer[k].updates > t->updates ? &u->trainer[k] : t;
	if (t->updates < GP_STEPS_MIN)
		return GP_OK;
	uint64_t *tokens = calloc(t->updates, sizeof *tokens);
	out->cut = calloc(t->updates, sizeof *out->cut);
	if (tokens == NULL || out->cut == NULL) {
		free(tokens);
		return GP_E_MEMORY;
	}
	for (size_t k = 1; k < t->updates; k++) {
		const uint64_t behind = t->update[k - 1].behind.token;
		tokens[k - 1] = t->update[k].before > behind ? t->update[k].before - behind : 0;
		out->cut[k] = (struct gp_step_cut){ t->update[k - 1].behind, t->update[k].end };
	}
	out->cuts = t->updates;
	const uint64_t usual = gp_step_median(tokens, t->updates - 1);
	out->cut[0].begin = update_find_begin(u, &t->update[0], usual);
	out->cut[0].end = t->update[0].end;
	/* the begin of the first one is no longer kept */
	if (is_cut)
		memmove(out->cut, out->cut + 1, --out->cuts * sizeof *out->cut);
	free(tokens);
	return GP_OK;
}

void gp_step_updates_free(struct gp_step_updates *u)
{
	for (unsigned k = 0; k < u->trainers; k++)
		free(u->trainer[k].update);
}
