/*
 * Call stacks as the Trace Event Format has them: `stackFrames`, a tree of frames that each name
 * their caller, and `sf`, the innermost frame of an event. So an event costs one number.
 */
#include <stdlib.h>

#include "chrome_rows.h"
#include "trace_spans.h"

#define FRAME_BYTES 48u /* of a frame's text, but its label */

/* The number of a frame that `caller` has called. 0: out of memory. */
static uint32_t chrome_frame_get(struct gp_chrome *c, const struct gp_frame *f, uint32_t caller)
{
	char text[640];
	gp_frame_label(f, NULL, text, sizeof text);
	const char *label = gp_chrome_quote_kept(c, text);
	struct gp_pickle_row *row = gp_pickle_row_get(&c->places, (uintptr_t)label, caller, NULL);
	if (!row ||
	    !gp_trace_grow(c->trace, &c->frame, &c->frame_room, c->frames, sizeof *c->frame)) {
		c->trace->is_out_of_memory = true;
		return 0;
	}
	if (!row->memo) {
		c->frame[c->frames++] = (struct gp_chrome_frame){ caller, label };
		c->frame_bytes += FRAME_BYTES + strlen(label);
		row->memo = (uint32_t)c->frames;
	}
	return row->memo;
}

static uint32_t chrome_stack_get(struct gp_chrome *c, uint32_t stack, int64_t at_ns)
{
	struct gp_stack found;
	uint32_t caller = 0;
	if (!gp_recording_stack(c->trace->e->recording, stack, at_ns, GP_STACK_FOLDED, &found,
				c->found, GP_FRAMES_MAX))
		return 0;
	for (size_t k = found.frames; k-- > 0;)
		caller = chrome_frame_get(c, &c->found[k], caller);
	return caller;
}

void gp_chrome_stack(struct gp_chrome *c, uint32_t stack, int64_t at_ns)
{
	struct gp_trace *t = c->trace;
	if (!stack || !t->epochs)
		return;
	struct gp_pickle_row *row =
		gp_pickle_row_get(&c->stacks, stack, gp_stack_epoch(t->epochs, at_ns), NULL);
	if (!row) {
		t->is_out_of_memory = true;
		return;
	}
	/* UINT32_MAX: it has no frames */
	if (!row->memo) {
		const uint32_t frame = chrome_stack_get(c, stack, at_ns);
		row->memo = frame ? frame : UINT32_MAX;
	}
	if (row->memo == UINT32_MAX)
		return;
	gp_chrome_fixed(&c->text, ",\"sf\":");
	gp_chrome_number(&c->text, row->memo);
}

void gp_chrome_stacks_end(struct gp_chrome *c)
{
	if (c->frames)
		gp_chrome_fixed(&c->text, ",\"stackFrames\":{");
	for (size_t k = 0; k < c->frames; k++) {
		const struct gp_chrome_frame *f = &c->frame[k];
		gp_chrome_reserve(&c->text);
		gp_chrome_bytes(&c->text, k ? ",\n\"" : "\n\"", k ? 3 : 2);
		gp_chrome_number(&c->text, k + 1);
		gp_chrome_fixed(&c->text, "\":{\"category\":\"stack\",\"name\":");
		gp_chrome_long(&c->text, f->label);
		if (f->caller) {
			gp_chrome_fixed(&c->text, ",\"parent\":\"");
			gp_chrome_number(&c->text, f->caller);
			gp_chrome_fixed(&c->text, "\"");
		}
		gp_chrome_fixed(&c->text, "}");
	}
	if (c->frames)
		gp_chrome_fixed(&c->text, "\n}");
	c->frames = 0;
	c->frame_bytes = 0;
	gp_pickle_rows_release(&c->stacks);
	gp_pickle_rows_release(&c->places);
}

void gp_chrome_stacks_release(struct gp_chrome *c)
{
	gp_pickle_rows_release(&c->stacks);
	gp_pickle_rows_release(&c->places);
	free(c->frame);
}
