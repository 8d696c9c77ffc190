/* Sorted again when modules were added since the last search. */
#include "module_map.h"

#include <stdlib.h>
#include <string.h>

#include "../format/seeded_hash.h"
#include "row_rank.h"

static bool is_same(const struct gp_mapped_module *a, const struct gp_mapped_module *b)
{
	return a->is.base == b->is.base && a->is.bytes == b->is.bytes &&
	       a->is.has_bias == b->is.has_bias && a->is.bias == b->is.bias &&
	       a->build_id.bytes == b->build_id.bytes &&
	       memcmp(a->build_id.byte, b->build_id.byte, a->build_id.bytes) == 0 &&
	       strcmp(a->is.path, b->is.path) == 0;
}

/* Of all that is_same compares. */
static size_t *module_chain(const struct gp_module_map *map, const struct gp_mapped_module *m)
{
	const struct gp_module *is = &m->is;
	uint64_t hash = gp_hash_bytes(is->path, strlen(is->path));
	hash = gp_hash_number(hash) ^
	       gp_hash_bytes((const char *)m->build_id.byte, m->build_id.bytes);
	hash = gp_hash_number(hash ^ is->base);
	hash = gp_hash_number(hash ^ is->bytes);
	hash = gp_hash_number(hash ^ is->bias);
	return &map->by_module[hash & (map->hashes - 1)];
}

static size_t *path_chain(const struct gp_module_map *map, const char *path)
{
	return &map->by_path[gp_hash_bytes(path, strlen(path)) & (map->hashes - 1)];
}

static bool has_chains(struct gp_module_map *map)
{
	size_t hashes = map->hashes ? map->hashes * 2 : 128;
	if (map->count < map->hashes)
		return true;
	size_t *by_module = calloc(hashes, sizeof *by_module);
	size_t *by_path = calloc(hashes, sizeof *by_path);
	if (by_module == NULL || by_path == NULL) {
		free(by_module);
		free(by_path);
		return false;
	}
	free(map->by_module);
	free(map->by_path);
	map->by_module = by_module;
	map->by_path = by_path;
	map->hashes = hashes;
	for (size_t i = 0; i < map->count; i++) {
		size_t *chain = module_chain(map, &map->module[i]);
		map->module[i].same = *chain;
		*chain = i + 1;
	}
	for (size_t i = 0; i < map->times; i++) {
		size_t *chain = path_chain(map, map->time[i].path);
		map->time[i].same = *chain;
		*chain = i + 1;
	}
	return true;
}

/*
 * Without build ids, names are kept by path alone: they are right only where the file has not
 * changed since the first of these modules was mapped. False: no memory.
 */
static bool share_time(struct gp_module_map *map, struct gp_mapped_module *added)
{
	uint64_t mapped_ns = added->is.mapped_unix_ns;
	if (added->build_id.bytes != 0 || mapped_ns == 0)
		return true;
	size_t *chain = path_chain(map, added->is.path);
	for (size_t i = *chain; i != 0; i = map->time[i - 1].same) {
		struct gp_module_time *time = &map->time[i - 1];
		if (strcmp(time->path, added->is.path) != 0)
			continue;
		if (mapped_ns < time->first_unix_ns)
			time->first_unix_ns = mapped_ns;
		added->times = i;
		return true;
	}
	if (map->times == map->time_room) {
		size_t room = map->time_room ? map->time_room * 2 : 64;
		struct gp_module_time *grown = realloc(map->time, room * sizeof *grown);
		if (grown == NULL)
			return false;
		map->time = grown;
		map->time_room = room;
	}
	map->time[map->times] = (struct gp_module_time){ added->is.path, mapped_ns, *chain };
	*chain = added->times = ++map->times;
	return true;
}

uint64_t gp_module_map_ns(const struct gp_module_map *map, size_t index)
{
	const struct gp_mapped_module *m = &map->module[index];
	return m->times != 0 ? map->time[m->times - 1].first_unix_ns : m->is.mapped_unix_ns;
}

/* Earlier stays of one module that are compared with a new one: a job reloads few. */
#define STAYS_MOST 64u

static bool extend_stay(struct gp_module_map *map, const struct gp_mapped_module *added)
{
	unsigned stays = 0;
	size_t i = *module_chain(map, added);
	for (; i != 0 && stays < STAYS_MOST; i = map->module[i - 1].same) {
		struct gp_module *known = &map->module[i - 1].is;
		if (!is_same(&map->module[i - 1], added))
			continue;
		stays++;
		/* between two stays another one may have been there */
		if (known->from > added->is.until || added->is.from > known->until)
			continue;
		known->from = known->from < added->is.from ? known->from : added->is.from;
		known->until = known->until > added->is.until ? known->until : added->is.until;
		return true;
	}
	return false;
}

bool gp_module_map_add(struct gp_module_map *map, const struct gp_module *module)
{
	struct gp_mapped_module added = { .is = *module };
	if (module->bytes == 0 || module->base + module->bytes < module->base || !has_chains(map))
		return false;
	added.is.build_id = NULL;
	if (!module->has_bias)
		added.is.bias = 0;
	added.build_id.bytes =
		module->build_id_bytes < GP_BUILD_ID_MAX ? module->build_id_bytes : GP_BUILD_ID_MAX;
	if (added.build_id.bytes != 0)
		memcpy(added.build_id.byte, module->build_id, added.build_id.bytes);
	if (!share_time(map, &added))
		return false;
	if (extend_stay(map, &added))
		return true;
	if (map->count == map->room) {
		size_t room = map->room ? map->room * 2 : 64;
		struct gp_mapped_module *grown = realloc(map->module, room * sizeof *grown);
		if (grown == NULL)
			return false;
		map->module = grown;
		map->room = room;
	}
	size_t *chain = module_chain(map, &added);
	added.same = *chain;
	map->module[map->count++] = added;
	*chain = map->count;
	return true;
}

void gp_module_map_release(struct gp_module_map *map)
{
	free(map->by_module);
	free(map->by_path);
	free(map->time);
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

/* Modules over one address that are looked at; behind that the answer is GP_MAP_SEVERAL. */
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
		/* the same one at two times is one answer */
		if (found == 1 && is_same(&map->module[candidate], &map->module[*index]))
			continue;
		*index = candidate;
		found++;
	}
	return found == 0 ? GP_MAP_NONE : found == 1 ? GP_MAP_ONE : GP_MAP_SEVERAL;
}
