/* Sets the recording level of a process through its control page. For measurements only. */
#ifndef CONTROL_PAGE_H
#define CONTROL_PAGE_H

#include <fcntl.h>
#include <stdio.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#include "../../libgpuprof/format/layout.h"

/* NULL: the file is not a ring file of this version, which stderr has. */
static struct gp_control *control_open(const char *ring_file)
{
	const int file = open(ring_file, O_RDWR | O_CLOEXEC);
	if (file < 0) {
		perror(ring_file);
		return NULL;
	}
	struct gp_control *control =
		mmap(NULL, sizeof *control, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
	close(file);
	if (control == MAP_FAILED || control->magic != GP_CONTROL_MAGIC ||
	    control->version != GP_CONTROL_VERSION) {
		fprintf(stderr, "'%s' is not a ring file of this version\n", ring_file);
		return NULL;
	}
	return control;
}

/* The drain thread looks every few milliseconds, so after ten seconds it must be gone. */
static bool control_set(struct gp_control *control, uint32_t level, uint32_t uses)
{
	atomic_store(&control->requested_uses, uses);
	atomic_store(&control->requested_level, level);
	for (int i = 0; i < 100000; i++) {
		if (atomic_load(&control->level) == level && atomic_load(&control->uses) == uses)
			return true;
		nanosleep(&(struct timespec){ .tv_nsec = 100000 }, NULL);
	}
	fprintf(stderr, "level %u did not come into force\n", level);
	return false;
}

#endif
