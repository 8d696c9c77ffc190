/*
 * One replay follows lives and curves, after those that find roles and ranges. Then texts are
 * looked up, and the blocks are written.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../../read/tables/array.h"
#include "../frag/frag_parts.h"
#include "../memory/memory_view.h"
#include "../settle.h"
#include "curve_points.h"
#include "life_follow.h"
#include "life_raw.h"

/* Events after which their ranges are forgotten: entries have theirs. 1.5 MB. */
#define RANGES_KEPT 65536u
#define GROUPS_FOLD_AT 262144u /* 24 MB: more than a job has that does not number its ranges */
#define NS_MOST (1ll << 52)    /* moments of a damaged recording; a program can add two of them */

const char *const gp_lives_mark_names[GP_LIVES_MARK_KINDS] = {
	[GP_LIVES_OOM] = "oom",	  [GP_LIVES_GAP] = "gap",   [GP_LIVES_CAPTURE] = "capture",
	[GP_LIVES_STEP] = "step", [GP_LIVES_LOST] = "lost",
};

/* The curves of a device in the order of the answer. */
static const enum gp_curve of_device[GP_CURVES] = { GP_CURVE_ALLOCATED, GP_CURVE_RESERVED,
						    GP_CURVE_DRIVER };

struct living {
	struct gp_recording *recording;
	const struct gp_steps *steps;
	const struct gp_lives_sink *sink;
	struct gp_lives *out;
	struct gp_life_groups groups;
	struct gp_life_store store;
	struct gp_life_follow follow;
	struct gp_curve_points curve[GP_DEVICES][GP_CURVES], pinned;
	struct {
		struct gp_curve_points used, limit;
		uint64_t held; /* gp_live_held at the last look */
	} capacity[GP_DEVICES];
	uint64_t events;
	bool has_refusals; /* allocations failed, so there may be OOMs */
	bool is_fine;	   /* false: out of memory */
};

/* ---- marks ---- */

static void mark_add(struct living *l, enum gp_lives_mark_kind kind, int64_t at_ns,
		     const char *text, uint64_t number)
{
	struct gp_lives *out = l->out;
	if (out->marks >= GP_LIVES_MARKS_MOST) {
		out->marks_left_out++;
		return;
	}
	struct gp_lives_mark *mark = gp_array_append(&out->mark, &out->marks, sizeof *mark);
	l->is_fine &= mark != NULL;
	if (mark != NULL)
		*mark = (struct gp_lives_mark){ at_ns, kind,
						gp_lives_text(out->owner, text, &l->is_fine),
						number };
}

static int mark_compare(const void *left, const void *right)
{
	const struct gp_lives_mark *a = left, *b = right;
	if (a->at_ns != b->at_ns)
		return a->at_ns < b->at_ns ? -1 : 1;
	return a->kind != b->kind ? (a->kind > b->kind) - (a->kind < b->kind) :
				    (a->number > b->number) - (a->number < b->number);
}

/* "GPU 0: request of 17.47 GiB" */
static void oom_text(const struct gp_oom *oom, char *out, size_t room)
{
	static const char *const units[] = { "B", "KiB", "MiB", "GiB", "TiB" };
	double size = (double)oom->bytes;
	size_t unit = 0;
	for (; size >= 1024 && unit + 1 < sizeof units / sizeof *units; unit++)
		size /= 1024;
	snprintf(out, room, "GPU %u: request of %.*f %s", oom->device, unit > 0 ? 2 : 0, size,
		 units[unit]);
}

/* One more replay, only if there was a refusal. */
static enum gp_status marks_ooms(struct living *l)
{
	struct gp_ooms ooms = { 0 };
	char text[96];
	const enum gp_status status =
		l->has_refusals ? gp_ooms_build(l->recording, NULL, &ooms) : GP_OK;
	for (size_t k = 0; k < ooms.ooms && status == GP_OK; k++) {
		oom_text(&ooms.oom[k], text, sizeof text);
		mark_add(l, GP_LIVES_OOM, ooms.oom[k].at_ns, text, 0);
	}
	gp_ooms_free(&ooms);
	return status;
}

