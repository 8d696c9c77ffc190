/*
 * Scopes of the loader, read from the mapped objects (mapped_scope.h). Must not include record/.
 */
#include "mapped_scope.h"

#include <errno.h>
#include <stdbool.h>
#include <string.h>

#include "elf_lookup.h"
#include "elf_tables.h"
#include "mapped_symbol.h"
#include "resolver.h"

#define NAMES 4u   /* names of one function in different versions */
#define NEEDED 96u /* libraries searched for one caller; PyTorch's need some sixty */

/* A search for the object around `caller`, or for the first object called `name`. */
struct look {
	const void *caller;
	const char *name;
	const char *const *symbols;
	uint32_t hash[NAMES];
	const char *needed[NEEDED];
	unsigned known;
	unsigned position, end; /* range of objects that may define it */
	unsigned count;
	bool is_behind; /* the following objects count */
	void *found;
};

static bool is_ours(const struct dl_phdr_info *object)
{
	return gp_elf_is_mapped(object, (const void *)(uintptr_t)&gp_mapped_bound, 1);
}

static void *define(const struct look *look, const struct gp_elf_tables *tables)
{
	void *found = NULL;
	for (unsigned i = 0; i < NAMES && look->symbols[i] && !found; i++)
		found = gp_elf_find_symbol(tables, GP_ELF_FUNCTION, look->symbols[i], look->hash[i],
					   NULL);
	return found;
}

static void need(struct look *look, const struct gp_elf_tables *tables)
{
	const char *name;
	for (unsigned i = 0; (name = gp_elf_needed(tables, i)) != NULL; i++) {
		unsigned k = 0;
		while (k < look->known && strcmp(look->needed[k], name) != 0)
			k++;
		if (k == look->known && k < NEEDED)
			look->needed[look->known++] = name;
	}
}

static int look_at_one(struct dl_phdr_info *object, size_t bytes, void *context)
{
	(void)bytes;
	struct look *look = context;
	struct gp_elf_tables tables;
	if (is_ours(object) || !gp_elf_tables_read(object, &tables))
		return 0;
	if (!(look->name ? gp_elf_is_named(&tables, look->name) :
			   gp_elf_is_mapped(object, look->caller, 1)))
		return 0;
	look->found = define(look, &tables);
	need(look, &tables);
	return 1;
}

static int look_behind(struct dl_phdr_info *object, size_t bytes, void *context)
{
	(void)bytes;
	struct look *look = context;
	struct gp_elf_tables tables;
	if (look->position++ >= look->end)
		return 1;
	if (look->is_behind && !is_ours(object) && gp_elf_tables_read(object, &tables))
		look->found = define(look, &tables);
	look->is_behind |= gp_elf_is_mapped(object, look->caller, 1);
	return look->found != NULL;
}

static int look_at_all(struct dl_phdr_info *object, size_t bytes, void *context)
{
	(void)bytes;
	struct look *look = context;
	struct gp_elf_tables tables;
	if (!is_ours(object) && gp_elf_tables_read(object, &tables))
		look->count += define(look, &tables) != NULL;
	return 0;
}

static void mapped_scope_walk(struct look *look, int (*at)(struct dl_phdr_info *, size_t, void *))
{
	const int kept = errno;
	for (unsigned i = 0; i < NAMES && look->symbols[i]; i++)
		look->hash[i] = gp_elf_hash(look->symbols[i]);
	gp_mapped_walk(at, look);
	errno = kept;
}

void *gp_mapped_bound(const void *caller, const char *const *names)
{
	struct look look = {
		.caller = caller, .symbols = names, .end = gp_objects_at_start, .is_behind = true
	};
	mapped_scope_walk(&look, look_behind);
	if (!look.found)
		mapped_scope_walk(&look, look_at_one);
	for (unsigned i = 0; i < look.known && !look.found; i++) {
		look.name = look.needed[i];
		mapped_scope_walk(&look, look_at_one);
	}
	return look.found;
}

void *gp_mapped_next(const void *after, unsigned end, const char *symbol)
{
	const char *const names[NAMES] = { symbol };
	struct look look = { .caller = after, .symbols = names, .end = end };
	mapped_scope_walk(&look, look_behind);
	return look.found;
}

unsigned gp_mapped_count(const char *symbol)
{
	const char *const names[NAMES] = { symbol };
	struct look look = { .symbols = names };
	mapped_scope_walk(&look, look_at_all);
	return look.count;
}

void gp_original_keep(struct gp_originals *originals, const void *caller, void *found)
{
	struct gp_elf_range object;
	if (!gp_elf_find(caller, &object))
		return;
	const uint32_t place = atomic_fetch_add(&originals->claimed, 1);
	if (place >= GP_ORIGINALS) {
		atomic_store(&originals->claimed, GP_ORIGINALS);
		return;
	}
	originals->of[place].from = object.from;
	originals->of[place].found = found;
	/* partner: the acquire load in gp_original_known */
	atomic_store_explicit(&originals->of[place].bytes, object.to - object.from,
			      memory_order_release);
}
