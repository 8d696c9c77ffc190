/* Sums by role and module, with numbered modules of one class as one. */
#ifndef GP_ROLE_MODULES_H
#define GP_ROLE_MODULES_H

#include "../../gpuprof.h"
#include "../../read/tables/row_table.h"

struct gp_role_modules {
	struct gp_recording *recording;
	struct gp_row_table sums; /* by role and module; the rest starts as zeros */
	bool is_out_of_memory;
};
/* A stack without a module adds nothing. */
void gp_role_modules_add(struct gp_role_modules *modules, enum gp_memory_role role, uint32_t stack,
			 uint64_t bytes);
/* Fills `out->module`, and releases the sums. GP_E_MEMORY. */
enum gp_status gp_role_modules_list(struct gp_role_modules *modules, struct gp_role_makers *out);

#endif
