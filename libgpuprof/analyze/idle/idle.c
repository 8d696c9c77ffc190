/*
 * Which memory was held unused: at the peak of each device, by what lived there; over the run, by
 * what each allocation looked like at its end. Rows are made by stack and get their keys last.
 */
#include <stdlib.h>
#include <string.h>

#include "../settle.h"
#include "idle_owner.h"
#include "idle_reuse.h"
#include "touch_replay.h"
#include "touch_rows.h"

#define CHURN_LEAST 10u /* times that a stack got driver memory and gave it back */
#define PINNED_LEAST 4u /* allocations of a stack; of so many one in the run's last half */
#define SPACES_CHURNED                                                          \
	(1u << GP_SPACE_DEVICE | 1u << GP_SPACE_MANAGED | 1u << GP_SPACE_HOST | \
	 1u << GP_SPACE_HOST_REGISTER | 1u << GP_SPACE_MAPPED | 1u << GP_SPACE_GRAPH)
#define SPACES_OF_HOST (1u << GP_SPACE_HOST | 1u << GP_SPACE_HOST_REGISTER)

struct building {
	struct gp_recording *recording;
	const struct gp_info *info;
	uint64_t least;
	struct gp_idle *out;
	struct gp_peak_moments *moments;
	struct gp_touch_replay replay;
	struct gp_idle_owner_table owners;
	struct gp_row_table waste[GP_WASTES][GP_DEVICES + 1];
};

/* ---- over the run ---- */

