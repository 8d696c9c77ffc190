/*
 * Names of modules that stay in memory from one recording to the next. Ranks of one job map the
 * same files, and reading the names of a file takes most of a look-up's time. A module is found by
 * its path and build id, if its file was not changed since. For one thread, bounded.
 */
#ifndef GP_MODULE_POOL_H
#define GP_MODULE_POOL_H

#include <stdbool.h>

#include "dwarf_place.h"
#include "elf_symbols.h"
#include "module_file.h"

struct gp_module_names {
	struct gp_module_file file;
	struct gp_elf_symbols symbols;
	struct gp_dwarf *dwarf; /* NULL: none */
};

/* The caller closes it or gives it back. False: not found. */
bool gp_module_pool_take(const char *path, const struct gp_build_id *build_id,
			 const char *debug_root, struct gp_module_names *out);
/*
 * Takes ownership of completely read names of the file at `path`. Closes them if they cannot be
 * found again: without a build id, or without that file.
 */
void gp_module_pool_give(const char *path, const struct gp_build_id *build_id,
			 const char *debug_root, struct gp_module_names *names);
void gp_module_names_close(struct gp_module_names *names);

#endif
