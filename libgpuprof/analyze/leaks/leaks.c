/*
 * Takes samples at the begins of steps, where a loop has the least memory. leak_trend.c judges the
 * series of each stack, and then the sums of stacks of one line. A result that is significant among
 * all tests is a leak.
 */
#include <stdlib.h>
#include <string.h>

#include "../../read/tables/array.h"
#include "../kept.h"
#include "../phases/range_path.h"
#include "growth.h"
#include "leak_choose.h"
#include "leak_forward.h"
#include "leak_sum.h"
#include "leaks.h"

struct hunt {
	struct gp_recording *recording;
	int64_t from_ns, to_ns; /* requested */
	struct gp_leaks *out;
	struct gp_leak_samples samples;
	struct gp_leak_sampling sampling;
	struct gp_leak_turns turns;
	struct gp_leak_sums sums;
	bool *is_of;		  /* by holder: it belongs to the current growth */
	double limit;		  /* for the growth of devices */
	struct gp_growth *growth; /* NULL: do not judge it */
};

/* ---- results ---- */

static double steps_until_full(const struct hunt *h, const struct gp_leak_holder *holder,
			       double bytes_per_step)
{
	bool is_known = !holder->is_object && holder->device < GP_DEVICES && bytes_per_step > 0 &&
			h->samples.free_bytes[holder->device] != UINT64_MAX;
	return is_known ? (double)h->samples.free_bytes[holder->device] / bytes_per_step : -1;
}

/* Includes all work between steps: evaluations, checkpoints. */
static double ns_per_step(const struct hunt *h)
{
	const size_t last = h->samples.samples - 1;
	const double steps = h->samples.at[last] - h->samples.at[0];
	return steps > 0 ? (double)(h->samples.at_ns[last] - h->samples.at_ns[0]) / steps : 0;
}

static void fill_examples(const struct hunt *h, const struct gp_leak_holder *holder,
			  struct gp_leak *out)
{
	out->examples = holder->examples;
	for (size_t k = 0; k < holder->examples; k++) {
		out->example[k].address = holder->example[k].address;
		out->example[k].bytes = holder->example[k].bytes;
		out->example[k].at_ns = gp_tick_ns(&h->recording->tick, holder->example[k].time);
	}
}

/* The innermost range that contains both; NULL: none. */
static const struct gp_range_path *common_range(const struct gp_range_path *a,
						const struct gp_range_path *b)
{
	for (; a != NULL; a = a->up)
		for (const struct gp_range_path *up = b; up != NULL; up = up->up)
			if (a == up)
				return a;
	return NULL;
}

/*
 * The common range of the survivors in h->is_of, from `oldest` on. Allocations before the kept part
 * have no known range.
 */
static const struct gp_range_path *range_of(const struct hunt *h, size_t oldest)
{
	const struct gp_range_path *common = NULL;
	bool is_first = true;
	for (size_t k = oldest; k < h->samples.survivors; k++) {
		const struct gp_leak_survivor *s = &h->samples.survivor[k];
		if (!h->is_of[s->holder])
			continue;
		const struct gp_range_path *path = gp_range_of_order(h->out->ranges, s->order);
		if (path == NULL || path->known == GP_RANGE_UNRECORDED)
			continue;
		path = gp_range_path_shown(path, NULL);
		common = is_first ? path : common_range(common, path);
		is_first = false;
	}
	return common;
}

/* For the holders in h->is_of. Replaced memory has no old survivors. */
static void fill_since(const struct hunt *h, const struct gp_leak_trend *trend, struct gp_leak *out)
{
	const struct gp_leak_samples *s = &h->samples;
	const struct gp_leak_scale *scale =
		&s->scale[trend->is_late ? GP_LEAK_TAIL : GP_LEAK_WHOLE];
	const size_t since = scale->sample[trend->since];
	size_t oldest = gp_leak_since_find(s, h->is_of, &h->turns, since);
	out->since_ns = s->at_ns[since];
	if (!trend->is_replaced && oldest != SIZE_MAX)
		out->since_ns = s->survivor[oldest].at_ns;
	out->since_step = gp_leak_turn_of(&h->turns, out->since_ns);
	out->range = range_of(h, oldest);
}

