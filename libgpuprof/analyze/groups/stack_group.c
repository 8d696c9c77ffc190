/*
 * Groups uses by the names of their stacks. Each stack is looked up once. Groups are found by a
 * hash of these names, so memory grows with groups, not with frames.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "disambiguate_keys.h"
#include "lifetimes.h"
#include "use_table.h"

struct member {
	struct gp_group group;
	struct gp_identity identity;
	uint64_t largest; /* bytes, or count, of its greatest use */
	uint32_t newest;  /* stack of the last added use */
	struct gp_lifetimes *lives;
};

struct grouper {
	struct gp_recording *recording;
	const struct gp_grouping *how;
	struct gp_read_stack *stack;
	struct gp_row_table members; /* of struct member */
	struct gp_groups *out;
};

/* NULL: out of memory. A new member has no key yet. */
static struct member *stack_group_find(struct grouper *g, struct gp_identity identity)
{
	const uint32_t hash = gp_row_hash(gp_identity_hash(identity));
	struct member *m = g->members.row;
	for (uint32_t step = 0, at; (at = gp_row_next(&g->members, hash, &step)) != 0;)
		if (gp_identity_is(m[at - 1].identity, identity))
			return &m[at - 1];
	m = gp_row_add(&g->members, sizeof *m, hash);
	if (m != NULL)
		m->identity = identity;
	return m;
}

/* ---- sums ---- */

static void add_lives(struct member *m, const struct gp_lifetimes *lives)
{
	if (m->lives == NULL)
		m->lives = calloc(1, sizeof *m->lives);
	if (m->lives != NULL)
		gp_lifetimes_add(m->lives, lives);
	m->group.use.lives = m->lives;
}

static bool add_rule(struct member *m, const struct gp_use *use)
{
	const struct gp_role_rule *rules;
	const size_t count = gp_role_rules(&rules);
	if (m->group.rule == NULL)
		m->group.rule = calloc(count, sizeof *m->group.rule);
	if (m->group.rule == NULL || use->rule > count)
		return false;
	m->group.rule[use->rule - 1].bytes += use->bytes;
	m->group.rule[use->rule - 1].count += use->count;
	return true;
}

static const char *class_of(struct gp_recording *recording, uint32_t module)
{
	struct gp_torch_module m;
	return gp_recording_module(recording, module, &m) ? m.class : NULL;
}

static bool stack_group_add(struct grouper *g, const struct gp_use *use,
			    struct gp_identity identity, const char *key,
			    const struct gp_use_place *place)
{
	const char *without = place->without;
	struct member *m = stack_group_find(g, identity);
	if (m == NULL)
		return false;
	struct gp_use *sum = &m->group.use;
	m->group.is_selected |= place->is_selected;
	if (m->group.key == NULL) {
		m->group.key = strdup(key);
		if (m->group.key == NULL)
			return false;
		m->group.is_rest = without != NULL;
		sum->without = without;
	}
	uint64_t weight = use->bytes ? use->bytes : use->live_bytes;
	if (m->group.stacks == 0 || weight > m->largest) {
		m->largest = weight;
		sum->stack = place->is_other ? 0 : use->stack;
		sum->at_ns = use->at_ns;
		sum->space = use->space;
		sum->is_segment = use->is_segment;
		sum->range = use->range;
		m->group.cut = without == NULL && g->how->by == GP_BY_STACK ?
				       gp_read_stack_cut(g->stack, g->how->is_native) :
				       NULL;
		m->group.class = without == NULL && g->how->by == GP_BY_MODULE ?
					 class_of(g->recording, g->stack->stack.module) :
					 NULL;
	}
	/* uses with ranges or roles arrive ordered by stack */
	m->group.stacks += m->group.stacks == 0 || (use->range == NULL && use->rule == 0) ||
			   use->stack != m->newest;
	m->newest = use->stack;
	sum->bytes += use->bytes;
	sum->count += use->count;
	if (use->rule != 0 && !add_rule(m, use))
		return false;
	sum->live_bytes += use->live_bytes;
	sum->live_count += use->live_count;
	sum->freed += use->freed;
	sum->short_lived += use->short_lived;
	if (use->lives != NULL) {
		add_lives(m, use->lives);
		return m->lives != NULL;
	}
	return true;
}

/* "cuBLAS, PyTorch": the possible values of --library. */
static void list_library(struct gp_groups *out, const char *library)
{
	size_t n = strlen(library), used = strlen(out->libraries);
	for (const char *at = out->libraries; *at; at += strspn(at, ", ")) {
		size_t word = strcspn(at, ",");
		if (word == n && memcmp(at, library, n) == 0)
			return;
		at += word;
	}
	if (n > 0 && used + n + 3 < sizeof out->libraries)
		snprintf(out->libraries + used, sizeof out->libraries - used, "%s%s",
			 used ? ", " : "", library);
}

