/* Any bytes as the file of a module: looks up names and lines in it. */
#include <limits.h>
#include <stdio.h>
#include <string.h>

#include "../../libgpuprof/read/symbols/symbolize.h"
#include "fuzz.h"

const char fuzz_name[] = "symbols";

#define BASE 0x400000u
#define PLACES 96u

static void read_texts(const struct gp_symbol *symbol)
{
	static volatile size_t sum;
	const char *const texts[] = { symbol->function, symbol->file, symbol->symbol,
				      symbol->module, gp_symbol_why_text(symbol->why) };
	for (size_t i = 0; i < sizeof texts / sizeof *texts; i++)
		if (texts[i])
			sum = sum + strlen(texts[i]);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes)
{
	char path[PATH_MAX], none[PATH_MAX];
	struct gp_symbol found[64];
	snprintf(path, sizeof path, "%s", fuzz_put("module.so", data, bytes));
	snprintf(none, sizeof none, "%.4000s/debug", fuzz_place());
	const struct gp_module module = { .path = path, .base = BASE, .bytes = 1u << 24 };
	struct gp_symbolizer *s = gp_symbolizer_open();
	if (!s)
		return 0;
	gp_symbolizer_set_debug_root(s, none);
	fuzz_limit_begin();
	if (gp_symbolizer_add_module(s, &module))
		for (uint64_t k = 0; k < PLACES; k++) {
			/* code begins at 0x1000 in the seeds, as the linker places it */
			size_t n = gp_symbolizer_find(s, BASE + 0x1000 + k * 11, found, 64);
			for (size_t i = 0; i < n; i++)
				read_texts(&found[i]);
		}
	fuzz_limit_end(bytes, "names of a module");
	gp_symbolizer_close(s);
	return 0;
}
