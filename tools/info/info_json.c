/* `gpuprof info --json`. */
#include <stddef.h>

#include "../report/report.h"
#include "../report/role_print.h"
#include "../report/use_print.h"
#include "info_report.h"

static void write_events(const struct gp_info *info, struct gp_json *json)
{
	gp_json_object(json, "events");
	for (unsigned kind = 0; kind < GP_KINDS; kind++)
		if (info->counts[kind] && gp_event_infos[kind].name)
			gp_json_number(json, gp_event_infos[kind].name, info->counts[kind]);
	gp_json_end(json);
	gp_json_number(json, "launches", info->launches);
	gp_json_number(json, "captured_launches", info->captured_launches);
	gp_json_number(json, "graph_launches", info->graph_launches);
	gp_json_object(json, "lost");
	gp_json_number(json, "memory", info->lost_memory);
	gp_json_number(json, "launch", info->lost_launch);
	gp_json_number(json, "other", info->lost_other + info->nested);
	gp_json_end(json);
	gp_json_text(json, "stacks_off_by", info->no_stacks);
	if (info->stacks || info->stacks_cut) {
		gp_json_object(json, "stacks");
		gp_json_number(json, "different", info->stacks);
		gp_json_number(json, "events_without_room", info->stacks_cut);
		gp_json_number(json, "modules_without_room", info->modules_cut);
		gp_json_number_if(json, "launch_every", info->launch_every, info->launch_every);
		gp_json_text(json, "no_python", info->no_python);
		gp_json_text(json, "no_native", info->no_native);
		gp_json_number(json, "native_frames_looked_up", info->native_frames);
		gp_json_number(json, "native_frames_named", info->named_frames);
		gp_json_number(json, "names_bytes", info->names_bytes);
		gp_json_end(json);
	}
	if (info->has_ranges || info->nvtx_why || info->torch_why || info->no_node_modules) {
		gp_json_object(json, "ranges");
		gp_json_text(json, "nvtx", info->nvtx_why);
		gp_json_text(json, "torch", info->torch_why);
		gp_json_text(json, "backward_modules", info->no_node_modules);
		gp_json_number(json, "without_name", info->ranges_unnamed);
		gp_json_number(json, "names_cut", info->names_cut);
		gp_json_end(json);
	}
	gp_json_object(json, "self_check");
	gp_json_number(json, "framework_events", info->framework_events);
	gp_json_number(json, "mismatches", info->mismatches);
	gp_json_number(json, "anomalies", info->anomalies);
	gp_json_number(json, "missed_routes", info->missed_routes);
	gp_json_end(json);
}

static void write_devices(const struct gp_info *info, struct gp_json *json)
{
	gp_json_array(json, "devices");
	for (size_t k = 0; k < info->devices; k++) {
		const struct gp_info_device *d = &info->device[k];
		gp_json_object(json, NULL);
		gp_json_number(json, "device", d->device);
		gp_json_text(json, "uuid", d->uuid[0] ? d->uuid : NULL);
		gp_json_text(json, "name", d->name);
		gp_json_number_if(json, "total_bytes", d->total_bytes, d->total_bytes);
		gp_json_end(json);
	}
	gp_json_end(json);
}

static void write_captured(const struct gp_info *info, struct gp_json *json)
{
	if (!info->is_captured_in_part) {
		gp_json_null(json, "captured");
		return;
	}
	gp_json_object(json, "captured");
	gp_json_text(json, "rule", info->capture_rule);
	gp_json_number(json, "spans", info->captures);
	gp_json_number(json, "ns", info->captured_ns);
	gp_json_text(json, "ended_by", info->ended_by ? gp_scope_text(info->ended_by) : NULL);
	gp_json_array(json, "kept");
	for (size_t k = 0; k < info->captureds; k++) {
		const struct gp_scope_span *c = &info->captured[k];
		gp_json_object(json, NULL);
		gp_json_signed(json, "from_ns", c->from_ns);
		gp_json_signed_if(json, "to_ns", !c->is_open, c->to_ns);
		gp_json_text(json, "opened_by", gp_scope_text(c->opened_by));
		gp_json_text(json, "closed_by", gp_scope_text(c->closed_by));
		gp_json_end(json);
	}
	gp_json_end(json);
	gp_json_end(json);
}

