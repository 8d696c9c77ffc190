/*
 * A gap begins when the last operation of a device so far has ended, and ends with the next one. It
 * is due to what the host did in it: a module that it loaded, as a compiler runs before the load;
 * data that it loaded for more than half of it; else a wait in which the GPU ran out of work. Of
 * other gaps, each activity has the part that it took, and late launches have the rest.
 *
 * The host may have launched work ahead of the GPU. If the GPU finishes that work in an activity,
 * the host has lost this advance. Late launches after it are due to the activity as well, up to the
 * advance in sum.
 *
 * An allocation does not wait for the GPU. The part of the call in which the GPU was busy delays
 * the host, too: up to that time, late launches after it are due to the allocation, until the host
 * waits for the GPU.
 *
 * If freed memory is allocated again, the host may be late at each of the calls. Then the advance
 * at the free is too small a bound. All late launches after the free are due to it until the host
 * is ahead again, if it is so before the last of these allocations has ended.
 */
#include "gpu_gaps.h"

#include <stdlib.h>

#include "../../read/file/recording.h"
#include "wait_rows.h"
#include "waits_observe.h"

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
		    const struct gp_gpu_operation *op, int64_t from_ns, int64_t to_ns,
		    bool is_unknown)
{
	struct gp_gpu_gap *gap = &out->gap[out->gaps++];
	*gap = (struct gp_gpu_gap){ .from_ns = from_ns,
				    .to_ns = to_ns,
				    .launched_ns = INT64_MAX,
				    .device = op->device,
				    .is_unknown = is_unknown };
	if (op->launch == GP_GPU_NO_LAUNCH)
		return;
	const struct gp_gpu_launch *launch = &gpu->launch[op->launch];
	gap->stack = launch->stack;
	/* a copy may block the host until it has begun: its call must have returned */
	if (op->join == GP_GPU_JOINED)
		gap->launched_ns =
			op->kind == GP_GPU_IS_KERNEL ? launch->at_ns : launch->returned_ns;
}

/* Up to a launch: how many have no operation, and of these how many may be of its device. */
struct alone {
	uint32_t all, of_device;
};

/* One for each launch. NULL: out of memory. */
static struct alone *alone_count(const struct gp_gpu *gpu)
{
	struct alone *alone = malloc((gpu->launches + 1) * sizeof *alone);
	uint32_t all = 0, of_device[GP_DEVICES] = { 0 }, unknown = 0;
	for (size_t k = 0; alone != NULL && k < gpu->launches; k++) {
		const struct gp_gpu_launch *l = &gpu->launch[k];
		const bool is_known = l->device < GP_DEVICES;
		uint32_t *count = is_known ? &of_device[l->device] : &unknown;
		const bool is_alone = !l->has_operation && !l->is_optional;
		all += is_alone;
		*count += is_alone;
		alone[k] = (struct alone){ all, *count + (is_known ? unknown : 0) };
	}
	return alone;
}

/* A launch between those of two operations of a device has none, and may be of the device. */
static bool is_one_lost(const struct gp_gpu *gpu, const struct alone *alone, unsigned device,
			uint32_t before, uint32_t after)
{
	if (before == GP_GPU_NO_LAUNCH || after == GP_GPU_NO_LAUNCH)
		return false;
	if (gpu->launch[before].device != device || gpu->launch[after].device != device)
		return alone[before].all != alone[after].all;
	return alone[before].of_device != alone[after].of_device;
}

/* A device's operations so far. */
struct busy {
	int64_t end_ns;	 /* INT64_MAX: there was none */
	uint32_t launch; /* of the operation that ended last */
};

static bool gaps_list(struct gp_gpu_gaps *out, const struct gp_gpu *gpu)
{
	struct busy busy[GP_DEVICES + 1];
	struct alone *alone = alone_count(gpu);
	out->gap = malloc((gpu->operations + 1) * sizeof *out->gap);
	if (out->gap == NULL || alone == NULL) {
		free(alone);
		return false;
	}
	for (unsigned k = 0; k <= GP_DEVICES; k++)
		busy[k] = (struct busy){ INT64_MAX, GP_GPU_NO_LAUNCH };
	for (size_t k = 0; k < gpu->operations; k++) {
		const struct gp_gpu_operation *op = &gpu->operation[k];
		struct busy *d = &busy[op->device < GP_DEVICES ? op->device : GP_DEVICES];
		int64_t end_ns;
		if (op->took_ns > INT64_MAX ||
		    __builtin_add_overflow(op->at_ns, (int64_t)op->took_ns, &end_ns))
			end_ns = INT64_MAX;
		if (op->at_ns > d->end_ns && d->end_ns < out->to_ns)
			gap_add(out, gpu, op, d->end_ns, op->at_ns,
				is_one_lost(gpu, alone, op->device, d->launch, op->launch));
		if (d->end_ns == INT64_MAX || end_ns > d->end_ns)
			*d = (struct busy){ end_ns, op->launch };
	}
	free(alone);
	return true;
}

