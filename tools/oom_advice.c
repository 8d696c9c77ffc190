/*
 * What to change after an out-of-memory event, ordered by what it costs the user: settings, then
 * what else runs there, then the job's configuration, then its code. Advice on code names a line
 * where one is recorded. No advice is given that the figures contradict.
 */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "amount.h"
#include "oom_answer.h"
#include "report.h"

#define FRACTION_PARTS 10000u
#define LINE_COLUMNS 81u  /* of an advice, behind its number and cost */
#define HOLDERS_TRIED 20u /* groups, most bytes first, of which the first with a line counts */

struct advising {
	const struct gp_oom_report *r;
	const struct gp_oom *oom;
	const struct gp_oom_case *c;
	struct gp_oom_answer *a;
	const struct gp_leak *leak; /* that may explain it; NULL: none */
	bool is_leak_sure;	    /* it does; else it may be activations of one forward pass */
	bool is_of_optimizer;	    /* which asked for its states */
};

/* ---- who ---- */

static void who_frame(const struct gp_frame *frame, char *out, size_t room)
{
	char name[GP_NAME_MAX] = "";
	const char *file = frame->file ? strrchr(frame->file, '/') : NULL;
	file = file ? file + 1 : frame->file;
	if (frame->function)
		gp_short_name(frame->function, name, sizeof name);
	if (file && frame->line)
		snprintf(out, room, "%s:%u %s", file, frame->line, name);
	else
		snprintf(out, room, "%s", name);
}

static bool who_is_same_module(const struct gp_frame *a, const struct gp_frame *b)
{
	return a->module && b->module && strcmp(a->module, b->module) == 0;
}

/* The caller of the user's frame: a helper's line alone does not tell which call it was. */
static const struct gp_frame *who_caller(const struct gp_frame *frame, size_t frames, size_t user)
{
	for (size_t k = user + 1; k < frames; k++) {
		if (frame[k].is_python != frame[user].is_python || !frame[k].function ||
		    (frame[user].is_user && !frame[k].is_user))
			continue;
		/* what starts a program is not the user's */
		return frame[k].is_python || who_is_same_module(&frame[k], &frame[user]) ?
			       &frame[k] :
			       NULL;
	}
	return NULL;
}

bool gp_oom_who(struct gp_recording *recording, uint32_t stack, int64_t at_ns,
		char out[GP_OOM_WHO_MAX])
{
	struct gp_stack s;
	struct gp_frame frame[GP_FRAMES_MAX];
	struct gp_names names;
	char user[GP_OOM_WHO_MAX / 2 - 2], caller[GP_OOM_WHO_MAX / 2 - 2] = "";
	out[0] = '\0';
	if (!stack || !gp_recording_stack(recording, stack, at_ns, GP_STACK_SYMBOLS, &s, frame,
					  GP_FRAMES_MAX))
		return false;
	gp_recording_names(recording, frame, s.frames, &names);
	if (names.user == SIZE_MAX || !frame[names.user].function)
		return false;
	who_frame(&frame[names.user], user, sizeof user);
	const struct gp_frame *by = who_caller(frame, s.frames, names.user);
	if (by)
		who_frame(by, caller, sizeof caller);
	snprintf(out, GP_OOM_WHO_MAX, "%s%s%s", user, *caller ? " < " : "", caller);
	return true;
}

/* ---- the list ---- */

static struct gp_oom_advice *advice_add(struct advising *g, const char *change,
					enum gp_oom_cost cost, bool is_sure, uint64_t bytes)
{
	static struct gp_oom_advice beyond;
	struct gp_oom_answer *a = g->a;
	struct gp_oom_advice *v =
		a->advices < GP_OOM_ADVICE_MOST ? &a->advice[a->advices++] : &beyond;
	*v = (struct gp_oom_advice){
		.change = change, .cost = cost, .is_sure = is_sure, .bytes = bytes
	};
	return v;
}

/*
 * Where the line would be too long: without the caller's file, if it is the same, or without the
 * caller. "a.py:9 f < :4 g" is such a text.
 */
