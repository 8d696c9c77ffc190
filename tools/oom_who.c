/* Names lines of code: who asked, and who holds most. */
#include <stdlib.h>
#include <string.h>

#include "oom_answer.h"
#include "report.h"

#define LINE_COLUMNS 81u  /* of an advice, behind its number and cost */
#define HOLDERS_TRIED 20u /* groups, most bytes first, of which the first with a line counts */

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

/* "f.<locals>.<lambda>", "<listcomp>": Python's names of what has none. */
static bool who_is_anonymous(const struct gp_frame *frame)
{
	const char *last = strrchr(frame->function, '.');
	last = last ? last + 1 : frame->function;
	return frame->is_python && *last == '<' && strcmp(last, "<module>") != 0;
}

/*
 * The caller of the user's frame: a helper's line alone does not tell which call it was. The first
 * that has a name, if one has.
 */
static const struct gp_frame *who_caller(const struct gp_frame *frame, size_t frames, size_t user)
{
	const struct gp_frame *first = NULL;
	for (size_t k = user + 1; k < frames; k++) {
		if (frame[k].is_python != frame[user].is_python || !frame[k].function ||
		    (frame[user].is_user && !frame[k].is_user))
			continue;
		/* what starts a program is not the user's */
		if (!frame[k].is_python && !who_is_same_module(&frame[k], &frame[user]))
			break;
		if (!who_is_anonymous(&frame[k]))
			return &frame[k];
		first = first ? first : &frame[k];
	}
	return first;
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

const char *gp_oom_who_short(const char *who, size_t others, char out[GP_OOM_WHO_MAX])
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

/* ---- who holds ---- */

/* The largest group of uses with a line. */
static enum gp_status holder_name(const struct gp_oom_report *r, const struct gp_use *use,
				  size_t uses, struct gp_oom_holder *out)
{
	const struct gp_grouping how = { .by = GP_BY_STACK };
	struct gp_groups groups;
	enum gp_status status = gp_groups_build(r->recording, use, uses, &how, &groups);
	if (status)
		return status;
	for (size_t k = 0; k < groups.groups && k < HOLDERS_TRIED && !out->bytes; k++) {
		const struct gp_use *held = &groups.group[k].use;
		if (!gp_oom_who(r->recording, held->stack, held->at_ns, out->who))
			continue;
		out->bytes = held->bytes;
		out->stack = held->stack;
	}
	gp_groups_free(&groups);
	return GP_OK;
}

enum gp_status gp_oom_holder_find(const struct gp_oom_report *r, const struct gp_oom_case *c,
				  bool is_outside, struct gp_oom_holder *out)
{
	size_t uses = 0;
	*out = (struct gp_oom_holder){ 0 };
	struct gp_use *use = calloc(c->uses + 1, sizeof *use);
	if (!use)
		return GP_E_MEMORY;
	for (size_t k = 0; k < c->uses; k++)
		if (c->use[k].bytes && (c->use[k].space != GP_SPACE_BLOCK) == is_outside)
			use[uses++] = c->use[k];
	enum gp_status status = holder_name(r, use, uses, out);
	free(use);
	return status;
}