/* Captures have theirs. */
static enum gp_status marks_answer(struct living *l)
{
	const struct gp_info *info = &l->recording->info;
	for (size_t k = 0; k < info->gaps; k++)
		mark_add(l, GP_LIVES_GAP, info->gap_ns[k], "recording resumes", 0);
	for (size_t k = 0; k < info->uncertains; k++)
		mark_add(l, GP_LIVES_LOST, info->uncertain[k].from_ns, "events are missing", 0);
	const enum gp_status status = marks_ooms(l);
	for (size_t k = 0; l->steps != NULL && k < l->steps->steps; k++)
		mark_add(l, GP_LIVES_STEP, l->steps->step[k].begin_ns, "", k + 1);
	if (l->out->marks > 1)
		qsort(l->out->mark, l->out->marks, sizeof *l->out->mark, mark_compare);
	return status;
}

/* ---- the replay ---- */

/* `has_count`: the driver counted. Else the figures change only with the job's own memory. */
static void see_capacity(struct living *l, unsigned device, bool has_count)
{
	const struct gp_live_device *live = gp_live_device(l->recording->live, device);
	const uint64_t held = gp_live_held(live);
	if (live->used.time == 0 || (!has_count && held == l->capacity[device].held))
		return;
	const struct gp_memory_device d = gp_memory_device_now(l->recording, device);
	const uint64_t used = gp_frag_driver_used(&d);
	if (used != GP_BYTES_UNKNOWN)
		gp_points_add(&l->capacity[device].used, l->follow.now_ns, used);
	if (d.limit_bytes != GP_BYTES_UNKNOWN)
		gp_points_add(&l->capacity[device].limit, l->follow.now_ns, d.limit_bytes);
	l->capacity[device].held = held;
	l->out->capacity[device].total_bytes = d.total_bytes;
}

static void see_device(struct living *l, unsigned device)
{
	const struct gp_live_device *d = gp_live_device(l->recording->live, device);
	if (l->sink->life != NULL)
		return;
	for (unsigned k = 0; k < GP_CURVES; k++)
		gp_points_add(&l->curve[device][k], l->follow.now_ns,
			      d->curve[of_device[k]].now_bytes);
}

static void see_host(struct living *l)
{
	if (l->sink->life != NULL)
		return;
	gp_points_add(&l->pinned, l->follow.now_ns,
		      gp_live_host(l->recording->live)->pinned.now_bytes);
}

/* The curves of a state that was loaded. */
static void see_loaded(struct living *l)
{
	for (unsigned device = 0; device < GP_DEVICES; device++) {
		see_device(l, device);
		see_capacity(l, device, true);
	}
	see_host(l);
	gp_live_take_moved(l->recording->live);
	gp_live_take_host_moved(l->recording->live);
}

/* Time never goes back, though threads read their clocks after they take an order number. */
static void lives_reach(struct living *l, int64_t at_ns)
{
	const int64_t now = (int64_t)l->follow.now_ns,
		      at = at_ns < l->out->to_ns ? at_ns : l->out->to_ns;
	l->follow.now_ns = (uint64_t)(at > now ? at : now);
}

static void lives_event(struct living *l, const struct gp_record *r)
{
	l->follow.now_order = r->order;
	gp_life_follow_event(&l->follow);
	if (++l->events % RANGES_KEPT == 0)
		gp_range_paths_forget(l->groups.ranges);
	uint64_t moved = gp_live_take_moved(l->recording->live);
	const bool has_count = r->kind == GP_DEVICE_MEMORY || r->kind == GP_ALLOC_FAILED;
	for (; moved != 0; moved &= moved - 1) {
		see_device(l, (unsigned)__builtin_ctzll(moved));
		see_capacity(l, (unsigned)__builtin_ctzll(moved), false);
	}
	if (has_count && r->device < GP_DEVICES)
		see_capacity(l, r->device, true);
	if (gp_live_take_host_moved(l->recording->live))
		see_host(l);
	l->has_refusals |= r->kind == GP_OOM || r->kind == GP_ALLOC_FAILED;
	if (r->kind == GP_CAPTURE_BEGIN)
		mark_add(l, GP_LIVES_CAPTURE, (int64_t)l->follow.now_ns, "CUDA graph capture", 0);
}

