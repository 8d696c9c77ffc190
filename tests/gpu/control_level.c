/*
 * Sets the recording level of a process through its control page and waits until it is in force:
 *	control_level RING_FILE
 * Reads one level a line from stdin and answers each with the same line: 1 off, 2 memory, 3 all but
 * uses, 4 uses too, where the job runs with GPUPROF_TRACK_ACCESS. For measurements that switch
 * recording on and off many times. Works only with the page layout of the same version.
 */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#include "../../libgpuprof/format/layout.h"

/* The drain thread looks every few milliseconds, so after ten seconds it must be gone. */
static bool set_level(struct gp_control *control, uint32_t level)
{
	const uint32_t uses = level > GP_LEVEL_ALL;
	level -= uses;
	atomic_store(&control->requested_uses, uses);
	atomic_store(&control->requested_level, level);
	for (int i = 0; i < 100000; i++) {
		if (atomic_load(&control->level) == level && atomic_load(&control->uses) == uses)
			return true;
		nanosleep(&(struct timespec){ .tv_nsec = 100000 }, NULL);
	}
	fprintf(stderr, "control_level: level %u did not come into force\n", level);
	return false;
}

int main(int argc, char **argv)
{
	if (argc != 2) {
		fputs("usage: control_level RING_FILE, then a level from 1 to 4 a line\n", stderr);
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
	char line[16];
	while (fgets(line, sizeof line, stdin)) {
		uint32_t level = (uint32_t)atoi(line);
		if (level < GP_LEVEL_OFF || level > GP_LEVEL_ALL + 1) {
			fprintf(stderr, "control_level: no level: %s", line);
			return 2;
		}
		if (!set_level(control, level))
			return 4;
		printf("%u\n", level);
		fflush(stdout);
	}
	return 0;
}
