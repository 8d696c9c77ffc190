/* Sleeps for two seconds after its events: the recorder's threads must wake up rarely. */
#include "victim.h"

#define WAKE_UPS_A_SECOND 25 /* the recorder's own aim is 20; an old version had 200 */

#include <dirent.h>
#include <string.h>

/* How often the other threads of the process went to sleep; 0: there are none. */
static unsigned long sleeps(void)
{
	char path[64], line[128];
	unsigned long all = 0, one;
	struct dirent *entry;
	DIR *directory = opendir("/proc/self/task");
	must(directory);
	while ((entry = readdir(directory))) {
		snprintf(path, sizeof path, "/proc/self/task/%.16s/status", entry->d_name);
		FILE *file = *entry->d_name == '.' || atoi(entry->d_name) == getpid() ?
				     NULL :
				     fopen(path, "r");
		while (file && fgets(line, sizeof line, file))
			if (sscanf(line, "voluntary_ctxt_switches: %lu", &one) == 1)
				all += one;
		if (file)
			fclose(file);
	}
	closedir(directory);
	return all;
}

int main(void)
{
	struct driver driver = need_driver(FROM_PROC_ADDRESS);
	alloc_and_free(&driver, 100);
	sleep(1); /* all events have been written */
	struct timespec from, to;
	clock_gettime(CLOCK_MONOTONIC, &from);
	const unsigned long before = sleeps();
	sleep(2);
	const unsigned long after = sleeps();
	clock_gettime(CLOCK_MONOTONIC, &to); /* a busy machine sleeps longer */
	must(after - before <= WAKE_UPS_A_SECOND * (unsigned long)(to.tv_sec - from.tv_sec + 1));
	claim("alloc", 100);
	claim("complete", 1);
	printf("rested\n");
	return 0;
}
