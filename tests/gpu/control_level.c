/*
 * Sets the recording level of a process through its control page and waits until it is in force:
 *	control_level RING_FILE LEVEL		LEVEL: 1 off, 2 memory, 3 everything
 * For measurements that switch recording on and off many times. Needs the layout of one exact
 * version only.
 */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#include "../../libgpuprof/format/layout.h"

int main(int argc, char **argv)
{
	uint32_t level = argc == 3 ? (uint32_t)atoi(argv[2]) : 0;
	if (level < GP_LEVEL_OFF || level > GP_LEVEL_ALL) {
		fputs("usage: control_level RING_FILE 1|2|3\n", stderr);
		return 2;
	}
	int file = open(argv[1], O_RDWR | O_CLOEXEC);
	if (file < 0) {
		perror(argv[1]);
		return 3;
	}
	struct gp_control *control =
		mmap(NULL, sizeof *control, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
	if (control == MAP_FAILED || control->magic != GP_CONTROL_MAGIC ||
	    control->version != GP_CONTROL_VERSION) {
		fprintf(stderr, "control_level: '%s' is no ring file of this version\n", argv[1]);
		return 3;
	}
	atomic_store(&control->want_level, level);
	/* the drain thread looks at most every second: ten of them mean that it is gone */
	for (int i = 0; i < 100000; i++) {
		if (atomic_load(&control->level) == level)
			return 0;
		nanosleep(&(struct timespec){ .tv_nsec = 100000 }, NULL);
	}
	fprintf(stderr, "control_level: level %u did not come into force\n", level);
	return 4;
}
