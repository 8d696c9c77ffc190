/* The captured intervals in the kept part of a recording, by time. */
#ifndef GP_SCOPE_LIST_H
#define GP_SCOPE_LIST_H

#include "recording.h"

/* After a rewind: adds the interval that was open at the checkpoint. GP_E_MEMORY. */
enum gp_status gp_scope_list_begin(struct gp_scope_list *list,
				   const struct gp_recording *recording);
/* Adds a SCOPE record. */
enum gp_status gp_scope_list_see(struct gp_scope_list *list, const struct gp_recording *recording,
				 const struct gp_record *record);
/* At the end of the replay. The caller keeps the list: info->captured points into it. */
void gp_scope_list_fill(struct gp_scope_list *list, const struct gp_recording *recording,
			struct gp_info *info);
void gp_scope_list_release(struct gp_scope_list *list);

#endif
