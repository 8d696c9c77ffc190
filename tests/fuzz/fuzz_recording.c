/*
 * Any bytes as a recording, through the reading library. Its results must be consistent for any
 * recording.
 */
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>

#include "../../libgpuprof/gpuprof.h"
#include "fuzz.h"

const char fuzz_name[] = "recording";

/* Looks names up in the modules that the recording names, which may be any files. */
static void look_up(struct gp_recording *recording, const struct gp_event *event)
{
	static struct gp_frame frame[GP_FRAMES_MAX];
	struct gp_stack stack;
	struct gp_names names;
	if (!gp_recording_stack(recording, event->record.stack, event->at_ns, GP_STACK_SYMBOLS,
				&stack, frame, GP_FRAMES_MAX))
		return;
	if (stack.frames > GP_FRAMES_MAX)
		abort();
	gp_recording_names(recording, frame, stack.frames, &names);
}

static void see_gaps(void *context, const struct gp_gaps *gaps)
{
	(void)context;
	if (gaps->largest_bytes > gaps->free_bytes)
		abort();
}

/* The sums must be consistent for any recording. */
static void look_at_frag(struct gp_recording *recording)
{
	struct gp_memory memory;
	const struct gp_moment_of end = { .when = GP_WHEN_END };
	const struct gp_frag_question question = { .fit_bytes = 64 << 20 };
	(void)gp_gaps_visit(recording, see_gaps, NULL, NULL);
	if (gp_memory_build(recording, &end, &memory) != GP_OK)
		return;
	for (size_t k = 0; k < memory.devices; k++) {
		struct gp_frag frag;
		uint64_t sum = 0;
		if (gp_frag_build(&memory, memory.device[k].device, &question, &frag) != GP_OK)
			continue;
		for (unsigned c = 0; c < GP_CAUSES; c++)
			sum += frag.cause_bytes[c];
		if (sum != frag.reserved_bytes - frag.allocated_bytes)
			abort();
		gp_frag_free(&frag);
	}
	gp_memory_free(&memory);
}

/* Uses must add up for any recording. */
static void look_at_peaks(struct gp_recording *recording)
{
	struct gp_peak peak;
	struct gp_groups groups;
	struct gp_tree tree;
	const struct gp_grouping how = { .by = GP_BY_LINE }, by_range = { .by = GP_BY_RANGE },
				 by_role = { .by = GP_BY_ROLE };
	if (gp_peak_build_with(recording, GP_AT_PEAK, 0, GP_WITH_RANGES | GP_WITH_ROLES, &peak) !=
	    GP_OK)
		return;
	for (size_t k = 0; k < peak.holders; k++) {
		const struct gp_holders *h = &peak.holder[k];
		uint64_t sum = 0;
		for (size_t i = 0; i < h->uses; i++)
			sum += h->use[i].bytes;
		if (sum != h->live_bytes)
			abort();
		if (gp_groups_build(recording, h->use, h->uses, &how, &groups) == GP_OK)
			gp_groups_free(&groups);
		if (gp_groups_build(recording, h->use, h->uses, &by_range, &groups) == GP_OK)
			gp_groups_free(&groups);
		if (gp_groups_build(recording, h->use, h->uses, &by_role, &groups) == GP_OK)
			gp_groups_free(&groups);
		if (gp_tree_build(recording, h->use, h->uses, &how, &tree) == GP_OK)
			gp_tree_free(&tree);
	}
	gp_peak_free(&peak);
}

static void look_at_top(struct gp_recording *recording)
{
	struct gp_top top;
	if (gp_top_build_with(recording, INT64_MIN, INT64_MAX, 1000000,
			      GP_WITH_RANGES | GP_WITH_ROLES, &top) == GP_OK)
		gp_top_free(&top);
}

