/* Each row of role_rules.def becomes a function; the first that holds decides. */
#include "role_rules.h"

const char *const gp_role_keys[GP_MEMORY_ROLES] = {
	[GP_HOLDS_WEIGHTS] = "weights",	    [GP_HOLDS_GRADIENTS] = "gradients",
	[GP_HOLDS_OPTIMIZER] = "optimizer", [GP_HOLDS_ACTIVATIONS] = "activations",
	[GP_HOLDS_INPUTS] = "inputs",	    [GP_HOLDS_TEMPORARIES] = "temporaries",
	[GP_HOLDS_KV_CACHE] = "kv_cache",   [GP_HOLDS_COMMUNICATION] = "communication",
	[GP_HOLDS_WORKSPACE] = "workspace", [GP_HOLDS_GRAPH_POOL] = "graph_pool",
	[GP_HOLDS_UNKNOWN] = "unknown",
};

static bool evidence_shows(const struct gp_role_evidence *e, enum gp_role_word word)
{
	return (e->words >> word & 1) != 0;
}

#define shows(word) evidence_shows(e, GP_SHOWS_##word)
#define born(phase) (e->life.is_recorded && e->life.born == GP_LIFE_##phase)
#define ended(phase) (e->life.end == GP_LIFE_ENDED_IN + GP_LIFE_##phase)
#define is_same (e->life.end == GP_LIFE_SAME)
#define is_in_loop (e->life.is_recorded && !(e->life.is_early && e->life.is_kept))

#define RULE(name, role, condition, why)                           \
	static bool holds_##name(const struct gp_role_evidence *e) \
	{                                                          \
		(void)e;                                           \
		return condition;                                  \
	}
#include "role_rules.def"

static const struct gp_role_rule rules[] = {
#define RULE(name, role, condition, why) { #name, GP_HOLDS_##role, why },
#include "role_rules.def"
};
static bool (*const holds[])(const struct gp_role_evidence *e) = {
#define RULE(name, role, condition, why) holds_##name,
#include "role_rules.def"
};
#define RULES (sizeof rules / sizeof *rules)

size_t gp_role_rules(const struct gp_role_rule **out)
{
	*out = rules;
	return RULES;
}

const struct gp_role_rule *gp_role_rule(size_t number)
{
	return &rules[number > 0 && number <= RULES ? number - 1 : RULES - 1];
}

unsigned gp_role_decide(const struct gp_role_evidence *e)
{
	unsigned k = 0;
	while (!holds[k](e))
		k++;
	return k;
}
