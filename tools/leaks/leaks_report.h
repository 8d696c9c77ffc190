/*
 * The report of `gpuprof leaks` on one recording, for a person and for a program. The command fills
 * it in.
 */
#ifndef LEAKS_REPORT_H
#define LEAKS_REPORT_H

#include "../io/amount.h"
#include "../io/json.h"
#include "../report/table.h"
#include "gpuprof.h"

#define GP_LEAK_CAVEAT_MAX 256u
#define GP_LEAK_PLACE_MAX 1024u

struct gp_leaks_report {
	struct gp_recording *recording;
	const struct gp_info *info;
	const char *path;
	struct gp_leaks leaks;
	const char *library; /* NULL: all */
	int64_t device;	     /* -1: all */
	uint64_t top;	     /* suspects of memory, and of objects; 0: all */
	bool is_native;
	bool has_fillings;   /* caches that still fill count as suspects */
	const char *by;	     /* "role"; NULL: roles are not requested */
	struct gp_peak held; /* by role, at the last sample */
	FILE *out;
	struct gp_json *json;
};

/* ---- leaks_view.c: filters, and the stack of a leak ---- */

/* The result of looking up a stack. */
struct gp_leak_view {
	bool has_stack;
	struct gp_stack stack;
	struct gp_frame frame[GP_FRAMES_MAX];
	struct gp_names names;
};
void gp_leak_look_up(const struct gp_leaks_report *report, uint32_t stack, int64_t at_ns,
		     struct gp_leak_view *out);
/* Applies the filters. The view is that of leak->stack. */
bool gp_leak_is_selected(const struct gp_leaks_report *report, const struct gp_leak *leak,
			 const struct gp_leak_view *view);

/* Whether it is host memory. Its leak->device is the device that was current. */
bool gp_leak_is_pinned(const struct gp_leak *leak);

/* The growth in numbers: "1 pinned allocation", "0.5 streams", "larger framework blocks" */
struct gp_text gp_leak_number(const struct gp_leak *leak);

/* "step", or "window" if windows of time replace steps */
const char *gp_leak_unit(const struct gp_leaks_report *report);

/* Sums of the leaks that pass the filters. */
struct gp_leak_total {
	size_t leaks, fillings;
	size_t certain;			     /* includes filling caches if they count */
	double bytes_per_step;		     /* of devices */
	double pinned_per_step;		     /* of pinned host memory */
	double of_device[GP_DEVICES];	     /* of bytes_per_step */
	double steps_until_full[GP_DEVICES]; /* -1: unknown, no leak, or a cache still fills */
};
struct gp_leak_total gp_leak_total_of(const struct gp_leaks_report *report);

/* Why no suspects does not mean no leak; NULL: it does. */
const char *gp_leak_caveat(const struct gp_leaks_report *report, char text[GP_LEAK_CAVEAT_MAX]);
/* Whether growth was detectable that began in any step of the first half of the span. */
bool gp_leak_judges_half(const struct gp_leaks_report *report);
/* The next command that helps with the caveat; NULL: unknown. */
const char *gp_leak_caveat_hint(const struct gp_leaks_report *report,
				char text[GP_LEAK_CAVEAT_MAX]);

/*
 * Whether the recording has memory of the library, freed memory included. If not, prints the
 * libraries that it has. Needs one more replay if no suspect is of the library.
 */
bool gp_leak_has_library(const struct gp_leaks_report *report, enum gp_status *status);

/* ---- leaks_roles.c: what the suspects hold, if requested ---- */

/* Fills in `held`. The caller frees it. */
enum gp_status gp_leak_roles_find(struct gp_leaks_report *report);
const struct gp_role_rule *gp_leak_rule(const struct gp_leaks_report *report,
					const struct gp_leak *leak);
/* A line with the sum of each role; the key `groups`. */
void gp_leak_roles_print(const struct gp_leaks_report *report);
void gp_leak_roles_write(const struct gp_leaks_report *report);

/* ---- leaks_verdict.c: the answer in one line ---- */

enum gp_leak_verdict { GP_LEAK_FOUND, GP_LEAK_SUSPECTED, GP_LEAK_NONE, GP_LEAK_UNKNOWN };
extern const char *const gp_leak_verdict_names[]; /* "leak", "suspected", "none", "unknown" */
struct gp_leak_answer {
	enum gp_leak_verdict verdict;
	char s[512]; /* "No leak found before step 48 of 60. A leak that begins ..." */
};
/* Whether memory grows and is not freed, certain or not. */
bool gp_leak_is_suspected(const struct gp_leak_answer *answer);
struct gp_leak_answer gp_leak_answer_of(const struct gp_leaks_report *report,
					const struct gp_leak_total *total);

/* The answer on the whole recording. Finds the steps, and needs one more replay. */
enum gp_status gp_leak_answer_build(struct gp_recording *recording, const struct gp_info *info,
				    const char *path, struct gp_leak_answer *out);

/* The object `leaks` of other reports: the verdict and the answer. */
void gp_leak_answer_write(struct gp_json *json, const struct gp_leak_answer *answer);

/* The answer in a table: "128 KiB", "1 stream", "0 B"; "-" without a verdict. */
void gp_leak_cell_put(struct gp_cell *cell, const struct gp_leaks_report *report,
		      const struct gp_leak_total *total);

/*
 * leaks_print.c: writes the innermost frame of the user's code, as "loss_list (train.py:87)". A
 * stack without one has its operator or library, as "aten::cat". Returns false if no stack was
 * recorded.
 */
bool gp_leak_place(const struct gp_leak_view *view, char out[GP_LEAK_PLACE_MAX]);

/* leaks_print.c, leaks_json.c: the whole report; one suspect */
void gp_leaks_print(const struct gp_leaks_report *report);
void gp_leak_print(const struct gp_leaks_report *report, const struct gp_leak *leak,
		   const struct gp_leak_view *view);
enum gp_status gp_leaks_write(const struct gp_leaks_report *report);
void gp_leak_write(const struct gp_leaks_report *report, const struct gp_leak *leak,
		   const struct gp_leak_view *view);

#endif
