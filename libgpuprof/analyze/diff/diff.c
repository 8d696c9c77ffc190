/*
 * Groups the uses of several recordings by their stacks, as a report shows them. One table for all
 * sides, with a hash of names as its key.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../groups/disambiguate_keys.h"
#include "../groups/use_table.h"
#include "diff_identity.h"
#include "diff_inner.h"

struct member {
	struct gp_diff_group group;
	struct gp_identity identity, loose; /* loose: ignores line numbers */
	uint64_t largest;		    /* bytes of the use that represents the group */
	uint32_t newest;		    /* stack of the use that was added last */
};

struct matcher {
	const struct gp_diff_side *side;
	size_t sides;
	const struct gp_diff_how *how;
	struct gp_read_stack *stack;
	struct gp_row_table rows; /* struct member rows, while uses are added */
	struct member *member;	  /* the rows of `rows` */
	size_t members;
	size_t matched;
};

/* A use with its identity. */
struct known {
	size_t side;
	const struct gp_use *use;
	struct gp_identity identity, loose;
	const char *key;
	bool is_rest, has_stack;
};

/* NULL: no memory. */
static struct member *diff_find(struct matcher *m, const struct known *known)
{
	const uint32_t hash = gp_row_hash(gp_identity_hash(known->identity));
	struct member *found = m->rows.row;
	for (uint32_t step = 0, at; (at = gp_row_next(&m->rows, hash, &step)) != 0;)
		if (gp_identity_is(found[at - 1].identity, known->identity))
			return &found[at - 1];
	struct gp_diff_part *part = calloc(m->sides, sizeof *part);
	found = part != NULL ? gp_row_add(&m->rows, sizeof *found, hash) : NULL;
	if (found == NULL) {
		free(part);
		return NULL;
	}
	*found = (struct member){ .identity = known->identity, .loose = known->loose };
	found->group.part = part;
	found->group.is_rest = known->is_rest;
	m->member = m->rows.row;
	m->members = m->rows.rows;
	return found;
}

static bool diff_add(struct matcher *m, const struct known *known)
{
	struct member *found = diff_find(m, known);
	if (found == NULL)
		return false;
	struct gp_diff_group *g = &found->group;
	struct gp_diff_part *part = &g->part[known->side];
	if (g->key == NULL || known->side != g->shown || known->use->bytes > found->largest) {
		char *key = strdup(known->key);
		if (key == NULL)
			return false;
		free(g->key);
		g->key = key;
		g->shown = known->side;
		g->stack = known->has_stack ? known->use->stack : 0;
		g->at_ns = known->use->at_ns;
		g->range = known->use->range;
		found->largest = known->use->bytes;
	}
	part->bytes += known->use->bytes;
	part->count += known->use->count;
	/* uses with ranges or roles arrive ordered by stack */
	part->stacks += part->stacks == 0 || (known->use->range == NULL && known->use->rule == 0) ||
			known->use->stack != found->newest;
	found->newest = known->use->stack;
	return true;
}

/* ---- the identity of a use ---- */

static void match_add_text(struct known *known, const char *text, bool is_rest)
{
	struct gp_identity from =
		is_rest ? (struct gp_identity){ 1, 1 } : (struct gp_identity){ 2, 2 };
	known->key = text;
	known->is_rest = is_rest;
	known->identity = known->loose = gp_text_identity(from, text);
}

/* "train.py:42 forward", in any directory. Reduces `s` to the user's frame. */
static void match_add_line(struct known *known, struct gp_read_stack *s, bool ignores_lines,
			   char *key)
{
	if (s->names.user == SIZE_MAX) {
		gp_group_key(GP_BY_LINE, known->use, s, key);
		match_add_text(known, key, false);
		return;
	}
	s->frame[0] = s->frame[s->names.user];
	s->frames = 1;
	s->names = (struct gp_names){ .user = 0, .caller = SIZE_MAX };
	gp_group_key(GP_BY_STACK, known->use, s, key);
	known->key = key;
	known->loose = gp_diff_identity(s, false);
	known->identity = ignores_lines ? known->loose : gp_diff_identity(s, true);
}

/* `key`: the buffer that known->key points to. */
static void match_add(struct matcher *m, struct known *known, char *key)
{
	const struct gp_grouping *how = m->how->grouping;
	const struct gp_use *use = known->use;
	struct gp_read_stack *s = m->stack;
	const struct gp_use_place place = gp_use_place(m->side[known->side].recording, use, how, s);
	m->matched += place.is_selected;
	if (place.without != NULL) {
		match_add_text(known, place.without, true);
		return;
	}
	known->has_stack = gp_by_stacks(how->by) || how->library != NULL;
	if (how->by == GP_BY_LINE) {
		match_add_line(known, s, m->how->ignores_lines, key);
		return;
	}
	gp_group_key(how->by, use, s, key);
	match_add_text(known, key, false);
	if (how->by == GP_BY_RANGE)
		known->identity = known->loose =
			gp_range_identity((struct gp_identity){ 2, 2 }, use->range);
	if (how->by != GP_BY_STACK || s->frames == 0)
		return;
	known->loose = gp_diff_identity(s, false);
	known->identity = m->how->ignores_lines ? known->loose : gp_diff_identity(s, true);
}

