/* Follows the uses of each thread's last launch, and adds up their allocations. */
#include "kernel_arguments.h"

#include <stdlib.h>

#include "../../read/tables/array.h"
#include "../../read/tables/row_table.h"
#include "../../state/looks.h"
#include "../idle/touch_replay.h"

#define ALLOCATIONS_MOST 4096u /* of one launch: CUDA takes at most 32 KiB of parameters */

struct numbered {
	uint64_t event;
	uint32_t launch;
};

/* The last launch of a thread. */
struct last {
	uint64_t key; /* the thread */
	uint32_t launch;
	uint64_t *order; /* of the allocations that are counted */
	size_t allocations, room;
};

struct following {
	struct numbered *numbered; /* launches by their event */
	size_t launches;
	uint64_t *bytes;
	struct gp_row_table lasts; /* struct last */
	struct gp_looks looks;
};

static int by_event(const void *left, const void *right)
{
	const struct numbered *a = left, *b = right;
	return (a->event > b->event) - (a->event < b->event);
}

static bool launch_begin(struct following *f, uint64_t event, uint32_t thread)
{
	const struct numbered key = { .event = event };
	const struct numbered *n =
		bsearch(&key, f->numbered, f->launches, sizeof *f->numbered, by_event);
	struct last *last = gp_row_get_key(&f->lasts, sizeof *last, thread);
	if (last == NULL)
		return false;
	last->launch = n != NULL ? n->launch : GP_GPU_NO_LAUNCH;
	last->allocations = 0;
	if (n != NULL)
		f->bytes[n->launch] = 0;
	return true;
}

/* `entry` NULL: a launch whose uses follow on its thread. */
static bool use_see(void *context, uint64_t event, uint32_t thread,
		    const struct gp_live_entry *entry)
{
	struct following *f = context;
	gp_looks_add(&f->looks);
	if (entry == NULL)
		return launch_begin(f, event, thread);
	struct last *last = gp_row_of_key(&f->lasts, sizeof *last, thread);
	if (last == NULL || last->launch == GP_GPU_NO_LAUNCH)
		return true;
	const bool has_looks = gp_looks_take(&f->looks, last->allocations);
	for (size_t k = 0; k < last->allocations && has_looks; k++)
		if (last->order[k] == entry->order)
			return true;
	uint64_t *sum = &f->bytes[last->launch];
	if (!has_looks || last->allocations == ALLOCATIONS_MOST ||
	    __builtin_add_overflow(*sum, entry->bytes, sum)) {
		*sum = GP_ARGUMENTS_UNKNOWN;
		last->launch = GP_GPU_NO_LAUNCH;
		return true;
	}
	if (!gp_array_reserve(&last->order, &last->room, last->allocations, 1, sizeof *last->order))
		return false;
	last->order[last->allocations++] = entry->order;
	return true;
}

static bool end_see(void *context, const struct gp_touch_end *end)
{
	(void)context, (void)end;
	return true;
}

enum gp_status gp_kernel_arguments(struct gp_recording *recording, const struct gp_gpu *gpu,
				   uint64_t **bytes)
{
	*bytes = NULL;
	/* beyond its room, `gpu` takes all memory that a report may take */
	if (recording->info.counts[GP_USE] == 0 || gpu->launches == 0 || gpu->beyond != 0)
		return GP_OK;
	struct following f = { .launches = gpu->launches };
	struct gp_idle counts = { 0 };
	struct gp_touch_replay replay = { .recording = recording,
					  .use = use_see,
					  .end = end_see,
					  .context = &f,
					  .counts = &counts };
	gp_looks_open(&f.looks);
	for (unsigned device = 0; device < GP_DEVICES; device++)
		replay.peak_event[device] = GP_NO_EVENT;
	f.numbered = malloc(gpu->launches * sizeof *f.numbered);
	f.bytes = malloc(gpu->launches * sizeof *f.bytes);
	enum gp_status status = f.numbered != NULL && f.bytes != NULL ? GP_OK : GP_E_MEMORY;
	for (size_t k = 0; status == GP_OK && k < gpu->launches; k++) {
		f.numbered[k] = (struct numbered){ gpu->launch[k].event, (uint32_t)k };
		f.bytes[k] = GP_ARGUMENTS_UNKNOWN;
	}
	if (status == GP_OK) {
		qsort(f.numbered, f.launches, sizeof *f.numbered, by_event);
		status = gp_touch_replay_run(&replay);
		gp_touch_replay_release(&replay);
	}
	for (uint32_t k = 0; k < f.lasts.rows; k++)
		free(((struct last *)f.lasts.row)[k].order);
	gp_row_table_release(&f.lasts);
	free(f.numbered);
	if (status == GP_OK)
		*bytes = f.bytes;
	else
		free(f.bytes);
	return status;
}
