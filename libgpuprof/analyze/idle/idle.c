/*
 * Memory that was held without use. For the peak of each device it comes from the live allocations.
 * For the run it comes from the state of each allocation at its end. Rows are made by stack and get
 * their keys last.
 */
#include <stdlib.h>
#include <string.h>

#include "../settle.h"
#include "idle_fold.h"
#include "idle_owner.h"
#include "idle_reuse.h"
#include "touch_replay.h"
#include "touch_rows.h"

#define CHURN_LEAST 10u /* least requests and releases of driver memory by a stack */
#define PINNED_LEAST 4u /* least allocations of a stack; 1 in so many in the last half */
#define SPACES_CHURNED                                                          \
	(1u << GP_SPACE_DEVICE | 1u << GP_SPACE_MANAGED | 1u << GP_SPACE_HOST | \
	 1u << GP_SPACE_HOST_REGISTER | 1u << GP_SPACE_MAPPED | 1u << GP_SPACE_GRAPH)
#define SPACES_OF_HOST (1u << GP_SPACE_HOST | 1u << GP_SPACE_HOST_REGISTER)

struct building {
	struct gp_recording *recording;
	const struct gp_info *info;
	uint64_t least;
	struct gp_idle *out;
	struct gp_touch_replay replay;
	struct gp_idle_owner_table owners;
	struct gp_row_table wastes; /* struct gp_touch_row rows */
};

/* ---- rows ---- */

/* A few occurrences are not a pattern. */
static bool is_pattern(const struct gp_touch_row *t)
{
	if (t->row.kind == GP_WASTE_CHURN)
		return t->row.count >= CHURN_LEAST;
	/* a single set-up is not growth, whatever its size */
	return t->row.kind != GP_WASTE_PINNED ||
	       (t->row.count >= PINNED_LEAST && t->of_last_half >= t->row.count / PINNED_LEAST);
}

/* Adds the keys, and returns the rows as an array. */
static enum gp_status list_rows(struct building *b, struct gp_row_table *rows, bool is_waste,
				struct gp_idle_row **out, size_t *count)
{
	const struct gp_touch_row *t = rows->row;
	*out = calloc((size_t)rows->rows + 1, sizeof **out);
	if (*out == NULL)
		return GP_E_MEMORY;
	for (size_t left = rows->rows; left > 0; left--, t++) {
		struct gp_idle_row *row = &(*out)[*count];
		if (is_waste && !is_pattern(t))
			continue;
		*row = t->row;
		row->key = gp_touch_key(b->recording, row->stack, row->born_ns, &row->without);
		*count += row->key != NULL;
		if (row->key == NULL || !gp_idle_owner_find(&b->owners, row->stack, row->space,
							    row->born_ns, &row->holder))
			return GP_E_MEMORY;
	}
	return GP_OK;
}

/* ---- over the run ---- */

static bool add_waste(struct building *b, enum gp_waste waste, const struct gp_touch_end *end,
		      uint64_t launches, int64_t ns)
{
	const struct gp_live_entry *e = end->entry;
	const struct gp_idle_row part = {
		.kind = waste,
		.device = e->device < GP_DEVICES ? e->device : GP_DEVICE_UNKNOWN,
		.stack = e->stack,
		.space = e->space,
		.bytes = e->bytes,
		.born_ns = end->touch->born_ns,
		.idle_ns = ns,
		.idle_launches = launches,
		.weight = waste == GP_WASTE_CHURN  ? 1 :
			  waste == GP_WASTE_PINNED ? (double)e->bytes :
						     (double)e->bytes * (double)launches,
	};
	return gp_touch_rows_add(&b->wastes, &part, end->touch->born > end->launches / 2);
}

static bool add_rests(struct building *b, const struct gp_touch_end *end)
{
	const struct gp_touch *t = end->touch;
	uint64_t before = t->first - t->born, after = end->launches - t->last;
	bool is_fine = true;
	if (!t->is_used)
		return end->launches - t->born < 1 ||
		       add_waste(b, GP_WASTE_NEVER, end, end->launches - t->born,
				 end->at_ns - t->born_ns);
	if (before >= b->least)
		is_fine &= add_waste(b, GP_WASTE_EARLY, end, before, t->first_ns - t->born_ns);
	if (after >= b->least)
		is_fine &= add_waste(b, GP_WASTE_LATE, end, after, end->at_ns - t->last_ns);
	if (t->rest >= b->least)
		is_fine &= add_waste(b, GP_WASTE_BETWEEN, end, t->rest, t->rest_ns);
	return is_fine;
}

