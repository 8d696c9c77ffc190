/* The options as the target sees them: read once, from the environment, by the constructor. */
#ifndef GP_SETTINGS_H
#define GP_SETTINGS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "../../format/name_fields.h"
#include "../../format/scope_rule.h"
#include "../hot.h"

struct gp_settings {
	bool is_on;
	bool is_verbose;
	bool has_launches;
	bool is_started;
	bool has_python, has_native; /* which frames stacks have */
	bool has_torch_ranges;	     /* the framework's own ranges are recorded */
	bool has_allocator_details;  /* more is read of the framework's allocator than it reports */
	bool has_untried_details;    /* also of versions that were not run with them on a GPU */
	bool has_native_up_to_python; /* on the main thread: stacks/stack_take.c */
	bool are_stacks_asked;	      /* by the user: only then the terminal gets what they lack */
	bool has_uses;		      /* launches are scanned for the memory that they use */
	bool has_nvtx;		      /* its ranges, marks and names are recorded */
	uint32_t stacks;	      /* enum gp_stack_on: events that have one; 0: none */
	const char *no_stacks;	      /* the option that switched them off; NULL: none did */
	uint32_t launch_every;	      /* each so many launches of a thread have one; 0: none */
	uint32_t stack_depth;	      /* frames of each kind at most */
	uint32_t stacks_most;	      /* entries of the table of stacks */
	uint64_t ring_bytes;	      /* 0: keep all */
	uint64_t memory_bytes;	      /* that the recorder may take; 0: by the limits of the job */
	char output[1024];	      /* pattern */
	char ring_dir[200];
	char list[512]; /* file that learns the recordings' names; "" none */

	/* what is captured */
	struct gp_scope_rule scope;
	char scope_words[600]; /* what the rule was made of; "": all is */
	uint64_t job_ns;       /* MONOTONIC_RAW: when `gpuprof run` started it, else this process */
	uint32_t stacks_outside; /* as `stacks`, elsewhere */
};
extern struct gp_settings gp_settings __attribute__((visibility("hidden")));
/* Its scope.from, for what looks at it with each range. */
extern enum gp_scope_from gp_scope_follow GP_HOT_DATA __attribute__((visibility("hidden")));
/* enum gp_scope_by: what ended the recording; 0: nothing */
extern _Atomic uint32_t gp_scope_ended_by __attribute__((visibility("hidden")));

/* In a process that is to be recorded, also notes unknown GPUPROF_* variables and bad values. */
void gp_settings_read(void);
/* Prints what was noted on stderr. */
void gp_settings_warn(void);

/*
 * The value that the variable has now, cut to `capacity` - 1 bytes. False: it is not set. Any
 * thread, at any time: takes no lock. Keeps errno.
 */
bool gp_environment_find(const char *name, char *value, size_t capacity);

/*
 * Expands the output pattern into an absolute path. False: errno has the cause (ENAMETOOLONG, or
 * what keeps the working directory from being known). A % that stands for nothing is kept with what
 * follows it.
 */
bool gp_output_name(const char *pattern, uint64_t start_unix_ns, char *out, size_t capacity);
/* The attempt's name: attempt 0 is `name` itself, attempt n has ".n+1" before the extension. */
bool gp_output_attempt(const char *name, unsigned attempt, char *out, size_t capacity);

#endif
