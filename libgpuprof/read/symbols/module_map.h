/*
 * Modules by address and time. Where two different ones were mapped and the time does not tell
 * which, neither is the answer.
 */
#ifndef GP_MODULE_MAP_H
#define GP_MODULE_MAP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "../tables/row_table.h"
#include "module_file.h"
#include "symbolize.h"

struct gp_mapped_module {
	struct gp_module is; /* its path belongs to the caller; mapped_unix_ns: gp_module_map_ns */
	struct gp_build_id build_id;
	size_t times; /* 1 + which of the map's times it shares; 0: none */
};
/* Since when a path without a build id was mapped. */
struct gp_module_time {
	const char *path;
	uint64_t first_unix_ns;
};
struct gp_module_place {
	uint64_t base, reach; /* reach: the highest end of this and all before it */
	size_t index;
};
struct gp_module_map {
	struct gp_mapped_module *module;
	size_t count, room;
	struct gp_module_place *place; /* sorted by base */
	size_t places;
	uint32_t *of_number; /* 1 + which module has it; 0: none */
	size_t numbers;
	struct gp_row_table times; /* of struct gp_module_time, by path */
};

enum gp_map_answer { GP_MAP_NONE, GP_MAP_ONE, GP_MAP_SEVERAL };

bool gp_module_map_add(struct gp_module_map *map, const struct gp_module *module);
void gp_module_map_release(struct gp_module_map *map);
/* Since when the file at its path must be unchanged; 0 not known. */
uint64_t gp_module_map_ns(const struct gp_module_map *map, size_t index);
/*
 * Each module that was ever mapped at `address`, until `visit` answers false or 4096 were looked
 * at: then *is_whole is false. False: no memory.
 */
bool gp_module_map_visit(struct gp_module_map *map, uint64_t address,
			 bool (*visit)(void *context, size_t index), void *context, bool *is_whole);
enum gp_map_answer gp_module_map_find(struct gp_module_map *map, uint64_t address, uint64_t at,
				      size_t *index);

#endif
