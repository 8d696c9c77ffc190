/* `gpuprof info` for a person, on one screen. */
#include <math.h>
#include <string.h>

#include "../io/amount.h"
#include "../io/message.h"
#include "../io/screen.h"
#include "../report/report.h"
#include "../report/role_print.h"
#include "../report/use_print.h"
#include "info_report.h"

static void info_print_line(FILE *out, const char *label, const char *text)
{
	const char *shown = text && *text ? text : "unknown";
	fprintf(out, "%-12s ", label);
	gp_name_print(out, shown);
	fputc('\n', out);
}

static void print_devices(const struct gp_info *info, FILE *out)
{
	for (size_t k = 0; k < info->devices; k++) {
		const struct gp_info_device *d = &info->device[k];
		const char *name = d->name ? d->name : "unknown";
		fprintf(out, "GPU %-8u ", d->device);
		gp_mask(out, name, strlen(name));
		if (d->total_bytes)
			fprintf(out, ", %s", gp_bytes_text(d->total_bytes).s);
		fprintf(out, "%s%s\n", d->uuid[0] ? ", " : "", d->uuid);
	}
}

#define KINDS_SHOWN 5u

/* The most frequent kinds first. */
static void print_counts(const struct gp_info *info, FILE *out)
{
	unsigned sorted[GP_KINDS], kinds = 0;
	for (unsigned kind = 0; kind < GP_KINDS; kind++) {
		if (!info->counts[kind] || !gp_event_infos[kind].name || !gp_is_happening(kind))
			continue;
		unsigned at = kinds++;
		for (; at && info->counts[sorted[at - 1]] < info->counts[kind]; at--)
			sorted[at] = sorted[at - 1];
		sorted[at] = kind;
	}
	fputs(kinds ? "events      " : "events       none", out);
	for (unsigned k = 0; k < kinds && k < KINDS_SHOWN; k++)
		fprintf(out, "%s %s %s", k ? "," : "", gp_event_infos[sorted[k]].name,
			gp_count_text(info->counts[sorted[k]]).s);
	if (kinds > KINDS_SHOWN)
		fprintf(out, ", and %s", gp_plural(kinds - KINDS_SHOWN, "rarer kind").s);
	fputc('\n', out);
}

static void print_launches(const struct gp_info *info, FILE *out)
{
	if (!info->kept[GP_LAUNCH] && !info->kept[GP_GRAPH_LAUNCH])
		return;
	fputs("launches     ", out);
	gp_launches_print(out, info->launches, info->captured_launches, info->graph_launches);
	fputs(info->kept_from_ns ? " in the retained events\n" : "\n", out);
}

static void print_stacks(const struct gp_info *info, FILE *out)
{
	if (info->no_stacks) {
		fputs("stacks       off by ", out);
		gp_mask_line(out, info->no_stacks);
	}
	if (!info->stacks && !info->stacks_cut)
		return;
	fprintf(out, "stacks       %s", gp_plural(info->stacks, "different one").s);
	if (info->stacks_cut)
		fprintf(out, "; no room for those of %s", gp_plural(info->stacks_cut, "event").s);
	if (info->modules_cut)
		fprintf(out, "; no room or no time for the module of %s",
			gp_plural(info->modules_cut, "stack").s);
	if (info->launch_every > 1)
		fprintf(out, "; 1 in %s launches of a thread has a stack",
			gp_count_text(info->launch_every).s);
	const char *const why[] = { info->no_python, info->no_native };
	for (size_t k = 0; k < sizeof why / sizeof *why; k++) {
		if (!why[k])
			continue;
		fputs("; ", out);
		gp_mask(out, why[k], strlen(why[k]));
	}
	fputc('\n', out);
	if (info->native_frames)
		fprintf(out, "names        of %s of %s are stored, %s\n",
			gp_count_text(info->named_frames).s,
			gp_plural(info->native_frames, "native frame").s,
			gp_bytes_text(info->names_bytes).s);
	else if (info->has_native)
		fputs("names        those of native frames are not stored: 'gpuprof symbolize'\n",
		      out);
}

