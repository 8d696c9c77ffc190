/*
 * A gap begins when the last operation of a device so far has ended, and ends with the next one. It
 * is due to what the host did in it: a module that it loaded, as a compiler runs before the load;
 * data that it loaded for more than half of it; else a wait in which the GPU ran out of work; else
 * another wait.
 */
#include "gpu_gaps.h"

#include <stdlib.h>

#include "../../read/file/recording.h"

#define SLACK_NS 10000 /* a call takes some microseconds to reach the GPU, and to return from it */

/* Moments of a damaged recording may be any numbers. */
static int64_t earlier(int64_t ns, int64_t by_ns)
{
	return ns < INT64_MIN + by_ns ? INT64_MIN : ns - by_ns;
}

static int64_t span_ns(int64_t from_ns, int64_t to_ns)
{
	int64_t ns;
	if (to_ns <= from_ns)
		return 0;
	return __builtin_sub_overflow(to_ns, from_ns, &ns) ? INT64_MAX : ns;
}

/* ---- gaps ---- */

static int64_t clipped(int64_t ns, int64_t from_ns, int64_t to_ns)
{
	return ns < from_ns ? from_ns : ns > to_ns ? to_ns : ns;
}

static void gap_add(struct gp_gpu_gaps *out, const struct gp_gpu *gpu,
		    const struct gp_gpu_operation *op, int64_t from_ns, int64_t to_ns)
{
	struct gp_gpu_gap *gap = &out->gap[out->gaps++];
	*gap = (struct gp_gpu_gap){
		.from_ns = from_ns, .to_ns = to_ns, .launched_ns = INT64_MAX, .device = op->device
	};
	if (op->launch == GP_GPU_NO_LAUNCH)
		return;
	const struct gp_gpu_launch *launch = &gpu->launch[op->launch];
	gap->stack = launch->stack;
	if (op->join == GP_GPU_JOINED && op->kind == GP_GPU_IS_KERNEL)
		gap->launched_ns = launch->at_ns;
}

static bool gaps_list(struct gp_gpu_gaps *out, const struct gp_gpu *gpu, int64_t from_ns,
		      int64_t to_ns)
{
	int64_t busy_ns[GP_DEVICES + 1];
	out->gap = malloc((gpu->operations + 1) * sizeof *out->gap);
	if (out->gap == NULL)
		return false;
	for (unsigned k = 0; k <= GP_DEVICES; k++)
		busy_ns[k] = INT64_MAX; /* nothing is known before the first operation */
	for (size_t k = 0; k < gpu->operations; k++) {
		const struct gp_gpu_operation *op = &gpu->operation[k];
		int64_t *busy = &busy_ns[op->device < GP_DEVICES ? op->device : GP_DEVICES];
		int64_t end_ns;
		if (op->took_ns > INT64_MAX ||
		    __builtin_add_overflow(op->at_ns, (int64_t)op->took_ns, &end_ns))
			end_ns = INT64_MAX;
		const int64_t begin_ns = clipped(*busy, from_ns, to_ns);
		const int64_t next_ns = clipped(op->at_ns, from_ns, to_ns);
		if (next_ns > begin_ns)
			gap_add(out, gpu, op, begin_ns, next_ns);
		if (*busy == INT64_MAX || end_ns > *busy)
			*busy = end_ns;
	}
	return true;
}

enum gp_status gp_gpu_gaps_find(struct gp_recording *recording, int64_t from_ns, int64_t to_ns,
				struct gp_gpu_gaps *out)
{
	struct gp_gpu gpu;
	*out = (struct gp_gpu_gaps){ .off_ns = INT64_MAX };
	enum gp_status status = gp_gpu_build(recording, false, &gpu);
	if (status != GP_OK)
		return status;
	out->is_known = gpu.operations != 0 && gpu.clock_within_ns >= 0 && gpu.beyond == 0;
	out->lost = gpu.dropped + gpu.lost;
	out->slack_ns = SLACK_NS + (gpu.clock_within_ns > 0 ? gpu.clock_within_ns : 0);
	gp_looks_open_bytes(&out->looks, recording->file.bytes);
	if (out->is_known && !gaps_list(out, &gpu, from_ns, to_ns))
		status = GP_E_MEMORY;
	gp_gpu_free(&gpu);
	return status == GP_OK ? gp_recording_rewind(recording) : status;
}

void gp_gpu_gaps_release(struct gp_gpu_gaps *gaps)
{
	free(gaps->gap);
	free(gaps->activity);
	*gaps = (struct gp_gpu_gaps){ 0 };
}

/* ---- activities ---- */

bool gp_gpu_gaps_add(struct gp_gpu_gaps *gaps, struct gp_gpu_gap_activity activity)
{
	if (!gaps->is_known)
		return true;
	if (gaps->activities == gaps->room) {
		const size_t room = gaps->room ? 2 * gaps->room : 1024;
		struct gp_gpu_gap_activity *more = realloc(gaps->activity, room * sizeof *more);
		if (more == NULL)
			return false;
		gaps->activity = more;
		gaps->room = room;
	}
	gaps->activity[gaps->activities++] = activity;
	return true;
}

bool gp_gpu_gaps_switch(struct gp_gpu_gaps *gaps, const struct gp_record *r, int64_t at_ns)
{
	if (r->aux == GP_GPU_TIME_OFF || r->aux == GP_GPU_TIME_TAKEN) {
		gaps->off_ns = at_ns;
		return true;
	}
	if (r->aux != GP_GPU_TIME_ON || gaps->off_ns == INT64_MAX)
		return true;
	const struct gp_gpu_gap_activity off = { .from_ns = gaps->off_ns,
						 .to_ns = at_ns,
						 .place = GP_GPU_GAP_NOWHERE,
						 .doing = GP_GPU_GAP_UNKNOWN,
						 .device = GP_DEVICE_UNKNOWN };
	gaps->off_ns = INT64_MAX;
	return gp_gpu_gaps_add(gaps, off);
}

