/*
 * `gpuprof waits`: finds the interval, replays the events (waits_event.h), and explains the gaps of
 * the GPU by the calls around them, where GPU time was recorded (gpu_gaps.h).
 */
#include <stdlib.h>

#include "../kept.h"
#include "waits_event.h"

/* ---- the interval, the gaps ---- */

/* Where no interval is given, the steps after warm-up are it. */
static enum gp_status find_steps(struct gp_waiting *b)
{
	const struct gp_steps *steps = &b->steps;
	struct gp_waits *out = b->out;
	enum gp_status status = gp_steps_find(b->recording, &b->steps);
	if (status != GP_OK)
		return status;
	if (steps->steps > steps->warmup && out->from_ns == INT64_MIN && out->to_ns == INT64_MAX) {
		out->from_ns = steps->step[steps->warmup].begin_ns;
		out->to_ns = steps->step[steps->steps - 1].end_ns;
	}
	for (size_t k = 0; k < steps->steps; k++)
		out->steps += steps->step[k].begin_ns >= out->from_ns &&
			      steps->step[k].begin_ns < out->to_ns;
	return GP_OK;
}

static void see_gap(void *context, const struct gp_gpu_gap *gap, int64_t ns,
		    enum gp_gpu_gap_due due, struct gp_gpu_gap_activity *activity)
{
	struct gp_waiting *b = context;
	if (b->observer != NULL)
		b->observer->gap(b->observer->context, gap, ns, due,
				 due == GP_GPU_GAP_TO_PLACE ? gp_wait_row_at(b, activity->place) :
							      NULL);
	if (due == GP_GPU_GAP_TO_NOTHING)
		return;
	/* the GPU works on after the last call, and its idle time is a part of the interval */
	b->out->from_ns = gap->from_ns < b->out->from_ns ? gap->from_ns : b->out->from_ns;
	b->out->to_ns = gap->to_ns > b->out->to_ns ? gap->to_ns : b->out->to_ns;
	gp_ns_add(&b->out->idle_ns, ns);
	if (due == GP_GPU_GAP_TO_GPU) {
		gp_ns_add(&b->out->pending_ns, ns);
		return;
	}
	const size_t at = due == GP_GPU_GAP_TO_PLACE ?
				  activity->place :
				  gp_wait_place_find(b, GP_WAIT_ON_HOST, gap->stack);
	if (at == SIZE_MAX)
		return;
	struct gp_wait_place *p = &((struct gp_wait_place *)b->places.row)[at];
	gp_ns_add(&p->sum.lost_ns, ns);
	gp_ns_add(&b->out->lost_ns, ns);
	/* the calls are counted; of data loading and late launches, the times without work are */
	if (due == GP_GPU_GAP_TO_HOST || (p->sum.reason == GP_WAIT_ON_DATA && !activity->has_gap))
		p->sum.count++;
	if (activity != NULL)
		activity->has_gap = true;
	if (ns > p->most_ns) {
		p->most_ns = ns;
		p->sum.at_ns = gap->to_ns;
	}
}

static void explain_gaps(struct gp_waiting *b)
{
	b->out->has_gpu_time = b->gaps.is_known;
	if (!b->gaps.is_known)
		return;
	b->out->lost_operations = b->gaps.lost;
	b->out->launches_alone = b->gaps.launches_alone;
	gp_gpu_gaps_explain(&b->gaps, see_gap, b);
}

static enum gp_status waits_prepare(void *context, const struct gp_info *info)
{
	struct gp_waiting *b = context;
	struct gp_waits *out = b->out;
	(void)info;
	*out = (struct gp_waits){ .from_ns = b->from_ns, .to_ns = b->to_ns };
	*b = (struct gp_waiting){ .recording = b->recording,
				  .out = out,
				  .from_ns = b->from_ns,
				  .to_ns = b->to_ns,
				  .observer = b->observer,
				  .first_ns = -1 };
	b->device = calloc(GP_DEVICES + 1, sizeof *b->device);
	enum gp_status status = b->device != NULL ? find_steps(b) : GP_E_MEMORY;
	if (status == GP_OK)
		status = gp_gpu_gaps_find(b->recording, out->from_ns, out->to_ns, b->observer,
					  &b->gaps);
	for (unsigned k = 0; status == GP_OK && k <= GP_DEVICES; k++)
		b->device[k].idle_ns = -1;
	return status;
}

