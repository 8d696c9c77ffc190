/*
 * Chooses launches to measure, and records their values (counters.h). One launch at a time is
 * measured, of one kernel and launch shape after the other. A measurement takes as many launches as
 * the metrics need passes. The job's launches are only delayed: never repeated, never changed.
 */
#include <errno.h>
#include <pthread.h>
#include <regex.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <unistd.h>

#include "../cupti/cupti_collect.h"
#include "../cupti/cupti_process.h"
#include "../gpu/counters.h"
#include "device_samples.h"
#include "range_profiler.h"

#define AWAIT_MOST_MS 2000u
#define END_MOST_MS 1000u
#define CHOICES 4096u  /* functions, by address: a power of 2 */
#define SHAPES 1024u   /* kernels and launch shapes, a power of 2 */
#define CONTEXTS 16u   /* with a range profiler: a context each GPU of a host */
#define PATIENCE 1000u /* chosen launches of others, until a kernel that rests is given up */
#define WAIT_LEAST_MS 50u
#define WAITS_MOST 100u	 /* in vain, 100 ms each */
#define SPOILED_MOST 20u /* measurements of a kernel into which other launches came */

static const char *const usual[] = {
#define METRIC(NAME, text, operations) text,
#include "../../libgpuprof/format/usual_metrics.def"
#undef METRIC
};

enum phase { PHASE_NONE, PHASE_OPENING, PHASE_READY, PHASE_REFUSED };

/* A kernel in one launch shape, in one context. */
struct shape {
	uint64_t key; /* 0: free */
	uint32_t launches, measured, spoiled;
	bool is_over; /* measured often enough, or given up */
};

static const struct gp_counters_sink *sink;
static struct {
	_Atomic uint32_t phase;
	_Atomic uint32_t turn;	   /* 1: a thread is between begin() and end() */
	_Atomic uint32_t launches; /* of other threads in that context: they spoil the pass */
	_Atomic bool is_ending;
	void *_Atomic context; /* of the launch that is measured */
	pid_t owner;
	const struct gp_cupti *cupti; /* constant from PHASE_READY on */
	uint32_t version;	      /* of CUPTI */
	regex_t pattern;
	char *(*demangle)(const char *name, char *out, size_t *bytes, int *status);
	void (*release)(void *text);
	char names[GP_METRICS_BYTES];
	struct gp_metrics requested, metrics; /* the latter: those that the first GPU has */
	/* function << 9 | generation << 1 | is chosen; a collision only costs a second look */
	_Atomic uint64_t choice[CHOICES];
	/* the rest is of the thread that has the turn */
	struct gp_range_profiler profiler[CONTEXTS], *current;
	struct gp_range_profiler *enabled; /* of the kernel that is measured; NULL: none */
	unsigned profilers;
	struct shape shape[SHAPES], *measuring;
	uint32_t shapes, passed_by, waits;
	struct gp_gpu_kernel kernel;
	char name[1024];
	bool is_full, has_names; /* of metrics, in the recording */
} counters;

/* ---- the thread ---- */

/* NULL: done, else why not. */
static const char *counters_prepare(char *why)
{
	static const struct gp_metric_set set = { "roofline", usual, sizeof usual / sizeof *usual };
	gp_metrics_parse(&counters.requested, sink->metrics, &set, counters.names);
	if (counters.requested.count == 0)
		return "no metric is named";
	if (regcomp(&counters.pattern, sink->kernel, REG_EXTENDED | REG_NOSUB) != 0)
		return "the value of --kernel is not an extended regular expression";
	const char *refusal =
		gp_profiler_load(&counters.cupti, GP_CUPTI_API_RANGES, &counters.version, why);
	if (refusal)
		return refusal;
	/* the job's own, if it has one, and the free() that belongs to its malloc() */
	*(void **)&counters.release = gp_mapped_function("", "free");
	if (counters.release)
		*(void **)&counters.demangle = gp_mapped_function("libstdc++.so", "__cxa_demangle");
	if (atomic_load(&counters.is_ending)) /* CUPTI must not start while the driver ends */
		return "the recording ended before CUPTI was open";
	return gp_profiler_init(counters.cupti, why);
}

