/*
 * Sets the recording level of a process through its control page and waits until it is in force:
 *	control_level RING_FILE
 * Reads one level a line from stdin and answers each with the same line: 1 off, 2 memory, 3 all but
 * uses, 4 uses too, where the job runs with GPUPROF_TRACK_ACCESS. For measurements that switch
 * recording on and off many times. Works only with the page layout of the same version.
 */
#include "control_page.h"

#include <stdlib.h>

int main(int argc, char **argv)
{
	if (argc != 2) {
		fputs("usage: control_level RING_FILE, then a level from 1 to 4 a line\n", stderr);
		return 2;
	}
	struct gp_control *control = control_open(argv[1]);
	if (!control)
		return 3;
	char line[16];
	while (fgets(line, sizeof line, stdin)) {
		uint32_t level = (uint32_t)atoi(line), uses = level > GP_LEVEL_ALL;
		if (level < GP_LEVEL_OFF || level > GP_LEVEL_ALL + 1) {
			fprintf(stderr, "control_level: no level: %s", line);
			return 2;
		}
		if (!control_set(control, level - uses, uses))
			return 4;
		printf("%u\n", level);
		fflush(stdout);
	}
	return 0;
}