static const char *who_short(const char *who, size_t others, char out[GP_OOM_WHO_MAX])
{
	const char *caller = strstr(who, " < ");
	snprintf(out, GP_OOM_WHO_MAX, "%s", who);
	if (!caller || strlen(who) + others <= LINE_COLUMNS)
		return out;
	const size_t file = strcspn(who, ":"), name = (size_t)(caller - who);
	bool is_same = file < name && strncmp(caller + 3, who, file + 1) == 0;
	snprintf(out + name, GP_OOM_WHO_MAX - name, " < %s", caller + 3 + (is_same ? file : 0));
	if (strlen(out) + others > LINE_COLUMNS)
		out[name] = '\0';
	return out;
}

#define BRIEF(v, ...) snprintf((v)->brief, sizeof(v)->brief, __VA_ARGS__)
#define TEXT(v, ...) snprintf((v)->text, sizeof(v)->text, __VA_ARGS__)

static void no_help_add(struct gp_oom_answer *a, const char *change, const char *text)
{
	if (a->no_helps == GP_OOM_NO_HELP_MOST)
		return;
	struct gp_oom_no_help *n = &a->no_help[a->no_helps++];
	n->change = change;
	snprintf(n->text, sizeof n->text, "%s", text);
}

static const struct gp_oom_help *help_of(const struct advising *g, enum gp_help help)
{
	for (size_t k = 0; k < g->c->helps; k++)
		if (g->c->help[k].help == help && g->c->help[k].is_enough)
			return &g->c->help[k];
	return NULL;
}

/* ---- settings ---- */

#define CONF "PYTORCH_CUDA_ALLOC_CONF"

static void advise_expandable(struct advising *g, const struct gp_oom_help *h)
{
	struct gp_oom_advice *v =
		advice_add(g, gp_help_names[h->help], GP_OOM_COST_SETTING, !h->is_bound, h->bytes);
	snprintf(v->setting, sizeof v->setting, "expandable_segments:True");
	BRIEF(v, "expandable_segments:True");
	TEXT(v, "%s=%s makes up to %s usable", CONF, v->setting, gp_bytes_text(h->bytes).s);
}

static void advise_max_split(struct advising *g, const struct gp_oom_help *h)
{
	struct gp_oom_advice *v =
		advice_add(g, gp_help_names[h->help], GP_OOM_COST_SETTING, !h->is_bound, h->bytes);
	snprintf(v->setting, sizeof v->setting, "max_split_size_mb:%" PRIu64, g->oom->bytes >> 20);
	BRIEF(v, "%s", v->setting);
	TEXT(v, "%s=%s keeps %s whole", CONF, v->setting, gp_plural(h->count, "segment").s);
}

static void advise_rounding(struct advising *g, const struct gp_oom_help *h)
{
	struct gp_oom_advice *v =
		advice_add(g, gp_help_names[h->help], GP_OOM_COST_SETTING, !h->is_bound, h->bytes);
	if (h->help == GP_HELP_LESS_ROUNDING) {
		BRIEF(v, "no roundup_power2_divisions");
		TEXT(v, "remove roundup_power2_divisions from %s: it adds up to %s", CONF,
		     gp_bytes_text(h->bytes).s);
		return;
	}
	snprintf(v->setting, sizeof v->setting, "roundup_power2_divisions:%" PRIu64, h->count);
	BRIEF(v, "%s", v->setting);
	TEXT(v, "%s=%s: the largest place is %s too short", CONF, v->setting,
	     gp_bytes_text(h->bytes).s);
}

/* The limit as the job set it: a call, or a setting of the allocator. */
static void put_fraction(const struct advising *g, uint64_t parts, struct gp_oom_advice *v)
{
	const char *conf = g->r->info->alloc_conf;
	bool is_set = conf && strstr(conf, "per_process_memory_fraction:");
	snprintf(v->setting, sizeof v->setting,
		 "%sper_process_memory_fraction%s%" PRIu64 ".%04" PRIu64 "%s", is_set ? "" : "set_",
		 is_set ? ":" : "(", parts / FRACTION_PARTS, parts % FRACTION_PARTS,
		 is_set ? "" : ")");
}