/* The phases must form a tree: each phase's children follow it, one level deeper. */
static void look_at_phases(struct gp_recording *recording, bool is_by_frames)
{
	const struct gp_phases_options asked = { .device = GP_DEVICE_UNKNOWN,
						 .of = GP_CURVES,
						 .from_ns = INT64_MIN,
						 .to_ns = INT64_MAX,
						 .is_by_frames = is_by_frames,
						 .fold = 1 };
	struct gp_phases phases;
	if (gp_phases_build(recording, &asked, &phases) == GP_OK)
		for (size_t k = 0; k < phases.phases; k++) {
			const struct gp_phase *p = &phases.phase[k];
			size_t children = 0;
			for (size_t i = k + 1;
			     i < phases.phases && phases.phase[i].depth > p->depth; i++)
				children += phases.phase[i].depth == p->depth + 1;
			if (children != p->children || (k == 0 && p->depth != 0))
				abort();
		}
	gp_phases_free(&phases);
}

static enum gp_status drop_bytes(void *context, const unsigned char *bytes, size_t count,
				 size_t *number)
{
	(void)context;
	if (count == 0 || bytes[count - 1] >= 0x80)
		abort(); /* each block ends with a whole number */
	*number = 0;
	return GP_OK;
}

/* Indices lie in their tables, and moments in the kept span. */
static void look_at_lives(struct gp_recording *recording)
{
	struct gp_lives l;
	const struct gp_lives_sink sink = { .write = drop_bytes };
	if (gp_lives_build(recording, NULL, &sink, &l) != GP_OK)
		return;
	for (size_t k = 0; k < l.groups; k++)
		if (l.group[k].stack >= l.stacks || l.group[k].pool >= l.texts ||
		    l.group[k].range >= l.texts || l.group[k].of > GP_LIVES_OF_PENDING)
			abort();
	for (size_t k = 0; k < l.places; k++)
		if (l.place[k] >= l.frames)
			abort();
	for (size_t k = 0; k < l.stacks; k++)
		if (l.stack[k].first + l.stack[k].frames > l.places)
			abort();
	for (size_t k = 0; k < l.marks; k++)
		if (l.mark[k].text >= l.texts)
			abort();
	if (l.from_ns > l.to_ns || (l.left_out != 0) != (l.shorter_than_ns != 0))
		abort();
	gp_lives_free(&l);
}

static void look_at_lanes(struct gp_recording *recording)
{
	struct gp_lanes l;
	const struct gp_lives_sink sink = { .write = drop_bytes };
	if (gp_lanes_build(recording, &sink, &l) != GP_OK)
		return;
	for (size_t k = 0; k < l.groups; k++)
		if (l.group[k].of >= GP_INTERVAL_KINDS || l.group[k].name >= l.texts ||
		    l.group[k]
			    .
			    operator>= l.texts || l.group[k]
			    .line >= l.texts || l.group[k]
			    .phase >= l.texts || l.group[k]
			    .short_count> l.group[k]
			    .count)
			abort();
	if (l.lanes > GP_LANES_MOST + GP_LANE_KINDS * (GP_DEVICES + 2) ||
	    (l.lanes == 0 && l.has_operations)) /* ranges alone have lanes, too */
		abort();
	gp_lanes_free(&l);
}

static void look_at_graphs(struct gp_recording *recording)
{
	struct gp_graphs_report graphs;
	if (gp_graphs_report_build(recording, &graphs) == GP_OK)
		for (size_t k = 0; k < graphs.graphs; k++)
			if (graphs.graph[k].pool != GP_GRAPH_NO_POOL &&
			    graphs.graph[k].pool >= graphs.pools)
				abort();
	gp_graphs_report_free(&graphs);
}

/* The calls of a row may lie before the interval. */
static bool wait_row_is_sound(const struct gp_wait_row *row)
{
	return row->lost_ns > 0 ||
	       (row->lost_ns == 0 && (row->count != 0 || row->again.count != 0));
}

/*
 * Chances must be between 0 and 1; resolved launches must have been scanned; the parts of the start
 * must add up.
 */