static bool add_use(struct grouper *g, const struct gp_use *reported)
{
	char key[GP_KEY_MAX];
	const struct gp_grouping *how = g->how;
	struct gp_use use = *reported;
	use.range = gp_range_path_shown(reported->range, how->range);
	const struct gp_use_place place = gp_use_place(g->recording, &use, how, g->stack);
	g->out->matched += place.is_selected;
	if (how->library != NULL)
		list_library(g->out, g->stack->names.library);
	if (place.without != NULL) {
		const struct gp_identity why =
			gp_text_identity((struct gp_identity){ 1, 1 }, place.without);
		return stack_group_add(g, &use, why, place.without, &place);
	}
	gp_group_key(how->by, &use, g->stack, key);
	const struct gp_identity before = { 2, 2 };
	struct gp_identity identity =
		how->by == GP_BY_STACK ? gp_stack_identity(g->stack) :
		how->by == GP_BY_RANGE ? gp_range_identity(before, use.range) :
					 gp_text_identity(before, key);
	return stack_group_add(g, &use, identity, key, &place);
}

/* ---- groups with equal keys ---- */

static bool read_member(void *context, size_t number, struct gp_read_stack *out)
{
	const struct grouper *g = context;
	const struct member *member = g->members.row;
	return gp_read_stack(g->recording, &member[number].group.use, g->how->is_native, out);
}

/* Makes the keys of groups of stacks unique. */
static bool distinguish_all(struct grouper *g)
{
	const size_t members = g->members.rows;
	struct member *member = g->members.row;
	struct gp_keyed *keyed = calloc(members + 1, sizeof *keyed);
	for (size_t k = 0; keyed != NULL && k < members; k++)
		keyed[k] = (struct gp_keyed){ &member[k].group.key, k };
	bool is_fine = keyed != NULL && gp_keys_distinguish(keyed, members, read_member, g);
	free(keyed);
	return is_fine;
}

/* ---- the whole ---- */

static int stack_group_compare(const void *left, const void *right)
{
	const struct gp_group *a = left, *b = right;
	if (a->is_rest != b->is_rest)
		return a->is_rest ? 1 : -1;
	if (a->is_selected != b->is_selected)
		return a->is_selected ? -1 : 1;
	if (a->use.bytes != b->use.bytes)
		return a->use.bytes < b->use.bytes ? 1 : -1;
	if (a->use.live_bytes != b->use.live_bytes)
		return a->use.live_bytes < b->use.live_bytes ? 1 : -1;
	int order = strcmp(a->key, b->key);
	return order != 0 ? order : (a->use.stack > b->use.stack) - (a->use.stack < b->use.stack);
}

enum gp_status gp_groups_build(struct gp_recording *recording, const struct gp_use *use,
			       size_t uses, const struct gp_grouping *how, struct gp_groups *out)
{
	*out = (struct gp_groups){ 0 };
	struct grouper g = { .recording = recording, .how = how, .out = out };
	g.stack = calloc(1, sizeof *g.stack);
	const bool is_split = gp_is_split(how);
	struct gp_use *sorted = is_split ? gp_uses_by_stack(use, uses) : NULL;
	bool is_fine = g.stack != NULL && (sorted != NULL || !is_split);
	for (size_t k = 0; k < uses && is_fine; k++)
		is_fine = add_use(&g, sorted != NULL ? &sorted[k] : &use[k]);
	free(sorted);
	if (is_fine && how->by == GP_BY_STACK && g.members.rows > 1)
		is_fine = distinguish_all(&g);
	const struct member *member = g.members.row;
	out->group = is_fine ? calloc(g.members.rows + 1, sizeof *out->group) : NULL;
	is_fine = out->group != NULL;
	for (size_t k = 0; k < g.members.rows && is_fine; k++)
		out->group[out->groups++] = member[k].group;
	for (size_t k = 0; k < g.members.rows && !is_fine; k++) {
		free(member[k].group.key);
		free(member[k].lives);
		free(member[k].group.rule);
	}
	if (out->groups > 1)
		qsort(out->group, out->groups, sizeof *out->group, stack_group_compare);
	gp_row_table_release(&g.members);
	free(g.stack);
	return is_fine ? GP_OK : GP_E_MEMORY;
}

void gp_groups_free(struct gp_groups *groups)
{
	for (size_t k = 0; k < groups->groups; k++) {
		free(groups->group[k].key);
		free((void *)groups->group[k].use.lives);
		free(groups->group[k].rule);
	}
	free(groups->group);
	*groups = (struct gp_groups){ 0 };
}

int64_t gp_use_median_ns(const struct gp_use *use)
{
	return use->lives != NULL ? gp_lifetimes_median(use->lives) : -1;
}
