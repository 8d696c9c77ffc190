/* Prints the rules that decided on the roles of a group. */
#include "role_print.h"

#include "../io/amount.h"

#define TEXT_ROLES 3u	/* that the line has in any case */
#define TEXT_LEAST 100u /* of the memory: a smaller share has no place beside them */
#define TEXT_MODULES 2u /* in the line, of a role */
#define MODULES_TEXT_MAX 400u

/* The numbers of the rules that decided, those with most bytes first. Returns how many. */
static size_t sort_rules(const struct gp_group *g, const struct gp_role_rule **rules,
			 uint16_t sorted[UINT8_MAX])
{
	const size_t count = gp_role_rules(rules);
	size_t used = 0;
	for (size_t k = 0; k < count; k++) {
		if (!g->rule[k].count && !g->rule[k].bytes)
			continue;
		size_t at = used++;
		for (; at > 0 && g->rule[sorted[at - 1]].bytes < g->rule[k].bytes; at--)
			sorted[at] = sorted[at - 1];
		sorted[at] = (uint16_t)k;
	}
	return used;
}

void gp_role_rules_print(FILE *out, const struct gp_group *g)
{
	const struct gp_role_rule *rules;
	uint16_t sorted[UINT8_MAX];
	const size_t count = sort_rules(g, &rules, sorted);
	for (size_t k = 0; k < count; k++)
		fprintf(out, "%23s  %s: %s\n", gp_bytes_text(g->rule[sorted[k]].bytes).s,
			rules[sorted[k]].name, rules[sorted[k]].why);
}

void gp_role_rules_write(struct gp_json *json, const struct gp_group *g)
{
	const struct gp_role_rule *rules;
	uint16_t sorted[UINT8_MAX];
	const size_t count = sort_rules(g, &rules, sorted);
	gp_json_text(json, "rule", count ? rules[sorted[0]].name : NULL);
	gp_json_array(json, "rules");
	for (size_t k = 0; k < count; k++) {
		gp_json_object(json, NULL);
		gp_json_text(json, "rule", rules[sorted[k]].name);
		gp_json_text(json, "why", rules[sorted[k]].why);
		gp_json_number(json, "bytes", g->rule[sorted[k]].bytes);
		gp_json_number(json, "count", g->rule[sorted[k]].count);
		gp_json_end(json);
	}
	gp_json_end(json);
}

size_t gp_roles_sort(const struct gp_role_sums *s, unsigned sorted[GP_MEMORY_ROLES])
{
	size_t used = 0;
	for (unsigned k = 0; k < GP_MEMORY_ROLES; k++) {
		if (!s->count[k])
			continue;
		size_t at = used++;
		for (; at && s->bytes[sorted[at - 1]] < s->bytes[k]; at--)
			sorted[at] = sorted[at - 1];
		sorted[at] = k;
	}
	return used;
}

/* " (layers.*.mlp 31.0 GiB, layers.*.self_attn 6.00 GiB)" */
static void modules_text(const struct gp_role_module *module, uint64_t least,
			 char out[MODULES_TEXT_MAX])
{
	size_t used = 0;
	out[0] = '\0';
	for (size_t k = 0; k < TEXT_MODULES && module[k].sum.count && module[k].sum.bytes >= least;
	     k++)
		used += (size_t)snprintf(out + used, MODULES_TEXT_MAX - used, "%s%s %s",
					 k ? ", " : " (", module[k].key,
					 gp_bytes_text(module[k].sum.bytes).s);
	if (used)
		snprintf(out + used, MODULES_TEXT_MAX - used, ")");
}

void gp_roles_text(const struct gp_role_sums *s,
		   const struct gp_role_module (*module)[GP_ROLE_MODULES],
		   char out[GP_ROLES_TEXT_MAX])
{
	unsigned sorted[GP_MEMORY_ROLES];
	const size_t roles = gp_roles_sort(s, sorted);
	char modules[MODULES_TEXT_MAX] = "";
	uint64_t all = 0;
	out[0] = '\0';
	for (size_t k = 0; k < roles; k++)
		all += s->bytes[sorted[k]];
	if (all == s->bytes[GP_HOLDS_UNKNOWN])
		return;
	uint64_t others = all;
	size_t used = (size_t)snprintf(out, GP_ROLES_TEXT_MAX, "%s:", gp_bytes_text(all).s);
	for (size_t k = 0; k < roles && used < GP_ROLES_TEXT_MAX; k++) {
		const uint64_t bytes = s->bytes[sorted[k]];
		if (k >= TEXT_ROLES && bytes < all / TEXT_LEAST)
			break;
		if (module)
			modules_text(module[sorted[k]], all / TEXT_LEAST, modules);
		used += (size_t)snprintf(out + used, GP_ROLES_TEXT_MAX - used, "%s %s %s%s",
					 k ? "," : "", gp_role_keys[sorted[k]],
					 gp_bytes_text(bytes).s, modules);
		others -= bytes;
	}
	if (others && used < GP_ROLES_TEXT_MAX)
		snprintf(out + used, GP_ROLES_TEXT_MAX - used, ", others %s",
			 gp_bytes_text(others).s);
}

void gp_role_sum_write(struct gp_json *json, const struct gp_role_sums *s, unsigned role)
{
	gp_json_text(json, "key", gp_role_keys[role]);
	gp_json_number(json, "bytes", s->bytes[role]);
	gp_json_number(json, "count", s->count[role]);
}

void gp_role_sums_write(struct gp_json *json, const char *key, const struct gp_role_sums *s)
{
	unsigned sorted[GP_MEMORY_ROLES];
	const size_t roles = gp_roles_sort(s, sorted);
	gp_json_array(json, key);
	for (size_t k = 0; k < roles; k++) {
		gp_json_object(json, NULL);
		gp_role_sum_write(json, s, sorted[k]);
		gp_json_end(json);
	}
	gp_json_end(json);
}

void gp_no_roles_print(FILE *out, const struct gp_info *info)
{
	if (gp_phases_by(info) == GP_PHASES_BY_NOTHING)
		fputs("Neither stacks nor ranges were recorded, so roles are unknown.\n", out);
}
