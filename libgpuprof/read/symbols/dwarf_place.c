/*
 * A unit's functions are listed when it is first used. After that, a place costs one function's
 * tree.
 */
#include "dwarf_place.h"

#include <dwarf.h>
#include <stdlib.h>
#include <string.h>

#include <elfutils/libdw.h>
#include <elfutils/libdwelf.h>

#include "../tables/row_table.h"
#include "dwarf_names.h"
#include "dwarf_units.h"
#include "module_file.h"

#define INLINED_MAX 64u
/* bound on libdw's line rows and our function rows, about 400 MiB; then all are dropped */
#define ROWS_MAX 8000000u

struct unit {
	Dwarf_Off die; /* the key */
	struct gp_die_ranges functions;
	bool has_functions, has_lines;
};

struct gp_dwarf {
	Elf *elf;
	Dwarf *dwarf;
	struct gp_elf shared; /* the file that .gnu_debugaltlink refers to */
	Dwarf *shared_dwarf;
	struct gp_die_ranges units;
	struct gp_row_table met; /* of struct unit */
	size_t rows;
};

/* If we do not set the alternate file, libdw opens any path in .gnu_debugaltlink. */
static bool find_shared(struct gp_dwarf *d, const char *debug_root)
{
	const char *path;
	const void *id;
	struct gp_build_id build_id;
	ssize_t bytes = dwelf_dwarf_gnu_debugaltlink(d->dwarf, &path, &id);
	if (bytes <= 0)
		return true;
	if ((size_t)bytes > sizeof build_id.byte)
		return false;
	build_id.bytes = (size_t)bytes;
	memcpy(build_id.byte, id, build_id.bytes);
	if (!gp_elf_open_shared(&d->shared, path, &build_id, debug_root))
		return false;
	d->shared_dwarf = dwarf_begin_elf(d->shared.elf, DWARF_C_READ, NULL);
	return d->shared_dwarf != NULL;
}

static bool dwarf_place_begin(struct gp_dwarf *d)
{
	d->dwarf = dwarf_begin_elf(d->elf, DWARF_C_READ, NULL);
	if (d->dwarf != NULL && d->shared_dwarf != NULL)
		dwarf_setalt(d->dwarf, d->shared_dwarf);
	return d->dwarf != NULL;
}

struct gp_dwarf *gp_dwarf_open(Elf *elf, const char *debug_root, struct gp_work_limit *limit)
{
	struct gp_dwarf *d = gp_work_is_over(limit) ? NULL : calloc(1, sizeof *d);
	if (d == NULL)
		return NULL;
	d->elf = elf;
	bool is_open = dwarf_place_begin(d) && find_shared(d, debug_root);
	if (is_open && d->shared_dwarf != NULL)
		dwarf_setalt(d->dwarf, d->shared_dwarf);
	if (!is_open || !gp_dwarf_units_read(&d->units, d->dwarf, limit)) {
		gp_dwarf_close(d);
		return NULL;
	}
	return d;
}

static void forget_units(struct gp_dwarf *d)
{
	struct unit *unit = d->met.row;
	for (size_t i = 0; i < d->met.rows; i++)
		gp_die_ranges_release(&unit[i].functions);
	gp_row_table_release(&d->met);
	d->rows = 0;
}

void gp_dwarf_close(struct gp_dwarf *d)
{
	if (d == NULL)
		return;
	forget_units(d);
	gp_die_ranges_release(&d->units);
	if (d->dwarf != NULL)
		dwarf_end(d->dwarf);
	if (d->shared_dwarf != NULL)
		dwarf_end(d->shared_dwarf);
	gp_elf_close(&d->shared);
	free(d);
}

/* libdw keeps every decoded line table until its handle is closed. */
static bool start_over(struct gp_dwarf *d)
{
	forget_units(d);
	if (d->dwarf != NULL)
		dwarf_end(d->dwarf);
	return dwarf_place_begin(d);
}

/*
 * Follows the calls inlined at `address` below `die`. chain[0] is the function, and each next one
 * was inlined into the one before.
 */
static size_t follow(Dwarf_Die *die, Dwarf_Addr address, Dwarf_Die *chain, size_t most,
		     struct gp_work_limit *limit)
{
	size_t count = 0;
	Dwarf_Die at = *die, child;
	chain[count++] = *die;
	bool is_deeper = dwarf_child(&at, &child) == 0;
	while (is_deeper && count < most) {
		int tag = dwarf_tag(&child);
		bool may_hold = tag == DW_TAG_inlined_subroutine || tag == DW_TAG_lexical_block ||
				tag == DW_TAG_try_block || tag == DW_TAG_catch_block;
		Dwarf_Off offset = dwarf_dieoffset(&child);
		if (gp_work_is_over_now_and_then(limit))
			return 1;
		if (may_hold && dwarf_haspc(&child, address) == 1) {
			if (tag == DW_TAG_inlined_subroutine)
				chain[count++] = child;
			at = child;
			is_deeper = dwarf_child(&at, &child) == 0;
		} else {
			is_deeper = dwarf_siblingof(&child, &child) == 0;
		}
		/* offsets increase in valid trees: others could cause an endless loop */
		if (is_deeper && dwarf_dieoffset(&child) <= offset)
			return 1;
	}
	return count;
}