static void advise_limit(struct advising *g, const struct gp_oom_help *h)
{
	uint64_t total = g->c->frag.device->total_bytes;
	uint64_t parts = total ? (h->bytes * FRACTION_PARTS + total - 1) / total : 0;
	struct gp_oom_advice *v =
		advice_add(g, gp_help_names[h->help], GP_OOM_COST_SETTING, !h->is_bound, h->bytes);
	if (total && h->bytes <= total)
		put_fraction(g, parts, v);
	const struct gp_oom_facts *f = &g->c->facts;
	if (f->is_limit_told && f->limit_bytes < h->bytes) {
		uint64_t more = h->bytes - f->limit_bytes;
		BRIEF(v, "a limit %s higher", gp_bytes_text(more).s);
		TEXT(v, "raise the limit by %s%s%s", gp_bytes_text(more).s, *v->setting ? ": " : "",
		     v->setting);
		return;
	}
	BRIEF(v, "a limit of %s", gp_bytes_text(h->bytes).s);
	TEXT(v, "raise the limit to %s%s%s", gp_bytes_text(h->bytes).s, *v->setting ? ": " : "",
	     v->setting);
}

static void advise_settings(struct advising *g)
{
	static const enum gp_help allocators[] = { GP_HELP_EXPANDABLE, GP_HELP_ROUND_SIZES,
						   GP_HELP_MAX_SPLIT, GP_HELP_LESS_ROUNDING };
	const struct gp_oom_help *h;
	for (size_t k = 0; k < sizeof allocators / sizeof *allocators && !g->a->advices; k++) {
		if (!(h = help_of(g, allocators[k])))
			continue;
		if (h->help == GP_HELP_EXPANDABLE)
			advise_expandable(g, h);
		else if (h->help == GP_HELP_MAX_SPLIT)
			advise_max_split(g, h);
		else
			advise_rounding(g, h);
	}
	h = help_of(g, GP_HELP_LIMIT);
	if (h && !g->is_leak_sure)
		advise_limit(g, h);
}

/* ---- others, and the configuration ---- */

static void advise_others(struct advising *g)
{
	const struct gp_oom_help *h = help_of(g, GP_HELP_OTHER);
	if (!h)
		return;
	struct gp_oom_advice *v = advice_add(g, gp_help_names[h->help], GP_OOM_COST_ENVIRONMENT,
					     true, g->c->finding.missing_bytes);
	BRIEF(v, "stop other processes");
	TEXT(v, "stop other processes (nvidia-smi lists them) that use at least %s",
	     gp_bytes_text(v->bytes).s);
}

/* The driver refuses some of what it counts as free, and gives whole segments. */
static uint64_t less_bytes(const struct advising *g, const struct gp_oom_help *h)
{
	uint64_t bytes = (h->bytes + (2u << 20) - 1) & ~(uint64_t)((2u << 20) - 1);
	return g->c->facts.was_refused && !h->is_bound ? bytes + GP_KEPT_BY_DRIVER : bytes;
}

static bool is_beyond_device(const struct advising *g)
{
	uint64_t total = g->c->frag.device->total_bytes;
	return total && g->oom->bytes > total;
}

static const char *share_text(uint64_t part, uint64_t all, char out[16])
{
	double percent = 100.0 * (double)part / (double)all;
	snprintf(out, 16, percent < 0.05 ? "<0.1%%" : "%.1f%%", percent);
	return out;
}

static void advise_batch(struct advising *g)
{
	const struct gp_oom_facts *f = &g->c->facts;
	const struct gp_oom_help *h = help_of(g, GP_HELP_LESS);
	struct gp_oom_advice *v;
	char share[16];
	/* no batch is as small as that: it asks for a size that was not meant */
	if (is_beyond_device(g))
		return;
	if (h && g->is_of_optimizer) {
		v = advice_add(g, "less_state", GP_OOM_COST_CONFIGURATION, true, less_bytes(g, h));
		BRIEF(v, "less optimizer state");
		TEXT(v,
		     "an optimizer with %s less state, or one that shares it among GPUs (ZeRO, "
		     "FSDP)",
		     gp_bytes_text(v->bytes).s);
		return;
	}
	if (h && !g->is_leak_sure) {
		uint64_t bytes = less_bytes(g, h), all = f->allocated_bytes + f->bytes;
		v = advice_add(g, gp_help_names[h->help], GP_OOM_COST_CONFIGURATION, true, bytes);
		BRIEF(v, "smaller batch: %s less", gp_bytes_text(bytes).s);
		if (g->a->is_framework)
			TEXT(v, "a smaller batch: %s (%s) less than the %s used and requested",
			     gp_bytes_text(bytes).s, share_text(bytes, all, share),
			     gp_bytes_text(all).s);
		else
			TEXT(v, "a smaller batch: %s less in use, then empty_cache()",
			     gp_bytes_text(bytes).s);
		return;
	}
	h = help_of(g, GP_HELP_SMALLER);
	if (!h || g->is_leak_sure)
		return;
	uint64_t most = h->bytes;
	if (h->is_bound)
		most -= most < GP_KEPT_BY_DRIVER ? most : GP_KEPT_BY_DRIVER;
	/* in more than four parts it is another job */
	if (most < g->oom->bytes / 4)
		return;
	v = advice_add(g, gp_help_names[h->help], GP_OOM_COST_CONFIGURATION, true, most);
	BRIEF(v, "request at most %s", gp_bytes_text(most).s);
	TEXT(v, "a smaller batch, or parts: a request of at most %s is served",
	     gp_bytes_text(most).s);
}