static void print_ranges(const struct gp_info *info, FILE *out)
{
	const char *before = "ranges       ";
	if (info->nvtx_why) {
		fprintf(out, "%snone of NVTX: ", before);
		gp_mask(out, info->nvtx_why, strlen(info->nvtx_why));
		before = "; ";
	}
	if (info->torch_why) {
		fprintf(out, "%snone of PyTorch: ", before);
		gp_mask(out, info->torch_why, strlen(info->torch_why));
		before = "; ";
	}
	if (info->no_node_modules) {
		fprintf(out, "%sno modules in backward: ", before);
		gp_mask(out, info->no_node_modules, strlen(info->no_node_modules));
		before = "; ";
	}
	if (info->names_cut) {
		fprintf(out, "%s%s not in full", before, gp_plural(info->names_cut, "name").s);
		before = "; ";
	}
	if (info->ranges_unnamed) {
		fprintf(out, "%sno room for the names of %s", before,
			gp_count_text(info->ranges_unnamed).s);
		before = "; ";
	}
	if (*before == ';')
		fputc('\n', out);
}

static void print_allocator(const struct gp_info *info, FILE *out)
{
	if (info->is_allocator_requested) {
		fprintf(out, "allocator    %s",
			info->has_allocator_details ? "with requested sizes, streams and pools" :
						      "no details");
		if (info->allocator_why && *info->allocator_why) {
			fputs(": ", out);
			gp_mask(out, info->allocator_why, strlen(info->allocator_why));
		}
		fputc('\n', out);
	}
	if (info->has_async_blocks || info->async_why) {
		fputs(info->has_async_blocks ?
			      "allocator    PyTorch's blocks are its cudaMallocAsync calls" :
			      "allocator    PyTorch's cudaMallocAsync calls are not known",
		      out);
		fputs(info->async_why ? ": " : "\n", out);
		if (info->async_why)
			gp_mask_line(out, info->async_why);
	}
	if (info->alloc_conf)
		info_print_line(out, "settings", info->alloc_conf);
	if (info->launcher)
		info_print_line(out, "rank", info->launcher);
}

#define SPANS_SHOWN 5

/* The captured spans, and what opened and closed each. */
static void print_captured(const struct gp_info *info, FILE *out)
{
	if (!info->is_captured_in_part)
		return;
	if (info->capture_rule)
		info_print_line(out, "requested", info->capture_rule);
	if (info->captureds == 0)
		fprintf(out, "captured     %s\n", info->captures ? "no kept event" : "no event");
	for (size_t k = 0; k < info->captureds && k < SPANS_SHOWN; k++) {
		const struct gp_scope_span *c = &info->captured[k];
		const char *by = gp_scope_text(c->opened_by), *end = gp_scope_text(c->closed_by);
		fprintf(out, "%-12s %s to %s", k ? "" : "captured", gp_ns_text(c->from_ns).s,
			gp_ns_text(c->to_ns).s);
		fprintf(out, " (%s to %s)\n", by ? by : "unknown",
			c->is_open ? "the end" :
			end	   ? end :
				     "unknown");
	}
	if (info->captureds > SPANS_SHOWN)
		fprintf(out, "             and %s\n",
			gp_plural(info->captureds - SPANS_SHOWN, "more span").s);
	if (info->ended_by && info->ended_by != GP_SCOPE_BY_MAIN)
		fputs("ended        with the last requested span; the job continued\n", out);
}

static void print_check(const struct gp_info *info, FILE *out)
{
	fprintf(out, "self-check   %s PyTorch events ", gp_count_text(info->framework_events).s);
	if (info->has_async_blocks)
		fputs("without totals of PyTorch: ", out);
	else
		fprintf(out, "compared with PyTorch's totals: %s %s, ",
			gp_count_text(info->mismatches).s,
			info->mismatches == 1 ? "mismatch" : "mismatches");
	fprintf(out, "%s %s\n", gp_count_text(info->anomalies).s,
		info->anomalies == 1 ? "anomaly" : "anomalies");
	if (info->missed_routes)
		fprintf(out, "             %s that bypassed the recorder\n",
			gp_plural(info->missed_routes, "look-up").s);
}