/* For one stack; the fields of sums are set by the caller. */
static void leaks_fill(const struct hunt *h, const struct gp_leak_holder *holder,
		       const struct gp_leak_trend *trend, struct gp_leak *out)
{
	size_t last = h->samples.samples - 1;
	double p = trend->p * (double)h->out->tests;
	*out = (struct gp_leak){
		.by = GP_LEAK_BY_STACK,
		.stacks = 1,
		.parts = 1,
		.part = { { holder->stack, holder->at_ns, trend->births } },
		.device = holder->device,
		.space = holder->space,
		.of = holder->of,
		.is_object = holder->is_object,
		.stack = holder->stack,
		.size = holder->size,
		.at_ns = holder->at_ns,
		.bytes_per_step = trend->bytes_per_step,
		.count_per_step = trend->count_per_step,
		.p_value = p < 1 ? p : 1,
		.live_bytes = (uint64_t)holder->bytes[last],
		.live_count = (uint64_t)holder->count[last],
		.births = trend->births,
		.spans = trend->spans,
		.born_spans = trend->born_spans,
		.is_replaced = trend->is_replaced,
		.is_steady = trend->is_steady,
		.pace = trend->pace,
		.expected_count = trend->expected_count,
		.steps_until_full = steps_until_full(h, holder, trend->bytes_per_step),
	};
	out->ns_until_full =
		out->steps_until_full >= 0 ? out->steps_until_full * ns_per_step(h) : -1;
	fill_since(h, trend, out);
	fill_examples(h, holder, out);
}

static int leaks_compare(const void *left, const void *right)
{
	const struct gp_leak *a = left, *b = right;
	if (a->is_object != b->is_object)
		return a->is_object ? 1 : -1;
	if (a->bytes_per_step < b->bytes_per_step || a->bytes_per_step > b->bytes_per_step)
		return a->bytes_per_step < b->bytes_per_step ? 1 : -1;
	if (a->p_value < b->p_value || a->p_value > b->p_value)
		return a->p_value < b->p_value ? -1 : 1;
	if (a->live_count != b->live_count)
		return a->live_count < b->live_count ? 1 : -1;
	return (a->stack > b->stack) - (a->stack < b->stack);
}

/*
 * True: memory allocated without stacks was released meanwhile, and most of this stack's growth may
 * have replaced it. A queue that was full when a capture began looks like this.
 */
static bool may_replace(const struct hunt *h, const struct gp_leak_holder *holder,
			const struct gp_leak_trend *trend)
{
	const struct gp_leak_samples *s = &h->samples;
	const size_t first = s->scale[trend->is_late ? GP_LEAK_TAIL : GP_LEAK_WHOLE].sample[0];
	const size_t last = s->samples - 1;
	double bytes = holder->bytes[last] - holder->bytes[first], bytes_gone = 0;
	double count = holder->count[last] - holder->count[first], count_gone = 0;
	for (size_t k = 0; holder->stack != 0 && k < s->table.rows; k++) {
		const struct gp_leak_holder *other = gp_leak_holder(s, k);
		if (other->stack != 0 || other->device != holder->device ||
		    other->space != holder->space || other->of != holder->of)
			continue;
		bytes_gone += other->bytes[first] - other->bytes[last];
		count_gone += other->count[first] - other->count[last];
	}
	return count_gone > GP_TREND_HALF * count && bytes_gone >= GP_TREND_HALF * bytes &&
	       count_gone > 0;
}

/*
 * True: it grows, and not by chance among so many tests. *trend has is_filling for a cache that
 * slows down.
 */
static bool is_sure(const struct hunt *h, const struct gp_leak_holder *holder,
		    struct gp_leak_trend *trend)
{
	struct gp_leak_series whole, tail;
	gp_leak_series(&h->samples, holder, GP_LEAK_WHOLE, &whole);
	gp_leak_series(&h->samples, holder, GP_LEAK_TAIL, &tail);
	if (!gp_leak_trend_find(&whole.s, &tail.s, trend) ||
	    trend->p * (double)h->out->tests >= GP_TREND_P_MAX)
		return false;
	if (!may_replace(h, holder, trend))
		return true;
	h->out->may_replace = true;
	return false;
}

/* Adds an element; NULL: out of memory. */
static struct gp_leak *add_leak(struct hunt *h, bool is_filling)
{
	struct gp_leak **list = is_filling ? &h->out->filling : &h->out->leak;
	size_t *count = is_filling ? &h->out->fillings : &h->out->leaks;
	return gp_array_append(list, count, sizeof **list);
}

