/* Matches the text of a rule with a name, and writes names. */
#ifndef GP_NAME_TEXT_H
#define GP_NAME_TEXT_H

#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "../../gpuprof.h"

/* The last part of a path. */
static inline const char *file_of(const char *path)
{
	const char *slash = strrchr(path, '/');
	return slash != NULL && slash[1] != '\0' ? slash + 1 : path;
}

static inline bool starts(const char *text, const char *with)
{
	return *text == *with && strncmp(text, with, strlen(with)) == 0;
}

/* A pattern with a star matches a text with the pattern's beginning and end. */
static inline bool fits(const char *text, const char *pattern)
{
	if (*pattern != *text && *pattern != '*') /* fast: most texts fail here */
		return false;
	const char *star = strchr(pattern, '*');
	if (star == NULL)
		return strcmp(text, pattern) == 0;
	size_t bytes = strlen(text), before = (size_t)(star - pattern), after = strlen(star + 1);
	return bytes >= before + after && memcmp(text, pattern, before) == 0 &&
	       memcmp(text + bytes - after, star + 1, after) == 0;
}

/* True where a function's name ends: at its parameters, or at a suffix that a compiler adds. */
static inline bool ends_name(const char *at)
{
	return *at == 0 || *at == '(' || *at == ' ' || *at == '[';
}

/* False: it is too long, and `out` is unchanged. */
static inline bool write_name(char *out, const char *start, const char *name, size_t bytes)
{
	int n = snprintf(out, GP_NAME_MAX, "%s%.*s", start, (int)bytes, name);
	if (n > 0 && (size_t)n < GP_NAME_MAX)
		return true;
	out[0] = 0;
	return false;
}

#endif
