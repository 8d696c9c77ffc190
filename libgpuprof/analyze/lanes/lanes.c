/*
 * gp_waits_observe shows operations, waits and gaps. Texts of operations are looked up at once,
 * those of waits and gaps after the replays. Then groups with equal texts become one, and blocks
 * are written.
 */
#include <stdlib.h>
#include <string.h>

#include "../../format/varint.h"
#include "../../gpuprof_lanes.h"
#include "../../read/file/recording.h"
#include "../../read/tables/array.h"
#include "../gpu/gpu_collect.h"
#include "../groups/group_key.h"
#include "../lives/life_groups.h"
#include "../settle.h"
#include "../waits/waits_observe.h"
#include "lane_store.h"
#include "range_lanes.h"

#define NS_MOST (1ll << 52) /* of a damaged recording; a program can add two of them */
#define NAME_ROOM 4096u	    /* as gp_kernels_build has it */
#define REST UINT32_MAX	    /* id of the lane of further streams or threads */

const char *const gp_lane_names[GP_LANE_KINDS] = { "stream", "waits", "gaps", "ranges", "marks" };
const char *const gp_interval_names[GP_INTERVAL_KINDS] = { "kernel", "copy",  "set", "wait",
							   "gap",    "range", "mark" };

struct lane_row {
	uint64_t key;
	struct gp_lane lane;
};

/* Intervals with one source. */
struct lane_source {
	uint64_t key;
	struct gp_lane_group group; /* texts: of operations */
	uint32_t stack;		    /* of waits and gaps */
	int64_t at_ns;		    /* of one of them */
	uint32_t into;		    /* index of the group with these texts */
};

/* The texts of a launch's stack. */
struct lane_place {
	uint64_t key;
	uint32_t operator, line;
	bool is_read;
};

struct lane_group {
	uint64_t key;
	struct gp_lane_group group;
};

struct laning {
	struct gp_recording *recording;
	struct gp_lanes *out;
	struct gp_lane_store store;
	struct gp_row_table lanes, sources, places, groups;
	struct gp_read_stack *stack;
	/* the gap whose parts are being seen, and its largest part; took_ns 0: none */
	struct gp_gpu_gap gap;
	int64_t gap_part_ns;
	uint32_t gap_source;
	bool has_gap, is_fine;
};

static uint32_t lane_text(struct laning *l, const char *text)
{
	return gp_lives_text(l->out->owner, text, &l->is_fine);
}

/* ---- lanes ---- */

static uint32_t lane_find(struct laning *l, enum gp_lane_of of, unsigned device, uint32_t context,
			  uint32_t id)
{
	uint64_t key = gp_hash_pair((uint64_t)of << 32 | device, (uint64_t)context << 32 | id);
	const bool is_rest = l->lanes.rows >= GP_LANES_MOST &&
			     gp_row_of_key(&l->lanes, sizeof(struct lane_row), key) == NULL;
	if (is_rest)
		key = gp_hash_pair((uint64_t)of << 32 | device, REST);
	struct lane_row *row = gp_row_get_key(&l->lanes, sizeof *row, key);
	l->is_fine &= row != NULL;
	if (row == NULL)
		return 0;
	if (row->lane.count++ == 0)
		row->lane = (struct gp_lane){ .of = (uint8_t)of,
					      .is_rest = is_rest,
					      .device = device,
					      .context = is_rest ? 0 : context,
					      .id = is_rest ? 0 : id,
					      .count = 1,
					      .parts = SIZE_MAX };
	return (uint32_t)(row - (struct lane_row *)l->lanes.row);
}

static int64_t clamped(int64_t ns)
{
	return ns > NS_MOST ? NS_MOST : ns < -NS_MOST ? -NS_MOST : ns;
}

