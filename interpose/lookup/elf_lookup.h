/*
 * Finds the loaded object around an address, without the loader's lock for loading and without
 * dladdr's search.
 */
#ifndef GP_ELF_LOOKUP_H
#define GP_ELF_LOOKUP_H

#include <stdbool.h>
#include <stdint.h>

/*
 * The addresses from the first to the last byte of an object's segments; [0, 0) is an empty range.
 */
struct gp_elf_range {
	uintptr_t from, to;
};

static inline bool gp_elf_has(const struct gp_elf_range *range, const void *address)
{
	return (uintptr_t)address - range->from < range->to - range->from;
}

struct dl_phdr_info;
struct gp_elf_range gp_elf_range_of(const struct dl_phdr_info *object);

/* The object around `address`. False: none. */
bool gp_elf_find(const void *address, struct gp_elf_range *out);

/*
 * Number of objects loaded before the one around `address`, or of all objects if there is none. The
 * objects that the program started with come first and stay.
 */
unsigned gp_elf_position(const void *address);

#endif
