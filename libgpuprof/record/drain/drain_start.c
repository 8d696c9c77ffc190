/*
 * Creates the drain thread when the job makes a context. The driver itself takes memory and starts
 * threads there, so the caller holds no lock that pthread_create needs (it calls the job's calloc).
 * The thread then sleeps until the first event of the process wakes it. In a forked child, glibc
 * reuses the stack and the thread-local memory of the parent's drain thread and does not call
 * calloc. An event that the job's allocator causes inside pthread_create is lost.
 */
#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "../ranges/scope.h"
#include "../recorder.h"

#define STACK_BYTES (512u << 10)
#define STACK_BYTES_MOST (8u << 20) /* enough for a job with much static TLS */
#define CPUS_BYTES 1024u	    /* 8,192 processors, the maximum of Linux */

/* The processors of the process, taken before a thread was bound to one. */
static unsigned long process_cpus[CPUS_BYTES / sizeof(unsigned long)];
static long process_cpus_bytes;

static void *(*drain_main)(void *);

void gp_drain_init(void *(*main)(void *recorder))
{
	drain_main = main;
	process_cpus_bytes = syscall(SYS_sched_getaffinity, 0, sizeof process_cpus, process_cpus);
}

/* The mask of signals is inherited: the job's handlers must not run on this thread. */
static int thread_create(size_t stack_bytes)
{
	sigset_t all, kept;
	pthread_attr_t attributes;
	pthread_t thread;
	pthread_attr_init(&attributes);
	pthread_attr_setdetachstate(&attributes, PTHREAD_CREATE_DETACHED);
	pthread_attr_setstacksize(&attributes, stack_bytes);
	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &kept);
	const int error = pthread_create(&thread, &attributes, drain_main, &gp_recorder);
	pthread_sigmask(SIG_SETMASK, &kept, NULL);
	pthread_attr_destroy(&attributes);
	return error;
}

static uint32_t drain_create(void)
{
	struct gp_recorder *r = &gp_recorder;
	const uint32_t generation = r->generation + 1;
	/* a forked child: the parent's rings and pages are not mapped here and must not be used */
	memset(r, 0, offsetof(struct gp_recorder, views));
	r->generation = generation;
	int error = thread_create(STACK_BYTES);
	if (error == EINVAL)
		error = thread_create(STACK_BYTES_MOST);
	return error == 0 ? GP_DRAIN_BORN : GP_DRAIN_STILLBORN;
}

void gp_recorder_prepare_slow(void)
{
	const int kept = errno;
	uint32_t unborn = GP_DRAIN_UNBORN;
	if (!gp_recorder_is_requested() ||
	    !atomic_compare_exchange_strong(&gp_local->drain, &unborn, GP_DRAIN_BEING_BORN))
		return;
	gp_thread_end_is_reported(); /* also the name of a forked child's main thread */
	atomic_store(&gp_local->creator, (uint32_t)syscall(SYS_gettid));
	/* partner: the loads in gp_drain_await_birth */
	atomic_store(&gp_local->drain, drain_create());
	gp_futex_notify(&gp_local->drain);
	errno = kept;
}

bool gp_drain_is_being_born_here(void)
{
	return atomic_load(&gp_local->drain) == GP_DRAIN_BEING_BORN &&
	       atomic_load(&gp_local->creator) == (uint32_t)syscall(SYS_gettid);
}

bool gp_drain_await_birth(uint64_t timeout_ns)
{
	const uint64_t deadline = gp_now_ns() + timeout_ns;
	uint32_t drain;
	while ((drain = atomic_load(&gp_local->drain)) == GP_DRAIN_BEING_BORN) {
		const uint64_t now = gp_now_ns();
		if (now >= deadline)
			break;
		gp_futex_wait(&gp_local->drain, drain, deadline - now);
	}
	return drain != GP_DRAIN_STILLBORN;
}

void gp_drain_call(void)
{
	gp_futex_wake(&gp_local->calls);
}

/*
 * The creator may be bound to one processor, or be a real-time thread. The drain thread would then
 * compete with the thread that it serves. Processors are reset first, because a thread of normal
 * priority never runs beside a real-time one. If a call fails, the setting stays.
 */
static void leave_creators_processor(void)
{
	if (process_cpus_bytes > 0)
		syscall(SYS_sched_setaffinity, 0, (size_t)process_cpus_bytes, process_cpus);
	syscall(SYS_sched_setscheduler, 0, SCHED_OTHER, &(struct sched_param){ 0 });
}

bool gp_drain_await_call(struct gp_recorder *r)
{
	leave_creators_processor();
	gp_own_descriptors(r);
	uint32_t seen = atomic_load(&gp_local->calls);
	/* partner: the exchange in start_once */
	for (; atomic_load(&gp_local->is_starting) == 0; seen = atomic_load(&gp_local->calls)) {
		if (gp_job_is_over())
			return false;
		gp_job_await_call(seen);
	}
	return true;
}
