/*
 * Opens a recording and replays its events: each is applied to the live state and then returned. A
 * replay starts at the oldest segment at which it can. After damage the next complete checkpoint
 * corrects the state.
 */
#include <stdlib.h>
#include <string.h>

#include "recording.h"
#include "scope_list.h"

#define OVERTAKES_MAX 10000u /* a reader that is always slower than the writer gives up */
#define LOST_KINDS 4u	     /* memory, launch, other, nested */
#define COMING_NS 3000000000 /* the drain thread writes within 1 s; the rest is margin */

static enum gp_status out_of_memory(struct gp_recording *r, struct gp_recording **out)
{
	gp_recording_close(r);
	*out = NULL;
	return GP_E_MEMORY;
}

enum gp_status gp_recording_open(const char *path, struct gp_recording **out, struct gp_damage *why)
{
	*out = NULL;
	struct gp_recording *r = calloc(1, sizeof *r);
	if (r == NULL)
		return GP_E_MEMORY;
	r->file.fd = -1;
	enum gp_status status = gp_file_open(path, &r->file, why);
	/* Test this before reading the file: if the owner ends in between, the file is sealed. */
	bool is_written = status == GP_OK && gp_ring_file_is_written(&r->file.header);
	if (is_written)
		gp_ring_file_await(&r->file.header);
	r->unwritten = is_written ? gp_ring_file_unwritten(&r->file.header) : UINT64_MAX;
	if (status == GP_OK)
		status = gp_index_build(&r->file, &r->index);
	if (status != GP_OK) {
		gp_recording_close(r);
		return status;
	}
	r->is_running = is_written && !r->index.is_sealed;
	r->path = strdup(path);
	r->definitions = gp_defined_open();
	r->merge = gp_merge_open(&r->file, &r->index, r->definitions);
	if (r->path == NULL || r->definitions == NULL || r->merge == NULL)
		return out_of_memory(r, out);
	gp_tick_init(&r->tick, &r->file.header, &r->index.last);
	r->first = gp_index_first(&r->index);
	r->unsought = SIZE_MAX;
	status = gp_recording_rewind(r);
	if (status != GP_OK) {
		gp_recording_close(r);
		return status;
	}
	*out = r;
	return GP_OK;
}

void gp_recording_close(struct gp_recording *r)
{
	if (r == NULL)
		return;
	gp_merge_close(r->merge);
	gp_index_release(&r->index);
	gp_stack_naming_release(&r->naming);
	gp_defined_close(r->definitions);
	gp_live_close(r->live);
	gp_file_release(&r->file);
	free(r->gap);
	free(r->tops.before);
	gp_scope_list_release(&r->scopes);
	if (r->kept != NULL)
		r->close_kept(r->kept);
	if (r->places != NULL)
		r->close_places(r->places);
	free(r->path);
	free(r);
}

static enum gp_status learn(void *context, const struct gp_record *record)
{
	return gp_defined_add(context, record);
}

int64_t gp_segment_ns(const struct gp_recording *r, size_t segment)
{
	return segment < r->index.segments ? gp_tick_ns(&r->tick, r->index.segment[segment].ticks) :
					     0;
}

static enum gp_status load(void *context, const struct gp_record *record)
{
	return gp_live_apply(context, record);
}

/* The recorder's checkpoints do not count the events that a repair left out. */
static void keep_lost(struct gp_live *live, const struct gp_live *before)
{
	for (unsigned i = 0; i < LOST_KINDS; i++) {
		uint64_t lost = gp_live_count(before, GP_COUNT_LOST_MEMORY + i);
		if (gp_live_count(live, GP_COUNT_LOST_MEMORY + i) < lost)
			gp_live_count_set(live, GP_COUNT_LOST_MEMORY + i, lost);
	}
}

/* Loads the segment's checkpoint into an empty state. */
static enum gp_status load_checkpoint(struct gp_recording *r, size_t segment)
{
	struct gp_live *before = r->live;
	uint64_t failures = gp_merge_failures(r->merge);
	r->live = gp_live_open();
	if (r->live == NULL) {
		r->live = before;
		return GP_E_MEMORY;
	}
	enum gp_status status =
		gp_merge_visit(r->merge, segment, GP_BLOCK_CHECKPOINT, load, r->live);
	bool is_broken = gp_merge_failures(r->merge) != failures;
	if (is_broken && segment > r->first) {
		/* the replayed state is better than half a checkpoint */
		gp_live_close(r->live);
		r->live = before;
		return status;
	}
	r->loaded = segment;
	gp_caveat_settle(r, segment == r->first ? 0 : gp_segment_ns(r, segment));
	if (is_broken)
		gp_caveat_open(r);
	if (segment > r->first)
		keep_lost(r->live, before);
	gp_live_close(before);
	return status;
}