static void interval_add(struct laning *l, uint32_t lane, uint32_t source, int64_t begin_ns,
			 uint64_t took_ns)
{
	if (!l->is_fine)
		return;
	struct gp_lane_group *g = &((struct lane_source *)l->sources.row)[source].group;
	const struct gp_lane_row row = { .begin_ns = clamped(begin_ns),
					 .took_ns = took_ns < NS_MOST ? took_ns : NS_MOST,
					 .lane = lane,
					 .group = source };
	g->count++;
	if (__builtin_add_overflow(g->total_ns, row.took_ns, &g->total_ns))
		g->total_ns = UINT64_MAX;
	gp_lane_store_add(&l->store, &row);
	l->is_fine &= !l->store.is_out_of_memory;
}

/* ---- operations ---- */

/* The text in place of a missing key; NULL: the launch has a stack. */
static const char *place_missing(const struct gp_gpu_launch *launch)
{
	return launch == NULL	  ? "no launch found" :
	       launch->stack == 0 ? "no stack was recorded" :
				    NULL;
}

static uint32_t missing_text(struct laning *l, const char *why)
{
	char text[256];
	snprintf(text, sizeof text, "(%s)", why);
	return lane_text(l, text);
}

static uint32_t key_text(struct laning *l, enum gp_by by, const struct gp_use *use)
{
	char text[GP_KEY_MAX];
	const struct gp_grouping how = { .by = by };
	const struct gp_use_place place = gp_use_place(l->recording, use, &how, l->stack);
	if (place.without != NULL)
		return missing_text(l, place.without);
	gp_group_key(by, use, l->stack, text);
	return lane_text(l, text);
}

static struct lane_place place_read(struct laning *l, const struct gp_gpu_launch *launch)
{
	const char *missing = place_missing(launch);
	const uint64_t key =
		missing != NULL ? (uint64_t)(uintptr_t)missing | 1ull << 63 : launch->stack;
	struct lane_place *place = gp_row_get_key(&l->places, sizeof *place, key);
	l->is_fine &= place != NULL;
	if (place == NULL)
		return (struct lane_place){ 0 };
	if (!place->is_read && missing != NULL) {
		place->operator= place->line = missing_text(l, missing);
	} else if (!place->is_read) {
		const struct gp_use use = { .stack = launch->stack, .at_ns = launch->at_ns };
		place->operator= key_text(l, GP_BY_OPERATOR, &use);
		place->line = key_text(l, GP_BY_LINE, &use);
	}
	place->is_read = true;
	return *place;
}

static uint32_t phase_text(struct laning *l, const struct gp_gpu_launch *launch)
{
	char text[GP_KEY_MAX];
	if (launch == NULL)
		return missing_text(l, "no launch found");
	const struct gp_range_path *path = gp_range_path_shown(launch->range, NULL);
	if (path->known == GP_RANGE_IN) {
		const char *name = gp_range_path_phase(path)->name;
		return lane_text(l, name ? name : "");
	}
	gp_range_path_text(path, text, sizeof text);
	return lane_text(l, text);
}

static uint32_t operation_name(struct laning *l, const struct gp_gpu *gpu,
			       const struct gp_gpu_operation *op)
{
	char name[NAME_ROOM];
	gp_gpu_operation_text(gpu, op, name, sizeof name);
	return lane_text(l, name);
}

static uint32_t operation_source(struct laning *l, const struct gp_gpu *gpu,
				 const struct gp_gpu_operation *op)
{
	const struct gp_gpu_launch *launch =
		op->launch != GP_GPU_NO_LAUNCH ? &gpu->launch[op->launch] : NULL;
	const uint32_t what =
		op->kind == GP_GPU_IS_KERNEL ? op->function : GP_GPU_COPY_KIND(op->function);
	const struct gp_range_path *path =
		launch != NULL ? gp_range_path_shown(launch->range, NULL) : NULL;
	uint64_t key = gp_hash_pair((uint64_t)op->kind << 32 | what, (uint64_t)(uintptr_t)path);
	key = gp_hash_pair(key, launch != NULL ? launch->stack : UINT64_MAX);
	struct lane_source *s = gp_row_of_key(&l->sources, sizeof *s, key);
	if (s == NULL && l->sources.rows >= GP_LANE_GROUPS_MOST)
		key = gp_hash_pair((uint64_t)op->kind << 32 | what, UINT64_MAX);
	if (s == NULL)
		s = gp_row_get_key(&l->sources, sizeof *s, key);
	l->is_fine &= s != NULL;
	if (s == NULL)
		return 0;
	const uint32_t at = (uint32_t)(s - (struct lane_source *)l->sources.row);
	if (s->group.count != 0)
		return at;
	s->group.of = op->kind;
	s->group.name = operation_name(l, gpu, op);
	if (at >= GP_LANE_GROUPS_MOST) {
		s->group.operator= s->group.line = s->group.phase =
			missing_text(l, "beyond the bound of different ones");
		return at;
	}
	const struct lane_place place = place_read(l, launch);
	s->group.operator= place.operator;
	s->group.line = place.line;
	s->group.phase = phase_text(l, launch);
	return at;
}
_Static_assert(GP_GPU_IS_KERNEL == (int)GP_INTERVAL_KERNEL &&
		       GP_GPU_IS_COPY == (int)GP_INTERVAL_COPY &&
		       GP_GPU_IS_SET == (int)GP_INTERVAL_SET,
	       "kinds of operations are kinds of intervals");

