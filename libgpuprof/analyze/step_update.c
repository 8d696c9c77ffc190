/*
 * While ranges come, uses of gradients are taken down by the thread that made them; what follows at
 * once is one. At the end one thread's are joined: those without a backward before them belong to
 * the use before, where backwards are told; else those without work.
 */
#include "step_update.h"

#include <stdlib.h>
#include <string.h>

#include "step_name.h"
#include "step_stat.h"

#define UPDATES_MIN 3u
#define TRIFLE 16u	  /* work of so small a part of the usual is none: clearing, clipping */
#define SKIPPED_MAX 3u	  /* one of so many updates, at most, has no optimizer */
#define WHOLE_PERCENT 90u /* of what is usual: less is not all of a step */
#define ASIDE_MAX 4u	  /* uses of another optimizer in a row that belong to the one that leads */

/* ---- while ranges come ---- */

static struct gp_step_trainer *trainer_of(struct gp_step_updates *u, uint32_t thread)
{
	for (unsigned k = 0; k < u->trainers; k++)
		if (u->trainer[k].thread == thread)
			return &u->trainer[k];
	return NULL;
}

/* NULL: there are too many. */
static struct gp_step_trainer *trainer_get(struct gp_step_updates *u, uint32_t thread,
					   bool is_worker)
{
	struct gp_step_trainer *t = trainer_of(u, thread);
	if (t != NULL || u->trainers == GP_TRAINERS_MOST)
		return t;
	t = &u->trainer[u->trainers++];
	*t = (struct gp_step_trainer){ .thread = thread, .is_worker = is_worker };
	return t;
}

static uint32_t bit_of(struct gp_step_updates *u, const char *name)
{
	uint64_t hash = gp_step_name_hash(name);
	unsigned k = 0;
	while (k < u->optimizers && u->optimizer[k] != hash)
		k++;
	if (k == GP_OPTIMIZERS_MOST)
		return 1u << (GP_OPTIMIZERS_MOST - 1);
	u->optimizer[k] = hash;
	u->optimizers += k == u->optimizers;
	return 1u << k;
}

static bool add_use(struct gp_step_updates *u, struct gp_step_trainer *t)
{
	if ((t->uses & (t->uses - 1)) == 0) {
		size_t room = t->uses > 0 ? t->uses * 2 : 1;
		struct gp_step_use *use = realloc(t->use, room * sizeof *use);
		if (use == NULL)
			return false;
		t->use = use;
	}
	t->use[t->uses++] = (struct gp_step_use){ 0 };
	u->has_use = true;
	return true;
}

static void wait_for_work(struct gp_step_updates *u, struct gp_step_trainer *t)
{
	u->waiting += !t->is_waiting;
	t->is_waiting = true;
}

/* `names` 0: cleared. `work`: what was done up to it. */
static bool add(struct gp_step_updates *u, struct gp_step_trainer *t, uint32_t names, uint64_t work,
		const struct gp_step_progress *now)
{
	bool has_backward = u->backwards > t->backwards, has_work = work > t->work;
	/* parameters that are updated while one backward goes on */
	bool is_same = t->is_waiting && t->is_worker && !has_backward;
	bool is_nothing = t->uses == 0 && names == 0 && !has_backward;
	if (!is_nothing && (t->uses == 0 || has_backward || (has_work && !is_same))) {
		if (!add_use(u, t))
			return false;
		struct gp_step_use *added = &t->use[t->uses - 1];
		added->work = work - t->work;
		added->has_backward = has_backward;
		added->behind = added->end = now->here;
		added->backwards = u->backwards;
		added->token = names != 0 ? t->begin_token : now->here.token;
		wait_for_work(u, t);
	}
	t->work = now->work;
	t->backwards = u->backwards;
	if (is_nothing)
		return true;
	struct gp_step_use *last = &t->use[t->uses - 1];
	last->backwards_behind = u->backwards;
	last->names |= names;
	last->optimized += names != 0 ? now->work - work : 0;
	if (names == 0)
		return true;
	last->behind = last->end = now->here;
	wait_for_work(u, t);
	return true;
}

