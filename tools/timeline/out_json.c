/*
 * The timeline for a program; gpuprof-timeline(1) documents the keys. One recording: an object;
 * many: a list.
 */
#include "../io/json.h"
#include "../report/report.h"
#include "chart.h"

static struct gp_json json;

static void out_json_begin(const struct gp_canvas *canvas)
{
	gp_json_init(&json, canvas->out, canvas->is_many ? 5 : 4);
	if (canvas->is_many)
		gp_json_array(&json, NULL);
}

static void write_peaks(const struct gp_timeline_device *d)
{
	for (unsigned k = 0; k < GP_CURVES; k++) {
		char key[40];
		snprintf(key, sizeof key, "%s_peak_bytes", gp_curve_names[k]);
		gp_json_number(&json, key, d->peak_bytes[k]);
		snprintf(key, sizeof key, "%s_peak_at_ns", gp_curve_names[k]);
		gp_json_signed_if(&json, key, d->peak_bytes[k], d->peak_at_ns[k]);
	}
}

/* Roles without memory are left out. */
static void write_band(const struct gp_role_bands *bands, unsigned role)
{
	uint64_t highest = 0;
	for (size_t k = 0; k < bands->bands; k++)
		highest |= bands->band[k].count[role] | bands->band[k].bytes[role];
	if (!highest)
		return;
	gp_json_object(&json, NULL);
	gp_json_text(&json, "key", gp_role_keys[role]);
	gp_json_array(&json, "bytes");
	for (size_t k = 0; k < bands->bands; k++)
		gp_json_number(&json, NULL, bands->band[k].bytes[role]);
	gp_json_end(&json);
	gp_json_array(&json, "count");
	for (size_t k = 0; k < bands->bands; k++)
		gp_json_number(&json, NULL, bands->band[k].count[role]);
	gp_json_end(&json);
	gp_json_end(&json);
}

static void write_bands(const struct gp_role_bands *bands)
{
	gp_json_object(&json, "roles");
	gp_json_array(&json, "at_ns");
	for (size_t k = 0; bands && k < bands->bands; k++)
		gp_json_signed(&json, NULL, bands->band[k].at_ns);
	gp_json_end(&json);
	gp_json_array(&json, "groups");
	for (unsigned role = 0; bands && role < GP_MEMORY_ROLES; role++)
		write_band(bands, role);
	gp_json_end(&json);
	gp_json_end(&json);
}

static void out_json_write_device(const struct gp_chart *chart, size_t index)
{
	const struct gp_timeline_device *d = &chart->device[index];
	const char *name = gp_chart_name(chart, index);
	gp_json_object(&json, NULL);
	gp_json_number(&json, "device", d->device);
	gp_json_text(&json, "name", *name ? name : NULL);
	write_peaks(d);
	gp_json_number(&json, "most_unmapped_bytes", d->most_unmapped_bytes);
	gp_json_signed_if(&json, "most_unmapped_at_ns", d->most_unmapped_bytes,
			  d->most_unmapped_at_ns);
	gp_number_line_write(&json, &chart->line[index]);
	gp_json_array(&json, "ooms");
	for (size_t k = 0; k < d->marks; k++) {
		if (!d->mark[k].is_oom)
			continue;
		gp_json_object(&json, NULL);
		gp_json_signed(&json, "at_ns", d->mark[k].at_ns);
		gp_json_number(&json, "bytes", d->mark[k].bytes);
		gp_json_bool(&json, "framework", d->mark[k].is_framework);
		gp_json_end(&json);
	}
	gp_json_end(&json);
	gp_json_number(&json, "failed_cuda_calls", d->failed_calls);
	gp_json_array(&json, "points");
	for (size_t k = 0; k < d->points; k++) {
		gp_json_array(&json, NULL);
		gp_json_signed(&json, NULL, d->point[k].at_ns);
		for (unsigned c = 0; c < GP_CURVES; c++)
			gp_json_number(&json, NULL, d->point[k].bytes[c]);
		if (d->has_gaps) {
			gp_json_number(&json, NULL, d->point[k].largest_free_bytes);
			gp_json_real(&json, NULL,
				     gp_gap_ratio(d->point[k].free_bytes,
						  d->point[k].largest_free_bytes));
		}
		gp_json_end(&json);
	}
	gp_json_end(&json);
	if (chart->roles)
		write_bands(gp_chart_bands(chart, d->device));
	gp_json_end(&json);
}

static void write_host(const struct gp_chart *chart)
{
	const struct gp_timeline_device *h = chart->host;
	if (!h) {
		gp_json_null(&json, "host");
		return;
	}
	gp_json_object(&json, "host");
	gp_json_number(&json, "pinned_peak_bytes", h->peak_bytes[GP_HOST_PINNED]);
	gp_json_signed(&json, "pinned_peak_at_ns", h->peak_at_ns[GP_HOST_PINNED]);
	gp_json_number(&json, "registered_at_peak_bytes", h->peak_bytes[GP_HOST_REGISTERED]);
	gp_json_bool(&json, "at_least", chart->is_host_at_least);
	gp_json_array(&json, "points");
	for (size_t k = 0; k < h->points; k++) {
		gp_json_array(&json, NULL);
		gp_json_signed(&json, NULL, h->point[k].at_ns);
		gp_json_number(&json, NULL, h->point[k].bytes[GP_HOST_PINNED]);
		gp_json_number(&json, NULL, h->point[k].bytes[GP_HOST_REGISTERED]);
		gp_json_end(&json);
	}
	gp_json_end(&json);
	gp_json_end(&json);
}

static void write_chart(const struct gp_canvas *canvas, const struct gp_chart *chart)
{
	(void)canvas;
	const struct gp_info *info = chart->info;
	gp_json_object(&json, NULL);
	gp_json_text(&json, "file", chart->path);
	gp_json_signed(&json, "from_ns", chart->from_ns);
	gp_json_signed(&json, "to_ns", chart->to_ns);
	gp_json_bool(&json, "peaks_since_start",
		     chart->has_whole_run && gp_has_whole_figures(info));
	gp_json_bool(&json, "complete", info->is_complete);
	gp_json_bool(&json, "damaged", info->is_damaged);
	gp_json_object(&json, "lost");
	gp_json_number(&json, "memory", info->lost_memory);
	gp_json_number(&json, "launch", info->lost_launch);
	gp_json_number(&json, "other", info->lost_other + info->nested);
	gp_json_end(&json);
	gp_json_number(&json, "kept_from_ns", info->kept_from_ns);
	gp_report_caveats(&json, info);
	if (chart->has_gaps)
		gp_json_bool(&json, "late_gaps", chart->has_late_gaps);
	gp_json_array(&json, "devices");
	for (size_t k = 0; k < chart->devices; k++)
		out_json_write_device(chart, k);
	gp_json_end(&json);
	write_host(chart);
	gp_json_end(&json);
}

static void out_json_end(const struct gp_canvas *canvas)
{
	if (canvas->is_many)
		gp_json_end(&json);
}

const struct gp_format gp_format_json = { "json", "for a program: docs/JSON.md lists the keys",
					  out_json_begin, write_chart, out_json_end };
