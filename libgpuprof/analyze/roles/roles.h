/* The role of each allocation of a recording. */
#ifndef GP_ROLES_H
#define GP_ROLES_H

#include "../../read/file/recording.h"

struct gp_roles;
/*
 * One replay, or two; rewinds. Call gp_recording_info before, and gp_roles_close also after a
 * failure. GP_E_MEMORY.
 */
enum gp_status gp_roles_find(struct gp_recording *recording, struct gp_roles **out);
void gp_roles_close(struct gp_roles *roles);
/*
 * Roles for several reports, one after the other; zeroed: none were found yet. They are found
 * again if the owner of the recording overwrote events meanwhile. End with gp_roles_unshare.
 */
struct gp_roles_share {
	struct gp_roles *roles;
	unsigned overtakes;
};
/* As gp_roles_find; the roles belong to `share`. NULL in place of it: to the caller. */
enum gp_status gp_roles_find_shared(struct gp_recording *recording, struct gp_roles_share *share,
				    struct gp_roles **out);
void gp_roles_unshare(struct gp_roles_share *share);
enum gp_roles_when { GP_ROLES_NOW, GP_ROLES_MADE, GP_ROLES_SEGMENT /* now, and it is one */ };
/*
 * 1 + the number of the rule that decides for an allocation: `e` as it is live, or was; NULL: of
 * memory that no event accounts for. A replay of the same recording is under way. `roles` NULL: 0,
 * they are not needed.
 */
uint8_t gp_roles_rule(struct gp_roles *roles, const struct gp_live_entry *e,
		      enum gp_roles_when when);
/*
 * Returns the next live block whose role has changed since its allocation; NULL: no further one.
 * `*place`: 0 when the replay begins.
 */
const struct gp_live_entry *gp_roles_changed(const struct gp_roles *roles, size_t *place);
/* The entry of an ALLOC or BLOCK_ALLOC, as far as roles need it. */
struct gp_live_entry gp_roles_entry(const struct gp_record *made);
/* GP_E_MEMORY: memory ran out, so rules are not reliable. */
enum gp_status gp_roles_status(const struct gp_roles *roles);

#endif
