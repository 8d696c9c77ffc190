/* Lists of ranges, sorted by address. */
#include "dwarf_units.h"

#include <dwarf.h>
#include <stdlib.h>

#include "../tables/array.h"
#include "../tables/row_rank.h"

/* how many ranges back a search looks for one that reaches the address */
#define NESTED_MAX 32u
/* bound on nested namespaces, classes and functions: damaged trees can be endless */
#define DEPTH_MAX 48u
/*
 * Bounds on the ranges of one entry, a function or a unit with a section for each function. More
 * are damage.
 */
#define FUNCTION_PIECES_MAX 4096u
#define UNIT_PIECES_MAX 65536u

struct dwarf_units_walk {
	struct gp_die_ranges *ranges;
	struct gp_work_limit *limit;
	Dwarf_Off reached; /* entries are visited in the order of their offsets */
};

static bool keep(struct gp_die_ranges *ranges, Dwarf_Addr low, Dwarf_Addr high, Dwarf_Off die)
{
	/* the linker sets dropped ranges to 0, 1 or the highest addresses */
	if (low >= high || low <= 1 || low >= UINT64_MAX - 1)
		return true;
	struct gp_die_range *kept = gp_array_append(&ranges->range, &ranges->count, sizeof *kept);
	if (kept != NULL)
		*kept = (struct gp_die_range){ low, high, die };
	return kept != NULL;
}

static bool keep_entry(struct gp_die_ranges *ranges, Dwarf_Die *die, size_t most)
{
	Dwarf_Addr base, low, high;
	ptrdiff_t at = 0;
	for (size_t piece = 0; piece < most; piece++) {
		at = dwarf_ranges(die, at, &base, &low, &high);
		if (at <= 0)
			break;
		if (!keep(ranges, low, high, dwarf_dieoffset(die)))
			return false;
	}
	return true;
}

static int by_low(const void *left, const void *right)
{
	const struct gp_die_range *a = left, *b = right;
	if (a->low != b->low)
		return a->low < b->low ? -1 : 1;
	return a->high != b->high ? (a->high > b->high ? -1 : 1) : 0;
}

static void dwarf_units_settle(struct gp_die_ranges *ranges)
{
	if (ranges->count != 0)
		qsort(ranges->range, ranges->count, sizeof *ranges->range, by_low);
}

bool gp_dwarf_units_read(struct gp_die_ranges *units, Dwarf *dwarf, struct gp_work_limit *limit)
{
	*units = (struct gp_die_ranges){ 0 };
	Dwarf_CU *unit = NULL;
	uint8_t type;
	Dwarf_Die die;
	while (dwarf_get_units(dwarf, unit, &unit, NULL, &type, &die, NULL) == 0) {
		if (type != DW_UT_compile && type != DW_UT_skeleton)
			continue;
		if (gp_work_is_over_now_and_then(limit) ||
		    !keep_entry(units, &die, UNIT_PIECES_MAX)) {
			gp_die_ranges_release(units);
			return false;
		}
	}
	dwarf_units_settle(units);
	return true;
}

static bool may_hold_functions(int tag)
{
	switch (tag) {
	case DW_TAG_subprogram:
	case DW_TAG_lexical_block:
	case DW_TAG_namespace:
	case DW_TAG_module:
	case DW_TAG_class_type:
	case DW_TAG_structure_type:
	case DW_TAG_union_type:
		return true;
	default:
		return false;
	}
}

static bool dwarf_units_walk(struct dwarf_units_walk *w, Dwarf_Die *parent, unsigned depth)
{
	Dwarf_Die die;
	if (depth == DEPTH_MAX || dwarf_child(parent, &die) != 0)
		return true;
	do {
		/* a sibling with a lower offset would cause an endless loop */
		if (dwarf_dieoffset(&die) <= w->reached)
			break;
		w->reached = dwarf_dieoffset(&die);
		if (gp_work_is_over_now_and_then(w->limit))
			return false;
		int tag = dwarf_tag(&die);
		if (tag == DW_TAG_subprogram && !keep_entry(w->ranges, &die, FUNCTION_PIECES_MAX))
			return false;
		if (may_hold_functions(tag) && !dwarf_units_walk(w, &die, depth + 1))
			return false;
	} while (dwarf_siblingof(&die, &die) == 0);
	return true;
}

bool gp_dwarf_functions_read(struct gp_die_ranges *functions, Dwarf_Die *unit,
			     struct gp_work_limit *limit)
{
	*functions = (struct gp_die_ranges){ 0 };
	struct dwarf_units_walk w = { functions, limit, dwarf_dieoffset(unit) };
	bool is_whole = dwarf_units_walk(&w, unit, 0);
	if (is_whole)
		dwarf_units_settle(functions);
	else
		gp_die_ranges_release(functions);
	return is_whole;
}

void gp_die_ranges_release(struct gp_die_ranges *ranges)
{
	free(ranges->range);
	*ranges = (struct gp_die_ranges){ 0 };
}

const struct gp_die_range *gp_die_ranges_find(const struct gp_die_ranges *ranges,
					      Dwarf_Addr address)
{
	const size_t behind =
		gp_row_rank(ranges->range, ranges->count, sizeof *ranges->range, address);
	for (size_t back = 1; back <= NESTED_MAX && back <= behind; back++) {
		const struct gp_die_range *range = &ranges->range[behind - back];
		if (address < range->high)
			return range;
	}
	return NULL;
}
