/* Our side of a scenario, through the sink. All of it does nothing in a bare run. */
#ifndef OUR_SIDE_H
#define OUR_SIDE_H

#include "profiling_job.h"

static void ours_start(void)
{
	if (!sink)
		return;
	sink->source->start();
	while (!*sink->fact())
		usleep(1000);
	usleep(20000); /* the phase that follows */
}

static void ours_window(bool is_open, uint32_t number)
{
	if (sink)
		sink->source->window(is_open, number);
}

/* Beside a job that uses CUPTI, the collecting thread opens and closes windows. */
static void ours_switch(bool is_open, uint32_t number)
{
	ours_window(is_open, number);
	while (sink && sink->states(is_open ? GP_GPU_TIME_ON : GP_GPU_TIME_OFF) < number)
		usleep(1000);
}

static void ours_end(void)
{
	if (sink)
		sink->source->end();
}

static void must_collect(void)
{
	must(!sink || strncmp(sink->fact(), "yes CUPTI ", 10) == 0);
}

static bool is_refused_for(const char *why)
{
	return !sink || (strncmp(sink->fact(), "no ", 3) == 0 && strstr(sink->fact(), why));
}

static struct span profile(unsigned number)
{
	job_start();
	const struct span span = work(number);
	job_stop();
	job_collect();
	job_has(span);
	return span;
}

#endif
