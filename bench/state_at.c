/*
 * Measures how long the reader takes to find the state of memory at a moment of a long recording,
 * on one core. Takes the moments at 1%, 37% and 99% of its time and prints the slowest.
 *	state_at FILE		prints state_at_ms
 */
#include <time.h>

#include "gpuprof.h"

#define TIMES 5

static double cpu_ms(void)
{
	struct timespec t;
	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
	return (double)t.tv_sec * 1e3 + (double)t.tv_nsec / 1e6;
}

/* < 0: it failed. */
static double look(struct gp_recording *recording, int64_t at_ns)
{
	const struct gp_moment_of moment = { .when = GP_WHEN_TIME, .at_ns = at_ns };
	struct gp_memory memory;
	double start = cpu_ms();
	if (gp_memory_build(recording, &moment, &memory) != GP_OK)
		return -1;
	double ms = cpu_ms() - start;
	bool is_there = memory.blocks > 0;
	gp_memory_free(&memory);
	return is_there ? ms : -1;
}

/* Includes the opening of the file, as a single query needs it. */
static double slowest(const char *path, uint64_t duration_ns)
{
	static const uint64_t percent[] = { 1, 37, 99 };
	double most = 0;
	for (unsigned i = 0; i < 3; i++) {
		struct gp_recording *recording;
		double start = cpu_ms();
		if (gp_recording_open(path, &recording, NULL) != GP_OK)
			return -1;
		double opened = cpu_ms() - start;
		double ms = look(recording, (int64_t)(duration_ns / 100 * percent[i]));
		gp_recording_close(recording);
		if (ms < 0)
			return -1;
		most = opened + ms > most ? opened + ms : most;
	}
	return most;
}

int main(int argc, char **argv)
{
	struct gp_recording *recording;
	const struct gp_info *info;
	if (argc < 2 || gp_recording_open(argv[1], &recording, NULL) != GP_OK ||
	    gp_recording_info(recording, &info) != GP_OK) {
		fprintf(stderr, "state_at: cannot read '%s'\n", argc > 1 ? argv[1] : "");
		return 1;
	}
	uint64_t duration_ns = info->duration_ns;
	gp_recording_close(recording);
	for (int i = 0; i < TIMES; i++) {
		double ms = slowest(argv[1], duration_ns);
		if (ms < 0) {
			fprintf(stderr, "state_at: no state in '%s'\n", argv[1]);
			return 1;
		}
		printf("state_at_ms %.1f\n", ms);
	}
	return 0;
}
