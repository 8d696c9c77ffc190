/* Memory at an OOM by role, and the share by which a smaller batch would have fitted. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "../report/role_print.h"
#include "oom_answer.h"

/* Memory that grows with the batch. */
static const enum gp_memory_role of_batch[] = { GP_HOLDS_ACTIVATIONS, GP_HOLDS_INPUTS,
						GP_HOLDS_TEMPORARIES };

enum gp_status gp_oom_roles_find(struct gp_oom_report *r)
{
	size_t moments = 0, place = 0;
	if (gp_phases_by(r->info) == GP_PHASES_BY_NOTHING)
		return GP_OK;
	for (size_t k = 0; k < r->ooms.ooms && moments < GP_OOM_ANSWERS; k++)
		moments += r->row[k].is_shown && r->ooms.oom[k].is_framework && r->row[k].times;
	if (!moments)
		return GP_OK;
	struct gp_role_moment *at = calloc(moments, sizeof *at);
	r->roles = calloc(moments, sizeof *r->roles);
	if (!at || !r->roles) {
		free(at);
		return GP_E_MEMORY;
	}
	for (size_t k = 0; k < r->ooms.ooms && place < moments; k++) {
		const struct gp_oom *o = &r->ooms.oom[k];
		if (!r->row[k].is_shown || !o->is_framework || !r->row[k].times)
			continue;
		at[place].moment =
			(struct gp_moment_of){ .when = GP_WHEN_OOM, .number = o->number };
		at[place].device = o->device;
		r->row[k].roles = &r->roles[place++];
	}
	const enum gp_status status = gp_role_sums_build(r->recording, at, moments, r->roles);
	free(at);
	return status;
}

/*
 * The least change of the batch with which the request would have succeeded. Only where memory that
 * grows with the batch is known, and more than what has no role.
 */
void gp_oom_batch_text(const struct gp_role_makers *s, const struct gp_oom_case *c,
		       char out[GP_OOM_LINE_MAX])
{
	const uint64_t missing = c->finding.missing_bytes;
	uint64_t grows = 0;
	out[0] = '\0';
	for (size_t k = 0; s && k < sizeof of_batch / sizeof *of_batch; k++)
		grows += s->sums.bytes[of_batch[k]];
	if (!s || c->finding.verdict != GP_VERDICT_CAPACITY || missing == GP_BYTES_UNKNOWN ||
	    grows <= s->sums.bytes[GP_HOLDS_UNKNOWN] || missing >= grows + c->facts.bytes)
		return;
	snprintf(out, GP_OOM_LINE_MAX,
		 "%.0f%% smaller would have fitted, if activations, inputs, temporaries and the "
		 "request shrink with it",
		 ceil(100.0 * (double)missing / (double)(grows + c->facts.bytes)));
}

static void roles_modules_write(struct gp_json *json, const struct gp_role_module *module)
{
	gp_json_array(json, "modules");
	for (size_t k = 0; k < GP_ROLE_MODULES && module[k].sum.count; k++) {
		gp_json_object(json, NULL);
		gp_json_text(json, "key", module[k].key);
		gp_json_number(json, "bytes", module[k].sum.bytes);
		gp_json_number(json, "count", module[k].sum.count);
		gp_json_end(json);
	}
	gp_json_end(json);
}

void gp_oom_roles_write(struct gp_json *json, const struct gp_role_makers *s)
{
	if (!s) {
		gp_json_null(json, "roles");
		return;
	}
	gp_json_array(json, "roles");
	unsigned sorted[GP_MEMORY_ROLES];
	const size_t roles = gp_roles_sort(&s->sums, sorted);
	for (size_t k = 0; k < roles; k++) {
		gp_json_object(json, NULL);
		gp_role_sum_write(json, &s->sums, sorted[k]);
		roles_modules_write(json, s->module[sorted[k]]);
		gp_json_end(json);
	}
	gp_json_end(json);
}
