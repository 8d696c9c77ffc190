/*
 * The key of a group of uses: a text for users. Two stacks may have the same key until
 * gp_keys_distinguish extends it.
 */
#ifndef GP_GROUP_KEY_H
#define GP_GROUP_KEY_H

#include "../stack_text.h"

#define GP_KEY_MAX 1024u /* the room that `out` must have below */

/* True: groups are made by stack, so a use without a stack needs a reason. */
static inline bool gp_by_stacks(enum gp_by by)
{
	return by != GP_BY_KIND && by != GP_BY_RANGE && by != GP_BY_ROLE;
}

/* True: uses of one stack may differ in range or rule, so they are sorted to count stacks. */
static inline bool gp_is_split(const struct gp_grouping *how)
{
	return how->by == GP_BY_RANGE || how->by == GP_BY_ROLE || how->range != NULL;
}

/* The relation of a use to the requested grouping. */
struct gp_use_place {
	const char *without; /* why its stack belongs to no group, a static text; NULL: it does */
	bool is_selected;    /* the filters accept it */
	bool is_other;	     /* the filters are for another library or range */
};
/* Reads its stack if `how` needs it; uses its range as it is. */
struct gp_use_place gp_use_place(struct gp_recording *recording, const struct gp_use *use,
				 const struct gp_grouping *how, struct gp_read_stack *stack);

/*
 * Writes the key of a use with that stack. The stack is ignored unless grouping is by stack. The
 * range is used as it is.
 */
void gp_group_key(enum gp_by by, const struct gp_use *use, const struct gp_read_stack *stack,
		  char *out);
/* The user's line in a stack, as GP_BY_LINE groups by it. */
struct gp_line {
	const char *without; /* the reason for a missing line, a static text; NULL: not missing */
	const char *file;    /* NULL: unknown */
	uint32_t line;	     /* 0: unknown */
	char key[GP_KEY_MAX];
};
/* `scratch`: of the caller, since it is large. */
void gp_line_find(struct gp_recording *recording, uint32_t stack, int64_t at_ns,
		  struct gp_read_stack *scratch, struct gp_line *out);
/*
 * "serve.py:12 answer": the user's line with its function, as keys of stacks have it. Unchanged if
 * the stack has none.
 */
void gp_line_text(const struct gp_read_stack *stack, char out[GP_KEY_MAX]);
/*
 * "  via serve.py:12 answer": the nearest caller of the user's frame of `a` that differs from b's
 * in the same place. If all are equal: the outermost frame of `a` that differs from `b`,
 * "  via adam.py:178 Adam._init_group". "" if `a` ends where `b` continues.
 */
void gp_group_difference(const struct gp_read_stack *a, const struct gp_read_stack *b, char *out);

#endif
