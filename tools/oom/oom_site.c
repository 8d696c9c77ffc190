/*
 * Names lines of code: the line of the request, and the line that holds most memory.
 */
#include <stdlib.h>
#include <string.h>

#include "../report/report.h"
#include "oom_answer.h"

#define LINE_COLUMNS 83u  /* of an advice, after its number and cost */
#define BY_COLUMNS 90u	  /* of the line `by`, after its title */
#define LINES_MOST 32u	  /* of a stack: the user's line, and callers */
#define RIVALS_MOST 64u	  /* stacks, most bytes first, with which a line is compared */
#define HOLDERS_TRIED 20u /* groups, most bytes first; the first one with a line is taken */

static void site_frame(const struct gp_frame *frame, char *out, size_t room)
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

static bool site_is_same_module(const struct gp_frame *a, const struct gp_frame *b)
{
	return a->module && b->module && strcmp(a->module, b->module) == 0;
}

/* "f.<locals>.<lambda>", "<listcomp>": Python's names for code without a name. */
static bool site_is_anonymous(const struct gp_frame *frame)
{
	const char *last = strrchr(frame->function, '.');
	last = last ? last + 1 : frame->function;
	return frame->is_python && *last == '<' && strcmp(last, "<module>") != 0;
}

/* The user's line, and its callers, nearest first. */
struct site_lines {
	size_t lines;
	char line[LINES_MOST][GP_OOM_SITE_MAX / 2 - 3];
};

static void site_add(struct site_lines *w, const struct gp_frame *frame)
{
	if (w->lines < LINES_MOST)
		site_frame(frame, w->line[w->lines++], sizeof *w->line);
}

/*
 * A helper's line alone does not identify the call, so its callers follow. A caller without a name
 * is used only if no caller has one.
 */
static void site_callers(const struct gp_frame *frame, size_t frames, size_t user,
			 struct site_lines *out)
{
	const struct gp_frame *first = NULL;
	for (size_t k = user + 1; k < frames; k++) {
		if (frame[k].is_python != frame[user].is_python || !frame[k].function ||
		    (frame[user].is_user && !frame[k].is_user))
			continue;
		/* code that starts a program is not the user's */
		if (!frame[k].is_python && !site_is_same_module(&frame[k], &frame[user]))
			break;
		if (!site_is_anonymous(&frame[k]))
			site_add(out, &frame[k]);
		else if (!first)
			first = &frame[k];
	}
	if (out->lines == 1 && first)
		site_add(out, first);
}

static bool site_list(struct gp_recording *recording, uint32_t stack, int64_t at_ns,
		      struct site_lines *out)
{
	struct gp_stack s;
	struct gp_frame frame[GP_FRAMES_MAX];
	struct gp_names names;
	out->lines = 0;
	if (!stack || !gp_recording_stack(recording, stack, at_ns, GP_STACK_SYMBOLS, &s, frame,
					  GP_FRAMES_MAX))
		return false;
	gp_recording_names(recording, frame, s.frames, &names);
	if (names.user == SIZE_MAX || !frame[names.user].function)
		return false;
	site_add(out, &frame[names.user]);
	site_callers(frame, s.frames, names.user, out);
	return true;
}

/* The user's line and one of its callers, if it has that many. */
static void site_text(const struct site_lines *w, const char *between, size_t caller,
		      char out[GP_OOM_SITE_MAX])
{
	const int most = sizeof *w->line - 1;
	if (caller < w->lines)
		snprintf(out, GP_OOM_SITE_MAX, "%.*s%s%.*s", most, w->line[0], between, most,
			 w->line[caller]);
	else
		snprintf(out, GP_OOM_SITE_MAX, "%.*s", most, w->line[0]);
}

bool gp_oom_site(struct gp_recording *recording, uint32_t stack, int64_t at_ns,
		 char out[GP_OOM_SITE_MAX])
{
	struct site_lines w;
	out[0] = '\0';
	if (!site_list(recording, stack, at_ns, &w))
		return false;
	site_text(&w, " < ", 1, out);
	return true;
}

void gp_oom_site_callers(struct gp_recording *recording, uint32_t stack, int64_t at_ns,
			 char out[GP_OOM_SITE_MAX])
{
	struct site_lines w;
	size_t at = 0;
	out[0] = '\0';
	if (!site_list(recording, stack, at_ns, &w))
		return;
	for (size_t k = 0; k < w.lines; k++) {
		const char *line = w.line[k], *before = k ? w.line[k - 1] : "";
		const size_t file = strcspn(line, ":");
		if (line[file] && strncmp(before, line, file + 1) == 0)
			line += file;
		const size_t length = strlen(line) + (k ? strlen(" < ") : 0);
		if (k && at + length > BY_COLUMNS)
			break;
		at += (size_t)snprintf(out + at, GP_OOM_SITE_MAX - at, "%s%s", k ? " < " : "",
				       line);
	}
}

