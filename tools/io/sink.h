/*
 * The output of a report or a copy: stdout, or a file that gets its name only when it is complete
 * and on disk. Until then it is NAME.XXXXXX. A report has the mode of the file that it replaces,
 * else 0666 less the umask; a recording has mode 0600. If a signal other than SIGKILL ends the
 * program, no temporary file remains. One sink at a time.
 */
#ifndef GP_SINK_H
#define GP_SINK_H

#include <limits.h>
#include <stdbool.h>
#include <stdio.h>

struct gp_sink {
	FILE *out;
	const char *path; /* as given; NULL: stdout */
	bool has_report;  /* set by the caller: something was read and reported */
	bool may_replace, is_recording, is_text;
	/* the temporary file and its final name; "": none, a device or stdout */
	char written[PATH_MAX], target[PATH_MAX];
};

/*
 * `path` NULL or "-": stdout. `is_text`: a report for people, with colours and, on a terminal, a
 * width and a pager (screen.h). `inputs`: the files that the report will read; `path` must not be
 * one of them. `may_replace`: an existing file is replaced when the report is complete; a device or
 * a pipe is written to. Returns GP_EXIT_OK, or prints the error and returns the exit status of the
 * command.
 */
int gp_sink_open(struct gp_sink *sink, const char *path, bool may_replace, bool is_text,
		 char *const *inputs, int count);

/* Checks in advance whether gp_sink_open would fail. Leaves no file. */
int gp_sink_check(const char *path, bool may_replace, char *const *inputs, int count);

/* For a copy of a recording, written through the descriptor of `out`. Never replaces a file. */
int gp_sink_open_recording(struct gp_sink *sink, const char *path);

/*
 * `exit_status`: of the report so far. Without a report, or if it failed, no file is left, and an
 * existing file stays. Does not overwrite a file that has appeared since, unless may_replace.
 * Returns the exit status of the command.
 */
int gp_sink_close(struct gp_sink *sink, int exit_status);

#endif
