/* Sentences of `gpuprof oom`: what proves a verdict, and what would have helped. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "amount.h"
#include "oom_report.h"

#define FRACTION_PARTS 10000u /* of a limit as a fraction: the steps in which it is stated */
#define SAY(...) snprintf(out, GP_REASON_MAX, __VA_ARGS__)

static const char *text(struct gp_text *room, uint64_t bytes)
{
	*room = gp_bytes_text(bytes);
	return bytes == GP_BYTES_UNKNOWN ? "an unknown amount" : room->s;
}

static void say_stream(const struct gp_oom_facts *f, const struct gp_oom_finding *v, char *out)
{
	struct gp_text a, b, c;
	uint64_t usable = v->usable_bytes == GP_BYTES_UNKNOWN ? v->cached_bytes : v->usable_bytes;
	uint64_t left = usable > f->elsewhere_bytes ? usable - f->elsewhere_bytes : 0;
	if (f->largest_any_bytes < f->bytes)
		SAY("%s is cached for other streams or in private pools; the other %s of free and "
		    "cached memory does not serve %s",
		    text(&a, f->elsewhere_bytes), text(&b, left), text(&c, f->bytes));
	else if (f->has_arena)
		SAY("the cache has %s in one place, but for another stream or pool; the largest "
		    "request from its own is %s",
		    text(&a, f->largest_any_bytes), text(&b, f->largest_bytes));
	else
		SAY("the cache has %s in one place that did not serve the request: it is of "
		    "another stream or pool, or pending",
		    text(&a, f->largest_any_bytes));
}

static void say_fragmentation(const struct gp_oom_facts *f, const struct gp_oom_finding *v,
			      char *out)
{
	struct gp_text a, b, c;
	if (v->room_bytes == GP_BYTES_UNKNOWN)
		SAY("%s is cached, but in pieces: the largest request that fits is %s",
		    text(&a, v->cached_bytes), text(&b, f->largest_bytes));
	else
		SAY("%s is cached and the driver has %s, but in pieces: the largest request that "
		    "fits the cache is %s",
		    text(&a, v->cached_bytes), text(&b, v->room_bytes), text(&c, f->largest_bytes));
}

static void say_limit(const struct gp_oom_facts *f, const struct gp_oom_finding *v, char *out)
{
	struct gp_text a, b, c;
	if (!f->is_limit_told) {
		SAY("PyTorch failed at %s reserved without a request to the driver, which had %s "
		    "free: an unrecorded limit (set_per_process_memory_fraction)",
		    text(&a, f->reserved_bytes), text(&b, f->free_bytes));
		return;
	}
	if (f->free_bytes == GP_BYTES_UNKNOWN)
		SAY("PyTorch may reserve %s (set_per_process_memory_fraction) and has %s; the "
		    "device's free memory is unknown",
		    text(&a, f->limit_bytes), text(&b, f->reserved_bytes));
	else
		SAY("PyTorch may reserve %s (set_per_process_memory_fraction) and has %s; "
		    "the device had %s free",
		    text(&a, f->limit_bytes), text(&b, f->reserved_bytes), text(&c, f->free_bytes));
	size_t n = strlen(out);
	if (v->missing_bytes != GP_BYTES_UNKNOWN)
		snprintf(out + n, GP_REASON_MAX - n, "; short by %s within the limit",
			 text(&a, v->missing_bytes));
}

static void say_grown(const struct gp_oom *o, const struct gp_oom_case *c, bool is_other, char *out)
{
	struct gp_text a, b;
	uint64_t bytes = is_other ? c->facts.other_grown_bytes : c->facts.outside_grown_bytes;
	SAY("%s use %s more than at PyTorch's peak at %s",
	    is_other ? "other processes" : "allocations of this job outside PyTorch",
	    text(&a, bytes), gp_ns_text(o->before_at_ns).s);
	size_t n = strlen(out);
	/* neither alone is what is missing */
	if (bytes < c->finding.missing_bytes)
		n += (size_t)snprintf(out + n, GP_REASON_MAX - n, ", %s %s",
				      is_other ? "allocations outside PyTorch" : "other processes",
				      text(&a, is_other ? c->facts.outside_grown_bytes :
							  c->facts.other_grown_bytes));
	snprintf(out + n, GP_REASON_MAX - n, "; short by %s", text(&b, c->finding.missing_bytes));
}

