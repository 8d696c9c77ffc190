/*
 * An auditor (LD_AUDIT) that counts the symbols that the loader binds. It writes the number to the
 * file BINDINGS_COUNT at the end, which proves to a test that it was loaded.
 */
#include <fcntl.h>
#include <link.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

static _Atomic unsigned long bindings;

unsigned la_version(unsigned version);
unsigned la_objopen(struct link_map *map, Lmid_t lmid, uintptr_t *cookie);
uintptr_t la_symbind64(Elf64_Sym *symbol, unsigned index, uintptr_t *from, uintptr_t *to,
		       unsigned *flags, const char *name);

unsigned la_version(unsigned version)
{
	return version;
}

unsigned la_objopen(struct link_map *map, Lmid_t lmid, uintptr_t *cookie)
{
	(void)map, (void)lmid, (void)cookie;
	return LA_FLG_BINDTO | LA_FLG_BINDFROM;
}

uintptr_t la_symbind64(Elf64_Sym *symbol, unsigned index, uintptr_t *from, uintptr_t *to,
		       unsigned *flags, const char *name)
{
	(void)index, (void)from, (void)to, (void)flags, (void)name;
	bindings++;
	return symbol->st_value;
}

__attribute__((destructor)) static void write_count(void)
{
	const char *path = getenv("BINDINGS_COUNT");
	int file = path ? open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600) : -1;
	if (file < 0)
		return;
	dprintf(file, "%lu\n", bindings);
	close(file);
}
