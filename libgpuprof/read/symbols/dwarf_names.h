/*
 * Names of functions in debug information: the linkage name where there is one, else the plain one
 * with the namespaces and classes around it, which compilers leave to the tree.
 */
#ifndef GP_DWARF_NAMES_H
#define GP_DWARF_NAMES_H

#include <stddef.h>

#include <elfutils/libdw.h>

#include "work_limit.h"

/*
 * NULL unknown. `scope` gets what is to be written before the name, "a::b::", or "": cut at no
 * place, a scope that does not fit is left out.
 */
const char *gp_dwarf_name(Dwarf_Die *function, char *scope, size_t room,
			  struct gp_work_limit *limit);

#endif