static enum gp_status judge_stacks(struct hunt *h, struct gp_frame *frame)
{
	for (size_t k = 0; k < h->samples.table.rows; k++) {
		struct gp_leak_owner owner;
		struct gp_leak_trend trend;
		const struct gp_leak_holder *holder = gp_leak_holder(&h->samples, k);
		if (!is_sure(h, holder, &trend))
			continue;
		struct gp_leak *leak = add_leak(h, trend.is_filling);
		if (leak == NULL)
			return GP_E_MEMORY;
		h->is_of[k] = true;
		leaks_fill(h, holder, &trend, leak);
		h->is_of[k] = false;
		gp_leak_owner_find(h->recording, holder, frame, &owner);
		memcpy(leak->owner, owner.owner, sizeof leak->owner);
		gp_leak_sums_note(&h->sums, holder, trend.is_filling);
	}
	return GP_OK;
}

static bool is_spread(const struct gp_leak_sum *sum, const struct gp_leak_trend *trend)
{
	/* a single stack with most of the births is the better answer */
	return sum->is_rest ||
	       (!trend->is_filling &&
		(double)sum->great[0].births <= GP_TREND_HALF * (double)trend->births);
}

/* Removes the suspects that the sum replaces. */
static void drop_replaced(struct hunt *h, const struct gp_leak_sum *sum)
{
	struct gp_leaks *out = h->out;
	size_t kept = 0;
	for (size_t k = 0; k < out->leaks; k++)
		if (out->leak[k].by != GP_LEAK_BY_STACK ||
		    !gp_leak_sum_has(&h->sums, sum, &out->leak[k]))
			out->leak[kept++] = out->leak[k];
	out->leaks = kept;
}

static enum gp_status judge_sums(struct hunt *h, struct gp_leak_sum *sum, struct gp_frame *frame)
{
	while (gp_leak_sums_next(&h->sums, sum)) {
		struct gp_leak_owner owner;
		struct gp_leak_trend trend;
		if (!is_sure(h, &sum->holder, &trend) || !is_spread(sum, &trend))
			continue;
		drop_replaced(h, sum);
		struct gp_leak *leak = add_leak(h, trend.is_filling);
		if (leak == NULL)
			return GP_E_MEMORY;
		gp_leak_sum_mark(&h->sums, sum, &h->samples, h->is_of, true);
		leaks_fill(h, &sum->holder, &trend, leak);
		gp_leak_sum_mark(&h->sums, sum, &h->samples, h->is_of, false);
		leak->by = GP_LEAK_BY_LINE;
		leak->stacks = sum->stacks;
		leak->parts = sum->greatest;
		for (size_t k = 0; k < sum->greatest; k++) {
			leak->part[k].stack = sum->great[k].holder->stack;
			leak->part[k].at_ns = sum->great[k].holder->at_ns;
			leak->part[k].births = sum->great[k].births;
		}
		gp_leak_owner_find(h->recording, sum->great[0].holder, frame, &owner);
		memcpy(leak->owner, owner.owner, sizeof leak->owner);
		gp_leak_sums_drop(&h->sums, sum);
	}
	return GP_OK;
}

static enum gp_status list_seen(struct hunt *h)
{
	struct gp_leaks *out = h->out;
	out->seen = calloc(h->samples.table.rows + 1, sizeof *out->seen);
	if (out->seen == NULL)
		return GP_E_MEMORY;
	for (size_t k = 0; k < h->samples.table.rows; k++) {
		const struct gp_leak_holder *holder = gp_leak_holder(&h->samples, k);
		out->seen[out->seens++] = (struct gp_leak_seen){ holder->device, holder->space,
								 holder->stack, holder->at_ns };
	}
	return GP_OK;
}

/* The last step at which a detectable leak can begin: later growth spans too few samples. */
static size_t detectable_to_step(const struct hunt *h)
{
	const struct gp_leak_scale *scale = &h->samples.scale[GP_LEAK_TAIL];
	if (scale->samples == 0)
		scale = &h->samples.scale[GP_LEAK_WHOLE];
	size_t least = gp_leak_window_least(scale->samples);
	if (least < h->out->samples_least)
		least = h->out->samples_least;
	return (size_t)h->samples.at[scale->sample[scale->samples - least]] + 1;
}

/* A further leak would be one more stack, and perhaps one more line with several stacks. */
static void see_power(struct hunt *h)
{
	struct gp_leaks *out = h->out;
	const size_t scales = h->samples.scale[GP_LEAK_TAIL].samples > 0 ? GP_LEAK_SCALES : 1;
	const size_t tests = out->stacks + h->sums.tests;
	out->tests = tests * scales;
	out->samples_least = gp_trend_samples_least((tests + GP_LEAK_BYS) * scales);
	out->has_verdict = out->window_ns == 0 && out->samples >= out->samples_least;
	out->detectable_to_step = out->has_verdict ? detectable_to_step(h) : 0;
}