static void say_capacity(const struct gp_oom_facts *f, const struct gp_oom_finding *v, char *out)
{
	struct gp_text a, b, c, d;
	if (!f->is_framework)
		SAY("%s requested, %s free; short by %s", text(&a, f->driver_bytes),
		    text(&b, f->free_bytes), text(&c, v->missing_bytes));
	else
		SAY("%s allocated + %s requested > %s available: short by %s even with an empty "
		    "cache",
		    text(&a, f->allocated_bytes), text(&b, f->bytes),
		    text(&c, f->allocated_bytes + v->usable_bytes), text(&d, v->missing_bytes));
}

void gp_oom_reason(const struct gp_oom *o, const struct gp_oom_case *c, char *out)
{
	const struct gp_oom_facts *f = &c->facts;
	const struct gp_oom_finding *v = &c->finding;
	struct gp_text a, b;
	switch (v->verdict) {
	case GP_VERDICT_STREAM:
		say_stream(f, v, out);
		return;
	case GP_VERDICT_FRAGMENTATION:
		say_fragmentation(f, v, out);
		return;
	case GP_VERDICT_CACHE:
		SAY("the driver has %s free; PyTorch caches %s in free segments, which it "
		    "releases only for its own requests",
		    text(&a, f->free_bytes), text(&b, f->releasable_bytes));
		return;
	case GP_VERDICT_LIMIT:
		say_limit(f, v, out);
		return;
	case GP_VERDICT_OTHER:
	case GP_VERDICT_OUTSIDE:
		say_grown(o, c, v->verdict == GP_VERDICT_OTHER, out);
		return;
	case GP_VERDICT_CAPACITY:
		say_capacity(f, v, out);
		return;
	case GP_VERDICT_UNKNOWN:
	case GP_VERDICTS:
		break;
	}
	SAY("%s", v->not_known);
}

/* ---- what would have helped ---- */

static void say_expandable(const struct gp_oom_help *h, char *out)
{
	struct gp_text a;
	SAY("expandable_segments:True: free pages and free device memory would be %s",
	    text(&a, h->bytes));
}

/* Rounded up: with a little less it would fail again. */
static void say_higher_limit(uint64_t bytes, uint64_t total, char *out)
{
	struct gp_text a;
	uint64_t parts = total ? (bytes * FRACTION_PARTS + total - 1) / total : 0;
	if (!total || bytes > total)
		SAY("a limit of %s", text(&a, bytes));
	else
		SAY("a limit of %s: set_per_process_memory_fraction(%" PRIu64 ".%04" PRIu64 ")",
		    text(&a, bytes), parts / FRACTION_PARTS, parts % FRACTION_PARTS);
}

static void say_less(const struct gp_oom_facts *f, const struct gp_oom_help *h, char *out)
{
	struct gp_text a, b;
	double share = 100.0 * (double)h->bytes / (double)(f->allocated_bytes + f->bytes);
	SAY("%s less allocated or requested (a smaller batch): %.1f%% of %s", text(&a, h->bytes),
	    share, text(&b, f->allocated_bytes + f->bytes));
}

static void say_freeing(const struct gp_oom_help *h, char *out)
{
	struct gp_text a = gp_plural(h->count, "block"), b = gp_bytes_text(h->bytes);
	if (h->help == GP_HELP_FREE_NEIGHBOURS)
		SAY("freeing %s of its stream and pool (%s)%s", a.s, b.s,
		    h->count > 1 ? ", adjacent" : "");
	else
		SAY("freeing %s (%s): their segments return to the driver", a.s, b.s);
}

