/* Holes in the order numbers, found during a replay. */
#include "missing.h"

#include <stdlib.h>

#include "../tables/array.h"
#include "../tables/row_rank.h"

static enum gp_status add_hole(struct gp_missing *m, struct gp_hole hole)
{
	struct gp_hole *added = gp_array_append(&m->hole, &m->count, sizeof *added);
	if (added != NULL)
		*added = hole;
	return added != NULL ? GP_OK : GP_E_MEMORY;
}

static enum gp_status add_late(struct gp_missing *m, uint64_t order)
{
	uint64_t *added = gp_array_append(&m->late, &m->lates, sizeof *added);
	if (added != NULL)
		*added = order;
	return added != NULL ? GP_OK : GP_E_MEMORY;
}

/* Late events fill holes: they are not missing. Sorts the holes by number. */
static enum gp_status fill_holes(struct gp_missing *m)
{
	const size_t holes = m->count;
	if (m->lates > 1)
		qsort(m->late, m->lates, sizeof *m->late, gp_row_order);
	for (size_t i = 0, k = 0; i < holes; i++) {
		for (; k < m->lates && m->late[k] < m->hole[i].to; k++) {
			struct gp_hole before = m->hole[i];
			if (m->late[k] < before.from)
				continue;
			before.to = m->late[k];
			m->hole[i].from = before.to + 1;
			if (before.from < before.to && add_hole(m, before) != GP_OK)
				return GP_E_MEMORY;
		}
	}
	if (m->count > 1)
		qsort(m->hole, m->count, sizeof *m->hole, gp_row_order);
	return GP_OK;
}

/*
 * The kept events begin at the cut. Events that came late for the cut belong to the overwritten
 * part.
 */
static uint64_t first_order(const struct gp_segment *s, const struct gp_record *record)
{
	if (s->number == 0)
		return 0;
	return s->has_begin ? s->cut : record->order;
}

enum gp_status gp_missing_see(struct gp_missing *m, const struct gp_recording *r,
			      const struct gp_record *record, uint32_t thread)
{
	if (record->kind >= GP_KINDS || gp_event_infos[record->kind].class != GP_CLASS_MEMORY)
		return GP_OK;
	const struct gp_segment *s = &r->index.segment[r->segment];
	enum gp_status status = GP_OK;
	struct gp_thread_order *last = gp_row_get_key(&m->last, sizeof *last, thread);
	if (last == NULL)
		return GP_E_MEMORY;
	last->order = record->order > last->order ? record->order : last->order;
	if (!m->is_begun) {
		m->next = first_order(s, record);
		m->ticks = r->file.header.start_ticks;
		m->is_begun = true;
	}
	if (record->order < m->next)
		return add_late(m, record->order);
	if (record->order > m->next)
		status = add_hole(m, (struct gp_hole){ .from = m->next,
						       .to = record->order,
						       .ticks = m->ticks,
						       .segment = s->number,
						       .is_damage = s->is_damaged });
	m->next = record->order + 1;
	m->ticks = record->time;
	return status;
}

enum gp_status gp_missing_end(struct gp_missing *m, const struct gp_recording *r)
{
	const struct gp_index *x = &r->index;
	enum gp_status status = GP_OK;
	/* for an unreadable block: its header has its last number */
	if (x->segments > 0 && x->missing_to != UINT64_MAX && x->missing_to >= m->next &&
	    x->missing_segment == x->segment[x->segments - 1].number)
		status = add_hole(m, (struct gp_hole){ .from = m->next,
						       .to = x->missing_to,
						       .ticks = m->is_begun ?
									m->ticks :
									r->file.header.start_ticks,
						       .segment = x->missing_segment,
						       .is_damage = true });
	return status == GP_OK ? fill_holes(m) : status;
}

/* The last order number of each thread that took numbers, sorted. NULL: out of memory. */
static uint64_t *last_orders(const struct gp_row_table *t, size_t *count)
{
	const struct gp_thread_order *of = t->row;
	uint64_t *last = calloc(t->rows + 1, sizeof *last);
	*count = 0;
	for (size_t i = 0; last != NULL && i < t->rows; i++)
		if (of[i].thread != 0) /* thread 0 is the recorder itself */
			last[(*count)++] = of[i].order;
	if (*count > 1)
		qsort(last, *count, sizeof *last, gp_row_order);
	return last;
}

/*
 * When a process ends, each thread may have taken one number without writing its event. That number
 * is greater than the last one that the thread wrote. A thread without kept events may miss any
 * number.
 */
static uint64_t count_unexcused(const struct gp_missing *m, uint64_t unseen, uint64_t *first)
{
	size_t threads, at = 0;
	uint64_t *last = last_orders(&m->last, &threads), missing = 0, excuses = 0;
	excuses = unseen > threads ? unseen - threads : 0;
	for (size_t i = 0; last != NULL && i < m->count; i++) {
		uint64_t span = m->hole[i].to - m->hole[i].from;
		for (; at < threads && last[at] < m->hole[i].from; at++)
			excuses++;
		uint64_t excused = span < excuses ? span : excuses;
		excuses -= excused;
		if (span > excused && missing == 0)
			*first = m->hole[i].from;
		missing += span - excused;
	}
	free(last);
	return missing;
}

uint64_t gp_missing_unrecorded(const struct gp_missing *m, const struct gp_recording *r,
			       uint64_t *first)
{
	if (r->index.damages != 0)
		return 0;
	/* A checkpoint may count events for which no block could be written. */
	uint64_t reported = gp_recording_lost(r, 0) + gp_live_count(r->live, GP_COUNT_UNWRITTEN);
	uint64_t missing = count_unexcused(m, gp_live_count(r->live, GP_COUNT_THREADS), first);
	return missing > reported ? missing - reported : 0;
}

void gp_missing_release(struct gp_missing *m)
{
	free(m->hole);
	free(m->late);
	gp_row_table_release(&m->last);
	*m = (struct gp_missing){ 0 };
}
