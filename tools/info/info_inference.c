/*
 * Memory of an inference job by role: each at its highest, with its moment and line. Rows of the
 * driver's count are of the moment of the number line.
 */
#include <string.h>

#include "../io/amount.h"
#include "../io/screen.h"
#include "info_report.h"

enum { ROWS_MOST = 16 };

/* The bytes of a row are their sum; `counts` in JSON. */
static const char blocks[] = "blocks", segments[] = "segments", of_driver[] = "driver";

struct row {
	const char *key, *counts;
	uint64_t bytes;
	int64_t at_ns;
	const struct gp_role_top *top; /* has the largest block; NULL: not of blocks */
	const char *note;	       /* NULL: none */
};
struct rows {
	struct row row[ROWS_MOST];
	size_t rows;
};

static struct row *inference_add(struct rows *to, const char *key, const char *counts,
				 uint64_t bytes, int64_t at_ns)
{
	struct row *row = &to->row[to->rows];
	if (bytes == 0 || to->rows == ROWS_MOST)
		return NULL;
	*row = (struct row){ .key = key, .counts = counts, .bytes = bytes, .at_ns = at_ns };
	to->rows++;
	return row;
}

/* The pools of graphs: their segments, which PyTorch keeps for replays, blocks or not. */
static bool add_pools(const struct gp_info_report *r, const struct gp_role_bands *d,
		      struct rows *to)
{
	const struct gp_graphs_report *g = &r->front->graphs;
	uint64_t bytes = 0;
	int64_t at_ns = 0;
	for (size_t k = 0; k < g->pools; k++) {
		const struct gp_graph_pool *pool = &g->pool[k];
		if (!pool->is_own || pool->device != d->device)
			continue;
		bytes += pool->most_bytes;
		at_ns = pool->most_at_ns > at_ns ? pool->most_at_ns : at_ns;
	}
	const char *key = gp_role_keys[GP_HOLDS_GRAPH_POOL];
	struct row *row = inference_add(to, key, segments, bytes, at_ns);
	if (row != NULL)
		row->top = &d->top[GP_HOLDS_GRAPH_POOL];
	return row != NULL;
}

/* In the order in which a server allocates. Of activations those of the highest moment. */
static void add_roles(const struct gp_info_report *r, const struct gp_role_bands *d,
		      struct rows *to)
{
	static const enum gp_memory_role order[] = { GP_HOLDS_WEIGHTS,	     GP_HOLDS_ACTIVATIONS,
						     GP_HOLDS_KV_CACHE,	     GP_HOLDS_GRAPH_POOL,
						     GP_HOLDS_WORKSPACE,     GP_HOLDS_INPUTS,
						     GP_HOLDS_COMMUNICATION, GP_HOLDS_UNKNOWN };
	for (size_t k = 0; k < sizeof order / sizeof *order; k++) {
		const struct gp_role_top *top =
			order[k] == GP_HOLDS_ACTIVATIONS ? &d->work : &d->top[order[k]];
		if (order[k] == GP_HOLDS_GRAPH_POOL && add_pools(r, d, to))
			continue;
		struct row *row =
			inference_add(to, gp_role_keys[order[k]], blocks, top->bytes, top->at_ns);
		if (row != NULL)
			row->top = top;
	}
}

/* Owners in the number line that are not PyTorch. */
static void add_owners(const struct gp_number_line *line, struct rows *to)
{
	static const struct {
		const char *owner, *key, *note;
	} shown[] = {
		{ "NCCL", "communication", "requested by NCCL" },
		{ "NVSHMEM", "communication", "requested by NVSHMEM" },
		{ "graph metadata", "graph_metadata", "of the driver" },
		{ "context and earlier processes", "context", "with earlier processes" },
	};
	for (size_t k = 0; k < sizeof shown / sizeof *shown; k++)
		for (size_t i = 0; i < line->owners.owners; i++) {
			const struct gp_memory_owner *o = &line->owners.owner[i];
			struct row *row = strcmp(o->name, shown[k].owner) == 0 ?
						  inference_add(to, shown[k].key, of_driver,
								o->bytes, line->memory.at_ns) :
						  NULL;
			if (row != NULL)
				row->note = shown[k].note;
		}
	struct row *row = inference_add(to, "free", of_driver, line->frag.driver_free_bytes,
					line->memory.at_ns);
	if (row != NULL)
		row->note = "at the peak of driver memory";
}

