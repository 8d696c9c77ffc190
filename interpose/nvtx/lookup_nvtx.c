/*
 * NVTX is header code in each library that uses it: at its first call it opens the object that
 * NVTX_INJECTION64_PATH names and lets it fill its table of functions. A process that inherits the
 * variable without our preload opens us too, long after its start: then it records
 * that NVTX is not seen.
 */
#include "lookup_nvtx.h"

#include <dlfcn.h>
#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "../../libgpuprof/record/process/settings.h"
#include "../../libgpuprof/record/ranges/range_mark.h"
#include "../lookup/elf_lookup.h"
#include "../lookup/resolver.h"
#include "nvtx_calls.h"

#define EXPORT __attribute__((visibility("default")))
#define VARIABLE "NVTX_INJECTION64_PATH"

EXPORT int InitializeInjectionNvtx2(gp_nvtx_get_table *get);
EXPORT int InitializeInjectionNvtxExtension(void *module);

/* The tool that NVTX calls instead; "": none. */
static char taken_by[PATH_MAX];

/* Loaded in front of the C library: a preload. What is opened later lies behind it. */
static bool is_in_front(void)
{
	return gp_elf_position((void *)gp_nvtx_offer) < gp_elf_position((void *)gp_libc_dlsym);
}

static bool is_same_name(const char *path, const char *own)
{
	const char *slash = strrchr(path, '/'), *own_slash = strrchr(own, '/');
	return strcmp(slash ? slash + 1 : path, own_slash ? own_slash + 1 : own) == 0;
}

static void offer(void)
{
	static char own[PATH_MAX];
	const char *other = getenv(VARIABLE);
	Dl_info here;
	if (!dladdr((void *)gp_nvtx_offer, &here) || !here.dli_fname ||
	    !realpath(here.dli_fname, own))
		return;
	/* a copy of ours elsewhere, of a parent's recording, is not this one */
	if (other && *other && !is_same_name(other, own)) {
		strncpy(taken_by, other, sizeof taken_by - 1);
		return;
	}
	if (!other || strcmp(other, own) != 0)
		setenv(VARIABLE, own, 1);
}

void gp_nvtx_offer(void)
{
	int kept = errno;
	if (gp_settings.has_nvtx && is_in_front())
		offer();
	errno = kept;
}

void gp_nvtx_tell(void)
{
	static char text[PATH_MAX + 16] = "taken by ";
	gp_range_objects_tell();
	if (!taken_by[0])
		return;
	strcpy(text + strlen("taken by "), taken_by);
	gp_define_fact(GP_FACT_NVTX, 0, text);
	gp_say(false, "ranges of NVTX are not recorded, it is taken by", taken_by);
}

/* Fills what the module's table has room for. */
static void fill_module(const struct gp_nvtx_callbacks *callbacks, uint32_t module)
{
	gp_nvtx_function ***table = NULL;
	unsigned count = 0;
	if (!callbacks->module_table((int)module, &table, &count) || !table)
		return;
	for (unsigned k = 0; k < GP_NVTX_ROWS; k++) {
		const struct gp_nvtx_row *row = &gp_nvtx_rows[k];
		if (row->module == module && row->number < count && table[row->number])
			*table[row->number] = row->function;
	}
}

/* 0: no tool, each call of NVTX does nothing from then on. */
int InitializeInjectionNvtx2(gp_nvtx_get_table *get)
{
	if (!gp_lookups_open || !gp_settings.has_nvtx || !get || !is_in_front())
		return 0;
	const struct gp_nvtx_callbacks *callbacks = get(GP_NVTX_CALLBACKS);
	const struct gp_nvtx_version_info *version = get(GP_NVTX_VERSION_INFO);
	if (!callbacks || callbacks->bytes < sizeof *callbacks || !callbacks->module_table)
		return 0;
	if (version && version->bytes >= sizeof *version && version->set_version)
		version->set_version(GP_NVTX_VERSION);
	for (uint32_t module = 1; module < GP_NVTX_MODULES; module++)
		fill_module(callbacks, module);
	return 1;
}

/* Payload schemas, counters, heaps: nothing of these is recorded. */
int InitializeInjectionNvtxExtension(void *module)
{
	(void)module;
	return 0;
}
