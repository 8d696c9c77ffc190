/*
 * Options, filters and groups of use_report.h.
 */
#include "use_report.h"

#include <stdlib.h>
#include <string.h>

#include "../io/message.h"

#define BY_WORDS "stack|operator|node|library|line|kind|range|module|role" /* enum gp_by */

void gp_use_report_read(struct gp_use_report *u)
{
	struct gp_use_style *s = &u->style;
	if (s->by)
		s->grouping.by = (enum gp_by)gp_choice_find(BY_WORDS, s->by);
	for (size_t k = 0; s->of_text && k < GP_CURVE_KEYS; k++)
		s->has_of[k] = gp_curve_keys[k] && strcmp(s->of_text, gp_curve_keys[k]) == 0;
	s->grouping.is_native = s->is_native;
	s->grouping.library = s->library;
	s->grouping.range = s->range;
	s->device = u->r.device;
	s->is_json = u->r.is_json;
	s->top = u->r.top;
	/* an error about missing items replaces the report */
	u->r.is_held = s->library || s->range || s->device >= 0;
}

bool gp_use_report_may_explain(const struct gp_use_report *u)
{
	if (!u->style.has_why || u->style.grouping.by == GP_BY_ROLE)
		return true;
	gp_usage(u->r.command, "'--why' needs '--by role'");
	return false;
}

bool gp_use_report_selects(const struct gp_use_report *r, unsigned device, enum gp_curve of,
			   bool is_all)
{
	const struct gp_use_style *s = &r->style;
	if (s->device >= 0 && device != (uint64_t)s->device)
		return false;
	return s->of_text ? s->has_of[of] : is_all || of != GP_CURVE_RESERVED;
}

/* ---- requested items that are missing ---- */

/* Notes what the current recording lacks. */
static void note_lack(struct gp_use_report *r)
{
	bool is_filtered = r->style.library || r->style.range;
	bool has_no_match = is_filtered && r->shown && !r->matched;
	r->reports++;
	r->has_phases |= gp_phases_by(r->r.info) != GP_PHASES_BY_NOTHING;
	if (!has_no_match && (r->shown || r->style.device < 0))
		return;
	r->lacks_match |= has_no_match;
	gp_again_run(r->r.info, gp_again_lacks(r->r.info, GP_LACK_STACKS), r->again);
	gp_report_devices_text(r->r.info, r->devices);
	if (!r->lackings++)
		r->lacking = r->r.path;
}

/* Replaces `near` if this name is nearer. Ignores longer names. */
static void hold_against(const char *requested, const char *name, char near[GP_RANGE_NEAR])
{
	const char *names[2] = { near, name };
	const size_t first = near[0] ? 0 : 1;
	if (!name || strlen(name) >= GP_RANGE_NEAR - 1)
		return;
	const char *best = gp_nearest(requested, names + first, 2 - first);
	if (best && best != near)
		strcpy(near, best);
}

void gp_use_range_near(const char *requested, const struct gp_use *use, size_t uses,
		       char near[GP_RANGE_NEAR])
{
	char text[GP_RANGE_NEAR];
	for (size_t k = 0; k < uses; k++) {
		const struct gp_range_path *path = gp_range_path_shown(use[k].range, NULL);
		for (; path; path = path->up)
			hold_against(requested, path->name, near);
	}
	/*
	 * the option may be a path, "step/forward"; names take precedence over equally near paths
	 */
	for (size_t k = 0; k < uses; k++) {
		const struct gp_range_path *path = gp_range_path_shown(use[k].range, NULL);
		for (; path; path = path->up) {
			gp_range_path_text(path, text, sizeof text);
			hold_against(requested, text, near);
		}
	}
}

void gp_use_range_hint(bool has_phases, const char *requested, const char *near)
{
	if (near[0] && strcmp(near, requested) != 0)
		gp_hint("did you mean '%s'?", near);
	else if (has_phases)
		gp_hint("gpuprof phases lists the ranges of a recording");
	else
		gp_hint("no ranges were recorded; gpuprof phases gives the cause");
}

