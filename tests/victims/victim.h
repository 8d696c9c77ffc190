/*
 * Shared by the victims: a driver, the fake allocator, and claims. A claim is a line "PID OPERATOR
 * KEY VALUE" that must hold for a correct recording of that process; tests/storm/expect.c lists the
 * keys. Claims go to the file that VICTIM_CLAIMS names, so that a test can compare stdout byte by
 * byte with that of an unrecorded run.
 */
#ifndef VICTIM_H
#define VICTIM_H

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <semaphore.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "../fake/driver_entry.h"
#include "../fake/fake_c10.h"
#include "status_kib.h"

#define VICTIM_SKIPPED 77 /* exit status; the reason is on stderr */

/* Ends the victim when `what` does not hold. */
static inline void must_at(bool holds, const char *what, const char *file, int line)
{
	if (holds)
		return;
	fprintf(stderr, "%s:%d: not so: %s (errno %d)\n", file, line, what, errno);
	_exit(70);
}
#define must(what) must_at((what), #what, __FILE__, __LINE__)

static inline void claim_as(pid_t pid, const char *operator, const char * key,
			    unsigned long long value)
{
	const char *path = getenv("VICTIM_CLAIMS");
	char line[160];
	int length = snprintf(line, sizeof line, "%d %s %s %llu\n", (int)pid, operator, key, value);
	int file = path ? open(path, O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0600) : -1;
	if (file < 0)
		return;
	must(write(file, line, (size_t)length) == length);
	close(file);
}

static inline void claim(const char *key, unsigned long long value)
{
	claim_as(getpid(), "=", key, value);
}

/* The number of recordings that the whole run leaves. */
static inline void claim_recordings(unsigned long long number)
{
	claim_as(0, "=", "recordings", number);
}

static inline unsigned long count_argument(int argc, char **argv, unsigned long standard)
{
	return argc > 1 ? strtoul(argv[1], NULL, 10) : standard;
}

/* A driver with device 0 current. */
static inline struct driver need_driver(enum driver_source source)
{
	struct driver driver;
	must(driver_open(&driver, source));
	must(driver_use(&driver, 0));
	return driver;
}

static inline const struct fake_c10 *need_c10(void)
{
	void *library = dlopen("libc10.so", RTLD_NOW | RTLD_LOCAL);
	must(library);
	const struct fake_c10 *c10 = dlsym(library, "fake_c10");
	must(c10);
	return c10;
}

/* Claims for the allocator's own figures, which the recording must contain as well. */
static inline void claim_peaks(const struct fake_c10 *c10, int device)
{
	struct fake_c10_stats s;
	char key[64];
	c10->stats(device, &s);
	snprintf(key, sizeof key, "allocated_peak:%d", device);
	claim(key, s.allocated_peak);
	snprintf(key, sizeof key, "reserved_peak:%d", device);
	claim(key, s.reserved_peak);
}

static inline CUdeviceptr must_alloc(const struct driver *driver, size_t bytes)
{
	CUdeviceptr address = 0;
	must(driver->cuMemAlloc_v2(&address, bytes) == CUDA_SUCCESS);
	must(address != 0);
	return address;
}

/*
 * Works for `ns`. Without this work, a loop over the fake driver makes ten times the events of any
 * job. The recorder would then lose events, as expected, and count them.
 */
static inline void work_for(long ns)
{
	struct timespec from, now;
	clock_gettime(CLOCK_MONOTONIC, &from);
	do
		clock_gettime(CLOCK_MONOTONIC, &now);
	while ((now.tv_sec - from.tv_sec) * 1000000000 + now.tv_nsec - from.tv_nsec < ns);
}

/* `pairs` allocations, each freed at once: a million events per second. */
static inline void alloc_and_free(const struct driver *driver, unsigned long pairs)
{
	for (unsigned long i = 0; i < pairs; i++) {
		must(driver->cuMemFree_v2(must_alloc(driver, 512 + i % 64 * 512)) == CUDA_SUCCESS);
		work_for(2000);
	}
}

/* A recording of 1000 pairs, complete no matter how the victim then ends. */
static inline void claim_thousand(const char *last_word)
{
	struct driver driver = need_driver(FROM_PROC_ADDRESS);
	alloc_and_free(&driver, 1000);
	claim("alloc", 1000);
	claim("free", 1000);
	claim("complete", 1);
	claim_recordings(1);
	printf("%s\n", last_word);
	fflush(stdout);
}

struct busy_thread {
	struct driver driver;
	unsigned long pairs; /* after which it posts */
	sem_t is_busy;
};

static inline void *keep_busy(void *argument)
{
	struct busy_thread *busy = argument;
	must(driver_use(&busy->driver, 0));
	for (unsigned long i = 1;; i++) {
		alloc_and_free(&busy->driver, 1);
		if (i == busy->pairs)
			sem_post(&busy->is_busy);
	}
	return NULL;
}

/* Starts a thread that allocates and frees until the process ends. */
static inline void busy_thread_start(struct busy_thread *busy, unsigned long pairs)
{
	pthread_t thread;
	busy->driver = need_driver(FROM_PROC_ADDRESS);
	busy->pairs = pairs;
	must(sem_init(&busy->is_busy, 0, 0) == 0);
	must(pthread_create(&thread, NULL, keep_busy, busy) == 0);
}

/* Waits for a child; returns its exit status, or 1000 + the signal that ended it. */
static inline int wait_for(pid_t child)
{
	int status = 0;
	while (waitpid(child, &status, 0) < 0)
		must(errno == EINTR);
	return WIFEXITED(status) ? WEXITSTATUS(status) : 1000 + WTERMSIG(status);
}

#endif
