/*
 * The keys of groups: the names that users know for a stack, and the frame in which two stacks
 * differ.
 */
#include "group_key.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "../../read/frames/frame_names.h"
#include "../../read/frames/name_text.h"
#include "../phases/range_path.h"

#define FUNCTION_MAX 48u /* longer names are left out of a key */

struct gp_use_place gp_use_place(struct gp_recording *recording, const struct gp_use *use,
				 const struct gp_grouping *how, struct gp_read_stack *stack)
{
	const bool has_names = gp_by_stacks(how->by) || how->library != NULL;
	const bool has_any_library = how->library == NULL;
	memset(&stack->names, 0, sizeof stack->names);
	const bool has_role = how->by == GP_BY_ROLE && use->rule != 0;
	if (use->without != NULL && use->space == GP_SPACE_NONE && !has_role)
		return (struct gp_use_place){ use->without, has_any_library && how->range == NULL,
					      false };
	if (how->range != NULL && !gp_range_path_has(use->range, how->range))
		return (struct gp_use_place){ "of other ranges", false, true };
	if (use->without != NULL && has_names)
		return (struct gp_use_place){ use->without, has_any_library, false };
	if (has_names && !gp_read_stack(recording, use, how->is_native, stack))
		return (struct gp_use_place){ "its stack was not kept", has_any_library, false };
	if (how->library != NULL && strcasecmp(how->library, stack->names.library) != 0)
		return (struct gp_use_place){ "of other libraries", false, true };
	return (struct gp_use_place){ NULL, true, false };
}

static void write_frame(char *out, size_t room, const struct gp_frame *f, bool has_path)
{
	const char *file = f->file && !has_path ? file_of(f->file) : f->file;
	if (file != NULL && f->line != 0)
		snprintf(out, room, "%s:%u", file, f->line);
	else if (f->function != NULL)
		snprintf(out, room, "%s", f->function);
	else if (f->module != NULL)
		snprintf(out, room, "%s+0x%llx", file_of(f->module),
			 (unsigned long long)f->module_offset);
	else
		snprintf(out, room, "0x%llx", (unsigned long long)f->address);
}

/* "train.py:42 forward" */
static void write_line(char *out, size_t room, const struct gp_frame *f)
{
	write_frame(out, room, f, false);
	size_t used = strlen(out);
	bool has_line = f->file != NULL && f->line != 0;
	if (has_line && f->function != NULL && strlen(f->function) < FUNCTION_MAX)
		snprintf(out + used, room - used, " %s", f->function);
}

/* "AddmmBackward0 aten::mm", "aten::linear > aten::addmm  a.py:42 f", "cublasCreate  a.py:7" */
static void write_place(char *out, size_t room, const struct gp_read_stack *s)
{
	char place[GP_KEY_MAX / 2] = "";
	const struct gp_names *n = &s->names;
	const char *caller = "";
	if (n->user != SIZE_MAX)
		write_line(place, sizeof place, &s->frame[n->user]);
	bool has_name = n->operator[0] || n->node[0];
	if (!has_name && n->caller != SIZE_MAX && n->caller != n->user &&
	    s->frame[n->caller].function != NULL)
		caller = s->frame[n->caller].function;
	snprintf(out, room, "%s%s%s%s%s%.200s%s%s", n->node,
		 n->node[0] && n->operator[0] ? " " : "", n->outer_operator,
		 n->outer_operator[0] ? " > " : "", n->operator, caller,
		 (has_name || caller[0]) && place[0] ? "  " : "", place);
	if (out[0] == '\0' && s->frames > 0)
		write_frame(out, room, &s->frame[0], false);
}

static void write_node(char *out, size_t room, const struct gp_read_stack *s)
{
	/* with missing or nameless frames, there may be a node among them */
	bool by_native =
		s->names.is_outside_backward && (s->stack.is_native_whole || s->has_beginning);
	/* nodes run on the engine's threads, or below a call of the engine */
	bool by_python = s->names.has_no_engine_call && s->stack.is_python_whole;
	if (s->names.node[0])
		snprintf(out, room, "%s", s->names.node);
	else if (by_native || by_python)
		snprintf(out, room, "not in backward: forward, optimizer, set-up");
	else
		snprintf(out, room, "no autograd node seen%s%s",
			 s->stack.missing_native ? ": " : "",
			 s->stack.missing_native ? s->stack.missing_native : "");
}

static void write_kind(char *out, size_t room, const struct gp_use *use)
{
	if (use->space == GP_SPACE_NONE || use->space >= GP_SPACES)
		snprintf(out, room, "unknown");
	else
		snprintf(out, room, "%s%s", gp_space_names[use->space],
			 use->is_segment ? ", PyTorch segment" : "");
}

static void write_role(char *out, size_t room, const struct gp_use *use)
{
	snprintf(out, room, "%s", gp_role_keys[gp_role_rule(use->rule)->role]);
}