void gp_recording_watch(struct gp_recording *r,
			void (*visit)(void *context, uint64_t done, uint64_t bytes, unsigned pass),
			void *context)
{
	gp_merge_watch(r->merge, visit, context);
}

static enum gp_status begin_again(struct gp_recording *r)
{
	gp_merge_count_pass(r->merge);
	r->rewinds++;
	r->segment = r->first;
	r->is_begun = false;
	r->is_ended_early = false;
	r->seen = 0;
	r->caveat = (struct gp_caveat){ 0 };
	gp_defined_clear(r->definitions);
	if (r->index.segments > 0) {
		enum gp_status status =
			gp_merge_visit(r->merge, r->first, GP_BLOCK_DEFINE, learn, r->definitions);
		return status == GP_OK ? load_checkpoint(r, r->first) : status;
	}
	gp_live_close(r->live);
	r->live = gp_live_open();
	return r->live != NULL ? GP_OK : GP_E_MEMORY;
}

/* The first segment after `number` at which a replay can start; index.segments: none. */
static size_t find_behind(const struct gp_recording *r, uint32_t number)
{
	const struct gp_index *x = &r->index;
	for (size_t i = 0; i < x->segments; i++) {
		const struct gp_segment *s = &x->segment[i];
		if (s->number > number && s->has_begin && s->has_checkpoint &&
		    !gp_index_is_overwritten(&r->file, x, i))
			return i;
	}
	return x->segments;
}

/* Rebuilds the index, and updates the pointers that gp_recording_info returned. */
static enum gp_status look_again(struct gp_recording *r)
{
	gp_index_release(&r->index);
	if (r->is_running)
		r->unwritten = gp_ring_file_unwritten(&r->file.header);
	enum gp_status status = gp_index_build(&r->file, &r->index);
	const struct gp_index *x = &r->index;
	r->info.damage = x->damage;
	r->info.damages = x->damages < GP_DAMAGES_KEPT ? x->damages : GP_DAMAGES_KEPT;
	return status;
}

/*
 * After the merge was overtaken: drops the overwritten segment and those before it. The kept
 * segments behind it come first from now on.
 */
static enum gp_status drop_overtaken(struct gp_recording *r)
{
	uint32_t number = r->index.segment[r->segment].number;
	gp_merge_forget_overtaken(r->merge);
	r->has_info = false;
	r->unsought = SIZE_MAX;
	if (++r->overtakes > OVERTAKES_MAX)
		return GP_E_DAMAGED;
	r->first = find_behind(r, number);
	if (r->first < r->index.segments)
		return GP_OK;
	enum gp_status status = look_again(r);
	if (status != GP_OK)
		return status;
	r->first = find_behind(r, number);
	if (r->first == r->index.segments)
		r->first = gp_index_first(&r->index);
	return GP_OK;
}

enum gp_status gp_recording_rewind(struct gp_recording *r)
{
	enum gp_status status;
	while ((status = begin_again(r)) == GP_OK && gp_merge_is_overtaken(r->merge)) {
		status = drop_overtaken(r);
		if (status != GP_OK)
			break;
	}
	return status;
}

struct comparison {
	const struct gp_live *live;
	bool is_other;
};

/* A checkpoint begins with its counts. */
static enum gp_status compare_count(void *context, const struct gp_record *record)
{
	struct comparison *c = context;
	if (record->kind != GP_COUNT)
		return GP_END;
	unsigned what = record->aux;
	bool is_memory = what < GP_KINDS && gp_event_infos[what].class == GP_CLASS_MEMORY;
	bool is_compared = is_memory || what == GP_COUNT_UNWRITTEN;
	c->is_other |= is_compared && gp_live_count(c->live, what) != record->count.number;
	return GP_OK;
}

