/*
 * A million live allocations, replaced one after the other while checkpoints are written: how many
 * memory events are lost, and how long the slowest call takes in a bare and in a recorded round.
 *	checkpoint_stall LIVE
 */
#include "burst.h"

/* About 400,000 events a second: as fast as the fastest jobs allocate. */
static void keep_pace(unsigned i)
{
	if (i % 64 == 0)
		nanosleep(&(struct timespec){ .tv_nsec = 100000 }, NULL);
}

static void replace_all(struct bench *b, const struct calls *calls, unsigned number,
			const char *name)
{
	uint64_t longest = 0, over_1ms = 0;
	CUdeviceptr *live = calloc(number, sizeof *live);
	must(live != NULL);
	for (unsigned round = 0; round < 2; round++)
		for (unsigned i = 0; i < number; i++) {
			uint64_t start = now_ns(CLOCK_MONOTONIC_RAW);
			if (round)
				must(calls->free(live[i]) == CUDA_SUCCESS);
			must(calls->alloc(&live[i], 512) == CUDA_SUCCESS);
			uint64_t ns = now_ns(CLOCK_MONOTONIC_RAW) - start;
			longest = ns > longest ? ns : longest;
			over_1ms += ns > 1000000;
			keep_pace(i);
		}
	for (unsigned i = 0; i < number; i++) {
		keep_pace(i);
		calls->free(live[i]);
	}
	wait_for_room(b);
	printf("%s_longest_us %.1f\n%s_over_1ms %llu\n", name, (double)longest / 1000, name,
	       (unsigned long long)over_1ms);
	free(live);
}

int main(int argc, char **argv)
{
	static struct bench b;
	must(argc == 2);
	bench_open(&b);
	replace_all(&b, &b.bare, (unsigned)atoi(argv[1]), "million_live_bare");
	replace_all(&b, &b.wrapped, (unsigned)atoi(argv[1]), "million_live");
	printf("million_live_lost %llu\n", (unsigned long long)lost_events(&b));
	return 0;
}
