/*
 * Reads the dynamic symbols of one mapped object: DT_GNU_HASH, else DT_HASH. Takes no lock and does
 * not enter the loader. Each read stays inside the object's mapped segments.
 */
#ifndef GP_ELF_TABLES_H
#define GP_ELF_TABLES_H

#include <link.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * Valid as long as the object is mapped and `object` exists, so within a callback of
 * dl_iterate_phdr.
 */
struct gp_elf_tables {
	const struct dl_phdr_info *object;
	const ElfW(Dyn) * dynamic;
	const ElfW(Sym) * symbols;
	const ElfW(Half) * versions; /* NULL: the object has none */
	const char *strings;
	size_t strings_bytes;
	const uint32_t *gnu_hash;
	const uint32_t *sysv_hash;
};

/* The kinds of symbols that a look-up accepts. */
enum gp_elf_kind { GP_ELF_FUNCTION, GP_ELF_DATA, GP_ELF_FUNCTION_OR_DATA };

/* Whether [at, at + bytes) lies in one loaded segment of the object. */
bool gp_elf_is_mapped(const struct dl_phdr_info *object, const void *at, size_t bytes);

/* False: the object has no readable symbol table. */
bool gp_elf_tables_read(const struct dl_phdr_info *object, struct gp_elf_tables *out);

/* The hash of a name in DT_GNU_HASH. */
uint32_t gp_elf_hash(const char *name);

/*
 * The address of the symbol `name` with gp_elf_hash(name) `hash`, as in dlsym: hidden versions are
 * skipped. NULL: the object does not define it. `bytes` (may be NULL) receives its size.
 */
void *gp_elf_find_symbol(const struct gp_elf_tables *tables, enum gp_elf_kind kind,
			 const char *name, uint32_t hash, size_t *bytes);

/* The file name without its directory; "" for the program itself. */
const char *gp_elf_file_name(const struct dl_phdr_info *object);

/* Whether a DT_NEEDED entry `name` would refer to this object: by its DT_SONAME or file name. */
bool gp_elf_is_named(const struct gp_elf_tables *tables, const char *name);

/* The index-th name of DT_NEEDED; NULL: there are fewer. */
const char *gp_elf_needed(const struct gp_elf_tables *tables, unsigned index);

#endif
