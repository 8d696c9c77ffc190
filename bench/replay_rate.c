/*
 * How fast a recording is replayed into live state with exact peaks, on one core, and with how much
 * memory.
 *	replay_rate FILE
 */
#include <stdlib.h>
#include <sys/resource.h>
#include <time.h>

#include "gpuprof.h"

static double cpu_s(void)
{
	struct timespec t;
	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
	return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

int main(int argc, char **argv)
{
	double best = 0;
	struct rusage used;
	for (int i = 0; argc == 2 && i < 3; i++) {
		struct gp_recording *recording;
		const struct gp_info *info;
		double start = cpu_s();
		if (gp_recording_open(argv[1], &recording, NULL) != GP_OK ||
		    gp_recording_info(recording, &info) != GP_OK) {
			fprintf(stderr, "replay_rate: cannot read '%s'\n", argv[1]);
			return 1;
		}
		double rate = (double)info->kept_events / (cpu_s() - start);
		best = rate > best ? rate : best;
		if (i == 0)
			printf("replay_events %llu\nreplay_anomalies %llu\n",
			       (unsigned long long)info->kept_events,
			       (unsigned long long)info->anomalies);
		gp_recording_close(recording);
	}
	getrusage(RUSAGE_SELF, &used);
	printf("replay_events_per_s %.0f\nreplay_peak_kib %ld\n", best, used.ru_maxrss);
	return best > 0 ? 0 : 1;
}