static bool add_side(struct matcher *m, size_t side, const struct gp_use *use)
{
	char key[GP_KEY_MAX];
	bool is_fine = true;
	for (size_t k = 0; k < m->side[side].uses && is_fine; k++) {
		struct gp_use shown = use[k];
		struct known known = { .side = side, .use = &shown };
		shown.range = gp_range_path_shown(use[k].range, m->how->grouping->range);
		match_add(m, &known, key);
		is_fine = diff_add(m, &known);
	}
	return is_fine;
}

static bool add_all(struct matcher *m)
{
	const struct gp_grouping *how = m->how->grouping;
	const bool is_split = gp_is_split(how);
	bool is_fine = true;
	for (size_t side = 0; side < m->sides && is_fine; side++) {
		const struct gp_diff_side *from = &m->side[side];
		struct gp_use *sorted = is_split ? gp_uses_by_stack(from->use, from->uses) : NULL;
		is_fine = (sorted != NULL || !is_split) &&
			  add_side(m, side, sorted != NULL ? sorted : from->use);
		free(sorted);
	}
	return is_fine;
}

/* ---- renamed callers ---- */

static uint32_t sides_of(const struct matcher *m, const struct gp_diff_group *g)
{
	uint32_t sides = 0;
	for (size_t k = 0; k < m->sides; k++)
		sides |= g->part[k].stacks ? 1u << k : 0;
	return sides;
}

/*
 * Items that must match no other get least 0. These are groups of all sides, groups without the
 * user's line, and groups that differ from others only in line numbers. For the latter, equal lines
 * are not equal code. False: out of memory.
 */
static bool inner_fill(struct matcher *m, const struct member *member, struct gp_inner *out)
{
	const struct gp_diff_group *g = &member->group;
	const struct gp_use use = { .stack = g->stack, .at_ns = g->at_ns };
	struct gp_read_stack *s = m->stack;
	*out = (struct gp_inner){ .sides = sides_of(m, g), .bytes = g->part[g->shown].bytes };
	if (out->sides == (1u << m->sides) - 1 || g->is_rest || g->is_moved || !g->stack ||
	    !gp_read_stack(m->side[g->shown].recording, &use, m->how->grouping->is_native, s) ||
	    s->names.user == SIZE_MAX)
		return true;
	out->least = s->names.user + 1;
	out->frames = s->frames;
	out->frame = calloc(s->frames, sizeof *out->frame);
	if (out->frame == NULL)
		return false;
	gp_diff_inner_identities(s, !m->how->ignores_lines, out->frame);
	return true;
}

/* Adds the parts of both sides. The later side represents the group, as elsewhere. */
static void member_join(struct matcher *m, struct member *into, struct member *from)
{
	struct gp_diff_group *a = &into->group, *b = &from->group;
	for (size_t k = 0; k < m->sides; k++) {
		a->part[k].bytes += b->part[k].bytes;
		a->part[k].count += b->part[k].count;
		a->part[k].stacks += b->part[k].stacks;
	}
	if (b->shown > a->shown) {
		char *key = a->key;
		a->key = b->key;
		b->key = key;
		a->shown = b->shown;
		a->stack = b->stack;
		a->at_ns = b->at_ns;
		a->range = b->range;
	}
	a->is_renamed = true;
}

static size_t inner_root(const struct gp_inner *inner, size_t k)
{
	while (inner[k].into != SIZE_MAX)
		k = inner[k].into;
	return k;
}

/* Joins the members. Keeps the order of the remaining ones and returns how many remain. */
static size_t join_all(struct matcher *m, const struct gp_inner *inner)
{
	size_t left = 0;
	for (size_t k = 0; k < m->members; k++)
		if (inner[k].into != SIZE_MAX)
			member_join(m, &m->member[inner_root(inner, k)], &m->member[k]);
	for (size_t k = 0; k < m->members; k++) {
		if (inner[k].into == SIZE_MAX) {
			m->member[left++] = m->member[k];
			continue;
		}
		free(m->member[k].group.key);
		free(m->member[k].group.part);
	}
	return left;
}

static bool match_inner(struct matcher *m)
{
	const size_t members = m->members;
	struct gp_inner *inner = calloc(members + 1, sizeof *inner);
	bool is_fine = inner != NULL;
	for (size_t k = 0; k < members && is_fine; k++)
		is_fine = inner_fill(m, &m->member[k], &inner[k]);
	is_fine = is_fine && gp_diff_inner_match(inner, members);
	if (is_fine)
		m->members = join_all(m, inner);
	for (size_t k = 0; k < members && inner != NULL; k++)
		free(inner[k].frame);
	free(inner);
	return is_fine;
}

/* ---- keys ---- */

static bool read_member(void *context, size_t number, struct gp_read_stack *out)
{
	const struct matcher *m = context;
	const struct gp_diff_group *g = &m->member[number].group;
	const struct gp_use use = { .stack = g->stack, .at_ns = g->at_ns };
	return g->stack != 0 &&
	       gp_read_stack(m->side[g->shown].recording, &use, m->how->grouping->is_native, out);
}