static enum gp_status judge(struct hunt *h)
{
	struct gp_leaks *out = h->out;
	struct gp_frame *frame = calloc(GP_FRAMES_MAX, sizeof *frame);
	struct gp_leak_sum *sum = calloc(1, sizeof *sum);
	out->samples = h->samples.samples;
	out->stacks = h->samples.table.rows;
	out->is_cut = h->samples.is_cut;
	out->step_ns = out->samples > 0 ? ns_per_step(h) : 0;
	out->first_ns = out->samples > 0 ? h->samples.at_ns[0] : out->from_ns;
	out->last_ns = out->samples > 0 ? h->samples.at_ns[out->samples - 1] : out->to_ns;
	memcpy(out->free_bytes, h->samples.free_bytes, sizeof out->free_bytes);
	h->is_of = calloc(out->stacks + 1, sizeof *h->is_of);
	enum gp_status status = gp_leak_list_turns(out, &h->turns);
	if (frame == NULL || sum == NULL || h->is_of == NULL)
		status = GP_E_MEMORY;
	if (status == GP_OK)
		status = list_seen(h);
	if (status == GP_OK)
		status = gp_leak_sums_make(h->recording, &h->samples, &h->sums);
	see_power(h);
	if (status == GP_OK)
		status = judge_stacks(h, frame);
	if (status == GP_OK)
		status = judge_sums(h, sum, frame);
	out->has_verdict &= !out->may_replace;
	if (out->leaks > 1)
		qsort(out->leak, out->leaks, sizeof *out->leak, leaks_compare);
	if (out->fillings > 1)
		qsort(out->filling, out->fillings, sizeof *out->filling, leaks_compare);
	gp_leak_sums_release(&h->sums);
	free(h->turns.begin_ns);
	free(h->is_of);
	free(frame);
	free(sum);
	return status;
}

/*
 * Reads the ranges of all survivors first, so that numbered names are folded before ranges are
 * compared.
 */
static enum gp_status fold_ranges(struct hunt *h)
{
	if (h->out->ranges == NULL)
		return GP_OK;
	for (size_t k = 0; k < h->samples.survivors; k++)
		gp_range_paths_at(h->out->ranges, h->samples.survivor[k].order);
	return gp_range_paths_fold(&h->out->ranges, 1);
}

static enum gp_status hunt_prepare(void *context, const struct gp_info *info)
{
	struct hunt *h = context;
	enum gp_status status = gp_steps_find(h->recording, &h->out->steps);
	memset(&h->samples, 0, sizeof h->samples);
	h->sampling = (struct gp_leak_sampling){ .recording = h->recording,
						 .out = &h->samples,
						 .ranges = &h->out->ranges };
	if (status != GP_OK)
		return status;
	gp_leak_choose(info, h->from_ns, h->to_ns, h->out, &h->samples);
	return gp_leak_sampling_prepare(&h->sampling);
}

static enum gp_status hunt_begin(void *context)
{
	return gp_leak_sampling_begin(&((struct hunt *)context)->sampling);
}

static enum gp_status hunt_before(void *context, uint32_t thread, const struct gp_record *record)
{
	(void)thread;
	return gp_leak_sampling_before(&((struct hunt *)context)->sampling, record);
}

static enum gp_status hunt_after(void *context, uint32_t thread, const struct gp_record *record)
{
	gp_leak_sampling_after(&((struct hunt *)context)->sampling, thread, record);
	return GP_OK;
}

static enum gp_status hunt_end(void *context)
{
	return gp_leak_sampling_end(&((struct hunt *)context)->sampling);
}

static enum gp_status hunt_answer(void *context, const struct gp_info *info)
{
	struct hunt *h = context;
	(void)info;
	enum gp_status status = fold_ranges(h);
	if (status == GP_OK)
		status = judge(h);
	if (status == GP_OK && h->growth != NULL)
		gp_growth_judge(&h->samples, h->out, h->limit, h->growth);
	if (status == GP_OK)
		status = gp_leak_forward_judge(h->recording, h->out);
	h->out->has_verdict &= h->out->activations == 0;
	return status;
}

static void hunt_settle(void *context)
{
	struct hunt *h = context;
	gp_leak_sampling_release(&h->sampling);
	gp_leak_samples_release(&h->samples);
}

