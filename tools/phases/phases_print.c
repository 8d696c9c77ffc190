/*
 * The tree of ranges: one line each, or as JSON.
 */
#include <string.h>

#include "../io/amount.h"
#include "../io/message.h"
#include "../io/screen.h"
#include "../report/use_print.h"
#include "phases_report.h"

/* ---- for a person ---- */

static void print_name(FILE *out, const struct gp_phase *p)
{
	static const char *const others[] = { [GP_PHASE_OUTSIDE] = "(outside of any range)",
					      [GP_PHASE_AMBIGUOUS] = "(ambiguous)",
					      [GP_PHASE_REST] = "(further ranges)" };
	if (p->style >= GP_PHASE_OUTSIDE) {
		gp_name_print(out, others[p->style]);
		return;
	}
	if (p->domain) {
		gp_mask(out, p->domain, strlen(p->domain));
		fputc(':', out);
	}
	if (p->name && *p->name)
		gp_name_print(out, p->name);
	else
		fputs(p->name			   ? "\"\"" :
		      p->source == GP_RANGE_ENGINE ? "(autograd engine)" :
						     "(no name)",
		      out);
	if (p->names > 1)
		fprintf(out, " (%s)", gp_plural(p->names, "name").s);
	if (p->style == GP_PHASE_STARTED)
		fputs(" (started, all threads)", out);
	if (p->open)
		fprintf(out, " (%s open)", gp_count_text(p->open).s);
}

static const char *source_of(const struct gp_phase *p)
{
	const char *name = gp_range_source_name(p->source);
	return p->style >= GP_PHASE_OUTSIDE ? "" : name ? name : "?";
}

static bool is_wide(void)
{
	return gp_screen_options.is_wide;
}

/* Names need some columns, too. */
static bool is_narrow(void)
{
	return gp_screen_is_below(100);
}

static void print_bytes(FILE *out, uint64_t bytes)
{
	fprintf(out, "%10s ", bytes ? gp_bytes_text(bytes).s : "-");
}

static void print_time(FILE *out, uint64_t ns, bool has_time)
{
	fprintf(out, "%9s ", has_time ? gp_ns_text((int64_t)ns).s : "-");
}

static void print_count(FILE *out, uint64_t count)
{
	fprintf(out, "%9s ", count ? gp_count_text(count).s : "-");
}

static void print_gpu(FILE *out, const struct gp_gpu_sum *sum, bool has_envelope)
{
	if (!is_narrow())
		print_time(out, sum->envelope_ns, has_envelope && sum->operations);
	print_time(out, sum->busy_ns, sum->operations);
	if (!is_narrow())
		print_time(out, sum->sum_ns, sum->operations);
}

static void print_phase(const struct gp_phases_report *r, size_t at)
{
	FILE *out = r->out;
	const struct gp_phase *p = &r->phases.phase[at];
	const bool has_time = p->style == GP_PHASE_NESTED || p->style == GP_PHASE_STARTED ||
			      p->style == GP_PHASE_REST;
	if (r->held)
		print_bytes(out, r->held[at]);
	print_bytes(out, p->style != GP_PHASE_MARK ? p->peak_bytes : 0);
	print_count(out, p->calls);
	print_time(out, p->time_ns, has_time);
	if (!is_narrow())
		print_time(out, p->mean_ns, has_time && p->steady_calls);
	if (is_wide()) {
		print_time(out, p->deviation_ns, has_time && p->steady_calls > 1);
		print_bytes(out, p->allocated_bytes);
		print_bytes(out, p->freed_bytes);
		print_bytes(out, p->retained_bytes);
	}
	print_count(out, p->launches);
	if (r->phases.graph_launches)
		print_count(out, p->graph_launches);
	if (r->gpu_sum)
		print_gpu(out, &r->gpu_sum[at], p->style == GP_PHASE_NESTED);
	if (!is_narrow())
		fprintf(out, " %-7s", source_of(p));
	fprintf(out, " %*s", (int)(2 * p->depth), "");
	print_name(out, p);
	fputc('\n', out);
}

