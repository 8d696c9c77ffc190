/* The fields of GPUPROF_OUTPUT, as the library expands them and `gpuprof run` looks for them. */
#ifndef GP_NAME_FIELDS_H
#define GP_NAME_FIELDS_H

#include <stddef.h>
#include <string.h>

/* The } of {NAME} at `at`; NULL: no name of a variable stands there. */
static inline const char *gp_field_variable_end(const char *at)
{
	const char *end = *at == '{' ? strchr(at, '}') : NULL;
	return end && end > at + 1 && end - at <= 64 ? end : NULL;
}

/* How a byte of a value appears in a name: no separators, no dot first. */
static inline char gp_field_byte(char c, int is_first)
{
	return c == '/' || (unsigned char)c < 0x20 || (c == '.' && is_first) ? '_' : c;
}

/* The first % of `pattern` that stands for nothing and is kept as it is; NULL: none. */
static inline const char *gp_output_flaw(const char *pattern)
{
	while ((pattern = strchr(pattern, '%'))) {
		if (!pattern[1] || !strchr("hptrlnjq%", pattern[1]) ||
		    (pattern[1] == 'q' && !gp_field_variable_end(pattern + 2)))
			return pattern;
		pattern += 2;
	}
	return NULL;
}

#endif
