/* Places: a copy of the state, where each thread is read on, and the definitions until then. */
#include "replay_places.h"

#include <stdlib.h>
#include <string.h>

#include "../tables/array.h"

/* A state beyond that is not copied: most of the time would be spent on it. */
#define ENTRIES_MOST (GP_PLACES_BYTES / 8 / sizeof(struct gp_live_entry))
#define DEFINITIONS_MOST (GP_PLACES_BYTES / 4 / sizeof(struct gp_record))

struct place {
	uint64_t events; /* since the segment's beginning; a multiple of GP_PLACE_EVENTS */
	uint64_t newest; /* highest order of a MEMORY event */
	struct gp_live_copy *live;
	struct gp_merge_at *at;
	size_t threads;
	size_t definitions;
	struct gp_caveat caveat;
	struct gp_place_seen seen;
};
/* Moments of GP_PLACE_EVENTS events, of fewer at the segment's end. */
struct stretch {
	int64_t earliest_ns;
	int64_t latest_ns; /* of those that gp_has_moment */
};
struct segment_places {
	struct place *place;
	size_t places, place_room;
	struct stretch *stretch;
	size_t stretches, stretch_room;
	struct gp_record *definition; /* those of EVENTS blocks, with their extra slots */
	size_t definitions, definition_room;
	uint64_t events; /* if it is whole */
	bool is_whole;	 /* all of it was replayed */
	bool is_full;	 /* has too many definitions or entries for further places */
};
struct gp_places {
	bool is_used;
	unsigned overtakes; /* of the recording: places are older after the next one */
	uint64_t bytes;
	uint64_t stride; /* a place each `stride` * GP_PLACE_EVENTS events */
	size_t segments;
	struct segment_places segment[];
};

static const struct stretch no_stretch = { .earliest_ns = INT64_MAX, .latest_ns = INT64_MIN };

static uint64_t place_bytes(const struct place *p)
{
	return sizeof *p + gp_live_copy_bytes(p->live) + p->threads * sizeof *p->at;
}

static void place_close(struct gp_places *all, struct place *p)
{
	all->bytes -= place_bytes(p);
	gp_live_copy_close(p->live);
	free(p->at);
}

static void places_close(struct gp_places *all)
{
	for (size_t i = 0; all != NULL && i < all->segments; i++) {
		struct segment_places *s = &all->segment[i];
		for (size_t k = 0; k < s->places; k++)
			place_close(all, &s->place[k]);
		free(s->place);
		free(s->stretch);
		free(s->definition);
	}
	free(all);
}

static bool is_stale(const struct gp_recording *r)
{
	return r->places->overtakes != r->overtakes || r->places->segments != r->index.segments;
}

bool gp_places_begin(struct gp_recording *r)
{
	if (r->is_running || r->is_followed)
		return true;
	if (r->places != NULL && is_stale(r)) {
		places_close(r->places);
		r->places = NULL;
	}
	if (r->places == NULL) {
		const size_t segments = r->index.segments;
		r->places = calloc(1, sizeof *r->places + segments * sizeof *r->places->segment);
		if (r->places == NULL)
			return false;
		r->close_places = places_close;
		r->places->segments = segments;
		r->places->overtakes = r->overtakes;
		r->places->stride = 1;
	}
	r->places->is_used = true;
	return true;
}

void gp_places_end(struct gp_recording *r)
{
	if (r->places != NULL)
		r->places->is_used = false;
}

/* NULL: no places are in use there. */
static struct segment_places *segment_get(const struct gp_recording *r, size_t segment)
{
	const bool is_there = r->places != NULL && r->places->is_used && !is_stale(r) &&
			      segment < r->places->segments;
	return is_there ? &r->places->segment[segment] : NULL;
}

/* ---- from a place ---- */

