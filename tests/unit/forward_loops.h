/*
 * Training loops as recordings: the ranges that PyTorch opens and the ranges that a job may open
 * around them. A letter stands for each range; launches are counted.
 */
#ifndef FORWARD_LOOPS_H
#define FORWARD_LOOPS_H

#include "range_records.h"

static const struct range_name {
	char letter;
	uint32_t id;
	unsigned source;
	const char *text;
} range_names[] = {
	{ 'd', 6, GP_RANGE_TORCH, "enumerate(DataLoader)#_MultiProcessingDataLoaderIter.__next__" },
	{ 'z', 7, GP_RANGE_TORCH, "Optimizer.zero_grad#AdamW.zero_grad" },
	{ 'o', 8, GP_RANGE_TORCH, "Optimizer.step#AdamW.step" },
	{ 'B', 9, GP_RANGE_ENGINE, "backward" },
	{ 's', 10, GP_RANGE_NVTX, "a step" },
	{ 'f', 11, GP_RANGE_NVTX, "Model.forward" },
	{ 'b', 12, GP_RANGE_NVTX, "DeepSpeedEngine.backward" },
	{ 'm', 13, GP_RANGE_TORCH, "micro batch" },
	{ 'e', 14, GP_RANGE_NVTX, "evaluate" },
	{ 'l', 15, GP_RANGE_NVTX, "feed_forward" },
	{ 'x', 16, GP_RANGE_TORCH, "forward and backward" },
};
#define NAMES (sizeof range_names / sizeof *range_names)

static const struct range_name *named(char letter)
{
	for (size_t k = 0; k < NAMES; k++)
		if (range_names[k].letter == letter)
			return &range_names[k];
	fail_msg("no range '%c'", letter);
	return NULL;
}

static unsigned open_source[4][16];
static uint64_t all_launches;

static void put_launches(struct writer *w, unsigned thread, unsigned long count)
{
	all_launches += count;
	while (count-- > 0)
		put_launch(w, thread);
}
static void put_open(struct writer *w, unsigned thread, char letter)
{
	const struct range_name *n = named(letter);
	open_source[thread][depth_of[thread]] = n->source;
	put_push(w, thread, n->id, n->source);
}
static void put_end(struct writer *w, unsigned thread)
{
	put_pop(w, thread, open_source[thread][depth_of[thread] - 1]);
}

static void start(struct writer *w, const char *file)
{
	all_launches = 0;
	begin(w, file);
	for (size_t k = 0; k < NAMES; k++)
		define_name(w, range_names[k].id, range_names[k].text);
}

static struct gp_recording *finish(struct writer *w, struct gp_phases *p)
{
	struct gp_recording *r = build(w, p);
	uint64_t launches = 0;
	for (size_t k = 0; k < p->phases; k++)
		launches += p->phase[k].depth == 0 ? p->phase[k].launches : 0;
	assert_int_equal(launches, all_launches);
	return r;
}

#endif
