/* A call's line by the rules of `top --by line`. */
#include "line_name.h"

#include <stdio.h>

void gp_line_name(struct gp_recording *recording, uint32_t stack, int64_t at_ns,
		  struct gp_read_stack *buffer, struct gp_line_name *out)
{
	const struct gp_grouping how = { .by = GP_BY_LINE };
	struct gp_use use = { .stack = stack, .at_ns = at_ns };
	use.without = stack == 0 ? "no stack was recorded" : NULL;
	const struct gp_use_place place = gp_use_place(recording, &use, &how, buffer);
	out->without = place.without;
	out->file = NULL;
	out->line = 0;
	if (place.without != NULL) {
		snprintf(out->key, sizeof out->key, "(%s)", place.without);
		return;
	}
	gp_group_key(GP_BY_LINE, &use, buffer, out->key);
	if (buffer->names.user == SIZE_MAX)
		return;
	out->file = buffer->frame[buffer->names.user].file;
	out->line = buffer->frame[buffer->names.user].line;
}