/* False: another thread was faster. */
static bool counters_settle(enum phase phase)
{
	uint32_t opening = PHASE_OPENING;
	const bool is_first = atomic_compare_exchange_strong(&counters.phase, &opening, phase);
	if (is_first && phase == PHASE_REFUSED)
		sink->refused();
	if (is_first)
		gp_cupti_wake(&counters.phase);
	return is_first;
}

static void counters_at_exit(void);

static void *counters_main(void *unused)
{
	char text[GP_PROFILER_WHY];
	(void)unused;
	sink->thread();
	prctl(PR_SET_NAME, "gpuprof-counter");
	gp_cupti_leave_processor();
	const char *why = counters_prepare(text);
	/* first, since a short job ends soon after its first launch went on */
	if (why)
		sink->fact(false, why);
	/* CUPTI is shut down by handlers of exit that were registered before, so ours runs first */
	if (!why)
		atexit(counters_at_exit);
	counters_settle(why ? PHASE_REFUSED : PHASE_READY);
	return NULL;
}

static void counters_start(void)
{
	if (!*sink->kernel) {
		gp_samples_start(sink);
		return;
	}
	counters.owner = getpid();
	atomic_store(&counters.phase, PHASE_OPENING);
	if (!gp_cupti_thread_start(counters_main) && counters_settle(PHASE_REFUSED))
		sink->fact(false, "its thread could not be started");
}

static void opening_await(uint32_t most_ms)
{
	const uint64_t until = gp_cupti_now_ms() + most_ms;
	for (uint64_t now; atomic_load(&counters.phase) == PHASE_OPENING &&
			   getpid() == counters.owner && (now = gp_cupti_now_ms()) < until;)
		gp_cupti_wait(&counters.phase, PHASE_OPENING, (uint32_t)(until - now) * 1000);
}

/* The thread may hold a lock of the job's allocator, which a child would find taken. */
static void opening_await_before_fork(void)
{
	gp_samples_await_before_fork();
	opening_await(END_MOST_MS);
}

static bool counters_await(void)
{
	const uint32_t phase = atomic_load(&counters.phase);
	if (phase != PHASE_OPENING)
		return phase == PHASE_READY;
	opening_await(AWAIT_MOST_MS);
	/* the thread may wait for a lock of the loader that this one holds */
	if (getpid() == counters.owner && counters_settle(PHASE_REFUSED))
		sink->fact(false, "CUPTI was not loaded in 2 s");
	return atomic_load(&counters.phase) == PHASE_READY;
}

/* ---- the choice ---- */

static bool name_matches(const char *name)
{
	int status = 0;
	/* they wait for other processes, whose launch may come only after ours returned */
	if (strstr(name, "nccl") || strstr(name, "nvshmem"))
		return false;
	if (regexec(&counters.pattern, name, 0, NULL, 0) == 0)
		return true;
	char *plain = counters.demangle ? counters.demangle(name, NULL, NULL, &status) : NULL;
	const bool matches = plain && regexec(&counters.pattern, plain, 0, NULL, 0) == 0;
	if (plain)
		counters.release(plain);
	return matches;
}

/* Once a function and generation, as long as no other one takes its place. */
static bool is_chosen(uint64_t function, uint32_t generation)
{
	const uint64_t key = function << 9 | (generation & 0xff) << 1;
	_Atomic uint64_t *place =
		&counters.choice[function * 0x9e3779b97f4a7c15u / (UINT64_MAX / CHOICES + 1)];
	const uint64_t seen = atomic_load_explicit(place, memory_order_relaxed);
	if ((seen & ~1ull) == key && seen)
		return seen & 1;
	const char *name = sink->name(function);
	const bool chosen = *name && name_matches(name);
	atomic_store_explicit(place, key | chosen, memory_order_relaxed);
	return chosen;
}

