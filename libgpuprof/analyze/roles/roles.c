/* Joins the evidence about an allocation. */
#include "roles.h"

#include <stdlib.h>
#include <string.h>

#include "../kept.h"
#include "role_rules.h"

/* Most allocations have the evidence of an earlier one. */
#define DECIDED 256u

struct gp_roles {
	struct gp_role_lives lives;
	struct gp_role_stacks stacks;
	struct {
		uint64_t evidence;
		uint8_t rule; /* 1 + its number; 0: nothing */
	} decided[DECIDED];
};

static uint8_t roles_decide(struct gp_roles *r, const struct gp_role_evidence *e)
{
	uint64_t evidence;
	_Static_assert(sizeof *e == sizeof evidence, "the evidence is its own key");
	memcpy(&evidence, e, sizeof evidence);
	const size_t at = gp_hash_pair(evidence, 0) % DECIDED;
	if (r->decided[at].rule == 0 || r->decided[at].evidence != evidence) {
		r->decided[at].evidence = evidence;
		r->decided[at].rule = (uint8_t)(gp_role_decide(e) + 1);
	}
	return r->decided[at].rule;
}

static void roles_drop(void *roles)
{
	struct gp_roles *r = roles;
	gp_role_lives_release(&r->lives);
	gp_row_table_release(&r->stacks.stacks);
	free(r);
}

enum gp_status gp_roles_analysis(struct gp_recording *recording, struct gp_roles **roles,
				 struct gp_analysis *analysis)
{
	struct gp_roles *r = *roles = calloc(1, sizeof *r);
	*analysis = (struct gp_analysis){ 0 };
	if (r == NULL)
		return GP_E_MEMORY;
	r->stacks.recording = recording;
	return gp_role_lives_analysis(recording, &r->lives, analysis);
}

void gp_roles_keep(struct gp_recording *recording, struct gp_roles *roles, enum gp_status status)
{
	if (status == GP_OK)
		gp_keep(recording, GP_KEPT_ROLES, 0, roles, roles_drop);
	else if (roles != NULL)
		roles_drop(roles);
}

enum gp_status gp_roles_find(struct gp_recording *recording, struct gp_roles **out)
{
	struct gp_analysis analysis;
	enum gp_status status = GP_OK;
	*out = gp_kept_get(recording, GP_KEPT_ROLES, 0);
	if (*out == NULL) {
		struct gp_roles *roles;
		status = gp_roles_analysis(recording, &roles, &analysis);
		if (status == GP_OK)
			status = gp_analyse(recording, &analysis, 1);
		free(analysis.context);
		gp_roles_keep(recording, roles, status);
		*out = gp_kept_get(recording, GP_KEPT_ROLES, 0);
	}
	if (*out == NULL)
		return status != GP_OK ? status : GP_E_MEMORY;
	/* each replay reads stacks at their first use */
	gp_row_table_release(&(*out)->stacks.stacks);
	(*out)->stacks.is_out_of_memory = false;
	return GP_OK;
}

enum gp_status gp_roles_status(const struct gp_roles *r)
{
	return r != NULL && r->stacks.is_out_of_memory ? GP_E_MEMORY : GP_OK;
}

static bool has_size(const struct gp_row_table *sizes, uint64_t size)
{
	return gp_row_of_key(sizes, sizeof size, size) != NULL;
}

struct gp_live_entry gp_roles_entry(const struct gp_record *r)
{
	const bool is_block = r->kind == GP_BLOCK_ALLOC;
	return (struct gp_live_entry){ .bytes = is_block ? r->block_alloc.bytes : r->alloc.bytes,
				       .owner = is_block ? r->aux : r->alloc.owner,
				       .time = r->time,
				       .order = r->order,
				       .stack = r->stack,
				       .space = is_block ? GP_SPACE_BLOCK : r->space,
				       .device = r->device };
}

/*
 * Takes the moment apart from the entry, whose time is in ticks. `now`: the next order. A block
 * that a backward reuses is an activation up to the end of that backward.
 */