void gp_step_updates_begin(struct gp_step_updates *u, const struct gp_step_progress *now)
{
	if (u->has_use)
		return;
	u->early[u->earlies % GP_EARLY_MARKS].place = now->here;
	u->early[u->earlies++ % GP_EARLY_MARKS].backwards = u->backwards;
}

bool gp_step_updates_optimizer(struct gp_step_updates *u, uint32_t thread, bool is_worker,
			       const char *name, const struct gp_step_progress *now)
{
	struct gp_step_trainer *t = trainer_get(u, thread, is_worker);
	if (t == NULL || t->depth++ > 0)
		return true;
	t->name = bit_of(u, name);
	t->has_closure = false;
	t->begin_work = now->work;
	t->begin_token = now->here.token;
	return true;
}

bool gp_step_updates_optimizer_end(struct gp_step_updates *u, uint32_t thread,
				   const struct gp_step_progress *now)
{
	struct gp_step_trainer *t = trainer_of(u, thread);
	if (t == NULL || t->depth == 0 || --t->depth > 0)
		return true;
	t->optimizers++;
	return add(u, t, t->name, t->has_closure ? now->work : t->begin_work, now);
}

bool gp_step_updates_zero_grad(struct gp_step_updates *u, uint32_t thread, bool is_worker,
			       const struct gp_step_progress *now)
{
	struct gp_step_trainer *t = trainer_get(u, thread, is_worker);
	if (t == NULL)
		return true;
	if (t->depth == 0)
		return add(u, t, 0, now->work, now);
	t->has_closure = true;
	return true;
}

void gp_step_updates_backward(struct gp_step_updates *u, bool is_worker)
{
	u->backwards_open++;
	/* one inside another: of what is computed again */
	u->backwards += !is_worker;
}

void gp_step_updates_backward_end(struct gp_step_updates *u)
{
	u->backwards_open -= u->backwards_open > 0;
}

void gp_step_updates_token(struct gp_step_updates *u, const struct gp_step_place *here)
{
	if (!u->has_use)
		u->work[u->works++ % GP_EARLY_WORK] = *here;
	for (unsigned k = 0; u->waiting > 0 && k < u->trainers; k++) {
		struct gp_step_trainer *t = &u->trainer[k];
		if (!t->is_waiting || (t->is_worker && u->backwards_open > 0))
			continue;
		t->use[t->uses - 1].behind = *here;
		t->is_waiting = false;
		u->waiting--;
	}
}

/* ---- at the end ---- */

static struct gp_step_trainer *choose(struct gp_step_updates *u)
{
	struct gp_step_trainer *chosen = &u->trainer[0];
	for (unsigned k = 1; k < u->trainers; k++)
		if (u->trainer[k].optimizers > chosen->optimizers)
			chosen = &u->trainer[k];
	return chosen;
}

/* How a use is told from one that belongs to the use before. */
struct rule {
	bool by_backward, needs_optimizer;
	uint64_t work; /* so much at least */
};

static bool is_update(const struct rule *rule, const struct gp_step_use *use)
{
	if (rule->needs_optimizer && use->names == 0)
		return false;
	return rule->by_backward ? use->has_backward : use->work > 0 && use->work >= rule->work;
}

/* *skipped: of them without an optimizer. */
static size_t count_updates(const struct gp_step_trainer *t, const struct rule *rule,
			    size_t *skipped)
{
	size_t n = 0;
	*skipped = 0;
	for (size_t k = 0; k < t->uses; k++) {
		bool is_one = is_update(rule, &t->use[k]);
		n += is_one;
		*skipped += is_one && t->use[k].names == 0;
	}
	return n;
}

/* What is usual, by the work itself: small pieces, however many, do not count. */
static uint64_t trifle(const struct gp_step_trainer *t)
{
	double sum = 0, squares = 0;
	for (size_t k = 0; k < t->uses; k++) {
		sum += (double)t->use[k].work;
		squares += (double)t->use[k].work * (double)t->use[k].work;
	}
	return sum > 0 ? (uint64_t)(squares / sum / TRIFLE) : 0;
}

