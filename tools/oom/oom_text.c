/*
 * Sentences of `gpuprof oom`: the evidence of a verdict, and the effect of each help.
 */
#include <inttypes.h>
#include <string.h>

#include "../io/amount.h"
#include "oom_report.h"

#define ROOM_TEXT 160u	 /* bytes for a part of a sentence with two sizes */
#define OTHERS_SHARE 50u /* of the GPU: less is used by CUDA contexts, and is not named */
#define OOM_LINE(...) snprintf(out, GP_REASON_MAX, __VA_ARGS__)

/* ---- what is missing, and why ---- */

static uint64_t above(uint64_t more, uint64_t less)
{
	if (more == GP_BYTES_UNKNOWN || less == GP_BYTES_UNKNOWN)
		return GP_BYTES_UNKNOWN;
	return more > less ? more - less : 0;
}

/* "; the driver has 138 GiB free", "" if unknown */
static void write_driver(const struct gp_oom_facts *f, char out[ROOM_TEXT])
{
	out[0] = '\0';
	if (f->free_bytes != GP_BYTES_UNKNOWN)
		snprintf(out, ROOM_TEXT, "; the driver has %s free",
			 gp_bytes_text(f->free_bytes).s);
}

void gp_oom_missing_text(const struct gp_oom_case *c, char *out)
{
	const struct gp_oom_facts *f = &c->facts;
	const struct gp_oom_finding *v = &c->finding;
	const uint64_t needed = v->is_limit_tighter ? f->limited_bytes : f->driver_bytes;
	const struct gp_text missing = gp_at_least_text(v->missing_bytes);
	char segment[ROOM_TEXT] = "", kept[ROOM_TEXT] = "";
	if (v->missing_bytes == GP_BYTES_UNKNOWN) {
		OOM_LINE("not known");
		return;
	}
	if (v->verdict == GP_VERDICT_RESERVE) {
		OOM_LINE("perhaps %s: the driver has %s free, but does not hand out the last few "
			 "MiB",
			 missing.s, gp_bytes_text(f->free_bytes).s);
		return;
	}
	if (strcmp(gp_bytes_text(needed).s, gp_bytes_text(f->bytes).s) != 0)
		snprintf(segment, sizeof segment, "PyTorch takes a segment of %s, ",
			 gp_bytes_text(needed).s);
	if (v->kept_bytes && !v->is_limit_tighter)
		snprintf(kept, sizeof kept, " and may keep %s for itself",
			 gp_bytes_text(v->kept_bytes).s);
	/* the limit verdict already has the driver's free bytes */
	if (v->is_limit_tighter && v->verdict != GP_VERDICT_LIMIT)
		write_driver(f, kept);
	if (v->is_limit_tighter)
		OOM_LINE("%s: %sthe %s limit leaves %s%s", missing.s, segment,
			 gp_bytes_text(f->limit_bytes).s,
			 gp_bytes_text(above(f->limit_bytes, f->reserved_bytes)).s, kept);
	else
		OOM_LINE("%s: %sthe driver has %s free%s", missing.s, segment,
			 gp_bytes_text(f->free_bytes).s, kept);
}

/* The moment with which growth is compared; its memory did fit. */
#define BEFORE "since %s, when PyTorch held %s"
#define BEFORE_OF(o) gp_ns_text((o)->before_at_ns).s, gp_bytes_text((o)->before_allocated_bytes).s

struct gp_text gp_oom_stream_text(uint64_t stream)
{
	struct gp_text t;
	snprintf(t.s, sizeof t.s, stream ? "stream 0x%" PRIx64 : "stream %" PRIx64, stream);
	return t;
}

static const struct gp_arena *other_arena(const struct gp_oom_case *c)
{
	return &c->memory.arena[c->other->arena];
}

/* All memory cached for others is cached for `other`. */
static bool is_only_other(const struct gp_oom_case *c)
{
	const struct gp_frag_pool *p = c->other;
	return p &&
	       p->free_bytes + p->pending_bytes == c->facts.elsewhere_bytes + p->releasable_bytes;
}

