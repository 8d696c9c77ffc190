/* Sorts again if modules were added since the last search. */
#include "module_map.h"

#include <stdlib.h>
#include <string.h>

#include "../tables/array.h"
#include "../tables/row_rank.h"

static bool module_map_is_same(const struct gp_mapped_module *a, const struct gp_mapped_module *b)
{
	return a->is.base == b->is.base && a->is.bytes == b->is.bytes &&
	       a->build_id.bytes == b->build_id.bytes &&
	       memcmp(a->build_id.byte, b->build_id.byte, a->build_id.bytes) == 0 &&
	       strcmp(a->is.path, b->is.path) == 0;
}

/*
 * Without a build id, a path identifies its names. They are correct only if the file has not
 * changed since the first of its modules was mapped. False: out of memory.
 */
static bool share_time(struct gp_module_map *map, struct gp_mapped_module *added)
{
	uint64_t mapped_ns = added->is.mapped_unix_ns;
	if (added->build_id.bytes != 0 || mapped_ns == 0)
		return true;
	const uint32_t hash = (uint32_t)gp_hash_bytes(added->is.path, strlen(added->is.path));
	struct gp_module_time *time = map->times.row;
	for (uint32_t step = 0, i; (i = gp_row_next(&map->times, hash, &step)) != 0;) {
		if (strcmp(time[i - 1].path, added->is.path) != 0)
			continue;
		if (mapped_ns < time[i - 1].first_unix_ns)
			time[i - 1].first_unix_ns = mapped_ns;
		added->times = i;
		return true;
	}
	time = gp_row_add(&map->times, sizeof *time, hash);
	if (time == NULL)
		return false;
	*time = (struct gp_module_time){ added->is.path, mapped_ns };
	added->times = map->times.rows;
	return true;
}

uint64_t gp_module_map_ns(const struct gp_module_map *map, size_t index)
{
	const struct gp_mapped_module *m = &map->module[index];
	const struct gp_module_time *time = map->times.row;
	return m->times != 0 ? time[m->times - 1].first_unix_ns : m->is.mapped_unix_ns;
}

bool gp_module_map_add(struct gp_module_map *map, const struct gp_module *module)
{
	struct gp_mapped_module added = { .is = *module };
	if (module->bytes == 0 || module->base + module->bytes < module->base)
		return false;
	added.is.build_id = NULL;
	added.build_id.bytes =
		module->build_id_bytes < GP_BUILD_ID_MAX ? module->build_id_bytes : GP_BUILD_ID_MAX;
	if (added.build_id.bytes != 0)
		memcpy(added.build_id.byte, module->build_id, added.build_id.bytes);
	if (!gp_array_reach(&map->of_number, &map->numbers, module->number, sizeof *map->of_number))
		return false;
	uint32_t *known = &map->of_number[module->number];
	if (module->number != 0 && *known != 0 &&
	    module_map_is_same(&map->module[*known - 1], &added)) {
		map->module[*known - 1].is.from = module->from;
		map->module[*known - 1].is.until = module->until;
		return true;
	}
	if (!share_time(map, &added) ||
	    !gp_array_reserve(&map->module, &map->room, map->count, 1, sizeof *map->module))
		return false;
	map->module[map->count++] = added;
	*known = (uint32_t)map->count;
	return true;
}

void gp_module_map_release(struct gp_module_map *map)
{
	gp_row_table_release(&map->times);
	free(map->of_number);
	free(map->place);
	free(map->module);
	*map = (struct gp_module_map){ 0 };
}

static bool sort(struct gp_module_map *map)
{
	if (map->places == map->count)
		return true;
	struct gp_module_place *place = realloc(map->place, map->count * sizeof *place);
	if (place == NULL)
		return false;
	for (size_t i = 0; i < map->count; i++) {
		const struct gp_module *m = &map->module[i].is;
		place[i] = (struct gp_module_place){ m->base, m->base + m->bytes, i };
	}
	qsort(place, map->count, sizeof *place, gp_row_order);
	for (size_t i = 1; i < map->count; i++) {
		if (place[i].reach < place[i - 1].reach)
			place[i].reach = place[i - 1].reach;
	}
	map->place = place;
	map->places = map->count;
	return true;
}

/* How many modules over one address a search examines; after that the answer is GP_MAP_SEVERAL. */
#define CANDIDATES_MOST 4096u

static bool was_mapped(const struct gp_module *m, uint64_t address, uint64_t at)
{
	bool is_then = at == GP_ANY_TIME || (m->from <= at && at <= m->until);
	return is_then && address >= m->base && address - m->base < m->bytes;
}

static size_t places_up_to(const struct gp_module_map *map, uint64_t address)
{
	return gp_row_rank(map->place, map->places, sizeof *map->place, address);
}

bool gp_module_map_visit(struct gp_module_map *map, uint64_t address,
			 bool (*visit)(void *context, size_t index), void *context, bool *is_whole)
{
	*is_whole = true;
	if (map->count != 0 && !sort(map))
		return false;
	size_t end = places_up_to(map, address);
	for (size_t k = end; k > 0 && map->place[k - 1].reach > address && *is_whole; k--) {
		size_t index = map->place[k - 1].index;
		*is_whole = end - k < CANDIDATES_MOST &&
			    (!was_mapped(&map->module[index].is, address, GP_ANY_TIME) ||
			     visit(context, index));
	}
	return true;
}

enum gp_map_answer gp_module_map_find(struct gp_module_map *map, uint64_t address, uint64_t at,
				      size_t *index)
{
	if (map->count == 0 || !sort(map))
		return GP_MAP_NONE;
	size_t low = places_up_to(map, address), found = 0, end = low;
	for (; low > 0 && map->place[low - 1].reach > address; low--) {
		size_t candidate = map->place[low - 1].index;
		if (found > 1 || end - low > CANDIDATES_MOST)
			return GP_MAP_SEVERAL;
		if (!was_mapped(&map->module[candidate].is, address, at))
			continue;
		/* the same module at two times is one answer */
		if (found == 1 && module_map_is_same(&map->module[candidate], &map->module[*index]))
			continue;
		*index = candidate;
		found++;
	}
	return found == 0 ? GP_MAP_NONE : found == 1 ? GP_MAP_ONE : GP_MAP_SEVERAL;
}
