/*
 * The figures of a device's memory: the peaks of the replay, the unused bytes at the highest
 * reserved value, the use of the whole device.
 */
#include <stdlib.h>
#include <string.h>

#include "../frag/frag_parts.h"
#include "../memory/memory_view.h"
#include "peak_look.h"

uint64_t gp_figures_excess(const struct gp_figures *f)
{
	uint64_t reserved = f->bytes[GP_CURVE_RESERVED], allocated = f->bytes[GP_CURVE_ALLOCATED];
	return reserved > allocated ? reserved - allocated : 0;
}

/* ---- from the state of memory at a moment ---- */

struct looking {
	struct gp_allocator_settings settings;
	struct gp_figures seen[GP_DEVICES]; /* figures that are not of curves */
};

static void take_frag(struct gp_figures *f, const struct gp_frag *frag)
{
	f->has_frag = frag->reserved_bytes > 0;
	f->largest_request_bytes = frag->largest_request_bytes;
	f->unused_bytes = frag->unused_bytes;
	memcpy(f->cause_bytes, frag->cause_bytes, sizeof f->cause_bytes);
}

static enum gp_status look_at_segments(const struct looking *l, struct gp_recording *recording,
				       unsigned device, struct gp_figures *f)
{
	struct gp_memory memory;
	struct gp_frag frag;
	const struct gp_frag_question question = { .settings = &l->settings };
	enum gp_status status = gp_memory_list_now(recording, device, &memory);
	if (status != GP_OK)
		return status;
	status = gp_frag_build(&memory, device, &question, &frag);
	if (status == GP_OK) {
		take_frag(f, &frag);
		gp_frag_free(&frag);
	}
	gp_memory_free(&memory);
	/* then the device's figures are unknown */
	return status == GP_E_ARGUMENT ? GP_OK : status;
}

static enum gp_status figures_see(void *context, struct gp_recording *recording,
				  const struct gp_holders *h)
{
	struct looking *l = context;
	struct gp_figures *f = &l->seen[h->device];
	if (h->of == GP_CURVE_RESERVED)
		return look_at_segments(l, recording, h->device, f);
	if (h->of == GP_CURVE_DRIVER) {
		const struct gp_memory_device d = gp_memory_device_now(recording, h->device);
		f->used_bytes = gp_frag_driver_used(&d);
	}
	return GP_OK;
}

static struct gp_figures *get(struct gp_figure_list *list, const struct looking *l, unsigned device)
{
	size_t k = 0;
	while (k < list->devices && list->device[k].device != device)
		k++;
	if (k == list->devices) {
		list->device[list->devices++] = l->seen[device];
		list->device[k].device = device;
	}
	return &list->device[k];
}

static void take_holders(struct gp_figure_list *list, const struct looking *l,
			 const struct gp_peak *peak, bool is_peak)
{
	for (size_t k = 0; k < peak->holders; k++) {
		const struct gp_holders *h = &peak->holder[k];
		struct gp_figures *f = get(list, l, h->device);
		f->bytes[h->of] = is_peak ? h->peak_bytes : h->live_bytes;
		f->at_ns[h->of] = is_peak ? h->peak_at_ns : h->at_ns;
		f->has_framework |= h->of == GP_CURVE_RESERVED;
	}
}

/* ---- facts of a device ---- */

static enum gp_status count_ooms(struct gp_recording *recording, struct gp_figure_list *list)
{
	struct gp_timeline t;
	enum gp_status status = gp_timeline_build(recording, 16, 0, INT64_MAX, &t);
	if (status != GP_OK)
		return status;
	for (size_t k = 0; k < list->devices; k++)
		for (size_t i = 0; i < t.devices; i++)
			if (t.device[i].device == list->device[k].device) {
				list->device[k].ooms = t.device[i].ooms;
				list->device[k].failed_calls = t.device[i].failed_calls;
			}
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

static int figures_compare(const void *left, const void *right)
{
	const struct gp_figures *a = left, *b = right;
	return (a->device > b->device) - (a->device < b->device);
}

static enum gp_status list_devices(struct gp_recording *recording, const struct gp_peak *peak,
				   bool is_peak, const struct looking *l,
				   struct gp_figure_list *out)
{
	const struct gp_info *info;
	enum gp_status status = gp_recording_info(recording, &info);
	if (status != GP_OK)
		return status;
	out->device = calloc(peak->holders + 1, sizeof *out->device);
	if (out->device == NULL)
		return GP_E_MEMORY;
	take_holders(out, l, peak, is_peak);
	for (size_t k = 0; k < out->devices; k++)
		take_info(&out->device[k], info);
	status = count_ooms(recording, out);
	if (out->devices > 1)
		qsort(out->device, out->devices, sizeof *out->device, figures_compare);
	return status;
}

enum gp_status gp_figures_build(struct gp_recording *recording, bool is_peak, int64_t at_ns,
				unsigned with, struct gp_peak *peak, struct gp_figure_list *out)
{
	const struct gp_info *info;
	*peak = (struct gp_peak){ 0 };
	*out = (struct gp_figure_list){ 0 };
	struct looking *l = calloc(1, sizeof *l);
	if (l == NULL)
		return GP_E_MEMORY;
	for (unsigned device = 0; device < GP_DEVICES; device++)
		l->seen[device].used_bytes = GP_BYTES_UNKNOWN;
	const struct gp_peak_look look = { figures_see, l };
	enum gp_status status = gp_recording_info(recording, &info);
	if (status == GP_OK) {
		gp_allocator_settings_read(info->alloc_conf, &l->settings);
		status = gp_peak_build_looking(recording, is_peak ? GP_AT_PEAK : GP_AT_TIME, at_ns,
					       with, &look, peak);
	}
	if (status == GP_OK)
		status = list_devices(recording, peak, is_peak, l, out);
	free(l);
	if (status != GP_OK) {
		gp_figures_free(out);
		gp_peak_free(peak);
	}
	return status;
}

void gp_figures_free(struct gp_figure_list *figures)
{
	free(figures->device);
	*figures = (struct gp_figure_list){ 0 };
}