static enum gp_status place_enter(struct gp_recording *r, const struct segment_places *s,
				  size_t segment, const struct place *p)
{
	struct gp_live *live = gp_live_of_copy(p->live);
	if (live == NULL)
		return GP_E_MEMORY;
	gp_live_close(r->live);
	r->live = live;
	r->caveat = p->caveat;
	r->seen = p->events;
	enum gp_status status = GP_OK;
	for (size_t i = 0; i < p->definitions && status == GP_OK; i += 1u + s->definition[i].extra)
		status = gp_defined_add(r->definitions, &s->definition[i]);
	if (status == GP_OK)
		status = gp_merge_begin_at(r->merge, segment, p->at, p->threads);
	r->is_begun = status == GP_OK;
	return status;
}

enum gp_status gp_places_jump(struct gp_recording *r, size_t segment, uint64_t events,
			      uint64_t order, struct gp_place_seen *seen)
{
	const struct segment_places *s = segment_get(r, segment);
	for (size_t k = s != NULL ? s->places : 0; k-- > 0;)
		if (s->place[k].events <= events && s->place[k].newest < order) {
			*seen = s->place[k].seen;
			return place_enter(r, s, segment, &s->place[k]);
		}
	return GP_OK;
}

/* ---- new places ---- */

static void places_thin(struct gp_places *all)
{
	all->stride *= 2;
	for (size_t i = 0; i < all->segments; i++) {
		struct segment_places *s = &all->segment[i];
		size_t kept = 0;
		for (size_t k = 0; k < s->places; k++)
			if (s->place[k].events / GP_PLACE_EVENTS % all->stride == 0)
				s->place[kept++] = s->place[k];
			else
				place_close(all, &s->place[k]);
		s->places = kept;
	}
}

static int compare_threads(const void *left, const void *right)
{
	const struct gp_merge_at *a = left, *b = right;
	return (a->thread > b->thread) - (a->thread < b->thread);
}

static enum gp_status place_add(struct gp_recording *r, struct segment_places *s,
				const struct gp_place_seen *seen)
{
	struct gp_places *all = r->places;
	const size_t threads = gp_merge_at(r->merge, NULL, 0);
	s->is_full |= gp_live_entries(r->live) > ENTRIES_MOST || threads > ENTRIES_MOST;
	if (r->seen / GP_PLACE_EVENTS % all->stride != 0 || s->is_full)
		return GP_OK;
	if (!gp_array_reserve(&s->place, &s->place_room, s->places, 1, sizeof *s->place))
		return GP_E_MEMORY;
	struct place p = {
		.events = r->seen,
		.newest = gp_live_count(r->live, GP_COUNT_NEWEST_ORDER),
		.live = gp_live_copy(r->live),
		.at = malloc((threads + 1) * sizeof *p.at),
		.threads = threads,
		.definitions = s->definitions,
		.caveat = r->caveat,
		.seen = *seen,
	};
	if (p.live == NULL || p.at == NULL) {
		gp_live_copy_close(p.live);
		free(p.at);
		return GP_E_MEMORY;
	}
	gp_merge_at(r->merge, p.at, threads);
	qsort(p.at, threads, sizeof *p.at, compare_threads);
	s->place[s->places++] = p;
	all->bytes += place_bytes(&p);
	while (all->bytes > GP_PLACES_BYTES)
		places_thin(all);
	return GP_OK;
}

static bool definition_add(struct segment_places *s, const struct gp_record *record)
{
	const size_t slots = 1u + record->extra;
	s->is_full = s->is_full || s->definitions + slots > DEFINITIONS_MOST;
	if (s->is_full)
		return true;
	if (!gp_array_reserve(&s->definition, &s->definition_room, s->definitions, slots,
			      sizeof *s->definition))
		return false;
	memcpy(&s->definition[s->definitions], record, slots * sizeof *record);
	s->definitions += slots;
	return true;
}

