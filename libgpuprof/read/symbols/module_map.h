/*
 * Modules by address and time. If two different modules were mapped there and the time does not
 * decide, neither is returned.
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
	struct gp_module is; /* the caller owns its path; mapped_unix_ns: use gp_module_map_ns */
	struct gp_build_id build_id;
	size_t times; /* 1 + index of its shared time in the map; 0: none */
};
/* The first time that a path without a build id was mapped. */
struct gp_module_time {
	const char *path;
	uint64_t first_unix_ns;
};
struct gp_module_place {
	uint64_t base, reach; /* reach: the highest end of this place and all before it */
	size_t index;
};
struct gp_module_map {
	struct gp_mapped_module *module;
	size_t count, room;
	struct gp_module_place *place; /* sorted by base */
	size_t places;
	uint32_t *of_number; /* 1 + index of the module with this number; 0: none */
	size_t numbers;
	struct gp_row_table times; /* of struct gp_module_time, by path */
};

enum gp_map_answer { GP_MAP_NONE, GP_MAP_ONE, GP_MAP_SEVERAL };

bool gp_module_map_add(struct gp_module_map *map, const struct gp_module *module);
void gp_module_map_release(struct gp_module_map *map);
/* The time since which the file at its path must be unchanged; 0: unknown. */
uint64_t gp_module_map_ns(const struct gp_module_map *map, size_t index);
/*
 * Visits each module that was ever mapped at `address`, until `visit` returns false. After 4096
 * modules it stops with *is_whole false. False: out of memory.
 */
bool gp_module_map_visit(struct gp_module_map *map, uint64_t address,
			 bool (*visit)(void *context, size_t index), void *context, bool *is_whole);
enum gp_map_answer gp_module_map_find(struct gp_module_map *map, uint64_t address, uint64_t at,
				      size_t *index);

#endif
