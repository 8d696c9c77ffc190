/*
 * The loader's look-up without the loader: dl_iterate_phdr -> elf_tables.h -> symbol. Holds only
 * dl_iterate_phdr's own lock, which no constructor holds. Must not need the recorder.
 */
#include "mapped_symbol.h"

#include <errno.h>
#include <link.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include "../../libgpuprof/record/process/fork_gate.h"
#include "elf_tables.h"

struct search {
	const char *prefix;
	const char *symbol;
	char *path;
	size_t path_bytes;
	enum gp_elf_kind kind;
	uint32_t hash;
	size_t bytes;
	void *found;
};

struct part {
	const void *anchor, *at;
	size_t bytes;
	enum gp_mapped_part part;
	bool holds;
};

/* ---- one symbol ---- */

static void keep_path(struct search *search, const char *path)
{
	size_t bytes = path ? strlen(path) + 1 : 0;
	if (!search->path || search->path_bytes == 0)
		return;
	search->path[0] = '\0';
	if (bytes && bytes <= search->path_bytes)
		memcpy(search->path, path, bytes);
}

static bool begins_with(const char *text, const char *prefix)
{
	for (; *prefix && *text == *prefix; text++)
		prefix++;
	return !*prefix;
}

static int visit(struct dl_phdr_info *object, size_t bytes, void *context)
{
	(void)bytes;
	struct search *search = context;
	struct gp_elf_tables tables;
	if (search->prefix && !begins_with(gp_elf_file_name(object), search->prefix))
		return 0;
	if (gp_elf_is_mapped(object, (const void *)(uintptr_t)&gp_mapped_symbol, 1) ||
	    !gp_elf_tables_read(object, &tables))
		return 0;
	search->found = gp_elf_find_symbol(&tables, search->kind, search->symbol, search->hash,
					   &search->bytes);
	if (search->found)
		keep_path(search, object->dlpi_name);
	return search->found != NULL;
}

/* ---- libc's dl_iterate_phdr ---- */

typedef int look_function(struct dl_phdr_info *, size_t, void *);
typedef int iterate_function(look_function *, void *);

/* Describes the object without bounds. Only for libc, whose tables are sound. */
static void *find_unbounded(const struct link_map *map, const char *symbol)
{
	const ElfW(Phdr) parts[] = {
		{ .p_type = PT_LOAD, .p_memsz = INTPTR_MAX },
		{ .p_type = PT_DYNAMIC, .p_vaddr = (uintptr_t)map->l_ld - map->l_addr },
	};
	const struct dl_phdr_info object = { .dlpi_addr = map->l_addr,
					     .dlpi_name = map->l_name,
					     .dlpi_phdr = parts,
					     .dlpi_phnum = sizeof parts / sizeof *parts };
	struct gp_elf_tables tables;
	if (!begins_with(gp_elf_file_name(&object), "libc.so") ||
	    !gp_elf_tables_read(&object, &tables))
		return NULL;
	return gp_elf_find_symbol(&tables, GP_ELF_FUNCTION, symbol, gp_elf_hash(symbol), NULL);
}

/*
 * libc is among the objects that the program starts with, and the first look-up comes before other
 * threads. So the loader's list up to libc does not change.
 */
static iterate_function *find_iterate(void)
{
	void *found = NULL;
	for (const struct link_map *map = _r_debug.r_map; map && !found; map = map->l_next)
		found = find_unbounded(map, "dl_iterate_phdr");
	return found ? (iterate_function *)found : dl_iterate_phdr;
}

/*
 * ThreadSanitizer intercepts dl_iterate_phdr, strlen and other libc functions. Its runtime looks
 * the originals up with dlsym, and until then these functions jump to NULL.
 */
int gp_mapped_walk(look_function *look, void *context)
{
	static iterate_function *_Atomic iterate;
	uint64_t signals;
	/* relaxed: all threads find the same value */
	if (!atomic_load_explicit(&iterate, memory_order_relaxed))
		atomic_store_explicit(&iterate, find_iterate(), memory_order_relaxed);
	bool is_guarded = gp_walks_begin(&signals);
	int found = atomic_load_explicit(&iterate, memory_order_relaxed)(look, context);
	if (is_guarded)
		gp_walks_end(&signals);
	return found;
}

static void *search_objects(struct search *search)
{
	int saved = errno; /* the wait at the gate changes errno, too */
	search->hash = gp_elf_hash(search->symbol);
	gp_mapped_walk(visit, search);
	errno = saved;
	return search->found;
}

void *gp_mapped_symbol(const char *prefix, const char *symbol, char *path, size_t path_bytes)
{
	struct search search = {
		.prefix = prefix, .symbol = symbol, .path = path, .path_bytes = path_bytes
	};
	return search_objects(&search);
}

void *gp_mapped_data(const char *prefix, const char *symbol, size_t *bytes)
{
	struct search search = { .prefix = prefix, .symbol = symbol, .kind = GP_ELF_DATA };
	void *found = search_objects(&search);
	*bytes = search.bytes;
	return found;
}

void *gp_mapped_any(const char *symbol)
{
	struct search search = { .symbol = symbol, .kind = GP_ELF_FUNCTION_OR_DATA };
	return search_objects(&search);
}

static bool mapped_symbol_is_of(const ElfW(Phdr) * p, enum gp_mapped_part part)
{
	switch (part) {
	case GP_MAPPED_ANY:
		return p->p_type == PT_LOAD;
	case GP_MAPPED_CODE:
		return p->p_type == PT_LOAD && p->p_flags & PF_X;
	case GP_MAPPED_CONSTANT:
		return p->p_type == PT_GNU_RELRO || (p->p_type == PT_LOAD && !(p->p_flags & PF_W));
	}
	return false;
}

static int look_for_part(struct dl_phdr_info *object, size_t size, void *context)
{
	(void)size;
	struct part *sought = context;
	uintptr_t from = (uintptr_t)sought->at - object->dlpi_addr;
	enum gp_mapped_part part = sought->part;
	bool has_relro = false;
	if (!gp_elf_is_mapped(object, sought->anchor, 1))
		return 0;
	for (int i = 0; i < object->dlpi_phnum; i++)
		has_relro |= object->dlpi_phdr[i].p_type == PT_GNU_RELRO;
	if (part == GP_MAPPED_CONSTANT && !has_relro)
		part = GP_MAPPED_ANY;
	for (int i = 0; i < object->dlpi_phnum; i++) {
		const ElfW(Phdr) *p = &object->dlpi_phdr[i];
		sought->holds |= mapped_symbol_is_of(p, part) && from >= p->p_vaddr &&
				 from - p->p_vaddr < p->p_memsz &&
				 sought->bytes <= p->p_memsz - (from - p->p_vaddr);
	}
	return 1;
}

bool gp_mapped_is_part(const void *anchor, enum gp_mapped_part part, const void *at, size_t bytes)
{
	int saved = errno;
	struct part sought = { .anchor = anchor, .at = at, .bytes = bytes, .part = part };
	gp_mapped_walk(look_for_part, &sought);
	errno = saved;
	return sought.holds;
}
