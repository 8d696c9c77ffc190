/*
 * Offsets of entries increase through the tree: the search for an entry's parents skips other
 * subtrees.
 */
#include "dwarf_names.h"

#include <dwarf.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#define DEPTH_MAX 32u
/* an inlined call, its abstract function, its declaration in the class */
#define ORIGINS_MAX 8u

static const char *linkage_name(Dwarf_Die *die)
{
	Dwarf_Attribute attribute;
	if (dwarf_attr_integrate(die, DW_AT_linkage_name, &attribute) == NULL &&
	    dwarf_attr_integrate(die, DW_AT_MIPS_linkage_name, &attribute) == NULL)
		return NULL;
	return dwarf_formstring(&attribute);
}

/* Finds the declaration of `die` in the main file: its parents give its scope. */
static bool declaration(Dwarf_Die *die, Dwarf_Die *declared)
{
	Dwarf_Attribute attribute;
	*declared = *die;
	for (unsigned i = 0; i < ORIGINS_MAX; i++) {
		if (dwarf_attr(declared, DW_AT_abstract_origin, &attribute) == NULL &&
		    dwarf_attr(declared, DW_AT_specification, &attribute) == NULL)
			return true;
		if (dwarf_formref_die(&attribute, declared) == NULL)
			return false;
	}
	return false;
}

static bool has_scopes(Dwarf_Die *unit)
{
	switch (dwarf_srclang(unit)) {
	case DW_LANG_C_plus_plus:
	case DW_LANG_C_plus_plus_03:
	case DW_LANG_C_plus_plus_11:
	case DW_LANG_C_plus_plus_14:
		return true;
	default:
		return false;
	}
}

static bool is_scope(int tag)
{
	return tag == DW_TAG_namespace || tag == DW_TAG_class_type ||
	       tag == DW_TAG_structure_type || tag == DW_TAG_union_type;
}

/* Finds the child of `parent` that is at `offset` or contains it. */
static bool child_around(Dwarf_Die *parent, Dwarf_Off offset, Dwarf_Die *found,
			 struct gp_work_limit *limit)
{
	Dwarf_Die child;
	bool is_found = false;
	Dwarf_Off reached = dwarf_dieoffset(parent);
	if (dwarf_child(parent, &child) != 0)
		return false;
	do {
		Dwarf_Off at = dwarf_dieoffset(&child);
		if (at > offset || at <= reached || gp_work_is_over_now_and_then(limit))
			break;
		reached = at;
		*found = child;
		is_found = true;
	} while (dwarf_siblingof(&child, &child) == 0);
	return is_found;
}

static bool append(char *scope, size_t room, size_t *used, Dwarf_Die *die)
{
	const char *name = dwarf_diename(die);
	if (name == NULL && dwarf_tag(die) != DW_TAG_namespace)
		return false;
	int n = snprintf(scope + *used, room - *used,
			 "%s::", name != NULL ? name : "(anonymous namespace)");
	if (n < 0 || (size_t)n >= room - *used)
		return false;
	*used += (size_t)n;
	return true;
}

static bool write_scope(Dwarf_Die *function, char *scope, size_t room, struct gp_work_limit *limit)
{
	Dwarf_Die declared, at, child;
	size_t used = 0;
	if (!declaration(function, &declared) || dwarf_diecu(&declared, &at, NULL, NULL) == NULL ||
	    !has_scopes(&at))
		return false;
	Dwarf_Off offset = dwarf_dieoffset(&declared);
	for (unsigned depth = 0; depth < DEPTH_MAX; depth++) {
		if (!child_around(&at, offset, &child, limit))
			return false;
		if (dwarf_dieoffset(&child) == offset)
			return true;
		if (!is_scope(dwarf_tag(&child)) || !append(scope, room, &used, &child))
			return false;
		at = child;
	}
	return false;
}

const char *gp_dwarf_name(Dwarf_Die *function, char *scope, size_t room,
			  struct gp_work_limit *limit)
{
	scope[0] = 0;
	const char *name = linkage_name(function);
	if (name != NULL)
		return name;
	if (!write_scope(function, scope, room, limit))
		scope[0] = 0;
	return dwarf_diename(function);
}