/* The replay was behind the segment's beginning before, up to the last known stretch. */
static bool stretch_end(struct segment_places *s, uint64_t events, struct stretch *stretch)
{
	const size_t number = (size_t)((events - 1) / GP_PLACE_EVENTS);
	const struct stretch ended = *stretch;
	*stretch = no_stretch;
	if (events == 0 || number < s->stretches)
		return true;
	if (!gp_array_reserve(&s->stretch, &s->stretch_room, s->stretches, 1, sizeof ended))
		return false;
	s->stretch[s->stretches++] = ended;
	return true;
}

struct until {
	int64_t at_ns; /* one event that is later than this, by more than GP_UNEVEN_NS */
	uint64_t order;
};

static bool is_later(const struct gp_record *record, int64_t now_ns, int64_t at_ns)
{
	return now_ns > at_ns && gp_has_moment(record->kind) &&
	       (uint64_t)now_ns - (uint64_t)at_ns > GP_UNEVEN_NS;
}

/* Replays on from the last place, up to the end of the stretch that reaches `until`. */
static enum gp_status places_replay(struct gp_recording *r, struct segment_places *s,
				    const struct until *until, struct gp_place_seen *seen)
{
	enum gp_status status = GP_OK;
	struct stretch stretch = no_stretch;
	const struct gp_record *record;
	uint32_t thread;
	bool is_reached = false;
	while ((record = gp_recording_fetch_here(r, &thread, &status)) != NULL) {
		const unsigned class = record->kind < GP_KINDS ?
					       gp_event_infos[record->kind].class :
					       GP_CLASS_OTHER;
		seen->last_ns = gp_tick_ns(&r->tick, record->time);
		if (seen->last_ns < stretch.earliest_ns)
			stretch.earliest_ns = seen->last_ns;
		if (seen->last_ns > stretch.latest_ns && gp_has_moment(record->kind))
			stretch.latest_ns = seen->last_ns;
		is_reached |= is_later(record, seen->last_ns, until->at_ns);
		if (class == GP_CLASS_MEMORY) {
			seen->has_memory = true;
			seen->memory_ns = seen->last_ns;
			is_reached |= record->order >= until->order;
		}
		if (class == GP_CLASS_DEFINE && !definition_add(s, record))
			return GP_E_MEMORY;
		status = gp_recording_apply(r, record);
		if (status != GP_OK)
			return status;
		if (r->seen % GP_PLACE_EVENTS != 0)
			continue;
		if (!stretch_end(s, r->seen, &stretch))
			return GP_E_MEMORY;
		status = place_add(r, s, seen);
		if (status != GP_OK || is_reached)
			return status;
	}
	if (status != GP_OK && status != GP_END)
		return status;
	s->events = r->seen;
	s->is_whole = true;
	return s->events == 0 || stretch_end(s, s->events, &stretch) ? GP_OK : GP_E_MEMORY;
}

/* True: `until` is in a known stretch. */
static bool until_is_known(const struct segment_places *s, const struct until *until)
{
	if (s->is_whole)
		return true;
	const struct place *last = s->places > 0 ? &s->place[s->places - 1] : NULL;
	if (until->order != UINT64_MAX)
		return last != NULL && last->newest >= until->order;
	for (size_t k = s->stretches; k-- > 0 && until->at_ns != INT64_MAX;)
		if (s->stretch[k].latest_ns > until->at_ns &&
		    (uint64_t)s->stretch[k].latest_ns - (uint64_t)until->at_ns > GP_UNEVEN_NS)
			return true;
	return false;
}

static enum gp_status places_extend(struct gp_recording *r, size_t segment,
				    const struct until *until)
{
	struct segment_places *s = segment_get(r, segment);
	if (s == NULL || until_is_known(s, until))
		return GP_OK;
	enum gp_status status = gp_recording_seek(r, segment);
	if (status != GP_OK || is_stale(r) || r->first != segment)
		return status;
	struct gp_place_seen seen = {
		.last_ns = gp_segment_ns(r, segment),
		.has_memory = gp_live_count(r->live, GP_COUNT_NEWEST_ORDER) > 0,
	};
	s->definitions = s->places > 0 ? s->place[s->places - 1].definitions : 0;
	status = gp_places_jump(r, segment, UINT64_MAX, UINT64_MAX, &seen);
	return status == GP_OK ? places_replay(r, s, until, &seen) : status;
}

