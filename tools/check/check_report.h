/*
 * What `gpuprof check` holds a recording against, and what it finds. Each condition is judged for
 * each device: it is kept, it is not, or that cannot be judged, which never passes for kept.
 */
#ifndef CHECK_REPORT_H
#define CHECK_REPORT_H

#include "../frag/frag_report.h"
#include "../io/amount.h"
#include "../io/json.h"
#include "../leaks/leaks_report.h"
#include "../report/use_print.h"
#include "gpuprof.h"

enum gp_check_condition {
	GP_CHECK_PEAK,
	GP_CHECK_RESERVED,
	GP_CHECK_ALLOCATED,
	GP_CHECK_FRAG,
	GP_CHECK_HEADROOM,
	GP_CHECK_GROWTH,
	GP_CHECK_CONDITIONS
};
/* An amount of bytes, or a share in millionths. */
struct gp_check_amount {
	bool is_given, is_share;
	uint64_t number;
};
/* "20%", and where `may_be_bytes` "512MiB". False: it is neither. */
bool gp_check_amount_read(const char *text, bool may_be_bytes, struct gp_check_amount *out);
struct gp_text gp_check_amount_text(struct gp_check_amount amount);
/* As few digits as tell on which side of the limit the value is. */
struct gp_check_texts {
	struct gp_text value, limit;
};
struct gp_check_texts gp_check_texts(struct gp_check_amount value, struct gp_check_amount limit);

/* The later the more it decides: what is exceeded is, whatever else cannot be judged. */
enum gp_check_state { GP_CHECK_KEPT, GP_CHECK_NOT_JUDGED, GP_CHECK_EXCEEDED };
/* What is shown of who is to blame. */
enum gp_check_culprits {
	GP_CULPRITS_NONE,
	GP_CULPRITS_HOLDERS,
	GP_CULPRITS_PINS,
	GP_CULPRITS_GROWN,
	GP_CULPRITS_STEPS
};

struct gp_check_finding {
	const char *check; /* "max_peak", "baseline_driver" */
	bool has_device;
	unsigned device;
	enum gp_check_state state;
	bool has_value;
	struct gp_check_amount value, limit;
	int64_t at_ns; /* of the value; -1: of no moment */
	enum gp_check_culprits culprits;
	enum gp_curve of; /* of the culprits */
	char text[448];	  /* the sentence for a person */
	char why[200];	  /* why it cannot be judged, or what is to be known beside; "": nothing */
};
enum { GP_CHECK_FINDINGS = 16 * GP_DEVICES };

/* ---- the baseline ---- */

#define GP_BASELINE_GROUPS 50u /* kept of each device */
struct gp_baseline_group {
	char *key;
	uint64_t bytes, count;
};
struct gp_baseline_device {
	unsigned device;
	uint64_t bytes[GP_CURVES];
	size_t groups;
	struct gp_baseline_group *group; /* at the peak of what was allocated, else of the driver */
};
struct gp_baseline_entry {
	char *gpu, *driver, *pytorch; /* the key, as recordings say it; NULL: not known */
	size_t devices;
	struct gp_baseline_device *device;
};
struct gp_baseline {
	struct gp_check_amount tolerance[GP_CURVES];
	size_t entries;
	struct gp_baseline_entry *entry;
};

/* ---- a recording under judgement ---- */

struct gp_check {
	const char *path;
	struct gp_recording *recording;
	const struct gp_info *info;
	struct gp_peak peak;
	struct gp_figure_list figures;
	struct gp_growth growth;
	struct gp_leaks leaks; /* where growth is limited */
	struct gp_check_amount limit[GP_CHECK_CONDITIONS];
	int64_t only_device;		    /* -1: all */
	const struct gp_baseline *baseline; /* NULL: none, or it is written */
	const char *baseline_path;
	bool is_update; /* its figures become the baseline's, if limits are kept */
	size_t findings;
	struct gp_check_finding finding[GP_CHECK_FINDINGS];
};

/* The next one, to be filled in; of no device where `figures` is NULL. */
struct gp_check_finding *gp_check_add(struct gp_check *check, const char *name,
				      const struct gp_figures *figures);
