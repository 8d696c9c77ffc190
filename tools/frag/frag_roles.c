/* Roles of the blocks that pin free memory. Each block counts once, with its own bytes. */
#include "../io/amount.h"
#include "../report/role_print.h"
#include "frag_report.h"

static struct gp_role_sums sum_pins(const struct gp_frag *f)
{
	struct gp_role_sums sums = { 0 };
	for (size_t k = 0; k < f->pins; k++) {
		const struct gp_memory_block *b = &f->memory->block[f->pin[k].block];
		const unsigned role = gp_role_rule(b->rule)->role;
		sums.bytes[role] += b->bytes;
		sums.count[role]++;
	}
	return sums;
}

void gp_frag_roles_print(const struct gp_frag_report *r, const struct gp_frag *f)
{
	const struct gp_role_sums sums = sum_pins(f);
	const char *comma = "pinning by role: ";
	for (unsigned role = 0; role < GP_MEMORY_ROLES; role++) {
		if (!sums.count[role])
			continue;
		fprintf(r->out, "%s%s %s in %s", comma, gp_role_keys[role],
			gp_bytes_text(sums.bytes[role]).s, gp_plural(sums.count[role], "block").s);
		comma = ", ";
	}
	fputc('\n', r->out);
}

void gp_frag_roles_write(struct gp_json *json, const struct gp_frag *f)
{
	const struct gp_role_sums sums = sum_pins(f);
	gp_role_sums_write(json, "groups", &sums);
}
