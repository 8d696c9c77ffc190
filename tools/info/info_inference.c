/* Memory of an inference job by role: each at its highest, with its moment and line. */
#include "../io/amount.h"
#include "../io/screen.h"
#include "info_report.h"

/* Rows in the order in which a server allocates. Of activations those of the highest moment. */
static const enum gp_memory_role order[] = { GP_HOLDS_WEIGHTS,	     GP_HOLDS_ACTIVATIONS,
					     GP_HOLDS_KV_CACHE,	     GP_HOLDS_GRAPH_POOL,
					     GP_HOLDS_COMMUNICATION, GP_HOLDS_WORKSPACE,
					     GP_HOLDS_INPUTS,	     GP_HOLDS_UNKNOWN };
#define ROWS (sizeof order / sizeof *order)

static const struct gp_role_top *inference_top(const struct gp_role_bands *d, size_t row)
{
	return order[row] == GP_HOLDS_ACTIVATIONS ? &d->work : &d->top[order[row]];
}

/* The code that made its largest block. Free with gp_groups_free; no group: unknown. */
static void inference_line(const struct gp_info_report *r, const struct gp_role_top *top,
			   struct gp_groups *out)
{
	const struct gp_grouping by_stack = { .by = GP_BY_STACK };
	struct gp_use use = { .stack = top->stack,
			      .at_ns = top->stack_at_ns,
			      .space = GP_SPACE_BLOCK,
			      .bytes = top->block_bytes,
			      .count = 1 };
	*out = (struct gp_groups){ 0 };
	if (top->stack && gp_groups_build(r->recording, &use, 1, &by_stack, out))
		*out = (struct gp_groups){ 0 };
}

static void inference_print_row(const struct gp_info_report *r, const struct gp_role_bands *d,
				size_t row, const char *label)
{
	const struct gp_role_top *top = inference_top(d, row);
	struct gp_groups groups;
	inference_line(r, top, &groups);
	fprintf(r->out, "%-12s %10s  %-13s %10s  ", label, gp_bytes_text(top->bytes).s,
		gp_role_keys[order[row]], gp_ns_text(top->at_ns).s);
	gp_name_print(r->out, groups.groups ? groups.group[0].key : "unknown");
	fputc('\n', r->out);
	gp_groups_free(&groups);
}

void gp_info_inference_print(const struct gp_info_report *r)
{
	const struct gp_role_timeline *t = &r->front->roles;
	char gpu[24];
	for (size_t k = 0; k < t->devices; k++) {
		const char *label = gpu;
		snprintf(gpu, sizeof gpu, t->devices > 1 ? "roles, GPU %u" : "roles",
			 t->device[k].device);
		for (size_t row = 0; row < ROWS; row++) {
			if (!inference_top(&t->device[k], row)->bytes)
				continue;
			inference_print_row(r, &t->device[k], row, label);
			label = "";
		}
	}
}

static void inference_write_row(const struct gp_info_report *r, const struct gp_role_bands *d,
				size_t row)
{
	const struct gp_role_top *top = inference_top(d, row);
	struct gp_groups groups;
	inference_line(r, top, &groups);
	gp_json_object(r->json, NULL);
	gp_json_number(r->json, "device", d->device);
	gp_json_text(r->json, "key", gp_role_keys[order[row]]);
	gp_json_number(r->json, "bytes", top->bytes);
	gp_json_signed(r->json, "at_ns", top->at_ns);
	gp_json_text(r->json, "largest_from", groups.groups ? groups.group[0].key : NULL);
	gp_json_number(r->json, "largest_bytes", top->block_bytes);
	gp_json_end(r->json);
	gp_groups_free(&groups);
}

void gp_info_inference_write(const struct gp_info_report *r)
{
	const struct gp_role_timeline *t = &r->front->roles;
	gp_json_array(r->json, "inference");
	for (size_t k = 0; k < t->devices; k++)
		for (size_t row = 0; row < ROWS; row++)
			if (inference_top(&t->device[k], row)->bytes)
				inference_write_row(r, &t->device[k], row);
	gp_json_end(r->json);
}
