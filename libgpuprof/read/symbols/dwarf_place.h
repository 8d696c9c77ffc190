/*
 * Function, file and line of link addresses from the debug information of one file. What is read
 * grows with the places asked about: the list of units once, then the functions and lines of each
 * unit that is met. Calls that were inlined are told apart.
 */
#ifndef GP_DWARF_PLACE_H
#define GP_DWARF_PLACE_H

#include <stddef.h>
#include <stdint.h>

#include <libelf.h>

#include "work_limit.h"

#define GP_SCOPE_MAX 512u

struct gp_dwarf_frame {
	const char *function;	  /* mangled where the unit says so; NULL unknown */
	const char *file;	  /* NULL unknown */
	const char *directory;	  /* what `file` is relative to; NULL: nothing */
	uint32_t line;		  /* 0 unknown */
	char scope[GP_SCOPE_MAX]; /* "a::b::", to be written before `function` */
};

struct gp_dwarf;
/*
 * NULL: `elf` has no debug information, or shares it with a file that gp_elf_open_shared does not
 * find below `debug_root`; or the limit was reached, or no memory.
 */
struct gp_dwarf *gp_dwarf_open(Elf *elf, const char *debug_root, struct gp_work_limit *limit);
void gp_dwarf_close(struct gp_dwarf *dwarf);

/*
 * The frames at `address`, innermost first, at most `most`; all but the last were inlined. 0:
 * nothing is known. Strings hold until the next call.
 */
size_t gp_dwarf_find(struct gp_dwarf *dwarf, uint64_t address, struct gp_work_limit *limit,
		     struct gp_dwarf_frame *out, size_t most);

#endif
