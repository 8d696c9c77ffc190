/*
 * Measures how much longer a short recorded process takes than a bare one, from fork to its end:
 * constructor, resolver, recording, rings, thread, 200 events and the last drain.
 *	start_cost LIBRARY PROGRAM...	prints start_ms, start_bare_ms
 */
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define TIMES 21

static double now_ms(void)
{
	struct timespec t;
	clock_gettime(CLOCK_MONOTONIC_RAW, &t);
	return (double)t.tv_sec * 1e3 + (double)t.tv_nsec / 1e6;
}

/* -1: it failed. */
static double run(const char *library, char **program)
{
	int status;
	double start = now_ms();
	pid_t child = fork();
	if (child == 0) {
		int null = open("/dev/null", O_WRONLY);
		dup2(null, STDOUT_FILENO);
		if (library)
			setenv("LD_PRELOAD", library, 1);
		execv(program[0], program);
		_exit(127);
	}
	bool has_ended = child > 0 && waitpid(child, &status, 0) == child && status == 0;
	return has_ended ? now_ms() - start : -1;
}

int main(int argc, char **argv)
{
	for (int i = 0; i < TIMES && argc > 2; i++) {
		double bare = run(NULL, argv + 2), recorded = run(argv[1], argv + 2);
		if (bare < 0 || recorded < 0) {
			fprintf(stderr, "start_cost: '%s' failed\n", argv[2]);
			return 1;
		}
		printf("start_ms %.2f\nstart_bare_ms %.2f\n", recorded - bare, bare);
	}
	return argc > 2 ? 0 : 2;
}
