/* Blocks of the framework with stacks of Python, each frame and code object an id of its own. */
#ifndef PYTHON_STACKS_H
#define PYTHON_STACKS_H

#include "stack_records.h"

/* A frame; a stack of them is outermost frame first and ends where there is no file. */
struct line {
	const char *file, *function;
	uint32_t line;
};

struct stacks {
	struct writer w;
	uint32_t ids; /* of definitions: all kinds share them */
	uint64_t allocated;
	enum gp_stack_why why_native, why_python;
};

static void add_block(struct stacks *s, uint64_t bytes, const struct line *line)
{
	uint32_t parent = 0;
	for (; line->file != NULL; line++) {
		char text[512];
		uint32_t code = ++s->ids, frame = ++s->ids;
		size_t file = strlen(line->file), name = strlen(line->function);
		memcpy(text, line->file, file + 1);
		memcpy(text + file + 1, line->function, name + 1);
		put_text(&s->w, (struct gp_record){ .kind = GP_PYTHON_CODE, .aux = code }, text,
			 file + 1 + name);
		put(&s->w, 0,
		    (struct gp_record){ .kind = GP_PYTHON_FRAME,
					.aux = frame,
					.python_frame = { .parent = parent,
							  .python_code = code,
							  .line = line->line,
							  .place = 1 } });
		parent = frame;
	}
	uint32_t stack = ++s->ids;
	put(&s->w, 0,
	    (struct gp_record){ .kind = GP_CALL_STACK,
				.aux = stack,
				.call_stack = { .python = parent,
						.why_native = s->why_native,
						.why_python = s->why_python } });
	s->allocated += bytes;
	put(&s->w, 0,
	    (struct gp_record){ .kind = GP_BLOCK_ALLOC,
				.stack = stack,
				.block_alloc = { 0x100000 * stack, bytes, s->allocated, 0 } });
}

#endif