static void say_max_split(const struct gp_oom *o, const struct gp_oom_help *h, char *out)
{
	struct gp_text a;
	SAY("max_split_size_mb:%llu: %s of this size would stay whole, with %s free",
	    (unsigned long long)(o->bytes >> 20), gp_plural(h->count, "segment").s,
	    text(&a, h->bytes));
}

static void say_rounding(const struct gp_oom_help *h, char *out)
{
	struct gp_text a;
	if (h->help == GP_HELP_LESS_ROUNDING)
		SAY("no roundup_power2_divisions: it adds up to %s to allocated and requested "
		    "sizes",
		    text(&a, h->bytes));
	else
		SAY("roundup_power2_divisions:%" PRIu64
		    ": the largest gap is %s too short; with it "
		    "both have one size, and blocks grow by at most 1/%" PRIu64,
		    h->count, text(&a, h->bytes), h->count);
}

static void say_came(const struct gp_oom *o, const struct gp_oom_help *h, char *out)
{
	struct gp_text a;
	SAY("without what %s since %s: %s",
	    h->help == GP_HELP_OTHER ? "other processes took" : "was taken outside PyTorch",
	    gp_ns_text(o->before_at_ns).s, text(&a, h->bytes));
}

void gp_oom_help_text(const struct gp_oom *o, const struct gp_oom_case *c,
		      const struct gp_oom_help *h, char *out)
{
	struct gp_text a;
	switch (h->help) {
	case GP_HELP_FREE_NEIGHBOURS:
	case GP_HELP_FREE_SEGMENTS:
		say_freeing(h, out);
		return;
	case GP_HELP_EMPTY_CACHE:
		SAY(o->is_framework ?
			    "empty_cache(): it returns %s, and PyTorch does that before it fails" :
			    "empty_cache() before the request: it returns %s to the driver",
		    text(&a, h->bytes));
		return;
	case GP_HELP_EXPANDABLE:
		say_expandable(h, out);
		return;
	case GP_HELP_MAX_SPLIT:
		say_max_split(o, h, out);
		return;
	case GP_HELP_ROUND_SIZES:
	case GP_HELP_LESS_ROUNDING:
		say_rounding(h, out);
		return;
	case GP_HELP_STREAMS:
		SAY("one stream and pool for both: %s is cached for others", text(&a, h->bytes));
		return;
	case GP_HELP_LIMIT:
		say_higher_limit(h->bytes, c->frag.device->total_bytes, out);
		return;
	case GP_HELP_OUTSIDE:
	case GP_HELP_OTHER:
		say_came(o, h, out);
		return;
	case GP_HELP_SMALLER:
		SAY("a request under %s%s", text(&a, h->bytes),
		    h->is_bound ? " (the driver keeps a little)" : "");
		return;
	case GP_HELP_LESS:
		say_less(&c->facts, h, out);
		return;
	case GP_HELPS:
		break;
	}
	out[0] = '\0';
}

/* ---- growth ---- */

uint64_t gp_oom_growth(const struct gp_use *use)
{
	return use->bytes > use->live_bytes ? use->bytes - use->live_bytes : 0;
}

static int compare_growth(const void *left, const void *right)
{
	const struct gp_group *a = left, *b = right;
	uint64_t x = gp_oom_growth(&a->use), y = gp_oom_growth(&b->use);
	if (x != y)
		return x < y ? 1 : -1;
	return strcmp(a->key, b->key);
}

void gp_oom_by_growth(struct gp_groups *groups, size_t *grown)
{
	*grown = 0;
	if (groups->groups > 1)
		qsort(groups->group, groups->groups, sizeof *groups->group, compare_growth);
	while (*grown < groups->groups && gp_oom_growth(&groups->group[*grown].use))
		++*grown;
}
