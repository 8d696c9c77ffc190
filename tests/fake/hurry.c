/*
 * Preloaded into gpuprof, so that a test need not wait for its limits: its clock and its timeouts
 * run HURRY times as fast. HURRY_STUCK=FILE: it hangs in the first library that it reads; FILE is
 * opened for writing then. HURRY_DIES: it dies there. HURRY_FULL: its writes fail because the disk
 * is full. HURRY_SIGNALS=15,15: it gets these signals when it begins to read what its command left.
 * Other programs are not affected.
 */
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

static long factor(void)
{
	const char *text = getenv("HURRY");
	long times = text ? atol(text) : 1;
	return strcmp(program_invocation_short_name, "gpuprof") == 0 && times > 0 ? times : 1;
}

int clock_gettime(clockid_t clock, struct timespec *out)
{
	static long long begin;
	long result = syscall(SYS_clock_gettime, clock, out), times = factor();
	if (result != 0 || clock != CLOCK_MONOTONIC || times == 1)
		return (int)result;
	long long now = out->tv_sec * 1000000000LL + out->tv_nsec;
	begin = begin ? begin : now;
	now = begin + (now - begin) * times;
	out->tv_sec = now / 1000000000;
	out->tv_nsec = now % 1000000000;
	return 0;
}

int poll(struct pollfd *polled, nfds_t count, int timeout_ms)
{
	return (int)syscall(SYS_poll, polled, count,
			    timeout_ms > 0 ? timeout_ms / factor() + 1 : timeout_ms);
}

int fsync(int fd)
{
	if (!getenv("HURRY_FULL"))
		return (int)syscall(SYS_fsync, fd);
	errno = ENOSPC;
	return -1;
}

FILE *fopen(const char *path, const char *mode)
{
	static FILE *(*real)(const char *, const char *);
	const char *signals = getenv("HURRY_SIGNALS");
	bool is_list = strstr(path, "/gpuprof-list-") != NULL;
	while (is_list && signals && *signals) {
		char *end;
		raise((int)strtol(signals, &end, 10));
		signals = *end ? end + 1 : end;
	}
	if (!real)
		*(void **)&real = dlsym(RTLD_NEXT, "fopen");
	return real(path, mode);
}

void *elf_memory(char *bytes, size_t count)
{
	static void *(*real)(char *, size_t);
	const char *stuck = getenv("HURRY_STUCK");
	if (stuck && open(stuck, O_WRONLY | O_CLOEXEC) >= 0)
		for (;;)
			pause();
	if (getenv("HURRY_DIES"))
		abort();
	if (!real)
		*(void **)&real = dlsym(RTLD_NEXT, "elf_memory");
	return real(bytes, count);
}
