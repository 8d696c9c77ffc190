/* The captured spans of what is kept of a recording, by time. */
#ifndef GP_SCOPE_LIST_H
#define GP_SCOPE_LIST_H

#include "recording.h"

/* After a rewind: what was open at the checkpoint. GP_E_MEMORY. */
enum gp_status gp_scope_list_begin(struct gp_scope_list *list,
				   const struct gp_recording *recording);
/* A SCOPE record. */
enum gp_status gp_scope_list_see(struct gp_scope_list *list, const struct gp_recording *recording,
				 const struct gp_record *record);
/* At the end of the replay; the list stays, info->captured lies in it. */
void gp_scope_list_fill(struct gp_scope_list *list, const struct gp_recording *recording,
			struct gp_info *info);
void gp_scope_list_release(struct gp_scope_list *list);

#endif