static uint64_t mixed(uint64_t h, uint64_t word)
{
	h = (h ^ word) * 0xbf58476d1ce4e5b9u;
	return h ^ h >> 29;
}

/* NULL: the table is full. */
static struct shape *shape_of(uint64_t function, uint32_t generation, const void *context,
			      const struct gp_gpu_kernel *k)
{
	uint64_t key = mixed(mixed(generation, function), (uint64_t)(uintptr_t)context);
	for (unsigned at = 0; at < 3; at++)
		key = mixed(key, k->grid[at] | (uint64_t)k->block[at] << 32);
	key = mixed(key, k->dynamic_shared) | 1;
	uint64_t at = key;
	struct shape *s = &counters.shape[at & (SHAPES - 1)];
	while (s->key != 0 && s->key != key)
		s = &counters.shape[++at & (SHAPES - 1)];
	if (s->key == 0 && counters.shapes == SHAPES / 2) {
		char text[GP_PROFILER_WHY];
		snprintf(text, sizeof text, "CUPTI %u; of all launch shapes, the first %u",
			 counters.version, SHAPES / 2);
		if (!counters.is_full)
			sink->fact(true, text);
		counters.is_full = true;
		return NULL;
	}
	counters.shapes += s->key == 0;
	s->key = key;
	return s;
}

/* ---- measurements; the turn is held ---- */

/* No kernel is measured from here on. */
static void measurement_drop(void)
{
	if (counters.enabled)
		gp_profiler_disable(counters.cupti, counters.enabled);
	counters.enabled = NULL;
	counters.measuring = NULL;
}

static void counters_close(void)
{
	atomic_store(&counters.phase, PHASE_REFUSED);
	sink->refused();
}

static void counters_refuse(const char *why)
{
	measurement_drop();
	sink->fact(false, why);
	counters_close();
}

static bool metrics_are_equal(const struct gp_metrics *a, const struct gp_metrics *b)
{
	bool equal = a->count == b->count;
	for (size_t k = 0; equal && k < a->count; k++)
		equal = strcmp(a->name[k], b->name[k]) == 0;
	return equal;
}

/* False: refused. */
static bool profiler_make(struct gp_range_profiler *p, void *context, int device)
{
	char text[GP_PROFILER_WHY];
	struct gp_metrics metrics = counters.requested;
	gp_profiler_close(counters.cupti, p);
	const char *why = gp_profiler_open(counters.cupti, p, context, device, &metrics, text);
	if (why) {
		counters_refuse(why);
		return false;
	}
	if (counters.metrics.count == 0)
		counters.metrics = metrics;
	/* numbers of metrics are those of the first GPU */
	if (!metrics_are_equal(&metrics, &counters.metrics)) {
		p->config.passes = 0;
		return false;
	}
	snprintf(text, sizeof text, "CUPTI %u; a measurement takes %zu launch%s", counters.version,
		 p->config.passes, p->config.passes == 1 ? "" : "es");
	sink->fact(true, text);
	return true;
}

/* False: this context cannot be measured, or not now. */
static bool profiler_find(void *context, int device)
{
	for (unsigned k = 0; k < counters.profilers; k++) {
		counters.current = &counters.profiler[k];
		if (counters.current->context == context)
			return counters.current->config.passes > 0;
	}
	unsigned place = 0; /* that of an ended context, or a new one */
	while (place < counters.profilers && counters.profiler[place].context)
		place++;
	/* CUPTI does not show the counters of a GPU whose profiler is enabled */
	if (place == CONTEXTS || counters.enabled)
		return false;
	counters.profilers += place == counters.profilers;
	counters.current = &counters.profiler[place];
	return profiler_make(counters.current, context, device);
}

