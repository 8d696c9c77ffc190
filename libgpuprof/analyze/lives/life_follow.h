/*
 * Follows the live entries of a replay: which curve counts how much of each entry, and since when.
 * Each change ends a life or begins one, so sums of lives are the curves.
 */
#ifndef GP_LIFE_FOLLOW_H
#define GP_LIFE_FOLLOW_H

#include "../../state/looks.h"
#include "life_groups.h"
#include "life_store.h"

struct gp_life_follow {
	struct gp_recording *recording;
	struct gp_life_groups *groups;
	struct gp_life_store *store;
	const struct gp_lives_sink *sink; /* if it takes lives, the store gets none */
	enum gp_status refused;		  /* by the sink */
	uint64_t now_ns;		  /* set by the caller; does not descend */
	uint64_t now_order;		  /* of the event, or of the one after a checkpoint */
	struct gp_life_slot *slot;
	size_t slots;	  /* room */
	uint32_t *listed; /* slots that may have changed */
	size_t listeds, list_room;
	struct gp_row_table physical; /* struct life_physical */
	struct gp_row_table before;   /* lives before a checkpoint corrected the state */
	struct gp_looks looks;
	size_t changes; /* place in gp_roles_changed */
	bool is_out_of_memory;
};

/*
 * Call it with the state of the replay before its first event, and where gp_recording_fetch may
 * have replaced the state. True: the state was loaded, and lives ended or began with it.
 */
bool gp_life_follow_load(struct gp_life_follow *follow);
/* After each event. */
void gp_life_follow_event(struct gp_life_follow *follow);
/* After the last event: adds what is still live. */
void gp_life_follow_end(struct gp_life_follow *follow);
void gp_life_follow_release(struct gp_life_follow *follow);

#endif
