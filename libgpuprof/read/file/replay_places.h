/*
 * Places between the checkpoints of a recording, in memory: a replay to a moment begins at the
 * place before it. A question adds the places up to its moment, so all questions together take one
 * replay. The bytes of places are bounded; a replay from a place has the state and the events of
 * one from the checkpoint.
 */
#ifndef GP_REPLAY_PLACES_H
#define GP_REPLAY_PLACES_H

#include "recording.h"

/* 25 ms of replay. At the bound of memory, every second place is dropped. */
#define GP_PLACE_EVENTS 65536u
#define GP_PLACES_BYTES (64u << 20)

/*
 * Between these two, replays use and add places. It has no effect in a recording whose owner may
 * overwrite it. False: out of memory.
 */
bool gp_places_begin(struct gp_recording *recording);
void gp_places_end(struct gp_recording *recording);

/*
 * Adds places of the segment up to `order`; UINT64_MAX: up to its end. Leaves the replay anywhere.
 * GP_OK also if there can be none.
 */
enum gp_status gp_places_add(struct gp_recording *recording, size_t segment, uint64_t order);
/*
 * The number of events from the beginning of the segment to the last one that is not later than
 * `at_ns`, as gp_memory_mark_time finds it; 0: none. False: no places are in use there.
 */
bool gp_places_find(struct gp_recording *recording, size_t segment, int64_t at_ns, uint64_t *events,
		    enum gp_status *status);

/* The last events of a replay. */
struct gp_place_seen {
	int64_t last_ns;   /* time of the last event */
	int64_t memory_ns; /* and of the last MEMORY event */
	bool has_memory;   /* there was one */
};
/*
 * After gp_recording_seek to the segment: goes on to the last place that has at most `events`
 * events, all before `order`, and sets `seen`. Does nothing without such a place.
 */
enum gp_status gp_places_jump(struct gp_recording *recording, size_t segment, uint64_t events,
			      uint64_t order, struct gp_place_seen *seen);

#endif