/* False: another kernel is measured, and this launch of `s` does not end that. */
static bool measurement_passes_to(const struct shape *s)
{
	if (!counters.measuring || counters.measuring == s) {
		counters.passed_by = 0;
		return true;
	}
	if (++counters.passed_by < PATIENCE)
		return false;
	counters.passed_by = 0;
	counters.measuring->is_over = true;
	measurement_drop();
	return true;
}

/* NULL: started; else why not. "": a capture has begun. */
static const char *pass_start(char *why)
{
	const char *refusal = NULL;
	if (!counters.enabled) {
		counters.enabled = counters.current;
		refusal = gp_profiler_enable(counters.cupti, counters.enabled, &counters.metrics,
					     why);
	}
	if (!refusal && !sink->may_call())
		return "";
	return refusal ? refusal : gp_profiler_start(counters.cupti, counters.current, why);
}

/* Each such wait delays the job by 100 ms. */
static void pass_was_awaited_in_vain(struct shape *s)
{
	if (++s->spoiled == SPOILED_MOST) {
		s->is_over = true;
		if (counters.measuring == s)
			measurement_drop();
	}
	if (++counters.waits == WAITS_MOST)
		counters_refuse("the job's streams are never idle");
}

/* True: this launch is the next pass of the kernel that is measured. */
static bool pass_begin(uint64_t function, uint32_t generation, const struct gp_gpu_kernel *kernel)
{
	void *context = NULL;
	int device = 0;
	char text[GP_PROFILER_WHY];
	if (!sink->context(&context, &device))
		return false;
	struct shape *s = shape_of(function, generation, context, kernel);
	if (!measurement_passes_to(s) || !s || s->is_over || !profiler_find(context, device))
		return false;
	/* one that may never come again cannot be measured in several passes */
	if ((s->launches++ == 0 && counters.current->config.passes > 1) || !sink->may_call())
		return false;
	atomic_store(&counters.launches, 0);
	atomic_store(&counters.context, context);
	const uint64_t began = gp_cupti_now_ms();
	if (!sink->await_idle(context)) {
		if (gp_cupti_now_ms() - began >= WAIT_LEAST_MS)
			pass_was_awaited_in_vain(s);
		return false;
	}
	if (!sink->may_call())
		return false;
	counters.measuring = s;
	const char *why = pass_start(text);
	if (why) {
		if (*why)
			counters_refuse(why);
		return false;
	}
	counters.kernel = *kernel;
	snprintf(counters.name, sizeof counters.name, "%s", sink->name(function));
	counters.kernel.name = counters.name;
	return true;
}

static void values_record(const double *values)
{
	const uint32_t function = sink->function(&counters.kernel);
	for (uint32_t k = 0; !counters.has_names && k < counters.metrics.count; k++)
		sink->metric(k, counters.metrics.name[k]);
	counters.has_names = true;
	for (uint32_t k = 0; k < counters.metrics.count; k++)
		sink->value(function, k, counters.measuring->measured, values[k],
			    counters.current->config.passes);
}

/* A launch that failed, or those of other threads beside it: the measurement begins again. */
static void pass_spoiled(void)
{
	counters.measuring->is_over = ++counters.measuring->spoiled >= SPOILED_MOST;
	measurement_drop();
}

static void measurement_end(void)
{
	double values[GP_METRICS_MOST] = { 0 };
	char text[GP_PROFILER_WHY];
	bool is_clean = false;
	const char *why = gp_profiler_values(counters.cupti, counters.current, &counters.metrics,
					     values, &is_clean, text);
	if (why) {
		counters_refuse(why);
	} else if (!is_clean) {
		pass_spoiled();
	} else {
		counters.measuring->measured++;
		values_record(values);
		counters.measuring->is_over = counters.measuring->measured == sink->count;
		measurement_drop();
	}
}

/* ---- the source ---- */