enum gp_status gp_gpu_gaps_find(struct gp_recording *recording, int64_t from_ns, int64_t to_ns,
				const struct gp_waits_observer *observer, struct gp_gpu_gaps *out)
{
	struct gp_gpu gpu;
	*out = (struct gp_gpu_gaps){ .from_ns = from_ns, .to_ns = to_ns, .off_ns = INT64_MAX };
	enum gp_status status = gp_gpu_build(recording, observer != NULL, &gpu);
	if (status != GP_OK)
		return status;
	out->is_known = gpu.operations != 0 && gpu.clock_within_ns >= 0 && gpu.beyond == 0;
	out->lost = gpu.dropped + gpu.lost;
	out->launches_alone = gpu.launches_alone;
	out->slack_ns = SLACK_NS + (gpu.clock_within_ns > 0 ? gpu.clock_within_ns : 0);
	gp_looks_open_bytes(&out->looks, recording->file.bytes);
	if (out->is_known && !gaps_list(out, &gpu))
		status = GP_E_MEMORY;
	if (status == GP_OK && observer != NULL)
		status = observer->operations(observer->context, &gpu);
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

void gp_gpu_gaps_again(struct gp_gpu_gaps *gaps, size_t activity, int64_t at_ns)
{
	if (activity < gaps->activities)
		gaps->activity[activity].again_ns = at_ns;
}

void gp_gpu_gaps_launched(struct gp_gpu_gaps *gaps, unsigned device, uint32_t thread)
{
	for (; gaps->launched < gaps->activities; gaps->launched++) {
		struct gp_gpu_gap_activity *t = &gaps->activity[gaps->launched];
		if (t->doing == GP_GPU_GAP_ALLOCATED && t->device == device && t->thread != thread)
			t->to_ns = t->from_ns;
	}
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
	struct gp_gpu_gap_activity *loaded, *worked, *drained;
	int64_t worked_ns; /* in the gap */
	size_t first;	   /* index of the first of them */
	bool is_unknown;
};

/* The part of a gap from `since_ns` on that lies in an activity. */
static int64_t part_ns(const struct gp_gpu_gap *gap, int64_t since_ns,
		       const struct gp_gpu_gap_activity *t)
{
	return span_ns(t->from_ns > since_ns ? t->from_ns : since_ns,
		       t->to_ns < gap->to_ns ? t->to_ns : gap->to_ns);
}

static bool is_on(const struct gp_gpu_gap *gap, const struct gp_gpu_gap_activity *t)
{
	return t->device == gap->device || t->device == GP_DEVICE_UNKNOWN;
}

/* The GPU ran out of work in a call that ended at the gap's begin, or later. */
static bool has_run_out(const struct gp_gpu_gaps *gaps, const struct gp_gpu_gap *gap,
			const struct gp_gpu_gap_activity *t)
{
	/* the end of an allocation is not related to the GPU's: it must lie in the gap */
	return t->doing == GP_GPU_GAP_ALLOCATED ?
		       t->from_ns < gap->from_ns && gap->from_ns < t->to_ns :
		       earlier(t->from_ns, gaps->slack_ns) <= gap->from_ns;
}

static void around_add(struct around *a, const struct gp_gpu_gaps *gaps,
		       const struct gp_gpu_gap *gap, struct gp_gpu_gap_activity *t)
{
	const int64_t in_ns = part_ns(gap, gap->from_ns, t);
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
	} else if (is_on(gap, t) && has_run_out(gaps, gap, t) &&
		   (a->drained == NULL || t->to_ns > a->drained->to_ns)) {
		a->drained = t;
	}
}