static enum gp_status see_operations(void *context, struct gp_gpu *gpu)
{
	struct laning *l = context;
	struct gp_lanes *out = l->out;
	out->clock_within_ns = gpu->clock_within_ns;
	out->lost = gpu->dropped + gpu->lost + gpu->beyond;
	out->why = gpu->why;
	const enum gp_status status = gp_range_paths_fold(&gpu->ranges, 1);
	for (size_t k = 0; status == GP_OK && l->is_fine && k < gpu->operations; k++) {
		const struct gp_gpu_operation *op = &gpu->operation[k];
		if (op->at_ns == INT64_MIN) {
			out->lost++;
			continue;
		}
		out->has_operations = true;
		const uint32_t lane =
			lane_find(l, GP_LANE_OF_STREAM, op->device, op->context, op->stream);
		const uint32_t source = operation_source(l, gpu, op);
		interval_add(l, lane, source, op->at_ns, op->took_ns);
	}
	if (status == GP_OK && gpu->operations != 0 && !out->has_operations)
		out->why = "the clock of the GPU was not recorded";
	return status == GP_OK && !l->is_fine ? GP_E_MEMORY : status;
}

/* ---- waits and gaps ---- */

static uint32_t reason_source(struct laning *l, enum gp_interval_of of, const char *name,
			      uint32_t stack, int64_t at_ns)
{
	const uint64_t key = gp_hash_pair(gp_hash_pair(of, (uint64_t)(uintptr_t)name), stack);
	struct lane_source *s = gp_row_get_key(&l->sources, sizeof *s, key);
	l->is_fine &= s != NULL;
	if (s == NULL)
		return 0;
	if (s->group.count == 0) {
		s->group.of = (uint8_t)of;
		s->group.name = lane_text(l, name);
		s->stack = stack;
		s->at_ns = at_ns;
	}
	return (uint32_t)(s - (struct lane_source *)l->sources.row);
}

static void see_wait(void *context, const struct gp_wait_row *row, uint32_t thread, int64_t at_ns,
		     int64_t ns)
{
	struct laning *l = context;
	if (!l->out->has_operations || !l->is_fine)
		return;
	const uint32_t lane = lane_find(l, GP_LANE_OF_WAITS, GP_DEVICE_UNKNOWN, 0, thread);
	const uint32_t source = reason_source(l, GP_INTERVAL_WAIT,
					      gp_wait_reason_names[row->reason], row->stack, at_ns);
	interval_add(l, lane, source, at_ns - ns, (uint64_t)ns);
}

/* The gap whose last part was seen. */
static void gap_end(struct laning *l)
{
	if (l->has_gap && l->is_fine)
		interval_add(l, lane_find(l, GP_LANE_OF_GAPS, l->gap.device, 0, 0), l->gap_source,
			     l->gap.from_ns, (uint64_t)l->gap.to_ns - (uint64_t)l->gap.from_ns);
	l->has_gap = false;
}

