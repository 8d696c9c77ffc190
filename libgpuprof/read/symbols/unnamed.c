/*
 * Why native frames have no name: in words, and by module where a person can mend it. A frame of a
 * stripped library is nobody's fault and is not told here.
 */
#include <stdlib.h>
#include <string.h>

#include "../file/recording.h"

const char *gp_symbol_why_text(enum gp_symbol_why why)
{
	switch (why) {
	case GP_SYMBOL_NAMED:
		return NULL;
	case GP_SYMBOL_NO_MODULE:
		return "in no module that is known: made at run time, or gone before it was seen";
	case GP_SYMBOL_AMBIGUOUS:
		return "two modules were mapped there";
	case GP_SYMBOL_NO_FILE:
		return "the module's file is gone";
	case GP_SYMBOL_UNREADABLE:
		return "the module's file cannot be read";
	case GP_SYMBOL_MISMATCHED:
		return "the module's file is another one since the run";
	case GP_SYMBOL_NO_NAME:
		return "no symbol";
	case GP_SYMBOL_TIME_UP:
		return "not looked up in time";
	case GP_SYMBOL_NO_MEMORY:
		return "no memory for its name";
	}
	return "unknown";
}

static int by_place(const void *left, const void *right)
{
	const struct gp_unnamed_frame *a = left, *b = right;
	int order = strcmp(a->module, b->module);
	if (order == 0)
		order = strcmp(a->why, b->why);
	return order != 0 ? order : (a->offset > b->offset) - (a->offset < b->offset);
}

int gp_unnamed_order(const void *left, const void *right)
{
	const struct gp_unnamed *a = left, *b = right;
	if (a->frames != b->frames)
		return a->frames > b->frames ? -1 : 1;
	int order = strcmp(a->module, b->module);
	return order != 0 ? order : strcmp(a->why, b->why);
}

static bool unnamed_is_of(const struct gp_unnamed *module, const struct gp_unnamed_frame *frame)
{
	return strcmp(module->module, frame->module) == 0 && strcmp(module->why, frame->why) == 0;
}

/* `out` has room for `count`; how many modules. */
static size_t add_up(const struct gp_unnamed_frame *frame, size_t count, struct gp_unnamed *out)
{
	size_t modules = 0;
	for (size_t i = 0; i < count; i++) {
		if (i > 0 && by_place(&frame[i - 1], &frame[i]) == 0)
			continue;
		if (modules == 0 || !unnamed_is_of(&out[modules - 1], &frame[i]))
			out[modules++] = (struct gp_unnamed){ frame[i].module, frame[i].why, 0 };
		out[modules - 1].frames++;
	}
	return modules;
}

enum gp_status gp_recording_unnamed(struct gp_recording *r, const struct gp_unnamed **out,
				    size_t *modules)
{
	struct gp_stack_naming *naming = &r->naming;
	size_t count = 0;
	bool is_short = false;
	struct gp_unnamed_frame *frame = NULL;
	*out = NULL;
	*modules = 0;
	if (naming->symbolizer != NULL)
		frame = gp_symbolizer_unnamed(naming->symbolizer, &count, &is_short);
	if (is_short)
		return GP_E_MEMORY;
	if (count == 0)
		return GP_OK;
	struct gp_unnamed *sums = realloc(naming->unnamed, count * sizeof *sums);
	if (sums == NULL)
		return GP_E_MEMORY;
	naming->unnamed = sums;
	qsort(frame, count, sizeof *frame, by_place);
	*modules = add_up(frame, count, sums);
	qsort(sums, *modules, sizeof *sums, gp_unnamed_order);
	*out = sums;
	return GP_OK;
}
