/* Figures and settings of the sides of a comparison, in the order in which they are shown. */
#include <stddef.h>
#include <string.h>

#include "diff_report.h"

const struct gp_diff_setting gp_diff_settings[GP_DIFF_SETTINGS] = {
	{ "GPUs", "gpu" },
	{ "CUDA API versions", "driver" },
	{ "PyTorch versions", "pytorch" },
	{ "Allocator settings", "alloc_conf" },
	{ "Commands", "command" },
};

const char *gp_diff_setting_of(const struct gp_info *info, size_t setting)
{
	const char *const texts[GP_DIFF_SETTINGS] = {
		info->devices ? info->device[0].name : NULL,
		info->driver,
		info->pytorch,
		info->alloc_conf,
		info->command,
	};
	return texts[setting];
}

bool gp_diff_setting_differs(const struct gp_diff_report *r, size_t setting)
{
	const char *first = gp_diff_setting_of(r->side[0].info, setting);
	for (size_t k = 1; k < r->sides; k++) {
		const char *text = gp_diff_setting_of(r->side[k].info, setting);
		if (!text != !first || (text && strcmp(text, first) != 0))
			return true;
	}
	return false;
}

size_t gp_diff_devices(const struct gp_diff_report *r, unsigned device[GP_DIFF_DEVICES])
{
	size_t devices = 0;
	for (unsigned number = 0; number < GP_DEVICES; number++) {
		bool is_there = false;
		for (size_t k = 0; k < r->sides && !is_there; k++)
			for (size_t i = 0; i < r->side[k].figures.devices; i++)
				is_there |= r->side[k].figures.device[i].device == number;
		if (is_there && (r->style.device < 0 || number == (uint64_t)r->style.device))
			device[devices++] = number;
	}
	bool has_host = false;
	for (size_t k = 0; k < r->sides && r->style.device < 0; k++)
		has_host |= r->side[k].peak.host != NULL;
	if (has_host)
		device[devices++] = GP_DEVICE_UNKNOWN;
	return devices;
}

/* ---- rows ---- */

struct rows {
	const struct gp_diff_report *report;
	const struct gp_figures *figures[GP_DIFF_SIDES]; /* NULL: the side lacks the device */
	struct gp_diff_row *row;
	size_t rows;
};

/* Drops the row if all sides have 0. */
static struct gp_diff_row *row_end(struct rows *w, struct gp_diff_row *row)
{
	bool has_some = false;
	for (size_t k = 0; k < w->report->sides; k++)
		has_some |= row->number[k] != 0;
	w->rows += has_some;
	return row;
}

/*
 * `at`: offset of the number in struct gp_figures. The number is 0 for a side without the device.
 */
static struct gp_diff_row *row_add(struct rows *w, const char *key, const char *label, size_t at,
				   bool needs_frag)
{
	struct gp_diff_row *row = &w->row[w->rows];
	*row = (struct gp_diff_row){ .key = key, .label = label, .is_memory = true };
	for (size_t k = 0; k < w->report->sides; k++) {
		const struct gp_figures *f = w->figures[k];
		row->is_known[k] = needs_frag ? f && f->has_frag : true;
		if (f && row->is_known[k])
			memcpy(&row->number[k], (const char *)f + at, sizeof row->number[k]);
	}
	return row_end(w, row);
}

#define AT(member) offsetof(struct gp_figures, member)

/* The excess follows from two peaks, so its change does not count as a difference. */
static void add_excess(struct rows *w)
{
	struct gp_diff_row *row = &w->row[w->rows];
	*row = (struct gp_diff_row){ .key = "excess_bytes",
				     .label = "reserved over allocated peak" };
	for (size_t k = 0; k < w->report->sides; k++) {
		const struct gp_figures *f = w->figures[k];
		row->is_known[k] = f && f->has_framework;
		row->number[k] = row->is_known[k] ? gp_figures_excess(f) : 0;
	}
	row_end(w, row);
}

/* Short forms of the causes that `frag` prints, for labels. */
static const char *const cause_labels[GP_CAUSES] = {
	[GP_CAUSE_PENDING] = "  in use by another stream",
	[GP_CAUSE_PRIVATE] = "  in private pools",
	[GP_CAUSE_STREAM] = "  of other streams",
	[GP_CAUSE_SMALL] = "  in the small pool",
	[GP_CAUSE_LEFTOVER] = "  rests up to 1 MiB",
	[GP_CAUSE_GRANULARITY] = "  on pages in use",
	[GP_CAUSE_FULLY_FREE] = "  fully free segments",
	[GP_CAUSE_INACTIVE_SPLIT] = "  inactive splits",
};

static void add_device(struct rows *w)
{
	const bool is_run = !w->report->is_of_moments;
	row_add(w, "allocated_bytes", is_run ? "allocated, peak" : "allocated",
		AT(bytes[GP_CURVE_ALLOCATED]), false);
	row_add(w, "reserved_bytes", is_run ? "reserved, peak" : "reserved",
		AT(bytes[GP_CURVE_RESERVED]), false);
	row_add(w, "driver_bytes", is_run ? "driver, peak" : "driver", AT(bytes[GP_CURVE_DRIVER]),
		false);
	if (is_run)
		add_excess(w);
	row_add(w, "largest_request_bytes", "largest request cached", AT(largest_request_bytes),
		true);
	row_add(w, "unused_bytes", is_run ? "unused at the reserved peak" : "unused",
		AT(unused_bytes), true);
	for (size_t k = 0; k < GP_CAUSES; k++)
		row_add(w, gp_cause_names[k], cause_labels[k],
			AT(cause_bytes) + k * sizeof(uint64_t), true);
	if (is_run) {
		row_add(w, "ooms", "OOMs", AT(ooms), false)->unit = GP_UNIT_COUNT;
		row_add(w, "failed_cuda_calls", "failed CUDA calls", AT(failed_calls), false)
			->unit = GP_UNIT_COUNT;
	}
}

/* Of the host, at its own peak or at the moment. */
static void add_pinned(struct rows *w)
{
	struct gp_diff_row *row = &w->row[w->rows];
	*row = (struct gp_diff_row){ .key = "pinned_bytes",
				     .label = w->report->is_of_moments ? "pinned" : "pinned, peak",
				     .is_memory = true };
	for (size_t k = 0; k < w->report->sides; k++) {
		const struct gp_diff_source *s = &w->report->side[k];
		const struct gp_holders *h = s->peak.host;
		row->is_known[k] = true;
		row->number[k] = !h ? 0 : s->is_peak ? h->peak_bytes : h->live_bytes;
	}
	row_end(w, row);
}

size_t gp_diff_rows(const struct gp_diff_report *r, unsigned device,
		    struct gp_diff_row row[GP_DIFF_ROWS])
{
	struct rows w = { .report = r, .row = row };
	for (size_t k = 0; k < r->sides; k++)
		for (size_t i = 0; i < r->side[k].figures.devices; i++)
			if (r->side[k].figures.device[i].device == device)
				w.figures[k] = &r->side[k].figures.device[i];
	if (device == GP_DEVICE_UNKNOWN)
		add_pinned(&w);
	else
		add_device(&w);
	return w.rows;
}

bool gp_diff_row_changed(const struct gp_diff_report *r, const struct gp_diff_row *row)
{
	uint64_t least = row->unit == GP_UNIT_BYTES && r->least ? r->least : 1;
	for (size_t k = 1; k < r->sides; k++) {
		uint64_t a = row->number[0], b = row->number[k];
		if (row->is_known[0] && row->is_known[k] && (a > b ? a - b : b - a) >= least)
			return true;
	}
	return false;
}