static void print_damages(const struct gp_info *info, FILE *out)
{
	for (size_t k = 0; k < info->damages; k++) {
		fprintf(out, "damage       byte %llu, block %llu: ",
			(unsigned long long)info->damage[k].offset,
			(unsigned long long)info->damage[k].block);
		gp_mask(out, info->damage[k].what, strlen(info->damage[k].what));
		fputc('\n', out);
	}
}

static void print_size(const struct gp_info *info, FILE *out)
{
	double each = gp_info_bytes_per_event(info);
	fprintf(out, "file         %s", gp_bytes_text(info->file_bytes).s);
	if (!isnan(each))
		fprintf(out, ", %.2f bytes an event", each);
	fprintf(out, ", %s, %s\n", gp_plural(info->segments, "segment").s,
		gp_plural(info->blocks, "block").s);
}

/* Names the ring file with the rest. A later recorder may have moved it out of the ring place. */
static void print_rest(const struct gp_info *info, FILE *out)
{
	const char *slash = info->ring_left ? strrchr(info->ring_left, '/') : NULL;
	if (!slash)
		return;
	info_print_line(out, "rest", slash + 1);
	fputs("             look for this file in ", out);
	gp_mask(out, info->ring_left, (size_t)(slash - info->ring_left));
	fputs(" and where the job recorded; move it\n"
	      "             beside the recording, and read the recording again\n",
	      out);
}

/* A single step has no time from one to the next. */
static bool has_times(const struct gp_steps *steps)
{
	return steps->p50_ns >= 0;
}

/* With GPU time, one line for each step. */
static void print_step_list(const struct gp_info_report *r)
{
	const struct gp_steps *steps = &r->front->leaks.leaks.steps;
	fprintf(r->out, "%12s %10s %10s %9s %10s %10s %10s\n", "step", "begin", "time", "launches",
		"envelope", "GPU busy", "GPU sum");
	for (size_t k = 0; k < steps->steps; k++) {
		const struct gp_step *step = &steps->step[k];
		const struct gp_gpu_sum *sum = &r->gpu[k];
		fprintf(r->out, "%12zu %10s %10s %9s %10s %10s %10s\n", k + 1,
			gp_ns_text(step->begin_ns).s, gp_ns_text(step->end_ns - step->begin_ns).s,
			gp_count_text(step->launches).s, gp_ns_text((int64_t)sum->envelope_ns).s,
			gp_ns_text((int64_t)sum->busy_ns).s, gp_ns_text((int64_t)sum->sum_ns).s);
	}
}

static void print_steps(const struct gp_info_report *r)
{
	const struct gp_steps *steps = &r->front->leaks.leaks.steps;
	const struct gp_info *info = r->info;
	if (!steps->steps) {
		fprintf(r->out, "steps        none: %s\n", steps->why);
		return;
	}
	fprintf(r->out, "steps        %s, by %s%s", gp_count_text(steps->steps).s,
		gp_step_source_names[steps->source],
		steps->source == GP_STEPS_REPETITION ? " (inferred)" : "");
	if (has_times(steps))
		fprintf(r->out, ": median %s, 99%% within %s, %s a second",
			gp_ns_text(steps->p50_ns).s, gp_ns_text(steps->p99_ns).s,
			gp_rate_text(steps->per_second, 4).s);
	if (steps->warmup)
		fprintf(r->out, "; %s left out", gp_plural(steps->warmup, "warm-up step").s);
	if (info->lost_memory + info->lost_launch + info->lost_other > 0)
		fputs("; lost events may hide more steps", r->out);
	fputc('\n', r->out);
	if (r->gpu)
		print_step_list(r);
}

/* ---- the front page ---- */

/* "at least 1.16 GiB allocated (557 ms)" */
static void print_peak_of(const struct gp_info_report *r, const struct gp_holders *h)
{
	static const char *const verbs[GP_CURVE_KEYS] = {
		[GP_CURVE_DRIVER] = "driver",
		[GP_CURVE_RESERVED] = "reserved",
		[GP_CURVE_ALLOCATED] = "allocated",
		[GP_CURVE_PINNED] = "pinned",
	};
	fprintf(r->out, "%s%s %s (%s)", gp_info_is_at_least(r->info, h) ? "at least " : "",
		gp_bytes_text(h->peak_bytes).s, verbs[h->of], gp_ns_text(h->peak_at_ns).s);
}