static struct rows rows_of(const struct gp_info_report *r, const struct gp_role_bands *d)
{
	const struct gp_number_line *line = &r->front->line;
	struct rows rows = { 0 };
	add_roles(r, d, &rows);
	struct row *row =
		inference_add(&rows, "unmapped", segments, d->unmapped.bytes, d->unmapped.at_ns);
	if (row != NULL)
		row->note = "reserved by PyTorch, but not mapped: asleep";
	if (line->is_known && line->frag.device->device == d->device)
		add_owners(line, &rows);
	return rows;
}

/* The code that made its largest block. Free with gp_groups_free; no group: unknown. */
static void inference_line(const struct gp_info_report *r, const struct gp_role_top *top,
			   struct gp_groups *out)
{
	const struct gp_grouping by_stack = { .by = GP_BY_STACK };
	*out = (struct gp_groups){ 0 };
	if (top == NULL || top->stack == 0)
		return;
	struct gp_use use = { .stack = top->stack,
			      .at_ns = top->stack_at_ns,
			      .space = GP_SPACE_BLOCK,
			      .bytes = top->block_bytes,
			      .count = 1 };
	if (gp_groups_build(r->recording, &use, 1, &by_stack, out))
		*out = (struct gp_groups){ 0 };
}

static void inference_print_row(const struct gp_info_report *r, const struct row *row,
				const char *label)
{
	struct gp_groups groups;
	inference_line(r, row->top, &groups);
	fprintf(r->out, "%-12s %10s  %-14s %10s  ", label, gp_bytes_text(row->bytes).s, row->key,
		gp_ns_text(row->at_ns).s);
	if (row->top != NULL)
		gp_name_print(r->out, groups.groups ? groups.group[0].key : "unknown");
	if (row->top != NULL && row->counts == segments)
		fprintf(r->out, " (segments, with %s of blocks)", gp_bytes_text(row->top->bytes).s);
	fprintf(r->out, "%s\n", row->note ? row->note : "");
	gp_groups_free(&groups);
}

void gp_info_inference_print(const struct gp_info_report *r)
{
	const struct gp_role_timeline *t = &r->front->roles;
	char gpu[24];
	for (size_t k = 0; r->front->is_inference && k < t->devices; k++) {
		const struct rows rows = rows_of(r, &t->device[k]);
		snprintf(gpu, sizeof gpu, t->devices > 1 ? "roles, GPU %u" : "roles",
			 t->device[k].device);
		for (size_t i = 0; i < rows.rows; i++)
			inference_print_row(r, &rows.row[i], i == 0 ? gpu : "");
	}
}

static void inference_write_row(const struct gp_info_report *r, unsigned device,
				const struct row *row)
{
	struct gp_groups groups;
	inference_line(r, row->top, &groups);
	gp_json_object(r->json, NULL);
	gp_json_number(r->json, "device", device);
	gp_json_text(r->json, "key", row->key);
	gp_json_text(r->json, "counts", row->counts);
	gp_json_number(r->json, "bytes", row->bytes);
	gp_json_signed(r->json, "at_ns", row->at_ns);
	gp_json_text(r->json, "largest_from", groups.groups ? groups.group[0].key : NULL);
	gp_json_number_if(r->json, "largest_bytes", row->top != NULL,
			  row->top != NULL ? row->top->block_bytes : 0);
	gp_json_end(r->json);
	gp_groups_free(&groups);
}

void gp_info_inference_write(const struct gp_info_report *r)
{
	const struct gp_role_timeline *t = &r->front->roles;
	gp_json_array(r->json, "inference");
	for (size_t k = 0; r->front->is_inference && k < t->devices; k++) {
		const struct rows rows = rows_of(r, &t->device[k]);
		for (size_t i = 0; i < rows.rows; i++)
			inference_write_row(r, t->device[k].device, &rows.row[i]);
	}
	gp_json_end(r->json);
}
