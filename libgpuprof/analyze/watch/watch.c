/*
 * Follows a recording that is being written. Rows come from the live state of each refresh. Marks
 * are kept by stack, so that growth is known for each key.
 */
#include <stdlib.h>

#include "../../read/tables/text_store.h"
#include "../groups/group_key.h"
#include "../groups/live_uses.h"
#include "../steps/step_range.h"

#define RATE_NS 10000000000   /* steps of this time give the rate */
#define STEPS_MOST (1u << 17) /* capacity: steps that are kept, of 80 bytes */
#define DEVICES (GP_DEVICE_UNKNOWN + 1u)

/* Uses of one device. */
struct watched {
	struct gp_use *use;
	size_t uses;
	enum gp_curve of;
};

struct key_text {
	uint64_t key;
	uint32_t text; /* its number in `texts` */
	bool is_rest;
};

struct gp_watch {
	struct gp_recording *recording;
	struct gp_step_ranges *ranges;
	struct gp_step_place here;
	unsigned rewinds; /* of the recording, when `ranges` was opened */
	struct gp_module_epochs epochs;
	struct gp_row_table keys; /* of struct key_text */
	struct gp_text_store texts;
	struct gp_read_stack *stack;
	bool is_marked;
	bool is_without_steps; /* they are too many behind one checkpoint */
	struct watched mark[DEVICES];
};

enum gp_status gp_watch_open(struct gp_recording *recording, struct gp_watch **out)
{
	struct gp_watch *w = *out = calloc(1, sizeof *w);
	if (w == NULL)
		return GP_E_MEMORY;
	w->recording = recording;
	w->stack = calloc(1, sizeof *w->stack);
	if (w->stack != NULL)
		return GP_OK;
	free(w);
	*out = NULL;
	return GP_E_MEMORY;
}

void gp_watch_close(struct gp_watch *w)
{
	if (w == NULL)
		return;
	for (size_t k = 0; k < DEVICES; k++)
		free(w->mark[k].use);
	gp_step_ranges_close(w->ranges);
	gp_module_epochs_release(&w->epochs);
	gp_row_table_release(&w->keys);
	gp_text_store_release(&w->texts);
	free(w->stack);
	free(w);
}

void gp_watch_continue(struct gp_watch *w, struct gp_recording *recording)
{
	gp_step_ranges_close(w->ranges);
	w->ranges = NULL;
	w->recording = recording;
}

/* ---- events ---- */

static enum gp_status watch_begin_steps(struct gp_watch *w)
{
	enum gp_status status = GP_OK;
	gp_step_ranges_close(w->ranges);
	w->rewinds = w->recording->rewinds;
	w->here = (struct gp_step_place){ 0 };
	w->ranges = gp_step_ranges_open(w->recording, &status);
	return w->ranges == NULL ? GP_E_MEMORY : status;
}

/* As gp_tokenizer_next decides what is work. */
static unsigned watch_work(const struct gp_watch *w, const struct gp_record *record)
{
	const bool has_blocks = gp_live_count(w->recording->live, GP_BLOCK_ALLOC) > 0;
	switch (record->kind) {
	case GP_LAUNCH:
		return (record->launch.block >> 48 & GP_LAUNCH_CAPTURED) == 0;
	case GP_GRAPH_LAUNCH:
		return GP_STEP_GRAPH_WORK;
	case GP_BLOCK_ALLOC:
		return 1;
	case GP_ALLOC:
		return !has_blocks && record->space != GP_SPACE_RESERVATION;
	default:
		return 0;
	}
}

static enum gp_status watch_see(struct gp_watch *w, uint32_t thread, const struct gp_record *record)
{
	const unsigned work = watch_work(w, record);
	w->here.at_ns = gp_tick_ns(&w->recording->tick, record->time);
	w->here.work += work;
	return gp_step_ranges_see(w->ranges, thread, record, &w->here, work) ? GP_OK : GP_E_MEMORY;
}

