/* Any bytes as the baseline of `gpuprof check`; the first byte selects the operation. */
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "fuzz.h"
#include "run_command.h"
#include "small_recording.h"

const char fuzz_name[] = "baseline";

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes)
{
	static const char *const lines[FUZZ_BASELINE_CHOICES] = {
		"check --baseline # @",
		"check --baseline # --json @",
		"check --baseline # --update --tolerance 1MiB @",
	};
	static char recording[PATH_MAX];
	char baseline[PATH_MAX];
	if (bytes < 2)
		return 0;
	if (recording[0] == '\0') {
		static uint8_t file[1 << 16];
		size_t length = small_recording_make(file, sizeof file, "");
		snprintf(recording, sizeof recording, "%s", fuzz_put("a.gpr", file, length));
	}
	snprintf(baseline, sizeof baseline, "%s", fuzz_put("baseline.json", data + 1, bytes - 1));
	run_command(lines[data[0] % FUZZ_BASELINE_CHOICES], recording, baseline, bytes - 1);
	unlink(baseline);
	return 0;
}
