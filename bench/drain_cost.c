/*
 * What the drain thread spends on an event: its own CPU time over a history of allocations, frees and launches.
 *	drain_cost LIVE EVENTS		LIVE blocks stay allocated all the time
 * Beside it: the time to write the same number of raw 64-byte records with write(2), 64 KiB at a time.
 */
#include <dirent.h>

#include "burst.h"

/* CPU time of the one thread that is not ours. */
static uint64_t drain_cpu_ns(void)
{
	unsigned long long ns = 0;
	unsigned others = 0;
	DIR *tasks = opendir("/proc/self/task");
	must(tasks != NULL);
	for (struct dirent *task; (task = readdir(tasks));) {
		char path[300];
		if (task->d_name[0] == '.' || atoi(task->d_name) == (int)getpid())
			continue;
		snprintf(path, sizeof path, "/proc/self/task/%s/schedstat", task->d_name);
		FILE *file = fopen(path, "r");
		must(file && fscanf(file, "%llu", &ns) == 1);
		fclose(file);
		others++;
	}
	closedir(tasks);
	must(others == 1);
	return ns;
}

/* `pairs` blocks replaced by new ones of other sizes, a launch for every second. Returns the events made. */
static uint64_t replace(struct bench *b, CUdeviceptr *live, unsigned number, unsigned pairs)
{
	static unsigned long long random = 1;
	for (unsigned i = 0; i < pairs; i++) {
		random = random * 6364136223846793005u + 1442695040888963407u;
		CUdeviceptr *slot = &live[(random >> 33) % number];
		must(b->wrapped.free(*slot) == CUDA_SUCCESS);
		must(b->wrapped.alloc(slot, 512 + (random >> 40) % 256 * 512) == CUDA_SUCCESS);
		if (i % 2)
			burst_launch(&b->wrapped, b->kernel, 1);
	}
	return pairs * 2 + pairs / 2;
}

static double raw_write_ns(uint64_t events)
{
	static struct gp_record record, block[1024];
	FILE *file = tmpfile();
	must(file != NULL);
	uint64_t start = now_ns(CLOCK_THREAD_CPUTIME_ID);
	for (uint64_t i = 0; i < events; i++) {
		record.order = i;
		block[i % 1024] = record;
		if (i % 1024 == 1023)
			must(write(fileno(file), block, sizeof block) == (ssize_t)sizeof block);
	}
	double ns = (double)(now_ns(CLOCK_THREAD_CPUTIME_ID) - start) / (double)events;
	fclose(file);
	return ns;
}

int main(int argc, char **argv)
{
	static struct bench b;
	must(argc == 3);
	unsigned number = (unsigned)atoi(argv[1]);
	uint64_t wanted = strtoull(argv[2], NULL, 10), made = 0;
	CUdeviceptr *live = calloc(number, sizeof *live);
	must(live != NULL);
	bench_open(&b);
	for (unsigned i = 0; i < number; i++) {
		must(b.wrapped.alloc(&live[i], 512) == CUDA_SUCCESS);
		if (i % BURST == 0)
			wait_for_room(&b);
	}
	wait_for_room(&b);
	uint64_t start = drain_cpu_ns();
	while (made < wanted) {
		made += replace(&b, live, number, BURST);
		wait_for_room(&b);
	}
	printf("drain_ns_per_event %.2f\ndrain_events %llu\n", (double)(drain_cpu_ns() - start) / (double)made,
	       (unsigned long long)made);
	printf("raw_write_ns %.2f\ndrain_lost %llu\n", raw_write_ns(2000000), (unsigned long long)lost_events(&b));
	free(live);
	return 0;
}
