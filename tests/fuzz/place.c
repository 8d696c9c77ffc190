/* The files of a target's process, and the limits that one run of it must keep. */
#include <fcntl.h>
#include <limits.h>
#include <malloc.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "../victims/status_kib.h"
#include "fuzz.h"

#if defined(__SANITIZE_ADDRESS__)
#define IS_ASAN 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define IS_ASAN 1
#endif
#endif
#ifndef IS_ASAN
#define IS_ASAN 0
#endif

#define MEMORY_BYTES (256u << 20)
#define MEMORY_A_BYTE 20u
/* three times the documented limit: the code is instrumented, and machines are busy */
#define CPU_NS 6000000000u
#define CPU_NS_A_MIB 3000000000u

static char place[PATH_MAX];
static pid_t owner;

static void remove_place(void)
{
	char command[PATH_MAX + 16];
	if (getpid() != owner)
		return;
	snprintf(command, sizeof command, "rm -rf '%s'", place);
	(void)!system(command);
}

const char *fuzz_place(void)
{
	const char *under = getenv("FUZZ_DIR");
	if (place[0] != '\0')
		return place;
	snprintf(place, sizeof place, "%s/fuzz-XXXXXX", under ? under : "/dev/shm");
	if (!mkdtemp(place)) {
		perror(place);
		exit(2);
	}
	owner = getpid();
	atexit(remove_place);
	/* only the rings of the target, and the same figures on every machine */
	setenv("GPUPROF_RING_DIR", place, 1);
	setenv("TZ", "UTC", 1);
	unsetenv("COLUMNS");
	/* returns freed memory at once, so that each run counts only its own memory */
	mallopt(M_MMAP_THRESHOLD, 1 << 17);
	mallopt(M_TRIM_THRESHOLD, 1 << 20);
	return place;
}

const char *fuzz_put(const char *name, const uint8_t *data, size_t bytes)
{
	static char path[PATH_MAX + 300];
	snprintf(path, sizeof path, "%s/%s", fuzz_place(), name);
	int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
	if (fd < 0 || (bytes > 0 && write(fd, data, bytes) != (ssize_t)bytes))
		abort();
	close(fd);
	return path;
}

/* ---- limits ---- */

static uint64_t cpu_begin_ns, memory_begin;

static uint64_t cpu_ns(void)
{
	struct timespec t;
	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
	return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

void fuzz_limit_begin(void)
{
	if (IS_ASAN)
		return;
	int fd = open("/proc/self/clear_refs", O_WRONLY | O_CLOEXEC);
	if (fd >= 0) {
		(void)!write(fd, "5", 1); /* resets VmHWM */
		close(fd);
	}
	memory_begin = kib_of("VmRSS:") * 1024;
	cpu_begin_ns = cpu_ns();
}

void fuzz_limit_end(size_t bytes, const char *what)
{
	if (IS_ASAN)
		return;
	uint64_t ns = cpu_ns() - cpu_begin_ns, memory = kib_of("VmHWM:") * 1024;
	memory -= memory > memory_begin ? memory_begin : memory;
	if (ns <= CPU_NS + bytes * CPU_NS_A_MIB / (1u << 20) &&
	    memory <= MEMORY_BYTES + MEMORY_A_BYTE * (uint64_t)bytes)
		return;
	fprintf(stderr, "fuzz: %zu bytes took %.2f s and %.1f MiB: %s\n", bytes, (double)ns / 1e9,
		(double)memory / (1 << 20), what);
	abort();
}