const char *gp_oom_site_short(const char *site, size_t others, char out[GP_OOM_SITE_MAX])
{
	const char *via = strstr(site, " via "), *caller = via ? via : strstr(site, " < ");
	snprintf(out, GP_OOM_SITE_MAX, "%s", site);
	if (!caller || strlen(site) + others <= LINE_COLUMNS)
		return out;
	const size_t file = strcspn(site, ":"), name = (size_t)(caller - site);
	const size_t between = via ? strlen(" via ") : strlen(" < ");
	bool is_same = file < name && strncmp(caller + between, site, file + 1) == 0;
	snprintf(out + name, GP_OOM_SITE_MAX - name, "%.*s%s", (int)between, caller,
		 caller + between + (is_same ? file : 0));
	if (strlen(out) + others <= LINE_COLUMNS)
		return out;
	/* keep the line that distinguishes it */
	if (via)
		snprintf(out, GP_OOM_SITE_MAX, "%s", via + between);
	else
		out[name] = '\0';
	return out;
}

/* ---- lines that distinguish stacks ---- */

static int compare_uses(const void *left, const void *right)
{
	const struct gp_use *a = left, *b = right;
	return (a->bytes < b->bytes) - (a->bytes > b->bytes);
}

/*
 * Marks the lines of w that another stack has, too. Ignores a stack that has all of them: its calls
 * are the same.
 */
static void site_mark(struct gp_recording *recording, uint32_t stack, int64_t at_ns,
		      const struct site_lines *w, bool is_taken[LINES_MOST])
{
	struct site_lines other;
	bool has[LINES_MOST] = { false };
	size_t common = 0;
	if (!site_list(recording, stack, at_ns, &other))
		return;
	for (size_t k = 0; k < w->lines; k++) {
		for (size_t i = 0; i < other.lines && !has[k]; i++)
			has[k] = strcmp(w->line[k], other.line[i]) == 0;
		common += has[k];
	}
	for (size_t k = 0; k < w->lines && common < w->lines; k++)
		is_taken[k] |= has[k];
}

enum gp_status gp_oom_sites_distinguish(const struct gp_oom_report *r, const struct gp_oom *o,
					const struct gp_oom_case *c, uint32_t stack, int64_t at_ns,
					char out[GP_OOM_SITE_MAX])
{
	struct site_lines w;
	bool is_taken[LINES_MOST] = { false };
	size_t apart = 0;
	out[0] = '\0';
	if (!site_list(r->recording, stack, at_ns, &w))
		return GP_OK;
	struct gp_use *use = calloc(c->uses + 1, sizeof *use);
	if (!use)
		return GP_E_MEMORY;
	memcpy(use, c->use, c->uses * sizeof *use);
	if (c->uses > 1)
		qsort(use, c->uses, sizeof *use, compare_uses);
	site_mark(r->recording, o->stack, o->at_ns, &w, is_taken);
	for (size_t k = 0; k < c->uses && k < RIVALS_MOST && use[k].bytes; k++)
		if (use[k].stack != stack)
			site_mark(r->recording, use[k].stack, use[k].at_ns, &w, is_taken);
	free(use);
	while (apart < w.lines && is_taken[apart])
		apart++;
	if (apart && apart < w.lines)
		site_text(&w, " via ", apart, out);
	else
		site_text(&w, " < ", 1, out);
	return GP_OK;
}

/* ---- holders ---- */

/* The largest group of uses with a line. */
static enum gp_status holder_name(const struct gp_oom_report *r, const struct gp_oom *o,
				  const struct gp_oom_case *c, const struct gp_use *use,
				  size_t uses, struct gp_oom_holder *out)
{
	const struct gp_grouping how = { .by = GP_BY_STACK };
	struct gp_groups groups;
	enum gp_status status = gp_groups_build(r->recording, use, uses, &how, &groups);
	if (status)
		return status;
	for (size_t k = 0; !status && k < groups.groups && k < HOLDERS_TRIED && !out->bytes; k++) {
		const struct gp_use *held = &groups.group[k].use;
		status = gp_oom_sites_distinguish(r, o, c, held->stack, held->at_ns, out->site);
		if (!*out->site)
			continue;
		out->bytes = held->bytes;
		out->stack = held->stack;
		out->blocks = held->count;
	}
	gp_groups_free(&groups);
	return status;
}

enum gp_status gp_oom_holder_find(const struct gp_oom_report *r, const struct gp_oom *o,
				  const struct gp_oom_case *c, bool is_outside,
				  struct gp_oom_holder *out)
{
	size_t uses = 0;
	*out = (struct gp_oom_holder){ 0 };
	struct gp_use *use = calloc(c->uses + 1, sizeof *use);
	if (!use)
		return GP_E_MEMORY;
	for (size_t k = 0; k < c->uses; k++)
		if (c->use[k].bytes && (c->use[k].space != GP_SPACE_BLOCK) == is_outside)
			use[uses++] = c->use[k];
	enum gp_status status = holder_name(r, o, c, use, uses, out);
	free(use);
	return status;
}
