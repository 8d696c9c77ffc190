/*
 * The conditions of `gpuprof check` and its findings. Each condition is judged for each device: it
 * is kept, exceeded, or cannot be judged. The last never counts as kept.
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
/* Reads "20%", and if `may_be_bytes` also "512MiB". False: it is neither. */
bool gp_check_amount_read(const char *text, bool may_be_bytes, struct gp_check_amount *out);
struct gp_text gp_check_amount_text(struct gp_check_amount amount);
/* Value and limit as text, with enough digits to show on which side of the limit the value is. */
struct gp_check_texts {
	struct gp_text value, limit;
};
struct gp_check_texts gp_check_texts(struct gp_check_amount value, struct gp_check_amount limit);

/* A later one takes precedence: an exceeded condition decides, even if others cannot be judged. */
enum gp_check_state { GP_CHECK_KEPT, GP_CHECK_NOT_JUDGED, GP_CHECK_EXCEEDED };
/* Which culprits are shown. */
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
	int64_t at_ns; /* of the value; -1: the value has no moment */
	enum gp_check_culprits culprits;
	enum gp_curve of; /* curve of the culprits */
	char text[448];	  /* the sentence for a person */
	char why[200];	  /* why it cannot be judged, or a remark; "": none */
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
	struct gp_baseline_group *group; /* at the allocated peak, else at the driver's */
};
struct gp_baseline_entry {
	char *gpu, *driver, *pytorch; /* the key, as in recordings; NULL: unknown */
	size_t devices;
	struct gp_baseline_device *device;
};
struct gp_baseline {
	struct gp_check_amount tolerance[GP_CURVES];
	size_t entries;
	struct gp_baseline_entry *entry;
};

/* ---- the checked recording ---- */

struct gp_check {
	const char *path;
	struct gp_recording *recording;
	const struct gp_info *info;
	struct gp_peak peak;
	struct gp_figure_list figures;
	struct gp_growth growth;
	struct gp_leaks leaks; /* if growth is limited */
	struct gp_check_amount limit[GP_CHECK_CONDITIONS];
	int64_t only_device;		    /* -1: all */
	const struct gp_baseline *baseline; /* NULL: none, or it is being written */
	const char *baseline_path;
	bool is_update; /* take its figures into the baseline if no limit is exceeded */
	size_t findings;
	struct gp_check_finding finding[GP_CHECK_FINDINGS];
};

/*
 * Appends a finding, for the caller to fill in. `figures` is NULL for a finding without a device.
 */
struct gp_check_finding *gp_check_add(struct gp_check *check, const char *name,
				      const struct gp_figures *figures);
/* Marks the finding as not judged, with the reason. */
void gp_check_refuse(struct gp_check_finding *finding, const char *format, ...)
	__attribute__((format(printf, 2, 3)));
/* Add the findings for limits of devices, and for growth from step to step. */
void gp_check_limits(struct gp_check *check);
void gp_check_growth(struct gp_check *check);
/* Adds leaks that the sum hides: one stack among many, objects of the driver. */
void gp_check_leaks(struct gp_check *check);
/* Whether a search for steps found too few. False does not mean that steps were found. */
bool gp_check_has_few_steps(const struct gp_check *check);
/*
 * Bytes a step of suspects and of caches that still fill, in the memory that the device's sum
 * covers. `is_sure`: only of steady suspects.
 */
double gp_check_suspected(const struct gp_check *check, const struct gp_growth_device *device,
			  bool is_sure);
/*
 * The next suspect that explains an exceeded limit, or that exceeds the limit when there are too
 * few steps. NULL: no more. *next is 0 at first.
 */
const struct gp_leak *gp_check_next_suspect(const struct gp_check *check, size_t *next);
struct gp_leaks_report gp_check_leaks_report(const struct gp_check *check);
enum gp_check_state gp_check_state_of(const struct gp_check *check);

/* check_baseline.c: with `may_be_new` a missing file is an empty baseline. */
bool gp_baseline_read(const char *path, bool may_be_new, struct gp_baseline *out);
void gp_baseline_write(const struct gp_baseline *baseline, FILE *out);
void gp_baseline_free(struct gp_baseline *baseline);
/* The entry for the recording's GPU, driver and PyTorch; NULL: none. */
const struct gp_baseline_entry *gp_baseline_find(const struct gp_baseline *baseline,
						 const struct gp_info *info);
/* Adds the figures of the recording, or replaces the entry with its key. */
enum gp_status gp_baseline_take(struct gp_baseline *baseline, const struct gp_check *check);
/* Adds the findings of the comparison with the baseline. */
void gp_check_baseline(struct gp_check *check);

/* ---- culprits ---- */

struct gp_check_grown {
	char *key;
	uint64_t bytes, before_bytes;
	bool is_at_most; /* before_bytes is an upper limit: the baseline does not list the group */
};
/*
 * Stacks of the device that hold more than in the baseline, most growth first; NULL: unknown.
 * Groups that differ only in moved line numbers are added up.
 */
struct gp_check_grown *gp_check_grown_list(const struct gp_check *check, unsigned device,
					   size_t *count);
void gp_check_grown_free(struct gp_check_grown *list, size_t count);
const struct gp_baseline_device *gp_baseline_device(const struct gp_baseline_entry *entry,
						    unsigned device);
/*
 * `changed`: stacks that hold more at the last step (part[1]) than at growth.first, most growth
 * first. False: unknown.
 */
bool gp_check_steps_build(const struct gp_check *check, const struct gp_growth_device *device,
			  struct gp_diff *out);
/* Whether the device has at least reserved memory. */
bool gp_check_has_framework(const struct gp_check *check, unsigned device);
/* Whether these culprits are shown. Holders of segments include the blocks in them. */
bool gp_check_shows(const struct gp_check *check, unsigned device, enum gp_check_culprits culprits);
bool gp_check_shows_holders(const struct gp_check *check, unsigned device, enum gp_curve of);
/* NULL: none. */
struct gp_holders *gp_check_holders(const struct gp_peak *peak, unsigned device, enum gp_curve of);
/* Stacks at the peak of a curve; false: there is no peak. */
bool gp_check_groups(const struct gp_check *check, unsigned device, enum gp_curve of,
		     bool is_folded, struct gp_groups *out, uint64_t *whole);
/* The blocks beside free memory at the reserved peak; false: that moment is overwritten. */
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