static void look_at_steps(struct gp_recording *recording)
{
	struct gp_steps steps;
	struct gp_leaks leaks;
	struct gp_idle idle;
	struct gp_waits waits;
	struct gp_startup startup;
	struct gp_kernels kernels;
	struct gp_collectives collectives;
	struct gp_counters counters;
	struct gp_samples samples;
	if (gp_steps_find(recording, &steps) == GP_OK && steps.warmup > steps.steps)
		abort();
	gp_steps_free(&steps);
	if (gp_leaks_build(recording, INT64_MIN, INT64_MAX, &leaks) == GP_OK)
		for (size_t k = 0; k < leaks.leaks; k++)
			if (!(leaks.leak[k].p_value >= 0 && leaks.leak[k].p_value <= 1))
				abort();
	gp_leaks_free(&leaks);
	if (gp_idle_build(recording, 10, &idle) == GP_OK && idle.resolved > idle.scanned)
		abort();
	gp_idle_free(&idle);
	if (gp_waits_build(recording, INT64_MIN, INT64_MAX, &waits) == GP_OK)
		for (size_t k = 0; k < waits.rows; k++)
			if (!wait_row_is_sound(&waits.row[k]))
				abort();
	gp_waits_free(&waits);
	int64_t left_ns = 0;
	if (gp_startup_build(recording, &startup) == GP_OK) {
		left_ns = startup.to_ns - startup.from_ns;
		for (size_t k = 0; k < startup.rows && startup.row[k].took_ns >= 0; k++)
			left_ns -= startup.row[k].took_ns;
	}
	if (left_ns != 0)
		abort();
	gp_startup_free(&startup);
	if (gp_kernels_build(recording, GP_KERNELS_BY_LINE, INT64_MIN, INT64_MAX, GP_DEVICE_UNKNOWN,
			     &kernels) == GP_OK)
		for (size_t k = 0; k < kernels.rows; k++)
			if (kernels.row[k].count == 0 ||
			    kernels.row[k].joined > kernels.row[k].count)
				abort();
	gp_kernels_free(&kernels);
	if (gp_collectives_build(recording, GP_COLLECTIVES_BY_STREAM, INT64_MIN, INT64_MAX,
				 &collectives) == GP_OK)
		for (size_t k = 0; k < collectives.rows; k++)
			if (collectives.row[k].timed > collectives.row[k].count ||
			    collectives.row[k].overlapped_ns > collectives.row[k].kernel_ns)
				abort();
	gp_collectives_free(&collectives);
	if (gp_counters_build(recording, &counters) == GP_OK)
		for (size_t k = 0; k < counters.rows; k++)
			if (counters.row[k].count == 0 || counters.metrics > GP_COUNTER_METRICS)
				abort();
	gp_counters_free(&counters);
	if (gp_samples_build(recording, INT64_MIN, INT64_MAX, &samples) == GP_OK)
		for (size_t k = 0; k < samples.devices; k++)
			if (samples.device[k].figures[0].median > samples.device[k].figures[0].most)
				abort();
	gp_samples_free(&samples);
}

/* Each row has values, the median is one of their range, and no kernel is lost. */
static void look_at_sums(struct gp_recording *recording)
{
	struct gp_gpu gpu;
	struct gp_gpu_calls calls = { 0 };
	struct gp_sums sums;
	if (gp_gpu_build(recording, true, &gpu) != GP_OK)
		return;
	if (gp_gpu_calls_build(&gpu, INT64_MIN, INT64_MAX, GP_DEVICE_UNKNOWN, &calls) != GP_OK)
		gp_gpu_calls_free(&calls);
	for (unsigned of = 0; of <= GP_SUMS_OF_RANGE_KERNELS && calls.call != NULL; of++) {
		uint64_t counted = 0, kernels = 0;
		if (gp_sums_build(&gpu, &calls, (enum gp_sums_of)of, INT64_MIN, INT64_MAX,
				  GP_DEVICE_UNKNOWN, &sums) != GP_OK)
			continue;
		for (size_t k = 0; k < sums.rows; k++) {
			const struct gp_spread *s = &sums.row[k].time;
			counted += s->count;
			if (s->count == 0 || !(s->deviation >= 0) ||
			    !(s->median >= (double)s->least && s->median <= (double)s->most))
				abort();
		}
		for (size_t k = 0; k < gpu.operations; k++)
			kernels += gpu.operation[k].kind == GP_GPU_IS_KERNEL;
		if (of == GP_SUMS_OF_KERNELS && counted != kernels)
			abort();
		gp_sums_free(&sums);
	}
	gp_gpu_calls_free(&calls);
	gp_gpu_free(&gpu);
}

