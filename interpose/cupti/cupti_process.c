/* The sink, the mark that a fork removes, and waits (cupti_process.h). */
#include "cupti_process.h"

#include <errno.h>
#include <linux/futex.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <stddef.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

const struct gp_gpu_sink *gp_cupti_sink;

/* 1 in the process that attached. The kernel clears the page in a forked child. */
static _Atomic uint32_t *mark;

extern __typeof__(gpuprof_gpu_time_attach) gpuprof_gpu_time_attach __attribute__((weak));

#define CPUS_BYTES 1024u /* 8,192 processors, the maximum of Linux */
static unsigned long cpus[CPUS_BYTES / sizeof(unsigned long)];
static long cpus_bytes;

void gp_cupti_leave_processor(void)
{
	if (cpus_bytes > 0)
		syscall(SYS_sched_setaffinity, 0, (size_t)cpus_bytes, cpus);
	syscall(SYS_sched_setscheduler, 0, SCHED_OTHER, &(struct sched_param){ 0 });
}

/* a job's callback may run Python on this thread */
#define STACK_BYTES (1u << 20)

bool gp_cupti_thread_start(void *(*main)(void *unused))
{
	sigset_t all, before;
	pthread_attr_t attributes;
	pthread_t thread;
	pthread_attr_init(&attributes);
	pthread_attr_setstacksize(&attributes, STACK_BYTES);
	pthread_attr_setdetachstate(&attributes, PTHREAD_CREATE_DETACHED);
	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &before);
	const bool is_started = pthread_create(&thread, &attributes, main, NULL) == 0;
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	pthread_attr_destroy(&attributes);
	return is_started;
}

void gp_cupti_attach(const struct gp_gpu_source *source)
{
	const int error = errno;
	cpus_bytes = syscall(SYS_sched_getaffinity, 0, sizeof cpus, cpus);
	const size_t bytes = (size_t)sysconf(_SC_PAGESIZE);
	void *page = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	/* Linux before 4.14 has no mark that a fork removes */
	if (page != MAP_FAILED && madvise(page, bytes, MADV_WIPEONFORK) == 0 &&
	    gpuprof_gpu_time_attach)
		gp_cupti_sink = gpuprof_gpu_time_attach(source);
	if (gp_cupti_sink && gp_cupti_sink->bytes == sizeof *gp_cupti_sink) {
		mark = page;
		atomic_store(mark, 1);
	} else if (page != MAP_FAILED) {
		gp_cupti_sink = NULL;
		munmap(page, bytes);
	}
	errno = error;
}

bool gp_cupti_attach_child(void)
{
	uint32_t wiped = 0;
	return mark && atomic_compare_exchange_strong(mark, &wiped, 1);
}

bool gp_cupti_is_attached(void)
{
	return mark && atomic_load_explicit(mark, memory_order_relaxed) != 0;
}

void gp_cupti_wait(_Atomic uint32_t *word, uint32_t value, uint32_t us)
{
	const int error = errno;
	const struct timespec time = { us / 1000000, (long)(us % 1000000) * 1000 };
	syscall(SYS_futex, word, FUTEX_WAIT_PRIVATE, value, us == UINT32_MAX ? NULL : &time, NULL,
		0);
	errno = error;
}

void gp_cupti_wake(_Atomic uint32_t *word)
{
	const int error = errno;
	syscall(SYS_futex, word, FUTEX_WAKE_PRIVATE, INT32_MAX, NULL, NULL, 0);
	errno = error;
}

void gp_cupti_sleep(uint32_t us)
{
	const int error = errno;
	const struct timespec time = { us / 1000000, (long)(us % 1000000) * 1000 };
	nanosleep(&time, NULL);
	errno = error;
}

#define TURN_MOST_US 200000u
#define NAP_US 50u

bool gp_cupti_turn_enter(_Atomic uint32_t *turn)
{
	uint32_t open = 0;
	for (unsigned us = 0; us < TURN_MOST_US; us += NAP_US, open = 0) {
		if (atomic_compare_exchange_strong(turn, &open, 1))
			return true;
		gp_cupti_sleep(NAP_US);
	}
	return false;
}

void gp_cupti_turn_leave(_Atomic uint32_t *turn, bool has_turn)
{
	if (has_turn)
		atomic_store(turn, 0);
}

uint64_t gp_cupti_now_ms(void)
{
	struct timespec now;
	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * 1000 + (uint64_t)now.tv_nsec / 1000000;
}