/* Did the replay miss events that the recorder counted (damage, a full disk, a repaired copy)? */
static enum gp_status find_missing(struct gp_recording *r, bool *is_other)
{
	struct comparison comparison = { .live = r->live };
	enum gp_status status = gp_merge_visit(r->merge, r->segment, GP_BLOCK_CHECKPOINT,
					       compare_count, &comparison);
	*is_other = comparison.is_other;
	return status == GP_END ? GP_OK : status;
}

/* Begins segment r->segment. */
static enum gp_status replay_enter(struct gp_recording *r)
{
	enum gp_status status = GP_OK;
	if (r->segment > r->first) /* gp_recording_rewind did it for the first segment */
		status = gp_merge_visit(r->merge, r->segment, GP_BLOCK_DEFINE, learn,
					r->definitions);
	if (status == GP_OK && r->segment > r->first &&
	    r->index.segment[r->segment].has_checkpoint) {
		bool is_other;
		status = find_missing(r, &is_other);
		if (status == GP_OK && is_other && r->index.missing_to != 0)
			gp_caveat_open(r);
		/* the index does not have the holes of a missing end */
		bool is_unsure =
			r->index.missing_to != 0 || (!r->index.is_sealed && r->caveat.is_open);
		if (status == GP_OK && (is_other || is_unsure))
			status = load_checkpoint(r, r->segment);
	}
	if (status == GP_OK)
		status = gp_merge_begin(r->merge, r->segment);
	r->is_begun = status == GP_OK;
	return status;
}

uint64_t gp_recording_next_order(const struct gp_recording *r)
{
	uint64_t newest = gp_live_count(r->live, GP_COUNT_NEWEST_ORDER);
	if (newest != 0 || r->caveat.last != 0)
		return newest + 1;
	/* Numbers start at 0, but the newest number of an empty state is 0 too. */
	bool is_start = r->first < r->index.segments && r->index.segment[r->first].has_begin;
	return is_start ? r->index.segment[r->first].cut : 1;
}

/*
 * For a recording whose owner lives. True: its rings still have a number lower than this event's.
 * The replay ends here, so that its state is one that existed. Call it before the event is applied.
 */
static bool replay_is_behind(const struct gp_recording *r, const struct gp_record *record)
{
	if (record->kind >= GP_KINDS || gp_event_infos[record->kind].class != GP_CLASS_MEMORY)
		return false;
	uint64_t next = gp_recording_next_order(r);
	if (record->order <= next)
		return false;
	/*
	 * This event came after the look at the rings or was in one then. So events before it may
	 * still be there, even if the drain thread is very late.
	 */
	if (record->order >= r->unwritten && r->unwritten != UINT64_MAX)
		return true;
	/* it is counted as lost, or later blocks were written without it */
	bool is_reported = next < gp_live_count(r->live, GP_COUNT_GAP_ORDER);
	int64_t age =
		gp_tick_ns(&r->tick, r->index.last.ticks) - gp_tick_ns(&r->tick, record->time);
	return !is_reported && age < COMING_NS;
}

/* Ends the segment. With a `record`, ends the replay: an earlier event is not in the file yet. */
static __attribute__((noinline)) enum gp_status replay_leave(struct gp_recording *r,
							     const struct gp_record *record)
{
	r->is_begun = false;
	r->left = r->segment;
	if (record != NULL) {
		r->is_ended_early = true;
		r->segment = r->index.segments;
		return GP_END;
	}
	if (gp_merge_is_overtaken(r->merge)) {
		enum gp_status status = drop_overtaken(r);
		return status == GP_OK ? gp_recording_rewind(r) : status;
	}
	r->segment++;
	return gp_merge_is_out_of_memory(r->merge) ? GP_E_MEMORY : GP_OK;
}

static inline __attribute__((always_inline)) const struct gp_record *
replay_fetch(struct gp_recording *r, uint32_t *thread, enum gp_status *status)
{
	*status = r->segment >= r->index.segments ? GP_END : r->is_begun ? GP_OK : replay_enter(r);
	if (*status != GP_OK)
		return NULL;
	const struct gp_record *record = gp_merge_next(r->merge, thread);
	if (record != NULL && (!r->is_running || !replay_is_behind(r, record)))
		return record;
	*status = replay_leave(r, record);
	return NULL;
}

const struct gp_record *gp_recording_fetch_here(struct gp_recording *r, uint32_t *thread,
						enum gp_status *status)
{
	return replay_fetch(r, thread, status);
}