static enum gp_status watch_replay(struct gp_watch *w)
{
	enum gp_status status = GP_OK;
	while (status == GP_OK) {
		uint32_t thread;
		/* the ranges of a checkpoint are read before its first event */
		const bool is_new = w->ranges == NULL || w->rewinds != w->recording->rewinds;
		if (is_new && !w->is_without_steps)
			status = watch_begin_steps(w);
		if (status != GP_OK)
			break;
		const struct gp_record *record =
			gp_recording_fetch_here(w->recording, &thread, &status);
		if (record == NULL)
			continue;
		if (w->ranges != NULL)
			status = watch_see(w, thread, record);
		if (status == GP_OK)
			status = gp_recording_apply(w->recording, record);
	}
	return status == GP_END ? GP_OK : status;
}

/* Steps are forgotten by a return to the newest checkpoint. */
static enum gp_status watch_forget_steps(struct gp_watch *w)
{
	enum gp_status status = gp_follow_begin(w->recording);
	if (status == GP_OK)
		status = watch_replay(w);
	if (status != GP_OK || gp_step_ranges_kept(w->ranges) < STEPS_MOST / 2)
		return status;
	gp_step_ranges_close(w->ranges);
	w->ranges = NULL;
	w->is_without_steps = true;
	return status;
}

enum gp_status gp_watch_refresh(struct gp_watch *w)
{
	enum gp_status status = !w->recording->is_followed ? gp_follow_begin(w->recording) :
							     gp_follow_more(w->recording);
	if (status == GP_OK)
		status = watch_replay(w);
	if (status == GP_OK && w->ranges != NULL && gp_step_ranges_kept(w->ranges) > STEPS_MOST)
		status = watch_forget_steps(w);
	if (status != GP_OK)
		return status;
	gp_info_set_now(w->recording);
	gp_module_epochs_release(&w->epochs);
	status = gp_module_epochs_build(w->recording, &w->epochs);
	return status == GP_OK && !w->is_marked ? gp_watch_mark(w) : status;
}

bool gp_watch_host(const struct gp_watch *w, struct gp_curves *out)
{
	const struct gp_live_host *h = gp_live_host(w->recording->live);
	*out = (struct gp_curves){ 0 };
	if (h->pinned.peak_bytes == 0)
		return false;
	out->now_bytes[GP_HOST_PINNED] = h->pinned.now_bytes;
	out->now_bytes[GP_HOST_REGISTERED] = h->registered_bytes;
	out->peak_bytes[GP_HOST_PINNED] = h->pinned.peak_bytes;
	out->peak_bytes[GP_HOST_REGISTERED] = h->registered_at_peak;
	out->peak_at_ns[GP_HOST_PINNED] = out->peak_at_ns[GP_HOST_REGISTERED] =
		gp_tick_ns(&w->recording->tick, h->pinned.peak_time);
	return true;
}

double gp_watch_steps(const struct gp_watch *w)
{
	if (w->ranges == NULL || !w->recording->is_running)
		return -1;
	return gp_step_ranges_rate(w->ranges, RATE_NS, (int64_t)w->recording->info.duration_ns);
}

/* ---- rows ---- */

static enum gp_status watch_take(struct gp_watch *w, unsigned device, struct watched *out)
{
	const struct gp_live_device *d = gp_live_device(w->recording->live, device);
	struct gp_use_table table = { .epochs = &w->epochs };
	*out = (struct watched){ .of = GP_CURVE_ALLOCATED };
	if (d == NULL || !d->is_seen)
		return GP_OK;
	if (d->curve[GP_CURVE_ALLOCATED].peak_bytes == 0)
		out->of = GP_CURVE_DRIVER;
	struct gp_holders holders = { .device = device,
				      .of = out->of,
				      .at_ns = (int64_t)w->recording->info.duration_ns,
				      .live_bytes = d->curve[out->of].now_bytes };
	enum gp_status status = gp_live_uses_take(w->recording, &holders, &table);
	out->use = gp_use_table_take(&table, &out->uses);
	return status;
}

enum gp_status gp_watch_mark(struct gp_watch *w)
{
	enum gp_status status = GP_OK;
	for (unsigned device = 0; device < DEVICES && status == GP_OK; device++) {
		struct watched *mark = &w->mark[device];
		free(mark->use);
		status = watch_take(w, device, mark);
	}
	w->is_marked = true;
	return status;
}

