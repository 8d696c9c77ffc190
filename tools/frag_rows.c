/* Free memory of many recordings: a row for each device, so that the odd rank is seen. */
#include <math.h>
#include <string.h>

#include "amount.h"
#include "frag_report.h"
#include "report.h"

enum { AT, ALLOCATED, UNUSED, SHARE, LARGEST, OOMS, COLUMNS };

void gp_frag_rows_begin(struct gp_sheet *sheet)
{
	*sheet = (struct gp_sheet){
		.columns = COLUMNS,
		.title = { "at", "allocated", "unused", "of reserved", "largest cached", "OOMs" },
		.next = "frag",
	};
}

static void put(struct gp_cell *cell, double number, const char *text)
{
	cell->number = number;
	snprintf(cell->text, sizeof cell->text, "%s", text);
}

static void put_bytes(struct gp_cell *cell, uint64_t bytes)
{
	put(cell, (double)bytes, gp_bytes_text(bytes).s);
}

static bool row_add(struct gp_sheet *sheet, const struct gp_frag_report *r, const struct gp_frag *f)
{
	char device[32], text[32];
	uint64_t unused = f->unused_bytes, ooms = 0;
	double share = f->reserved_bytes ? (double)unused / (double)f->reserved_bytes : 0;
	snprintf(device, sizeof device, "  GPU %u", f->device->device);
	struct gp_sheet_row *row = gp_sheet_add(sheet, r->path, device);
	if (!row)
		return false;
	row->is_damaged = r->info->is_damaged;
	/* moments of ranks that start one after the other say little */
	put(&row->cell[AT], NAN, gp_ns_text(r->memory.at_ns).s);
	put_bytes(&row->cell[ALLOCATED], f->allocated_bytes);
	put_bytes(&row->cell[UNUSED], unused);
	snprintf(text, sizeof text, "%.1f%%", 100 * share);
	put(&row->cell[SHARE], share, text);
	put_bytes(&row->cell[LARGEST], f->largest_request_bytes);
	for (size_t k = 0; k < r->ooms.ooms; k++)
		ooms += r->ooms.oom[k].device == f->device->device;
	put(&row->cell[OOMS], (double)ooms, gp_count_text(ooms).s);
	return true;
}

bool gp_frag_rows_add(struct gp_sheet *sheet, const struct gp_frag_report *r)
{
	for (size_t k = 0; k < r->devices; k++)
		if (!row_add(sheet, r, &r->device[k].frag))
			return false;
	return true;
}
