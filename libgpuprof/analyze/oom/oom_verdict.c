/*
 * The cause of an out-of-memory: an ordered table of rules, each proven by figures alone. The first
 * rule that holds gives the verdict; gpuprof-oom(1) describes them.
 */
#include <stddef.h>

#include "../frag/frag_rule.h"

const char *const gp_verdict_names[GP_VERDICTS] = {
	[GP_VERDICT_UNKNOWN] = "not known",
	[GP_VERDICT_STREAM] = "stream or pool",
	[GP_VERDICT_FRAGMENTATION] = "fragmentation",
	[GP_VERDICT_CACHE] = "PyTorch's cache",
	[GP_VERDICT_LIMIT] = "limit",
	[GP_VERDICT_OTHER] = "another process",
	[GP_VERDICT_OUTSIDE] = "outside PyTorch",
	[GP_VERDICT_CAPACITY] = "capacity",
	[GP_VERDICT_RESERVE] = "driver reserve",
};

static uint64_t above(uint64_t more, uint64_t less)
{
	return more > less ? more - less : 0;
}

static uint64_t plus(uint64_t a, uint64_t b)
{
	return a == GP_BYTES_UNKNOWN || b == GP_BYTES_UNKNOWN ? GP_BYTES_UNKNOWN : a + b;
}

/* A known figure of at least `least`. */
static bool is_at_least(uint64_t bytes, uint64_t least)
{
	return bytes != GP_BYTES_UNKNOWN && bytes >= least;
}

/* ---- figures ---- */

static uint64_t limit_room(const struct gp_oom_facts *f)
{
	if (!f->is_framework || f->limit_bytes == GP_BYTES_UNKNOWN)
		return GP_BYTES_UNKNOWN;
	return above(f->limit_bytes, f->reserved_bytes);
}

/*
 * The bytes that a request lacks if `cached` bytes are cached and a new place of `needed` bytes has
 * `room`.
 */
static uint64_t lacks(const struct gp_oom_facts *f, uint64_t cached, uint64_t room, uint64_t needed)
{
	uint64_t usable = plus(cached, room);
	if (f->is_framework && is_at_least(cached, f->bytes))
		return 0;
	return usable == GP_BYTES_UNKNOWN ? GP_BYTES_UNKNOWN : above(needed, usable);
}

/* Lacking bytes of the driver; GP_BYTES_UNKNOWN if its free memory is unknown. */
static uint64_t lacks_of_driver(const struct gp_oom_facts *f, uint64_t cached)
{
	return lacks(f, cached, f->free_bytes, f->driver_bytes);
}

/* Lacking bytes within the limit; 0 if no limit is known. */
static uint64_t lacks_of_limit(const struct gp_oom_facts *f, uint64_t cached)
{
	uint64_t limited = limit_room(f);
	return limited == GP_BYTES_UNKNOWN ? 0 : lacks(f, cached, limited, f->limited_bytes);
}

/* PyTorch releases its cache before its own request fails, not before a request of others. */
static uint64_t released(const struct gp_oom_facts *f)
{
	return f->is_framework ? f->releasable_bytes : 0;
}

/*
 * The bytes that a new place lacks. Cached memory in segments with live blocks does not count as
 * free.
 */
static void find_missing(const struct gp_oom_facts *f, struct gp_oom_finding *out)
{
	uint64_t limited = limit_room(f), has = plus(f->free_bytes, released(f)), of_limit = 0;
	out->kept_bytes = f->was_refused || !f->is_framework ? GP_KEPT_BY_DRIVER : 0;
	if (limited != GP_BYTES_UNKNOWN)
		of_limit = above(f->limited_bytes, limited + released(f));
	out->missing_bytes = has == GP_BYTES_UNKNOWN ?
				     GP_BYTES_UNKNOWN :
				     above(f->driver_bytes + out->kept_bytes, has);
	out->is_limit_tighter = of_limit != 0 && !is_at_least(out->missing_bytes, of_limit);
	if (out->is_limit_tighter)
		out->missing_bytes = of_limit;
	if (out->missing_bytes == 0 || out->missing_bytes == GP_BYTES_UNKNOWN)
		out->missing_bytes = GP_BYTES_UNKNOWN;
	else /* sizes of segments and of the driver's pages are multiples of this */
		out->missing_bytes = (out->missing_bytes + GP_SMALL_SEGMENT - 1) /
				     GP_SMALL_SEGMENT * GP_SMALL_SEGMENT;
}

