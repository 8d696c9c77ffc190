/*
 * Starts a command under the library and ends as it ended. Owns signals and the environment, prints
 * only failures.
 */
#ifndef GP_LAUNCH_H
#define GP_LAUNCH_H

#include <stdbool.h>
#include <stddef.h>

/*
 * Finds libgpuprof.so: `chosen` (may be NULL), GPUPROF_LIB, beside the program, in ../lib. False:
 * said why.
 */
bool gp_library_find(const char *chosen, char *out, size_t capacity);

/* One variable that only the command sees. */
struct gp_setting {
	const char *variable, *value;
};

struct gp_ending {
	bool is_started;
	int exit_status; /* as a shell says it: 126, 127 when it could not be started */
	int signal;	 /* that ended it; 0: none */
};

/*
 * Runs argv with the library in front of LD_PRELOAD, forwards signals to it, waits for it. When it
 * has ended, the first SIGINT, SIGTERM, SIGHUP, SIGUSR1 and SIGUSR2 of each kind is ignored; a
 * second one ends this process, and so does the first SIGQUIT.
 */
struct gp_ending gp_launch(char **argv, const char *library, const struct gp_setting *settings,
			   size_t count);

/* Ends this process as the command ended: by the same signal, without a core of our own. */
int gp_end_alike(const struct gp_ending *ending);

#endif