enum gp_status gp_places_add(struct gp_recording *r, size_t segment, uint64_t order)
{
	const struct until until = { .at_ns = INT64_MAX, .order = order };
	const struct segment_places *s = segment_get(r, segment);
	return s != NULL && !s->is_full ? places_extend(r, segment, &until) : GP_OK;
}

/* ---- by time ---- */

/* The last event of the stretch that is not later than `at_ns`; 0: none. */
static enum gp_status stretch_scan(struct gp_recording *r, size_t segment, size_t stretch,
				   int64_t at_ns, uint64_t *found)
{
	const struct segment_places *s = &r->places->segment[segment];
	const uint64_t from = (uint64_t)stretch * GP_PLACE_EVENTS, to = from + GP_PLACE_EVENTS;
	const struct place *p = NULL;
	for (size_t k = 0; k < s->places && s->place[k].events <= from; k++)
		p = &s->place[k];
	uint64_t events = p != NULL ? p->events : 0;
	enum gp_status status = gp_merge_begin_at(r->merge, segment, p != NULL ? p->at : NULL,
						  p != NULL ? p->threads : 0);
	const struct gp_record *record;
	uint32_t thread;
	*found = 0;
	while (status == GP_OK && events < to &&
	       (record = gp_merge_next(r->merge, &thread)) != NULL) {
		if (++events <= from)
			continue;
		const int64_t now_ns = gp_tick_ns(&r->tick, record->time);
		if (now_ns <= at_ns)
			*found = events;
		else if (is_later(record, now_ns, at_ns))
			break;
	}
	return status;
}

struct found {
	size_t segment, stretch;
	uint64_t before; /* events of the segments before it */
	bool is_any;
};

/* Looks in the stretch at which the search stops, or in the last one before that. */
static enum gp_status found_scan(struct gp_recording *r, int64_t at_ns, const struct found *stop,
				 const struct found *last, uint64_t *events)
{
	enum gp_status status = GP_OK;
	const struct found *const order[] = { stop, last };
	*events = 0;
	for (unsigned i = 0; i < 2 && status == GP_OK && *events == 0; i++) {
		const struct found *f = order[i];
		if (!f->is_any)
			continue;
		status = stretch_scan(r, f->segment, f->stretch, at_ns, events);
		*events += *events != 0 ? f->before : 0;
	}
	return status;
}

bool gp_places_find(struct gp_recording *r, size_t segment, int64_t at_ns, uint64_t *events,
		    enum gp_status *status)
{
	const struct until until = { .at_ns = at_ns, .order = UINT64_MAX };
	struct found stop = { 0 }, last = { 0 };
	uint64_t before = 0;
	*status = GP_OK;
	if (segment_get(r, segment) == NULL)
		return false;
	for (size_t i = segment; i < r->index.segments; i++) {
		*status = places_extend(r, i, &until);
		const struct segment_places *s = segment_get(r, i);
		if (*status != GP_OK)
			return true;
		if (s == NULL ||
		    !until_is_known(s, &until)) /* overwritten, or without a checkpoint */
			return false;
		for (size_t k = 0; k < s->stretches; k++) {
			const struct stretch *t = &s->stretch[k];
			struct found here = { i, k, before, t->earliest_ns <= at_ns };
			const bool is_stop =
				t->latest_ns > at_ns &&
				(uint64_t)t->latest_ns - (uint64_t)at_ns > GP_UNEVEN_NS;
			if (is_stop) {
				stop = here;
				*status = found_scan(r, at_ns, &stop, &last, events);
				return true;
			}
			last = here.is_any ? here : last;
		}
		before += s->events;
	}
	*status = found_scan(r, at_ns, &stop, &last, events);
	return true;
}