static void see_gap(void *context, const struct gp_gpu_gap *gap, int64_t ns,
		    enum gp_gpu_gap_due due, const struct gp_wait_row *row)
{
	static const char *const names[] = { [GP_GPU_GAP_TO_HOST] = "late_launch",
					     [GP_GPU_GAP_TO_GPU] = "pending",
					     [GP_GPU_GAP_TO_NOTHING] = "unknown" };
	struct laning *l = context;
	const bool is_same = l->has_gap && l->gap.from_ns == gap->from_ns &&
			     l->gap.to_ns == gap->to_ns && l->gap.device == gap->device;
	if (!is_same)
		gap_end(l);
	if (!l->is_fine || (is_same && ns <= l->gap_part_ns))
		return;
	l->has_gap = true;
	l->gap = *gap;
	l->gap_part_ns = ns;
	l->gap_source = reason_source(l, GP_INTERVAL_GAP,
				      row != NULL ? gp_wait_reason_names[row->reason] : names[due],
				      row != NULL		? row->stack :
				      due == GP_GPU_GAP_TO_HOST ? gap->stack :
								  0,
				      row != NULL ? row->at_ns : gap->to_ns);
}

/* ---- ranges ---- */

static void see_range(void *context, const struct gp_range_lane_call *call)
{
	struct laning *l = context;
	char text[GP_KEY_MAX] = "(beyond the bound of different ones)";
	if (!l->is_fine)
		return;
	const bool is_mark = call->level == GP_RANGE_LANE_MARK;
	const enum gp_interval_of kind = is_mark ? GP_INTERVAL_MARK : GP_INTERVAL_RANGE;
	const uint64_t of = (uint64_t)kind << 32 | call->source;
	uint64_t key = gp_hash_pair(of, (uint64_t)call->domain << 32 | call->name);
	struct lane_source *s = gp_row_of_key(&l->sources, sizeof *s, key);
	const bool is_beyond = s == NULL && l->sources.rows >= GP_LANE_GROUPS_MOST;
	if (is_beyond)
		key = gp_hash_pair(of, UINT64_MAX);
	if (s == NULL)
		s = gp_row_get_key(&l->sources, sizeof *s, key);
	l->is_fine &= s != NULL;
	if (s == NULL)
		return;
	if (s->group.count == 0) {
		if (!is_beyond)
			gp_range_lane_text(l->recording, call, text, sizeof text);
		s->group.of = (uint8_t)kind;
		s->group.name = lane_text(l, text);
	}
	const uint32_t source = (uint32_t)(s - (struct lane_source *)l->sources.row);
	const uint32_t lane = lane_find(l, is_mark ? GP_LANE_OF_MARKS : GP_LANE_OF_RANGES,
					GP_DEVICE_UNKNOWN, is_mark ? 0 : call->level, call->thread);
	interval_add(l, lane, source, call->begin_ns,
		     (uint64_t)call->end_ns - (uint64_t)call->begin_ns);
}

/* ---- the answer ---- */

static bool group_is(const struct gp_lane_group *a, const struct gp_lane_group *b)
{
	return a->of == b->of && a->name == b->name &&
	       a->operator== b->operator&& a->line == b->line && a->phase == b->phase;
}

static uint64_t sum_of(uint64_t a, uint64_t b)
{
	return a + b < a ? UINT64_MAX : a + b;
}

/* Adds a source to the group with its texts. */
static uint32_t group_add(struct laning *l, const struct gp_lane_group *of)
{
	const uint64_t key = gp_hash_pair(gp_hash_pair((uint64_t)of->of << 32 | of->name,
						       (uint64_t)of->operator<< 32 | of->line),
					  of->phase);
	struct lane_group *row = gp_row_get_key(&l->groups, sizeof *row, key);
	l->is_fine &= row != NULL;
	if (row == NULL)
		return 0;
	if (row->group.count == 0) {
		row->group = *of;
	} else if (group_is(&row->group, of)) {
		row->group.count += of->count;
		row->group.total_ns = sum_of(row->group.total_ns, of->total_ns);
		row->group.short_count += of->short_count;
		row->group.short_ns = sum_of(row->group.short_ns, of->short_ns);
	}
	return (uint32_t)(row - (struct lane_group *)l->groups.row);
}