static struct rule find_rule(const struct gp_step_trainer *t)
{
	struct rule by_work = { .needs_optimizer = true, .work = trifle(t) },
		    by_backward = { .by_backward = true };
	size_t skipped, of_work = count_updates(t, &by_work, &skipped),
			told = count_updates(t, &by_backward, &skipped);
	/* clearing gradients twice in a step is a way of training, too */
	by_backward.needs_optimizer = skipped * SKIPPED_MAX >= told;
	told = count_updates(t, &by_backward, &skipped);
	/* a graph that is replayed needs no engine */
	return told * 2 >= of_work ? by_backward : by_work;
}

/*
 * Joins the uses; what belongs to no update before it is left out, and is the last of that. Returns
 * how many remain.
 */
static size_t join(struct gp_step_trainer *t, const struct rule *rule, struct gp_step_use *left_out)
{
	size_t n = 0;
	for (size_t k = 0; k < t->uses; k++) {
		const struct gp_step_use use = t->use[k];
		if (is_update(rule, &use)) {
			t->use[n++] = use;
			continue;
		}
		if (n == 0 && use.names != 0)
			*left_out = use;
		if (n == 0 || use.names == 0)
			continue;
		t->use[n - 1].names |= use.names;
		t->use[n - 1].optimized += use.optimized;
		t->use[n - 1].backwards_behind = use.backwards_behind;
		t->use[n - 1].behind = use.behind;
		t->use[n - 1].end = use.end;
	}
	return n;
}

/* The optimizer that most updates have; of several the one that came first. 0: there is none. */
static uint32_t find_leader(const struct gp_step_trainer *t)
{
	size_t count[GP_OPTIMIZERS_MOST] = { 0 };
	unsigned leader = 0;
	for (size_t k = 0; k < t->uses; k++)
		for (unsigned bit = 0; bit < GP_OPTIMIZERS_MOST; bit++)
			count[bit] += t->use[k].names >> bit & 1;
	for (unsigned bit = 1; bit < GP_OPTIMIZERS_MOST; bit++)
		if (count[bit] > count[leader])
			leader = bit;
	return count[leader] > 0 ? 1u << leader : 0;
}

/*
 * A second model, whose optimizer has another name and steps in some turns: what it does belongs to
 * the turn. Not where one optimizer takes the place of the other.
 */
static size_t join_aside(struct gp_step_trainer *t)
{
	const uint32_t leader = find_leader(t);
	size_t n = 0;
	for (size_t k = 0; k < t->uses;) {
		size_t aside = 0;
		while (k + aside < t->uses && t->use[k + aside].names != 0 &&
		       (t->use[k + aside].names & leader) == 0)
			aside++;
		bool is_part = aside > 0 && aside <= ASIDE_MAX;
		if (is_part && n > 0) {
			const struct gp_step_use *last = &t->use[k + aside - 1];
			t->use[n - 1].names |= last->names;
			t->use[n - 1].backwards_behind = last->backwards_behind;
			t->use[n - 1].behind = last->behind;
			t->use[n - 1].end = last->end;
		}
		for (size_t j = 0; !is_part && j < aside; j++)
			t->use[n++] = t->use[k + j];
		k += aside;
		if (k < t->uses)
			t->use[n++] = t->use[k++];
	}
	return n;
}

/* What most updates have before their optimizer begins. */
struct usual {
	uint64_t tokens, backwards;
};

/* So much work before the first optimizer, or as much as is known. */
static struct gp_step_place find_work(const struct gp_step_updates *u,
				      const struct gp_step_use *first, uint64_t tokens)
{
	if (u->works == 0)
		return first->end;
	uint64_t kept = u->works < GP_EARLY_WORK ? u->works : GP_EARLY_WORK;
	uint64_t next = u->work[(u->works - 1) % GP_EARLY_WORK].token + 1;
	/* the optimizer's own work comes behind it */
	uint64_t before = tokens + (next > first->token ? next - first->token : 0);
	before = before < kept ? before : kept;
	return u->work[(u->works - (before > 0 ? before : 1)) % GP_EARLY_WORK];
}