static bool see_end(void *context, const struct gp_touch_end *end)
{
	struct building *b = context;
	const struct gp_live_entry *e = end->entry;
	bool is_host = (SPACES_OF_HOST >> e->space & 1) != 0, is_fine = true;
	if (end->touch->is_old)
		return true;
	if (!is_host)
		is_fine &= add_rests(b, end);
	if (end->is_freed && (SPACES_CHURNED >> e->space & 1) != 0)
		is_fine &= add_waste(b, GP_WASTE_CHURN, end, end->launches - end->touch->born,
				     end->at_ns - end->touch->born_ns);
	if (!end->is_freed && is_host)
		is_fine &= add_waste(b, GP_WASTE_PINNED, end, end->launches - end->touch->born,
				     end->at_ns - end->touch->born_ns);
	return is_fine;
}

/* ---- at the peak ---- */

/* How memory was unused around the peak: since when and for how long. */
static enum gp_idle_state state_of(const struct building *b, const struct gp_peak_part *p,
				   struct gp_idle_row *out)
{
	const uint64_t end = p->freed_ns >= 0 ? p->freed : b->replay.launches;
	const int64_t end_ns = p->freed_ns >= 0 ? p->freed_ns : b->replay.at_ns;
	bool was_used = p->then.is_used, is_used = p->next_ns >= 0;
	uint64_t from = was_used ? p->then.last : p->then.born, to = is_used ? p->next : end;
	int64_t from_ns = was_used ? p->then.last_ns : p->then.born_ns;
	*out = (struct gp_idle_row){
		.device = p->entry.device,
		.stack = p->entry.stack,
		.space = p->entry.space,
		.bytes = p->entry.bytes,
		.born_ns = p->then.born_ns,
		.first_ns = was_used ? p->then.first_ns : p->next_ns,
		.last_ns = p->then.last_ns,
		.next_ns = p->next_ns,
		.freed_ns = p->freed_ns,
		.idle_ns = (is_used ? p->next_ns : end_ns) - from_ns,
		.idle_launches = to - from,
		.weight = (double)p->entry.bytes * (double)(to - from),
	};
	if (!was_used && p->then.is_old)
		return GP_IDLE_UNKNOWN;
	if (to - from < b->least)
		return GP_IDLE_BUSY;
	if (!was_used)
		return is_used ? GP_IDLE_EARLY : GP_IDLE_NEVER;
	return is_used ? GP_IDLE_BETWEEN : GP_IDLE_LATE;
}

static enum gp_status list_device(struct building *b, struct gp_idle_device *d)
{
	struct gp_row_table rows = { 0 };
	enum gp_status status = GP_OK;
	for (size_t k = 0; k < b->replay.parts && status == GP_OK; k++) {
		struct gp_peak_part *p = &b->replay.part[k];
		struct gp_idle_row part;
		if (p->entry.device != d->device)
			continue;
		part.kind = state_of(b, p, &part);
		if (!gp_idle_owner_find(&b->owners, part.stack, part.space, part.born_ns,
					&part.holder))
			status = GP_E_MEMORY;
		p->owner = part.holder.owner;
		struct gp_idle_sum *sum = &d->sum[p->owner][part.kind];
		sum->bytes += part.bytes;
		sum->count++;
		if (part.kind != GP_IDLE_BUSY && !gp_touch_rows_add(&rows, &part, false))
			status = GP_E_MEMORY;
	}
	if (status == GP_OK)
		status = list_rows(b, &rows, false, &d->row, &d->rows);
	gp_row_table_release(&rows);
	return status;
}

static enum gp_status name_reuse(const struct building *b, struct gp_idle_reuse *r)
{
	r->key = gp_touch_key(b->recording, r->stack, r->born_ns, NULL);
	r->other_key = gp_touch_key(b->recording, r->other_stack, r->other_born_ns, NULL);
	return r->key != NULL && r->other_key != NULL ? GP_OK : GP_E_MEMORY;
}

