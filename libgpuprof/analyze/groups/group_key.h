/*
 * What a group of uses is called. Keys are texts for people; two stacks may have the same one until
 * they are told apart.
 */
#ifndef GP_GROUP_KEY_H
#define GP_GROUP_KEY_H

#include "../stack_text.h"

#define GP_KEY_MAX 1024u /* room that `out` has below */

/* Are uses without a stack told by this reason alone? */
static inline bool gp_by_stacks(enum gp_by by)
{
	return by != GP_BY_KIND && by != GP_BY_RANGE;
}

/* How a use stands to what was asked for. */
struct gp_use_place {
	const char *without; /* why its stack names no group, a text that holds for ever; NULL */
	bool is_asked;	     /* the filters let it through */
	bool is_other;	     /* another library or range was asked for */
};
/* Reads its stack where `how` needs that; its range is taken as it is. */
struct gp_use_place gp_use_place(struct gp_recording *recording, const struct gp_use *use,
				 const struct gp_grouping *how, struct gp_read_stack *stack);

/*
 * Of a use with that stack, which is not looked at where it is not by stacks; its range is taken as
 * it is.
 */
void gp_group_key(enum gp_by by, const struct gp_use *use, const struct gp_read_stack *stack,
		  char *out);
/*
 * "  via serve.py:12 answer": the nearest caller of the user's frame of `a` that `b` has not in its
 * place. Where these are alike: the outermost frame of `a` that `b` has not,
 * "  via adam.py:178 Adam._init_group". "" where `b` goes on and `a` ends.
 */
void gp_group_difference(const struct gp_read_stack *a, const struct gp_read_stack *b, char *out);

#endif