/* ---- code ---- */

static void advise_leak(struct advising *g)
{
	const struct gp_leak *l = g->leak;
	char who[GP_OOM_WHO_MAX], shorter[GP_OOM_WHO_MAX];
	if (!l)
		return;
	uint64_t pace = (uint64_t)gp_rate_bytes(l->bytes_per_step);
	bool is_named = gp_oom_who(g->r->recording, l->stack, l->at_ns, who);
	const char *unit = g->r->leaks.window_ns ? "window" : "step";
	if (g->is_leak_sure)
		snprintf(g->a->leak, sizeof g->a->leak,
			 "%s more each %s since %s %zu; %s in total%s", gp_bytes_text(pace).s, unit,
			 unit, l->since_step, gp_bytes_text(l->live_bytes).s,
			 is_named ? "" : ", by a line that was not recorded");
	else
		snprintf(g->a->leak, sizeof g->a->leak,
			 "perhaps: %s more each %s from %s; else activations",
			 gp_bytes_text(pace).s, unit,
			 is_named ? who_short(who, 48, shorter) : "an unrecorded line");
	struct gp_oom_advice *v = advice_add(g, "stop_leak", GP_OOM_COST_CODE, true, l->live_bytes);
	snprintf(v->who, sizeof v->who, "%s", who);
	BRIEF(v, "stop a leak: %s a %s", gp_bytes_text(pace).s, unit);
	if (is_named)
		TEXT(v, "do not keep what %s allocates%s", who_short(who, 40, shorter),
		     g->is_leak_sure ? "" : ", if it is a leak");
	else
		TEXT(v, "stop the growth from %s to %s; a recording with stacks names the line",
		     unit, unit);
}

/*
 * The largest holder with a line: of the framework's blocks, or of what lies outside of it.
 * `bytes` 0: there is none.
 */
static enum gp_status find_holder(struct advising *g, bool is_outside, uint64_t *bytes,
				  char who[GP_OOM_WHO_MAX])
{
	const struct gp_grouping how = { .by = GP_BY_STACK };
	const struct gp_oom_case *c = g->c;
	struct gp_groups groups;
	size_t uses = 0;
	*bytes = 0;
	struct gp_use *use = calloc(c->uses + 1, sizeof *use);
	if (!use)
		return GP_E_MEMORY;
	for (size_t k = 0; k < c->uses; k++)
		if (c->use[k].bytes && (c->use[k].space != GP_SPACE_BLOCK) == is_outside)
			use[uses++] = c->use[k];
	enum gp_status status = gp_groups_build(g->r->recording, use, uses, &how, &groups);
	free(use);
	if (status)
		return status;
	for (size_t k = 0; k < groups.groups && k < HOLDERS_TRIED && !*bytes; k++) {
		const struct gp_use *held = &groups.group[k].use;
		if (gp_oom_who(g->r->recording, held->stack, held->at_ns, who))
			*bytes = held->bytes;
	}
	gp_groups_free(&groups);
	return GP_OK;
}

static enum gp_status advise_outside(struct advising *g)
{
	const struct gp_oom_help *h = help_of(g, GP_HELP_OUTSIDE);
	char who[GP_OOM_WHO_MAX] = "", shorter[GP_OOM_WHO_MAX];
	uint64_t bytes;
	if (!h)
		return GP_OK;
	enum gp_status status = find_holder(g, true, &bytes, who);
	bool is_named = bytes >= g->c->finding.missing_bytes && bytes;
	struct gp_oom_advice *v = advice_add(g, gp_help_names[h->help], GP_OOM_COST_CODE, true,
					     g->c->finding.missing_bytes);
	BRIEF(v, "less outside PyTorch");
	if (is_named) {
		snprintf(v->who, sizeof v->who, "%s", who);
		TEXT(v, "free or shrink the %s outside PyTorch from %s", gp_bytes_text(bytes).s,
		     who_short(who, 48, shorter));
	} else {
		TEXT(v, "use less memory outside PyTorch, for example of a library: it took %s",
		     gp_bytes_text(h->bytes).s);
	}
	return status;
}