/* Prints which calls the mean covers: those of the warm-up take longer. */
static void print_mean(const struct gp_phases_report *r)
{
	if (is_narrow() || !r->phases.ranges)
		return;
	if (r->warmup_steps)
		fprintf(r->out, "mean: without the warm-up (%s)\n",
			gp_plural(r->warmup_steps, "step").s);
	else if (r->no_steps)
		fprintf(r->out, "mean: with the warm-up, as no steps were found: %s\n",
			r->no_steps);
}

static void print_titles(const struct gp_phases_report *r)
{
	FILE *out = r->out;
	const char *of = r->phases.of == GP_CURVE_ALLOCATED ? "allocated" : "driver";
	if (r->held)
		fprintf(out, "held: live at the %s peak; peak: highest while a call was open; ",
			of);
	else
		fprintf(out, "peak: highest %s memory while a call was open; ", of);
	fprintf(out, "%stime%s: sums over all calls\n",
		is_wide() ? "allocated, freed, retained, " : "",
		r->phases.graph_launches ? ", launches and graphs" : " and launches");
	print_mean(r);
	if (r->gpu_sum)
		fputs("GPU: operations launched in the range; envelope: first begin to last end of "
		      "each call\n",
		      out);
	if (r->held)
		fprintf(out, "%10s ", "held");
	fprintf(out, "%10s %9s %9s %s", "peak", "calls", "time", is_narrow() ? "" : "     mean ");
	if (is_wide())
		fprintf(out, "%9s %10s %10s %10s ", "deviation", "allocated", "freed", "retained");
	fprintf(out, "%9s ", "launches");
	if (r->phases.graph_launches)
		fprintf(out, "%9s ", "graphs");
	if (r->gpu_sum)
		fputs(is_narrow() ? " GPU busy " : " envelope  GPU busy   GPU sum ", out);
	fprintf(out, " %srange\n", is_narrow() ? "" : "source  ");
}

/* The node after the subtree of `at`. */
static size_t behind(const struct gp_phases *p, size_t at)
{
	size_t next = at + 1;
	while (next < p->phases && p->phase[next].depth > p->phase[at].depth)
		next++;
	return next;
}

struct level {
	uint64_t shown;
	uint64_t hidden; /* ranges that are not shown */
	uint64_t calls;
};

static void print_hidden(const struct gp_phases_report *r, const struct level *l, unsigned depth)
{
	if (l->hidden)
		fprintf(r->out, "%*s %9s%*s... %s more: --top\n", r->held ? 21 : 10, "",
			gp_count_text(l->calls).s,
			39 +
				(is_wide()   ? 43 :
				 is_narrow() ? -18 :
					       0) +
				(r->phases.graph_launches ? 10 : 0) + (int)(2 * depth) +
				(!r->gpu_sum ? 0 :
				 is_narrow() ? 10 :
					       30),
			"", gp_count_text(l->hidden).s);
}

/* A range without figures, or with name and calls of the range around it. --wide shows it. */
static bool is_repeated(const struct gp_phase *p, const struct gp_phase *around)
{
	if (is_wide())
		return false;
	if (p->style == GP_PHASE_MARK)
		return true;
	return around && p->style == GP_PHASE_NESTED && p->name && around->name &&
	       strcmp(p->name, around->name) == 0 && p->calls == around->calls;
}

#define DEPTH_MAX 512u

static void print_tree(const struct gp_phases_report *r)
{
	const struct gp_phases *p = &r->phases;
	static struct level level[DEPTH_MAX + 1];
	static const struct gp_phase *around[DEPTH_MAX + 2]; /* by depth of the ranges inside */
	unsigned deep = 0;				     /* levels in use */
	level[0] = (struct level){ 0 };
	for (size_t k = 0; k < p->phases;) {
		const struct gp_phase *phase = &p->phase[k];
		const unsigned depth = phase->depth < DEPTH_MAX ? phase->depth : DEPTH_MAX;
		around[depth + 1] = phase;
		for (; deep > depth; deep--)
			print_hidden(r, &level[deep], deep);
		for (; deep < depth; deep++)
			level[deep + 1] = (struct level){ 0 };
		if (depth < r->depth && is_repeated(phase, depth ? around[depth] : NULL)) {
			k++;
			continue;
		}
		/* rows that are not ranges are always shown */
		const bool is_over =
			r->top && level[depth].shown >= r->top && phase->style < GP_PHASE_OUTSIDE;
		if (is_over || depth >= r->depth) {
			level[depth].hidden += is_over;
			level[depth].calls += is_over ? phase->calls : 0;
			k = behind(p, k);
			continue;
		}
		/* after the ranges of its level */
		if (phase->style >= GP_PHASE_OUTSIDE) {
			print_hidden(r, &level[depth], depth);
			level[depth].hidden = 0;
		}
		print_phase(r, k);
		level[depth].shown++;
		k++;
	}
	for (; deep > 0; deep--)
		print_hidden(r, &level[deep], deep);
	print_hidden(r, &level[0], 0);
}

