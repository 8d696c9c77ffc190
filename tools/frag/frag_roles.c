/* Roles of the blocks that pin free memory. Each block counts once, with its own bytes. */
#include "../io/amount.h"
#include "frag_report.h"

struct sum {
	uint64_t bytes, count;
};

const struct gp_role_rule *gp_frag_rule(const struct gp_memory_block *b)
{
	const struct gp_role_rule *rules;
	const size_t count = gp_role_rules(&rules);
	return &rules[b->rule > 0 && b->rule <= count ? b->rule - 1u : count - 1];
}

static void sum_pins(const struct gp_frag *f, struct sum sum[GP_MEMORY_ROLES])
{
	for (size_t k = 0; k < f->pins; k++) {
		const struct gp_memory_block *b = &f->memory->block[f->pin[k].block];
		struct sum *s = &sum[gp_frag_rule(b)->role];
		s->bytes += b->bytes;
		s->count++;
	}
}

void gp_frag_roles_print(const struct gp_frag_report *r, const struct gp_frag *f)
{
	struct sum sum[GP_MEMORY_ROLES] = { 0 };
	const char *comma = "pinning by role: ";
	sum_pins(f, sum);
	for (unsigned role = 0; role < GP_MEMORY_ROLES; role++) {
		if (!sum[role].count)
			continue;
		fprintf(r->out, "%s%s %s in %s", comma, gp_role_keys[role],
			gp_bytes_text(sum[role].bytes).s, gp_plural(sum[role].count, "block").s);
		comma = ", ";
	}
	fputc('\n', r->out);
}

void gp_frag_roles_write(struct gp_json *json, const struct gp_frag *f)
{
	struct sum sum[GP_MEMORY_ROLES] = { 0 };
	sum_pins(f, sum);
	gp_json_array(json, "groups");
	for (unsigned role = 0; role < GP_MEMORY_ROLES; role++) {
		if (!sum[role].count)
			continue;
		gp_json_object(json, NULL);
		gp_json_text(json, "key", gp_role_keys[role]);
		gp_json_number(json, "bytes", sum[role].bytes);
		gp_json_number(json, "count", sum[role].count);
		gp_json_end(json);
	}
	gp_json_end(json);
}