/*
 * Where the framework did something, fetched data or cleared gradients, that has as many backwards
 * behind it as is usual, and about as much work: up to the first optimizer. NULL: nowhere.
 */
static const struct gp_step_place *find_begin(const struct gp_step_updates *u,
					      const struct gp_step_use *first,
					      const struct usual *usual)
{
	uint64_t oldest = u->earlies > GP_EARLY_MARKS ? u->earlies - GP_EARLY_MARKS : 0;
	uint64_t nearest = UINT64_MAX;
	const struct gp_step_place *found = NULL;
	for (uint64_t k = u->earlies; k-- > oldest;) {
		const struct gp_step_place *place = &u->early[k % GP_EARLY_MARKS].place;
		uint64_t behind = first->backwards - u->early[k % GP_EARLY_MARKS].backwards;
		if (place->token > first->token || behind < usual->backwards)
			continue;
		uint64_t tokens = first->token - place->token;
		uint64_t off = gp_distance(tokens, usual->tokens);
		if (off > nearest)
			continue;
		nearest = off;
		found = place;
	}
	return found;
}

/* One whose begin is no longer kept is left out, too. */
static void place_first(struct gp_step_updates *u, const struct gp_step_trainer *t,
			const struct gp_step_use *left_out, const struct usual *usual)
{
	struct gp_step_cut *first = &u->cuts.cut[0];
	if (left_out->names != 0) {
		first->begin = left_out->behind;
		return;
	}
	const struct gp_step_place *begin = find_begin(u, &t->use[0], usual);
	first->begin = begin != NULL ? *begin : find_work(u, &t->use[0], usual->tokens);
	uint64_t tokens = t->use[0].token - first->begin.token;
	if (u->is_cut && tokens * 100 < usual->tokens * WHOLE_PERCENT)
		memmove(first, first + 1, --u->cuts.cuts * sizeof *first);
}

static enum gp_status cut(struct gp_step_updates *u, const struct gp_step_trainer *t,
			  const struct gp_step_use *left_out)
{
	uint64_t *tokens = calloc(2 * t->uses, sizeof *tokens), *backwards = tokens + t->uses;
	u->cuts.cut = calloc(t->uses, sizeof *u->cuts.cut);
	u->cuts.cuts = t->uses;
	if (tokens == NULL || u->cuts.cut == NULL) {
		free(tokens);
		return GP_E_MEMORY;
	}
	for (size_t k = 0; k < t->uses; k++) {
		u->cuts.cut[k].end = t->use[k].end;
		u->cuts.cut[k].kind = t->use[k].optimized;
	}
	for (size_t k = 1; k < t->uses; k++) {
		const struct gp_step_use *use = &t->use[k], *before = &t->use[k - 1];
		u->cuts.cut[k].begin = before->behind;
		tokens[k - 1] =
			use->token > before->behind.token ? use->token - before->behind.token : 0;
		backwards[k - 1] = use->backwards - before->backwards_behind;
	}
	const struct usual usual = { gp_step_median(tokens, t->uses - 1),
				     gp_step_median(backwards, t->uses - 1) };
	free(tokens);
	place_first(u, t, left_out, &usual);
	return GP_OK;
}

enum gp_status gp_step_updates_settle(struct gp_step_updates *u)
{
	struct gp_step_trainer *t = choose(u);
	if (t->optimizers < UPDATES_MIN)
		return GP_OK;
	const struct rule rule = find_rule(t);
	u->is_told = rule.by_backward;
	struct gp_step_use left_out = { 0 };
	t->uses = join(t, &rule, &left_out);
	t->uses = join_aside(t);
	return t->uses >= UPDATES_MIN ? cut(u, t, &left_out) : GP_OK;
}

void gp_step_updates_free(struct gp_step_updates *u)
{
	for (unsigned k = 0; k < u->trainers; k++)
		free(u->trainer[k].use);
	free(u->cuts.cut);
}
