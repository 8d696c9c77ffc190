/* Walks over the loaded objects (mapped_symbol.h). Must not include record/. */
#include "elf_lookup.h"

#include "elf_tables.h"
#include "mapped_symbol.h"

struct address_search {
	uintptr_t address;
	unsigned position;
	struct gp_elf_range *out;
};

struct gp_elf_range gp_elf_range_of(const struct dl_phdr_info *object)
{
	struct gp_elf_range range = { UINTPTR_MAX, 0 };
	for (int i = 0; i < object->dlpi_phnum; i++) {
		const ElfW(Phdr) *p = &object->dlpi_phdr[i];
		if (p->p_type != PT_LOAD)
			continue;
		uintptr_t from = object->dlpi_addr + p->p_vaddr, to = from + p->p_memsz;
		range.from = from < range.from ? from : range.from;
		range.to = to > range.to ? to : range.to;
	}
	return range;
}

static int find_address(struct dl_phdr_info *object, size_t bytes, void *context)
{
	(void)bytes;
	struct address_search *search = context;
	if (gp_elf_is_mapped(object, (const void *)search->address, 1)) {
		*search->out = gp_elf_range_of(object);
		return 1;
	}
	search->position++;
	return 0;
}

bool gp_elf_find(const void *address, struct gp_elf_range *out)
{
	struct address_search search = { (uintptr_t)address, 0, out };
	*out = (struct gp_elf_range){ 0, 0 };
	return gp_mapped_walk(find_address, &search) != 0;
}

unsigned gp_elf_position(const void *address)
{
	struct gp_elf_range ignored;
	struct address_search search = { (uintptr_t)address, 0, &ignored };
	gp_mapped_walk(find_address, &search);
	return search.position;
}
