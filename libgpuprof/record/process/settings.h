/* The options of the target: the constructor reads them once from the environment. */
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
	bool has_python, has_native;  /* kinds of frames in stacks */
	bool has_torch_ranges;	      /* the framework's own ranges are recorded */
	bool has_backward_modules;    /* nodes of autograd get the module of their forward */
	bool has_allocator_details;   /* records details beyond the allocator's reports */
	bool has_untried_details;     /* also for versions that were not tested with it on a GPU */
	bool has_native_up_to_python; /* on the main thread: stacks/stack_take.c */
	bool are_stacks_requested;    /* by the user: only then the terminal shows missing frames */
	bool has_uses;		      /* scans launches for the memory that they use */
	bool has_nvtx;		      /* records its ranges, marks and names */
	uint32_t stacks;	      /* enum gp_stack_on: events with a stack; 0: none */
	const char *no_stacks;	      /* the option that switched stacks off; NULL: none */
	uint32_t launch_every;	      /* every n-th launch of a thread has a stack; 0: none */
	uint32_t stack_depth;	      /* maximal number of frames of each kind */
	uint32_t stacks_most;	      /* entries of the table of stacks */
	uint64_t ring_bytes;	      /* 0: keep all */
	uint64_t memory_bytes; /* limit of the recorder's memory; 0: by the limits of the job */
	char output[1024];     /* pattern */
	char ring_dir[200];
	char list[512]; /* file that gets the recordings' names; "": none */

	struct gp_gpu_rule gpu_time;
	/* counters: names of metrics, "": none; which kernels; measurements of each */
	char metrics[2048], kernel[512];
	uint64_t interval_ns; /* of samples; without a kernel */
	uint32_t count;
	/* which spans are captured */
	struct gp_scope_rule scope;
	char scope_words[600]; /* the options behind the rule; "": captures everything */
	/* MONOTONIC_RAW: when `gpuprof run` started it, else this process's start */
	uint64_t job_ns;
	uint32_t stacks_outside; /* as `stacks`, outside of captured spans */
};
extern struct gp_settings gp_settings __attribute__((visibility("hidden")));
/* Its scope.from, for code that checks it with each range. */
extern enum gp_scope_from gp_scope_follow GP_HOT_DATA __attribute__((visibility("hidden")));
/* Ranges can end steps that open or close a span, or a window of GPU time. */
extern bool gp_scope_heeds GP_HOT_DATA __attribute__((visibility("hidden")));
/* enum gp_scope_by: what ended the recording; 0: it has not ended */
extern _Atomic uint32_t gp_scope_ended_by __attribute__((visibility("hidden")));

/* In a process to be recorded, also notes unknown GPUPROF_* variables and invalid values. */
void gp_settings_read(void);
/* Prints these notes on stderr. */
void gp_settings_warn(void);

/*
 * The variable's current value, truncated to `capacity` - 1 bytes. False: it is not set. Any
 * thread, at any time: takes no lock. Keeps errno.
 */
bool gp_environment_find(const char *name, char *value, size_t capacity);

/* "RANK=3 WORLD_SIZE=8": variables of the launcher, as GP_FACT_RANK has them; "": none is set. */
void gp_rank_variables(char *out, size_t capacity);

/*
 * Expands the output pattern into an absolute path. False: errno has the cause (ENAMETOOLONG, or
 * why the working directory is unknown). An unknown % field is copied unchanged.
 */
bool gp_output_name(const char *pattern, uint64_t start_unix_ns, char *out, size_t capacity);
/* The attempt's name: attempt 0 is `name` itself, attempt n has ".n+1" before the extension. */
bool gp_output_attempt(const char *name, unsigned attempt, char *out, size_t capacity);

#endif