void gp_group_key(enum gp_by by, const struct gp_use *use, const struct gp_read_stack *s, char *out)
{
	const size_t room = GP_KEY_MAX;
	out[0] = '\0';
	if (gp_by_stacks(by) && s->frames == 0 && s->stack.missing) {
		snprintf(out, room, "%s", s->stack.missing);
		return;
	}
	switch (by) {
	case GP_BY_STACK:
		write_place(out, room, s);
		break;
	case GP_BY_LINE:
		if (s->names.user != SIZE_MAX)
			write_frame(out, room, &s->frame[s->names.user], true);
		else
			snprintf(out, room, "no line of the program%s%s",
				 s->stack.is_python_off ? ": " : "",
				 s->stack.is_python_off ? s->stack.missing : "");
		break;
	case GP_BY_KIND:
		write_kind(out, room, use);
		break;
	case GP_BY_ROLE:
		write_role(out, room, use);
		break;
	case GP_BY_RANGE:
		gp_range_path_text(use->range, out, room);
		break;
	case GP_BY_OPERATOR:
		snprintf(out, room, "%s", s->names.operator[0] ? s->names.operator: "no operator");
		break;
	case GP_BY_NODE:
		write_node(out, room, s);
		break;
	case GP_BY_MODULE:
		if (s->names.modules[0])
			snprintf(out, room, "%s", s->names.modules);
		else
			snprintf(out, room, "%s", s->no_module);
		break;
	case GP_BY_LIBRARY:
		if (use->space == GP_SPACE_BLOCK && s->names.workspace[0])
			snprintf(out, room, "%s, workspace for %s", s->names.library,
				 s->names.workspace);
		else
			snprintf(out, room, "%s",
				 s->names.library[0] ? s->names.library : "no library");
		break;
	}
	if (out[0] == '\0')
		snprintf(out, room, "%s",
			 s->stack.missing ? s->stack.missing : "a stack without frames");
}

/* ---- the difference of two stacks ---- */

/* "torch::autograd::generated::details::mm_mat1_backward" is shown as "mm_mat1_backward". */
static const char *last_name(const char *function)
{
	const char *last = function;
	for (const char *at = function; *at != '\0' && *at != '<' && *at != '('; at++)
		if (at[0] == ':' && at[1] == ':')
			last = at + 2;
	return isalpha((unsigned char)*last) || *last == '_' ? last : function;
}

/*
 * The next outer frame that belongs to the program as the user's innermost frame does; SIZE_MAX:
 * none.
 */
static size_t next_caller(const struct gp_read_stack *s, size_t k)
{
	const struct gp_frame *user = &s->frame[s->names.user];
	for (k++; k < s->frames; k++) {
		const struct gp_frame *f = &s->frame[k];
		const bool is_there = f->module != NULL && user->module != NULL &&
				      strcmp(f->module, user->module) == 0;
		if (f->is_python == user->is_python &&
		    (user->is_python ? f->is_user == user->is_user : is_there))
			return k;
	}
	return SIZE_MAX;
}

/*
 * The nearest caller of a's user frame that differs from b's caller in the same place; SIZE_MAX:
 * none.
 */
static size_t unlike_caller(const struct gp_read_stack *a, const struct gp_read_stack *b)
{
	size_t i = a->names.user, j = b->names.user;
	while (i != SIZE_MAX && j != SIZE_MAX) {
		i = next_caller(a, i);
		j = next_caller(b, j);
		if (i == SIZE_MAX || j == SIZE_MAX ||
		    !gp_frame_reads_like(&a->frame[i], &b->frame[j]))
			return i;
	}
	return SIZE_MAX;
}

/* The outermost frame of a that differs from b; SIZE_MAX: none. */
static size_t leaving_frame(const struct gp_read_stack *a, const struct gp_read_stack *b)
{
	size_t i = a->frames, j = b->frames;
	while (i > 0 && j > 0 && gp_frame_reads_like(&a->frame[i - 1], &b->frame[j - 1])) {
		i--;
		j--;
	}
	/* the key already has the user's own line: take its caller */
	const bool is_in_key = i > 0 && i - 1 == a->names.user && i < a->frames;
	return is_in_key ? i : i - 1;
}

void gp_group_difference(const struct gp_read_stack *a, const struct gp_read_stack *b, char *out)
{
	size_t k = unlike_caller(a, b);
	if (k == SIZE_MAX)
		k = leaving_frame(a, b);
	out[0] = '\0';
	if (k == SIZE_MAX)
		return;
	const struct gp_frame *f = &a->frame[k];
	char name[GP_NAME_MAX];
	const struct gp_name_frame named = { f->function, f->module, f->file, f->is_python };
	size_t used = (size_t)sprintf(out, "  via ");
	gp_frame_role(&named, name);
	if (name[0] != '\0')
		snprintf(out + used, GP_KEY_MAX - used, "%s", name);
	else if (f->is_python || f->function == NULL || f->file != NULL)
		write_line(out + used, GP_KEY_MAX - used, f);
	else
		gp_short_name(last_name(f->function), out + used, GP_KEY_MAX - used);
}

void gp_line_text(const struct gp_read_stack *s, char out[GP_KEY_MAX])
{
	if (s->names.user != SIZE_MAX)
		write_line(out, GP_KEY_MAX, &s->frame[s->names.user]);
}

void gp_line_find(struct gp_recording *recording, uint32_t stack, int64_t at_ns,
		  struct gp_read_stack *scratch, struct gp_line *out)
{
	const struct gp_grouping how = { .by = GP_BY_LINE };
	struct gp_use use = { .stack = stack, .at_ns = at_ns };
	use.without = stack == 0 ? "no stack was recorded" : NULL;
	*out = (struct gp_line){ 0 };
	out->without = gp_use_place(recording, &use, &how, scratch).without;
	if (out->without != NULL) {
		snprintf(out->key, sizeof out->key, "(%s)", out->without);
		return;
	}
	gp_group_key(GP_BY_LINE, &use, scratch, out->key);
	if (scratch->names.user == SIZE_MAX)
		return;
	out->file = scratch->frame[scratch->names.user].file;
	out->line = scratch->frame[scratch->names.user].line;
}
