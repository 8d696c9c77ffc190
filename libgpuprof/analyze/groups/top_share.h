/* gp_top_build_with for a caller that builds other reports with the same roles. */
#ifndef GP_TOP_SHARE_H
#define GP_TOP_SHARE_H

#include "../roles/roles.h"

/* `share` NULL: the roles are of this report alone. */
enum gp_status gp_top_build_sharing(struct gp_recording *recording, int64_t from_ns, int64_t to_ns,
				    int64_t short_ns, unsigned with, struct gp_roles_share *share,
				    struct gp_top *out);

#endif