static enum gp_status waits_after(void *context, uint32_t thread, const struct gp_record *record)
{
	struct gp_waiting *b = context;
	struct gp_event e;
	if (record->kind == GP_BLOCK_ALLOC || record->kind == GP_BLOCK_FREE)
		return GP_OK; /* half of all events: PyTorch's own, which wait for nothing */
	gp_recording_event(b->recording, thread, record, &e);
	gp_waits_see(b, &e);
	return b->is_out_of_memory ? GP_E_MEMORY : GP_OK;
}

static enum gp_status waits_answer(void *context, const struct gp_info *info)
{
	struct gp_waiting *b = context;
	struct gp_waits *out = b->out;
	(void)info;
	if (out->from_ns < b->first_ns)
		out->from_ns = b->first_ns;
	if (out->to_ns > b->last_ns)
		out->to_ns = b->last_ns > out->from_ns ? b->last_ns : out->from_ns;
	explain_gaps(b);
	return b->is_out_of_memory ? GP_E_MEMORY : gp_wait_rows_list(b->recording, &b->places, out);
}

static void waits_settle(void *context)
{
	struct gp_waiting *b = context;
	gp_gpu_gaps_release(&b->gaps);
	gp_row_table_release(&b->places);
	gp_steps_free(&b->steps);
	gp_row_table_release(&b->threads);
	free(b->device);
	b->device = NULL;
}

static void waits_forget(void *context)
{
	gp_waits_free(((struct gp_waiting *)context)->out);
}

static enum gp_status waits_analysis(struct gp_recording *recording, int64_t from_ns, int64_t to_ns,
				     const struct gp_waits_observer *observer, struct gp_waits *out,
				     struct gp_analysis *analysis)
{
	struct gp_waiting *b = calloc(1, sizeof *b);
	*out = (struct gp_waits){ .from_ns = from_ns, .to_ns = to_ns };
	*analysis = (struct gp_analysis){ .context = b,
					  .observer = { .after = waits_after },
					  .prepare = waits_prepare,
					  .answer = waits_answer,
					  .settle = waits_settle,
					  .forget = waits_forget };
	if (b == NULL)
		return GP_E_MEMORY;
	*b = (struct gp_waiting){ .recording = recording,
				  .out = out,
				  .from_ns = from_ns,
				  .to_ns = to_ns,
				  .observer = observer };
	return GP_OK;
}

enum gp_status gp_waits_analysis(struct gp_recording *recording, struct gp_waits *out,
				 struct gp_analysis *analysis)
{
	return waits_analysis(recording, INT64_MIN, INT64_MAX, NULL, out, analysis);
}

enum gp_status gp_waits_observe(struct gp_recording *recording, int64_t from_ns, int64_t to_ns,
				const struct gp_waits_observer *observer, struct gp_waits *out)
{
	struct gp_analysis analysis;
	enum gp_status status = waits_analysis(recording, from_ns, to_ns, observer, out, &analysis);
	if (status == GP_OK) /* what the observer saw cannot be taken back */
		status = observer != NULL ? gp_analyse_once(recording, &analysis, 1) :
					    gp_analyse(recording, &analysis, 1);
	free(analysis.context);
	return status;
}

enum gp_status gp_waits_build(struct gp_recording *recording, int64_t from_ns, int64_t to_ns,
			      struct gp_waits *out)
{
	const bool is_whole = from_ns == INT64_MIN && to_ns == INT64_MAX;
	struct gp_waits *kept = is_whole ? gp_kept_take(recording, GP_KEPT_WAITS, 0) : NULL;
	if (kept == NULL)
		return gp_waits_observe(recording, from_ns, to_ns, NULL, out);
	*out = *kept;
	free(kept);
	return GP_OK;
}