static void add_up(const struct gp_oom_facts *f, struct gp_oom_finding *out)
{
	uint64_t limited = limit_room(f);
	*out = (struct gp_oom_finding){
		.cached_bytes = above(f->reserved_bytes, f->allocated_bytes),
		.room_bytes = f->free_bytes,
	};
	find_missing(f, out);
	if (limited != GP_BYTES_UNKNOWN && !is_at_least(limited, f->free_bytes))
		out->room_bytes = limited;
	/* room cannot exceed the device's free memory, which is unknown */
	if (f->free_bytes == GP_BYTES_UNKNOWN)
		out->room_bytes = GP_BYTES_UNKNOWN;
	out->usable_bytes = plus(out->cached_bytes, out->room_bytes);
	uint64_t of_limit = lacks_of_limit(f, out->cached_bytes);
	out->short_bytes = lacks_of_driver(f, out->cached_bytes);
	/* the limit alone may forbid it */
	if (of_limit != 0 && !is_at_least(out->short_bytes, of_limit))
		out->short_bytes = of_limit;
}

/* ---- rules ---- */

typedef bool rule(const struct gp_oom_facts *f, struct gp_oom_finding *out);

static bool is_beyond_us(const struct gp_oom_facts *f, struct gp_oom_finding *out)
{
	if (f->is_uncertain)
		out->not_known = "events are missing before it, so live memory is unknown";
	else if (!f->is_of_device)
		out->not_known =
			"it was a request for host memory or addresses, which are not counted";
	else if (!f->is_framework && is_at_least(f->free_bytes, f->driver_bytes + out->kept_bytes))
		out->not_known = "the driver had enough free, and returned no reason";
	else if (f->is_framework && f->has_arena && f->largest_bytes >= f->bytes)
		out->not_known = "its own stream and pool had room in the cache, by the figures";
	return out->not_known != NULL;
}

/*
 * True: a place would have served another stream or pool, or the sum is enough only with their
 * memory. If the requester is unknown, a place that would have served it but did not belongs to
 * another.
 */
static bool is_tied(const struct gp_oom_facts *f, struct gp_oom_finding *out)
{
	uint64_t own = above(out->cached_bytes, f->elsewhere_bytes);
	uint64_t room = f->free_bytes == GP_BYTES_UNKNOWN ? 0 : f->free_bytes;
	if (!f->is_framework)
		return false;
	if (f->largest_any_bytes >= f->bytes)
		return true;
	return out->short_bytes == 0 && f->elsewhere_bytes != 0 &&
	       (lacks(f, own, room, f->driver_bytes) != 0 || lacks_of_limit(f, own) != 0);
}

/* The framework gave up without a call of the driver, which had enough. */
static bool is_limited_unreported(const struct gp_oom_facts *f, struct gp_oom_finding *out)
{
	(void)out;
	return f->is_framework && !f->was_refused && !f->is_limit_reported &&
	       is_at_least(f->free_bytes, f->driver_bytes);
}

/* The driver counts enough as free, and the limit allows it. */
static bool is_allowed(const struct gp_oom_facts *f)
{
	return is_at_least(f->free_bytes, f->driver_bytes) &&
	       above(f->limited_bytes, limit_room(f)) == 0;
}

