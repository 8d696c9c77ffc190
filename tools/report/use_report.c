/* Flags that `peak` and `top` share, and the way from their recordings to an exit status. */
#include "use_report.h"

#include <stdlib.h>
#include <string.h>

#include "../input/flags.h"
#include "../input/inputs.h"
#include "../io/amount.h"
#include "../io/message.h"
#include "stack_print.h"

#define GROUPS_DEFAULT 10u

#define BY_WORDS "stack|operator|node|library|line|kind|range" /* enum gp_by */

void gp_use_style_read(struct gp_use_style *s)
{
	if (s->by)
		s->grouping.by = (enum gp_by)gp_choice_find(BY_WORDS, s->by);
	for (size_t k = 0; s->of_text && k < GP_CURVE_KEYS; k++)
		s->has_of[k] = gp_curve_keys[k] && strcmp(s->of_text, gp_curve_keys[k]) == 0;
	s->grouping.is_native = s->is_native;
	s->grouping.library = s->library;
	s->grouping.range = s->range;
}

void gp_use_style_settle(struct gp_use_style *s)
{
	if (s->top == UINT64_MAX)
		s->top = s->is_json ? 0 : GROUPS_DEFAULT;
}

bool gp_use_report_wants(const struct gp_use_report *r, unsigned device, enum gp_curve of,
			 bool is_all)
{
	const struct gp_use_style *s = &r->style;
	if (s->device >= 0 && device != (uint64_t)s->device)
		return false;
	return s->of_text ? s->has_of[of] : is_all || of != GP_CURVE_RESERVED;
}

/* ---- what was asked for and is not there ---- */

/* Of the recording that was read last. */
static void note_lack(struct gp_use_report *r)
{
	bool is_filtered = r->style.library || r->style.range;
	bool has_no_match = is_filtered && r->shown && !r->matched;
	r->reports++;
	r->has_phases |= gp_phases_by(r->info) != GP_PHASES_BY_NOTHING;
	if (!has_no_match && (r->shown || r->style.device < 0))
		return;
	r->lacks_match |= has_no_match;
	gp_again_run(r->info, gp_again_lacks(r->info, GP_LACK_STACKS), r->again);
	gp_report_devices_text(r->info, r->devices);
	if (!r->lackings++)
		r->lacking = r->file;
}

/* What was found before stays where this one is no nearer. Longer ones are passed over. */
static void hold_against(const char *asked, const char *name, char near[GP_RANGE_NEAR])
{
	const char *names[2] = { near, name };
	const size_t first = near[0] ? 0 : 1;
	if (!name || strlen(name) >= GP_RANGE_NEAR - 1)
		return;
	const char *best = gp_nearest(asked, names + first, 2 - first);
	if (best && best != near)
		strcpy(near, best);
}

void gp_use_range_near(const char *asked, const struct gp_use *use, size_t uses,
		       char near[GP_RANGE_NEAR])
{
	char text[GP_RANGE_NEAR];
	for (size_t k = 0; k < uses; k++) {
		const struct gp_range_path *path = gp_range_path_shown(use[k].range, NULL);
		for (; path; path = path->up)
			hold_against(asked, path->name, near);
	}
	/* or it may be a path, "step/forward"; names stand first where both are as near */
	for (size_t k = 0; k < uses; k++) {
		const struct gp_range_path *path = gp_range_path_shown(use[k].range, NULL);
		for (; path; path = path->up) {
			gp_range_path_text(path, text, sizeof text);
			hold_against(asked, text, near);
		}
	}
}

void gp_use_range_hint(bool has_phases, const char *asked, const char *near)
{
	if (near[0] && strcmp(near, asked) != 0)
		gp_hint("did you mean '%s'?", near);
	else if (has_phases)
		gp_hint("gpuprof phases lists the ranges of a recording");
	else
		gp_hint("no ranges were recorded; gpuprof phases gives the cause");
}

/* False: no recording has it, so there is nothing to report. Says what is not there. */
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

/* Adds the words of "cuBLAS, PyTorch" that are not there yet; what has no room is left out. */
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
	return groups->groups && groups->group[0].is_asked ? &groups->group[0] : NULL;
}

enum gp_status gp_use_report_groups(struct gp_use_report *r, const struct gp_use *use, size_t uses,
				    struct gp_groups *out)
{
	enum gp_status status = gp_groups_build(r->recording, use, uses, &r->style.grouping, out);
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
		gp_groups_build(r->recording, use, uses, &r->style.grouping, &groups);
	if (status)
		return status;
	merge_libraries(r->libraries, sizeof r->libraries, groups.libraries);
	gp_groups_free(&groups);
	return status;
}

/* ---- recordings ---- */

