/* Which loaded object an address lies in, found without the loader's lock for loading and without
 * dladdr's search. */
#ifndef GP_ELF_LOOKUP_H
#define GP_ELF_LOOKUP_H

#include <stdbool.h>
#include <stdint.h>

/* The addresses from the first to the last byte that an object's segments take; [0, 0) is none. */
struct gp_elf_range {
	uintptr_t from, to;
};

static inline bool gp_elf_has(const struct gp_elf_range *range, const void *address)
{
	return (uintptr_t)address - range->from < range->to - range->from;
}

struct dl_phdr_info;
struct gp_elf_range gp_elf_range_of(const struct dl_phdr_info *object);

/* The object around `address`. False when it lies in none. */
bool gp_elf_find(const void *address, struct gp_elf_range *out);

/* How many objects were loaded before the one around `address`; as many as there are when it lies
 * in none. What the program started with comes first and stays. */
unsigned gp_elf_position(const void *address);

#endif
