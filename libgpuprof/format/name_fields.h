/* The fields of GPUPROF_OUTPUT. The library expands them; `gpuprof run` searches for them. */
#ifndef GP_NAME_FIELDS_H
#define GP_NAME_FIELDS_H

#include <stddef.h>
#include <string.h>

/* The } of {NAME} at `at`; NULL: not the name of a variable. */
static inline const char *gp_field_variable_end(const char *at)
{
	const char *end = *at == '{' ? strchr(at, '}') : NULL;
	return end && end > at + 1 && end - at <= 64 ? end : NULL;
}

/* How a byte of a value appears in a file name: no separators, no leading dot. */
static inline char gp_field_byte(char c, int is_first)
{
	return c == '/' || (unsigned char)c < 0x20 || (c == '.' && is_first) ? '_' : c;
}

/* The first % of `pattern` that is not a field and stays as it is; NULL: none. */
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
