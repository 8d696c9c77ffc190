/*
 * Groups of lives, numbered in a replay by stack, range, role and arena. After it, texts
 * are looked up, and groups with equal texts become one.
 */
#ifndef GP_LIFE_GROUPS_H
#define GP_LIFE_GROUPS_H

#include "../../read/file/recording.h"
#include "../../read/tables/row_table.h"
#include "../../read/tables/text_store.h"
#include "../groups/module_epochs.h"
#include "../phases/range_path.h"
#include "../roles/roles.h"

struct gp_life_groups {
	struct gp_recording *recording;
	struct gp_module_epochs epochs;
	struct gp_roles *roles;
	struct gp_range_paths *ranges;
	size_t most;		  /* groups with a stack and a range */
	size_t fold_at;		  /* from so many rows on, ranges with numbered names are joined */
	struct gp_row_table raws; /* struct gp_life_raw */
	uint32_t *row_of;	  /* the row of each number */
	size_t numbers, number_room;
	bool is_out_of_memory;
};

/* The number of the group of a live entry of that range, which counts as `of` on `device`. */
uint32_t gp_life_group_of(struct gp_life_groups *groups, const struct gp_live_entry *entry,
			  const struct gp_range_path *range, enum gp_lives_of of, unsigned device);
/*
 * The arena of a live entry, 0: not known. Segments get it from what is reported at their address.
 */
uint64_t gp_life_arena_of(const struct gp_live *live, const struct gp_live_entry *entry,
			  enum gp_lives_of of);
/* The number of the same group in that arena, for memory whose report came after its begin. */
uint32_t gp_life_group_in(struct gp_life_groups *groups, uint32_t number, uint64_t arena);
void gp_life_groups_release(struct gp_life_groups *groups);

/* Owns the texts of struct gp_lives, and finds each of its rows by a hash. */
struct gp_lives_texts {
	struct gp_text_store store;
	struct gp_row_table texts;  /* key: number in the store */
	struct gp_row_table frames; /* struct gp_lives_frame behind a key */
	struct gp_row_table stacks, groups;
	struct gp_row_table arenas; /* key: number of the arena */
};
/* The index of a text in gp_lives. 0 for "", and when memory runs out: see *is_fine. */
uint32_t gp_lives_text(struct gp_lives_texts *texts, const char *text, bool *is_fine);
/* Sets `text` when no further one is added. GP_E_MEMORY. */
enum gp_status gp_lives_texts_list(struct gp_lives *out);
void gp_lives_texts_free(struct gp_lives_texts *texts);
/*
 * After the replay: sets frames, stacks and groups of `out`. *into has the index of each
 * numbered group; the caller frees it. GP_E_MEMORY.
 */
enum gp_status gp_life_groups_answer(struct gp_life_groups *groups, struct gp_lives *out,
				     uint32_t **into);

#endif