const struct gp_record *gp_recording_fetch(struct gp_recording *r, uint32_t *thread,
					   enum gp_status *status)
{
	const struct gp_record *record;
	do
		record = replay_fetch(r, thread, status);
	while (record == NULL && *status == GP_OK);
	return record;
}

enum gp_status gp_recording_apply(struct gp_recording *r, const struct gp_record *record)
{
	r->seen++;
	gp_caveat_see(r, record);
	const uint64_t refused = gp_live_refused(r->live);
	enum gp_status status = gp_live_apply(r->live, record);
	if (__builtin_expect(gp_live_refused(r->live) != refused, 0))
		gp_caveat_refused(r);
	if (record->kind < GP_KINDS && gp_event_infos[record->kind].class == GP_CLASS_DEFINE &&
	    status == GP_OK)
		status = gp_defined_add(r->definitions, record);
	return status;
}

const struct gp_record *gp_recording_step(struct gp_recording *r, uint32_t *thread,
					  enum gp_status *status)
{
	const struct gp_record *record = gp_recording_fetch(r, thread, status);
	if (record != NULL)
		*status = gp_recording_apply(r, record);
	return *status == GP_OK ? record : NULL;
}

void gp_recording_event(const struct gp_recording *r, uint32_t thread,
			const struct gp_record *record, struct gp_event *out)
{
	out->record = *record;
	if (record->device == GP_DEVICE_UNKNOWN)
		out->record.device = (uint8_t)gp_live_ended_device(r->live, record);
	out->at_ns = gp_tick_ns(&r->tick, record->time);
	out->thread = thread;
	out->tid = gp_recording_tid(r, thread);
	out->text = gp_record_text(record, &out->text_bytes);
}

enum gp_status gp_recording_next(struct gp_recording *r, struct gp_event *out)
{
	enum gp_status status;
	uint32_t thread = 0;
	const struct gp_record *record = gp_recording_step(r, &thread, &status);
	if (record == NULL)
		return status;
	gp_recording_event(r, thread, record, out);
	return GP_OK;
}

uint32_t gp_recording_tid(const struct gp_recording *r, uint32_t thread)
{
	struct gp_named known;
	gp_defined_get(r->definitions, GP_THREAD, thread, &known);
	return known.value;
}

const char *gp_recording_kernel_name(const struct gp_recording *r, uint64_t handle)
{
	return gp_defined_text(r->definitions, GP_KERNEL, handle);
}

const char *gp_recording_text(const struct gp_recording *r, enum gp_kind kind, uint64_t key)
{
	return gp_defined_text(r->definitions, kind, key);
}

const char *gp_recording_path(const struct gp_recording *r)
{
	return r->path;
}

bool gp_recording_curves(const struct gp_recording *r, unsigned device, struct gp_curves *out)
{
	const struct gp_live_device *d = gp_live_device(r->live, device);
	*out = (struct gp_curves){ 0 };
	if (d == NULL || !d->is_seen)
		return false;
	for (unsigned c = 0; c < GP_CURVES; c++) {
		out->now_bytes[c] = d->curve[c].now_bytes;
		out->peak_bytes[c] = d->curve[c].peak_bytes;
		out->peak_at_ns[c] = d->curve[c].peak_bytes != 0 ?
					     gp_tick_ns(&r->tick, d->curve[c].peak_time) :
					     0;
	}
	return true;
}

void gp_recording_take_moved(struct gp_recording *r, uint64_t *devices, bool *has_host)
{
	*devices = gp_live_take_moved(r->live);
	*has_host = gp_live_take_host_moved(r->live);
}

bool gp_recording_curves_now(const struct gp_recording *r, unsigned device,
			     uint64_t now_bytes[GP_CURVES])
{
	const struct gp_live_device *d = gp_live_device(r->live, device);
	for (unsigned c = 0; c < GP_CURVES; c++)
		now_bytes[c] = d != NULL ? d->curve[c].now_bytes : 0;
	return d != NULL && d->is_seen;
}

bool gp_recording_host_now(const struct gp_recording *r, uint64_t now_bytes[2])
{
	const struct gp_live_host *h = gp_live_host(r->live);
	now_bytes[GP_HOST_PINNED] = h->pinned.now_bytes;
	now_bytes[GP_HOST_REGISTERED] = h->registered_bytes;
	return h->pinned.peak_bytes != 0;
}