/* False: too many activities lie around it. */
static bool look_around(struct gp_gpu_gaps *gaps, const struct gp_gpu_gap *gap, struct around *out)
{
	const int64_t since_ns = earlier(gap->from_ns, gaps->slack_ns);
	*out = (struct around){ .first = gaps_before(gaps, gap->to_ns) };
	while (out->first > 0) {
		struct gp_gpu_gap_activity *t = &gaps->activity[out->first - 1];
		if (t->last_ns < since_ns)
			break;
		if (!gp_looks_take(&gaps->looks, 2)) /* gap_divide looks again */
			return false;
		if (t->to_ns >= since_ns)
			around_add(out, gaps, gap, t);
		out->first--;
	}
	return true;
}

/* Work that the host had launched ahead of the GPU, and that a device finished in an activity. */
struct advance {
	struct gp_gpu_gap_activity *activity;
	int64_t left_ns; /* no gap is due to this part yet */
	bool is_past;	 /* the host has been ahead again */
};

/* How long allocations have delayed the host while a device was busy. */
struct delay {
	struct gp_gpu_gap_activity *activity; /* the last of them; NULL: none */
	int64_t left_ns;		      /* no gap is due to this part yet */
	size_t next;			      /* activities from here on are later */
};

struct explaining {
	struct gp_gpu_gaps *gaps;
	void (*see)(void *context, const struct gp_gpu_gap *gap, int64_t ns,
		    enum gp_gpu_gap_due due, struct gp_gpu_gap_activity *activity);
	void *context;
	struct advance advance[GP_DEVICES + 1];
	struct delay delay[GP_DEVICES + 1];
};

/* A gap before the interval counts only for the advance. */
static void part_see(struct explaining *x, const struct gp_gpu_gap *gap, int64_t ns,
		     enum gp_gpu_gap_due due, struct gp_gpu_gap_activity *activity)
{
	if (ns > 0 && gap->to_ns > x->gaps->from_ns)
		x->see(x->context, gap, ns, due, activity);
}

static void activity_see(struct explaining *x, const struct gp_gpu_gap *gap, int64_t ns,
			 struct gp_gpu_gap_activity *activity)
{
	part_see(x, gap, ns,
		 activity->place == GP_GPU_GAP_NOWHERE ? GP_GPU_GAP_TO_NOTHING :
							 GP_GPU_GAP_TO_PLACE,
		 activity);
}

/* A wait in which the GPU did not run out of work ends a delay: it would have been longer. */
static void delay_follow(struct delay *delay, const struct gp_gpu_gaps *gaps,
			 const struct gp_gpu_gap *gap)
{
	for (; delay->next < gaps->activities; delay->next++) {
		struct gp_gpu_gap_activity *t = &gaps->activity[delay->next];
		if (t->from_ns >= gap->to_ns)
			return;
		if (!is_on(gap, t))
			continue;
		if (t->doing == GP_GPU_GAP_WAITED && t->to_ns <= gap->from_ns)
			delay->left_ns = 0;
		if (t->doing != GP_GPU_GAP_ALLOCATED)
			continue;
		const int64_t ns = span_ns(t->from_ns, clipped(gap->from_ns, t->from_ns, t->to_ns));
		if (delay->activity != NULL && delay->activity->place == t->place)
			gp_ns_add(&delay->left_ns, ns);
		else if (ns > delay->left_ns)
			*delay = (struct delay){ t, ns, delay->next };
	}
}

/*
 * Until the host is ahead again, an earlier advance is missing, too: the greater one counts.
 * Without allocations of the same place the advance would have been greater, by their delay.
 */
static void advance_lose(struct advance *advance, struct delay *delay, const struct gp_gpu_gap *gap,
			 struct gp_gpu_gap_activity *activity)
{
	int64_t ns = span_ns(activity->from_ns, gap->from_ns);
	if (activity->doing == GP_GPU_GAP_ALLOCATED)
		return; /* delay_follow has it */
	if (delay->activity != NULL && delay->activity->place == activity->place)
		gp_ns_add(&ns, delay->left_ns);
	delay->left_ns = 0;
	if (advance->is_past || ns > advance->left_ns)
		*advance = (struct advance){ activity, ns, false };
}

/* The part of a late launch that time lost in an activity explains; returns the rest. */
static int64_t lost_take(struct explaining *x, const struct gp_gpu_gap *gap, int64_t late_ns,
			 struct gp_gpu_gap_activity *activity, int64_t *left_ns)
{
	const int64_t ns = late_ns < *left_ns ? late_ns : *left_ns;
	*left_ns -= ns;
	if (ns > 0)
		activity_see(x, gap, ns, activity);
	return late_ns - ns;
}