static void hunt_forget(void *context)
{
	gp_leaks_free(((struct hunt *)context)->out);
}

static enum gp_status leaks_analysis(const struct hunt *requested, struct gp_analysis *analysis)
{
	struct hunt *h = malloc(sizeof *h);
	*analysis =
		(struct gp_analysis){ .context = h,
				      .observer = { hunt_begin, hunt_before, hunt_after, hunt_end },
				      .prepare = hunt_prepare,
				      .answer = hunt_answer,
				      .settle = hunt_settle,
				      .forget = hunt_forget };
	if (h == NULL)
		return GP_E_MEMORY;
	*h = *requested;
	return GP_OK;
}

static enum gp_status leaks_build(const struct hunt *requested)
{
	struct gp_analysis analysis;
	enum gp_status status = leaks_analysis(requested, &analysis);
	if (status == GP_OK)
		status = gp_analyse(requested->recording, &analysis, 1);
	free(analysis.context);
	return status;
}

enum gp_status gp_leaks_analysis(struct gp_recording *recording, struct gp_leaks *out,
				 struct gp_analysis *analysis)
{
	const struct hunt h = {
		.recording = recording, .from_ns = INT64_MIN, .to_ns = INT64_MAX, .out = out
	};
	*out = (struct gp_leaks){ 0 };
	return leaks_analysis(&h, analysis);
}

enum gp_status gp_leaks_build(struct gp_recording *recording, int64_t from_ns, int64_t to_ns,
			      struct gp_leaks *out)
{
	const struct hunt h = {
		.recording = recording, .from_ns = from_ns, .to_ns = to_ns, .out = out
	};
	const bool is_whole = from_ns == INT64_MIN && to_ns == INT64_MAX;
	struct gp_leaks *kept = is_whole ? gp_kept_take(recording, GP_KEPT_LEAKS, 0) : NULL;
	*out = (struct gp_leaks){ 0 };
	if (kept == NULL)
		return from_ns > to_ns ? GP_E_ARGUMENT : leaks_build(&h);
	*out = *kept;
	free(kept);
	return GP_OK;
}

enum gp_status gp_growth_find(struct gp_recording *recording, double limit, struct gp_leaks *leaks,
			      struct gp_growth *out)
{
	const struct hunt h = { .recording = recording,
				.from_ns = INT64_MIN,
				.to_ns = INT64_MAX,
				.out = leaks,
				.limit = limit,
				.growth = out };
	*leaks = (struct gp_leaks){ 0 };
	*out = (struct gp_growth){ 0 };
	return leaks_build(&h);
}

void gp_leaks_free(struct gp_leaks *leaks)
{
	gp_steps_free(&leaks->steps);
	free(leaks->leak);
	free(leaks->filling);
	free(leaks->seen);
	gp_range_paths_close(leaks->ranges);
	*leaks = (struct gp_leaks){ 0 };
}

bool gp_leak_is_certain(const struct gp_leaks *leaks, const struct gp_leak *leak)
{
	return leak->is_steady && !leak->may_be_activations && leaks->window_ns == 0 &&
	       leaks->usable_steps >= GP_GROWTH_STEPS_LEAST;
}

const char *const gp_leak_by_names[GP_LEAK_BYS] = { "stack", "line" };

const char *gp_leak_kind(const struct gp_leak *leak)
{
	static const char *const kinds[GP_SPACES] = {
		[GP_SPACE_DEVICE] = "driver allocation",
		[GP_SPACE_ASYNC] = "pool allocation",
		[GP_SPACE_MANAGED] = "managed allocation",
		[GP_SPACE_HOST] = "pinned allocation",
		[GP_SPACE_HOST_REGISTER] = "pinned allocation",
		[GP_SPACE_ARRAY] = "array",
		[GP_SPACE_PHYSICAL] = "physical allocation",
		[GP_SPACE_RESERVATION] = "address reservation",
		[GP_SPACE_MAPPED] = "mapping",
		[GP_SPACE_IPC] = "IPC import",
		[GP_SPACE_EXTERNAL] = "external import",
		[GP_SPACE_GRAPH] = "graph allocation",
		[GP_SPACE_MULTICAST] = "multicast object",
		[GP_SPACE_BLOCK] = "PyTorch block",
	};
	if (leak->space == GP_SPACE_RESOURCE && leak->of < GP_RESOURCES)
		return gp_resource_names[leak->of];
	const char *kind = leak->space < GP_SPACES ? kinds[leak->space] : NULL;
	return kind != NULL ? kind : "object";
}
