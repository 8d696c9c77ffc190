/* The owner of an allocation, by its stack; each stack is looked up once. */
#ifndef GP_IDLE_OWNER_H
#define GP_IDLE_OWNER_H

#include "../../gpuprof.h"
#include "../../read/tables/row_table.h"

struct gp_idle_owner_table {
	struct gp_recording *recording;
	struct gp_row_table rows;
};

/* `at_ns`: a time at which that stack allocated. False: out of memory. */
bool gp_idle_owner_find(struct gp_idle_owner_table *table, uint32_t stack, uint8_t space,
			int64_t at_ns, struct gp_idle_holder *out);
void gp_idle_owner_release(struct gp_idle_owner_table *table);

#endif
