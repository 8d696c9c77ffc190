/* Names of pools, streams and places, as all forms of `gpuprof frag` write them. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "../io/amount.h"
#include "../io/line_fit.h"
#include "../io/terminal_width.h"
#include "frag_report.h"

struct gp_frag_moment gp_frag_moment(const struct gp_frag_report *r)
{
	struct gp_frag_moment text;
	snprintf(text.s, sizeof text.s, "%s%s%s", r->moment ? r->moment : "at ",
		 r->moment ? ", " : "", gp_ns_text(r->memory.at_ns).s);
	return text;
}

struct gp_frag_place gp_frag_place(const struct gp_arena *a, bool is_small)
{
	struct gp_frag_place text;
	const char *size = is_small ? "small" : "large";
	const char *zero = a->stream ? "0x" : "";
	if (!a->is_known)
		snprintf(text.s, sizeof text.s, "%s pool (stream not recorded)", size);
	else if (!a->has_pool)
		snprintf(text.s, sizeof text.s, "%s, stream %s%" PRIx64 ", unknown pool", size,
			 zero, a->stream);
	else if (gp_arena_is_private(a))
		snprintf(text.s, sizeof text.s,
			 "%s private %" PRIu64 ".%" PRIu64 ", stream %s%" PRIx64, size, a->pool,
			 a->user_pool, zero, a->stream);
	else
		snprintf(text.s, sizeof text.s, "%s default, stream %s%" PRIx64, size, zero,
			 a->stream);
	return text;
}

void gp_frag_site(const struct gp_frag_report *r, uint32_t stack, int64_t at_ns, char *out)
{
	const struct gp_grouping how = { .by = GP_BY_STACK };
	const struct gp_use use = { .stack = stack,
				    .at_ns = at_ns,
				    .without = stack ? NULL : "no stack was recorded",
				    .space = GP_SPACE_BLOCK };
	struct gp_groups groups;
	snprintf(out, GP_SITE_MAX, "%s", "no stack was recorded");
	if (!stack || gp_groups_build(r->recording, &use, 1, &how, &groups))
		return;
	if (groups.groups)
		gp_name_cut(groups.group[0].key, GP_SITE_MAX - 1, gp_cut_mark(), out, GP_SITE_MAX);
	gp_groups_free(&groups);
}
