/*
 * The functions of a module by address, from its symbol tables: sorted once, then found by binary
 * search. Names point into the images of the files, which must stay open.
 */
#ifndef GP_ELF_SYMBOLS_H
#define GP_ELF_SYMBOLS_H

#include <stddef.h>
#include <stdint.h>

#include "module_file.h"
#include "work_limit.h"

struct gp_elf_symbol {
	uint64_t start, end; /* link addresses */
	const char *name;    /* mangled, without version; "" marks the end of a section */
	bool has_size;	     /* false: it ends where the next one begins */
};
struct gp_elf_symbols {
	struct gp_elf_symbol *symbol;
	size_t count;
};

/*
 * Reads every table of `file`. False: the limit was reached or memory was short, and no symbol is
 * kept. A damaged table gives its plausible symbols.
 */
bool gp_elf_symbols_read(struct gp_elf_symbols *symbols, const struct gp_module_file *file,
			 struct gp_work_limit *limit);
void gp_elf_symbols_release(struct gp_elf_symbols *symbols);
/* The innermost symbol that contains a link address; NULL: none. */
const struct gp_elf_symbol *gp_elf_symbols_find(const struct gp_elf_symbols *symbols,
						uint64_t address);

#endif