static void groups_answer(struct laning *l)
{
	struct gp_lanes *out = l->out;
	struct gp_line line;
	for (uint32_t k = 0; k < l->sources.rows && l->is_fine; k++) {
		struct lane_source *s = &((struct lane_source *)l->sources.row)[k];
		if (s->group.count == 0)
			continue; /* never the largest part of a gap */
		if (k < l->store.group_room) {
			s->group.short_count = l->store.group[k].count;
			s->group.short_ns = l->store.group[k].ns;
		}
		if (s->stack != 0) { /* of waits and gaps */
			gp_line_find(l->recording, s->stack, s->at_ns, l->stack, &line);
			s->group.line = lane_text(l, line.key);
		}
		s->into = group_add(l, &s->group);
	}
	out->group = calloc((size_t)l->groups.rows + 1, sizeof *out->group);
	l->is_fine &= out->group != NULL;
	for (uint32_t k = 0; k < l->groups.rows && l->is_fine; k++)
		out->group[out->groups++] = ((struct lane_group *)l->groups.row)[k].group;
	const struct gp_row_table *texts = &out->owner->texts;
	out->text = calloc((size_t)texts->rows + 1, sizeof *out->text);
	l->is_fine &= out->text != NULL;
	for (uint32_t k = 0; k < texts->rows && l->is_fine; k++)
		out->text[out->texts++] = gp_text_store_get(
			&out->owner->store, (uint32_t)((const uint64_t *)texts->row)[k]);
}

struct lane_writer {
	const struct gp_lives_sink *sink;
	uint64_t (*row)[GP_LANE_COLUMNS];
	unsigned char *room;
};

static enum gp_status intervals_write(struct laning *l, struct lane_writer *w, struct gp_lane *lane,
				      size_t first, size_t rows)
{
	const struct lane_source *sources = l->sources.row;
	int64_t last_ns = 0;
	size_t count, *number = gp_array_append(&lane->block, &lane->blocks, sizeof *number);
	if (number == NULL)
		return GP_E_MEMORY;
	for (size_t k = 0; k < rows; k++) {
		const struct gp_lane_row *row = &l->store.row[first + k];
		w->row[k][0] = gp_zigzag((uint64_t)row->begin_ns - (uint64_t)last_ns);
		w->row[k][1] = row->took_ns;
		w->row[k][2] = sources[row->group].into;
		last_ns = row->begin_ns;
	}
	lane->count += rows;
	const unsigned char *bytes =
		gp_lane_encode((const uint64_t(*)[GP_LANE_COLUMNS])w->row, rows, w->room, &count);
	return w->sink->write(w->sink->context, bytes, count, number);
}

static enum gp_status parts_write(struct laning *l, struct lane_writer *w, struct gp_lane *lane,
				  size_t number)
{
	const struct gp_lane_part *part =
		number < l->store.lane_room ? l->store.part[number] : NULL;
	size_t rows = 0, count;
	uint64_t last = 0;
	for (uint64_t k = 0; part != NULL && k < GP_LANE_PARTS_MOST; k++) {
		if (part[k].ns == 0 && part[k].count == 0)
			continue;
		w->row[rows][0] = k - last;
		w->row[rows][1] = part[k].ns;
		w->row[rows++][2] = part[k].count;
		last = k;
	}
	if (rows == 0)
		return GP_OK;
	const unsigned char *bytes =
		gp_lane_encode((const uint64_t(*)[GP_LANE_COLUMNS])w->row, rows, w->room, &count);
	return w->sink->write(w->sink->context, bytes, count, &lane->parts);
}

static enum gp_status lane_write(struct laning *l, struct lane_writer *w, uint32_t number,
				 size_t *first)
{
	struct gp_lane *lane = &l->out->lane[number];
	enum gp_status status = GP_OK;
	lane->count = 0;
	while (status == GP_OK && *first < l->store.rows && l->store.row[*first].lane == number) {
		size_t rows = 1;
		while (rows < GP_LIVES_A_BLOCK && *first + rows < l->store.rows &&
		       l->store.row[*first + rows].lane == number)
			rows++;
		status = intervals_write(l, w, lane, *first, rows);
		*first += rows;
	}
	return status == GP_OK ? parts_write(l, w, lane, number) : status;
}