/* A launch beside the one that is measured. CUPTI counts those that come after this look. */
static void counters_disturb(void)
{
	void *context = NULL;
	int device;
	if (sink->context(&context, &device) && context == atomic_load(&counters.context))
		atomic_fetch_add(&counters.launches, 1);
}

static bool counters_begin(uint64_t function, uint32_t generation,
			   const struct gp_gpu_kernel *kernel)
{
	uint32_t none = 0;
	if (getpid() != counters.owner)
		return false;
	if (atomic_load(&counters.turn) != 0)
		counters_disturb();
	if (!is_chosen(function, generation) ||
	    !atomic_compare_exchange_strong(&counters.turn, &none, 1))
		return false;
	const bool is_begun = atomic_load(&counters.phase) == PHASE_READY &&
			      !atomic_load(&counters.is_ending) &&
			      pass_begin(function, generation, kernel);
	if (!is_begun)
		atomic_store(&counters.turn, 0);
	return is_begun;
}

static void counters_end(bool is_accepted)
{
	char text[GP_PROFILER_WHY];
	bool is_complete = false;
	if (getpid() != counters.owner) /* forked by a handler inside the launch */
		return;
	const bool is_alone = atomic_load(&counters.launches) == 0;
	const char *why = gp_profiler_stop(counters.cupti, counters.current, &is_complete, text);
	if (why)
		counters_refuse(why);
	else if (!is_accepted || !is_alone)
		pass_spoiled();
	else if (is_complete)
		measurement_end();
	atomic_store(&counters.turn, 0);
}

/* Without the calls that a capture forbids, the profiler ends with its context. */
static void measurement_forget(bool may_call)
{
	if (!may_call)
		counters.enabled = NULL;
	measurement_drop();
}

/* A job that ends a context during a launch in it is at fault: then the wait is in vain. */
static void counters_context_end(void *context, bool may_call)
{
	if (getpid() != counters.owner || atomic_load(&counters.phase) != PHASE_READY ||
	    !gp_cupti_turn_enter(&counters.turn))
		return;
	if (counters.enabled && counters.enabled->context == context)
		measurement_forget(may_call);
	for (unsigned k = 0; k < counters.profilers; k++)
		if (counters.profiler[k].context == context)
			counters.profiler[k].context = NULL;
	gp_cupti_turn_leave(&counters.turn, true);
}

static void counters_give_up(bool may_call)
{
	if (getpid() != counters.owner || atomic_exchange(&counters.is_ending, true))
		return;
	opening_await(END_MOST_MS);
	if (!gp_cupti_turn_enter(&counters.turn))
		return;
	if (atomic_load(&counters.phase) == PHASE_READY) {
		measurement_forget(may_call);
		counters_close();
	}
	gp_cupti_turn_leave(&counters.turn, true);
}

/* GPU time ends first: CUPTI may finalize itself when its PM sampling ends. */
static void counters_end_all(bool may_call)
{
	gp_cupti_end();
	gp_samples_end();
	counters_give_up(may_call);
}

static void counters_at_exit(void)
{
	counters_give_up(sink->may_call());
}

void gp_counters_finalizing(void)
{
	if (!sink)
		return;
	gp_samples_finalizing();
	counters_give_up(sink->may_call());
}

static const struct gp_counters_source source = {
	.bytes = sizeof source,
	.start = counters_start,
	.await = counters_await,
	.begin = counters_begin,
	.end = counters_end,
	.context_end = counters_context_end,
	.give_up = counters_end_all,
};

extern __typeof__(gpuprof_counters_attach) gpuprof_counters_attach __attribute__((weak));

__attribute__((constructor)) static void start(void)
{
	const int error = errno;
	sink = gpuprof_counters_attach ? gpuprof_counters_attach(&source) : NULL;
	if (sink && sink->bytes != sizeof *sink)
		sink = NULL;
	if (sink) /* after those of libgpuprof.so, so it runs before them */
		pthread_atfork(opening_await_before_fork, NULL, NULL);
	errno = error;
}
