/* The default clock and the job's (cupti_clock.h). */
#include "cupti_clock.h"

#include <stdatomic.h>
#include <time.h>

#define SECOND_NS 1000000000ull
#define HOUR_NS (3600 * SECOND_NS)

static gp_cupti_time *_Atomic job_clock;
/* both clocks, when the job registered its own */
static _Atomic uint64_t first_ns, first_job;
/* CUPTI's default: CLOCK_REALTIME, but not on WSL (cupti_activity.h); UNKNOWN: none that we know */
#define UNKNOWN -1
static _Atomic int default_clock = UNKNOWN;

static uint64_t clock_read(int id)
{
	struct timespec now;
	clock_gettime(id, &now);
	return (uint64_t)now.tv_sec * SECOND_NS + (uint64_t)now.tv_nsec;
}

static bool clock_is_near(uint64_t now, int id)
{
	return clock_read(id) + SECOND_NS - now < 2 * SECOND_NS;
}

void gp_cupti_clock_prepare(const struct gp_cupti *cupti)
{
	static const int known[] = { CLOCK_REALTIME, CLOCK_MONOTONIC_RAW };
	uint64_t now = 0;
	if (atomic_load(&job_clock) || !cupti->cuptiGetTimestamp ||
	    cupti->cuptiGetTimestamp(&now) != GP_CUPTI_SUCCESS)
		return;
	for (unsigned k = 0; k < 2 && atomic_load(&default_clock) == UNKNOWN; k++)
		if (clock_is_near(now, known[k]))
			atomic_store(&default_clock, known[k]);
}

static uint64_t clock_read_default(void)
{
	const int id = atomic_load(&default_clock);
	return clock_read(id == UNKNOWN ? CLOCK_REALTIME : id);
}

#define READINGS 5u

/* One moment of both clocks: the best of some readings. A scale over milliseconds needs that. */
static void clock_read_both(gp_cupti_time *function, uint64_t *ns, uint64_t *job)
{
	uint64_t best = UINT64_MAX;
	for (unsigned k = 0; k < READINGS; k++) {
		const uint64_t before = clock_read_default(), now = function(),
			       within = clock_read_default() - before;
		if (within >= best)
			continue;
		best = within;
		*ns = before + within / 2;
		*job = now;
	}
}

void gp_cupti_clock_register(gp_cupti_time *function)
{
	uint64_t ns = 0, job = 0;
	if (!function || atomic_load(&job_clock) == function)
		return;
	clock_read_both(function, &ns, &job);
	atomic_store(&first_ns, ns);
	atomic_store(&first_job, job);
	atomic_store(&job_clock, function);
}

uint64_t gp_cupti_clock(const struct gp_cupti *cupti)
{
	const int id = atomic_load(&default_clock);
	uint64_t now = 0;
	if (atomic_load(&job_clock) || !cupti->cuptiGetTimestamp ||
	    cupti->cuptiGetTimestamp(&now) != GP_CUPTI_SUCCESS)
		return clock_read_default();
	/* far off: the job registers its clock at this moment */
	return id == UNKNOWN || clock_is_near(now, id) ? now : clock_read(id);
}

struct gp_cupti_scale gp_cupti_scale_get(const struct gp_cupti *cupti)
{
	gp_cupti_time *function = atomic_load(&job_clock);
	struct gp_cupti_scale scale = { .now_ns = gp_cupti_clock(cupti) };
	if (!function)
		return scale;
	clock_read_both(function, &scale.now_ns, &scale.job_now);
	const uint64_t job = scale.job_now - atomic_load(&first_job),
		       ns = scale.now_ns - atomic_load(&first_ns);
	scale.ns = job && ns ? (double)ns / (double)job : 1;
	return scale;
}

uint64_t gp_cupti_scale_ns(const struct gp_cupti_scale *scale, uint64_t time)
{
	/* a clock that began less than an hour ago would make it a moment of the last hour */
	if (time == 0)
		return 0;
	/* a record may be from before the job's clock; a clock may be a little behind */
	if (scale->now_ns + SECOND_NS - time < HOUR_NS)
		return time;
	const double past = (double)(int64_t)(scale->job_now - time) * scale->ns;
	if (scale->ns == 0 || past > (double)HOUR_NS || past < -(double)SECOND_NS)
		return 0;
	return scale->now_ns - (uint64_t)(int64_t)past;
}
