/*
 * Texts, frames, stacks and final groups: each different one is a row. A stack is read once for all
 * groups that have it.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../../read/tables/array.h"
#include "../groups/group_key.h"
#include "../memory/memory_view.h"
#include "life_groups.h"
#include "life_raw.h"

struct text_row {
	uint64_t key; /* number in the store */
};
struct frame_row {
	uint64_t key; /* text, and whether it is Python */
};
struct arena_row {
	uint64_t key; /* its number */
	struct gp_arena arena;
};
struct stack_row {
	struct gp_identity identity;
	struct gp_lives_stack stack;
};
/* The texts of one stack, which its groups share. */
struct place_row {
	uint64_t key; /* stack and epoch, or the address of `without` */
	bool is_read;
	uint32_t stack, module, operator, line;
	uint32_t library[2]; /* of other memory; of blocks, where it may be a workspace */
};

struct life_answer {
	struct gp_life_groups *groups;
	struct gp_lives *out;
	struct gp_lives_texts *texts;
	struct gp_row_table places;
	struct gp_read_stack *stack;
	size_t place_room;
	bool is_fine;
};

uint32_t gp_lives_text(struct gp_lives_texts *t, const char *text, bool *is_fine)
{
	const uint32_t number = gp_text_store_add(&t->store, text, strlen(text));
	const struct text_row *row =
		number != 0 ? gp_row_get_key(&t->texts, sizeof *row, number) : NULL;
	*is_fine &= row != NULL;
	return row != NULL ? (uint32_t)(row - (struct text_row *)t->texts.row) : 0;
}

enum gp_status gp_lives_texts_list(struct gp_lives *out)
{
	const struct gp_lives_texts *t = out->owner;
	const struct text_row *row = t->texts.row;
	const char **text = calloc((size_t)t->texts.rows + 1, sizeof *text);
	out->text = text;
	if (text == NULL)
		return GP_E_MEMORY;
	for (uint32_t k = 0; k < t->texts.rows; k++)
		text[out->texts++] = gp_text_store_get(&t->store, (uint32_t)row[k].key);
	return GP_OK;
}

void gp_lives_texts_free(struct gp_lives_texts *t)
{
	if (t == NULL)
		return;
	gp_text_store_release(&t->store);
	gp_row_table_release(&t->texts);
	gp_row_table_release(&t->frames);
	gp_row_table_release(&t->stacks);
	gp_row_table_release(&t->groups);
	gp_row_table_release(&t->arenas);
	free(t);
}

static uint32_t answer_text(struct life_answer *a, const char *text)
{
	return gp_lives_text(a->texts, text, &a->is_fine);
}

/* ---- stacks ---- */

static uint32_t frame_index(struct life_answer *a, const struct gp_frame *frame)
{
	char label[GP_KEY_MAX];
	gp_frame_label(frame, NULL, label, sizeof label);
	const uint64_t key = (uint64_t)answer_text(a, label) << 1 | frame->is_python;
	const struct frame_row *row = gp_row_get_key(&a->texts->frames, sizeof *row, key);
	a->is_fine &= row != NULL;
	return row != NULL ? (uint32_t)(row - (struct frame_row *)a->texts->frames.row) : 0;
}

static uint32_t stack_add(struct life_answer *a, struct gp_identity identity, uint32_t hash)
{
	struct gp_lives *out = a->out;
	const size_t frames = a->stack->frames;
	struct stack_row *row = gp_row_add(&a->texts->stacks, sizeof *row, hash);
	a->is_fine &= row != NULL && gp_array_reserve(&out->place, &a->place_room, out->places,
						      frames, sizeof *out->place);
	if (!a->is_fine)
		return 0;
	*row = (struct stack_row){ identity, { out->places, frames } };
	for (size_t k = 0; k < frames; k++)
		out->place[out->places++] = frame_index(a, &a->stack->frame[k]);
	return a->texts->stacks.rows - 1;
}

