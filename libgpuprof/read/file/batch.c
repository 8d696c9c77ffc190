/* Events as rows: what gp_recording_next returns, many a call and without texts. */
#include "../../gpuprof_batch.h"
#include "recording.h"

static inline bool is_wanted(const struct gp_kind_set *kinds, unsigned kind)
{
	return kinds == NULL || (kind < GP_KINDS && (kinds->bits[kind / 64] >> kind % 64 & 1) != 0);
}

static inline void row_fill(const struct gp_recording *r, const struct gp_record *record,
			    uint32_t thread, uint32_t tid, struct gp_event_row *row)
{
	*row = (struct gp_event_row){
		.at_ns = gp_tick_ns(&r->tick, record->time),
		.order = record->order,
		.value = { record->v[0], record->v[1], record->v[2], record->v[3] },
		.aux = record->aux,
		.stack = record->stack,
		.thread = thread,
		.tid = tid,
		.kind = record->kind,
		.code = record->code,
		.device = record->device,
		.space = record->space,
	};
	if (record->device == GP_DEVICE_UNKNOWN)
		row->device = (uint8_t)gp_live_ended_device(r->live, record);
}

/* Blocks decide no field of a later row. Their events are most of those that change the state. */
static enum gp_status apply_without_blocks(struct gp_recording *r, const struct gp_record *record)
{
	const unsigned kind = record->kind;
	if (kind != GP_BLOCK_ALLOC && kind != GP_BLOCK_FREE && kind != GP_BLOCK_COMPLETED)
		return gp_recording_apply(r, record);
	r->seen++;
	gp_caveat_see(r, record);
	gp_live_pass(r->live, record);
	return GP_OK;
}

static inline enum gp_status batch_read(struct gp_recording *r, const struct gp_kind_set *kinds,
					struct gp_event_row *rows, size_t most, size_t *count,
					enum gp_status (*apply)(struct gp_recording *,
								const struct gp_record *))
{
	enum gp_status status = GP_OK;
	uint32_t thread = 0, known = 0, tid = 0;
	bool is_known = false;
	*count = 0;
	while (*count < most) {
		const struct gp_record *record = gp_recording_fetch(r, &thread, &status);
		if (record == NULL || (status = apply(r, record)) != GP_OK)
			break;
		/* a definition may give the thread another id */
		if (!is_known || thread != known || record->kind == GP_THREAD)
			tid = gp_recording_tid(r, thread);
		is_known = true;
		known = thread;
		if (is_wanted(kinds, record->kind))
			row_fill(r, record, thread, tid, &rows[(*count)++]);
	}
	return status;
}

enum gp_status gp_recording_read_batch(struct gp_recording *r, const struct gp_kind_set *kinds,
				       struct gp_event_row *rows, size_t most, size_t *count)
{
	return batch_read(r, kinds, rows, most, count, gp_recording_apply);
}

enum gp_status gp_recording_read_rows(struct gp_recording *r, const struct gp_kind_set *kinds,
				      struct gp_event_row *rows, size_t most, size_t *count)
{
	return batch_read(r, kinds, rows, most, count, apply_without_blocks);
}
