/*
 * Names of functions in debug information: the linkage name if there is one, else the plain name.
 * The namespaces and classes around a plain name come from the tree.
 */
#ifndef GP_DWARF_NAMES_H
#define GP_DWARF_NAMES_H

#include <stddef.h>

#include <elfutils/libdw.h>

#include "work_limit.h"

/*
 * NULL unknown. `scope` gets the prefix of the name, "a::b::", or "". A scope that does not fit is
 * left out whole.
 */
const char *gp_dwarf_name(Dwarf_Die *function, char *scope, size_t room,
			  struct gp_work_limit *limit);

#endif
