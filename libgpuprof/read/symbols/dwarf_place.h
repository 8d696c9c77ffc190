/*
 * Function, file and line of link addresses, from the debug information of one file. The data that
 * is read grows with the places looked up: the list of units once, then functions and lines of each
 * unit used. Inlined calls are separate frames.
 */
#ifndef GP_DWARF_PLACE_H
#define GP_DWARF_PLACE_H

#include <stddef.h>
#include <stdint.h>

#include <libelf.h>

#include "work_limit.h"

#define GP_SCOPE_MAX 512u

struct gp_dwarf_frame {
	const char *function;	  /* mangled if the unit has that form; NULL unknown */
	const char *file;	  /* NULL unknown */
	const char *directory;	  /* base of a relative `file`; NULL: none */
	uint32_t line;		  /* 0 unknown */
	char scope[GP_SCOPE_MAX]; /* "a::b::", a prefix of `function` */
};

struct gp_dwarf;
/*
 * NULL: `elf` has no debug information, or shares it with a file that gp_elf_open_shared does not
 * find below `debug_root`. Also NULL if the limit was reached or memory is short.
 */
struct gp_dwarf *gp_dwarf_open(Elf *elf, const char *debug_root, struct gp_work_limit *limit);
void gp_dwarf_close(struct gp_dwarf *dwarf);

/*
 * The frames at `address`, innermost first, at most `most`; all but the last were inlined. 0:
 * unknown. Strings are valid until the next call.
 */
size_t gp_dwarf_find(struct gp_dwarf *dwarf, uint64_t address, struct gp_work_limit *limit,
		     struct gp_dwarf_frame *out, size_t most);

#endif
