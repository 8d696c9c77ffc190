/* Names of pools, streams and places, as all forms of `gpuprof frag` write them. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "amount.h"
#include "frag_report.h"

struct gp_frag_moment gp_frag_moment(const struct gp_frag_report *r)
{
	struct gp_frag_moment text;
	snprintf(text.s, sizeof text.s, "%s%s%s", r->moment ? r->moment : "at ",
		 r->moment ? ", " : "", gp_ns_text(r->memory.at_ns).s);
	return text;
}

void gp_frag_pool_text(const struct gp_arena *a, char *out)
{
	if (!a->is_known || !a->has_pool)
		snprintf(out, GP_ARENA_TEXT_MAX, "%s", a->is_known ? "not told" : "unknown");
	else if (!gp_arena_is_private(a))
		snprintf(out, GP_ARENA_TEXT_MAX, "default");
	else
		snprintf(out, GP_ARENA_TEXT_MAX, "private %" PRIu64 ".%" PRIu64, a->pool,
			 a->user_pool);
}

void gp_frag_stream_text(const struct gp_arena *a, char *out)
{
	if (!a->is_known)
		snprintf(out, GP_ARENA_TEXT_MAX, "-");
	else
		snprintf(out, GP_ARENA_TEXT_MAX, a->stream ? "0x%" PRIx64 : "%" PRIx64, a->stream);
}

void gp_frag_who(const struct gp_frag_report *r, uint32_t stack, int64_t at_ns, char *out)
{
	const struct gp_grouping how = { .by = GP_BY_STACK };
	const struct gp_use use = { .stack = stack,
				    .at_ns = at_ns,
				    .without = stack ? NULL : "no stack was recorded",
				    .space = GP_SPACE_BLOCK };
	struct gp_groups groups;
	snprintf(out, GP_WHO_MAX, "%s", "no stack was recorded");
	if (!stack || gp_groups_build(r->recording, &use, 1, &how, &groups))
		return;
	if (groups.groups)
		snprintf(out, GP_WHO_MAX, "%.*s", (int)GP_WHO_MAX - 1, groups.group[0].key);
	gp_groups_free(&groups);
}
