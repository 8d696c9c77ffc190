/*
 * Puts itself into a memory cgroup of 100 MiB after its first event, as a launcher may. Fifty
 * threads then allocate and free as fast as they can, so that rings grow. The job takes half of the
 * limit for itself. A parent process makes the group and removes it.
 */
#include "victim.h"

#include <sys/stat.h>

#define THREADS 50
#define PAIRS 10000
#define LIMIT_BYTES (100ul << 20)

static const struct hierarchy {
	const char *root, *limit;
} hierarchies[] = {
	{ "/sys/fs/cgroup/memory", "memory.limit_in_bytes" },
	{ "/sys/fs/cgroup", "memory.max" },
};

static char group[100];

static bool group_put(const char *name, unsigned long number)
{
	char path[200], text[32];
	snprintf(path, sizeof path, "%s/%s", group, name);
	const int length = snprintf(text, sizeof text, "%lu", number);
	const int file = open(path, O_WRONLY | O_CLOEXEC);
	const bool is_put = file >= 0 && write(file, text, (size_t)length) == length;
	if (file >= 0)
		close(file);
	return is_put;
}

static bool group_make(const struct hierarchy *h)
{
	snprintf(group, sizeof group, "%s/gpuprof-victim-%d", h->root, (int)getpid());
	if (mkdir(group, 0700) != 0)
		return false;
	if (group_put(h->limit, LIMIT_BYTES))
		return true;
	rmdir(group);
	return false;
}

static void *burst(void *argument)
{
	const struct driver *driver = argument;
	must(driver_use(driver, 0));
	for (int i = 0; i < PAIRS; i++)
		must(driver->cuMemFree_v2(must_alloc(driver, 4096)) == CUDA_SUCCESS);
	return NULL;
}

static void work(void)
{
	struct driver driver = need_driver(FROM_PROC_ADDRESS);
	pthread_t thread[THREADS];
	pthread_attr_t small;
	alloc_and_free(&driver, 1);
	must(group_put("cgroup.procs", (unsigned long)getpid()));
	pthread_attr_init(&small);
	must(pthread_attr_setstacksize(&small, (128 << 10)) == 0);
	for (int i = 0; i < THREADS; i++)
		must(pthread_create(&thread[i], &small, burst, &driver) == 0);
	for (int i = 0; i < THREADS; i++)
		pthread_join(thread[i], NULL);
	char *memory = malloc(LIMIT_BYTES / 2);
	must(memory);
	memset(memory, 1, LIMIT_BYTES / 2);
	claim("complete", 1);
	free(memory);
}

int main(void)
{
	if (!group_make(&hierarchies[0]) && !group_make(&hierarchies[1])) {
		fprintf(stderr, "no memory cgroup can be made here\n");
		return VICTIM_SKIPPED;
	}
	const pid_t child = fork();
	if (child == 0) {
		work();
		exit(0);
	}
	printf("ended with %d\n", wait_for(child));
	claim_recordings(1);
	must(rmdir(group) == 0);
	return 0;
}