static int use_report_one(struct gp_use_report *r, const char *path)
{
	int exit_status = GP_EXIT_USAGE;
	r->file = path;
	r->recording = gp_report_open(path, &r->info, &exit_status);
	if (!r->recording)
		return exit_status;
	int result = GP_EXIT_USAGE;
	exit_status = gp_report_exit(path, r->info);
	if (r->command->find(r)) {
		r->sink.has_report = true;
		r->shown = r->matched = 0;
		enum gp_status status = r->command->show(r);
		result = status ? gp_report_failed("report on", path, status) : GP_EXIT_OK;
		if (!status)
			note_lack(r);
	}
	gp_recording_close(r->recording);
	return result > exit_status ? result : exit_status;
}

static int report_each(struct gp_use_report *r, int words, char **paths)
{
	int worst = GP_EXIT_OK;
	r->is_many = words > 1;
	gp_json_init(&r->json, r->out, r->is_many ? 5 : 4);
	if (r->is_many && r->style.is_json)
		gp_json_array(&r->json, NULL);
	for (int k = 0; k < words; k++) {
		int exit_status = use_report_one(r, paths[k]);
		worst = exit_status > worst ? exit_status : worst;
	}
	if (r->is_many && r->style.is_json)
		gp_json_end(&r->json);
	if (r->sheet.rows)
		gp_report_table_print(&r->sheet, r->out);
	gp_report_table_release(&r->sheet);
	return worst;
}

/* What was asked for and is nowhere is said in place of a report, so that is held back. */
static int use_report_all(struct gp_use_report *r, int words, char **paths)
{
	char *text = NULL;
	size_t bytes = 0;
	bool is_filtered = r->style.library || r->style.range || r->style.device >= 0;
	r->out = is_filtered ? open_memstream(&text, &bytes) : r->sink.out;
	if (!r->out) {
		gp_error("cannot report: %s", gp_status_text(GP_E_MEMORY));
		return GP_EXIT_INTERNAL;
	}
	int worst = report_each(r, words, paths);
	if (!is_filtered)
		return worst;
	if (fclose(r->out) != 0) {
		gp_error("cannot report: %s", gp_status_text(GP_E_MEMORY));
		worst = GP_EXIT_INTERNAL;
	} else if (use_report_judge(r)) {
		fwrite(text, 1, bytes, r->sink.out);
	} else {
		r->sink.has_report = false;
		worst = worst > GP_EXIT_USAGE ? worst : GP_EXIT_USAGE;
	}
	free(text);
	return worst;
}

/* ---- the command ---- */

void gp_use_report_flags(struct gp_use_report *r, struct gp_flag *flags, size_t count)
{
	struct gp_use_style *s = &r->style;
	const struct gp_flag shared[] = {
		{ "by", 0, GP_FLAG_CHOICE, "WHAT=" BY_WORDS, &s->by,
		  "group by, default stack; range groups by phase" },
		{ "stacks", 0, GP_FLAG_SWITCH, NULL, &s->has_stacks,
		  "the whole stack under each group" },
		{ "native", 0, GP_FLAG_SWITCH, NULL, &s->is_native,
		  "all frames, also those that only lead from one to the next" },
		{ "top", 0, GP_FLAG_NUMBER, "N", &s->top,
		  "at most N groups, 0: all; default 10, with --json all" },
		{ "library", 0, GP_FLAG_TEXT, "NAME", &s->library,
		  "only memory of this library; the others are one group" },
		{ "range", 0, GP_FLAG_TEXT, "NAME", &s->range,
		  "only what was allocated in such a range; the others are one group" },
		{ "device", 0, GP_FLAG_DEVICE, "N", &s->device, "only this device" },
		{ "json", 0, GP_FLAG_SWITCH, NULL, &s->is_json,
		  "for a program: docs/JSON.md lists the keys" },
		GP_FLAGS_NO_STACKS,
		GP_FLAGS_OUTPUT(&r->path, &r->is_forced),
		GP_FLAGS_SCREEN,
		{ 0 },
	};
	s->top = UINT64_MAX;
	memcpy(flags + count, shared, sizeof shared);
}

int gp_use_report_run(struct gp_use_report *r, const struct gp_flag *own, size_t owns, int argc,
		      char **argv)
{
	struct gp_flag flags[GP_USE_FLAGS_MAX];
	const struct gp_command *command = r->command->command;
	memcpy(flags, own, owns * sizeof *own);
	gp_use_report_flags(r, flags, owns);
	int words = gp_inputs_parse(command, flags, argc, &argv);
	if (words < 0)
		return gp_flags_exit(words);
	gp_use_style_read(&r->style);
	if (!r->command->check(r, words))
		return GP_EXIT_USAGE;
	gp_use_style_settle(&r->style);
	int exit_status =
		gp_sink_open(&r->sink, r->path, r->is_forced, !r->style.is_json, argv, words);
	return exit_status ? exit_status : gp_sink_close(&r->sink, use_report_all(r, words, argv));
}
