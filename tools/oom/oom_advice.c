/*
 * What to change after an OOM. Order: sure help before possible help, then what removes the cause,
 * then by cost to the user: settings, other processes, the job's configuration, its code. Advice on
 * code names a line if one is recorded. Advice never contradicts the figures.
 */
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "../io/amount.h"
#include "../report/report.h"
#include "oom_answer.h"

#define FRACTION_PARTS 10000u /* resolution of a limit that is given as a fraction */

struct advising {
	const struct gp_oom_report *r;
	const struct gp_oom *oom;
	const struct gp_oom_case *c;
	struct gp_oom_answer *a;
	struct gp_leaks leaks;	    /* of the recording up to that moment */
	const struct gp_leak *leak; /* a leak that may explain the OOM; NULL: none */
	bool is_leak_sure;	    /* else it may be activations of a forward pass */
	bool is_of_optimizer;	    /* the request is for the optimizer's states */
};

/* ---- the list ---- */

/* Adds advice on the line to change; NULL: none. */
static struct gp_oom_advice *advice_add(struct advising *g, const char *change,
					enum gp_oom_cost cost, bool is_sure, uint64_t bytes,
					const char *site)
{
	static struct gp_oom_advice beyond;
	struct gp_oom_answer *a = g->a;
	struct gp_oom_advice *v =
		a->advices < GP_OOM_ADVICE_MOST ? &a->advice[a->advices++] : &beyond;
	*v = (struct gp_oom_advice){
		.change = change, .cost = cost, .is_sure = is_sure, .bytes = bytes
	};
	snprintf(v->site, sizeof v->site, "%s", site ? site : "");
	return v;
}

/* Sure if the help is sure. */
static struct gp_oom_advice *advice_of(struct advising *g, const struct gp_oom_help *h,
				       enum gp_oom_cost cost)
{
	return advice_add(g, gp_help_names[h->help], cost, !h->is_bound, h->bytes, NULL);
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
	struct gp_oom_advice *v = advice_of(g, h, GP_OOM_COST_SETTING);
	snprintf(v->setting, sizeof v->setting, "expandable_segments:True");
	BRIEF(v, "expandable_segments:True");
	TEXT(v, "%s=%s may make %s usable (%s needed)", CONF, v->setting, gp_bytes_text(h->bytes).s,
	     gp_bytes_text(g->oom->bytes).s);
}

static void advise_max_split(struct advising *g, const struct gp_oom_help *h)
{
	struct gp_oom_advice *v = advice_of(g, h, GP_OOM_COST_SETTING);
	snprintf(v->setting, sizeof v->setting, "max_split_size_mb:%" PRIu64, g->oom->bytes >> 20);
	BRIEF(v, "%s", v->setting);
	TEXT(v, "%s=%s may keep %s whole", CONF, v->setting, gp_plural(h->count, "segment").s);
}

static void advise_rounding(struct advising *g, const struct gp_oom_help *h)
{
	struct gp_oom_advice *v = advice_of(g, h, GP_OOM_COST_SETTING);
	if (h->help == GP_HELP_LESS_ROUNDING) {
		BRIEF(v, "no roundup_power2_divisions");
		TEXT(v, "remove roundup_power2_divisions from %s: it adds up to %s", CONF,
		     gp_bytes_text(h->bytes).s);
		return;
	}
	snprintf(v->setting, sizeof v->setting, "roundup_power2_divisions:%" PRIu64, h->count);
	BRIEF(v, "%s", v->setting);
	TEXT(v, "%s=%s may help: the largest place is %s too short", CONF, v->setting,
	     gp_bytes_text(h->bytes).s);
}

/*
 * The setting for a limit of `bytes` in the form that the job uses, and the fraction of its present
 * limit. "": unknown.
 */
