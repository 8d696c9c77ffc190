/* The version of the reading interface, and the sizes of its structs in this library. */
#include <string.h>

#include "../gpuprof.h"

const char *gp_version(void)
{
	return GP_VERSION;
}

unsigned gp_api_version(void)
{
	return GP_API_MAJOR * 1000u + GP_API_MINOR;
}

size_t gp_api_struct_bytes(const char *name)
{
	static const struct {
		const char *name;
		size_t bytes;
	} structs[] = {
#define STRUCT(name) { #name, sizeof(struct name) },
#include "api_structs.def"
#undef STRUCT
	};
	for (size_t k = 0; k < sizeof structs / sizeof *structs; k++)
		if (strcmp(structs[k].name, name) == 0)
			return structs[k].bytes;
	return 0;
}
