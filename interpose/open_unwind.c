/*
 * Opens libunwind, and finds our own text segment.
 */
#include "open_unwind.h"

#include <dlfcn.h>
#include <errno.h>
#include <link.h>
#include <stdatomic.h>
#include <stdint.h>
#include <string.h>

#include "../libgpuprof/record/native/native_learn.h"
#include "../libgpuprof/record/native/native_walk.h"
#include "lookup/elf_lookup.h"
#include "lookup/resolver.h"

/* Beside the library, or in the folder that distributions use for private libraries. */
static const char *const own_copies[] = { "libgpuprof-unwind.so", "gpuprof/libgpuprof-unwind.so" };
#define SYSTEM_COPY "libunwind.so.8"

static void *load_beside(const char *library, const char *name)
{
	char path[4096];
	const char *slash = strrchr(library, '/');
	const size_t folder = slash ? (size_t)(slash + 1 - library) : 0, length = strlen(name) + 1;
	if (!folder || folder + length > sizeof path)
		return NULL;
	memcpy(path, library, folder);
	memcpy(path + folder, name, length);
	return dlopen(path, RTLD_NOW | RTLD_LOCAL);
}

static void *open_unwind_load(void)
{
	Dl_info here;
	void *handle = NULL;
	if (dladdr((void *)gp_unwind_open, &here) && here.dli_fname)
		for (size_t k = 0; !handle && k < sizeof own_copies / sizeof *own_copies; k++)
			handle = load_beside(here.dli_fname, own_copies[k]);
	return handle ? handle : dlopen(SYSTEM_COPY, RTLD_NOW | RTLD_LOCAL);
}

static void *open_unwind_find(void *handle, const char *name)
{
	return gp_libc_dlsym(handle, name);
}

/* valgrind's memcheck reports each read of memory that the job has not written, also our reads. */
static int find_valgrind(struct dl_phdr_info *info, size_t bytes, void *is_found)
{
	(void)bytes;
	*(bool *)is_found = info->dlpi_name && strstr(info->dlpi_name, "/vgpreload_");
	return *(bool *)is_found;
}

/* Watches the loader's own state if it is glibc's. Only reads it. */
static void watch_loader(void)
{
	ElfW(Sym) *symbol = NULL;
	Dl_info info;
	void *state = gp_libc_dlsym(RTLD_DEFAULT, "_rtld_global");
	if (state && dladdr1(state, &info, (void **)&symbol, RTLD_DL_SYMENT) && symbol)
		gp_native_watch_loader(state, symbol->st_size);
}

static const char *open_once(unsigned depth)
{
	struct gp_elf_range own;
	struct gp_native_setup setup = { .depth = (uint16_t)depth, .lookup = open_unwind_find };
	bool is_valgrind = false;
	if (dl_iterate_phdr(find_valgrind, &is_valgrind))
		return "valgrind runs the job";
	if (!gp_elf_find((const void *)gp_unwind_open, &own))
		return "our own text was not found";
	setup.own_from = own.from;
	setup.own_to = own.to;
	gp_dlsym_find();
	watch_loader();
	setup.context = open_unwind_load();
	dlerror(); /* hide our failure from the program */
	if (!setup.context)
		return "libunwind was not found";
	return gp_native_open(&setup);
}

const char *gp_unwind_open(unsigned depth)
{
	static _Atomic bool is_begun;
	static const char *_Atomic why = "native stacks are being opened";
	if (atomic_load_explicit(&is_begun, memory_order_relaxed) ||
	    atomic_exchange(&is_begun, true))
		return atomic_load(&why);
	const int error = errno;
	atomic_store(&why, open_once(depth));
	errno = error;
	return atomic_load(&why);
}