static uint8_t roles_rule_at(struct gp_roles *r, const struct gp_live_entry *entry, int64_t at_ns,
			     uint64_t now, bool is_segment)
{
	const struct gp_role_lives *l = &r->lives;
	struct gp_life life = gp_role_life(l, entry->order);
	if (life.is_reused && now < gp_role_backward_end(l, entry->order)) {
		life.is_reused = false;
		life.end = GP_LIFE_ENDED_IN + GP_LIFE_BACKWARD;
	}
	const bool is_driver = entry->space != GP_SPACE_BLOCK,
		   is_block = !is_driver || entry->space == GP_SPACE_ASYNC;
	const uint64_t size = gp_role_size(entry->bytes, is_driver ? 0 : entry->owner);
	const struct gp_role_evidence e = {
		.words = gp_role_stack_words(&r->stacks, entry->stack, at_ns),
		.life = life,
		.is_segment = is_segment,
		.is_block = is_block,
		.is_driver = is_driver,
		.is_outliving = life.is_recorded && (life.is_kept || life.end >= GP_LIFE_ENDED_IN),
		.has_early_twin = is_block && has_size(&l->early_sizes, size),
		.has_gradient_twin = is_block && has_size(&l->gradient_sizes, size),
		.has_phases = l->has_forward || l->has_backward || l->has_optimizer,
		.has_backward = l->has_backward,
		.has_gradients = l->gradient_sizes.rows != 0,
		.has_copies = l->has_copies,
	};
	return roles_decide(r, &e);
}

static uint64_t roles_now(const struct gp_roles *r)
{
	return gp_live_count(r->stacks.recording->live, GP_COUNT_NEWEST_ORDER) + 1;
}

const struct gp_live_entry *gp_roles_changed(const struct gp_roles *r, size_t *place)
{
	const struct gp_role_lives *l = &r->lives;
	while (*place < l->reuses && l->reuse[*place].from <= roles_now(r)) {
		const struct gp_life_reuse *reuse = &l->reuse[(*place)++];
		const struct gp_live_entry *e =
			gp_live_find(r->stacks.recording->live, GP_SPACE_BLOCK, reuse->address);
		if (e != NULL && e->order == reuse->order)
			return e;
	}
	return NULL;
}

uint8_t gp_roles_rule(struct gp_roles *r, const struct gp_live_entry *entry,
		      enum gp_roles_when when)
{
	static const struct gp_role_evidence nothing;
	if (r == NULL)
		return 0;
	if (entry == NULL)
		return (uint8_t)(gp_role_decide(&nothing) + 1);
	return roles_rule_at(r, entry, gp_tick_ns(&r->stacks.recording->tick, entry->time),
			     when == GP_ROLES_MADE ? entry->order : roles_now(r),
			     when == GP_ROLES_SEGMENT);
}

static struct gp_live_entry block_entry(const struct gp_memory_block *b)
{
	const bool is_known = b->requested_bytes <= b->bytes;
	return (struct gp_live_entry){ .bytes = b->bytes,
				       .owner = is_known ? 1 + b->bytes - b->requested_bytes : 0,
				       .order = b->order,
				       .stack = b->stack,
				       .space = GP_SPACE_BLOCK };
}

enum gp_status gp_memory_find_roles(struct gp_recording *recording, struct gp_memory *memory)
{
	const struct gp_info *info;
	struct gp_roles *roles = NULL;
	enum gp_status status = gp_recording_info(recording, &info);
	if (status == GP_OK)
		status = gp_roles_find(recording, &roles);
	for (size_t k = 0; k < memory->blocks && status == GP_OK; k++) {
		struct gp_memory_block *b = &memory->block[k];
		const struct gp_live_entry e = block_entry(b);
		if (b->state != GP_STATE_FREE)
			b->rule = roles_rule_at(roles, &e, b->at_ns, memory->order, false);
	}
	return status == GP_OK ? gp_roles_status(roles) : status;
}