static void write_has(const struct gp_info *info, struct gp_json *json)
{
	const struct {
		const char *name;
		bool is_there;
	} parts[] = {
		{ "stacks", info->has_stacks },
		{ "python", info->has_python },
		{ "allocator_details", info->has_allocator_details },
		{ "uses", info->has_uses },
		{ "device_used", info->has_device_used },
		{ "ranges", info->has_ranges },
		{ "steps", info->has_steps },
	};
	gp_json_array(json, "has");
	for (size_t k = 0; k < sizeof parts / sizeof *parts; k++)
		if (parts[k].is_there)
			gp_json_text(json, NULL, parts[k].name);
	gp_json_end(json);
	gp_json_object(json, "origin");
	gp_json_text(json, "device", info->devices ? info->device[0].name : NULL);
	gp_json_text(json, "driver", info->driver);
	gp_json_text(json, "pytorch", info->pytorch);
	gp_json_end(json);
}

static void write_damages(const struct gp_info *info, struct gp_json *json)
{
	gp_json_array(json, "damages");
	for (size_t k = 0; k < info->damages; k++) {
		gp_json_object(json, NULL);
		gp_json_number(json, "offset", info->damage[k].offset);
		gp_json_number(json, "block", info->damage[k].block);
		gp_json_text(json, "what", info->damage[k].what);
		gp_json_end(json);
	}
	gp_json_end(json);
}

/* The member of each step's sum; null: no GPU time was recorded. */
static void write_step_sums(const struct gp_info_report *r, const char *key, size_t member)
{
	const size_t steps = r->front->leaks.leaks.steps.steps;
	if (!r->gpu) {
		gp_json_null(r->json, key);
		return;
	}
	gp_json_array(r->json, key);
	for (size_t k = 0; k < steps; k++)
		gp_json_number(r->json, NULL,
			       *(const uint64_t *)((const char *)&r->gpu[k] + member));
	gp_json_end(r->json);
}

/* A single step has no time from one to the next. */
static void write_steps(const struct gp_info_report *r)
{
	const struct gp_steps *steps = &r->front->leaks.leaks.steps;
	struct gp_json *json = r->json;
	const bool has_times = steps->p50_ns >= 0;
	gp_report_steps_begin(json, steps);
	if (has_times) {
		gp_json_signed(json, "p50_ns", steps->p50_ns);
		gp_json_signed(json, "p99_ns", steps->p99_ns);
		/* with more digits than the text, so that a program rounds to the same text */
		gp_json_decimal(json, "per_second", steps->per_second, 6);
	} else {
		gp_json_null(json, "p50_ns");
		gp_json_null(json, "p99_ns");
		gp_json_null(json, "per_second");
	}
	if (r->has_step_list) {
		gp_json_array(json, "begin_ns");
		for (size_t k = 0; k < steps->steps; k++)
			gp_json_signed(json, NULL, steps->step[k].begin_ns);
		gp_json_end(json);
		write_step_sums(r, "gpu_envelope_ns", offsetof(struct gp_gpu_sum, envelope_ns));
		write_step_sums(r, "gpu_busy_ns", offsetof(struct gp_gpu_sum, busy_ns));
		write_step_sums(r, "gpu_sum_ns", offsetof(struct gp_gpu_sum, sum_ns));
	}
	gp_json_end(json);
}

static void write_peak(const struct gp_info_report *r, const struct gp_holders *h)
{
	gp_json_object(r->json, NULL);
	gp_use_device_write(r->json, h->device);
	gp_json_text(r->json, "of", gp_curve_keys[h->of]);
	gp_json_number(r->json, "peak_bytes", h->peak_bytes);
	gp_json_signed(r->json, "peak_at_ns", h->peak_at_ns);
	gp_json_bool(r->json, "at_least", gp_info_is_at_least(r->info, h));
	gp_json_end(r->json);
}