static enum gp_status list_devices(struct building *b)
{
	struct gp_idle *out = b->out;
	enum gp_status status = GP_OK;
	out->device = calloc(GP_DEVICES, sizeof *out->device);
	if (out->device == NULL)
		return GP_E_MEMORY;
	for (unsigned device = 0; device < GP_DEVICES && status == GP_OK; device++) {
		if (b->replay.peak_event[device] == GP_NO_EVENT)
			continue;
		struct gp_idle_device *d = &out->device[out->devices++];
		const struct gp_curve_top *tops = b->recording->tops.curve[device];
		bool is_framework = tops[GP_CURVE_ALLOCATED].bytes > 0;
		enum gp_curve of = is_framework ? GP_CURVE_ALLOCATED : GP_CURVE_DRIVER;
		const struct gp_curve_top *peak = &tops[of];
		*d = (struct gp_idle_device){
			.device = device,
			.is_framework = is_framework,
			.is_overwritten = peak->ever_bytes > peak->bytes,
			.peak_at_ns = peak->at_ns,
		};
		status = list_device(b, d);
		if (status == GP_OK)
			status = gp_idle_reuse_find(b->replay.part, b->replay.parts, d);
		for (size_t k = 0; status == GP_OK && k < d->reuses; k++)
			status = name_reuse(b, &d->reuse[k]);
	}
	return status;
}

static void choose_peaks(struct building *b)
{
	for (unsigned device = 0; device < GP_DEVICES; device++) {
		const struct gp_curve_top *peak = b->recording->tops.curve[device];
		enum gp_curve of =
			peak[GP_CURVE_ALLOCATED].bytes > 0 ? GP_CURVE_ALLOCATED : GP_CURVE_DRIVER;
		b->replay.peak_event[device] = peak[of].bytes > 0 ? peak[of].event : GP_NO_EVENT;
	}
}

/* ---- the whole ---- */

static void note_what_is_missing(struct building *b)
{
	const struct gp_info *info = b->info;
	b->out->lost = info->lost_launch + info->lost_other + info->lost_memory;
	b->out->beyond = info->uses_beyond;
	b->out->no_uses = info->no_uses;
	b->out->has_uses = info->has_uses;
	b->out->least_launches = b->least;
}

static enum gp_status idle_attempt(void *context, const struct gp_info *info)
{
	struct building *b = context;
	b->info = info;
	b->owners.recording = b->recording;
	note_what_is_missing(b);
	if (!info->has_uses)
		return GP_OK;
	choose_peaks(b);
	b->replay.recording = b->recording;
	b->replay.end = see_end;
	b->replay.context = b;
	b->replay.counts = b->out;
	enum gp_status status = gp_touch_replay_run(&b->replay);
	const uint64_t all = b->out->launches + b->out->captured_launches;
	b->out->is_blind = all == 0 || all - b->out->scanned > all / GP_TOUCH_UNSEEN_SHARE;
	if (status == GP_OK && !b->out->is_blind)
		status = list_devices(b);
	if (status == GP_OK && !b->out->is_blind)
		status = list_rows(b, &b->wastes, true, &b->out->waste, &b->out->wastes);
	if (status == GP_OK)
		gp_idle_sort(b->out);
	gp_idle_owner_release(&b->owners);
	gp_touch_replay_release(&b->replay);
	memset(&b->replay, 0, sizeof b->replay);
	gp_row_table_release(&b->wastes);
	return status;
}

static void idle_forget(void *context)
{
	gp_idle_free(((struct building *)context)->out);
}

enum gp_status gp_idle_build(struct gp_recording *recording, uint64_t least_launches,
			     struct gp_idle *out)
{
	*out = (struct gp_idle){ 0 };
	struct building *b = calloc(1, sizeof *b);
	enum gp_status status = GP_E_MEMORY;
	if (b != NULL) {
		*b = (struct building){ .recording = recording,
					.least = least_launches ? least_launches : 1,
					.out = out };
		status = gp_retry_if_overwritten(recording, idle_attempt, idle_forget, b);
	}
	free(b);
	return status;
}

static void free_rows(struct gp_idle_row *row, size_t rows)
{
	for (size_t k = 0; k < rows; k++)
		free(row[k].key);
	free(row);
}

void gp_idle_free(struct gp_idle *idle)
{
	for (size_t d = 0; d < idle->devices; d++) {
		struct gp_idle_device *device = &idle->device[d];
		free_rows(device->row, device->rows);
		for (size_t k = 0; k < device->reuses; k++) {
			free(device->reuse[k].key);
			free(device->reuse[k].other_key);
		}
		free(device->reuse);
	}
	free_rows(idle->waste, idle->wastes);
	free(idle->device);
	*idle = (struct gp_idle){ 0 };
}