static void print_gpu_notes(const struct gp_phases_report *r)
{
	const struct gp_gpu *g = &r->gpu.gpu;
	if (!g->has_operations)
		fprintf(r->out,
			"No GPU time was recorded%s%s; gpuprof run --gpu-time records it.\n",
			g->why ? ": " : "", g->why ? g->why : "");
	if (g->dropped | g->lost | g->beyond)
		fprintf(r->out, "%s lost: figures of the GPU are too low\n",
			gp_plural(g->dropped + g->lost + g->beyond, "operation").s);
	if (r->gpu.unjoined)
		fprintf(r->out, "%s without a launch, in no range\n",
			gp_plural(r->gpu.unjoined, "operation").s);
	if (g->joined[GP_GPU_UNCERTAIN])
		fprintf(r->out, "%s may belong to another launch of the same kernel\n",
			gp_plural(g->joined[GP_GPU_UNCERTAIN], "operation").s);
}

static void print_notes(const struct gp_phases_report *r)
{
	const struct gp_phases *p = &r->phases;
	const struct gp_info *i = r->info;
	if (r->has_gpu)
		print_gpu_notes(r);
	if (p->unbalanced)
		fprintf(r->out, "%s of ranges that were not open\n",
			gp_plural(p->unbalanced, "end").s);
	if (p->unseen)
		fprintf(r->out, "%s without a begin or an end (lost)\n",
			gp_plural(p->unseen, "range").s);
	if (p->unkept)
		fprintf(r->out, "%s beyond the limit of open ranges\n",
			gp_plural(p->unkept, "range").s);
	if (p->forwards_unclear)
		fprintf(r->out, "%s without a derived forward: its begin is not certain\n",
			gp_plural(p->forwards_unclear, "backward").s);
	if (i->ranges_unnamed)
		fprintf(r->out, "%s without a name (no room for more names)\n",
			gp_plural(i->ranges_unnamed, "range").s);
	if (i->names_cut)
		fprintf(r->out, "%s cut\n", gp_plural(i->names_cut, "name").s);
	if (gp_phases_by(i) == GP_PHASES_BY_NOTHING)
		fputs("No phases are known: neither ranges nor stacks were recorded.\n", r->out);
	else if (!i->has_stacks && r->at_peak)
		fputs("No stacks were recorded, so no line is named.\n", r->out);
	gp_no_ranges_print(r->out, "", i);
	if (is_narrow())
		fputs("--wide adds mean, source, and sums of allocated, freed and retained "
		      "memory\n",
		      r->out);
}

/* Calls outside of any range. */
static void print_frames(const struct gp_phases_report *r)
{
	const struct gp_phases *p = &r->phases;
	const uint64_t stacks = p->frames_shown + p->frames_none + p->frames_unclear;
	fprintf(r->out, "phases are by stacks (%s): %s of %s with a stack show%s a phase",
		!r->info->has_ranges ? "no ranges were recorded" :
		r->info->has_named   ? "ranges are left out" :
				       "only backward ranges were recorded",
		p->frames_shown ? gp_count_text(p->frames_shown).s : "none",
		gp_plural(stacks, "event").s, p->frames_shown > 1 ? "" : "s");
	if (p->frames_unclear)
		fprintf(r->out, ", %s %s unclear", gp_count_text(p->frames_unclear).s,
			p->frames_unclear == 1 ? "is" : "are");
	fputs(r->info->has_python ? "\n" : "; without Python frames only backward is found\n",
	      r->out);
	if (!p->ranges)
		return;
	fputs("A call is a run of events of one phase.", r->out);
	if (p->bare_launches)
		fprintf(r->out, " %s launch%s without a stack count to the call around them.",
			gp_count_text(p->bare_launches).s, p->bare_launches == 1 ? "" : "es");
	fputc('\n', r->out);
}

