/*
 * Modules whose names were read, kept from one recording to the next: ranks of one job map the same
 * files, and reading the names of a file takes most of a look-up's time. A module is found again by
 * its path and build id, as long as the file there was not changed. For one thread, bounded.
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

/* The user's to close or to give back. False: it is not there. */
bool gp_module_pool_take(const char *path, const struct gp_build_id *build_id,
			 const char *debug_root, struct gp_module_names *out);
/*
 * Takes over what was read to its end of the file at `path`; closes it where that cannot be found
 * again: without a build id, or without that file.
 */
void gp_module_pool_give(const char *path, const struct gp_build_id *build_id,
			 const char *debug_root, struct gp_module_names *names);
void gp_module_names_close(struct gp_module_names *names);

#endif