static bool lives_is_fine(const struct living *l)
{
	return l->is_fine && !l->follow.is_out_of_memory && l->follow.refused == GP_OK &&
	       !l->store.is_out_of_memory && !l->groups.is_out_of_memory;
}

static enum gp_status lives_replay(struct living *l)
{
	struct gp_recording *r = l->recording;
	enum gp_status status = gp_recording_rewind(r);
	if (status == GP_OK)
		status = gp_range_paths_derive(r, &l->groups.ranges);
	if (status == GP_OK && gp_life_follow_load(&l->follow))
		see_loaded(l);
	while (status == GP_OK && lives_is_fine(l)) {
		uint32_t thread;
		const struct gp_record *record = gp_recording_fetch(r, &thread, &status);
		if (record == NULL && status != GP_END)
			break;
		l->follow.now_order = gp_recording_next_order(r);
		if (r->loaded != r->first) /* a checkpoint may have corrected the state */
			lives_reach(l, gp_segment_ns(r, r->loaded));
		if (gp_life_follow_load(&l->follow))
			see_loaded(l);
		if (record == NULL)
			break;
		if (gp_has_moment(record->kind))
			lives_reach(l, gp_tick_ns(&r->tick, record->time));
		status = gp_recording_apply(r, record);
		gp_range_paths_see(l->groups.ranges, thread, record);
		lives_event(l, record);
	}
	gp_life_follow_end(&l->follow);
	if (l->follow.refused != GP_OK)
		return l->follow.refused;
	if (!lives_is_fine(l) || !gp_life_store_settle(&l->store))
		return GP_E_MEMORY;
	if (status == GP_END)
		status = gp_range_paths_status(l->groups.ranges);
	return status == GP_OK ? gp_roles_status(l->groups.roles) : status;
}

static void lives_forget(void *context)
{
	struct living *l = context;
	gp_life_follow_release(&l->follow);
	gp_life_store_release(&l->store);
	gp_life_groups_release(&l->groups);
	for (size_t k = 0; k < sizeof l->curve / sizeof l->pinned; k++)
		gp_points_release(&l->curve[0][0] + k);
	for (unsigned device = 0; device < GP_DEVICES; device++) {
		gp_points_release(&l->capacity[device].used);
		gp_points_release(&l->capacity[device].limit);
	}
	gp_points_release(&l->pinned);
	gp_lives_free(l->out);
}

static enum gp_status lives_attempt(void *context, const struct gp_info *info)
{
	struct living *l = context;
	const uint64_t last = info->duration_ns;
	l->out->owner = calloc(1, sizeof *l->out->owner);
	l->is_fine = l->out->owner != NULL;
	if (!l->is_fine)
		return GP_E_MEMORY;
	gp_lives_text(l->out->owner, "", &l->is_fine);
	l->out->to_ns = last < NS_MOST ? (int64_t)last : NS_MOST;
	l->out->from_ns = info->kept_from_ns < (uint64_t)l->out->to_ns ?
				  (int64_t)info->kept_from_ns :
				  l->out->to_ns;
	l->follow = (struct gp_life_follow){ .recording = l->recording,
					     .groups = &l->groups,
					     .store = &l->store,
					     .sink = l->sink,
					     .now_ns = (uint64_t)l->out->from_ns };
	gp_looks_open(&l->follow.looks);
	for (unsigned device = 0; device < GP_DEVICES; device++)
		l->capacity[device].used.now = l->capacity[device].limit.now = GP_BYTES_UNKNOWN;
	l->has_refusals = false;
	if (l->sink->life != NULL)
		l->follow.refused = l->sink->life(l->sink->context, NULL);
	enum gp_status status = gp_module_epochs_build(l->recording, &l->groups.epochs);
	if (status == GP_OK)
		status = gp_roles_find(l->recording, &l->groups.roles);
	return status == GP_OK ? lives_replay(l) : status;
}

