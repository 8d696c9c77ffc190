/*
 * Replaces a million live allocations one after the other while checkpoints are written. Prints how
 * many memory events are lost, and how many calls take over 1 ms in bare and in recorded rounds. A
 * call that waited for the recorder has slept (a voluntary context switch). A call that the kernel
 * or the virtual machine delayed has not slept. The two kinds are counted apart.
 *	checkpoint_stall LIVE
 */
#include <sys/resource.h>

#include "burst.h"

#define LONG_NS 1000000u

struct delays {
	uint64_t longest_ns, longest_wait_ns, over_1ms, waits_over_1ms;
};

/* About 400,000 events a second: as fast as the fastest jobs allocate. */
static void keep_pace(unsigned i)
{
	if (i % 64 == 0)
		nanosleep(&(struct timespec){ .tv_nsec = 100000 }, NULL);
}

static long times_slept(void)
{
	struct rusage used;
	getrusage(RUSAGE_THREAD, &used);
	return used.ru_nvcsw;
}

static void note(struct delays *d, uint64_t ns, bool has_slept)
{
	d->longest_ns = ns > d->longest_ns ? ns : d->longest_ns;
	d->over_1ms += ns > LONG_NS;
	if (!has_slept)
		return;
	d->longest_wait_ns = ns > d->longest_wait_ns ? ns : d->longest_wait_ns;
	d->waits_over_1ms += ns > LONG_NS;
}

static void replace_all(struct bench *b, const struct calls *calls, unsigned number,
			const char *name)
{
	struct delays d = { 0 };
	CUdeviceptr *live = calloc(number, sizeof *live);
	must(live != NULL);
	for (unsigned round = 0; round < 2; round++)
		for (unsigned i = 0; i < number; i++) {
			long slept = times_slept();
			uint64_t start = now_ns(CLOCK_MONOTONIC_RAW);
			if (round)
				must(calls->free(live[i]) == CUDA_SUCCESS);
			must(calls->alloc(&live[i], 512) == CUDA_SUCCESS);
			uint64_t ns = now_ns(CLOCK_MONOTONIC_RAW) - start;
			note(&d, ns, times_slept() != slept);
			keep_pace(i);
		}
	for (unsigned i = 0; i < number; i++) {
		keep_pace(i);
		calls->free(live[i]);
	}
	wait_for_room(b);
	printf("%s_longest_us %.1f\n%s_longest_wait_us %.1f\n", name, (double)d.longest_ns / 1000,
	       name, (double)d.longest_wait_ns / 1000);
	printf("%s_over_1ms %llu\n%s_waits_over_1ms %llu\n", name, (unsigned long long)d.over_1ms,
	       name, (unsigned long long)d.waits_over_1ms);
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
