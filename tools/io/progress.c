/*
 * The delay counts from the start of the program: many short tasks are one long wait.
 */
#include "progress.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "line_fit.h"
#include "message.h"
#include "monotonic.h"
#include "screen.h"
#include "stdin_recording.h"
#include "terminal_width.h"

#define PATIENCE_NS 1000000000 /* shorter work shows no progress */
#define TURN_NS 200000000

static bool has_line;
static int64_t next_ns;
static unsigned begun, expected; /* recordings */

/* A background process would write the line into the output of others. */
bool gp_progress_is_seen(void)
{
	const char *terminal = getenv("TERM");
	if (!isatty(STDERR_FILENO) || !terminal || strcmp(terminal, "dumb") == 0)
		return false;
	if (!next_ns)
		next_ns = gp_monotonic_ns() + PATIENCE_NS;
	const pid_t group = tcgetpgrp(STDERR_FILENO);
	return group < 0 || group == getpgrp();
}

bool gp_progress_is_due(void)
{
	const int64_t now = gp_monotonic_ns();
	if (now < next_ns || !gp_screen_is_free())
		return false;
	next_ns = now + TURN_NS;
	return true;
}

static void progress_print_line(const char *doing, const char *path, const char *how_far)
{
	char *line = NULL;
	size_t bytes = 0, most = SIZE_MAX;
	unsigned columns, rows;
	FILE *out = open_memstream(&line, &bytes);
	if (!out)
		return;
	fprintf(out, "%s %c", doing, GP_NAME_BEGIN);
	gp_mask(out, path, strlen(path));
	fprintf(out, "%c: ", GP_NAME_END);
	const size_t name_bytes = fflush(out) == 0 ? bytes : 0;
	fputs(how_far, out);
	if (fclose(out) == 0) {
		/* a line that wraps cannot be erased */
		if (gp_terminal_size(STDERR_FILENO, &columns, &rows) && columns)
			most = columns - 1;
		const bool has_name = gp_display_width(doing, strlen(doing)) + strlen(how_far) + 3 +
					      GP_NAME_LEAST <=
				      most;
		gp_line_fit(stderr, has_name ? line : line + name_bytes,
			    has_name ? bytes : bytes - name_bytes, most, gp_cut_mark());
	}
	free(line);
}

void gp_progress_show(const char *doing, const char *path, const char *how_far)
{
	fputs("\r\033[K", stderr);
	progress_print_line(doing, path, how_far);
	fflush(stderr);
	has_line = true;
}

void gp_progress_expect(unsigned recordings)
{
	expected = recordings;
	begun = 0;
}

static void show_replay(void *context, uint64_t done, uint64_t bytes, unsigned pass)
{
	char text[96], which[48] = "";
	if (!gp_progress_is_due())
		return;
	const double percent = bytes ? 100.0 * (double)done / (double)bytes : 0;
	if (expected > 1 && begun <= expected)
		snprintf(which, sizeof which, "%u of %u, ", begun, expected);
	snprintf(text, sizeof text, "%s%.0f%% (pass %u)", which, percent < 100 ? percent : 100,
		 pass);
	gp_progress_show("reading", gp_named_path(gp_recording_path(context)), text);
}

void gp_progress_watch(struct gp_recording *recording)
{
	begun++;
	if (gp_progress_is_seen())
		gp_recording_watch(recording, show_replay, recording);
}

void gp_progress_clear(void)
{
	const int error = errno;
	if (!has_line)
		return;
	fputs("\r\033[K", stderr);
	fflush(stderr);
	has_line = false;
	errno = error;
}