/* "; a piece of 38.0 MiB would fit" */
static void write_place(const struct gp_oom_case *c, char out[ROOM_TEXT])
{
	const struct gp_oom_facts *f = &c->facts;
	const uint64_t other = c->other ? c->other->largest_request_bytes : 0;
	const uint64_t most = other >= f->bytes ? other : f->largest_any_bytes;
	const bool is_named = other >= f->bytes && !is_only_other(c);
	out[0] = '\0';
	if (most >= f->bytes)
		snprintf(out, ROOM_TEXT, "; a piece of %s%s%s would fit", gp_at_most_text(most).s,
			 is_named ? " for " : "",
			 is_named ? gp_oom_stream_text(other_arena(c)->stream).s : "");
	else if (most)
		snprintf(out, ROOM_TEXT, " in pieces for requests of at most %s",
			 gp_at_most_text(most).s);
}

static bool is_of_streams(const struct gp_oom_case *c)
{
	const uint64_t *cause = c->frag.cause_bytes;
	return c->facts.has_arena && !cause[GP_CAUSE_PRIVATE] && cause[GP_CAUSE_STREAM];
}

static bool is_of_pools(const struct gp_oom_case *c)
{
	const uint64_t *cause = c->frag.cause_bytes;
	return c->facts.has_arena && cause[GP_CAUSE_PRIVATE] && !cause[GP_CAUSE_STREAM];
}

static void write_stream(const struct gp_oom_case *c, char *out)
{
	const uint64_t elsewhere = c->facts.elsewhere_bytes;
	char where[ROOM_TEXT] = "for other streams or in private pools", place[ROOM_TEXT];
	if (is_of_streams(c))
		snprintf(where, sizeof where, "for %s",
			 is_only_other(c) ? gp_oom_stream_text(other_arena(c)->stream).s :
					    "other streams");
	else if (is_of_pools(c))
		snprintf(where, sizeof where, "in private pools (CUDA graphs, MemPool)");
	write_place(c, place);
	if (elsewhere)
		OOM_LINE("%s are cached %s%s", gp_bytes_text(elsewhere).s, where, place);
	else
		OOM_LINE("the cache has a place for %s, %s",
			 gp_at_most_text(c->facts.largest_any_bytes).s, where);
}

static void write_limit(const struct gp_oom_facts *f, char *out)
{
	char had[ROOM_TEXT];
	write_driver(f, had);
	if (f->is_limit_reported)
		OOM_LINE("set_per_process_memory_fraction allows %s%s",
			 gp_bytes_text(f->limit_bytes).s, had);
	else
		OOM_LINE("PyTorch stopped at %s by a limit that was not recorded%s",
			 gp_bytes_text(f->reserved_bytes).s, had);
}

static void write_capacity(const struct gp_oom *o, const struct gp_oom_case *c, char *out)
{
	const struct gp_oom_facts *f = &c->facts;
	const uint64_t total = c->frag.device->total_bytes;
	if (total && o->bytes > total)
		OOM_LINE("the request is larger than the GPU's %s", gp_bytes_text(total).s);
	else if (f->is_framework)
		OOM_LINE("PyTorch uses %s of the %s that it can have",
			 gp_bytes_text(f->allocated_bytes).s,
			 gp_bytes_text(f->allocated_bytes + c->finding.usable_bytes).s);
	else if (f->allocated_bytes)
		OOM_LINE("PyTorch uses %s; the driver has %s free",
			 gp_bytes_text(f->allocated_bytes).s, gp_bytes_text(f->free_bytes).s);
	else
		OOM_LINE("%s requested, the driver has %s free", gp_bytes_text(f->driver_bytes).s,
			 gp_bytes_text(f->free_bytes).s);
}

/* Memory of other processes explains why PyTorch cannot use the whole GPU. */
static void write_others(const struct gp_oom *o, char *out)
{
	const size_t length = strlen(out);
	if (o->other_bytes != GP_BYTES_UNKNOWN && o->other_bytes >= o->total_bytes / OTHERS_SHARE)
		snprintf(out + length, GP_REASON_MAX - length, "; other processes have %s",
			 gp_bytes_text(o->other_bytes).s);
}

static void write_pieces(const struct gp_oom_case *c, char *out)
{
	const struct gp_oom_facts *f = &c->facts;
	const char *caveat = f->has_arena ? "" : ", or for other streams";
	const uint64_t largest = f->has_arena ? f->largest_bytes : f->largest_any_bytes;
	char piece[ROOM_TEXT] = "";
	if (f->is_framework && largest)
		snprintf(piece, sizeof piece, "; the largest serves %s",
			 gp_at_most_text(largest).s);
	OOM_LINE("%s are cached in pieces%s%s", gp_bytes_text(c->finding.cached_bytes).s, caveat,
		 piece);
}