/* Memory that could have been free already: what is missing, of a holder whose line is known. */
static enum gp_status advise_holder(struct advising *g)
{
	uint64_t missing = g->c->finding.missing_bytes, bytes;
	char who[GP_OOM_WHO_MAX], shorter[GP_OOM_WHO_MAX];
	const struct gp_oom_help *h = help_of(g, GP_HELP_LESS);
	if (!h || g->leak || h->is_bound || is_beyond_device(g))
		return GP_OK;
	enum gp_status status = find_holder(g, false, &bytes, who);
	if (status || bytes < missing)
		return status;
	uint64_t less = less_bytes(g, h);
	struct gp_oom_advice *v = advice_add(g, "free_held", GP_OOM_COST_CODE, true, less);
	snprintf(v->who, sizeof v->who, "%s", who);
	BRIEF(v, "free %s earlier", gp_bytes_text(less).s);
	TEXT(v, "free or offload %s of the %s from %s", gp_bytes_text(less).s,
	     gp_bytes_text(bytes).s, who_short(who, 42, shorter));
	return GP_OK;
}

static void advise_cache(struct advising *g)
{
	const struct gp_oom_help *h = help_of(g, GP_HELP_EMPTY_CACHE);
	if (!h)
		return;
	struct gp_oom_advice *v =
		advice_add(g, gp_help_names[h->help], GP_OOM_COST_CODE, true, h->bytes);
	char shorter[GP_OOM_WHO_MAX];
	snprintf(v->who, sizeof v->who, "%s", g->a->asker);
	BRIEF(v, "empty_cache() before it");
	TEXT(v, "torch.cuda.empty_cache() before %s: it returns %s",
	     *v->who ? who_short(v->who, 52, shorter) : "it", gp_bytes_text(h->bytes).s);
}

static void advise_streams(struct advising *g)
{
	const struct gp_oom_help *h = help_of(g, GP_HELP_STREAMS);
	const uint64_t *cause = g->c->frag.cause_bytes;
	if (!h)
		return;
	struct gp_oom_advice *v =
		advice_add(g, gp_help_names[h->help], GP_OOM_COST_CODE, !h->is_bound, h->bytes);
	if (cause[GP_CAUSE_PRIVATE] > cause[GP_CAUSE_STREAM]) {
		BRIEF(v, "share one pool");
		TEXT(v,
		     "let graphs share one pool, or delete those that are done: %s are cached "
		     "in private pools",
		     gp_bytes_text(cause[GP_CAUSE_PRIVATE]).s);
		return;
	}
	BRIEF(v, "allocate on one stream");
	TEXT(v, "allocate both on one stream: %s are cached for others", gp_bytes_text(h->bytes).s);
}

/* All blocks of a set are of one line. */
static bool is_of_one_line(struct advising *g, const struct gp_block_set *set, char *who)
{
	const struct gp_memory *m = &g->c->memory;
	if (!set->is_found || !set->blocks)
		return false;
	for (size_t k = 1; k < set->blocks; k++)
		if (m->block[set->block[k]].stack != m->block[set->block[0]].stack)
			return false;
	const struct gp_memory_block *b = &m->block[set->block[0]];
	return gp_oom_who(g->r->recording, b->stack, b->at_ns, who);
}

static void advise_blocks(struct advising *g)
{
	char who[GP_OOM_WHO_MAX], shorter[GP_OOM_WHO_MAX];
	for (size_t k = 0; k < g->c->helps; k++) {
		const struct gp_oom_help *h = &g->c->help[k];
		bool is_beside = h->help == GP_HELP_FREE_NEIGHBOURS;
		if ((!is_beside && h->help != GP_HELP_FREE_SEGMENTS) || g->c->finding.missing_bytes)
			continue;
		/* it costs more than it brings: only where the figures support no other change */
		if (h->bytes > g->oom->bytes && g->a->advices)
			continue;
		if (!is_of_one_line(
			    g, is_beside ? &g->c->frag.fit.in_place : &g->c->frag.fit.by_emptying,
			    who))
			continue;
		struct gp_oom_advice *v =
			advice_add(g, gp_help_names[h->help], GP_OOM_COST_CODE, true, h->bytes);
		snprintf(v->who, sizeof v->who, "%s", who);
		BRIEF(v, "free %s earlier", gp_plural(h->count, "block").s);
		TEXT(v, "free %s (%s) between gaps, from %s", gp_plural(h->count, "block").s,
		     gp_bytes_text(h->bytes).s, who_short(who, 42, shorter));
		return;
	}
}