/* The index of the stack that was read. Stacks that read alike are one. */
static uint32_t stack_index(struct life_answer *a)
{
	const struct gp_identity identity = gp_stack_identity(a->stack);
	const uint32_t hash = gp_row_hash(gp_identity_hash(identity));
	const struct stack_row *row = a->texts->stacks.row;
	for (uint32_t step = 0, at; (at = gp_row_next(&a->texts->stacks, hash, &step)) != 0;)
		if (gp_identity_is(row[at - 1].identity, identity) && at > 1)
			return at - 1;
	if (a->out->places + a->stack->frames > GP_LIVES_PLACES_MOST)
		return 0;
	return stack_add(a, identity, hash);
}

static uint32_t key_text(struct life_answer *a, enum gp_by by, const struct gp_use *use)
{
	char key[GP_KEY_MAX];
	gp_group_key(by, use, a->stack, key);
	return answer_text(a, key);
}

static void place_read(struct life_answer *a, struct place_row *p, const struct gp_life_raw *raw)
{
	const struct gp_grouping how = { .by = GP_BY_STACK };
	struct gp_use use = { .stack = raw->stack,
			      .at_ns = raw->at_ns,
			      .without = raw->without,
			      .space = GP_SPACE_DEVICE };
	const struct gp_use_place place = gp_use_place(a->groups->recording, &use, &how, a->stack);
	p->is_read = true;
	if (place.without != NULL) {
		p->module = p->operator= p->line = p->library[0] = p->library[1] =
				    answer_text(a, place.without);
		return;
	}
	p->stack = stack_index(a);
	p->module = key_text(a, GP_BY_MODULE, &use);
	p->operator= key_text(a, GP_BY_OPERATOR, &use);
	p->line = key_text(a, GP_BY_LINE, &use);
	p->library[0] = key_text(a, GP_BY_LIBRARY, &use);
	use.space = GP_SPACE_BLOCK;
	p->library[1] = key_text(a, GP_BY_LIBRARY, &use);
}

static const struct place_row *place_get(struct life_answer *a, const struct gp_life_raw *raw)
{
	const uint64_t key = raw->stack != 0 ? (uint64_t)raw->epoch << 32 | raw->stack :
					       (uint64_t)(uintptr_t)raw->without | 1ull << 63;
	struct place_row *p = gp_row_get_key(&a->places, sizeof *p, key);
	a->is_fine &= p != NULL;
	if (p != NULL && !p->is_read)
		place_read(a, p, raw);
	return p;
}

/* ---- groups ---- */

/* The index of an arena. All unknown ones are 0. */
static uint32_t arena_index(struct life_answer *a, uint16_t number)
{
	const struct gp_arena arena = gp_memory_arena(a->groups->recording, number);
	struct arena_row *row =
		gp_row_get_key(&a->texts->arenas, sizeof *row, arena.is_known ? number : 0);
	a->is_fine &= row != NULL;
	if (row == NULL)
		return 0;
	row->arena = arena;
	return (uint32_t)(row - (struct arena_row *)a->texts->arenas.row);
}

static uint32_t pool_text(struct life_answer *a, uint16_t number)
{
	char text[64];
	const struct gp_arena arena = gp_memory_arena(a->groups->recording, number);
	if (!arena.is_known)
		return 0;
	if (!arena.has_pool)
		snprintf(text, sizeof text, "unknown pool");
	else if (gp_arena_is_private(&arena))
		snprintf(text, sizeof text, "private %" PRIu64 ".%" PRIu64, arena.pool,
			 arena.user_pool);
	else
		snprintf(text, sizeof text, "default");
	return answer_text(a, text);
}

static uint32_t range_text(struct life_answer *a, const struct gp_range_path *path)
{
	char text[GP_KEY_MAX] = "";
	if (path != NULL)
		gp_range_path_text(path, text, sizeof text);
	return answer_text(a, text);
}

static uint32_t group_index(struct life_answer *a, const struct gp_lives_group *group)
{
	uint64_t key = gp_hash_pair(group->device << 16 | (unsigned)group->of << 8 | group->is_part,
				    group->stack);
	const uint32_t number[] = { group->role,   group->phase,
				    group->module, group->operator, group->library,
				    group->line,   group->range,
				    group->pool,   group->arena };
	for (size_t k = 0; k < sizeof number / sizeof *number; k++)
		key = gp_hash_pair(key, number[k]);
	struct gp_row_table *table = &a->texts->groups;
	const uint32_t hash = gp_row_hash(key);
	struct gp_lives_group *row = table->row;
	for (uint32_t step = 0, at; (at = gp_row_next(table, hash, &step)) != 0;)
		if (memcmp(&row[at - 1], group, sizeof *group) == 0)
			return at - 1;
	row = gp_row_add(table, sizeof *row, hash);
	a->is_fine &= row != NULL;
	if (row == NULL)
		return 0;
	memcpy(row, group, sizeof *row);
	return table->rows - 1;
}

