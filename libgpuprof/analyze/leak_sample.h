/*
 * Samples of the live set: at some moments what each stack has of each kind of memory, and at the
 * last of them when that was made.
 */
#ifndef GP_LEAK_SAMPLE_H
#define GP_LEAK_SAMPLE_H

#include "../read/recording.h"
#include "leak_trend.h"

#define GP_LEAK_HOLDERS_MAX 65536u

/* What is like each other: the same stack, kind and device; without a stack the same size, too. */
struct gp_leak_holder {
	uint32_t stack;
	uint8_t space, of, device;
	bool is_object;
	uint64_t size;
	int64_t at_ns;
	double bytes[GP_LEAK_SAMPLES], count[GP_LEAK_SAMPLES];
	uint32_t births[GP_LEAK_SAMPLES];
	size_t examples; /* the newest first */
	struct gp_live_entry example[GP_LEAK_EXAMPLES];
};

struct gp_leak_samples {
	size_t samples;
	int64_t at_ns[GP_LEAK_SAMPLES]; /* rising; the caller's */
	struct gp_leak_holder **holder;
	size_t holders, room;
	uint32_t *place; /* 1 + holder; 0: empty */
	size_t places;
	bool is_cut; /* there are more than GP_LEAK_HOLDERS_MAX */
	/* at the last sample; UINT64_MAX: unknown */
	uint64_t free_bytes[GP_DEVICES];
};

/*
 * One replay. Release also after a failure. *ranges, NULL before, are those of all that was
 * allocated, where the recording has any: the caller's, also after a failure.
 */
enum gp_status gp_leak_samples_take(struct gp_recording *recording, struct gp_leak_samples *samples,
				    struct gp_range_paths **ranges);
void gp_leak_samples_release(struct gp_leak_samples *samples);

#endif