/* ---- reasons ---- */

static int by_begin(const void *left, const void *right)
{
	const struct gp_gpu_gap_activity *a = left, *b = right;
	if (a->from_ns != b->from_ns)
		return a->from_ns < b->from_ns ? -1 : 1;
	if (a->to_ns != b->to_ns)
		return a->to_ns < b->to_ns ? -1 : 1;
	return (a->place > b->place) - (a->place < b->place);
}

static int gap_by_begin(const void *left, const void *right)
{
	const struct gp_gpu_gap *a = left, *b = right;
	if (a->from_ns != b->from_ns)
		return a->from_ns < b->from_ns ? -1 : 1;
	return (a->device > b->device) - (a->device < b->device);
}

/* Index behind the last activity that began before `ns`. */
static size_t gaps_before(const struct gp_gpu_gaps *gaps, int64_t ns)
{
	size_t low = 0, high = gaps->activities;
	while (low < high) {
		const size_t middle = low + (high - low) / 2;
		if (gaps->activity[middle].from_ns < ns)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

/* The activities around a gap: of each kind the one that explains most. */
struct around {
	struct gp_gpu_gap_activity *loaded, *worked, *drained, *waited;
	int64_t worked_ns, waited_ns; /* in the gap */
	bool is_unknown;
};

static void around_add(struct around *a, const struct gp_gpu_gaps *gaps,
		       const struct gp_gpu_gap *gap, struct gp_gpu_gap_activity *t)
{
	const int64_t from_ns = t->from_ns > gap->from_ns ? t->from_ns : gap->from_ns;
	const int64_t to_ns = t->to_ns < gap->to_ns ? t->to_ns : gap->to_ns;
	const int64_t in_ns = span_ns(from_ns, to_ns);
	if (t->doing == GP_GPU_GAP_UNKNOWN) {
		a->is_unknown |= in_ns > 0;
	} else if (t->doing == GP_GPU_GAP_LOADED) {
		if (t->to_ns >= gap->from_ns &&
		    (a->loaded == NULL ||
		     t->to_ns - t->from_ns > a->loaded->to_ns - a->loaded->from_ns))
			a->loaded = t;
	} else if (t->doing == GP_GPU_GAP_WORKED) {
		if (in_ns > a->worked_ns) {
			a->worked = t;
			a->worked_ns = in_ns;
		}
	} else if (t->device == gap->device || t->device == GP_DEVICE_UNKNOWN) {
		if (earlier(t->from_ns, gaps->slack_ns) <= gap->from_ns &&
		    (a->drained == NULL || t->to_ns > a->drained->to_ns))
			a->drained = t;
		if (in_ns > a->waited_ns) {
			a->waited = t;
			a->waited_ns = in_ns;
		}
	}
}

/* False: too many activities lie around it. */
static bool look_around(struct gp_gpu_gaps *gaps, const struct gp_gpu_gap *gap, struct around *out)
{
	const int64_t since_ns = earlier(gap->from_ns, gaps->slack_ns);
	*out = (struct around){ 0 };
	for (size_t k = gaps_before(gaps, gap->to_ns); k-- > 0;) {
		struct gp_gpu_gap_activity *t = &gaps->activity[k];
		if (t->last_ns < since_ns)
			break;
		if (!gp_looks_take(&gaps->looks, 1))
			return false;
		if (t->to_ns >= since_ns)
			around_add(out, gaps, gap, t);
	}
	return true;
}

static enum gp_gpu_gap_due gap_due(struct gp_gpu_gaps *gaps, const struct gp_gpu_gap *gap,
				   struct gp_gpu_gap_activity **activity)
{
	struct around a;
	*activity = NULL;
	if (!look_around(gaps, gap, &a) || a.is_unknown)
		return GP_GPU_GAP_TO_NOTHING;
	if (gap->launched_ns < earlier(gap->from_ns, gaps->slack_ns))
		return GP_GPU_GAP_TO_GPU;
	if (a.loaded != NULL)
		*activity = a.loaded;
	else if (a.worked_ns > span_ns(gap->from_ns, gap->to_ns) / 2)
		*activity = a.worked;
	else
		*activity = a.drained != NULL ? a.drained : a.waited;
	if (*activity == NULL)
		return GP_GPU_GAP_TO_HOST;
	return (*activity)->place == GP_GPU_GAP_NOWHERE ? GP_GPU_GAP_TO_NOTHING :
							  GP_GPU_GAP_TO_PLACE;
}

void gp_gpu_gaps_explain(struct gp_gpu_gaps *gaps,
			 void (*see)(void *context, const struct gp_gpu_gap *gap,
				     enum gp_gpu_gap_due due, struct gp_gpu_gap_activity *activity),
			 void *context)
{
	int64_t last_ns = INT64_MIN;
	if (gaps->activities)
		qsort(gaps->activity, gaps->activities, sizeof *gaps->activity, by_begin);
	for (size_t k = 0; k < gaps->activities; k++) {
		if (gaps->activity[k].to_ns > last_ns)
			last_ns = gaps->activity[k].to_ns;
		gaps->activity[k].last_ns = last_ns;
	}
	if (gaps->gaps)
		qsort(gaps->gap, gaps->gaps, sizeof *gaps->gap, gap_by_begin);
	for (size_t k = 0; k < gaps->gaps; k++) {
		struct gp_gpu_gap_activity *activity;
		const enum gp_gpu_gap_due due = gap_due(gaps, &gaps->gap[k], &activity);
		see(context, &gaps->gap[k], due, activity);
	}
}
