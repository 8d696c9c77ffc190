/*
 * Three tables before the pickle: texts, frames by texts and line, stacks by their numbers.
 */
#include "pickled_stacks.h"

#include <stdlib.h>
#include <string.h>

#include "../stacks/value_table.h"

struct gp_pickled_stacks {
	struct gp_recording *recording;
	struct gp_pickle *pickle;
	struct gp_pickle_rows texts; /* of frames */
	struct gp_pickle_rows frames, stacks;
	struct gp_pickle_rows owned; /* by stack; the text is the owner */
	struct gp_frame frame[GP_FRAMES_MAX];
};

/*
 * Writes a reference if the row is in the file. False: write the value. `row` NULL: out of memory.
 */
static bool row_is_written(struct gp_pickled_stacks *s, const struct gp_pickle_row *row)
{
	s->pickle->is_out_of_memory |= !row;
	if (!row || !row->memo)
		return false;
	gp_pickle_again(s->pickle, row->memo);
	return true;
}

/* ---- frames ---- */

static void write_frame(struct gp_pickled_stacks *s, const struct gp_frame *f)
{
	char place[600];
	const char *name = f->function, *file = f->file ? f->file : f->module;
	if (!name) {
		gp_frame_place(f, place, sizeof place);
		name = place;
	}
	file = file ? file : "??"; /* as in PyTorch's own unwinder */
	struct gp_pickle_row *row = gp_pickle_row_get(&s->frames, gp_hash_text(name),
						      gp_hash_text(file) + f->line, NULL);
	if (row_is_written(s, row))
		return;
	gp_pickle_dict(s->pickle, row ? &row->memo : NULL);
	gp_pickle_word(s->pickle, "name");
	gp_pickle_word_of(s->pickle, &s->texts, name);
	gp_pickle_word(s->pickle, "filename");
	gp_pickle_word_of(s->pickle, &s->texts, file);
	gp_pickle_word(s->pickle, "line");
	gp_pickle_number(s->pickle, f->line);
	gp_pickle_end(s->pickle);
}

/* ---- stacks ---- */

struct gp_pickled_stacks *gp_pickled_stacks_open(struct gp_recording *recording,
						 struct gp_pickle *pickle)
{
	struct gp_pickled_stacks *s = calloc(1, sizeof *s);
	if (!s)
		return NULL;
	s->recording = recording;
	s->pickle = pickle;
	return s;
}

void gp_pickled_stacks_close(struct gp_pickled_stacks *s)
{
	if (!s)
		return;
	gp_pickle_rows_release(&s->texts);
	gp_pickle_rows_release(&s->frames);
	gp_pickle_rows_release(&s->stacks);
	gp_pickle_rows_release(&s->owned);
	free(s);
}

/* With symbols. Omits frames of the interpreter, which repeat the Python frames. */
static size_t find_frames(struct gp_pickled_stacks *s, uint32_t stack, int64_t at_ns)
{
	struct gp_stack found;
	if (stack && gp_recording_stack(s->recording, stack, at_ns, GP_STACK_FOLDED, &found,
					s->frame, GP_FRAMES_MAX))
		return found.frames;
	return 0;
}

void gp_pickled_stacks_write(struct gp_pickled_stacks *s, uint32_t stack, uint32_t epoch,
			     int64_t at_ns)
{
	struct gp_pickle_row *row = gp_pickle_row_get(&s->stacks, stack, stack ? epoch : 0, NULL);
	if (row_is_written(s, row))
		return;
	const size_t frames = find_frames(s, stack, at_ns);
	gp_pickle_list(s->pickle, row ? &row->memo : NULL);
	for (size_t k = 0; k < frames; k++)
		write_frame(s, &s->frame[k]);
	gp_pickle_end(s->pickle);
}

const char *gp_pickled_stacks_owner(struct gp_pickled_stacks *s, uint32_t stack, uint32_t epoch,
				    int64_t at_ns, uint8_t space)
{
	struct gp_stack found;
	struct gp_names names = { 0 };
	if (!stack)
		return gp_space_owner(space);
	struct gp_pickle_row *row =
		gp_pickle_row_get(&s->owned, stack, (uint64_t)epoch << 8 | space, NULL);
	if (row && !row->text) {
		if (gp_recording_stack(s->recording, stack, at_ns, GP_STACK_SYMBOLS, &found,
				       s->frame, GP_FRAMES_MAX))
			gp_recording_names(s->recording, s->frame, found.frames, &names);
		row->text = strdup(names.library[0] ? names.library : gp_space_owner(space));
	}
	return row && row->text ? row->text : gp_space_owner(space);
}
