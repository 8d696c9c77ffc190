/*
 * Starts a command under the library and ends like it. Owns signals and the environment. Prints
 * only failures.
 */
#ifndef GP_LAUNCH_H
#define GP_LAUNCH_H

#include <stdbool.h>
#include <stddef.h>

/*
 * Finds libgpuprof.so: `chosen` (may be NULL), GPUPROF_LIB, beside the program, in ../lib. False:
 * the error is printed.
 */
bool gp_library_find(const char *chosen, char *out, size_t capacity);

/*
 * Adds libgpuprof-cupti.so, which is beside `library`, as one more name behind it. False: the error
 * is printed.
 */
bool gp_library_add(char *library, size_t capacity);

/* An environment variable for the command only. */
struct gp_setting {
	const char *variable, *value;
};

struct gp_ending {
	bool is_started;
	int exit_status; /* as in a shell: 126, 127 if it could not be started */
	int signal;	 /* the signal that ended it; 0: none */
};

/*
 * Runs argv with `library` first in LD_PRELOAD, forwards signals, and waits for it. After its end,
 * the first SIGINT, SIGTERM, SIGHUP, SIGUSR1 and SIGUSR2 are each ignored. A second one ends
 * this process, as does the first SIGQUIT.
 */
struct gp_ending gp_launch(char **argv, const char *library, const struct gp_setting *settings,
			   size_t count);

/* Ends this process like the command: by the same signal, without a core dump of this process. */
int gp_end_alike(const struct gp_ending *ending);

#endif