static void write_first(struct gp_json *json, const char *key, const struct gp_holders *of,
			const struct gp_groups *groups)
{
	gp_json_array(json, key);
	for (size_t k = 0; k < groups->groups && k < GP_FRONT_HOLDERS; k++) {
		gp_json_object(json, NULL);
		gp_use_device_write(json, of->device);
		gp_json_text(json, "of", gp_curve_keys[of->of]);
		gp_json_text(json, "key", groups->group[k].key);
		gp_json_number(json, "bytes", groups->group[k].use.bytes);
		gp_json_end(json);
	}
	gp_json_end(json);
}

static void write_front(const struct gp_info_report *r)
{
	const struct gp_info_front *f = r->front;
	struct gp_json *json = r->json;
	if (!f)
		return;
	gp_json_array(json, "peaks");
	for (size_t k = 0; k < f->peak.holders; k++)
		write_peak(r, &f->peak.holder[k]);
	if (f->peak.host)
		write_peak(r, f->peak.host);
	gp_json_end(json);
	gp_number_line_write(json, &f->line);
	write_first(json, "holders", f->most, &f->groups);
	write_first(json, "lines", f->most, &f->lines);
	if (f->at_peak)
		gp_role_sums_write(json, "roles", f->at_peak);
	else
		gp_json_null(json, "roles");
	gp_info_inference_write(r);
	gp_json_object(json, "ooms");
	gp_json_number(json, "count", f->ooms);
	gp_json_number(json, "overwritten", gp_overwritten_ooms(r->info));
	gp_json_bool(json, "all_recorded", gp_has_all_ooms(r->info));
	gp_json_number(json, "failed_cuda_calls", f->failed_calls);
	gp_json_signed_if(json, "first_ns", f->ooms, f->first_oom.at_ns);
	gp_json_text(json, "first_cause", f->first_oom.cause);
	gp_json_number_if(json, "first_requested", f->ooms, f->first_oom.requested_bytes);
	gp_json_number_if(json, "first_missing",
			  f->first_oom.cause && f->first_oom.missing_bytes != GP_BYTES_UNKNOWN,
			  f->first_oom.missing_bytes);
	gp_json_end(json);
	gp_leak_answer_write(json, &f->answer);
	write_steps(r);
}

void gp_info_write(const struct gp_info_report *r)
{
	const struct gp_info *info = r->info;
	struct gp_json *json = r->json;
	char format[32];
	snprintf(format, sizeof format, "%u.%u", info->format_major, info->format_minor);
	gp_json_object(json, NULL);
	gp_json_text(json, "file", r->path);
	gp_json_text(json, "format", format);
	gp_json_number(json, "pid", info->pid);
	gp_json_text(json, "command", info->command);
	gp_json_text(json, "hostname", info->hostname);
	gp_json_number(json, "start_unix_ns", info->start_unix_ns);
	gp_json_number(json, "duration_ns", info->duration_ns);
	gp_json_number(json, "kept_from_ns", info->kept_from_ns);
	gp_json_bool(json, "complete", info->is_complete);
	gp_json_bool(json, "damaged", info->is_damaged);
	write_devices(info, json);
	gp_json_number(json, "threads", info->threads);
	write_events(info, json);
	gp_json_number(json, "file_bytes", info->file_bytes);
	gp_json_number(json, "events_bytes", info->kept_bytes);
	gp_json_real(json, "bytes_per_event", gp_info_bytes_per_event(info));
	write_has(info, json);
	write_damages(info, json);
	gp_json_text(json, "rest", info->ring_left);
	write_captured(info, json);
	gp_json_text(json, "ring_place", info->ring_place);
	gp_json_text(json, "allocator_settings", info->alloc_conf);
	gp_json_text(json, "launcher", info->launcher);
	gp_json_text(json, "allocator_why", info->allocator_why);
	gp_json_text(json, "framework_blocks",
		     info->has_async_blocks ? "cudaMallocAsync" :
		     info->framework_events ? "reports" :
					      NULL);
	gp_json_text(json, "async_why", info->async_why);
	gp_report_caveats(json, info);
	write_front(r);
	gp_json_end(json);
}