static void limit_setting(const struct advising *g, uint64_t bytes,
			  char setting[GP_OOM_SETTING_MAX], char old[GP_OOM_SETTING_MAX])
{
	const uint64_t total = g->c->frag.device->total_bytes, limit = g->c->facts.limit_bytes;
	const char *conf = g->r->info->alloc_conf;
	const bool is_set = conf && strstr(conf, "per_process_memory_fraction:");
	setting[0] = old[0] = '\0';
	if (!total || bytes > total)
		return;
	/* one part more than needed, to leave some room */
	uint64_t parts = (uint64_t)ceil((double)bytes / (double)total * FRACTION_PARTS) + 1;
	parts = parts < FRACTION_PARTS ? parts : FRACTION_PARTS;
	snprintf(setting, GP_OOM_SETTING_MAX, "%s%.4f%s",
		 is_set ? "per_process_memory_fraction:" :
			  "torch.cuda.set_per_process_memory_fraction(",
		 (double)parts / FRACTION_PARTS, is_set ? "" : ")");
	if (g->c->facts.is_limit_reported && limit != GP_BYTES_UNKNOWN)
		snprintf(old, GP_OOM_SETTING_MAX, "%.3g", (double)limit / (double)total);
}

static void advise_limit(struct advising *g, const struct gp_oom_help *h)
{
	const struct gp_oom_facts *f = &g->c->facts;
	char old[GP_OOM_SETTING_MAX];
	struct gp_oom_advice *v = advice_of(g, h, GP_OOM_COST_SETTING);
	limit_setting(g, h->bytes, v->setting, old);
	if (!*old) {
		BRIEF(v, "a limit of %s", gp_bytes_text(h->bytes).s);
		TEXT(v, "raise the limit to %s%s%s", gp_bytes_text(h->bytes).s,
		     *v->setting ? ": " : "", v->setting);
		return;
	}
	/* a new segment fits, but fragmentation stays */
	if (g->a->verdict == GP_VERDICT_LIMIT)
		BRIEF(v, "a limit %s higher", gp_bytes_text(h->bytes - f->limit_bytes).s);
	else
		BRIEF(v, "a higher limit (workaround)");
	TEXT(v, "%s instead of %s%s", v->setting, old,
	     g->a->verdict == GP_VERDICT_LIMIT ? "" : " (workaround)");
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

/* ---- other processes, and the configuration ---- */

static void advise_others(struct advising *g)
{
	const struct gp_oom_help *h = help_of(g, GP_HELP_OTHER);
	if (!h)
		return;
	struct gp_oom_advice *v = advice_add(g, gp_help_names[h->help], GP_OOM_COST_ENVIRONMENT,
					     true, g->c->finding.missing_bytes, NULL);
	BRIEF(v, "stop other processes");
	TEXT(v, "stop other processes that hold %s or more (nvidia-smi lists them)",
	     gp_at_least_text(v->bytes).s);
}

static bool is_beyond_device(const struct advising *g)
{
	uint64_t total = g->c->frag.device->total_bytes;
	return total && g->oom->bytes > total;
}

/* The largest request that is served; NULL: unknown, or too small to be the same job. */
static const struct gp_oom_help *smaller_of(const struct advising *g)
{
	const struct gp_oom_help *h = help_of(g, GP_HELP_SMALLER);
	return h && h->bytes >= g->oom->bytes / 4 ? h : NULL;
}

/* "43.1 GiB or less", a size for the request. Gives the difference where three digits hide it. */
static struct gp_text smaller_size(const struct advising *g, const struct gp_oom_help *h)
{
	const uint64_t requested = g->oom->bytes;
	const bool is_near = strcmp(gp_bytes_text(h->bytes).s, gp_bytes_text(requested).s) == 0;
	struct gp_text t =
		is_near ? gp_at_least_text(requested - h->bytes) : gp_at_most_text(h->bytes);
	const size_t used = strlen(t.s);
	snprintf(t.s + used, sizeof t.s - used, is_near ? " smaller" : " or less");
	return t;
}

static void advise_smaller(struct advising *g)
{
	const struct gp_oom_help *h = smaller_of(g);
	if (!h)
		return;
	struct gp_oom_advice *v = advice_of(g, h, GP_OOM_COST_CONFIGURATION);
	const struct gp_text size = smaller_size(g, h);
	BRIEF(v, "request: %s", size.s);
	TEXT(v, "make the request %s (%s)", size.s,
	     g->a->is_framework ? "smaller batch" : "a smaller buffer");
}

/*
 * A smaller batch. Outside PyTorch the driver gets what PyTorch frees; in PyTorch the request
 * shrinks.
 */
static void advise_less(struct advising *g, const struct gp_oom_help *h)
{
	const struct gp_oom_facts *f = &g->c->facts;
	const struct gp_oom_help *smaller = smaller_of(g);
	struct gp_text less = gp_at_least_text(h->bytes);
	if (!g->a->is_framework && f->allocated_bytes < h->bytes)
		return;
	struct gp_oom_advice *v = advice_of(g, h, GP_OOM_COST_CONFIGURATION);
	BRIEF(v, "smaller batch: %s less", less.s);
	if (!g->a->is_framework) {
		TEXT(v, "use %s less of PyTorch's %s, then call torch.cuda.empty_cache()", less.s,
		     gp_bytes_text(f->allocated_bytes).s);
	} else if (smaller) {
		TEXT(v, "make the request %s, or use %s less (smaller batch)",
		     smaller_size(g, smaller).s, less.s);
	} else {
		TEXT(v, "use %s less of the %s used and requested (smaller batch)", less.s,
		     gp_bytes_text(f->allocated_bytes + f->bytes).s);
	}
}

static void advise_batch(struct advising *g)
{
	const struct gp_oom_help *h = help_of(g, GP_HELP_LESS);
	/* no smaller batch helps: the size is probably a mistake, or the leak grows */
	if (is_beyond_device(g) || (g->is_leak_sure && !g->is_of_optimizer))
		return;
	if (h && g->is_of_optimizer) {
		struct gp_oom_advice *v = advice_add(g, "less_state", GP_OOM_COST_CONFIGURATION,
						     true, h->bytes, NULL);
		BRIEF(v, "less optimizer state");
		TEXT(v,
		     "an optimizer with %s less state, or one that shares it among GPUs (ZeRO, "
		     "FSDP)",
		     gp_at_least_text(v->bytes).s);
		return;
	}
	if (h)
		advise_less(g, h);
	if (g->a->verdict != GP_VERDICT_CACHE && (!h || !g->a->is_framework))
		advise_smaller(g);
}

/* ---- code ---- */

static void advise_leak(struct advising *g)
{
	const struct gp_leak *l = g->leak;
	char site[GP_OOM_SITE_MAX], shorter[GP_OOM_SITE_MAX];
	if (!l)
		return;
	uint64_t pace = (uint64_t)gp_rate_bytes(l->bytes_per_step);
	bool is_named = gp_oom_site(g->r->recording, l->stack, l->at_ns, site);
	const char *unit = g->leaks.window_ns ? "window" : "step";
	if (g->is_leak_sure)
		snprintf(g->a->leak, sizeof g->a->leak,
			 "%s more each %s since %s %zu; %s in total%s", gp_bytes_text(pace).s, unit,
			 unit, l->since_step, gp_bytes_text(l->live_bytes).s,
			 is_named ? "" : ", by a line that was not recorded");
	else
		snprintf(g->a->leak, sizeof g->a->leak,
			 "perhaps: %s more each %s from %s; else activations",
			 gp_bytes_text(pace).s, unit,
			 is_named ? gp_oom_site_short(site, 48, shorter) : "an unrecorded line");
	struct gp_oom_advice *v =
		advice_add(g, "stop_leak", GP_OOM_COST_CODE, true, l->live_bytes, site);
	BRIEF(v, "stop a leak: %s a %s", gp_bytes_text(pace).s, unit);
	if (is_named)
		TEXT(v, "do not keep what %s allocates%s", gp_oom_site_short(site, 40, shorter),
		     g->is_leak_sure ? "" : ", if it is a leak");
	else
		TEXT(v, "stop the growth from %s to %s; a recording with stacks names the line",
		     unit, unit);
}

static enum gp_status advise_outside(struct advising *g)
{
	const struct gp_oom_help *h = help_of(g, GP_HELP_OUTSIDE);
	char shorter[GP_OOM_SITE_MAX];
	struct gp_oom_holder holder;
	if (!h)
		return GP_OK;
	enum gp_status status = gp_oom_holder_find(g->r, g->oom, g->c, true, &holder);
	const uint64_t missing = g->c->finding.missing_bytes;
	const bool is_named = holder.bytes >= missing;
	struct gp_oom_advice *v = advice_add(g, gp_help_names[h->help], GP_OOM_COST_CODE, true,
					     missing, is_named ? holder.site : NULL);
	BRIEF(v, "less outside PyTorch");
	if (is_named) {
		TEXT(v, "use %s less of the %s outside PyTorch from %s",
		     gp_at_least_text(v->bytes).s, gp_bytes_text(holder.bytes).s,
		     gp_oom_site_short(v->site, 48, shorter));
	} else {
		TEXT(v, "use %s less outside PyTorch, for example of a library: it took %s",
		     gp_at_least_text(v->bytes).s, gp_bytes_text(h->bytes).s);
	}
	return status;
}

static void advise_cache(struct advising *g)
{
	const struct gp_oom_help *h = help_of(g, GP_HELP_EMPTY_CACHE);
	if (!h)
		return;
	struct gp_oom_advice *v = advice_add(g, gp_help_names[h->help], GP_OOM_COST_CODE, true,
					     h->bytes, g->a->requester);
	char shorter[GP_OOM_SITE_MAX];
	BRIEF(v, "empty_cache() before it");
	TEXT(v, "torch.cuda.empty_cache() before %s: it returns %s",
	     *v->site ? gp_oom_site_short(v->site, 52, shorter) : "it", gp_bytes_text(h->bytes).s);
}

static enum gp_status advise_streams(struct advising *g)
{
	const struct gp_oom_help *h = help_of(g, GP_HELP_STREAMS);
	if (!h)
		return GP_OK;
	return gp_oom_elsewhere_text(g->r, g->oom, g->c, advice_of(g, h, GP_OOM_COST_CODE));
}

/* The cheaper set of blocks whose release makes a gap, if one line allocated them. */
static enum gp_status advise_blocks(struct advising *g, bool *is_advised)
{
	char site[GP_OOM_SITE_MAX];
	*is_advised = false;
	for (size_t k = 0; k < g->c->helps && !g->leak; k++) {
		const struct gp_oom_help *h = &g->c->help[k];
		bool is_beside = h->help == GP_HELP_FREE_NEIGHBOURS;
		const struct gp_block_set *set =
			is_beside ? &g->c->frag.fit.in_place : &g->c->frag.fit.by_emptying;
		if (!is_beside && h->help != GP_HELP_FREE_SEGMENTS)
			continue;
		/* it costs more than it frees, so advise it only if there is no other advice */
		if (h->bytes > g->oom->bytes && g->a->advices)
			continue;
		enum gp_status status = gp_oom_set_site(g->r, g->oom, g->c, set, site);
		if (status)
			return status;
		if (!*site)
			continue;
		struct gp_oom_advice *v = advice_add(g, gp_help_names[h->help], GP_OOM_COST_CODE,
						     true, h->bytes, site);
		BRIEF(v, "free %s earlier", gp_plural(h->count, "block").s);
		gp_oom_set_text(g->c, set, is_beside, v->site, v->text);
		*is_advised = true;
		return GP_OK;
	}
	return GP_OK;
}

/* Without a known line: describes the blocks of the request's size, if they hold most memory. */
static void advise_alike(struct advising *g)
{
	const struct gp_oom_case *c = g->c;
	char blocks[GP_OOM_BLOCKS_MAX];
	struct gp_oom_alike alike;
	gp_oom_alike_find(c, &alike);
	snprintf(blocks, sizeof blocks, "%zu live blocks have", alike.blocks);
	if (!g->a->is_framework || !alike.is_most)
		return;
	struct gp_oom_advice *v =
		advice_add(g, "free_held", GP_OOM_COST_CODE, alike.is_enough, g->oom->bytes, NULL);
	BRIEF(v, "free %s earlier", gp_bytes_text(v->bytes).s);
	TEXT(v, "%s the request's size (%s of the %s in use): free or offload one%s",
	     alike.blocks == 1 ? "1 live block has" : blocks, gp_bytes_text(alike.bytes).s,
	     gp_bytes_text(c->facts.allocated_bytes).s, alike.is_enough ? "" : ", which may help");
}

/* Memory of a holder with a known line that could be freed earlier. */
static enum gp_status advise_holder(struct advising *g)
{
	const struct gp_oom_help *h = help_of(g, GP_HELP_LESS);
	char shorter[GP_OOM_SITE_MAX], some[GP_OOM_BLOCKS_MAX];
	struct gp_oom_holder holder;
	if (!h || g->leak || is_beyond_device(g) || g->a->verdict == GP_VERDICT_RESERVE)
		return GP_OK;
	enum gp_status status = gp_oom_holder_find(g->r, g->oom, g->c, false, &holder);
	if (!status && !holder.bytes)
		advise_alike(g);
	if (status || holder.bytes < h->bytes)
		return status;
	status = gp_oom_holder_free(g->c, h->bytes, &holder);
	const uint64_t bytes = holder.is_enough ? holder.freed_bytes : h->bytes;
	const char *then = g->a->is_framework ? "" : ", then call empty_cache()";
	struct gp_oom_advice *v =
		advice_add(g, "free_held", GP_OOM_COST_CODE, holder.is_enough, bytes, holder.site);
	BRIEF(v, "free %s earlier", gp_bytes_text(bytes).s);
	gp_oom_site_short(v->site, 42 + strlen(then), shorter);
	if (holder.is_enough)
		TEXT(v, "free or offload %s from %s%s",
		     gp_oom_blocks_text(holder.freed, holder.blocks, bytes, some), shorter, then);
	else
		TEXT(v, "%s less of the %s from %s may help%s", gp_bytes_text(bytes).s,
		     gp_bytes_text(holder.bytes).s, shorter, then);
	return status;
}

static void advise_size(struct advising *g)
{
	uint64_t total = g->c->frag.device->total_bytes;
	char shorter[GP_OOM_SITE_MAX];
	if (!is_beyond_device(g))
		return;
	struct gp_oom_advice *v = advice_add(g, gp_help_names[GP_HELP_SMALLER], GP_OOM_COST_CODE,
					     false, total, g->a->requester);
	BRIEF(v, "check the size");
	TEXT(v, "check the size that %s requests: it is larger than the GPU",
	     *v->site ? gp_oom_site_short(v->site, 57, shorter) : "the job");
}

static enum gp_status advise_code(struct advising *g)
{
	advise_size(g);
	advise_leak(g);
	advise_cache(g);
	bool is_advised = false;
	enum gp_status status = advise_outside(g);
	if (!status)
		status = advise_streams(g);
	if (!status)
		status = advise_blocks(g, &is_advised);
	return status || is_advised ? status : advise_holder(g);
}

/* ---- what does not help ---- */

/* Expandable segments, the setting to try against fragmentation. */
static void no_help_expandable(struct advising *g)
{
	const struct gp_oom_finding *v = &g->c->finding;
	const struct gp_oom_help *h = NULL;
	const bool is_small = g->oom->bytes <= UINT64_C(1) << 20;
	const uint64_t page = is_small ? UINT64_C(2) << 20 : g->r->settings.large_segment_bytes;
	char why[96], line[128];
	for (size_t k = 0; k < g->c->helps; k++)
		if (g->c->help[k].help == GP_HELP_EXPANDABLE)
			h = &g->c->help[k];
	if (!g->a->is_framework || g->r->settings.is_expandable || (h && h->is_enough) ||
	    v->missing_bytes == GP_BYTES_UNKNOWN)
		return;
	if (h && v->room_bytes != GP_BYTES_UNKNOWN && h->bytes <= v->room_bytes)
		snprintf(why, sizeof why, "each of its %s pages would hold a live block",
			 gp_bytes_text(page).s);
	else if (h)
		snprintf(why, sizeof why, "only %s would be usable", gp_bytes_text(h->bytes).s);
	else if (!v->cached_bytes)
		snprintf(why, sizeof why, "no fragmentation");
	else if (v->cached_bytes < v->missing_bytes)
		snprintf(why, sizeof why, "too little fragmentation: %s",
			 gp_bytes_text(v->cached_bytes).s);
	else
		return;
	snprintf(line, sizeof line, "expandable_segments (%s)", why);
	no_help_add(g->a, "expandable_segments", line);
}

static void list_no_helps(struct advising *g)
{
	struct gp_oom_answer *a = g->a;
	char text[96];
	if (g->is_leak_sure)
		no_help_add(a, "less_in_use", "a smaller batch, a higher limit (they delay it)");
	if (g->is_of_optimizer && help_of(g, GP_HELP_LESS))
		no_help_add(a, "less_in_use", "a smaller batch (the optimizer's states stay)");
	if (a->is_framework) {
		no_help_add(a, "empty_cache", "empty_cache() (PyTorch did that already)");
	} else if (a->verdict == GP_VERDICT_CAPACITY) {
		if (g->c->frag.releasable_bytes)
			snprintf(text, sizeof text, "empty_cache() alone (it returns %s)",
				 gp_bytes_text(g->c->frag.releasable_bytes).s);
		else
			snprintf(text, sizeof text, "empty_cache() alone (nothing to return)");
		no_help_add(a, "empty_cache", text);
	}
	no_help_expandable(g);
}

/* ---- all advice ---- */

static bool is_of_optimizer(const struct gp_oom_report *r, const struct gp_oom *o)
{
	struct gp_stack s;
	struct gp_frame frame[GP_FRAMES_MAX];
	return o->stack &&
	       gp_recording_stack(r->recording, o->stack, o->at_ns, GP_STACK_SYMBOLS, &s, frame,
				  GP_FRAMES_MAX) &&
	       gp_frames_are_of_optimizer(frame, s.frames);
}

/* A leak that holds at least the missing bytes at that moment, if there is one. */
static enum gp_status find_leak(struct advising *g)
{
	const struct gp_oom_finding *v = &g->c->finding;
	if (v->missing_bytes == GP_BYTES_UNKNOWN || !v->short_bytes || gp_has_losses(g->r->info))
		return GP_OK;
	enum gp_status status =
		gp_leaks_build(g->r->recording, INT64_MIN, g->oom->at_ns, &g->leaks);
	for (size_t k = 0; status == GP_OK && k < g->leaks.leaks && !g->leak; k++) {
		const struct gp_leak *l = &g->leaks.leak[k];
		if (!l->is_object && l->device == g->oom->device && l->since_ns < g->oom->at_ns &&
		    l->bytes_per_step > 0 && l->live_bytes >= v->missing_bytes)
			g->leak = l;
	}
	g->is_leak_sure = g->leak && !g->leak->may_be_activations;
	return status;
}

/* Changes that remove the cause, by verdict. */
#define CURES 2u
static const char *const cures[GP_VERDICTS][CURES] = {
	[GP_VERDICT_STREAM] = { "fewer_streams_or_pools" },
	[GP_VERDICT_CACHE] = { "empty_cache" },
	[GP_VERDICT_LIMIT] = { "higher_limit" },
	[GP_VERDICT_OTHER] = { "less_by_others" },
	[GP_VERDICT_OUTSIDE] = { "less_outside" },
	[GP_VERDICT_RESERVE] = { "less_in_use", "smaller_request" },
};

static bool is_cure(enum gp_verdict verdict, const struct gp_oom_advice *v)
{
	for (size_t k = 0; k < CURES && cures[verdict][k]; k++)
		if (strcmp(cures[verdict][k], v->change) == 0)
			return true;
	return false;
}

static unsigned rank_of(const struct gp_oom_answer *a, const struct gp_oom_advice *v)
{
	return (v->is_sure ? 0u : 2u * GP_OOM_COSTS) +
	       (is_cure(a->verdict, v) ? 0u : GP_OOM_COSTS) + v->cost;
}

/* A stable sort by rank. */
static void sort_advice(struct gp_oom_answer *a)
{
	for (size_t k = 1; k < a->advices; k++) {
		const struct gp_oom_advice v = a->advice[k];
		size_t at = k;
		for (; at && rank_of(a, &a->advice[at - 1]) > rank_of(a, &v); at--)
			a->advice[at] = a->advice[at - 1];
		a->advice[at] = v;
	}
}

enum gp_status gp_oom_advise(const struct gp_oom_report *r, const struct gp_oom *o,
			     const struct gp_oom_case *c, struct gp_oom_answer *a)
{
	struct advising g = { .r = r, .oom = o, .c = c, .a = a };
	enum gp_status status = find_leak(&g);
	g.is_of_optimizer = is_of_optimizer(r, o);
	if (!g.is_of_optimizer && !g.is_leak_sure && !is_beyond_device(&g))
		gp_oom_batch_text(a->roles, c, a->batch);
	advise_settings(&g);
	advise_others(&g);
	advise_batch(&g);
	if (!status)
		status = advise_code(&g);
	sort_advice(a);
	list_no_helps(&g);
	gp_leaks_free(&g.leaks);
	return status;
}