/* It cannot be judged, and why. */
void gp_check_refuse(struct gp_check_finding *finding, const char *format, ...)
	__attribute__((format(printf, 2, 3)));
/* Adds what the limits of devices say; and that of their steps. */
void gp_check_limits(struct gp_check *check);
void gp_check_growth(struct gp_check *check);
/* What leaks beside that: one stack among many, objects of the driver. */
void gp_check_leaks(struct gp_check *check);
/* Steps were looked for, and are too few; that they were found is not said by that. */
bool gp_check_has_few_steps(const struct gp_check *check);
/*
 * Bytes a step of suspects, and of what still fills, that are of what the sum of the device is of;
 * `is_sure`: of suspects alone, and of those that are steady.
 */
double gp_check_suspected(const struct gp_check *check, const struct gp_growth_device *device,
			  bool is_sure);
/*
 * The next suspect that is to blame for what is exceeded, or that is beyond the limit in steps that
 * are too few; NULL: there is no more. *next is 0 at first.
 */
const struct gp_leak *gp_check_next_suspect(const struct gp_check *check, size_t *next);
struct gp_leaks_report gp_check_leaks_report(const struct gp_check *check);
enum gp_check_state gp_check_state_of(const struct gp_check *check);

/* check_baseline.c: a file that is not there is an empty baseline where `may_be_new`. */
bool gp_baseline_read(const char *path, bool may_be_new, struct gp_baseline *out);
void gp_baseline_write(const struct gp_baseline *baseline, FILE *out);
void gp_baseline_free(struct gp_baseline *baseline);
/* The entry for the GPU, driver and PyTorch of that recording; NULL: there is none. */
const struct gp_baseline_entry *gp_baseline_find(const struct gp_baseline *baseline,
						 const struct gp_info *info);
/* Its figures become, or replace, the entry with its key. */
enum gp_status gp_baseline_take(struct gp_baseline *baseline, const struct gp_check *check);
/* Adds what the baseline says. */
void gp_check_baseline(struct gp_check *check);

/* ---- who is to blame ---- */

struct gp_check_grown {
	char *key;
	uint64_t bytes, before_bytes;
	bool is_at_most; /* before: it was not among the groups that the baseline has */
};
/*
 * Stacks of the device that hold more than in the baseline, most growth first; NULL: not known.
 * Where line numbers have moved, what they tell apart is added up.
 */
struct gp_check_grown *gp_check_grown_list(const struct gp_check *check, unsigned device,
					   size_t *count);
void gp_check_grown_free(struct gp_check_grown *list, size_t count);
const struct gp_baseline_device *gp_baseline_device(const struct gp_baseline_entry *entry,
						    unsigned device);
/*
 * `changed`: stacks that hold more at the last step (part[1]) than at growth.first, most first.
 * False: they are not known.
 */
bool gp_check_steps_build(const struct gp_check *check, const struct gp_growth_device *device,
			  struct gp_diff *out);
/* Reserved memory, at least. */
bool gp_check_has_framework(const struct gp_check *check, unsigned device);
/* Whether that is shown; of holders, where segments are to blame, what lies in them is, too. */
bool gp_check_wants(const struct gp_check *check, unsigned device, enum gp_check_culprits culprits);
bool gp_check_wants_holders(const struct gp_check *check, unsigned device, enum gp_curve of);
/* NULL: there are none. */
struct gp_holders *gp_check_holders(const struct gp_peak *peak, unsigned device, enum gp_curve of);
/* Stacks at the peak of a curve; false: there is none. */
bool gp_check_groups(const struct gp_check *check, unsigned device, enum gp_curve of,
		     bool is_folded, struct gp_groups *out, uint64_t *whole);
/* The blocks beside free memory when most was reserved; false: that moment is not kept. */
struct gp_check_pins {
	struct gp_frag_report r;
	struct gp_frag frag;
};
bool gp_check_pins_build(const struct gp_check *check, unsigned device, struct gp_check_pins *out);
void gp_check_pins_free(struct gp_check_pins *pins);

/* check_print.c, check_json.c */
void gp_check_print(const struct gp_check *check, FILE *out);
void gp_check_write(const struct gp_check *check, struct gp_json *json);

#endif