void gp_oom_reason(const struct gp_oom *o, const struct gp_oom_case *c, char *out)
{
	const struct gp_oom_facts *f = &c->facts;
	switch (c->finding.verdict) {
	case GP_VERDICT_STREAM:
		write_stream(c, out);
		return;
	case GP_VERDICT_FRAGMENTATION:
		write_pieces(c, out);
		return;
	case GP_VERDICT_CACHE:
		OOM_LINE("PyTorch holds %s in segments without a live block",
			 gp_bytes_text(f->releasable_bytes).s);
		return;
	case GP_VERDICT_LIMIT:
		write_limit(f, out);
		return;
	case GP_VERDICT_OTHER:
		OOM_LINE("others took %s (the driver's count) " BEFORE,
			 gp_bytes_text(f->other_grown_bytes).s, BEFORE_OF(o));
		return;
	case GP_VERDICT_OUTSIDE:
		OOM_LINE("this job took %s outside PyTorch " BEFORE,
			 gp_bytes_text(f->outside_grown_bytes).s, BEFORE_OF(o));
		return;
	case GP_VERDICT_CAPACITY:
	case GP_VERDICT_RESERVE:
		write_capacity(o, c, out);
		write_others(o, out);
		return;
	case GP_VERDICT_UNKNOWN:
	case GP_VERDICTS:
		break;
	}
	OOM_LINE("%s", c->finding.not_known);
}

void gp_oom_cause_text(const struct gp_oom *o, const struct gp_oom_case *c, char *out)
{
	const enum gp_verdict verdict = c->finding.verdict;
	const char *name = gp_verdict_names[verdict];
	char reason[GP_REASON_MAX];
	gp_oom_reason(o, c, reason);
	if (verdict == GP_VERDICT_STREAM && is_of_streams(c))
		name = "another stream";
	else if (verdict == GP_VERDICT_STREAM && is_of_pools(c))
		name = "another pool";
	snprintf(out, GP_CAUSE_MAX, "%s%s: %s", name,
		 verdict == GP_VERDICT_RESERVE ? " (likely)" : "", reason);
}

/* ---- effects of each help ---- */

/* "freeing neighbours in a segment: 48.0 MiB, 2 blocks" */
static const struct {
	const char *before, *behind; /* text around the bytes */
	const char *unit;	     /* noun for `count`; NULL: not shown */
} helps[GP_HELPS] = {
	[GP_HELP_FREE_NEIGHBOURS] = { "freeing neighbours in a segment: ", "", "block" },
	[GP_HELP_FREE_SEGMENTS] = { "emptying segments, which return to the driver: ", "",
				    "block" },
	[GP_HELP_EMPTY_CACHE] = { "empty_cache(): it returns ", " to the driver", NULL },
	[GP_HELP_EXPANDABLE] = { "expandable_segments:True: at most ", " in one range", NULL },
	[GP_HELP_MAX_SPLIT] = { "max_split_size_mb: ", " free in segments that would be whole",
				"segment" },
	[GP_HELP_ROUND_SIZES] = { "roundup_power2_divisions: the largest gap is ", " too short",
				  "division" },
	[GP_HELP_LESS_ROUNDING] = { "no roundup_power2_divisions: it adds up to ", "", NULL },
	[GP_HELP_STREAMS] = { "one stream and pool for both: ", " are cached for others", NULL },
	[GP_HELP_LIMIT] = { "a limit of ", "", NULL },
	[GP_HELP_OUTSIDE] = { "without what was taken outside PyTorch: ", "", NULL },
	[GP_HELP_OTHER] = { "without what other processes took: ", "", NULL },
	[GP_HELP_SMALLER] = { "a request of at most ", "", NULL },
	[GP_HELP_LESS] = { "", " less in use and requested", NULL },
};

struct gp_oom_help_line gp_oom_help_text(const struct gp_oom_help *h)
{
	const struct gp_text bytes = h->help == GP_HELP_SMALLER ? gp_at_most_text(h->bytes) :
				     h->help == GP_HELP_LESS	? gp_at_least_text(h->bytes) :
								  gp_bytes_text(h->bytes);
	struct gp_oom_help_line line;
	const char *unit = helps[h->help].unit;
	snprintf(line.s, sizeof line.s, "%s%s%s%s%s", helps[h->help].before,
		 h->bytes == GP_BYTES_UNKNOWN ? "an unknown amount" : bytes.s,
		 helps[h->help].behind, unit ? ", " : "", unit ? gp_plural(h->count, unit).s : "");
	return line;
}
