/*
 * Samples of the live entries: the memory of each stack and kind at some moments, and for the last
 * sample the times of its allocations.
 */
#ifndef GP_LEAK_SAMPLE_H
#define GP_LEAK_SAMPLE_H

#include "../../read/file/recording.h"
#include "../../read/tables/row_table.h"
#include "leak_trend.h"

/* Samples of the whole interval, and closer ones of its last part. */
enum gp_leak_scales { GP_LEAK_WHOLE, GP_LEAK_TAIL, GP_LEAK_SCALES };
#define GP_LEAK_POINTS (GP_LEAK_SCALES * GP_TREND_SAMPLES)
#define GP_LEAK_HOLDERS_MAX 65536u /* capacity: pairs of stack and kind */

/*
 * Allocations that count as one: equal stack, kind and device; without a stack the size must be
 * equal, too.
 */
struct gp_leak_holder {
	uint32_t stack;
	uint8_t space, of, device;
	bool is_object;
	uint64_t size;
	int64_t at_ns; /* the time of an allocation that was live at a sample */
	double bytes[GP_LEAK_POINTS], count[GP_LEAK_POINTS];
	uint32_t births[GP_LEAK_POINTS];
	size_t examples; /* newest first */
	struct gp_live_entry example[GP_LEAK_EXAMPLES];
};

/* A live allocation at the last sample. */
struct gp_leak_survivor {
	uint32_t holder; /* index of its row */
	uint64_t order;
	int64_t at_ns; /* time of its allocation */
};

struct gp_leak_samples {
	size_t samples;
	int64_t at_ns[GP_LEAK_POINTS]; /* ascending; set by the caller */
	double at[GP_LEAK_POINTS];     /* set by the caller, in steps or windows */
	/* Set by the caller: the samples of each scale; none: the scale is not used. */
	struct gp_leak_scale {
		size_t samples, sample[GP_TREND_SAMPLES];
	} scale[GP_LEAK_SCALES];
	struct gp_row_table table; /* struct gp_leak_holder rows */
	bool is_cut;		   /* there were more than GP_LEAK_HOLDERS_MAX */
	size_t survivors;
	struct gp_leak_survivor *survivor; /* sorted by time */
	/* at the last sample; UINT64_MAX: unknown */
	uint64_t free_bytes[GP_DEVICES];
	/* By device and sample; has_curve: a value up to the last sample was above 0. */
	double curve[GP_DEVICES][GP_CURVES][GP_LEAK_POINTS];
	bool has_curve[GP_DEVICES][GP_CURVES];
};

/* The values of a holder at the samples of a scale. */
struct gp_leak_series {
	struct gp_series s; /* points into the other fields */
	double at[GP_TREND_SAMPLES], bytes[GP_TREND_SAMPLES], count[GP_TREND_SAMPLES];
	uint32_t births[GP_TREND_SAMPLES];
};
void gp_leak_series(const struct gp_leak_samples *samples, const struct gp_leak_holder *holder,
		    enum gp_leak_scales scale, struct gp_leak_series *out);

static inline struct gp_leak_holder *gp_leak_holder(const struct gp_leak_samples *s, size_t k)
{
	return (struct gp_leak_holder *)s->table.row + k;
}

struct gp_leak_extent {
	uint64_t address, bytes;
};

/*
 * Samples that a replay takes. Zero it, and fill in the first part. *ranges, NULL before, gets the
 * ranges of all allocations if the recording has any. The caller owns it, also after a failure.
 */
struct gp_leak_sampling {
	struct gp_recording *recording;
	struct gp_leak_samples *out;
	struct gp_range_paths **ranges;
	size_t sample;
	bool is_out_of_memory;
	struct gp_leak_extent *reserve; /* reservations of the framework, by address */
	size_t reserves;
	size_t last;	  /* index of the reservation with the last mapping found */
	uint64_t *mapped; /* orders of physical memory that is mapped there, sorted */
	size_t mappeds;
};
/* As the parts of struct gp_analysis. Release it also after a failure. */
enum gp_status gp_leak_sampling_prepare(struct gp_leak_sampling *sampling);
enum gp_status gp_leak_sampling_begin(struct gp_leak_sampling *sampling);
/* GP_END: all samples were taken. */
enum gp_status gp_leak_sampling_before(struct gp_leak_sampling *sampling,
				       const struct gp_record *record);
void gp_leak_sampling_after(struct gp_leak_sampling *sampling, uint32_t thread,
			    const struct gp_record *record);
enum gp_status gp_leak_sampling_end(struct gp_leak_sampling *sampling);
void gp_leak_sampling_release(struct gp_leak_sampling *sampling);
/* Keeps the entry as an example if it is among the newest. */
void gp_leak_keep_example(struct gp_leak_holder *holder, const struct gp_live_entry *entry);
void gp_leak_samples_release(struct gp_leak_samples *samples);

#endif
