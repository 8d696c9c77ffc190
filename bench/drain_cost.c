/*
 * Measures the drain thread's own CPU time for each event of a history of allocations, frees and
 * launches.
 *	drain_cost LIVE EVENTS steps	a training step again and again: blocks of a caching
 *					allocator
 *	drain_cost LIVE EVENTS random	driver allocations of random sizes in random order: nothing
 *					repeats
 * LIVE blocks stay allocated all the time. The anchor is the time to write as many raw 64-byte
 * records with write(2), 64 KiB at a time.
 */
#include <dirent.h>

#include "../tests/fake/fake_c10.h"
#include "burst.h"

/* Returns the CPU time of the only other thread. */
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

#define STEP_BLOCKS 820u /* pairs of a step of a 12-layer GPT, as measured; with 560 launches */

static unsigned long long next_random(void)
{
	static unsigned long long random = 1;
	random = random * 6364136223846793005u + 1442695040888963407u;
	return random >> 33;
}

struct history {
	struct bench *bench;
	const struct fake_c10 *c10;
	unsigned live;
	CUdeviceptr *kept;
	size_t step_bytes[STEP_BLOCKS];
};

/* Two launches for three allocations, as in a training step. */
static unsigned launch_some(const struct history *h, unsigned i)
{
	burst_launch(&h->bench->wrapped, h->bench->kernel, i % 3 != 0);
	return i % 3 != 0;
}

/*
 * Every third block lives until backward, the others are freed at once. Returns the number of
 * events.
 */
static uint64_t step(struct history *h)
{
	void *kept[STEP_BLOCKS] = { NULL };
	uint64_t made = 0;
	for (unsigned i = 0; i < STEP_BLOCKS; i++) {
		void *block = h->c10->allocate(0, h->step_bytes[i]);
		must(block != NULL);
		if (i % 3 == 0)
			kept[i] = block;
		else
			h->c10->release(block);
		made += 2 + launch_some(h, i);
	}
	for (unsigned i = STEP_BLOCKS; i-- > 0;)
		if (kept[i])
			h->c10->release(kept[i]);
	return made;
}

/* Replaces blocks by new ones of other sizes. */
static uint64_t replace(struct history *h)
{
	uint64_t made = 0;
	for (unsigned i = 0; i < BURST; i++) {
		CUdeviceptr *slot = &h->kept[next_random() % h->live];
		must(h->bench->wrapped.free(*slot) == CUDA_SUCCESS);
		must(h->bench->wrapped.alloc(slot, 512 + next_random() % 256 * 512) ==
		     CUDA_SUCCESS);
		made += 2 + launch_some(h, i);
	}
	return made;
}

static void fill(struct history *h, bool is_random)
{
	for (unsigned i = 0; i < h->live; i++) {
		if (is_random)
			must(h->bench->wrapped.alloc(&h->kept[i], 512) == CUDA_SUCCESS);
		else
			must(h->c10->allocate(0, 512 + next_random() % 64 * 512) != NULL);
		if (i % BURST == 0)
			wait_for_room(h->bench);
	}
	for (unsigned i = 0; i < STEP_BLOCKS; i++)
		h->step_bytes[i] = 512 + next_random() % 512 * 4096;
	wait_for_quiet(h->bench);
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
	must(argc == 4);
	struct history h = { .bench = &b, .live = (unsigned)atoi(argv[1]) };
	bool is_random = strcmp(argv[3], "random") == 0;
	const char *name = is_random ? "drain_random" : "drain";
	uint64_t wanted = strtoull(argv[2], NULL, 10), made = 0;
	/*
	 * before the drain's own writes: on a virtual machine, the first use of a page that the
	 * host has not yet provided costs ten times as much as a later write
	 */
	printf("raw_write_ns %.2f\n", raw_write_ns(2000000));
	bench_open(&b);
	void *library = dlopen("libc10.so", RTLD_NOW | RTLD_LOCAL);
	must(library && (h.c10 = dlsym(library, "fake_c10")));
	must((h.kept = calloc(h.live, sizeof *h.kept)));
	fill(&h, is_random);
	uint64_t start = drain_cpu_ns();
	while (made < wanted) {
		made += is_random ? replace(&h) : step(&h);
		wait_for_room(&b);
	}
	wait_for_quiet(&b);
	printf("%s_ns_per_event %.2f\n%s_events %llu\n", name,
	       (double)(drain_cpu_ns() - start) / (double)made, name, (unsigned long long)made);
	printf("%s_lost %llu\n", name, (unsigned long long)lost_events(&b));
	free(h.kept);
	return 0;
}
