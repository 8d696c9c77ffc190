/*
 * The compilation units of a file by address, and the functions of a unit. Units are found by their
 * own ranges, one entry for each unit: not every compiler writes .debug_aranges, which libdwfl
 * needs. Debug information may be damaged, so walks have a bounded time.
 */
#ifndef GP_DWARF_UNITS_H
#define GP_DWARF_UNITS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <elfutils/libdw.h>

#include "work_limit.h"

/* Addresses [low, high) belong to the entry at offset `die`. */
struct gp_die_range {
	Dwarf_Addr low, high;
	Dwarf_Off die;
};
struct gp_die_ranges {
	struct gp_die_range *range;
	size_t count;
};

/* Both return false when the limit was reached or memory was short. The ranges are empty then. */
bool gp_dwarf_units_read(struct gp_die_ranges *units, Dwarf *dwarf, struct gp_work_limit *limit);
bool gp_dwarf_functions_read(struct gp_die_ranges *functions, Dwarf_Die *unit,
			     struct gp_work_limit *limit);
void gp_die_ranges_release(struct gp_die_ranges *ranges);
/* The range with the highest start that contains `address`; NULL: none. */
const struct gp_die_range *gp_die_ranges_find(const struct gp_die_ranges *ranges,
					      Dwarf_Addr address);

#endif
