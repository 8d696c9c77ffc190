/*
 * Every command that reads recordings. The first byte selects a line of command_lines.def; the rest
 * is the recording.
 */
#include <limits.h>
#include <stdio.h>
#include <unistd.h>

#include "command_lines.h"
#include "fuzz.h"
#include "run_command.h"

const char fuzz_name[] = "commands";

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes)
{
	char recording[PATH_MAX], new_file[PATH_MAX];
	if (bytes < 2)
		return 0;
	snprintf(recording, sizeof recording, "%s", fuzz_put("a.gpr", data + 1, bytes - 1));
	snprintf(new_file, sizeof new_file, "%.4000s/new", fuzz_place());
	run_command(fuzz_command_line[data[0] % FUZZ_COMMAND_LINES], recording, new_file,
		    bytes - 1);
	unlink(new_file);
	snprintf(new_file, sizeof new_file, "%.4000s/new.svg", fuzz_place());
	unlink(new_file);
	snprintf(new_file, sizeof new_file, "%.4000s/new.html", fuzz_place());
	unlink(new_file);
	return 0;
}
