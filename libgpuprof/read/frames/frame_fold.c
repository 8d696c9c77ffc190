/*
 * Selects the frames of a stack that a user needs. Removes frames that only lead from one to the
 * next, and all turns of a recursion except the outermost.
 */
#include <string.h>

#include "frame_names.h"

#define TURN_MAX 8u /* the highest number of frames in one turn of recursion */

static struct gp_name_frame named(const struct gp_frame *f)
{
	return (struct gp_name_frame){ f->function, f->module, f->file, f->is_python };
}

/* The state of the walk through the operators of a stretch. */
struct stretch {
	char operator[GP_NAME_MAX]; /* "": none yet */
	enum gp_frame_role last;    /* of the last frame that was kept */
};

static bool is_useful(struct stretch *s, const struct gp_frame *frame)
{
	char name[GP_NAME_MAX];
	const struct gp_name_frame f = named(frame);
	enum gp_frame_role role = gp_frame_role(&f, name);
	bool is_first = s->operator[0] == '\0', is_kept = !gp_frame_is_folded(&f);
	switch (role) {
	case GP_ROLE_OPERATOR:
		is_kept = strcmp(name, s->operator) != 0;
		break;
	case GP_ROLE_ALLOCATION:
		is_kept = is_first;
		break;
	case GP_ROLE_NODE:
		is_kept = true;
		break;
	case GP_ROLE_ENGINE:
		is_kept = s->last != GP_ROLE_ENGINE;
		break;
	case GP_ROLE_INTERPRETER:
		is_kept = false;
		break;
	case GP_ROLE_OTHER: /* its name replaces an operator that only gets memory */
		is_kept = name[0] != '\0' ? strcmp(name, s->operator) != 0 : is_kept;
		break;
	case GP_ROLE_PYTHON:
		break;
	}
	if (role == GP_ROLE_OPERATOR || role == GP_ROLE_ALLOCATION ||
	    (role == GP_ROLE_OTHER && name[0] != '\0'))
		memcpy(s->operator, name, sizeof name);
	else if (role != GP_ROLE_OTHER)
		s->operator[0] = '\0';
	if (is_kept)
		s->last = role;
	return is_kept;
}

static bool is_same_text(const char *a, const char *b)
{
	return a == b || (a != NULL && b != NULL && strcmp(a, b) == 0);
}

bool gp_frame_reads_like(const struct gp_frame *a, const struct gp_frame *b)
{
	return a->line == b->line && a->is_python == b->is_python &&
	       is_same_text(a->function, b->function) && is_same_text(a->file, b->file) &&
	       is_same_text(a->module, b->module) &&
	       (a->function != NULL || (a->module != NULL ? a->module_offset == b->module_offset :
							    a->address == b->address));
}

/* True: the innermost `run` frames repeat the next `run` frames outside of them. */
static bool is_turn(const struct gp_frame *frame, size_t frames, size_t run)
{
	if (frames < 2 * run)
		return false;
	for (size_t k = 0; k < run; k++)
		if (!gp_frame_reads_like(&frame[k], &frame[k + run]))
			return false;
	return true;
}

size_t gp_frames_shorten(struct gp_frame *frame, size_t frames)
{
	struct stretch stretch = { "", GP_ROLE_OTHER };
	/* Walk from the outermost frame inward. The kept frames gather at the end of the array. */
	size_t first = frames;
	for (size_t k = frames; k-- > 0;) {
		if (!is_useful(&stretch, &frame[k]))
			continue;
		frame[--first] = frame[k];
		for (size_t run = 1; run <= TURN_MAX; run++) {
			if (!is_turn(frame + first, frames - first, run))
				continue;
			first += run;
			break;
		}
	}
	if (first == frames) { /* no frame was kept: return all except the interpreter's */
		size_t kept = 0;
		for (size_t k = 0; k < frames; k++)
			if (!frame[k].is_interpreter)
				frame[kept++] = frame[k];
		return kept;
	}
	memmove(frame, frame + first, (frames - first) * sizeof *frame);
	return frames - first;
}