static void advise_size(struct advising *g)
{
	uint64_t total = g->c->frag.device->total_bytes;
	char shorter[GP_OOM_WHO_MAX];
	if (!is_beyond_device(g))
		return;
	struct gp_oom_advice *v =
		advice_add(g, gp_help_names[GP_HELP_SMALLER], GP_OOM_COST_CODE, false, total);
	snprintf(v->who, sizeof v->who, "%s", g->a->asker);
	BRIEF(v, "check the size");
	TEXT(v, "check the size that %s requests: it is larger than the GPU",
	     *v->who ? who_short(v->who, 57, shorter) : "the job");
	snprintf(g->a->cause, sizeof g->a->cause,
		 "capacity: the request is larger than the GPU's %s", gp_bytes_text(total).s);
}

static enum gp_status advise_code(struct advising *g)
{
	advise_size(g);
	advise_leak(g);
	advise_cache(g);
	enum gp_status status = advise_outside(g);
	if (!status)
		status = advise_holder(g);
	advise_streams(g);
	advise_blocks(g);
	return status;
}

/* ---- what will not help ---- */

/* The request lacks room for its own bytes, not only for the segment that it would take. */
static bool is_pure_lack(const struct gp_oom_case *c)
{
	uint64_t rounding = c->facts.driver_bytes - c->facts.bytes;
	uint64_t missing = c->finding.missing_bytes;
	return missing != GP_BYTES_UNKNOWN && missing > rounding;
}

static void list_no_helps(struct advising *g)
{
	const struct gp_oom_case *c = g->c;
	struct gp_oom_answer *a = g->a;
	if (g->is_leak_sure)
		no_help_add(a, "less_in_use", "a smaller batch, a higher limit (they delay it)");
	if (g->is_of_optimizer && help_of(g, GP_HELP_LESS))
		no_help_add(a, "less_in_use", "a smaller batch (the optimizer's states stay)");
	if (a->is_framework)
		no_help_add(a, "empty_cache", "empty_cache() (PyTorch did that already)");
	else if (a->verdict == GP_VERDICT_CAPACITY)
		no_help_add(a, "empty_cache", "empty_cache() alone (it returns too little)");
	if (!a->is_framework || g->r->settings.is_expandable || help_of(g, GP_HELP_EXPANDABLE))
		return;
	if (a->verdict == GP_VERDICT_FRAGMENTATION)
		no_help_add(a, "expandable_segments",
			    "expandable_segments (its pages stay in use)");
	else if (is_pure_lack(c))
		no_help_add(a, "expandable_segments", "expandable_segments (no fragmentation)");
}

/* ---- all ---- */

static bool is_of_optimizer(const struct gp_oom_report *r, const struct gp_oom *o)
{
	struct gp_stack s;
	struct gp_frame frame[GP_FRAMES_MAX];
	return o->stack &&
	       gp_recording_stack(r->recording, o->stack, o->at_ns, GP_STACK_SYMBOLS, &s, frame,
				  GP_FRAMES_MAX) &&
	       gp_frames_are_of_optimizer(frame, s.frames);
}

enum gp_status gp_oom_advise(const struct gp_oom_report *r, const struct gp_oom *o,
			     const struct gp_oom_case *c, struct gp_oom_answer *a)
{
	/* in the order of enum gp_oom_cost */
	struct advising g = { .r = r, .oom = o, .c = c, .a = a };
	g.leak = gp_oom_leak_find(r, o, c);
	g.is_leak_sure = g.leak && !g.leak->may_be_activations;
	g.is_of_optimizer = is_of_optimizer(r, o);
	advise_settings(&g);
	advise_others(&g);
	advise_batch(&g);
	enum gp_status status = advise_code(&g);
	list_no_helps(&g);
	return status;
}
