/*
 * What a device's memory came to: peaks as replay found them, what was left unused where most was
 * reserved, what the whole device had in use.
 */
#include <stdlib.h>

#include "../gpuprof.h"

double gp_figures_fragmentation(const struct gp_figures *f)
{
	uint64_t reserved = f->bytes[GP_CURVE_RESERVED], allocated = f->bytes[GP_CURVE_ALLOCATED];
	return reserved > allocated ? 1.0 - (double)allocated / (double)reserved : 0.0;
}

static struct gp_figures *get(struct gp_figure_list *list, unsigned device)
{
	size_t k = 0;
	while (k < list->devices && list->device[k].device != device)
		k++;
	if (k == list->devices)
		list->device[list->devices++] =
			(struct gp_figures){ .device = device, .used_bytes = GP_BYTES_UNKNOWN };
	return &list->device[k];
}

static void take_holders(struct gp_figure_list *list, const struct gp_peak *peak, bool is_peak)
{
	for (size_t k = 0; k < peak->holders; k++) {
		const struct gp_holders *h = &peak->holder[k];
		struct gp_figures *f = get(list, h->device);
		f->bytes[h->of] = is_peak ? h->peak_bytes : h->live_bytes;
		f->at_ns[h->of] = is_peak ? h->peak_at_ns : h->at_ns;
		f->has_framework |= h->of == GP_CURVE_RESERVED;
	}
}

/* ---- from the state of memory at a moment ---- */

struct looking {
	struct gp_recording *recording;
	struct gp_allocator_settings settings;
	bool is_peak;
	int64_t at_ns;
};

static void take_frag(struct gp_figures *f, const struct gp_frag *frag)
{
	f->has_frag = frag->reserved_bytes > 0;
	f->largest_request_bytes = frag->largest_request_bytes;
	for (unsigned k = 0; k < GP_CAUSES; k++)
		f->cause_bytes[k] = frag->cause_bytes[k];
}

/* GP_END: there is no such moment any more. */
static enum gp_status look(const struct looking *l, struct gp_figures *f,
			   const struct gp_moment_of *moment, bool is_of_frag)
{
	struct gp_memory memory;
	struct gp_frag frag;
	const struct gp_frag_question question = { .settings = &l->settings };
	enum gp_status status = gp_memory_build(l->recording, moment, &memory);
	if (status != GP_OK)
		return status;
	status = gp_frag_build(&memory, f->device, &question, &frag);
	if (status == GP_OK) {
		if (is_of_frag)
			take_frag(f, &frag);
		else
			f->used_bytes = frag.driver_used_bytes;
		gp_frag_free(&frag);
	}
	gp_memory_free(&memory);
	/* nothing is known of the device then */
	return status == GP_E_ARGUMENT ? GP_END : status;
}

static enum gp_status look_twice(const struct looking *l, struct gp_figures *f)
{
	struct gp_moment_of where = { .when = GP_WHEN_TIME, .at_ns = l->at_ns };
	enum gp_status status = GP_OK;
	if (l->is_peak)
		where = (struct gp_moment_of){ .when = GP_WHEN_PEAK, .device = f->device };
	if (f->has_framework)
		status = look(l, f, &where, true);
	if (status == GP_OK || status == GP_END) {
		where.when = GP_WHEN_TIME;
		where.at_ns = f->at_ns[GP_CURVE_DRIVER];
		status = look(l, f, &where, false);
	}
	return status == GP_END ? GP_OK : status;
}

/* ---- what the recording says of a device ---- */

static enum gp_status count_ooms(struct gp_recording *recording, struct gp_figure_list *list)
{
	struct gp_timeline t;
	enum gp_status status = gp_timeline_build(recording, 16, 0, INT64_MAX, &t);
	if (status != GP_OK)
		return status;
	for (size_t k = 0; k < list->devices; k++)
		for (size_t i = 0; i < t.devices; i++)
			if (t.device[i].device == list->device[k].device)
				list->device[k].ooms = t.device[i].out_of_memory;
	gp_timeline_free(&t);
	return status;
}

static void take_info(struct gp_figures *f, const struct gp_info *info)
{
	f->is_at_least = info->has_gap || info->has_framework_late || info->has_uncertain_peaks ||
			 info->has_hole;
	for (size_t k = 0; k < info->devices; k++)
		if (info->device[k].device == f->device)
			f->total_bytes = info->device[k].total_bytes;
}

static int compare(const void *left, const void *right)
{
	const struct gp_figures *a = left, *b = right;
	return (a->device > b->device) - (a->device < b->device);
}

enum gp_status gp_figures_build(struct gp_recording *recording, const struct gp_peak *peak,
				bool is_peak, int64_t at_ns, struct gp_figure_list *out)
{
	struct looking l = { .recording = recording, .is_peak = is_peak, .at_ns = at_ns };
	const struct gp_info *info;
	*out = (struct gp_figure_list){ 0 };
	enum gp_status status = gp_recording_info(recording, &info);
	if (status != GP_OK)
		return status;
	out->device = calloc(peak->holders + 1, sizeof *out->device);
	if (out->device == NULL)
		return GP_E_MEMORY;
	gp_allocator_settings_read(info->alloc_conf, &l.settings);
	take_holders(out, peak, is_peak);
	for (size_t k = 0; k < out->devices && status == GP_OK; k++) {
		take_info(&out->device[k], info);
		status = look_twice(&l, &out->device[k]);
	}
	if (status == GP_OK)
		status = count_ooms(recording, out);
	if (out->devices > 1)
		qsort(out->device, out->devices, sizeof *out->device, compare);
	if (status != GP_OK)
		gp_figures_free(out);
	return status;
}

void gp_figures_free(struct gp_figure_list *figures)
{
	free(figures->device);
	*figures = (struct gp_figure_list){ 0 };
}
