/*
 * A job that collects CUPTI's activity as torch.profiler does, while libgpuprof-cupti.so may
 * collect, too. Each scenario checks that both have every operation of their time, once. Without
 * the preload, the same scenario checks the job and the fake CUPTI alone.
 *   shared_cupti SCENARIO
 */
#include "our_side.h"

/* ---- scenarios ---- */

static void job_alone(void)
{
	profile(1000);
	work(100);
	profile(5000);
	must(buffers_out == 0);
}

static void ours_alone(void)
{
	ours_start();
	must_collect();
	const struct span span = work(20000);
	ours_end();
	if (span.to > span.from) /* bare: nothing enables the fake */
		ours_have(span);
	must(!sink || (sink->operations() == length(span) && sink->clocks() >= 2));
}

static void ours_first(void)
{
	ours_start();
	must_collect();
	const struct span first = work(sink ? 2000 : 0), second = profile(2000);
	work(300);
	profile(3000);
	const struct span last = work(1000);
	ours_end();
	ours_have(both(sink ? first : second, sink ? last : second));
	ours_are(length(both(first, last)));
	profile(500); /* the job goes on */
}

static void job_first(void)
{
	profile(1000);
	job_start();
	const struct span before = work(1000);
	ours_start();
	must_collect();
	const struct span during = work(1000);
	job_stop();
	job_collect();
	job_has(both(before, during));
	const struct span after = work(sink ? 500 : 0);
	ours_end();
	ours_have(sink ? both(during, after) : during);
}

/* the job's profile begins and ends twice inside a window; then a window inside of a profile */
static void windows(void)
{
	ours_start();
	profile(300);
	work(100);
	ours_are(0);
	ours_switch(true, 1);
	const struct span first = work(sink ? 100 : 0), second = profile(1000);
	work(100);
	profile(1000);
	const struct span last = work(sink ? 100 : 0);
	ours_switch(false, 1);
	work(100);
	profile(1000);
	job_start();
	const struct span before = work(1000);
	ours_switch(true, 2);
	const struct span inside = work(1000);
	ours_switch(false, 2);
	const struct span after = work(1000);
	job_stop();
	job_collect();
	job_has(both(before, after));
	ours_end();
	ours_have(sink ? both(first, last) : second);
	ours_have(inside);
	must(!sink || (sink->states(GP_GPU_TIME_ON) == 2 && sink->states(GP_GPU_TIME_OFF) == 2));
	for (unsigned k = 0; k < sizeof job_kinds / sizeof *job_kinds; k++)
		must(!fake_cupti_is_enabled((int)job_kinds[k]));
}

/* the job flushes while work is under way */
static void job_flushes(void)
{
	ours_start();
	job_start();
	struct span all = { fake_cupti_last_correlation() + 1, 0 };
	for (unsigned k = 0; k < 200; k++) {
		launch(50);
		must(cuptiActivityFlushAll(0) == 0);
		job_read();
	}
	all.to = fake_cupti_last_correlation();
	fake_cupti_await();
	job_stop();
	job_collect();
	job_has(all);
	ours_end();
	ours_have(all);
}

static void tiny_buffers(void)
{
	ours_start();
	buffer_bytes = 1000;
	const struct span first = profile(2000);
	records_most = 3;
	buffer_bytes = 1 << 16;
	const struct span second = profile(2000);
	ours_end();
	ours_have(both(first, second));
}

/* full buffers, as few as CUPTI alone needs */
static void fills_buffers(void)
{
	ours_start();
	profile(50000);
	must(buffers_most_out <= 8);
	ours_end();
}

/* CUPTI hands buffers over by itself, and the job never flushes */
static void periodic(void)
{
	ours_start();
	job_start();
	const struct span span = work(1000);
	for (unsigned k = 0; k < 1000 && missing_in(seen, span); k++) {
		usleep(10000);
		job_read();
	}
	job_has(span);
	job_stop();
	ours_end();
	ours_have(span);
}

static void no_buffers(void)
{
	ours_start();
	refuses = true;
	job_start();
	const struct span span = work(500);
	job_stop();
	job_collect();
	size_t number = 0;
	must(cuptiActivityGetNumDroppedRecords(NULL, 0, &number) == 0);
	must(number + dropped == 3 * length(span)); /* each has two calls, too */
	must(buffers_refused != 0 && buffers_out == 0);
	ours_end();
	ours_have(span);
	must(!sink || sink->states(GP_GPU_TIME_DROPPED) == 0);
	refuses = false;
	profile(100);
}