static bool add_waste(struct building *b, enum gp_waste waste, const struct gp_touch_end *end,
		      uint64_t launches, int64_t ns)
{
	const struct gp_live_entry *e = end->entry;
	const struct gp_touch_part part = {
		.stack = e->stack,
		.space = e->space,
		.bytes = e->bytes,
		.born_ns = end->touch->born_ns,
		.idle_ns = ns,
		.idle_launches = launches,
		.is_of_last_half = end->touch->born > end->launches / 2,
		/* of churn and growth it is how often, and how much */
		.weight = waste == GP_WASTE_CHURN  ? 1 :
			  waste == GP_WASTE_PINNED ? (double)e->bytes :
						     (double)e->bytes * (double)launches,
	};
	unsigned device = e->device < GP_DEVICES ? e->device : GP_DEVICES;
	return gp_touch_rows_add(&b->waste[waste][device], &part);
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

/* What happens a few times is no pattern. */
static bool is_pattern(enum gp_waste waste, const struct gp_touch_row *row)
{
	switch (waste) {
	case GP_WASTE_CHURN:
		return row->count >= CHURN_LEAST;
	case GP_WASTE_PINNED:
		/* what is set up once is no growth, however much it is */
		return row->count >= PINNED_LEAST && row->of_last_half >= row->count / PINNED_LEAST;
	case GP_WASTE_EARLY:
	case GP_WASTE_LATE:
	case GP_WASTE_NEVER:
	case GP_WASTE_BETWEEN:
	case GP_WASTES:
		break;
	}
	return true;
}

static void fill_wastes(struct gp_idle *out, enum gp_waste waste, unsigned device,
			const struct gp_row_table *rows)
{
	const struct gp_touch_row *row = rows->row;
	for (size_t left = rows->rows; left > 0; left--, row++) {
		const struct gp_touch_part *p = &row->largest;
		if (!is_pattern(waste, row))
			continue;
		out->waste[out->wastes++] =
			(struct gp_waste_row){ .waste = waste,
					       .device = device,
					       .stack = p->stack,
					       .space = p->space,
					       .stacks = 1,
					       .bytes = row->bytes,
					       .count = row->count,
					       .largest_bytes = p->bytes,
					       .born_ns = p->born_ns,
					       .idle_ns = p->idle_ns,
					       .idle_launches = p->idle_launches,
					       .weight = row->weight };
	}
}

static enum gp_status list_wastes(struct building *b)
{
	struct gp_idle *out = b->out;
	size_t most = 0;
	for (unsigned w = 0; w < GP_WASTES; w++)
		for (unsigned d = 0; d <= GP_DEVICES; d++) {
			gp_touch_rows_sort(&b->waste[w][d]);
			most += b->waste[w][d].rows;
		}
	out->waste = calloc(most + 1, sizeof *out->waste);
	if (out->waste == NULL)
		return GP_E_MEMORY;
	for (unsigned w = 0; w < GP_WASTES; w++)
		for (unsigned d = 0; d <= GP_DEVICES; d++)
			fill_wastes(out, (enum gp_waste)w, d < GP_DEVICES ? d : GP_DEVICE_UNKNOWN,
				    &b->waste[w][d]);
	return GP_OK;
}

/* ---- at the peak ---- */

/* What was not used around the peak, from when and for how long. */
static enum gp_idle_state state_of(const struct building *b, const struct gp_peak_part *p,
				   struct gp_touch_part *out)
{
	const uint64_t end = p->freed_ns >= 0 ? p->freed : b->replay.launches;
	const int64_t end_ns = p->freed_ns >= 0 ? p->freed_ns : b->replay.at_ns;
	bool was_used = p->then.is_used, is_used = p->next_ns >= 0;
	uint64_t from = was_used ? p->then.last : p->then.born, to = is_used ? p->next : end;
	int64_t from_ns = was_used ? p->then.last_ns : p->then.born_ns;
	*out = (struct gp_touch_part){
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

static int idle_compare(const void *left, const void *right)
{
	const struct gp_idle_row *a = left, *b = right;
	if (a->byte_launches != b->byte_launches)
		return a->byte_launches < b->byte_launches ? 1 : -1;
	if (a->bytes != b->bytes)
		return a->bytes < b->bytes ? 1 : -1;
	if (a->stack != b->stack)
		return a->stack < b->stack ? -1 : 1;
	return (a->state > b->state) - (a->state < b->state);
}

static void fill_rows(struct gp_idle_device *d, enum gp_idle_state state,
		      const struct gp_row_table *rows)
{
	const struct gp_touch_row *row = rows->row;
	for (size_t left = rows->rows; left > 0; left--, row++) {
		const struct gp_touch_part *p = &row->largest;
		d->row[d->rows++] = (struct gp_idle_row){ .stack = p->stack,
							  .space = p->space,
							  .stacks = 1,
							  .state = state,
							  .bytes = row->bytes,
							  .count = row->count,
							  .largest_bytes = p->bytes,
							  .born_ns = p->born_ns,
							  .first_ns = p->first_ns,
							  .last_ns = p->last_ns,
							  .next_ns = p->next_ns,
							  .freed_ns = p->freed_ns,
							  .idle_launches = p->idle_launches,
							  .idle_ns = p->idle_ns,
							  .byte_launches = row->weight };
	}
}

static enum gp_status list_device(struct building *b, struct gp_idle_device *d)
{
	struct gp_row_table rows[GP_IDLE_STATES] = { 0 };
	enum gp_status status = GP_OK;
	size_t most = 0;
	for (size_t k = 0; k < b->replay.parts && status == GP_OK; k++) {
		struct gp_peak_part *p = &b->replay.part[k];
		struct gp_touch_part part;
		struct gp_idle_whose whose;
		if (p->entry.device != d->device)
			continue;
		enum gp_idle_state state = state_of(b, p, &part);
		if (!gp_idle_owner_find(&b->owners, part.stack, part.space, part.born_ns, &whose))
			status = GP_E_MEMORY;
		p->owner = whose.owner;
		struct gp_idle_sum *sum = &d->sum[p->owner][state];
		sum->bytes += part.bytes;
		sum->count++;
		if (state != GP_IDLE_BUSY && !gp_touch_rows_add(&rows[state], &part))
			status = GP_E_MEMORY;
	}
	for (unsigned s = 0; s < GP_IDLE_STATES; s++)
		most += rows[s].rows;
	d->row = calloc(most + 1, sizeof *d->row);
	if (d->row == NULL)
		status = GP_E_MEMORY;
	for (unsigned s = 0; s < GP_IDLE_STATES; s++) {
		if (status == GP_OK)
			fill_rows(d, (enum gp_idle_state)s, &rows[s]);
		gp_row_table_release(&rows[s]);
	}
	if (status == GP_OK && d->rows > 1)
		qsort(d->row, d->rows, sizeof *d->row, idle_compare);
	return status;
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
		bool is_framework = b->moments->peak[device][GP_CURVE_ALLOCATED].bytes > 0;
		enum gp_curve of = is_framework ? GP_CURVE_ALLOCATED : GP_CURVE_DRIVER;
		const struct gp_top_of_curve *peak = &b->moments->peak[device][of];
		*d = (struct gp_idle_device){
			.device = device,
			.is_framework = is_framework,
			.is_overwritten = b->moments->moved_peak[device][of] > peak->bytes,
			.peak_at_ns = peak->at_ns,
		};
		status = list_device(b, d);
		if (status == GP_OK)
			status = gp_idle_reuse_find(b->replay.part, b->replay.parts, d);
	}
	return status;
}

static void choose_peaks(struct building *b)
{
	for (unsigned device = 0; device < GP_DEVICES; device++) {
		const struct gp_top_of_curve *peak = b->moments->peak[device];
		enum gp_curve of =
			peak[GP_CURVE_ALLOCATED].bytes > 0 ? GP_CURVE_ALLOCATED : GP_CURVE_DRIVER;
		b->replay.peak_event[device] = peak[of].bytes > 0 ? peak[of].event : GP_NO_EVENT;
	}
}

/* ---- names ---- */

static enum gp_status name_all(struct building *b)
{
	struct gp_idle *out = b->out;
	for (size_t k = 0; k < out->wastes; k++) {
		struct gp_waste_row *w = &out->waste[k];
		w->key = gp_touch_key(b->recording, w->stack, w->born_ns, &w->without);
		if (w->key == NULL ||
		    !gp_idle_owner_find(&b->owners, w->stack, w->space, w->born_ns, &w->whose))
			return GP_E_MEMORY;
	}
	for (size_t d = 0; d < out->devices; d++) {
		for (size_t k = 0; k < out->device[d].rows; k++) {
			struct gp_idle_row *r = &out->device[d].row[k];
			r->key = gp_touch_key(b->recording, r->stack, r->born_ns, &r->without);
			if (r->key == NULL || !gp_idle_owner_find(&b->owners, r->stack, r->space,
								  r->born_ns, &r->whose))
				return GP_E_MEMORY;
		}
		for (size_t k = 0; k < out->device[d].reuses; k++) {
			struct gp_idle_reuse *r = &out->device[d].reuse[k];
			r->key = gp_touch_key(b->recording, r->stack, r->born_ns, NULL);
			r->other_key =
				gp_touch_key(b->recording, r->other_stack, r->other_born_ns, NULL);
			if (r->key == NULL || r->other_key == NULL)
				return GP_E_MEMORY;
		}
	}
	return GP_OK;
}

/* ---- all of it ---- */

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
	enum gp_status status = gp_peak_moments_find(b->recording, (int64_t)info->kept_from_ns,
						     INT64_MAX, NULL, b->moments);
	choose_peaks(b);
	b->replay.recording = b->recording;
	b->replay.end = see_end;
	b->replay.context = b;
	b->replay.counts = b->out;
	if (status == GP_OK)
		status = gp_touch_replay_run(&b->replay);
	const uint64_t all = b->out->launches + b->out->captured_launches;
	b->out->is_blind = all == 0 || all - b->out->scanned > all / GP_TOUCH_UNSEEN_SHARE;
	if (status == GP_OK && !b->out->is_blind)
		status = list_devices(b);
	if (status == GP_OK && !b->out->is_blind)
		status = list_wastes(b);
	if (status == GP_OK)
		status = name_all(b);
	gp_idle_owner_release(&b->owners);
	gp_touch_replay_release(&b->replay);
	memset(&b->replay, 0, sizeof b->replay);
	for (unsigned w = 0; w < GP_WASTES; w++)
		for (unsigned d = 0; d <= GP_DEVICES; d++)
			gp_row_table_release(&b->waste[w][d]);
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
	struct gp_peak_moments *moments = malloc(sizeof *moments);
	enum gp_status status = GP_E_MEMORY;
	if (b != NULL && moments != NULL) {
		*b = (struct building){ .recording = recording,
					.least = least_launches ? least_launches : 1,
					.out = out,
					.moments = moments };
		status = gp_retry_if_overwritten(recording, idle_attempt, idle_forget, b);
	}
	free(b);
	free(moments);
	return status;
}

void gp_idle_free(struct gp_idle *idle)
{
	for (size_t d = 0; d < idle->devices; d++) {
		struct gp_idle_device *device = &idle->device[d];
		for (size_t k = 0; k < device->rows; k++)
			free(device->row[k].key);
		for (size_t k = 0; k < device->reuses; k++) {
			free(device->reuse[k].key);
			free(device->reuse[k].other_key);
		}
		free(device->row);
		free(device->reuse);
	}
	for (size_t k = 0; k < idle->wastes; k++)
		free(idle->waste[k].key);
	free(idle->device);
	free(idle->waste);
	*idle = (struct gp_idle){ 0 };
}
