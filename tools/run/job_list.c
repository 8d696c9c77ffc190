/*
 * A lock on the list shows whether its run is alive. Age or a pid in the name would not.
 */
#include "job_list.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#define PREFIX "gpuprof-list-"

static void remove_if_dead(int directory, const char *name)
{
	struct stat st;
	int fd = openat(directory, name, O_RDWR | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
	if (fd < 0)
		return;
	if (fstat(fd, &st) == 0 && S_ISREG(st.st_mode) && st.st_uid == geteuid() &&
	    flock(fd, LOCK_EX | LOCK_NB) == 0)
		unlinkat(directory, name, 0);
	close(fd);
}

static void remove_dead(const char *place)
{
	DIR *directory = opendir(place);
	const struct dirent *entry;
	while (directory && (entry = readdir(directory)))
		if (strncmp(entry->d_name, PREFIX, sizeof PREFIX - 1) == 0)
			remove_if_dead(dirfd(directory), entry->d_name);
	if (directory)
		closedir(directory);
}

static bool create_in(struct gp_job_list *list, const char *place)
{
	struct stat st;
	if (snprintf(list->path, sizeof list->path, "%s/" PREFIX "XXXXXX", place) >=
	    (int)sizeof list->path) {
		list->error = ENAMETOOLONG;
		return false;
	}
	list->lock = mkostemp(list->path, O_CLOEXEC);
	if (list->lock < 0) {
		list->error = errno;
		return false;
	}
	/* another run may have removed it as a dead one's before it was locked */
	if (flock(list->lock, LOCK_EX) == 0 && fstat(list->lock, &st) == 0 && st.st_nlink == 0) {
		close(list->lock);
		return create_in(list, place);
	}
	return true;
}

bool gp_job_list_open(struct gp_job_list *list)
{
	const char *places[] = { getenv("TMPDIR"), "/tmp" };
	for (size_t k = 0; k < sizeof places / sizeof *places; k++) {
		if (!places[k] || *places[k] != '/')
			continue;
		remove_dead(places[k]);
		if (create_in(list, places[k]))
			return true;
	}
	list->path[0] = '\0';
	return false;
}

void gp_job_list_close(struct gp_job_list *list)
{
	if (!list->path[0])
		return;
	unlink(list->path);
	close(list->lock);
}