/* ---- the answer ---- */

static enum gp_status lives_write_block(struct living *l, size_t rows,
					const struct gp_lives_sink *sink)
{
	struct gp_lives *out = l->out;
	size_t count, *number = gp_array_append(&out->block, &out->blocks, sizeof *number);
	if (number == NULL)
		return GP_E_MEMORY;
	const unsigned char *bytes = gp_life_encode(l->store.row, rows, l->store.room, &count);
	out->count += rows;
	return sink->write(sink->context, bytes, count, number);
}

/* `into`: the final index of each group. */
static enum gp_status lives_write(struct living *l, const uint32_t *into,
				  const struct gp_lives_sink *sink)
{
	struct gp_life_store *s = &l->store;
	struct gp_life_merge merge;
	enum gp_status status = gp_life_merge_open(&merge, s) ? GP_OK : GP_E_MEMORY;
	size_t rows = 0;
	for (uint64_t k = 0; status == GP_OK && k < s->most; k++) {
		if (!gp_life_merge_next(&merge, &s->row[rows]))
			break;
		s->row[rows].group = into[s->row[rows].group];
		if (++rows < s->a_block)
			continue;
		status = lives_write_block(l, rows, sink);
		rows = 0;
	}
	if (status == GP_OK && rows > 0)
		status = lives_write_block(l, rows, sink);
	gp_life_merge_close(&merge);
	l->out->left_out = s->added - l->out->count;
	l->out->shorter_than_ns = gp_life_store_shorter(s);
	return status;
}

static enum gp_status points_write(struct gp_curve_points *c, const struct gp_lives_sink *sink,
				   struct gp_lives_curve *out)
{
	size_t count;
	unsigned char *bytes = gp_points_finish(c, &count);
	enum gp_status status = bytes == NULL ? GP_E_MEMORY : GP_OK;
	out->is_exact = c->bits == 0;
	out->points = c->points;
	if (status == GP_OK)
		status = sink->write(sink->context, bytes, count, &out->data);
	free(bytes);
	gp_points_release(c);
	return status;
}

static bool has_points(const struct gp_curve_points *c)
{
	return c->points > 0 || c->has_last;
}

/* Points of a curve that was always 0 are none. */
static enum gp_status curve_write(struct living *l, struct gp_curve_points *c, unsigned device,
				  enum gp_curve of, const struct gp_lives_sink *sink)
{
	struct gp_lives *out = l->out;
	if (!has_points(c))
		return GP_OK;
	struct gp_lives_curve *curve = gp_array_append(&out->curve, &out->curves, sizeof *curve);
	if (curve == NULL)
		return GP_E_MEMORY;
	*curve = (struct gp_lives_curve){ .device = device, .of = of };
	return points_write(c, sink, curve);
}

static enum gp_status curves_write(struct living *l, const struct gp_lives_sink *sink)
{
	struct gp_lives *out = l->out;
	enum gp_status status = GP_OK;
	for (unsigned device = 0; device < GP_DEVICES; device++) {
		const size_t before = out->curves;
		for (unsigned k = 0; k < GP_CURVES && status == GP_OK; k++)
			status = curve_write(l, &l->curve[device][k], device, of_device[k], sink);
		if (out->curves > before)
			out->device[out->devices++] = device;
	}
	if (status != GP_OK)
		return status;
	return curve_write(l, &l->pinned, GP_DEVICE_UNKNOWN, GP_CURVE_PINNED, sink);
}

