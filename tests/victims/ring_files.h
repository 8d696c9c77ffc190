/* Counts the ring files that a process left, the memory in them, and how much is mapped. */
#ifndef RING_FILES_H
#define RING_FILES_H

#include <dirent.h>
#include <string.h>
#include <sys/stat.h>

#include "victim.h"

static inline const char *ring_directory(void)
{
	const char *chosen = getenv("GPUPROF_RING_DIR");
	return chosen && *chosen ? chosen : "/dev/shm";
}

/* Of the processes `first` to `last`; `bytes` may be NULL. */
static inline unsigned ring_files(pid_t first, pid_t last, unsigned long long *bytes)
{
	char path[512];
	unsigned found = 0;
	DIR *directory = opendir(ring_directory());
	must(directory);
	for (const struct dirent *entry; (entry = readdir(directory));) {
		unsigned uid;
		int pid;
		struct stat st;
		if (sscanf(entry->d_name, "gpuprof-ring-%u-%d-", &uid, &pid) != 2 || pid < first ||
		    pid > last)
			continue;
		found++;
		snprintf(path, sizeof path, "%s/%s", ring_directory(), entry->d_name);
		if (bytes && stat(path, &st) == 0)
			*bytes += (unsigned long long)st.st_blocks * 512;
	}
	closedir(directory);
	return found;
}

/* Shared memory that this process has touched. */
static inline unsigned long shared_kib(void)
{
	return kib_of("RssShmem:");
}

#endif
