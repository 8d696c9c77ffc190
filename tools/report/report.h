/*
 * What every reading command does alike: adopt what dead processes left, open recordings and say
 * why not, and the first line of a report.
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

/* What --steps gives: the name of the ranges that are steps in each recording; NULL: none. */
extern const char *gp_report_step_name;

/*
 * Opens a recording after adopting the rings of the dead (once a process). NULL: said why on
 * stderr, *exit_status set.
 */
struct gp_recording *gp_report_open(const char *path, const struct gp_info **info,
				    int *exit_status);

/* Whether it opens, after the same adoption; if not, said why on stderr and in `why`. */
enum gp_status gp_report_check(const char *path, struct gp_damage *why);

/* Says on stderr that `what` of `path` failed. Returns the exit status. */
int gp_report_failed(const char *what, const char *path, enum gp_status status);

/*
 * The status with which a report on a recording ends: damaged ones are shown and still end with
 * GP_EXIT_DAMAGED; then why is said on stderr.
 */
int gp_report_exit(const char *path, const struct gp_info *info);

/*
 * Of two exit statuses the one to end with: what was found was, whatever else cannot be read or
 * judged, so GP_EXIT_FOUND comes before GP_EXIT_DAMAGED; else the greater.
 */
int gp_report_worse(int a, int b);
/* The object `steps`, with what every command tells of them; to be ended by the caller. */
void gp_report_steps_begin(struct gp_json *json, const struct gp_steps *steps);
/* "3,615 launches, 1,055 captured launches, 7 graph launches"; zeros only of the first. */
void gp_launches_print(FILE *out, uint64_t launches, uint64_t captured, uint64_t graphs);
/* Whether it has that device, or all are meant (-1); if not, said on stderr. */
bool gp_report_has_device(const char *path, const struct gp_info *info, int64_t device);
#define GP_DEVICES_TEXT 256u
/* "0, 1, 2", the GPUs of a recording; "": none, or not known. */
void gp_report_devices_text(const struct gp_info *info, char out[GP_DEVICES_TEXT]);
/* Says that there is no memory of the device, and which other devices there are. */
void gp_report_no_device(const char *path, const struct gp_info *info, int64_t device);
/* The same of `path` and, "" or " and 2 others", with the list of gp_report_devices_text. */
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
/* As a line; coloured where something is damaged or lost. */
void gp_headline_print(FILE *out, const struct gp_info *info);
/* Peaks are those of the whole job: nothing was before the recording, nothing came unseen. */
bool gp_has_whole_figures(const struct gp_info *info);
/* The same of the peak of pinned memory. */
bool gp_has_whole_pinned(const struct gp_info *info);
/*
 * Where a person reads, beside memory of devices: the least pinned memory that is shown unasked.
 * PyTorch pins 4 bytes for an item(); leaked buffers soon have more than 64 KiB together.
 */
#define GP_PINNED_LEAST (64u << 10)
/* Why more may have happened between two moments than the recording has; NULL: it has all. */
const char *gp_span_doubt_of(const struct gp_info *info);
/* The same of the whole job: figures of the recording may be too low. */
const char *gp_doubt_of(const struct gp_info *info);
/* Something is missing that happened. */
bool gp_has_losses(const struct gp_info *info);

uint64_t gp_events_of(const struct gp_info *info); /* how much of that */

/* The keys `gaps`, moments, and `uncertain`, pairs of moments. */
void gp_report_doubts(struct gp_json *json, const struct gp_info *info);
/* What opened or closed a captured span (enum gp_scope_by), a word or two; NULL: not known. */
const char *gp_scope_text(unsigned by);

/* ---- next.c ---- */

/* That the framework reported in the part that a flight recorder has overwritten. */
uint64_t gp_overwritten_ooms(const struct gp_info *info);

/* Memory ran out, and `gpuprof oom` reports it. One replay where counts alone do not tell. */
bool gp_next_has_oom(struct gp_recording *recording, const struct gp_info *info);
/*
 * The command that follows a report: `verify` of what is damaged, `oom` where memory ran out, else
 * `otherwise`; NULL: `peak` with stacks, `timeline` without.
 */
const char *gp_next_of(struct gp_recording *recording, const struct gp_info *info,
		       const char *otherwise);

/* The last line of a report: "next: gpuprof timeline run.gpr", the path as a shell wants it. */
void gp_next_print(FILE *out, const char *command, const char *path);
/*
 * A recorded command, each word quoted for a shell where it must be. Which blanks were within an
 * argument is not recorded.
 */
void gp_command_print(FILE *out, const char *command);

/* Why ranges of NVTX or PyTorch's own are not there, a line each behind `side`, "" or "B: ". */
void gp_no_ranges_print(FILE *out, const char *side, const struct gp_info *info);

/*
 * Whether `text` is `peak` or `peak:CURVE`. *of: the curve that it names, GP_CURVE_PINNED too; of
 * `peak` alone GP_CURVES, the innermost that has a peak: allocated, else driver.
 */
bool gp_peak_curve_read(const char *text, unsigned *of);
#define GP_UNUSED_PEAK "peak:unused" /* the moment of gp_unused_peak_find */
/*
 * What `--from`, `--to` and `--at` accept: a moment, `start`, `end`, `peak`, `peak:CURVE`,
 * `peak:unused`, `oom` or `step:N`. False: said why.
 */
bool gp_moment_find(struct gp_recording *recording, const char *option, const char *text,
		    int64_t *out);

/* Says why `text` is not a moment of the recording, and which others there are. Returns false. */
bool gp_moment_missing(const char *text, const char *path, const char *why);

/*
 * The span of `--from` and `--to`; NULL: not given, *from_ns or *to_ns stays as it is. False: it is
 * empty or begins after the recording's end, said why.
 */
bool gp_span_find(struct gp_recording *recording, const char *from, const char *to,
		  int64_t *from_ns, int64_t *to_ns);

#endif
