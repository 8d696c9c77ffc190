// Prints the names that a recording stores, one JSON object a frame, from the blocks behind its
// end. Follows docs/FORMAT.md alone, and exits with 1 for all that this page calls damaged.
//   golden_names RECORDING
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "golden.h"

enum { MODULE = 5, NATIVE_NAME = 15 };

static void print_named(const char *text)
{
	if (*text)
		print_text(text, (uint32_t)strlen(text));
	else
		printf("null");
}

int main(int argc, char **argv)
{
	const char **module = calloc(65536, sizeof *module);
	need(argc == 2 && module != NULL, "golden_names RECORDING");
	open_recording(argv[1]);
	open_names();
	for (size_t i = 0; i < n_blocks; i++) {
		need(blocks[i].type == DEFINE && blocks[i].sequence == i, "another block");
		read_payload(&blocks[i]);
	}
	for (size_t i = 0; i < n_records; i++) {
		const struct record *r = &records[i];
		need(r->v[4] < 65536, "a module's number");
		if (r->kind == MODULE && r->text)
			module[r->v[4]] = strchr(r->text, ' ');
		if (r->kind != NATIVE_NAME)
			continue;
		const char *name = r->text ? r->text : "", *file = name + strlen(name);
		file += r->text && file < r->text + r->text_bytes;
		need(module[r->v[4]] != NULL, "a module that does not exist");
		need((*name == 0) == (r->v[2] != 0) && r->v[2] <= 6, "a reason");
		printf("{\"module\": ");
		print_named(module[r->v[4]] + 1);
		printf(", \"offset\": %" PRIu64 ", \"why\": %" PRIu64
		       ", \"inlined\": %d, \"frame\": [",
		       r->v[0], r->v[2], r->v[3] != 0);
		print_named(name);
		printf(", ");
		print_named(file);
		printf(", %" PRIu64 "]}\n", r->v[1]);
	}
	need(n_records > 0 && !records[n_records - 1].v[3], "a frame without the one around it");
	return 0;
}