static bool distinguish_all(struct matcher *m)
{
	struct gp_keyed *keyed = calloc(m->members + 1, sizeof *keyed);
	for (size_t k = 0; keyed != NULL && k < m->members; k++)
		keyed[k] = (struct gp_keyed){ &m->member[k].group.key, k };
	bool is_fine = keyed != NULL && gp_keys_distinguish(keyed, m->members, read_member, m);
	free(keyed);
	return is_fine;
}

/* ---- changes ---- */

static uint64_t distance(uint64_t a, uint64_t b)
{
	return a > b ? a - b : b - a;
}

static bool is_changed(const struct gp_diff_group *g, size_t sides)
{
	for (size_t k = 1; k < sides; k++)
		if (g->part[k].bytes != g->part[0].bytes || g->part[k].count != g->part[0].count)
			return true;
	return false;
}

static int compare_loose(const void *left, const void *right)
{
	const struct member *const *a = left, *const *b = right;
	const int order = gp_identity_order((*a)->loose, (*b)->loose);
	return order ? order : (*a > *b) - (*a < *b);
}

/*
 * Marks groups that moved: the run has groups of the first side only, and groups without the first
 * side.
 */
static size_t mark_moved(struct member **run, size_t count)
{
	bool has_old = false, has_new = false;
	for (size_t k = 0; k < count; k++) {
		has_old |= run[k]->group.shown == 0;
		has_new |= run[k]->group.part[0].stacks == 0;
	}
	size_t moved = 0;
	for (size_t k = 0; k < count && has_old && has_new; k++) {
		struct gp_diff_group *g = &run[k]->group;
		g->is_moved = !g->is_rest && (g->shown == 0 || g->part[0].stacks == 0);
		moved += g->is_moved;
	}
	return moved;
}

static bool find_moved(struct matcher *m, struct gp_diff *out)
{
	struct member **order = calloc(m->members + 1, sizeof(struct member *));
	if (order == NULL)
		return false;
	for (size_t k = 0; k < m->members; k++)
		order[k] = &m->member[k];
	if (m->members > 1)
		qsort(order, m->members, sizeof(struct member *), compare_loose);
	for (size_t k = 0, n; k < m->members; k += n) {
		for (n = 1; k + n < m->members; n++)
			if (!gp_identity_is(order[k + n]->loose, order[k]->loose))
				break;
		out->moved += mark_moved(order + k, n);
	}
	free(order);
	return true;
}

static int diff_compare(const void *left, const void *right)
{
	const struct gp_diff_group *a = left, *b = right;
	if (a->greatest != b->greatest)
		return a->greatest < b->greatest ? 1 : -1;
	return strcmp(a->key, b->key);
}

/* Changed groups come first, even those with equal bytes. */
static bool hand_over(struct matcher *m, struct gp_diff *out)
{
	out->group = calloc(m->members + 1, sizeof *out->group);
	if (out->group == NULL)
		return false;
	for (unsigned pass = 0; pass < 2; pass++)
		for (size_t k = 0; k < m->members; k++) {
			struct gp_diff_group *g = &m->member[k].group;
			if (is_changed(g, m->sides) != (pass == 0))
				continue;
			for (size_t s = 1; s < m->sides; s++) {
				uint64_t d = distance(g->part[s].bytes, g->part[0].bytes);
				g->greatest = d > g->greatest ? d : g->greatest;
			}
			out->group[out->groups++] = *g;
			out->changed += pass == 0;
			out->renamed += g->is_renamed;
		}
	if (out->changed > 1)
		qsort(out->group, out->changed, sizeof *out->group, diff_compare);
	return true;
}

enum gp_status gp_diff_build(const struct gp_diff_side *side, size_t sides,
			     const struct gp_diff_how *how, struct gp_diff *out)
{
	*out = (struct gp_diff){ .sides = sides };
	if (sides < 2)
		return GP_E_ARGUMENT;
	struct matcher m = { .side = side, .sides = sides, .how = how };
	m.stack = calloc(1, sizeof *m.stack);
	bool is_fine = m.stack != NULL && add_all(&m);
	if (is_fine && !how->ignores_lines)
		is_fine = find_moved(&m, out);
	if (is_fine && how->matches_inner && how->grouping->by == GP_BY_STACK)
		is_fine = match_inner(&m);
	if (is_fine && (how->grouping->by == GP_BY_STACK || how->grouping->by == GP_BY_LINE))
		is_fine = distinguish_all(&m);
	is_fine = is_fine && hand_over(&m, out);
	out->matched = m.matched;
	for (size_t k = 0; k < m.members && !is_fine; k++) {
		free(m.member[k].group.key);
		free(m.member[k].group.part);
	}
	gp_row_table_release(&m.rows);
	free(m.stack);
	return is_fine ? GP_OK : GP_E_MEMORY;
}

void gp_diff_free(struct gp_diff *diff)
{
	for (size_t k = 0; k < diff->groups; k++) {
		free(diff->group[k].key);
		free(diff->group[k].part);
	}
	free(diff->group);
	*diff = (struct gp_diff){ 0 };
}