static uint32_t answer_group(struct life_answer *a, const struct gp_life_raw *raw)
{
	struct gp_lives_group group;
	memset(&group, 0, sizeof group); /* rows are compared with their padding */
	const struct place_row *found = place_get(a, raw);
	if (found == NULL)
		return 0;
	const struct place_row p = *found;
	const struct gp_range_path *path = gp_range_path_shown(raw->range, NULL);
	group.device = raw->device;
	group.of = raw->of;
	group.is_part = raw->is_part;
	group.stack = p.stack;
	group.role = answer_text(a, gp_role_keys[raw->role]);
	group.phase = range_text(a, path != NULL ? gp_range_path_phase(path) : NULL);
	group.range = range_text(a, path);
	group.module = p.module;
	group.operator= p.operator;
	group.line = p.line;
	group.library = p.library[raw->of == GP_LIVES_OF_BLOCK || raw->of == GP_LIVES_OF_PENDING];
	group.pool = pool_text(a, raw->arena);
	group.arena = arena_index(a, raw->arena);
	return group_index(a, &group);
}

/* ---- the whole ---- */

/* Arrays of `out` from the rows. */
static void answer_lists(struct life_answer *a)
{
	struct gp_lives *out = a->out;
	struct gp_lives_texts *t = a->texts;
	out->frames = t->frames.rows;
	out->stacks = t->stacks.rows;
	out->frame = calloc(out->frames + 1, sizeof *out->frame);
	out->stack = calloc(out->stacks + 1, sizeof *out->stack);
	out->arenas = t->arenas.rows;
	out->arena = calloc(out->arenas + 1, sizeof *out->arena);
	a->is_fine &= out->frame != NULL && out->stack != NULL && out->arena != NULL;
	const struct frame_row *frame = t->frames.row;
	for (size_t k = 0; k < out->frames && a->is_fine; k++)
		out->frame[k] = (struct gp_lives_frame){ (uint32_t)(frame[k].key >> 1),
							 (frame[k].key & 1) != 0 };
	const struct stack_row *stack = t->stacks.row;
	for (size_t k = 0; k < out->stacks && a->is_fine; k++)
		out->stack[k] = stack[k].stack;
	const struct arena_row *arena = t->arenas.row;
	for (size_t k = 0; k < out->arenas && a->is_fine; k++)
		out->arena[k] = arena[k].arena;
	out->group = t->groups.row;
	out->groups = t->groups.rows;
}

enum gp_status gp_life_groups_answer(struct gp_life_groups *groups, struct gp_lives *out,
				     uint32_t **into)
{
	struct life_answer a = { .groups = groups,
				 .out = out,
				 .texts = out->owner,
				 .stack = calloc(1, sizeof *a.stack),
				 .is_fine = true };
	const struct gp_life_raw *raw = groups->raws.row;
	uint32_t *of_row = calloc((size_t)groups->raws.rows + 1, sizeof *of_row);
	*into = calloc(groups->numbers + 1, sizeof **into);
	a.is_fine = a.stack != NULL && of_row != NULL && *into != NULL &&
		    answer_text(&a, "") == 0 &&
		    gp_row_add(&a.texts->stacks, sizeof(struct stack_row), 0) != NULL &&
		    arena_index(&a, 0) == 0;
	for (uint32_t k = 0; k < groups->raws.rows && a.is_fine; k++)
		of_row[k] = answer_group(&a, &raw[k]);
	for (size_t k = 0; k < groups->numbers && a.is_fine; k++)
		(*into)[k] = of_row[groups->row_of[k]];
	free(of_row);
	if (a.is_fine)
		answer_lists(&a);
	gp_row_table_release(&a.places);
	free(a.stack);
	return a.is_fine ? GP_OK : GP_E_MEMORY;
}
