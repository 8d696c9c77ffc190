/* Sorted again when modules were added since the last search. */
#include "module_map.h"

#include <stdlib.h>
#include <string.h>

static bool is_same(const struct gp_mapped_module *a, const struct gp_mapped_module *b)
{
	return a->is.base == b->is.base && a->is.bytes == b->is.bytes &&
	       a->is.has_bias == b->is.has_bias && a->is.bias == b->is.bias &&
	       a->build_id.bytes == b->build_id.bytes &&
	       memcmp(a->build_id.byte, b->build_id.byte, a->build_id.bytes) == 0 &&
	       strcmp(a->is.path, b->is.path) == 0;
}

/*
 * Without build ids, names are kept by path alone: they are right only where the file has not
 * changed since the first of these modules was mapped.
 */
static void share_time(struct gp_module_map *map, struct gp_mapped_module *added)
{
	uint64_t *first = &added->is.mapped_unix_ns;
	if (added->build_id.bytes != 0 || *first == 0)
		return;
	for (size_t i = 0; i < map->count; i++) {
		struct gp_module *m = &map->module[i].is;
		if (map->module[i].build_id.bytes != 0 || m->mapped_unix_ns == 0 ||
		    strcmp(m->path, added->is.path) != 0)
			continue;
		/* those before it have agreed already */
		if (m->mapped_unix_ns < *first)
			*first = m->mapped_unix_ns;
		else
			m->mapped_unix_ns = *first;
	}
}

bool gp_module_map_add(struct gp_module_map *map, const struct gp_module *module)
{
	struct gp_mapped_module added = { .is = *module };
	if (module->bytes == 0 || module->base + module->bytes < module->base)
		return false;
	added.is.build_id = NULL;
	if (!module->has_bias)
		added.is.bias = 0;
	added.build_id.bytes =
		module->build_id_bytes < GP_BUILD_ID_MAX ? module->build_id_bytes : GP_BUILD_ID_MAX;
	if (added.build_id.bytes != 0)
		memcpy(added.build_id.byte, module->build_id, added.build_id.bytes);
	share_time(map, &added);
	for (size_t i = 0; i < map->count; i++) {
		struct gp_module *known = &map->module[i].is;
		/* between two stays another one may have been there */
		bool is_one_stay = known->from <= module->until && module->from <= known->until;
		if (is_one_stay && is_same(&map->module[i], &added)) {
			known->from = known->from < module->from ? known->from : module->from;
			known->until = known->until > module->until ? known->until : module->until;
			return true;
		}
	}
	if (map->count == map->room) {
		size_t room = map->room ? map->room * 2 : 64;
		struct gp_mapped_module *grown = realloc(map->module, room * sizeof *grown);
		if (grown == NULL)
			return false;
		map->module = grown;
		map->room = room;
	}
	map->module[map->count++] = added;
	return true;
}

void gp_module_map_release(struct gp_module_map *map)
{
	free(map->place);
	free(map->module);
	*map = (struct gp_module_map){ 0 };
}

static int by_base(const void *left, const void *right)
{
	const struct gp_module_place *a = left, *b = right;
	return a->base != b->base ? (a->base < b->base ? -1 : 1) : 0;
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
	qsort(place, map->count, sizeof *place, by_base);
	for (size_t i = 1; i < map->count; i++) {
		if (place[i].reach < place[i - 1].reach)
			place[i].reach = place[i - 1].reach;
	}
	map->place = place;
	map->places = map->count;
	return true;
}

static bool was_mapped(const struct gp_module *m, uint64_t address, uint64_t at)
{
	bool is_then = at == GP_ANY_TIME || (m->from <= at && at <= m->until);
	return is_then && address >= m->base && address - m->base < m->bytes;
}

static size_t places_up_to(const struct gp_module_map *map, uint64_t address)
{
	size_t low = 0, high = map->places;
	while (low < high) {
		size_t middle = low + (high - low) / 2;
		if (map->place[middle].base <= address)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

bool gp_module_map_visit(struct gp_module_map *map, uint64_t address,
			 void (*visit)(void *context, size_t index), void *context)
{
	if (map->count != 0 && !sort(map))
		return false;
	for (size_t k = places_up_to(map, address); k > 0 && map->place[k - 1].reach > address; k--)
		if (was_mapped(&map->module[map->place[k - 1].index].is, address, GP_ANY_TIME))
			visit(context, map->place[k - 1].index);
	return true;
}

enum gp_map_answer gp_module_map_find(struct gp_module_map *map, uint64_t address, uint64_t at,
				      size_t *index)
{
	if (map->count == 0 || !sort(map))
		return GP_MAP_NONE;
	size_t low = places_up_to(map, address), found = 0;
	for (; low > 0 && map->place[low - 1].reach > address; low--) {
		size_t candidate = map->place[low - 1].index;
		if (!was_mapped(&map->module[candidate].is, address, at))
			continue;
		/* the same one at two times is one answer */
		if (found == 1 && is_same(&map->module[candidate], &map->module[*index]))
			continue;
		*index = candidate;
		found++;
	}
	return found == 0 ? GP_MAP_NONE : found == 1 ? GP_MAP_ONE : GP_MAP_SEVERAL;
}