static enum gp_status lanes_answer(struct laning *l, const struct gp_lives_sink *sink)
{
	struct gp_lanes *out = l->out;
	struct lane_writer w = { .sink = sink,
				 .row = malloc(GP_LIVES_A_BLOCK * sizeof *w.row),
				 .room = malloc(gp_lane_room(GP_LIVES_A_BLOCK)) };
	size_t first = 0;
	gap_end(l);
	groups_answer(l);
	gp_lane_store_sort(&l->store);
	out->shorter_than_ns = l->store.shorter_than_ns;
	out->lane = calloc((size_t)l->lanes.rows + 1, sizeof *out->lane);
	enum gp_status status = l->is_fine && w.row && w.room && out->lane ? GP_OK : GP_E_MEMORY;
	for (uint32_t k = 0; status == GP_OK && k < l->lanes.rows; k++) {
		out->lane[out->lanes++] = ((struct lane_row *)l->lanes.row)[k].lane;
		status = lane_write(l, &w, k, &first);
	}
	free(w.row);
	free(w.room);
	return status;
}

/* Without a begin, gp_waits_observe would leave out the warm-up. */
enum gp_status gp_lanes_build(struct gp_recording *recording, const struct gp_lives_sink *sink,
			      struct gp_lanes *out)
{
	struct laning l = { .recording = recording, .out = out, .is_fine = true };
	const struct gp_waits_observer observer = { &l, see_operations, see_wait, see_gap };
	const struct gp_info *info;
	struct gp_waits waits;
	*out = (struct gp_lanes){ .clock_within_ns = -1, .part_ns = 1 };
	enum gp_status status = gp_recording_info(recording, &info);
	if (status != GP_OK)
		return status;
	const struct gp_record *fact =
		gp_defined_record(recording->definitions, GP_FACT, GP_FACT_GPU_TIME);
	const bool has_gpu_time = gp_gpu_has_times(recording),
		   has_ranges = gp_range_lanes_has(recording);
	if (!has_gpu_time && fact != NULL && fact->fact.value == 0)
		out->why = gp_recording_text(recording, GP_FACT, GP_FACT_GPU_TIME);
	if (!has_gpu_time && !has_ranges)
		return GP_OK;
	out->to_ns = info->duration_ns < NS_MOST ? (int64_t)info->duration_ns : NS_MOST;
	while (out->part_ns * GP_LANE_PARTS_MOST <= (uint64_t)out->to_ns)
		out->part_ns *= 2;
	l.store.most = GP_LANE_INTERVALS_MOST;
	l.store.part_ns = out->part_ns;
	out->owner = calloc(1, sizeof *out->owner);
	l.stack = malloc(sizeof *l.stack);
	if (out->owner == NULL || l.stack == NULL)
		status = GP_E_MEMORY;
	else
		lane_text(&l, "");
	if (status == GP_OK && has_gpu_time)
		status = gp_waits_observe(recording, 0, INT64_MAX, &observer, &waits);
	if (status == GP_OK && has_gpu_time)
		gp_waits_free(&waits);
	if (status == GP_OK && has_ranges)
		status = gp_range_lanes_visit(recording, out->to_ns, see_range, &l);
	if (status == GP_OK && (l.lanes.rows > 0 || !l.is_fine))
		status = lanes_answer(&l, sink);
	gp_row_table_release(&l.lanes);
	gp_row_table_release(&l.sources);
	gp_row_table_release(&l.places);
	gp_row_table_release(&l.groups);
	gp_lane_store_release(&l.store);
	free(l.stack);
	if (status != GP_OK)
		gp_lanes_free(out);
	return status;
}

void gp_lanes_free(struct gp_lanes *lanes)
{
	for (size_t k = 0; k < lanes->lanes; k++)
		free(lanes->lane[k].block);
	free(lanes->lane);
	free(lanes->group);
	free(lanes->text);
	gp_lives_texts_free(lanes->owner);
	*lanes = (struct gp_lanes){ 0 };
}
