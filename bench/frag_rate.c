/*
 * Measures the speed of the fragmentation curve: reads and replays a recording, and computes the
 * largest gap of each device after every event, on one core.
 *	frag_rate FILE	prints frag_curve_events_per_s
 */
#include <time.h>

#include "gpuprof.h"

#define TIMES 5

static double cpu_s(void)
{
	struct timespec t;
	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
	return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

struct sum {
	uint64_t events, largest_bytes;
};

static void see(void *context, const struct gp_gaps *gaps)
{
	struct sum *sum = context;
	sum->events++;
	if (gaps->largest_bytes > sum->largest_bytes)
		sum->largest_bytes = gaps->largest_bytes;
}

int main(int argc, char **argv)
{
	struct gp_recording *recording;
	const struct gp_info *info;
	if (argc < 2 || gp_recording_open(argv[1], &recording, NULL) != GP_OK ||
	    gp_recording_info(recording, &info) != GP_OK) {
		fprintf(stderr, "frag_rate: cannot read '%s'\n", argc > 1 ? argv[1] : "");
		return 1;
	}
	double events = 0;
	for (unsigned kind = 0; kind < GP_KINDS; kind++)
		events += (double)info->kept[kind];
	for (int i = 0; i < TIMES; i++) {
		struct sum sum = { 0 };
		double start = cpu_s();
		enum gp_status status = gp_gaps_visit(recording, see, &sum, NULL);
		double seconds = cpu_s() - start;
		if (status != GP_OK || sum.events == 0 || sum.largest_bytes == 0) {
			fprintf(stderr, "frag_rate: no curve in '%s'\n", argv[1]);
			return 1;
		}
		printf("frag_curve_events_per_s %.0f\n", events / seconds);
	}
	gp_recording_close(recording);
	return 0;
}