/* A gap that began in no wait: parts of activities, and a late launch. */
static void gap_divide(struct explaining *x, const struct gp_gpu_gap *gap, size_t first,
		       struct advance *advance, struct delay *delay)
{
	const struct gp_gpu_gaps *gaps = x->gaps;
	int64_t since_ns = gap->from_ns, late_ns = span_ns(gap->from_ns, gap->to_ns);
	for (size_t k = first; k < gaps->activities && gaps->activity[k].from_ns < gap->to_ns;
	     k++) {
		struct gp_gpu_gap_activity *t = &gaps->activity[k];
		const int64_t ns = is_on(gap, t) ? part_ns(gap, since_ns, t) : 0;
		if (ns == 0)
			continue;
		since_ns = t->to_ns;
		late_ns -= ns;
		activity_see(x, gap, ns, t);
	}
	late_ns = lost_take(x, gap, late_ns, advance->activity, &advance->left_ns);
	late_ns = lost_take(x, gap, late_ns, delay->activity, &delay->left_ns);
	int64_t all_ns = late_ns;
	if (advance->activity != NULL && !advance->is_past &&
	    gap->ahead_ns <= advance->activity->again_ns)
		late_ns = lost_take(x, gap, late_ns, advance->activity, &all_ns);
	part_see(x, gap, late_ns, GP_GPU_GAP_TO_HOST, NULL);
}

/* The operation after the gap was launched before it. */
static bool is_ahead(const struct gp_gpu_gaps *gaps, const struct gp_gpu_gap *gap)
{
	return !gap->is_unknown && gap->launched_ns < earlier(gap->from_ns, gaps->slack_ns);
}

static void gap_explain(struct explaining *x, const struct gp_gpu_gap *gap)
{
	struct gp_gpu_gaps *gaps = x->gaps;
	struct gp_gpu_gap part = *gap; /* in the interval, unless all of it lies before */
	const unsigned device = gap->device < GP_DEVICES ? gap->device : GP_DEVICES;
	struct advance *advance = &x->advance[device];
	struct delay *delay = &x->delay[device];
	struct around a;
	if (gap->to_ns > gaps->from_ns) {
		part.from_ns = clipped(gap->from_ns, gaps->from_ns, gaps->to_ns);
		part.to_ns = clipped(gap->to_ns, gaps->from_ns, gaps->to_ns);
	}
	const int64_t ns = span_ns(part.from_ns, part.to_ns);
	delay_follow(delay, gaps, gap);
	if (gap->is_unknown || !look_around(gaps, gap, &a) || a.is_unknown) {
		*advance = (struct advance){ 0 };
		delay->left_ns = 0;
		part_see(x, &part, ns, GP_GPU_GAP_TO_NOTHING, NULL);
		return;
	}
	if (is_ahead(gaps, gap)) {
		advance->is_past = true;
		part_see(x, &part, ns, GP_GPU_GAP_TO_GPU, NULL);
		return;
	}
	struct gp_gpu_gap_activity *activity = a.drained;
	if (a.loaded != NULL)
		activity = a.loaded;
	else if (a.worked_ns > span_ns(gap->from_ns, gap->to_ns) / 2)
		activity = a.worked;
	if (activity == NULL) {
		gap_divide(x, &part, a.first, advance, delay);
		return;
	}
	const bool has_drained = activity->from_ns < gap->from_ns || a.drained == NULL;
	advance_lose(advance, delay, gap, has_drained ? activity : a.drained);
	activity_see(x, &part, ns, activity);
}

void gp_gpu_gaps_explain(struct gp_gpu_gaps *gaps,
			 void (*see)(void *context, const struct gp_gpu_gap *gap, int64_t ns,
				     enum gp_gpu_gap_due due, struct gp_gpu_gap_activity *activity),
			 void *context)
{
	struct explaining x = { .gaps = gaps, .see = see, .context = context };
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
	int64_t ahead_ns[GP_DEVICES + 1];
	for (unsigned k = 0; k <= GP_DEVICES; k++)
		ahead_ns[k] = INT64_MAX;
	for (size_t k = gaps->gaps; k-- > 0;) {
		struct gp_gpu_gap *gap = &gaps->gap[k];
		int64_t *next_ns = &ahead_ns[gap->device < GP_DEVICES ? gap->device : GP_DEVICES];
		gap->ahead_ns = *next_ns;
		if (is_ahead(gaps, gap))
			*next_ns = gap->from_ns;
	}
	for (size_t k = 0; k < gaps->gaps; k++)
		gap_explain(&x, &gaps->gap[k]);
}
