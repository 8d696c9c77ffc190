/*
 * A library of tests/symbols/, loaded and run: the places that it reports, and the fields that a
 * recording has of it as a module.
 */
#ifndef PLACES_LIBRARY_H
#define PLACES_LIBRARY_H

#include <dlfcn.h>
#include <libgen.h>
#include <limits.h>
#include <link.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "../symbols/places.h"
#include "read/symbols/module_file.h"
#include "read/symbols/symbolize.h"

#define MOST 32u

struct place {
	uint64_t pc;
	int line;
	const char *functions; /* innermost first; NULL: not reported */
};
struct library {
	char path[PATH_MAX];
	void *handle;
	uint64_t base, bytes;
	struct gp_build_id build_id;
};

static struct place place[MOST];
static unsigned places;
static char folder[PATH_MAX];

static __attribute__((noinline)) void report_place(int line, const char *functions)
{
	assert_true(places < MOST);
	place[places++] =
		(struct place){ (uint64_t)(uintptr_t)__builtin_return_address(0), line, functions };
}

static void take_build_id(struct library *library, const struct dl_phdr_info *info,
			  const ElfW(Phdr) * segment)
{
	const unsigned char *at = (const unsigned char *)(info->dlpi_addr + segment->p_vaddr);
	const unsigned char *end = at + segment->p_memsz;
	while (at + sizeof(ElfW(Nhdr)) <= end) {
		ElfW(Nhdr) note;
		memcpy(&note, at, sizeof note);
		const unsigned char *text = at + sizeof note + ((note.n_namesz + 3u) & ~3u);
		if (note.n_type == NT_GNU_BUILD_ID && note.n_namesz == 4) {
			library->build_id.bytes = note.n_descsz;
			memcpy(library->build_id.byte, text, note.n_descsz);
		}
		at = text + ((note.n_descsz + 3u) & ~3u);
	}
}

static int take_facts(struct dl_phdr_info *info, size_t size, void *context)
{
	struct library *library = context;
	(void)size;
	if (strcmp(info->dlpi_name, library->path) != 0)
		return 0;
	library->base = UINT64_MAX;
	uint64_t end = 0;
	for (unsigned i = 0; i < info->dlpi_phnum; i++) {
		const ElfW(Phdr) *segment = &info->dlpi_phdr[i];
		uint64_t start = (info->dlpi_addr + segment->p_vaddr) & ~(uint64_t)4095;
		if (segment->p_type == PT_NOTE)
			take_build_id(library, info, segment);
		if (segment->p_type != PT_LOAD)
			continue;
		library->base = start < library->base ? start : library->base;
		end = info->dlpi_addr + segment->p_vaddr + segment->p_memsz;
	}
	library->bytes = end - library->base;
	return 1;
}

static bool load(struct library *library, const char *name)
{
	*library = (struct library){ 0 };
	assert_true((size_t)snprintf(library->path, PATH_MAX, "%s/%s", folder, name) < PATH_MAX);
	if (access(library->path, R_OK) != 0)
		return false;
	library->handle = dlopen(library->path, RTLD_NOW | RTLD_LOCAL);
	if (library->handle == NULL)
		fail_msg("%s", dlerror());
	assert_int_equal(dl_iterate_phdr(take_facts, library), 1);
	void (*run)(place_function *) = NULL;
	*(void **)&run = dlsym(library->handle, "places_run");
	assert_non_null(run);
	places = 0;
	run(report_place);
	return true;
}

static inline struct gp_module module_of(const struct library *library)
{
	return (struct gp_module){ .path = library->path,
				   .build_id = library->build_id.byte,
				   .build_id_bytes = library->build_id.bytes,
				   .base = library->base,
				   .bytes = library->bytes,
				   .until = GP_ANY_TIME };
}

static inline struct gp_symbolizer *open_with(const struct gp_module *module,
					      const char *debug_root)
{
	struct gp_symbolizer *s = gp_symbolizer_open();
	assert_non_null(s);
	char root[PATH_MAX];
	assert_true((size_t)snprintf(root, PATH_MAX, "%s/%s", folder, debug_root) < PATH_MAX);
	gp_symbolizer_set_debug_root(s, root);
	assert_true(gp_symbolizer_add_module(s, module));
	return s;
}

static int find_folder(void **state)
{
	(void)state;
	ssize_t n = readlink("/proc/self/exe", folder, sizeof folder - 1);
	if (n <= 0)
		return -1;
	folder[n] = 0;
	char *unit = dirname(folder), *build = dirname(unit);
	memmove(folder, build, strlen(build) + 1);
	strcat(folder, "/symbols");
	/* no debuginfod server may be used: a look-up that uses one waits for this address */
	return setenv("DEBUGINFOD_URLS", "http://192.0.2.1:9/", 1);
}

#endif
