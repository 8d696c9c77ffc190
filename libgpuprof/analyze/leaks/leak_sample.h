/*
 * Samples of the live set: at some moments what each stack has of each kind of memory, and at the
 * last of them when that was made.
 */
#ifndef GP_LEAK_SAMPLE_H
#define GP_LEAK_SAMPLE_H

#include "../../read/file/recording.h"
#include "../../read/tables/row_table.h"
#include "leak_trend.h"

/* Samples of all the time, and those of its last part, closer together. */
enum gp_leak_scales { GP_LEAK_WHOLE, GP_LEAK_TAIL, GP_LEAK_SCALES };
#define GP_LEAK_POINTS (GP_LEAK_SCALES * GP_TREND_SAMPLES)
#define GP_LEAK_HOLDERS_MAX 65536u /* capacity: stacks and kinds */

/* What is like each other: the same stack, kind and device; without a stack the same size, too. */
struct gp_leak_holder {
	uint32_t stack;
	uint8_t space, of, device;
	bool is_object;
	uint64_t size;
	int64_t at_ns; /* when one of it was made that was live at a sample */
	double bytes[GP_LEAK_POINTS], count[GP_LEAK_POINTS];
	uint32_t births[GP_LEAK_POINTS];
	size_t examples; /* the newest first */
	struct gp_live_entry example[GP_LEAK_EXAMPLES];
};

/* What is live at the last sample. */
struct gp_leak_survivor {
	uint32_t holder; /* its row */
	uint64_t order;
	int64_t at_ns; /* when it was made */
};

struct gp_leak_samples {
	size_t samples;
	int64_t at_ns[GP_LEAK_POINTS]; /* rising; the caller's */
	double at[GP_LEAK_POINTS];     /* likewise, in steps or windows */
	/* likewise: which of them are of it; none: it is not looked at */
	struct gp_leak_scale {
		size_t samples, sample[GP_TREND_SAMPLES];
	} scale[GP_LEAK_SCALES];
	struct gp_row_table table; /* of struct gp_leak_holder */
	bool is_cut;		   /* there are more than GP_LEAK_HOLDERS_MAX */
	size_t survivors;
	struct gp_leak_survivor *survivor; /* by the moment */
	/* at the last sample; UINT64_MAX: unknown */
	uint64_t free_bytes[GP_DEVICES];
	/* of each device at each sample; has_curve: any was live up to the last one */
	double curve[GP_DEVICES][GP_CURVES][GP_LEAK_POINTS];
	bool has_curve[GP_DEVICES][GP_CURVES];
};

/* What a holder has at the samples of a scale. */
struct gp_leak_series {
	struct gp_series s; /* points into the others */
	double at[GP_TREND_SAMPLES], bytes[GP_TREND_SAMPLES], count[GP_TREND_SAMPLES];
	uint32_t births[GP_TREND_SAMPLES];
};
void gp_leak_series(const struct gp_leak_samples *samples, const struct gp_leak_holder *holder,
		    enum gp_leak_scales scale, struct gp_leak_series *out);

static inline struct gp_leak_holder *gp_leak_holder(const struct gp_leak_samples *s, size_t k)
{
	return (struct gp_leak_holder *)s->table.row + k;
}

/*
 * One replay. Release also after a failure. *ranges, NULL before, are those of all that was
 * allocated, where the recording has any: the caller's, also after a failure.
 */
enum gp_status gp_leak_samples_take(struct gp_recording *recording, struct gp_leak_samples *samples,
				    struct gp_range_paths **ranges);
/* As one of the newest, should it be. */
void gp_leak_keep_example(struct gp_leak_holder *holder, const struct gp_live_entry *entry);
void gp_leak_samples_release(struct gp_leak_samples *samples);

#endif
