/* Adoption, and the lines of its report that say what went wrong. */
#include "leftovers.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "gpuprof.h"
#include "message.h"

static char *said; /* every line of it ends with a newline */

static bool say_once(const char *line, size_t bytes)
{
	size_t before = said ? strlen(said) : 0;
	if (said && memmem(said, before, line, bytes))
		return false;
	char *grown = realloc(said, before + bytes + 1);
	if (grown) {
		said = grown;
		memcpy(said + before, line, bytes);
		said[before + bytes] = '\0';
	}
	gp_mask(stderr, line, bytes - 1);
	fputc('\n', stderr);
	return true;
}

static void say_failures(const char *report)
{
	static const char failed[] = "gpuprof: cannot adopt ";
	bool is_any = false;
	while (*report) {
		size_t line = strcspn(report, "\n");
		line += report[line] == '\n';
		if (strncmp(report, failed, sizeof failed - 1) == 0)
			is_any |= say_once(report, line);
		report += line;
	}
	if (is_any)
		gp_hint("what is left stays in the ring file until it can be adopted");
}

static void adopt_reported(const char *recording)
{
	char *text = NULL;
	size_t bytes = 0;
	FILE *report = open_memstream(&text, &bytes);
	if (recording)
		gp_adopt_beside(recording, NULL, report);
	else
		gp_adopt(NULL, report);
	if (report && fclose(report) == 0)
		say_failures(text);
	free(text);
}

/* Not where the look before was: recordings are named directory by directory. */
static bool is_elsewhere(const char *recording)
{
	static dev_t device;
	static ino_t inode;
	char directory[4096];
	struct stat st;
	const char *slash = strrchr(recording, '/');
	size_t n = slash ? (size_t)(slash - recording) + 1 : 0;
	if (n == 0 || n >= sizeof directory)
		return false;
	memcpy(directory, recording, n);
	directory[n] = '\0';
	if (stat(directory, &st) != 0 || (st.st_dev == device && st.st_ino == inode))
		return false;
	device = st.st_dev;
	inode = st.st_ino;
	return true;
}

void gp_leftovers_adopt(const char *recording)
{
	static bool is_done;
	if (!is_done)
		adopt_reported(NULL);
	is_done = true;
	if (recording && is_elsewhere(recording))
		adopt_reported(recording);
}
