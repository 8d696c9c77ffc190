/*
 * NVTX is header code in each library that uses it. At its first call it opens the object in
 * NVTX_INJECTION64_PATH, which fills in its table of functions. A process that inherits the
 * variable without our preload also opens this object, long after its start. Then it records that
 * NVTX ranges are missing.
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
#include "nccl_payload.h"
#include "nvtx_calls.h"

#define EXPORT __attribute__((visibility("default")))
#define VARIABLE "NVTX_INJECTION64_PATH"

EXPORT int InitializeInjectionNvtx2(gp_nvtx_get_table *get);
EXPORT int InitializeInjectionNvtxExtension(const struct gp_nvtx_extension *extension);

/* The tool that has NVTX instead; "": none. */
static char taken_by[PATH_MAX];
static bool is_nccl_silent; /* NCCL_NVTX_DISABLE */

/*
 * Whether this object comes before the C library, as a preload does. Objects opened later come
 * after it.
 */
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
	/* another path of the same file name is our own, set by the recording of a parent */
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
	const char *silent = getenv("NCCL_NVTX_DISABLE");
	is_nccl_silent = silent && strtoll(silent, NULL, 0) != 0; /* as NCCL reads it */
	if (gp_settings.has_nvtx && is_in_front())
		offer();
	errno = kept;
}

void gp_nvtx_write(void)
{
	static char text[PATH_MAX + 16] = "taken by ";
	gp_range_objects_write();
	gp_nccl_write();
	if (is_nccl_silent)
		gp_define_fact(GP_FACT_NCCL_SILENT, 1, NULL);
	if (!taken_by[0])
		return;
	strcpy(text + strlen("taken by "), taken_by);
	gp_define_fact(GP_FACT_NVTX, 0, text);
	gp_log(false, "ranges of NVTX are not recorded, it is taken by", taken_by);
}

/* Fills in the functions that the module's table has room for. */
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

/* 0: no tool; each call of NVTX then does nothing. */
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

/* Payloads, as far as the table has room. Counters and heaps are not recorded. */
int InitializeInjectionNvtxExtension(const struct gp_nvtx_extension *extension)
{
	if (!gp_lookups_open || !gp_settings.has_nvtx || !extension || !is_in_front() ||
	    extension->bytes < sizeof *extension || extension->module != GP_NVTX_PAYLOAD_MODULE ||
	    extension->compatible >> 8 != GP_NVTX_PAYLOAD_COMPATIBLE || extension->segments == 0 ||
	    !extension->segment || !extension->segment->slot)
		return 0;
	for (unsigned k = 0; k < GP_NVTX_PAYLOAD_ROWS; k++) {
		const struct gp_nvtx_payload_row *row = &gp_nvtx_payload_rows[k];
		if (row->slot < extension->segment->slots)
			extension->segment->slot[row->slot] = (intptr_t)row->function;
	}
	return 1;
}
