/* The role of each allocation of a recording. */
#ifndef GP_ROLES_H
#define GP_ROLES_H

#include "../observe.h"

struct gp_roles;
/*
 * The recording keeps and owns them, and finds them at the first call: one replay, or two; rewinds.
 * Found again if the owner of the recording overwrote events meanwhile. Call gp_recording_info
 * before. GP_E_MEMORY.
 */
enum gp_status gp_roles_find(struct gp_recording *recording, struct gp_roles **out);
/*
 * The parts of it, for a replay with other analyses. Free the analysis's context before
 * gp_roles_keep, which takes the roles, or drops them after a failure.
 */
enum gp_status gp_roles_analysis(struct gp_recording *recording, struct gp_roles **roles,
				 struct gp_analysis *analysis);
void gp_roles_keep(struct gp_recording *recording, struct gp_roles *roles, enum gp_status status);
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
