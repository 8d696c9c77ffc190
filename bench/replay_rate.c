/*
 * Measures the speed and the memory of a replay into live state with exact peaks, on one core.
 *	replay_rate FILE [NAME]		prints NAME_events_per_s, NAME_peak_kib ("replay")
 */
#include <sys/resource.h>
#include <time.h>

#include "gpuprof.h"

static double cpu_s(void)
{
	struct timespec t;
	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
	return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

#define TIMES 5

/* Returns the seconds that one replay takes; <= 0: it failed. */
static double replay(const char *path, double *events)
{
	struct gp_recording *recording;
	const struct gp_info *info;
	double start = cpu_s();
	if (gp_recording_open(path, &recording, NULL) != GP_OK)
		return 0;
	bool is_read = gp_recording_info(recording, &info) == GP_OK && info->anomalies == 0;
	double seconds = is_read ? cpu_s() - start : 0;
	*events = 0;
	for (unsigned kind = 0; is_read && kind < GP_KINDS; kind++)
		*events += (double)info->kept[kind];
	gp_recording_close(recording);
	return seconds;
}

int main(int argc, char **argv)
{
	const char *name = argc > 2 ? argv[2] : "replay";
	struct rusage used;
	for (int i = 0; i < TIMES; i++) {
		double events = 0, seconds = argc > 1 ? replay(argv[1], &events) : 0;
		if (seconds <= 0) {
			fprintf(stderr, "replay_rate: cannot replay '%s'\n",
				argc > 1 ? argv[1] : "");
			return 1;
		}
		printf("%s_events_per_s %.0f\n", name, events / seconds);
	}
	getrusage(RUSAGE_SELF, &used);
	printf("%s_peak_kib %ld\n", name, used.ru_maxrss);
	return 0;
}
