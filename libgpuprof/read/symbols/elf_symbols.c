/*
 * One table from .symtab, .dynsym and .gnu_debugdata: each may have symbols that the others lack.
 */
#include "elf_symbols.h"

#include <stdlib.h>
#include <string.h>

#include "../tables/array.h"
#include "../tables/row_rank.h"

/* how many symbols back a search looks for one that reaches the address */
#define NESTED_MAX 32u
#define SECTIONS_MAX 65536u

struct reading {
	struct gp_elf_symbols *symbols;
	struct gp_work_limit *limit;
	GElf_Shdr *section; /* section headers by index */
	size_t sections;
};

static bool keep(struct gp_elf_symbols *s, const struct gp_elf_symbol *symbol)
{
	struct gp_elf_symbol *kept = gp_array_append(&s->symbol, &s->count, sizeof *kept);
	if (kept != NULL)
		*kept = *symbol;
	return kept != NULL;
}

/* Functions of assembly code have no type and no size: they end where the next one begins. */
static bool is_function(const struct reading *reading, const GElf_Sym *symbol, size_t section)
{
	int type = GELF_ST_TYPE(symbol->st_info);
	if (symbol->st_shndx == SHN_UNDEF || section >= reading->sections)
		return false;
	const GElf_Shdr *in = &reading->section[section];
	if (symbol->st_value < in->sh_addr || symbol->st_value - in->sh_addr >= in->sh_size ||
	    !(in->sh_flags & SHF_EXECINSTR))
		return false;
	return type == STT_FUNC || type == STT_GNU_IFUNC || type == STT_NOTYPE;
}

static bool read_table(struct reading *reading, Elf *elf, Elf_Scn *section, const GElf_Shdr *header)
{
	Elf_Data *data = elf_getdata(section, NULL);
	size_t size = gelf_fsize(elf, ELF_T_SYM, 1, EV_CURRENT);
	size_t count = data != NULL && size != 0 ? data->d_size / size : 0;
	for (size_t i = 1; i < count && i <= INT32_MAX; i++) {
		GElf_Sym symbol;
		if (gp_work_is_over_now_and_then(reading->limit))
			return false;
		if (gelf_getsym(data, (int)i, &symbol) == NULL)
			break;
		if (!is_function(reading, &symbol, symbol.st_shndx))
			continue;
		const char *name = elf_strptr(elf, header->sh_link, symbol.st_name);
		/* "$x" and similar symbols mark code and data, they are not names */
		if (name == NULL || name[0] == 0 || name[0] == '$')
			continue;
		const GElf_Shdr *in = &reading->section[symbol.st_shndx];
		uint64_t most = in->sh_addr + in->sh_size - symbol.st_value;
		uint64_t bytes = symbol.st_size < most ? symbol.st_size : most;
		struct gp_elf_symbol kept = { symbol.st_value, symbol.st_value + bytes, name,
					      bytes != 0 };
		if (!keep(reading->symbols, &kept))
			return false;
	}
	return true;
}

/* Adds a symbol at the end of code, so that a symbol without a size ends there. */
static bool mark_end(struct reading *reading, const GElf_Shdr *header)
{
	struct gp_elf_symbol end = { .name = "" };
	end.start = end.end = header->sh_addr + header->sh_size;
	return !(header->sh_flags & SHF_EXECINSTR) || keep(reading->symbols, &end);
}

static bool read_file(struct reading *reading, Elf *elf)
{
	if (elf == NULL || elf_getshdrnum(elf, &reading->sections) != 0)
		return true;
	if (reading->sections > SECTIONS_MAX)
		reading->sections = SECTIONS_MAX;
	reading->section = calloc(reading->sections + 1, sizeof *reading->section);
	if (reading->section == NULL)
		return false;
	Elf_Scn *section = NULL;
	for (size_t i = 1; i < reading->sections; i++) {
		section = elf_getscn(elf, i);
		if (section == NULL || gelf_getshdr(section, &reading->section[i]) == NULL)
			memset(&reading->section[i], 0, sizeof reading->section[i]);
	}
	bool is_whole = true;
	for (size_t i = 1; i < reading->sections && is_whole; i++) {
		const GElf_Shdr *header = &reading->section[i];
		if (header->sh_type == SHT_SYMTAB || header->sh_type == SHT_DYNSYM)
			is_whole = read_table(reading, elf, elf_getscn(elf, i), header);
		else
			is_whole = mark_end(reading, header);
	}
	free(reading->section);
	return is_whole;
}

static size_t underscores(const char *name)
{
	return strspn(name, "_");
}

/* Of aliases, the one with a size and the plainest name comes first: read, not __GI___libc_read. */
static int by_place(const void *left, const void *right)
{
	const struct gp_elf_symbol *a = left, *b = right;
	if (a->start != b->start)
		return a->start < b->start ? -1 : 1;
	if (a->end != b->end)
		return a->end > b->end ? -1 : 1;
	if ((a->name[0] == 0) != (b->name[0] == 0))
		return a->name[0] == 0 ? 1 : -1;
	size_t a_plain = underscores(a->name), b_plain = underscores(b->name);
	if (a_plain != b_plain)
		return a_plain < b_plain ? -1 : 1;
	return strcmp(a->name, b->name);
}

/* Keeps one symbol for each place, and adds ends where they are missing. */
static void elf_symbols_settle(struct gp_elf_symbols *s)
{
	size_t kept = 0;
	for (size_t i = 0; i < s->count; i++) {
		if (kept != 0 && s->symbol[kept - 1].start == s->symbol[i].start)
			continue;
		s->symbol[kept++] = s->symbol[i];
	}
	s->count = kept;
	for (size_t i = 0; i + 1 < kept; i++) {
		if (!s->symbol[i].has_size && s->symbol[i].name[0] != 0)
			s->symbol[i].end = s->symbol[i + 1].start;
	}
}

bool gp_elf_symbols_read(struct gp_elf_symbols *symbols, const struct gp_module_file *file,
			 struct gp_work_limit *limit)
{
	*symbols = (struct gp_elf_symbols){ 0 };
	struct reading reading = { .symbols = symbols, .limit = limit };
	if (!read_file(&reading, file->main.elf) || !read_file(&reading, file->debug.elf) ||
	    !read_file(&reading, file->mini.elf)) {
		gp_elf_symbols_release(symbols);
		return false;
	}
	if (symbols->count != 0)
		qsort(symbols->symbol, symbols->count, sizeof *symbols->symbol, by_place);
	elf_symbols_settle(symbols);
	return true;
}

void gp_elf_symbols_release(struct gp_elf_symbols *symbols)
{
	free(symbols->symbol);
	*symbols = (struct gp_elf_symbols){ 0 };
}

const struct gp_elf_symbol *gp_elf_symbols_find(const struct gp_elf_symbols *symbols,
						uint64_t address)
{
	const size_t behind =
		gp_row_rank(symbols->symbol, symbols->count, sizeof *symbols->symbol, address);
	/* a label inside a function must not replace the function */
	const struct gp_elf_symbol *label = NULL;
	for (size_t back = 1; back <= NESTED_MAX && back <= behind; back++) {
		const struct gp_elf_symbol *symbol = &symbols->symbol[behind - back];
		if (address >= symbol->end)
			continue;
		if (symbol->has_size)
			return symbol;
		if (label == NULL)
			label = symbol;
	}
	return label;
}
