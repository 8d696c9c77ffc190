/*
 * Where a report or a copy goes: stdout, or a file that appears under its name only when it is
 * whole and on the disk; until then it is NAME.XXXXXX. Files are new. A report has the mode of the
 * file that it replaces, else 0666 less the umask; a recording has mode 0600. A program ended by a
 * signal (not SIGKILL) leaves none behind; one sink at a time.
 */
#ifndef GP_SINK_H
#define GP_SINK_H

#include <limits.h>
#include <stdbool.h>
#include <stdio.h>

struct gp_sink {
	FILE *out;
	const char *path; /* as the user named it; NULL: stdout */
	bool has_report;  /* the caller sets it: something was read and reported */
	bool may_replace, is_recording, is_text;
	/* the file that is written, and what it is renamed to; "": none, a device or stdout */
	char written[PATH_MAX], target[PATH_MAX];
};

/*
 * NULL or "-" as `path`: stdout. `is_text`: the report is for a person, so it has colours and, on a
 * terminal, a width and a pager (screen.h). `inputs`: what the report will read, of which `path`
 * must be none. `may_replace`: a file of that name is replaced when the report is whole; a device
 * or a pipe is written to. Returns GP_EXIT_OK, or says why not and returns the exit status of the
 * command.
 */
int gp_sink_open(struct gp_sink *sink, const char *path, bool may_replace, bool is_text,
		 char *const *inputs, int count);

/* What gp_sink_open would say, for who has to know it earlier. Leaves no file. */
int gp_sink_check(const char *path, bool may_replace, char *const *inputs, int count);

/* For a copy of a recording, written through the descriptor of `out`: nothing is replaced. */
int gp_sink_open_recording(struct gp_sink *sink, const char *path);

/*
 * `exit_status`: of the report so far. Without a report, or when it failed, no file is left, and
 * what was to be replaced stays as it was; a file that has come to the name since is not
 * overwritten, unless it may be. Returns the exit status of the command.
 */
int gp_sink_close(struct gp_sink *sink, int exit_status);

#endif