/* Blocks and gaps must tile their segments for any recording. */
static void assert_tiles(const struct gp_memory *memory)
{
	for (size_t i = 0; i < memory->segments; i++) {
		const struct gp_memory_segment *s = &memory->segment[i];
		uint64_t at = s->address;
		if (s->first + s->blocks > memory->blocks || s->arena >= memory->arenas)
			abort();
		for (size_t k = s->first; k < s->first + s->blocks; k++) {
			const struct gp_memory_block *b = &memory->block[k];
			if (b->address != at || b->bytes == 0)
				abort();
			at += b->bytes;
		}
		if (at != s->address + s->bytes)
			abort();
	}
}

static void look_at_memory(struct gp_recording *recording, int64_t end_ns)
{
	const struct gp_moment_of moments[] = {
		{ .when = GP_WHEN_END },
		{ .when = GP_WHEN_TIME, .at_ns = end_ns / 2 },
		{ .when = GP_WHEN_PEAK, .device = GP_DEVICE_UNKNOWN, .of = GP_CURVE_RESERVED },
		{ .when = GP_WHEN_OOM },
		{ .when = GP_WHEN_SNAPSHOT },
		{ .when = GP_WHEN_ORDER, .number = 3 },
	};
	for (unsigned i = 0; i < sizeof moments / sizeof *moments; i++) {
		struct gp_memory memory;
		if (gp_memory_build(recording, &moments[i], &memory) != GP_OK)
			continue;
		assert_tiles(&memory);
		gp_memory_free(&memory);
	}
}

static void read_all(const char *path, FILE *report)
{
	struct gp_recording *recording;
	struct gp_damage why;
	const struct gp_info *info;
	struct gp_timeline timeline;
	struct gp_event event;
	if (gp_recording_open(path, &recording, &why) != GP_OK)
		return;
	(void)gp_recording_info(recording, &info);
	(void)gp_recording_rewind(recording);
	for (unsigned i = 0; i < 100000 && gp_recording_next(recording, &event) == GP_OK; i++) {
		if (event.text_bytes > UINT8_MAX * sizeof event.record - 8)
			abort(); /* more than fits in the slots behind a record */
		if (event.record.stack)
			look_up(recording, &event);
	}
	if (gp_timeline_build(recording, 10, 0, INT64_MAX, &timeline) == GP_OK)
		gp_timeline_free(&timeline);
	look_at_frag(recording);
	look_at_peaks(recording);
	look_at_top(recording);
	look_at_phases(recording, false);
	look_at_phases(recording, true);
	look_at_steps(recording);
	look_at_graphs(recording);
	look_at_lives(recording);
	look_at_lanes(recording);
	look_at_sums(recording);
	look_at_memory(recording, (int64_t)info->duration_ns);
	gp_recording_close(recording);
	(void)gp_verify(path, NULL, report);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes)
{
	static FILE *report;
	char path[PATH_MAX];
	if (!report)
		report = fopen("/dev/null", "we");
	snprintf(path, sizeof path, "%s", fuzz_put("a.gpr", data, bytes));
	read_all(path, report);
	return 0;
}
