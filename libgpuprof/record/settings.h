/* The options as the target sees them: read once, from the environment, by the constructor. */
#ifndef GP_SETTINGS_H
#define GP_SETTINGS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct gp_settings {
	bool is_on;
	bool is_verbose;
	bool has_launches;
	bool is_started;
	bool has_python;      /* Python frames on memory events */
	uint32_t stacks_most; /* entries of the table of stacks */
	uint64_t ring_bytes;  /* 0: keep all */
	char output[1024];    /* pattern */
	char ring_dir[200];
	char list[512]; /* file that learns the recordings' names; "" none */
};
extern struct gp_settings gp_settings __attribute__((visibility("hidden")));

void gp_settings_read(void);
/* Names unknown GPUPROF_* variables on stderr. */
void gp_settings_warn(void);

/*
 * Expands the output pattern into an absolute path. False: does not fit. Reads the environment: on
 * a thread of the job, never on the drain thread.
 */
bool gp_output_name(const char *pattern, uint64_t start_unix_ns, char *out, size_t capacity);
/* The attempt's name: attempt 0 is `name` itself, attempt n has ".n+1" before the extension. */
bool gp_output_attempt(const char *name, unsigned attempt, char *out, size_t capacity);

#endif
