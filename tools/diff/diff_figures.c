/* Figures and settings of the sides of a comparison, in the order in which they are shown. */
#include <stdlib.h>
#include <string.h>

#include "diff_report.h"

const char *const gp_diff_setting_names[GP_SETTINGS] = {
	"GPUs", "CUDA API versions", "PyTorch versions", "Allocator settings", "Commands",
};

const char *gp_diff_setting(const struct gp_info *info, enum gp_diff_setting setting)
{
	switch (setting) {
	case GP_SETTING_GPU:
		return info->devices > 0 ? info->device[0].name : NULL;
	case GP_SETTING_DRIVER:
		return info->driver;
	case GP_SETTING_PYTORCH:
		return info->pytorch;
	case GP_SETTING_ALLOCATOR:
		return info->alloc_conf;
	case GP_SETTING_COMMAND:
		return info->command;
	case GP_SETTINGS:
		break;
	}
	return NULL;
}

bool gp_diff_setting_differs(const struct gp_diff_report *r, enum gp_diff_setting setting)
{
	const char *first = gp_diff_setting(r->side[0].info, setting);
	for (size_t k = 1; k < r->sides; k++) {
		const char *text = gp_diff_setting(r->side[k].info, setting);
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
	const struct gp_figures *figures[GP_DIFF_SIDES]; /* NULL: the side has no such device */
	struct gp_diff_row *row;
	size_t rows;
};

static struct gp_diff_row *diff_figures_add_row(struct rows *w, const char *key, const char *label,
						enum gp_diff_unit unit)
{
	struct gp_diff_row *row = &w->row[w->rows++];
	*row = (struct gp_diff_row){ .key = key, .unit = unit, .is_memory = true };
	snprintf(row->label, sizeof row->label, "%s", label);
	return row;
}

/* A row that says nothing of any side goes. */
static void end_row(struct rows *w)
{
	const struct gp_diff_row *row = &w->row[w->rows - 1];
	bool has_some = false;
	for (size_t k = 0; k < w->report->sides; k++)
		has_some |= row->is_known[k] && row->number[k] != 0;
	w->rows -= !has_some;
}

static void add_curves(struct rows *w)
{
	static const char *const keys[] = { "driver_bytes", "reserved_bytes", "allocated_bytes" };
	for (int of = GP_CURVE_ALLOCATED; of >= GP_CURVE_DRIVER; of--) {
		char label[64];
		snprintf(label, sizeof label, "%s%s", gp_curve_keys[of],
			 w->report->is_of_moments ? "" : ", peak");
		struct gp_diff_row *row = diff_figures_add_row(w, keys[of], label, GP_UNIT_BYTES);
		for (size_t k = 0; k < w->report->sides; k++) {
			row->is_known[k] = true;
			row->number[k] = w->figures[k] ? w->figures[k]->bytes[of] : 0;
		}
		end_row(w);
	}
}

static void add_fragmentation(struct rows *w)
{
	struct gp_diff_row *excess = diff_figures_add_row(
		w, "excess_bytes", "reserved over allocated peak", GP_UNIT_BYTES);
	for (size_t k = 0; k < w->report->sides && !w->report->is_of_moments; k++) {
		const struct gp_figures *f = w->figures[k];
		excess->is_known[k] = f && f->has_framework;
		if (excess->is_known[k])
			excess->number[k] = gp_figures_excess(f);
	}
	/* it follows from the two above */
	excess->is_memory = false;
	end_row(w);
	struct gp_diff_row *largest = diff_figures_add_row(w, "largest_request_bytes",
							   "largest request cached", GP_UNIT_BYTES);
	for (size_t k = 0; k < w->report->sides; k++) {
		largest->is_known[k] = w->figures[k] && w->figures[k]->has_frag;
		if (largest->is_known[k])
			largest->number[k] = w->figures[k]->largest_request_bytes;
	}
	end_row(w);
	struct gp_diff_row *unused = diff_figures_add_row(
		w, "unused_bytes",
		w->report->is_of_moments ? "unused" : "unused at the reserved peak", GP_UNIT_BYTES);
	for (size_t k = 0; k < w->report->sides; k++) {
		unused->is_known[k] = w->figures[k] && w->figures[k]->has_frag;
		if (unused->is_known[k])
			unused->number[k] = w->figures[k]->unused_bytes;
	}
	end_row(w);
}

/* The reasons that `frag` prints, short enough for a label. */
static const char *const cause_labels[GP_CAUSES] = {
	[GP_CAUSE_PENDING] = "in use by another stream", [GP_CAUSE_PRIVATE] = "in private pools",
	[GP_CAUSE_STREAM] = "of other streams",		 [GP_CAUSE_SMALL] = "in the small pool",
	[GP_CAUSE_LEFTOVER] = "rests up to 1 MiB",	 [GP_CAUSE_GRANULARITY] = "on pages in use",
	[GP_CAUSE_SOFT] = "fully free segments",	 [GP_CAUSE_HARD] = "inactive splits",
};

static void add_causes(struct rows *w)
{
	for (unsigned cause = 0; cause < GP_CAUSES; cause++) {
		char label[64];
		snprintf(label, sizeof label, "  %s", cause_labels[cause]);
		struct gp_diff_row *row =
			diff_figures_add_row(w, gp_cause_names[cause], label, GP_UNIT_BYTES);
		for (size_t k = 0; k < w->report->sides; k++) {
			row->is_known[k] = w->figures[k] && w->figures[k]->has_frag;
			if (row->is_known[k])
				row->number[k] = w->figures[k]->cause_bytes[cause];
		}
		end_row(w);
	}
}

/* Of the whole run, so not of a moment. */
static void add_ooms(struct rows *w)
{
	struct gp_diff_row *row = diff_figures_add_row(w, "ooms", "OOMs", GP_UNIT_COUNT);
	for (size_t k = 0; k < w->report->sides; k++) {
		row->is_known[k] = true;
		row->number[k] = w->figures[k] ? w->figures[k]->ooms : 0;
	}
	end_row(w);
	row = diff_figures_add_row(w, "failed_cuda_calls", "failed CUDA calls", GP_UNIT_COUNT);
	for (size_t k = 0; k < w->report->sides; k++) {
		row->is_known[k] = true;
		row->number[k] = w->figures[k] ? w->figures[k]->failed_calls : 0;
	}
	end_row(w);
}

/* Of the host, at its own peak or at the moment. */
static void add_pinned(struct rows *w)
{
	struct gp_diff_row *row = diff_figures_add_row(
		w, "pinned_bytes", w->report->is_of_moments ? "pinned" : "pinned, peak",
		GP_UNIT_BYTES);
	for (size_t k = 0; k < w->report->sides; k++) {
		const struct gp_diff_source *s = &w->report->side[k];
		const struct gp_holders *h = s->peak.host;
		row->is_known[k] = true;
		row->number[k] = !h ? 0 : s->is_peak ? h->peak_bytes : h->live_bytes;
	}
	end_row(w);
}

size_t gp_diff_rows(const struct gp_diff_report *r, unsigned device,
		    struct gp_diff_row row[GP_DIFF_ROWS])
{
	struct rows w = { .report = r, .row = row };
	if (device == GP_DEVICE_UNKNOWN) {
		add_pinned(&w);
		return w.rows;
	}
	for (size_t k = 0; k < r->sides; k++)
		for (size_t i = 0; i < r->side[k].figures.devices; i++)
			if (r->side[k].figures.device[i].device == device)
				w.figures[k] = &r->side[k].figures.device[i];
	add_curves(&w);
	add_fragmentation(&w);
	add_causes(&w);
	if (!r->is_of_moments)
		add_ooms(&w);
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
