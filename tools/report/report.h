/*
 * Common parts of the reading commands: adoption of rings, opening with error messages, and the
 * first line of a report.
 */
#ifndef GP_REPORT_H
#define GP_REPORT_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "../io/json.h"
#include "../io/sink.h"
#include "gpuprof.h"
#include "table.h"

/* The value of --steps: the name of the ranges that are steps in each recording; NULL: none. */
extern const char *gp_report_step_name;

/*
 * Opens a recording after adopting the rings of dead processes, once a process. NULL: the error is
 * printed, and *exit_status is set.
 */
struct gp_recording *gp_report_open(const char *path, const struct gp_info **info,
				    int *exit_status);

/*
 * The next gp_report_open returns this open recording, whatever the path. For a process that runs a
 * command after a fork: the file is not read again.
 */
void gp_report_keep(struct gp_recording *recording, const struct gp_info *info);
/* The same before its first replay. */
struct gp_recording *gp_report_open_unread(const char *path, int *exit_status);

/* Whether it opens, after the same adoption. If not, the cause is printed and in `why`. */
enum gp_status gp_report_check(const char *path, struct gp_damage *why);

/* Prints on stderr that `what` of `path` failed. Returns the exit status. */
int gp_report_failed(const char *what, const char *path, enum gp_status status);
/* The reason in the last message of gp_report_failed, or of a recording that did not open. */
const char *gp_report_reason(void);

/*
 * The exit status of a report on a recording. GP_EXIT_DAMAGED for a damaged recording, which is
 * shown anyway; then the damage is printed.
 */
int gp_report_exit(const char *path, const struct gp_info *info);

/*
 * The more important of two exit statuses. GP_EXIT_FOUND comes before GP_EXIT_DAMAGED: a finding
 * stays one, even if other parts are unreadable. Else the greater.
 */
int gp_report_worse(int a, int b);
/* Begins the object `steps` with the members common to all commands. The caller ends it. */
void gp_report_steps_begin(struct gp_json *json, const struct gp_steps *steps);
/* "3,615 launches, 1,055 captured launches, 7 graph launches"; only launches may be zero. */
void gp_launches_print(FILE *out, uint64_t launches, uint64_t captured, uint64_t graphs);
/* Whether the recording has that device, or -1 (all). If not, prints an error. */
bool gp_report_has_device(const char *path, const struct gp_info *info, int64_t device);
#define GP_DEVICES_TEXT 256u
/* "0, 1, 2", the GPUs of a recording; "": none, or unknown. */
void gp_report_devices_text(const struct gp_info *info, char out[GP_DEVICES_TEXT]);
/* Prints that the recording has no memory of the device, and which devices it has. */
void gp_report_no_device(const char *path, const struct gp_info *info, int64_t device);
/*
 * The same for `path` and `others`, "" or " and 2 others", with the list of gp_report_devices_text.
 */
void gp_report_no_device_in(const char *path, const char *others, int64_t device,
			    const char *devices);

/*
 * "2.41 s, 1,234 events, nothing lost, 1 device"; damage and losses come first:
 * "3 memory events LOST; 2.41 s, ...".
 */
struct gp_headline {
	char s[640];
};
struct gp_headline gp_headline_of(const struct gp_info *info);
/* Prints the headline, coloured if the recording is damaged or lost events. */
void gp_headline_print(FILE *out, const struct gp_info *info);
/* Whether peaks are those of the whole job: recorded from the start and without gaps. */
bool gp_has_whole_figures(const struct gp_info *info);
/* The same for the peak of pinned memory. */
bool gp_has_whole_pinned(const struct gp_info *info);
/*
 * The least pinned memory that a text report shows beside device memory, unless requested. PyTorch
 * pins 4 bytes for an item(); leaked buffers soon exceed 64 KiB together.
 */
#define GP_PINNED_LEAST (64u << 10)
/* Why events between two moments may be missing; NULL: none are. */
const char *gp_span_caveat_of(const struct gp_info *info);
/* The same for the whole job, whose figures may be too low. */
const char *gp_caveat_of(const struct gp_info *info);
/* Whether every OOM up to now was recorded and kept: only then a count of 0 is an all-clear. */
bool gp_has_all_ooms(const struct gp_info *info);
/* Whether events are known to be missing. */
bool gp_has_losses(const struct gp_info *info);

uint64_t gp_events_of(const struct gp_info *info); /* number of them */

/* The keys `gaps`, moments, and `uncertain`, pairs of moments. */
void gp_report_caveats(struct gp_json *json, const struct gp_info *info);
/* The cause that opened or closed a captured span (enum gp_scope_by); NULL: unknown. */
const char *gp_scope_text(unsigned by);

/* ---- next.c ---- */

/* OOMs that the framework reported in the part that a flight recorder has overwritten. */
uint64_t gp_overwritten_ooms(const struct gp_info *info);

/* Whether `gpuprof oom` has an OOM to report. Needs one replay if counts alone do not decide. */
bool gp_next_has_oom(struct gp_recording *recording, const struct gp_info *info);
/*
 * The command after a report: `verify` for a damaged recording, `oom` after an OOM, else
 * `otherwise`. `otherwise` NULL: `peak` with stacks, `timeline` without.
 */
const char *gp_next_of(struct gp_recording *recording, const struct gp_info *info,
		       const char *otherwise);

/* The path of a recording as a word of a command line, quoted for a shell. */
void gp_path_print(FILE *out, const char *path);
/* The last line of a report: "next: gpuprof timeline run.gpr", the path quoted for a shell. */
void gp_next_print(FILE *out, const char *command, const char *path);
/*
 * A recorded command, each word quoted for a shell if necessary. Blanks within an argument are not
 * recorded as such.
 */
void gp_command_print(FILE *out, const char *command);

/* Why there are no ranges of NVTX or PyTorch, one line each after `side`, "" or "B: ". */
void gp_no_ranges_print(FILE *out, const char *side, const struct gp_info *info);

/*
 * Whether `text` is `peak` or `peak:CURVE`. *of: the named curve, including GP_CURVE_PINNED. For
 * `peak` alone GP_CURVES: allocated if it has a peak, else driver.
 */
bool gp_peak_curve_read(const char *text, unsigned *of);
#define GP_UNUSED_PEAK "peak:unused" /* the moment of gp_unused_peak_find */
/*
 * Reads a value of `--from`, `--to` or `--at`: a moment, `start`, `end`, `peak`, `peak:CURVE`,
 * `peak:unused`, `oom` or `step:N`. False: the error is printed.
 */
bool gp_moment_find(struct gp_recording *recording, const char *option, const char *text,
		    int64_t *out);

/* Prints why `text` is not a moment of the recording, and which others there are. Returns false. */
bool gp_moment_missing(const char *text, const char *path, const char *why);

/*
 * The span of `--from` and `--to`; NULL: not given, *from_ns or *to_ns is unchanged. False: it is
 * empty or begins after the recording's end; the error is printed.
 */
bool gp_span_find(struct gp_recording *recording, const char *from, const char *to,
		  int64_t *from_ns, int64_t *to_ns);

#endif
