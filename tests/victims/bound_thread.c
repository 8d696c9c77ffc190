/*
 * Binds itself to one processor and takes another scheduling policy before it uses the driver, as
 * OMP_PROC_BIND, numactl and real-time jobs do. The recorder's thread must inherit neither.
 */
#include "victim.h"

#include <dirent.h>
#include <sched.h>
#include <string.h>

/* The recorder's thread; 0 if there is none. */
static pid_t foreign_thread(void)
{
	char path[64], name[32];
	pid_t found = 0;
	struct dirent *entry;
	DIR *directory = opendir("/proc/self/task");
	must(directory);
	while ((entry = readdir(directory))) {
		snprintf(path, sizeof path, "/proc/self/task/%.16s/comm", entry->d_name);
		FILE *file = *entry->d_name == '.' ? NULL : fopen(path, "r");
		if (file && fgets(name, sizeof name, file) && strcmp(name, "gpuprof\n") == 0)
			found = (pid_t)strtol(entry->d_name, NULL, 10);
		if (file)
			fclose(file);
	}
	closedir(directory);
	return found;
}

static void bind_to_first(const cpu_set_t *all)
{
	cpu_set_t one;
	size_t first = 0;
	while (!CPU_ISSET(first, all))
		first++;
	CPU_ZERO(&one);
	CPU_SET(first, &one);
	must(sched_setaffinity(0, sizeof one, &one) == 0);
	/* without the right to be real-time, SCHED_BATCH is always allowed */
	struct sched_param high = { .sched_priority = 10 }, none = { 0 };
	must(sched_setscheduler(0, SCHED_FIFO, &high) == 0 ||
	     sched_setscheduler(0, SCHED_BATCH, &none) == 0);
}

int main(void)
{
	cpu_set_t all, its;
	must(sched_getaffinity(0, sizeof all, &all) == 0);
	bind_to_first(&all);
	struct driver driver = need_driver(FROM_PROC_ADDRESS);
	alloc_and_free(&driver, 100);
	pid_t thread = foreign_thread();
	while (getenv("VICTIM_CLAIMS") && !thread) /* the thread sets its own name */
		thread = foreign_thread();
	if (thread) {
		must(sched_getaffinity(thread, sizeof its, &its) == 0);
		must(CPU_EQUAL(&all, &its));
		must(sched_getscheduler(thread) == SCHED_OTHER);
	}
	claim("alloc", 100);
	claim("free", 100);
	printf("bound\n");
	return 0;
}