/* Events may be missing without a count. */
static bool has_caveat(const struct gp_info *info)
{
	return gp_has_losses(info) || !info->is_complete;
}

static void print_peaks(const struct gp_info_report *r)
{
	const struct gp_peak *peak = &r->front->peak;
	const char *label = "peaks";
	unsigned device = GP_DEVICE_UNKNOWN;
	for (size_t k = 0; k < peak->holders; k++) {
		const struct gp_holders *h = &peak->holder[k];
		if (h->device == device) {
			fputs(", ", r->out);
		} else {
			fputs(device == GP_DEVICE_UNKNOWN ? "" : "\n", r->out);
			fprintf(r->out, "%-12s GPU %u: ", label, h->device);
			label = "";
		}
		device = h->device;
		print_peak_of(r, h);
	}
	fputs(device == GP_DEVICE_UNKNOWN ? "" : "\n", r->out);
	if (peak->host && (!peak->holders || peak->host->peak_bytes >= GP_PINNED_LEAST)) {
		fprintf(r->out, "%-12s Host: ", label);
		print_peak_of(r, peak->host);
		fputc('\n', r->out);
	} else if (!peak->holders) {
		fprintf(r->out, "peaks        %s\n",
			has_caveat(r->info) ? "unknown: no memory events were recorded" :
					      "no memory was allocated");
	}
}

static void print_holders(const struct gp_info_report *r)
{
	const struct gp_info_front *f = r->front;
	if (!f->most)
		return;
	if (!f->groups.groups)
		fputs("holders      unknown: no stacks were recorded\n", r->out);
	if (gp_use_lines_differ(&f->lines, &f->groups)) {
		fputs("by line      ", r->out);
		gp_use_lines_list(r->out, &f->lines, f->most->live_bytes);
		fputc('\n', r->out);
	}
	for (size_t k = 0; k < f->groups.groups && k < GP_FRONT_HOLDERS; k++) {
		const struct gp_group *g = &f->groups.group[k];
		fprintf(r->out, "%-12s %10s %5.1f%%  ", k ? "" : "holders",
			gp_bytes_text(g->use.bytes).s,
			100.0 * (double)g->use.bytes / (double)f->most->live_bytes);
		gp_name_print(r->out, g->key);
		fputc('\n', r->out);
	}
}

/* At the peak. Of an inference job each role has a row. */
static void print_roles(const struct gp_info_report *r)
{
	const struct gp_info_front *f = r->front;
	char text[GP_ROLES_TEXT_MAX] = "unknown: neither stacks nor ranges were recorded";
	if (f->is_inference || !f->most || f->most->of != GP_CURVE_ALLOCATED)
		return;
	if (f->at_peak)
		gp_roles_text(f->at_peak, NULL, text);
	else if (gp_phases_by(r->info) != GP_PHASES_BY_NOTHING)
		return; /* no kept event is of a block */
	info_print_line(r->out, "roles", text);
}

static void print_losses(const struct gp_info_report *r)
{
	const struct gp_info *info = r->info;
	const uint64_t lost[] = { info->lost_memory, info->lost_launch,
				  info->lost_other + info->nested };
	static const char *const kinds[] = { "memory event", "launch event", "other event" };
	const char *before = "";
	fputs("lost         ", r->out);
	for (size_t k = 0; k < sizeof lost / sizeof *lost; k++) {
		if (!lost[k])
			continue;
		fprintf(r->out, "%s%s", before, gp_plural(lost[k], kinds[k]).s);
		before = ", ";
	}
	if (*before)
		fputc('\n', r->out);
	else
		fputs(info->is_damaged	? "unknown: the recording is damaged\n" :
		      info->is_complete ? "nothing\n" :
		      info->is_running	? "nothing so far\n" :
					  "unknown: the recording is not complete\n",
		      r->out);
}

