/*
 * Adopts rings, and prints the failures from the report of the adoption.
 */
#include "leftovers.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../io/message.h"
#include "../io/progress.h"
#include "../io/screen.h"
#include "../io/stdin_recording.h"
#include "gpuprof.h"

static char *printed; /* the lines printed so far, each with its newline */

static bool print_once(const char *line, size_t bytes)
{
	size_t before = printed ? strlen(printed) : 0;
	if (printed && memmem(printed, before, line, bytes))
		return false;
	char *grown = realloc(printed, before + bytes + 1);
	if (grown) {
		printed = grown;
		memcpy(printed + before, line, bytes);
		printed[before + bytes] = '\0';
	}
	gp_message_line(line, bytes - 1);
	return true;
}

static bool begins(const char *line, const char *with)
{
	return strncmp(line, with, strlen(with)) == 0;
}

/* Handles each line at once, since an adoption can wait. Omits lines on successful adoptions. */
static ssize_t take_line(void *context, const char *line, size_t bytes)
{
	(void)context;
	for (size_t at = 0, n; at < bytes; at += n) {
		const char *end = memchr(line + at, '\n', bytes - at);
		n = end ? (size_t)(end - line) + 1 - at : bytes - at;
		if (!end || begins(line + at, "gpuprof: adopted ") ||
		    begins(line + at, "gpuprof: kept "))
			continue;
		if (print_once(line + at, n) && begins(line + at, "gpuprof: cannot adopt "))
			gp_hint("the events stay in the ring file until they can be adopted; "
				"remove it to discard them");
	}
	return (ssize_t)bytes;
}

static FILE *open_report(void)
{
	static char line[8192];
	FILE *report = fopencookie(NULL, "w", (cookie_io_functions_t){ .write = take_line });
	if (report)
		setvbuf(report, line, _IOLBF, sizeof line);
	return report;
}

void gp_leftovers_adopt_own(const char *recording, bool is_quiet)
{
	static uint64_t wait_ns = GP_ADOPT_WAIT_NS;
	FILE *report = is_quiet ? NULL : open_report();
	gp_adopt_into(recording, &wait_ns, NULL, report);
	if (report)
		fclose(report);
}

void gp_leftovers_adopt(const char *recording)
{
	static bool is_done;
	if (!gp_is_stdin(recording))
		gp_leftovers_adopt_own(recording, false);
	if (!is_done)
		gp_adopt(NULL, NULL);
	is_done = true;
}
