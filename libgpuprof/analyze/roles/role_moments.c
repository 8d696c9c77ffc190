/* The memory of each role at given moments, from the live set. */
#include "../memory/memory_view.h"
#include "role_rules.h"
#include "roles.h"

#define WALK_ENTRIES 65536u

struct summing {
	struct gp_roles *roles;
	const struct gp_role_rule *rule;
	unsigned device;
	struct gp_role_sums *out;
};

static void role_moments_see(void *context, const struct gp_live_entry *e)
{
	struct summing *s = context;
	if (e->space != GP_SPACE_BLOCK || (e->flags & GP_LIVE_PENDING) != 0 ||
	    e->device != s->device)
		return;
	const uint8_t rule = gp_roles_rule(s->roles, e, false);
	struct gp_rule_sum *sum = &s->out->role[s->rule[rule - 1].role];
	sum->bytes += e->bytes;
	sum->count++;
}

static enum gp_status role_moments_sum(struct gp_recording *r, struct gp_roles *roles,
				       const struct gp_role_moment *at, struct gp_role_sums *out)
{
	struct gp_memory unused = { 0 };
	struct gp_memory_view view = { .recording = r, .out = &unused };
	struct summing s = { .roles = roles, .device = at->device, .out = out };
	*out = (struct gp_role_sums){ 0 };
	gp_role_rules(&s.rule);
	enum gp_status status = gp_memory_reach(&view, &at->moment);
	if (status != GP_OK)
		return status;
	gp_live_walk_begin(r->live, role_moments_see, &s);
	while (!gp_live_walk_more(r->live, WALK_ENTRIES))
		;
	return gp_roles_status(roles);
}

enum gp_status gp_role_sums_build(struct gp_recording *recording, const struct gp_role_moment *at,
				  size_t moments, struct gp_role_sums *out)
{
	const struct gp_info *info;
	struct gp_roles *roles = NULL;
	enum gp_status status = gp_recording_info(recording, &info);
	if (status == GP_OK)
		status = gp_roles_find(recording, &roles);
	for (size_t k = 0; k < moments && status == GP_OK; k++)
		status = role_moments_sum(recording, roles, &at[k], &out[k]);
	gp_roles_close(roles);
	const enum gp_status rewound = gp_recording_unseek(recording);
	return status != GP_OK ? status : rewound;
}