static void held(void)
{
	void *subscriber;
	must(cuptiSubscribe(&subscriber, NULL, NULL) == GP_CUPTI_MULTIPLE_SUBSCRIBERS);
	ours_start();
	must(is_refused_for("serves one tool at a time"));
	must(cuptiActivityRegisterCallbacks(on_request, on_complete) ==
	     GP_CUPTI_MULTIPLE_SUBSCRIBERS);
	ours_end();
}

/* begins with the process: a machine may have been up for less than an hour */
static uint64_t count_up(void)
{
	static uint64_t first;
	struct timespec now;
	clock_gettime(CLOCK_MONOTONIC, &now);
	const uint64_t ns = (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
	first = first ? first : ns - 1;
	return (ns - first) * 3;
}

static void await_refusal(void)
{
	while (sink && strncmp(sink->fact(), "no ", 3) != 0)
		usleep(1000);
	must(is_refused_for("serves one tool at a time"));
}

/* CUPTI is opened with the first window, and refuses then */
static void held_window(void)
{
	void *subscriber;
	ours_start();
	must_collect();
	ours_window(true, 1);
	await_refusal();
	ours_window(false, 1);
	must(cuptiSubscribe(&subscriber, NULL, NULL) == GP_CUPTI_MULTIPLE_SUBSCRIBERS);
	work(10);
	ours_window(true, 2);
	ours_end();
	ours_are(0);
	must(!sink || sink->states(GP_GPU_TIME_ON) == 0);
}

/* CUPTI refuses the second window, and serves the third */
static void held_between(void)
{
	ours_start();
	ours_switch(true, 1);
	const struct span first = work(sink ? 100 : 0);
	ours_switch(false, 1);
	setenv("FAKE_CUPTI_HELD", "1", 1);
	ours_window(true, 2);
	if (sink)
		await_refusal();
	ours_window(false, 2);
	unsetenv("FAKE_CUPTI_HELD");
	ours_window(true, 3);
	while (sink && sink->states(GP_GPU_TIME_ON) < 2)
		usleep(1000);
	const struct span third = work(sink ? 100 : 0);
	ours_end();
	if (!sink)
		return;
	ours_have(first);
	ours_have(third);
}

/* A profiler registers its clock under the lock that its callbacks take. */
static void locked_clock(void)
{
	ours_start();
	buffer_bytes = 20000;
	job_start();
	const struct span span = work(500);
	pthread_mutex_lock(&lock);
	must(cuptiActivityRegisterTimestampCallback(count_up) == 0);
	pthread_mutex_unlock(&lock);
	job_stop();
	job_collect();
	job_has(span);
	ours_end();
}

/* The profiler goes on after our end. */
static void clock_after_end(void)
{
	ours_start();
	ours_end();
	job_start();
	const struct span first = work(500);
	must(cuptiActivityRegisterTimestampCallback(count_up) == 0);
	const struct span second = work(500);
	job_stop();
	job_collect();
	job_has(both(first, second));
}

static void old_cupti(void)
{
	ours_start();
	must(is_refused_for("older than CUDA 11.1"));
	profile(100);
	ours_end();
}

static void part_missing(void)
{
	ours_start();
	must(is_refused_for("lacks cuptiActivityGetNumDroppedRecords"));
	ours_end();
}

static void two_libraries(void)
{
	must(dlopen("libcupti.so.12", RTLD_NOW | RTLD_LOCAL));
	ours_start();
	must(is_refused_for("two CUPTI libraries"));
	profile(1000);
	ours_end();
}

/* as torch.profiler with TEARDOWN_CUPTI=1 */
static void finalizes(void)
{
	void *subscriber;
	ours_start();
	must(cuptiSubscribe(&subscriber, NULL, NULL) == GP_CUPTI_SUCCESS);
	must(cuptiSubscribe(&subscriber, NULL, NULL) == GP_CUPTI_MULTIPLE_SUBSCRIBERS);
	job_start();
	struct span span = work(1000);
	job_collect();
	must(cuptiFinalize() == 0);
	job_read();
	job_has(span);
	must(buffers_out == 0);
	must(cuptiSubscribe(&subscriber, NULL, NULL) == GP_CUPTI_SUCCESS);
	const struct span after = work(sink ? 500 : 0);
	ours_end();
	ours_have(sink ? both(span, after) : span);
	must(cuptiActivityRegisterCallbacks(on_request, on_complete) == 0);
	profile(100);
	must(cuptiFinalize() == 0);
	must(cuptiActivityRegisterCallbacks(on_request, on_complete) == 0);
	profile(100);
}

static void kernel_kinds(void)
{
	must(cuptiActivityRegisterCallbacks(on_request, on_complete) == 0);
	ours_start();
	const struct span first = work(sink ? 100 : 0);
	must(cuptiActivityEnable(GP_CUPTI_KERNEL) == 0);
	must(cuptiActivityEnable(GP_CUPTI_CONCURRENT_KERNEL) != 0);
	const struct span second = work(100);
	must(cuptiActivityDisable(GP_CUPTI_KERNEL) == 0);
	const struct span third = work(sink ? 100 : 0);
	job_collect();
	must(extra_outside(seen, second) == 0);
	ours_end();
	ours_have(sink ? both(first, third) : second);
}

static void contexts(void)
{
	void *context = (void *)0x1000;
	must(cuptiActivityRegisterCallbacks(on_request, on_complete) == 0);
	ours_start();
	must(cuptiActivityEnableContext(context, GP_CUPTI_CONCURRENT_KERNEL) == 0);
	struct span span = work(100);
	must(cuptiActivityDisableContext(context, GP_CUPTI_CONCURRENT_KERNEL) == 0);
	job_collect();
	must(extra_outside(seen, span) == 0 && extra_outside(seen, (struct span){ 1, 0 }) == 100);
	const struct span after = work(sink ? 100 : 0);
	ours_end();
	ours_have(sink ? both(span, after) : (struct span){ 1, 0 });
	must(!fake_cupti_is_enabled(GP_CUPTI_CONCURRENT_KERNEL));
}

/*
 * The second profile has another clock than the first, as torch.profiler's TSC, and registers it
 * while our records wait for a flush.
 */
static void own_clock(void)
{
	ours_start();
	const struct span first = profile(1000);
	work(sink ? 300 : 0);
	must(cuptiActivityRegisterTimestampCallback(count_up) == 0);
	profile(1000);
	work(sink ? 300 : 0);
	must(cuptiActivityRegisterTimestampCallback(count_up) == 0);
	const struct span last = profile(1000);
	ours_end();
	ours_have(both(first, last));
	must(!sink ||
	     (sink->states(GP_GPU_TIME_LOST) == 0 && sink->states(GP_GPU_TIME_DROPPED) == 0));
}

/* A profile from before our window to after it: only the window's second reaches us. */
static void window_within(void)
{
	ours_start();
	must(cuptiActivityRegisterTimestampCallback(count_up) == 0);
	for (uint32_t k = 1; k <= 3; k++) {
		job_start();
		const struct span before = work(500);
		ours_switch(true, k);
		const struct span inside = work(500);
		ours_switch(false, k);
		if (sink) /* longer than operations of the window may begin after it */
			usleep(1100000);
		const struct span after = work(500);
		job_stop();
		job_collect();
		job_has(both(before, after));
		ours_have(inside);
		ours_are(k * length(inside));
	}
	ours_end();
}

static void forks(void)
{
	ours_start();
	job_start();
	const struct span before = work(1000);
	const pid_t child = fork();
	if (child == 0) {
		size_t number;
		cuptiActivityGetNumDroppedRecords(NULL, 0, &number);
		cuptiActivityEnable(GP_CUPTI_MEMCPY);
		cuptiActivityDisable(GP_CUPTI_MEMCPY);
		ours_window(true, 9);
		ours_end();
		exit(0);
	}
	int status = 1;
	must(waitpid(child, &status, 0) == child && status == 0);
	const struct span after = work(1000);
	job_stop();
	job_collect();
	job_has(both(before, after));
	ours_end();
	ours_have(both(before, after));
}

/* exit while kinds are enabled, buffers are out, and operations are under way */
static void exits(void)
{
	ours_start();
	job_start();
	launch(3000);
	exit(0);
}

static void exits_window(void)
{
	ours_start();
	ours_switch(true, 1);
	exits(); /* does not return */
}

/* the end comes while the last operations are under way */
static void ends_early(void)
{
	ours_start();
	const struct span first = work(sink ? 100 : 0);
	launch(3000);
	ours_end();
	const uint32_t last = fake_cupti_last_correlation();
	if (sink)
		ours_have((struct span){ first.from, last - 500 });
}

static _Atomic bool is_stopping;

static void *launch_some(void *number)
{
	must(driver_use(&driver, 0));
	launch(*(unsigned *)number);
	return NULL;
}

static void *open_windows(void *unused)
{
	for (uint32_t k = 1; !atomic_load(&is_stopping); k++) {
		ours_window(true, k);
		usleep(300);
		ours_window(false, k);
		usleep(300);
	}
	return unused;
}

static void *flush_often(void *unused)
{
	while (!atomic_load(&is_stopping)) {
		cuptiActivityFlushAll(0);
		usleep(500);
	}
	return unused;
}

/* 12 threads launch, while another flushes and one opens and closes windows */
static void threads(void)
{
	pthread_t thread[12], other[2];
	unsigned number = 10000;
	ours_start();
	buffer_bytes = 1 << 16;
	for (unsigned turn = 0; turn < 2; turn++) {
		atomic_store(&is_stopping, false);
		job_start();
		must(pthread_create(&other[0], NULL, flush_often, NULL) == 0);
		must(pthread_create(&other[1], NULL, open_windows, NULL) == 0);
		struct span span = { fake_cupti_last_correlation() + 1, 0 };
		for (unsigned k = 0; k < 12; k++)
			must(pthread_create(&thread[k], NULL, launch_some, &number) == 0);
		for (unsigned k = 0; k < 12; k++)
			pthread_join(thread[k], NULL);
		atomic_store(&is_stopping, true);
		pthread_join(other[0], NULL);
		pthread_join(other[1], NULL);
		span.to = fake_cupti_last_correlation();
		fake_cupti_await();
		job_stop();
		job_collect();
		job_has(span);
	}
	ours_end();
}

/* as `threads`, with ours on all the time */
static void threads_always(void)
{
	const uint32_t from = fake_cupti_last_correlation() + 1;
	threads();
	ours_have((struct span){ from, fake_cupti_last_correlation() });
}

static const struct {
	const char *name;
	void (*run)(void);
} scenarios[] = {
#define SCENARIO(name)      \
	{                   \
#name, name \
	}
	SCENARIO(job_alone),	  SCENARIO(ours_alone),
	SCENARIO(ours_first),	  SCENARIO(job_first),
	SCENARIO(windows),	  SCENARIO(job_flushes),
	SCENARIO(tiny_buffers),	  SCENARIO(fills_buffers),
	SCENARIO(no_buffers),	  SCENARIO(held),
	SCENARIO(old_cupti),	  SCENARIO(part_missing),
	SCENARIO(two_libraries),  SCENARIO(finalizes),
	SCENARIO(kernel_kinds),	  SCENARIO(contexts),
	SCENARIO(own_clock),	  SCENARIO(forks),
	SCENARIO(exits),	  SCENARIO(ends_early),
	SCENARIO(periodic),	  SCENARIO(threads),
	SCENARIO(threads_always), SCENARIO(window_within),
	SCENARIO(held_window),	  SCENARIO(held_between),
	SCENARIO(locked_clock),	  SCENARIO(clock_after_end),
	SCENARIO(exits_window),
};

int main(int argc, char **argv)
{
	CUmodule module;
	sink = dlsym(RTLD_DEFAULT, "gpu_sink");
	if (sink && !sink->source)
		sink = NULL;
	driver = need_driver(FROM_DLSYM);
	*(void **)&set_memory = dlsym(dlopen("libcuda.so.1", RTLD_LAZY), "cuMemsetD8_v2");
	must(set_memory);
	must(driver.cuModuleLoadData(&module, "") == 0);
	must(driver.cuModuleGetFunction(&kernel, module, "some_kernel") == 0);
	memory = must_alloc(&driver, 4096);
	for (unsigned k = 0; argc > 1 && k < sizeof scenarios / sizeof *scenarios; k++)
		if (strcmp(scenarios[k].name, argv[1]) == 0) {
			scenarios[k].run();
			return 0;
		}
	fprintf(stderr, "no such scenario\n");
	return 2;
}
