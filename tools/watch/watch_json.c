/* `watch --json`: one line for each interval. docs/JSON.md lists the keys. */
#include <math.h>

#include "../report/use_print.h"
#include "watch_view.h"

static enum gp_status write_rows(const struct gp_watch_view *v, struct gp_json *json,
				 unsigned device)
{
	struct gp_watch_rows rows;
	enum gp_status status = gp_watch_view_rows(v, device, &rows);
	if (status)
		return status;
	gp_json_text(json, "of", gp_curve_keys[rows.of]);
	gp_json_text(json, "by", gp_watch_bys[v->by].word);
	gp_json_signed_if(json, "groups_at_ns", rows.at_ns >= 0, rows.at_ns);
	gp_json_number(json, "groups_total", rows.rows);
	gp_json_array(json, "groups");
	for (size_t k = 0; k < rows.rows && (!v->top || k < v->top); k++) {
		const struct gp_watch_row *row = &rows.row[k];
		gp_json_object(json, NULL);
		gp_json_text(json, "key", row->key);
		gp_json_number(json, "bytes", row->bytes);
		gp_json_number(json, "count", row->count);
		gp_json_signed(json, "growth_bytes", gp_watch_growth(row));
		gp_json_signed(json, "growth_count", (int64_t)(row->count - row->marked_count));
		gp_json_end(json);
	}
	gp_json_end(json);
	gp_watch_rows_free(&rows);
	return GP_OK;
}

static void write_curve(struct gp_json *json, const char *key, const struct gp_curves *curves,
			unsigned curve)
{
	gp_json_object(json, key);
	gp_json_number(json, "now_bytes", curves->now_bytes[curve]);
	gp_json_number(json, "peak_bytes", curves->peak_bytes[curve]);
	gp_json_signed(json, "peak_at_ns", curves->peak_at_ns[curve]);
	gp_json_end(json);
}

static void write_host(const struct gp_watch_view *v, struct gp_json *json)
{
	struct gp_curves curves;
	if (!gp_watch_host(v->watch, &curves)) {
		gp_json_null(json, "host");
		return;
	}
	gp_json_object(json, "host");
	write_curve(json, "pinned", &curves, GP_HOST_PINNED);
	write_curve(json, "registered", &curves, GP_HOST_REGISTERED);
	gp_json_end(json);
}

enum gp_status gp_watch_write_json(const struct gp_watch_view *v, FILE *out)
{
	const struct gp_info *info = v->info;
	const double events = gp_watch_events(v), steps = gp_watch_steps(v->watch);
	enum gp_status status = GP_OK;
	struct gp_json json;
	gp_json_init(&json, out, 0);
	gp_json_object(&json, NULL);
	gp_json_text(&json, "file", v->path);
	gp_json_number(&json, "pid", info->pid);
	gp_json_bool(&json, "running", info->is_running);
	gp_json_number(&json, "at_ns", info->duration_ns);
	gp_json_signed(&json, "mark_ns", gp_watch_view_mark_ns(v));
	gp_json_number(&json, "events", gp_events_of(info));
	gp_json_real(&json, "events_per_second", events < 0 ? NAN : round(events * 10) / 10);
	gp_json_real(&json, "steps_per_second", steps < 0 ? NAN : round(steps * 1e3) / 1e3);
	gp_json_object(&json, "lost");
	gp_json_number(&json, "memory", info->lost_memory);
	gp_json_number(&json, "launch", info->lost_launch);
	gp_json_number(&json, "other", info->lost_other);
	gp_json_end(&json);
	gp_json_number(&json, "gaps", info->counts[GP_GAP]);
	gp_json_bool(&json, "uncertain", info->has_uncertain_peaks);
	write_host(v, &json);
	gp_json_array(&json, "devices");
	for (size_t k = 0; k < info->devices && !status; k++) {
		const struct gp_info_device *device = &info->device[k];
		struct gp_curves curves;
		gp_recording_curves(v->recording, device->device, &curves);
		gp_json_object(&json, NULL);
		gp_json_number(&json, "device", device->device);
		gp_json_text(&json, "name", device->name);
		gp_json_number_if(&json, "total_bytes", device->total_bytes, device->total_bytes);
		for (unsigned curve = GP_CURVES; curve-- > 0;)
			write_curve(&json, gp_curve_keys[curve], &curves, curve);
		status = write_rows(v, &json, device->device);
		gp_json_end(&json);
	}
	gp_json_end(&json);
	gp_json_end(&json);
	return status;
}
