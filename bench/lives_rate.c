/*
 * Measures what the lives and curves of a recording cost: all replays and the written blocks.
 *	lives_rate FILE		prints lives_ns_per_event, lives_peak_kib
 */
#include <sys/resource.h>
#include <time.h>

#include "gpuprof.h"

static double cpu_ns(void)
{
	struct timespec t;
	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
	return (double)t.tv_sec * 1e9 + (double)t.tv_nsec;
}

static enum gp_status drop(void *context, const unsigned char *bytes, size_t count, size_t *number)
{
	size_t *total = context;
	(void)bytes;
	*total += count;
	*number = 0;
	return GP_OK;
}

int main(int argc, char **argv)
{
	struct gp_recording *recording;
	const struct gp_info *info;
	struct gp_lives lives;
	struct rusage used;
	size_t total = 0;
	const struct gp_lives_sink sink = { .write = drop, .context = &total };
	if (argc < 2 || gp_recording_open(argv[1], &recording, NULL) != GP_OK ||
	    gp_recording_info(recording, &info) != GP_OK) {
		fprintf(stderr, "lives_rate: cannot read '%s'\n", argc > 1 ? argv[1] : "");
		return 1;
	}
	double events = 0, start = cpu_ns();
	for (unsigned kind = 0; kind < GP_KINDS; kind++)
		events += (double)info->kept[kind];
	if (gp_lives_build(recording, NULL, &sink, &lives) != GP_OK) {
		fprintf(stderr, "lives_rate: failed\n");
		return 1;
	}
	printf("lives_ns_per_event %.0f\n", (cpu_ns() - start) / events);
	getrusage(RUSAGE_SELF, &used);
	printf("lives_peak_kib %ld\n", used.ru_maxrss);
	fprintf(stderr, "%.0f events, %llu lives in %zu bytes, %llu left out below %llu ns\n",
		events, (unsigned long long)lives.count, total, (unsigned long long)lives.left_out,
		(unsigned long long)lives.shorter_than_ns);
	gp_lives_free(&lives);
	gp_recording_close(recording);
	return 0;
}