/* ": capacity (75.8 GiB requested, 32.7 GiB missing)" */
static void print_cause(FILE *out, const struct gp_oom_brief *oom)
{
	fprintf(out, ": %s (%s requested", oom->cause, gp_bytes_text(oom->requested_bytes).s);
	if (oom->missing_bytes != GP_BYTES_UNKNOWN)
		fprintf(out, ", %s missing", gp_at_least_text(oom->missing_bytes).s);
	fputc(')', out);
}

/*
 * "27 (4 of them outside PyTorch), the first at 39.3 ms: capacity (75.8 GiB requested, ...); 37
 * failed CUDA calls"
 */
static void print_ooms(const struct gp_info_report *r)
{
	const struct gp_info_front *f = r->front;
	const uint64_t overwritten = gp_overwritten_ooms(r->info);
	fputs("OOMs         ", r->out);
	fputs(f->ooms			? gp_count_text(f->ooms).s :
	      !gp_has_all_ooms(r->info) ? "none recorded, but events are missing" :
	      r->info->is_running	? "none so far" :
					  "none",
	      r->out);
	if (f->driver_ooms)
		fprintf(r->out, " (%s of them outside PyTorch)", gp_count_text(f->driver_ooms).s);
	if (f->ooms)
		fprintf(r->out, ", the first at %s", gp_ns_text(f->first_oom.at_ns).s);
	if (f->first_oom.cause)
		print_cause(r->out, &f->first_oom);
	if (overwritten)
		fprintf(r->out, "; %s overwritten", gp_plural(overwritten, "OOM").s);
	if (f->failed_calls)
		fprintf(r->out, "; %s", gp_plural(f->failed_calls, "failed CUDA call").s);
	fputc('\n', r->out);
}

static void print_front(const struct gp_info_report *r)
{
	const struct gp_info_front *f = r->front;
	if (!f)
		return;
	print_peaks(r);
	gp_number_line_print_known(r->out, "number line", &f->line);
	print_holders(r);
	print_roles(r);
	gp_info_inference_print(r);
	print_ooms(r);
	info_print_line(r->out, "leaks", f->answer.s);
	print_steps(r);
	print_losses(r);
}

/* The command that explains what was found, or that answers what was recorded. NULL: none. */
static const char *info_next(const struct gp_info_report *r)
{
	const struct gp_info *info = r->info;
	const struct gp_info_front *f = r->front;
	if (f && (gp_leak_is_suspected(&f->answer) || gp_leak_total_of(&f->leaks).fillings))
		return "leaks";
	if (info->counts[GP_CAPTURE_ERROR])
		return "graphs";
	if (info->has_uses)
		return "idle";
	return info->has_ranges && !info->has_stacks ? "phases" : NULL;
}

void gp_info_print(const struct gp_info_report *r)
{
	const struct gp_info *info = r->info;
	FILE *out = r->out;
	char process[128], versions[256];
	snprintf(process, sizeof process, "%u on %s, %s", info->pid,
		 info->hostname ? info->hostname : "?", gp_plural(info->threads, "thread").s);
	snprintf(versions, sizeof versions, "CUDA %.60s%s%.120s",
		 info->driver ? info->driver : "unknown", info->pytorch ? ", PyTorch " : "",
		 info->pytorch ? info->pytorch : "");
	gp_headline_print(out, info);
	info_print_line(out, "recording", r->path);
	info_print_line(out, "command", info->command);
	info_print_line(out, "process", process);
	print_devices(info, out);
	info_print_line(out, "versions", versions);
	print_front(r);
	print_allocator(info, out);
	if (info->ring_place && strncmp(info->ring_place, "shm ", 4) != 0)
		info_print_line(out, "rings", info->ring_place);
	print_counts(info, out);
	print_launches(info, out);
	print_stacks(info, out);
	print_ranges(info, out);
	print_captured(info, out);
	print_check(info, out);
	print_size(info, out);
	print_rest(info, out);
	print_damages(info, out);
	gp_next_print(out, gp_next_of(r->recording, info, info_next(r)), r->path);
}
