/*
 * Why native frames have no name: the texts, and the frames by module where the user can supply a
 * file. Frames of stripped libraries are not listed, because the user cannot name them.
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

int gp_unnamed_order(const void *left, const void *right)
{
	const struct gp_unnamed *a = left, *b = right;
	if (a->frames != b->frames)
		return a->frames > b->frames ? -1 : 1;
	int order = strcmp(a->module, b->module);
	return order != 0 ? order : strcmp(a->why, b->why);
}

enum gp_status gp_recording_unnamed(struct gp_recording *r, const struct gp_unnamed **out,
				    size_t *modules)
{
	struct gp_stack_naming *naming = &r->naming;
	*modules = 0;
	free(naming->unnamed);
	naming->unnamed = naming->symbolizer != NULL ?
				  gp_symbolizer_unnamed(naming->symbolizer, modules) :
				  NULL;
	*out = naming->unnamed;
	return naming->symbolizer != NULL && *out == NULL ? GP_E_MEMORY : GP_OK;
}
