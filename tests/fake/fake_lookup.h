/*
 * The fake driver's resolver, by the contract of cuda.h 13.0: it returns the newest variant that is
 * not newer than the requested version, or its per-thread twin where flags request one that exists.
 * Functions in FAKE_CUDA_MISSING, and those newer than FAKE_CUDA_VERSION, are not found, here or by
 * dlsym.
 */
#ifndef FAKE_LOOKUP_H
#define FAKE_LOOKUP_H

#include <link.h>
#include <unistd.h>

#include "fake_core.h"

enum { FAKE_FOUND, FAKE_SYMBOL_NOT_FOUND, FAKE_VERSION_TOO_OLD };

static const struct fake_function *fake_find(const char *name, int version, bool is_per_thread,
					     int *status)
{
	const struct fake_function *best = NULL;
	bool is_known = false;
	for (unsigned row = 0; row < FAKE_ROWS; row++) {
		const struct fake_function *f = &fake_functions[row];
		if (f->is_missing || f->is_per_thread != is_per_thread ||
		    strcmp(f->name, name) != 0)
			continue;
		is_known = true;
		if (f->version <= version && (!best || f->version > best->version))
			best = f;
	}
	*status = best ? FAKE_FOUND : is_known ? FAKE_VERSION_TOO_OLD : FAKE_SYMBOL_NOT_FOUND;
	return best;
}

static CUresult fake_get_proc_address(const char *name, void **function, int version,
				      cuuint64_t flags, int *status)
{
	int ignored;
	status = status ? status : &ignored;
	if (!name || !function || flags > 2 || version > fake_setup.version)
		return CUDA_ERROR_INVALID_VALUE;
	const struct fake_function *found =
		flags == 2 ? fake_find(name, version, true, status) : NULL;
	if (!found)
		found = fake_find(name, version, false, status);
	*function = found ? found->address : NULL;
	return CUDA_SUCCESS;
}

CUresult cuGetProcAddress(const char *name, void **function, int version, cuuint64_t flags)
{
	ENTER(cuGetProcAddress);
	return fake_get_proc_address(name, function, version, flags, NULL);
}

CUresult cuGetProcAddress_v2(const char *name, void **function, int version, cuuint64_t flags,
			     int *status)
{
	ENTER(cuGetProcAddress_v2);
	return fake_get_proc_address(name, function, version, flags, status);
}

/* ---- an old driver: functions that the loader must not find either ---- */

static bool fake_is_listed(const char *list, const char *symbol)
{
	size_t bytes = strlen(symbol);
	for (const char *at = list; at && *at; at = strchr(at, ',') ? strchr(at, ',') + 1 : NULL)
		if (strncmp(at, symbol, bytes) == 0 && (at[bytes] == ',' || at[bytes] == '\0'))
			return true;
	return false;
}

static const struct fake_function *fake_by_symbol(const char *symbol)
{
	for (unsigned row = 0; row < FAKE_ROWS; row++)
		if (strcmp(fake_functions[row].symbol, symbol) == 0)
			return &fake_functions[row];
	return NULL;
}

/*
 * The loader skips symbols without a value. This library's own calls are bound already: by the
 * compiler, or by this table.
 */
static void fake_hide(const struct link_map *self)
{
	ElfW(Sym) *symbols = NULL;
	const char *strings = NULL;
	const uint32_t *hash = NULL;
	for (const ElfW(Dyn) *d = self->l_ld; d->d_tag != DT_NULL; d++) {
		if (d->d_tag == DT_SYMTAB)
			symbols = (ElfW(Sym) *)d->d_un.d_ptr;
		else if (d->d_tag == DT_STRTAB)
			strings = (const char *)d->d_un.d_ptr;
		else if (d->d_tag == DT_GNU_HASH)
			hash = (const uint32_t *)d->d_un.d_ptr;
	}
	if (!symbols || !strings || !hash)
		abort();
	uintptr_t page = (uintptr_t)sysconf(_SC_PAGESIZE), from = (uintptr_t)symbols & ~(page - 1);
	uintptr_t to = ((uintptr_t)strings + page - 1) & ~(page - 1);
	if (mprotect((void *)from, to - from, PROT_READ | PROT_WRITE) != 0)
		abort();
	for (ElfW(Sym) *s = symbols + hash[1]; (const char *)s < strings; s++) {
		const struct fake_function *f = fake_by_symbol(strings + s->st_name);
		if (f && f->is_missing)
			s->st_value = 0;
	}
	mprotect((void *)from, to - from, PROT_READ);
}

#endif
