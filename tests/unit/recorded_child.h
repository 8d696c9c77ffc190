/*
 * The recorder in a forked child, since a process records once. Its recording lies in `directory`;
 * a failed check prints a line and ends the child.
 */
#ifndef RECORDED_CHILD_H
#define RECORDED_CHILD_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "record/recorder.h"

#define CHECK(condition)                                                                \
	do {                                                                            \
		if (!(condition)) {                                                     \
			fprintf(stderr, "%s:%d: %s\n", __FILE__, __LINE__, #condition); \
			_exit(1);                                                       \
		}                                                                       \
	} while (0)

static char directory[64];

static int make_directory(void **state)
{
	(void)state;
	strcpy(directory, "/tmp/gpuprof-test-XXXXXX");
	return mkdtemp(directory) == NULL;
}

static int drop_directory(void **state)
{
	(void)state;
	char command[sizeof directory + 16];
	snprintf(command, sizeof command, "rm -rf '%s'", directory);
	return system(command);
}

static void name_of(char *out, size_t capacity, const char *name)
{
	snprintf(out, capacity, "%s/%s", directory, name);
}

static inline int end_of(pid_t pid)
{
	int status;
	waitpid(pid, &status, 0);
	return WIFEXITED(status) ? WEXITSTATUS(status) : 128;
}

/* Runs `body` in a child whose recording is `name`; 0 when it passed. */
static int in_child(const char *name, const char *ring, void (*body)(void))
{
	pid_t pid = fork();
	if (pid != 0)
		return end_of(pid);
	char path[128];
	name_of(path, sizeof path, name);
	setenv("GPUPROF_OUTPUT", path, 1);
	setenv("GPUPROF_RING", ring, 1);
	CHECK(gp_recorder_init());
	body();
	gp_recorder_end();
	_exit(0);
}

/* Waits for the drain, so that no event is lost. */
static inline void keep_pace(void)
{
	const struct gp_ring *ring = gp_thread.ring;
	/* before its first event a forked child still has its parent's ring */
	if (gp_thread.word != atomic_load(&gp_local->word))
		return;
	while (ring && gp_thread.head - atomic_load(&ring->tail) > gp_thread.mask / 2)
		sched_yield();
}

static inline void put_memory(enum gp_kind kind, uint64_t address)
{
	keep_pace();
	CHECK(gp_enter());
	struct gp_record *r = gp_reserve(kind);
	CHECK(r);
	r->space = GP_SPACE_DEVICE;
	r->v[0] = address;
	r->v[1] = kind == GP_ALLOC ? 512 : 0;
	gp_commit_memory(r);
	gp_leave();
}

#endif
