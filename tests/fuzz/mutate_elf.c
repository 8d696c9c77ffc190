/*
 * Mutations of an ELF file that keep it one: fields of its headers, and bytes of the sections that
 * a symbolizer reads. Most changes go to small sections or near a section's beginning, so that they
 * reach headers of units, abbreviations and tables.
 */
#include <elf.h>
#include <string.h>

#include "fuzz.h"

/* True for the sections that a reader uses: symbols, texts, notes, debug information. */
static bool is_read(const uint8_t *data, size_t bytes, const Elf64_Shdr *s, uint64_t names)
{
	static const char *const prefixes[] = { ".debug",  ".symtab", ".strtab", ".dynsym",
						".dynstr", ".note",   ".gnu",	 ".shstrtab" };
	uint64_t at = names + s->sh_name;
	for (size_t i = 0; i < sizeof prefixes / sizeof *prefixes; i++) {
		size_t n = strlen(prefixes[i]);
		if (at < bytes && bytes - at > n && memcmp(data + at, prefixes[i], n) == 0)
			return true;
	}
	return false;
}

static void change_number(uint8_t *at, size_t width)
{
	uint64_t number = 0;
	memcpy(&number, at, width);
	number = fuzz_number(number);
	memcpy(at, &number, width);
}

static void change_section_header(uint8_t *at)
{
	static const struct {
		unsigned char offset, width;
	} fields[] = { { 0, 4 },  { 4, 4 },  { 8, 8 },	{ 16, 8 }, { 24, 8 },
		       { 32, 8 }, { 40, 4 }, { 44, 4 }, { 48, 8 }, { 56, 8 } };
	size_t k = fuzz_below(sizeof fields / sizeof *fields);
	change_number(at + fields[k].offset, fields[k].width);
}

static void change_content(uint8_t *data, size_t bytes)
{
	static const unsigned char widths[] = { 1, 1, 2, 4, 8 };
	size_t width = widths[fuzz_below(sizeof widths)];
	size_t within = fuzz_below(2) ? bytes : bytes < 64 ? bytes : 64;
	if (bytes < 8)
		return;
	size_t at = fuzz_below(within - width + 1);
	if (fuzz_below(3))
		change_number(data + at, width);
	else
		data[at] = (uint8_t)fuzz_random();
}

static void change_once(uint8_t *data, size_t bytes, const Elf64_Ehdr *h)
{
	Elf64_Shdr section, names;
	uint64_t headers = h->e_shoff;
	size_t count = h->e_shnum;
	if (fuzz_below(40) == 0) {
		change_number(data + 16 + fuzz_below(40), 4);
		return;
	}
	memcpy(&names, data + headers + h->e_shstrndx % count * sizeof names, sizeof names);
	for (unsigned tries = 0; tries < 64; tries++) {
		uint8_t *at = data + headers + fuzz_below(count) * sizeof section;
		memcpy(&section, at, sizeof section);
		if (!is_read(data, bytes, &section, names.sh_offset))
			continue;
		if (fuzz_below(12) == 0)
			change_section_header(at);
		else if (section.sh_offset < bytes && section.sh_size <= bytes - section.sh_offset)
			change_content(data + section.sh_offset, section.sh_size);
		return;
	}
}

size_t fuzz_mutate_elf(uint8_t *data, size_t bytes, size_t room)
{
	Elf64_Ehdr h;
	(void)room;
	if (bytes < sizeof h || memcmp(data, ELFMAG, SELFMAG) != 0)
		return 0;
	for (size_t n = 1 + fuzz_below(4); n > 0; n--) {
		memcpy(&h, data, sizeof h);
		if (h.e_shnum == 0 || h.e_shoff > bytes ||
		    h.e_shnum * sizeof(Elf64_Shdr) > bytes - h.e_shoff)
			return 0;
		change_once(data, bytes, &h);
	}
	return bytes;
}