/* False: no recording has the requested items, so there is no report. Prints what is missing. */
static bool use_report_judge(const struct gp_use_report *r)
{
	const struct gp_use_style *s = &r->style;
	char others[64] = "";
	bool is_in_none = r->lackings == r->reports;
	if (!r->lackings)
		return true;
	if (r->lackings > 1)
		snprintf(others, sizeof others, " and %.48s",
			 gp_plural(r->lackings - 1, "other").s);
	if (r->lacks_match && s->range)
		gp_error("no %smemory of range '%s' in '%s'%s",
			 s->library || s->of_text || s->device >= 0 ? "such " : "", s->range,
			 r->lacking, others);
	else if (r->lacks_match)
		gp_error("no %smemory of library '%s' in '%s'%s",
			 s->of_text || s->device >= 0 ? "such " : "", s->library, r->lacking,
			 others);
	else
		gp_report_no_device_in(r->lacking, others, s->device, r->devices);
	if (is_in_none && r->lacks_match && s->range)
		gp_use_range_hint(r->has_phases, s->range, r->near);
	else if (is_in_none && r->lacks_match)
		gp_use_library_hint(r->libraries, r->again);
	return !is_in_none;
}

/* Appends the new words of "cuBLAS, PyTorch" as far as they fit. */
static void merge_libraries(char *all, size_t room, const char *more)
{
	for (size_t n; *more; more += n, more += strspn(more, ", ")) {
		size_t used = strlen(all);
		bool is_there = false;
		n = strcspn(more, ",");
		for (const char *at = all; *at && !is_there; at += strspn(at, ", ")) {
			size_t word = strcspn(at, ",");
			is_there = word == n && memcmp(at, more, n) == 0;
			at += word;
		}
		if (!is_there && used + n + 3 < room)
			snprintf(all + used, room - used, "%s%.*s", used ? ", " : "", (int)n, more);
	}
}

const struct gp_group *gp_use_largest(const struct gp_groups *groups)
{
	return groups->groups && groups->group[0].is_selected ? &groups->group[0] : NULL;
}

enum gp_status gp_use_report_groups(struct gp_use_report *r, const struct gp_use *use, size_t uses,
				    struct gp_groups *out)
{
	enum gp_status status = gp_groups_build(r->r.recording, use, uses, &r->style.grouping, out);
	if (status)
		return status;
	if (r->style.range && !out->matched)
		gp_use_range_near(r->style.range, use, uses, r->near);
	r->matched += out->matched;
	r->shown++;
	merge_libraries(r->libraries, sizeof r->libraries, out->libraries);
	return status;
}

enum gp_status gp_use_report_note(struct gp_use_report *r, const struct gp_use *use, size_t uses)
{
	struct gp_groups groups;
	enum gp_status status =
		gp_groups_build(r->r.recording, use, uses, &r->style.grouping, &groups);
	if (status)
		return status;
	merge_libraries(r->libraries, sizeof r->libraries, groups.libraries);
	gp_groups_free(&groups);
	return status;
}

/* ---- hooks of reading.h ---- */

void gp_use_report_begin(struct gp_use_report *u)
{
	u->r.sink.has_report = true;
	u->shown = u->matched = 0;
}

int gp_use_report_done(struct gp_use_report *u, enum gp_status status)
{
	if (status)
		return gp_report_failed("report on", u->r.path, status);
	note_lack(u);
	return GP_EXIT_OK;
}

int gp_use_report_end(struct gp_reading *r, int worst)
{
	if (use_report_judge((const struct gp_use_report *)r))
		return worst;
	r->sink.has_report = false;
	return worst > GP_EXIT_USAGE ? worst : GP_EXIT_USAGE;
}

void gp_use_report_flags(struct gp_use_report *u, struct gp_flag flags[GP_USE_FLAGS])
{
	struct gp_use_style *s = &u->style;
	const struct gp_flag shared[GP_USE_FLAGS] = {
		{ "by", 0, GP_FLAG_CHOICE, "WHAT=" BY_WORDS, &s->by,
		  "group by, default stack; range: by phase; role: by what it holds" },
		{ "stacks", 0, GP_FLAG_SWITCH, NULL, &s->has_stacks,
		  "the whole stack under each group" },
		{ "native", 0, GP_FLAG_SWITCH, NULL, &s->is_native,
		  "all frames, also those that only lead from one to the next" },
		{ "top", 0, GP_FLAG_NUMBER, "N", &u->r.top,
		  "at most N groups, 0: all; default 10, with --json all" },
		{ "library", 0, GP_FLAG_TEXT, "NAME", &s->library,
		  "only memory of this library; the others are one group" },
		{ "range", 0, GP_FLAG_TEXT, "NAME", &s->range,
		  "only what was allocated in such a range; the others are one group" },
		{ 0 },
	};
	memcpy(flags, shared, sizeof shared);
}