/* The text for the key of a use; its number is 0 when memory is out. */
static struct key_text watch_key(struct gp_watch *w, const struct gp_use *use, enum gp_by by)
{
	const struct gp_grouping how = { .by = by };
	const size_t epoch = use->stack != 0 ? gp_module_epoch(&w->epochs, use->at_ns) : 0;
	uint64_t hash = (uint64_t)use->stack << 16 | (uint64_t)use->space << 8 | use->is_segment;
	hash = gp_hash_pair(gp_hash_pair(hash, (uintptr_t)use->without), by);
	hash = gp_hash_pair(hash, epoch);
	const struct key_text *known = gp_row_of_key(&w->keys, sizeof *known, hash);
	if (known != NULL)
		return *known;
	char key[GP_KEY_MAX];
	const struct gp_use_place place = gp_use_place(w->recording, use, &how, w->stack);
	if (place.without != NULL)
		snprintf(key, sizeof key, "%s", place.without);
	else
		gp_group_key(by, use, w->stack, key);
	const struct key_text made = { .key = hash,
				       .text = gp_text_store_add(&w->texts, key, strlen(key)),
				       .is_rest = place.without != NULL };
	/* a stack that is not defined now may be so later */
	struct key_text *kept = use->stack == 0 || place.without == NULL ?
					gp_row_get_key(&w->keys, sizeof *kept, hash) :
					NULL;
	if (kept != NULL)
		*kept = made;
	return made;
}

/* Rows while they are made. */
struct keyed_row {
	uint64_t text;
	struct gp_watch_row row;
};

static bool watch_add(struct gp_watch *w, const struct watched *from, enum gp_by by, bool is_mark,
		      struct gp_row_table *rows)
{
	for (size_t k = 0; k < from->uses; k++) {
		const struct gp_use *use = &from->use[k];
		const struct key_text text = watch_key(w, use, by);
		struct keyed_row *to =
			text.text != 0 ? gp_row_get_key(rows, sizeof *to, text.text) : NULL;
		if (to == NULL)
			return false;
		to->row.is_rest = text.is_rest;
		*(is_mark ? &to->row.marked_bytes : &to->row.bytes) += use->bytes;
		*(is_mark ? &to->row.marked_count : &to->row.count) += use->count;
	}
	return true;
}

enum gp_status gp_watch_rows_build(struct gp_watch *w, unsigned device, enum gp_by by,
				   struct gp_watch_rows *out)
{
	*out = (struct gp_watch_rows){ .at_ns = (int64_t)w->recording->info.duration_ns };
	if (device >= DEVICES || by == GP_BY_STACK || by == GP_BY_RANGE || by == GP_BY_ROLE)
		return GP_E_ARGUMENT;
	struct watched now;
	struct gp_row_table rows = { 0 };
	enum gp_status status = watch_take(w, device, &now);
	const struct watched *mark = &w->mark[device];
	out->of = now.of;
	/* the framework made its first block after the mark */
	const bool is_comparable = mark->of == now.of;
	if (status == GP_OK && (!watch_add(w, &now, by, false, &rows) ||
				(is_comparable && !watch_add(w, mark, by, true, &rows))))
		status = GP_E_MEMORY;
	out->row = status == GP_OK ? calloc(rows.rows + 1u, sizeof *out->row) : NULL;
	for (uint32_t k = 0; out->row != NULL && k < rows.rows; k++) {
		const struct keyed_row *from = (struct keyed_row *)rows.row + k;
		out->row[out->rows] = from->row;
		out->row[out->rows++].key = gp_text_store_get(&w->texts, (uint32_t)from->text);
		out->bytes += from->row.bytes;
	}
	free(now.use);
	gp_row_table_release(&rows);
	return status == GP_OK && out->row == NULL ? GP_E_MEMORY : status;
}

void gp_watch_rows_free(struct gp_watch_rows *rows)
{
	free(rows->row);
	*rows = (struct gp_watch_rows){ 0 };
}
