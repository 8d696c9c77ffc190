/*
 * Several analyses in one replay. Reading and applying an event costs more than most analyses of
 * it, so those that a report needs look at the same replay.
 */
#ifndef GP_OBSERVE_H
#define GP_OBSERVE_H

#include "../read/file/recording.h"

/*
 * What an analysis does in a replay. Each function may be NULL. GP_END from `before` or `after`: it
 * needs no further event, so `end` is called then. Other failures end the replay for all.
 */
struct gp_observer {
	/* The state is that of the replay's begin. */
	enum gp_status (*begin)(void *context);
	/* The state is that before the event; a checkpoint may have corrected it. */
	enum gp_status (*before)(void *context, uint32_t thread, const struct gp_record *record);
	enum gp_status (*after)(void *context, uint32_t thread, const struct gp_record *record);
	/* After the last event, or after the GP_END above. */
	enum gp_status (*end)(void *context);
};

/* Devices whose curves moved since the analysis last took them, one bit each; and the host's. */
struct gp_moved {
	uint64_t devices;
	bool has_host;
};

/* An analysis under way. Its owner fills in all but the last part. */
struct gp_analysis {
	void *context;
	struct gp_observer observer;
	/* Before the replay: may replay itself. NULL: nothing to do. */
	enum gp_status (*prepare)(void *context, const struct gp_info *info);
	/*
	 * After the replay: makes the answer. One that replays itself comes after those that read
	 * the state or the names of the end.
	 */
	enum gp_status (*answer)(void *context, const struct gp_info *info);
	/* After each attempt, also a failed one: drops all but the answer. */
	void (*settle)(void *context);
	/* Drops the answer, since the owner of the recording overwrote a part of it. */
	void (*forget)(void *context);
	/* Where to add the moved devices; NULL: the analysis does not need them. */
	struct gp_moved *moved;
	bool is_over; /* it needs no further event */
};

/*
 * Runs the analyses, at most 8, in one replay. Repeats it if the recording's owner overwrote a part
 * of it meanwhile. After a failure no answer is valid; each is forgotten. GP_E_ARGUMENT: too many.
 */
enum gp_status gp_analyse(struct gp_recording *recording, struct gp_analysis *analysis,
			  size_t analyses);
/* The same without a repetition. */
enum gp_status gp_analyse_once(struct gp_recording *recording, struct gp_analysis *analysis,
			       size_t analyses);

/* Returns the devices, and forgets them. */
static inline uint64_t gp_moved_take(struct gp_moved *moved)
{
	const uint64_t devices = moved->devices;
	moved->devices = 0;
	return devices;
}

static inline bool gp_moved_take_host(struct gp_moved *moved)
{
	const bool has_host = moved->has_host;
	moved->has_host = false;
	return has_host;
}

#endif