static uint32_t number_of(Dwarf_Die *die, unsigned name)
{
	Dwarf_Attribute attribute;
	Dwarf_Word value;
	if (dwarf_attr(die, name, &attribute) == NULL || dwarf_formudata(&attribute, &value) != 0 ||
	    value > INT32_MAX)
		return 0;
	return (uint32_t)value;
}

static void fill_call(struct gp_dwarf_frame *frame, Dwarf_Die *unit, Dwarf_Die *inlined)
{
	Dwarf_Files *files = NULL;
	size_t count = 0;
	uint32_t file = number_of(inlined, DW_AT_call_file);
	frame->line = number_of(inlined, DW_AT_call_line);
	if (dwarf_hasattr(inlined, DW_AT_call_file) &&
	    dwarf_getsrcfiles(unit, &files, &count) == 0 && file < count)
		frame->file = dwarf_filesrc(files, file, NULL, NULL);
}

static void fill_line(struct gp_dwarf_frame *frame, Dwarf_Die *unit, Dwarf_Addr address)
{
	Dwarf_Line *line = dwarf_getsrc_die(unit, address);
	int number = 0;
	if (line == NULL)
		return;
	frame->file = dwarf_linesrc(line, NULL, NULL);
	if (dwarf_lineno(line, &number) == 0 && number > 0)
		frame->line = (uint32_t)number;
}

static void count_rows(struct gp_dwarf *d, struct unit *unit, Dwarf_Die *die)
{
	Dwarf_Lines *lines;
	size_t count = 0;
	if (!unit->has_lines && dwarf_getsrclines(die, &lines, &count) == 0)
		d->rows += count;
	unit->has_lines = true;
}

static size_t functions_at(struct gp_dwarf *d, struct unit *unit, Dwarf_Die *die,
			   Dwarf_Addr address, struct gp_work_limit *limit, Dwarf_Die *chain)
{
	if (!unit->has_functions) {
		if (!gp_dwarf_functions_read(&unit->functions, die, limit))
			return 0;
		unit->has_functions = true;
		d->rows += unit->functions.count;
	}
	const struct gp_die_range *range = gp_die_ranges_find(&unit->functions, address);
	Dwarf_Die function;
	if (range == NULL || dwarf_offdie(d->dwarf, range->die, &function) == NULL)
		return 0;
	return follow(&function, address, chain, INLINED_MAX, limit);
}

size_t gp_dwarf_find(struct gp_dwarf *d, uint64_t address, struct gp_work_limit *limit,
		     struct gp_dwarf_frame *out, size_t most)
{
	const struct gp_die_range *range = gp_die_ranges_find(&d->units, address);
	if (range == NULL || most == 0 || gp_work_is_over(limit) ||
	    (d->rows > ROWS_MAX && !start_over(d)) || d->dwarf == NULL)
		return 0;
	Dwarf_Die die, chain[INLINED_MAX];
	struct unit *unit = gp_row_get_key(&d->met, sizeof *unit, range->die);
	if (unit == NULL || dwarf_offdie(d->dwarf, range->die, &die) == NULL)
		return 0;
	size_t count = functions_at(d, unit, &die, address, limit, chain);
	if (gp_work_is_over(limit))
		return 0;
	count_rows(d, unit, &die);
	Dwarf_Attribute attribute;
	const char *directory = NULL;
	if (dwarf_attr(&die, DW_AT_comp_dir, &attribute) != NULL)
		directory = dwarf_formstring(&attribute);
	size_t frames = count != 0 ? count : 1;
	for (size_t i = 0; i < frames && i < most; i++) {
		struct gp_dwarf_frame *frame = &out[i];
		frame->directory = directory;
		frame->function = frame->file = NULL;
		frame->line = 0;
		frame->scope[0] = 0;
		if (count != 0)
			frame->function = gp_dwarf_name(&chain[count - 1 - i], frame->scope,
							sizeof frame->scope, limit);
		if (i == 0)
			fill_line(frame, &die, address);
		else
			fill_call(frame, &die, &chain[count - i]);
	}
	if (count == 0 && out[0].file == NULL)
		return 0;
	return frames < most ? frames : most;
}