static enum gp_status capacities_write(struct living *l, const struct gp_lives_sink *sink)
{
	enum gp_status status = GP_OK;
	for (size_t k = 0; k < l->out->devices && status == GP_OK; k++) {
		const unsigned device = l->out->device[k];
		struct gp_lives_capacity *out = &l->out->capacity[device];
		if (has_points(&l->capacity[device].used))
			status = points_write(&l->capacity[device].used, sink, &out->used);
		if (status == GP_OK && has_points(&l->capacity[device].limit))
			status = points_write(&l->capacity[device].limit, sink, &out->limit);
	}
	return status;
}

static enum gp_status numbers_write(struct living *l, const uint32_t *into)
{
	const struct gp_life_raw *row = l->groups.raws.row;
	struct gp_lives *out = l->out;
	out->number = calloc(l->groups.numbers + 1, sizeof *out->number);
	if (out->number == NULL)
		return GP_E_MEMORY;
	for (; out->numbers < l->groups.numbers; out->numbers++) {
		const struct gp_life_raw *raw = &row[l->groups.row_of[out->numbers]];
		out->number[out->numbers] =
			(struct gp_lives_number){ raw->at_ns, into[out->numbers], raw->stack,
						  raw->without };
	}
	return GP_OK;
}

static enum gp_status lives_answer(struct living *l, const struct gp_lives_sink *sink)
{
	uint32_t *into = NULL;
	enum gp_status status = gp_range_paths_fold(&l->groups.ranges, 1);
	if (status == GP_OK)
		status = gp_life_groups_answer(&l->groups, l->out, &into);
	if (status == GP_OK && sink->life != NULL)
		status = numbers_write(l, into);
	gp_life_groups_release(&l->groups); /* before bytes are gathered by the sink */
	if (status == GP_OK)
		status = marks_answer(l);
	if (status == GP_OK)
		status = l->is_fine ? gp_lives_texts_list(l->out) : GP_E_MEMORY;
	if (status == GP_OK && sink->life == NULL)
		status = lives_write(l, into, sink);
	if (status == GP_OK && sink->life == NULL)
		status = curves_write(l, sink);
	if (status == GP_OK && sink->life == NULL)
		status = capacities_write(l, sink);
	free(into);
	return status;
}

enum gp_status gp_lives_build(struct gp_recording *recording, const struct gp_steps *steps,
			      const struct gp_lives_sink *sink, struct gp_lives *out)
{
	*out = (struct gp_lives){ 0 };
	struct living *l = calloc(1, sizeof *l);
	if (l == NULL)
		return GP_E_MEMORY;
	l->recording = recording;
	l->steps = steps;
	l->sink = sink;
	l->out = out;
	l->groups = (struct gp_life_groups){ .recording = recording,
					     .most = GP_LIVES_GROUPS_MOST,
					     .fold_at = GROUPS_FOLD_AT };
	l->store.most = GP_LIVES_MOST;
	l->store.a_block = GP_LIVES_A_BLOCK;
	for (size_t k = 0; k < sizeof l->curve / sizeof l->pinned; k++)
		(&l->curve[0][0] + k)->most = GP_LIVES_POINTS_MOST;
	for (unsigned device = 0; device < GP_DEVICES; device++)
		l->capacity[device].used.most = l->capacity[device].limit.most =
			GP_LIVES_POINTS_MOST;
	l->pinned.most = GP_LIVES_POINTS_MOST;
	enum gp_status status = gp_retry_if_overwritten(recording, lives_attempt, lives_forget, l);
	if (status == GP_OK)
		status = lives_answer(l, sink);
	struct gp_lives answer = *out;
	*out = (struct gp_lives){ 0 };
	lives_forget(l);
	free(l);
	*out = answer;
	if (status != GP_OK)
		gp_lives_free(out);
	return status;
}

void gp_lives_free(struct gp_lives *lives)
{
	gp_lives_texts_free(lives->owner);
	free((void *)lives->text);
	free(lives->frame);
	free(lives->stack);
	free(lives->place);
	free(lives->arena);
	free(lives->curve);
	free(lives->mark);
	free(lives->block);
	free(lives->number);
	*lives = (struct gp_lives){ 0 };
}