enum gp_status gp_phases_print(const struct gp_phases_report *r)
{
	gp_headline_print(r->out, r->info);
	enum gp_status status = gp_phases_peaks_print(r);
	if (status)
		return status;
	fputs(gp_plural(r->phases.ranges, "call").s, r->out);
	if (r->phases.forwards)
		fprintf(r->out, ", %s derived", gp_count_text(r->phases.forwards).s);
	if (r->phases.marks)
		fprintf(r->out, ", %s", gp_plural(r->phases.marks, "mark").s);
	fputs(", ", r->out);
	gp_launches_print(r->out, r->phases.launches, r->phases.captured_launches,
			  r->phases.graph_launches);
	if (r->requested.device != GP_DEVICE_UNKNOWN)
		fprintf(r->out, "; GPU %u", r->requested.device);
	fputc('\n', r->out);
	print_titles(r);
	print_tree(r);
	if (r->phases.is_by_frames)
		print_frames(r);
	print_notes(r);
	/* phases are the answer, with stacks or without; a new run helps only without phases */
	const bool is_answered = gp_phases_by(r->info) != GP_PHASES_BY_NOTHING;
	gp_use_next_print(r->out, r->recording, r->info, is_answered ? NULL : "timeline", r->path);
	return GP_OK;
}

/* ---- for a program ---- */

static const char *style_name(enum gp_phase_style style)
{
	static const char *const names[] = { "nested",	"started",   "mark",
					     "outside", "ambiguous", "rest" };
	return names[style];
}

static void write_phase(const struct gp_phases_report *r, size_t at)
{
	struct gp_json *json = r->json;
	const struct gp_phase *p = &r->phases.phase[at];
	const bool has_time = p->style == GP_PHASE_NESTED || p->style == GP_PHASE_STARTED ||
			      p->style == GP_PHASE_REST;
	gp_json_object(json, NULL);
	gp_json_text(json, "name", p->name);
	gp_json_number_if(json, "names", p->names > 0, p->names);
	gp_json_text(json, "domain", p->domain);
	gp_json_text(json, "source", gp_range_source_name(p->source));
	gp_json_text(json, "style", style_name(p->style));
	gp_json_number(json, "calls", p->calls);
	gp_json_number(json, "open", p->open);
	gp_json_number_if(json, "time_ns", has_time, p->time_ns);
	gp_json_number(json, "mean_calls", has_time ? p->steady_calls : 0);
	if (has_time && p->steady_calls) {
		gp_json_number(json, "mean_ns", p->mean_ns);
		gp_json_number(json, "deviation_ns", p->deviation_ns);
	} else {
		gp_json_null(json, "mean_ns");
		gp_json_null(json, "deviation_ns");
	}
	if (r->held && p->style != GP_PHASE_MARK && p->style != GP_PHASE_STARTED)
		gp_json_number(json, "held_bytes", r->held[at]);
	else
		gp_json_null(json, "held_bytes");
	gp_json_number(json, "allocated_bytes", p->allocated_bytes);
	gp_json_number(json, "freed_bytes", p->freed_bytes);
	gp_json_number(json, "retained_bytes", p->retained_bytes);
	gp_json_number_if(json, "peak_bytes", p->style != GP_PHASE_MARK, p->peak_bytes);
	gp_json_number(json, "launches", p->launches);
	gp_json_number(json, "captured_launches", p->captured_launches);
	gp_json_number(json, "graph_launches", p->graph_launches);
	if (!r->has_gpu)
		return;
	const struct gp_gpu_sum none = { 0 }, *sum = r->gpu_sum ? &r->gpu_sum[at] : &none;
	const bool has_sum =
		r->gpu_sum && p->style != GP_PHASE_MARK && p->style != GP_PHASE_STARTED;
	gp_json_number_if(json, "gpu_operations", has_sum, sum->operations);
	gp_json_number_if(json, "gpu_envelope_ns", has_sum && p->style == GP_PHASE_NESTED,
			  sum->envelope_ns);
	gp_json_number_if(json, "gpu_busy_ns", has_sum, sum->busy_ns);
	gp_json_number_if(json, "gpu_sum_ns", has_sum, sum->sum_ns);
}

