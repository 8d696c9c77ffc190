/*
 * Free memory of many recordings: a row for each device, to compare ranks.
 */
#include <math.h>
#include <string.h>

#include "../io/amount.h"
#include "../report/report.h"
#include "frag_report.h"

enum { UNUSED, SHARE, ALLOCATED, LARGEST, OOMS, AT, COLUMNS };

void gp_frag_rows_begin(struct gp_report_table *table)
{
	*table = (struct gp_report_table){
		.columns = COLUMNS,
		.title = { "unused", "of reserved", "allocated", "largest cached", "OOMs", "at" },
		.fault[OOMS] = { "first OOM", NULL, "oom", true },
		.next = "frag",
	};
}

static void put_ooms(struct gp_cell *cell, const struct gp_frag_report *r, unsigned device)
{
	uint64_t ooms = 0;
	int64_t first_ns = 0;
	for (size_t k = 0; k < r->ooms.ooms; k++) {
		const struct gp_oom *oom = &r->ooms.oom[k];
		if (oom->device == device && !ooms++)
			first_ns = oom->at_ns;
	}
	gp_cell_put_ooms(cell, r->info, ooms, first_ns);
}

/* A job without PyTorch has no reserved memory, and no share of it. */
static bool row_add(struct gp_report_table *table, const struct gp_frag_report *r,
		    const struct gp_frag *f)
{
	char text[32];
	snprintf(text, sizeof text, "GPU %u", f->device->device);
	struct gp_report_row *row = gp_report_table_add(table, text);
	if (!row)
		return false;
	/* ranks start at different times, so mark no outlier among their moments */
	gp_cell_put(&row->cell[AT], NAN, gp_ns_text(r->memory.at_ns).s);
	put_ooms(&row->cell[OOMS], r, f->device->device);
	if (!f->reserved_bytes)
		return true;
	const double share = (double)f->unused_bytes / (double)f->reserved_bytes;
	gp_cell_put_bytes(&row->cell[UNUSED], f->unused_bytes);
	snprintf(text, sizeof text, "%.1f%%", 100 * share);
	gp_cell_put(&row->cell[SHARE], share, text);
	gp_cell_put_bytes(&row->cell[ALLOCATED], f->allocated_bytes);
	gp_cell_put_bytes(&row->cell[LARGEST], f->largest_request_bytes);
	return true;
}

bool gp_frag_rows_add(struct gp_report_table *table, const struct gp_frag_report *r)
{
	if (!gp_report_table_begin(table, r->path, r->info))
		return false;
	for (size_t k = 0; k < r->devices; k++)
		if (!row_add(table, r, &r->device[k].frag))
			return false;
	return true;
}