/* The driver's free bytes exceed the request by less than the driver may keep. */
static bool is_kept(const struct gp_oom_facts *f, struct gp_oom_finding *out)
{
	return is_allowed(f) && f->free_bytes - f->driver_bytes < out->kept_bytes;
}

/* The driver could have served it, so the figures are of another moment. */
static bool is_contradicted(const struct gp_oom_facts *f, struct gp_oom_finding *out)
{
	if (!is_allowed(f))
		return false;
	out->not_known = "the driver reports enough free memory, and the limit allows the "
			 "request; the reason of its refusal is unknown";
	return true;
}

static bool is_cached(const struct gp_oom_facts *f, struct gp_oom_finding *out)
{
	return !f->is_framework && out->missing_bytes != GP_BYTES_UNKNOWN &&
	       f->releasable_bytes >= out->missing_bytes;
}

static bool is_fragmented(const struct gp_oom_facts *f, struct gp_oom_finding *out)
{
	(void)f;
	return out->short_bytes == 0;
}

static bool is_limited(const struct gp_oom_facts *f, struct gp_oom_finding *out)
{
	if (lacks_of_limit(f, out->cached_bytes) == 0)
		return false;
	/* without a count of the device, only the limit is proven */
	return f->free_bytes == GP_BYTES_UNKNOWN || lacks_of_driver(f, out->cached_bytes) == 0;
}

/*
 * True: the growth of both since the last peak is at least the missing bytes. The larger growth is
 * the cause.
 */
static bool is_grown(const struct gp_oom_facts *f, const struct gp_oom_finding *out, bool is_other)
{
	uint64_t other = f->other_grown_bytes, outside = f->outside_grown_bytes;
	other = is_at_least(other, GP_OTHER_LEAST) ? other : 0;
	outside = is_at_least(outside, GP_OUTSIDE_LEAST) ? outside : 0;
	if (!is_at_least(out->missing_bytes, 1) || other + outside < out->missing_bytes)
		return false;
	return is_other ? other > outside : outside >= other;
}

static bool is_others(const struct gp_oom_facts *f, struct gp_oom_finding *out)
{
	return is_grown(f, out, true);
}

static bool is_outside(const struct gp_oom_facts *f, struct gp_oom_finding *out)
{
	return is_grown(f, out, false);
}

static bool is_full(const struct gp_oom_facts *f, struct gp_oom_finding *out)
{
	(void)f;
	return is_at_least(out->short_bytes, 1);
}

static const struct {
	enum gp_verdict verdict;
	rule *holds;
} rules[] = {
	{ GP_VERDICT_UNKNOWN, is_beyond_us },
	{ GP_VERDICT_STREAM, is_tied },
	{ GP_VERDICT_LIMIT, is_limited_unreported },
	{ GP_VERDICT_RESERVE, is_kept },
	{ GP_VERDICT_UNKNOWN, is_contradicted },
	{ GP_VERDICT_CACHE, is_cached },
	{ GP_VERDICT_FRAGMENTATION, is_fragmented },
	{ GP_VERDICT_LIMIT, is_limited },
	{ GP_VERDICT_OTHER, is_others },
	{ GP_VERDICT_OUTSIDE, is_outside },
	{ GP_VERDICT_CAPACITY, is_full },
};

void gp_oom_judge(const struct gp_oom_facts *facts, struct gp_oom_finding *out)
{
	add_up(facts, out);
	for (size_t k = 0; k < sizeof rules / sizeof *rules; k++)
		if (rules[k].holds(facts, out)) {
			out->verdict = rules[k].verdict;
			/* the figures do not explain it */
			if (out->verdict == GP_VERDICT_UNKNOWN)
				out->missing_bytes = GP_BYTES_UNKNOWN;
			return;
		}
	out->verdict = GP_VERDICT_UNKNOWN;
	out->missing_bytes = GP_BYTES_UNKNOWN;
	out->not_known = "the device's free memory was not recorded";
}