/* Closes the levels below `depth`: each a list of children and its range. */
static void close_to(struct gp_json *json, unsigned *open, unsigned depth)
{
	for (; *open > depth; --*open) {
		gp_json_end(json);
		gp_json_end(json);
	}
}

static void write_tree(const struct gp_phases_report *r, struct gp_json *json)
{
	const struct gp_phases *p = &r->phases;
	static uint64_t shown[DEPTH_MAX + 1];
	unsigned open = 0; /* ranges whose children are being written */
	memset(shown, 0, sizeof shown);
	for (size_t k = 0; k < p->phases;) {
		const struct gp_phase *phase = &p->phase[k];
		const unsigned depth = phase->depth < DEPTH_MAX ? phase->depth : DEPTH_MAX;
		close_to(json, &open, depth);
		if (depth >= r->depth ||
		    (r->top && shown[depth] >= r->top && phase->style < GP_PHASE_OUTSIDE)) {
			k = behind(p, k);
			continue;
		}
		write_phase(r, k);
		gp_json_array(json, "children");
		open = depth + 1;
		shown[depth]++;
		shown[depth + 1 < DEPTH_MAX ? depth + 1 : DEPTH_MAX] = 0;
		k++;
	}
	close_to(json, &open, 0);
}

enum gp_status gp_phases_write(const struct gp_phases_report *r)
{
	const struct gp_phases *p = &r->phases;
	const int64_t kept_ns = (int64_t)r->info->kept_from_ns,
		      end_ns = (int64_t)r->info->duration_ns;
	gp_json_object(r->json, NULL);
	gp_use_head_write(r->json, r->path, r->info);
	gp_json_signed(r->json, "from_ns",
		       r->requested.from_ns > kept_ns ? r->requested.from_ns : kept_ns);
	gp_json_signed(r->json, "to_ns", r->requested.to_ns < end_ns ? r->requested.to_ns : end_ns);
	gp_json_text(r->json, "of", gp_curve_keys[p->of]);
	gp_json_number_if(r->json, "device", r->requested.device != GP_DEVICE_UNKNOWN,
			  r->requested.device);
	gp_json_number(r->json, "calls", p->ranges);
	gp_json_number(r->json, "marks", p->marks);
	gp_json_number(r->json, "launches", p->launches);
	gp_json_number(r->json, "captured_launches", p->captured_launches);
	gp_json_number(r->json, "graph_launches", p->graph_launches);
	gp_json_number(r->json, "forwards_derived", p->forwards);
	gp_json_number(r->json, "forwards_named", p->forwards_named);
	gp_json_number(r->json, "forwards_none", p->forwards_none);
	gp_json_number(r->json, "forwards_unclear", p->forwards_unclear);
	if (p->is_by_frames) {
		gp_json_object(r->json, "frames");
		gp_json_number(r->json, "shown", p->frames_shown);
		gp_json_number(r->json, "none", p->frames_none);
		gp_json_number(r->json, "unclear", p->frames_unclear);
		gp_json_number(r->json, "bare_launches", p->bare_launches);
		gp_json_end(r->json);
	} else {
		gp_json_null(r->json, "frames");
	}
	gp_json_number(r->json, "unbalanced", p->unbalanced);
	gp_json_number(r->json, "unseen", p->unseen);
	gp_json_number(r->json, "unkept", p->unkept);
	gp_json_number(r->json, "without_name", r->info->ranges_unnamed);
	gp_json_text(r->json, "nvtx", r->info->nvtx_why);
	gp_json_text(r->json, "torch", r->info->torch_why);
	gp_json_number_if(r->json, "warmup_steps", !r->no_steps, r->warmup_steps);
	enum gp_status status = gp_phases_peaks_write(r);
	gp_json_array(r->json, "phases");
	write_tree(r, r->json);
	gp_json_end(r->json);
	gp_json_end(r->json);
	return status;
}
