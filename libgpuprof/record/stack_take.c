/*
 * Walks the calling thread's frames and turns them into an id. A thread remembers its last stack
 * with the ids of its frames: the next one mostly shares the outer part.
 */
#include "stack_take.h"

#include <string.h>

#include "python_walk.h"
#include "recorder.h"
#include "stack_table.h"

#define DEPTH 64u
#define TEXT_BYTES 480u /* of a file's or a function's name */

struct known_frame {
	const void *code;
	uint64_t identity;
	int32_t offset;
	bool is_entry;
	uint8_t bare_entries;
	uint32_t id;
};

/* A thread's own; the outermost frame first. */
struct gp_stack_memo {
	unsigned frames;
	uint32_t stack; /* id of the whole; 0: none yet */
	enum gp_stack_why why;
	struct known_frame frame[DEPTH];
};

static enum gp_stack_why why_of(enum gp_python_reason reason)
{
	switch (reason) {
	case GP_PYTHON_COMPLETE:
		return GP_WHY_WHOLE;
	case GP_PYTHON_TRUNCATED:
		return GP_WHY_TRUNCATED;
	case GP_PYTHON_NO_INTERPRETER:
	case GP_PYTHON_NO_THREAD_STATE:
		return GP_WHY_NO_THREAD;
	case GP_PYTHON_NO_FRAMES:
		return GP_WHY_NO_FRAMES;
	case GP_PYTHON_FINALIZING:
		return GP_WHY_FINALIZING;
	case GP_PYTHON_OFF:
		break;
	}
	return GP_WHY_OFF;
}

static bool is_known(const struct known_frame *k, const struct gp_python_frame *f)
{
	return k->code == f->code && k->offset == f->offset && k->is_entry == f->is_entry &&
	       k->bare_entries == f->bare_entries && k->identity == gp_python_identity(f->code);
}

/* First sight of a code object. 0: no room. */
GP_COLD static uint32_t learn_code(const void *code, uint64_t identity)
{
	char bytes[2 * TEXT_BYTES + 1], name_bytes[TEXT_BYTES];
	struct gp_python_text file = { .bytes = bytes, .room = TEXT_BYTES };
	struct gp_python_text name = { .bytes = name_bytes, .room = TEXT_BYTES };
	int32_t first_line = 0;
	if (!gp_python_describe(code, &file, &name, &first_line))
		return 0;
	bytes[file.size] = '\0';
	memcpy(bytes + file.size + 1, name_bytes, name.size);
	return gp_stack_code_add((uint64_t)(uintptr_t)code, identity,
				 first_line > 0 ? (uint32_t)first_line : 0, bytes,
				 (uint32_t)(file.size + 1 + name.size));
}

/* The frame's id below `parent`, remembered in `known`; 0: no room. */
static uint32_t learn_frame(struct known_frame *known, const struct gp_python_frame *f,
			    uint32_t parent)
{
	uint64_t identity = gp_python_identity(f->code);
	uint32_t code = gp_stack_code_find((uint64_t)(uintptr_t)f->code, identity);
	if (gp_unlikely(code == 0))
		code = learn_code(f->code, identity);
	const struct gp_stack_python place = { parent, code, f->offset, f->is_entry,
					       f->bare_entries };
	uint32_t id = code ? gp_stack_python(&place, gp_python_line, f->code) : 0;
	*known = (struct known_frame){ f->code,	    identity,	     f->offset,
				       f->is_entry, f->bare_entries, id };
	return id;
}

static struct gp_stack_memo *memo_of(struct gp_thread *t)
{
	if (gp_unlikely(!t->memo))
		t->memo = gp_pages(sizeof *t->memo);
	return t->memo;
}

uint32_t gp_stack_take(void)
{
	struct gp_stack_memo *memo = gp_settings.has_python ? memo_of(&gp_thread) : NULL;
	if (!memo)
		return 0;
	struct gp_python_frame frame[DEPTH];
	struct gp_python_walk walk;
	unsigned frames = gp_python_walk(frame, gp_settings.stack_depth, &walk), same = 0;
	enum gp_stack_why why = why_of(walk.reason);
	while (same < frames && same < memo->frames &&
	       is_known(&memo->frame[same], &frame[frames - 1 - same]))
		same++;
	if (same == frames && same == memo->frames && why == memo->why && memo->stack)
		return memo->stack;
	uint32_t id = same ? memo->frame[same - 1].id : 0;
	memo->frames = same;
	for (unsigned k = same; k < frames; k++) {
		id = learn_frame(&memo->frame[k], &frame[frames - 1 - k], id);
		if (id == 0)
			return memo->stack = gp_stack_pair(0, 0, GP_WHY_OFF, GP_WHY_TABLE_FULL);
		memo->frames = k + 1;
	}
	memo->why = why;
	return memo->stack = gp_stack_pair(0, id, GP_WHY_OFF, why);
}

void gp_stack_find(void *(*lookup)(void *context, const char *name), void *context)
{
	if (gp_settings.has_python)
		gp_python_find(lookup, context);
}
