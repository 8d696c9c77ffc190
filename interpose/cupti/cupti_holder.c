/* The libraries of tools that use CUPTI, or its part of the driver (cupti_holder.h). */
#include "cupti_holder.h"

#include <link.h>
#include <string.h>

static const struct {
	const char *library, *tool;
} holders[] = {
	{ "libToolsInjection64.so", "Nsight Systems" },
	{ "libToolsInjectionProxy64.so", "Nsight Systems" },
	{ "libcuda-injection.so", "Nsight Compute" },
	{ "libTreeLauncherTargetInjection.so", "Nsight Compute" },
	{ "libsanitizer-collection.so", "compute-sanitizer" },
	{ "libdcgm", "DCGM" },
};

static int holder_visit(struct dl_phdr_info *object, size_t bytes, void *context)
{
	(void)bytes;
	const char *slash = object->dlpi_name ? strrchr(object->dlpi_name, '/') : NULL;
	const char *name = slash ? slash + 1 : "";
	for (size_t k = 0; k < sizeof holders / sizeof *holders; k++)
		if (strncmp(name, holders[k].library, strlen(holders[k].library)) == 0) {
			*(const char **)context = holders[k].tool;
			return 1;
		}
	return 0;
}

const char *gp_cupti_holder(void)
{
	const char *tool = NULL;
	dl_iterate_phdr(holder_visit, &tool);
	return tool;
}
