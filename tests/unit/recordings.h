/* The recordings of tests/data. */
#ifndef RECORDINGS_H
#define RECORDINGS_H

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char *recordings_directory(void)
{
	const char *given = getenv("TEST_DATA"); /* set by run_units.sh */
	return given != NULL ? given : "tests/data";
}

/* Calls `visit` with each path. Returns for how many of them it returned true. */
static unsigned recordings_visit(bool (*visit)(const char *path))
{
	unsigned visited = 0;
	char path[1024];
	DIR *in = opendir(recordings_directory());
	assert_non_null(in);
	for (const struct dirent *e; (e = readdir(in)) != NULL;) {
		const char *dot = strrchr(e->d_name, '.');
		if (dot == NULL || strcmp(dot, ".gpr") != 0)
			continue;
		snprintf(path, sizeof path, "%s/%s", recordings_directory(), e->d_name);
		visited += visit(path);
	}
	closedir(in);
	return visited;
}

#endif
