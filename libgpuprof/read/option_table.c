/* The options of options.def, for the program and the documents. */
#include "../gpuprof.h"

static const struct gp_option options[] = {
#define OPTION(NAME, variable, flag, letter, value, initial, text) \
	{ variable, flag, letter, value, initial, text },
#include "../format/options.def"
#undef OPTION
};

size_t gp_options(const struct gp_option **out)
{
	*out = options;
	return sizeof options / sizeof *options;
}
