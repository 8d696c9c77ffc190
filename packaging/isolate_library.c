/*
 * Makes a private copy of a shared library, in place: isolate_library FILE DEPENDENCY. The copy has
 * another SONAME and binds to its own functions first (DT_SYMBOLIC). It does not need the library
 * whose name begins with DEPENDENCY: its symbols from there become weak. The linker cannot do this:
 * Debian's libunwind.a is not position-independent, and its source is missing in a package build.
 * patchelf cannot set DT_SYMBOLIC. ASan refuses RTLD_DEEPBIND.
 */
#include <fcntl.h>
#include <gelf.h>
#include <libelf.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define VERSIONS 32768u

static Elf *elf;
static const char *dropped;		  /* prefix of the dependency's name */
static bool is_dropped_version[VERSIONS]; /* by index, as in .gnu.version */

static void isolate_fail(const char *why)
{
	fprintf(stderr, "isolate_library: %s\n", why);
	exit(1);
}

static void isolate_must(bool holds, const char *why)
{
	if (!holds)
		isolate_fail(why);
}

/* The only section of this type, and its data. */
static Elf_Scn *isolate_section(GElf_Word type, GElf_Shdr *header, Elf_Data **data)
{
	Elf_Scn *section = elf_nextscn(elf, NULL);
	while (section && (!gelf_getshdr(section, header) || header->sh_type != type))
		section = elf_nextscn(elf, section);
	isolate_must(section != NULL, "a section of the dynamic linker is missing");
	*data = elf_getdata(section, NULL);
	isolate_must(*data != NULL, elf_errmsg(-1));
	return section;
}

static const char *isolate_string(const GElf_Shdr *header, size_t at)
{
	const char *text = elf_strptr(elf, header->sh_link, at);
	isolate_must(text != NULL, elf_errmsg(-1));
	return text;
}

static bool isolate_is_dropped(const char *name)
{
	return strncmp(name, dropped, strlen(dropped)) == 0;
}

/* The end of the old name: a name that no other library has, and that is in the string table. */
#define PREFIX_OF_LIBRARIES "lib"

static GElf_Xword isolate_soname(const GElf_Shdr *header, GElf_Xword at)
{
	const size_t skipped = strlen(PREFIX_OF_LIBRARIES);
	isolate_must(!strncmp(isolate_string(header, at), PREFIX_OF_LIBRARIES, skipped),
		     "the SONAME does not begin with 'lib'");
	return at + skipped;
}

/* True: the library needed the dependency. */
static bool isolate_dynamic(void)
{
	GElf_Shdr header;
	Elf_Data *data;
	isolate_section(SHT_DYNAMIC, &header, &data);
	const int entries = (int)(header.sh_size / header.sh_entsize);
	bool is_named = false, is_symbolic = false, is_ended = false, is_needed = false;
	int kept = 0;
	for (int i = 0; i < entries; i++) {
		GElf_Dyn entry;
		isolate_must(gelf_getdyn(data, i, &entry) != NULL, elf_errmsg(-1));
		if (entry.d_tag == DT_NEEDED &&
		    isolate_is_dropped(isolate_string(&header, entry.d_un.d_val))) {
			is_needed = true; /* the linker writes DT_NEEDED first */
			continue;
		}
		if (entry.d_tag == DT_SONAME) {
			entry.d_un.d_val = isolate_soname(&header, entry.d_un.d_val);
			is_named = true;
		} else if (entry.d_tag == DT_VERNEEDNUM) {
			entry.d_un.d_val -= is_needed;
		} else if (entry.d_tag == DT_NULL && !is_symbolic) {
			entry.d_tag = DT_SYMBOLIC;
			is_symbolic = true;
		} else {
			is_ended = entry.d_tag == DT_NULL;
		}
		gelf_update_dyn(data, kept++, &entry);
	}
	isolate_must(is_named, "no SONAME");
	isolate_must(is_ended || kept < entries, "no room for DT_SYMBOLIC");
	for (GElf_Dyn end = { 0 }; kept < entries; kept++)
		gelf_update_dyn(data, kept, &end);
	return is_needed;
}

/* Removes the dependency from the chain of libraries with required versions. */
static void isolate_versions(void)
{
	GElf_Shdr header;
	GElf_Verneed before = { 0 }, need;
	Elf_Data *data;
	Elf_Scn *section = isolate_section(SHT_GNU_verneed, &header, &data);
	int at = 0, at_before = -1;
	isolate_must(gelf_getverneed(data, at, &need) != NULL, elf_errmsg(-1));
	while (!isolate_is_dropped(isolate_string(&header, need.vn_file))) {
		isolate_must(need.vn_next != 0, "the dependency has no versions");
		before = need;
		at_before = at;
		at += (int)need.vn_next;
		isolate_must(gelf_getverneed(data, at, &need) != NULL, elf_errmsg(-1));
	}
	isolate_must(at_before >= 0, "the dependency is the first with versions");
	for (int a = at + (int)need.vn_aux, n = need.vn_cnt; n > 0; n--) {
		GElf_Vernaux version;
		isolate_must(gelf_getvernaux(data, a, &version) != NULL, elf_errmsg(-1));
		is_dropped_version[version.vna_other % VERSIONS] = true;
		a += (int)version.vna_next;
	}
	before.vn_next = need.vn_next ? before.vn_next + need.vn_next : 0;
	gelf_update_verneed(data, at_before, &before);
	header.sh_info--; /* libraries in the chain */
	gelf_update_shdr(section, &header);
}

/*
 * Makes symbols of the dependency unversioned and weak, so that they are NULL if the loader finds
 * none.
 */
static void isolate_symbols(void)
{
	GElf_Shdr header, versions_header;
	Elf_Data *symbols, *versions;
	isolate_section(SHT_DYNSYM, &header, &symbols);
	isolate_section(SHT_GNU_versym, &versions_header, &versions);
	for (int i = 0; i < (int)(header.sh_size / header.sh_entsize); i++) {
		GElf_Sym symbol;
		GElf_Versym version;
		isolate_must(gelf_getsym(symbols, i, &symbol) &&
				     gelf_getversym(versions, i, &version),
			     elf_errmsg(-1));
		if (!is_dropped_version[version % VERSIONS])
			continue;
		version = VER_NDX_GLOBAL;
		symbol.st_info = GELF_ST_INFO(STB_WEAK, GELF_ST_TYPE(symbol.st_info));
		gelf_update_versym(versions, i, &version);
		gelf_update_sym(symbols, i, &symbol);
	}
}

int main(int argc, char **argv)
{
	if (argc != 3)
		isolate_fail("usage: isolate_library FILE DEPENDENCY");
	const int file = open(argv[1], O_RDWR);
	isolate_must(file >= 0, "cannot open the library");
	isolate_must(elf_version(EV_CURRENT) != EV_NONE, elf_errmsg(-1));
	elf = elf_begin(file, ELF_C_RDWR, NULL);
	isolate_must(elf && elf_kind(elf) == ELF_K_ELF, "not an ELF file");
	elf_flagelf(elf, ELF_C_SET, ELF_F_LAYOUT); /* every byte keeps its offset */
	dropped = argv[2];
	if (isolate_dynamic()) {
		isolate_versions();
		isolate_symbols();
	}
	isolate_must(elf_update(elf, ELF_C_WRITE) >= 0, elf_errmsg(-1));
	elf_end(elf);
	close(file);
	return 0;
}
