/*
 * The Python names of functions that Cython made. A mangled name does not show where the classes
 * end and the function's name begins. If two readings are possible, the function gets no name.
 */
#include <ctype.h>

#include "frame_names.h"
#include "name_text.h"

/* Reads one part of the scope: its length, its name, an underscore. 0: not a part. */
static size_t read_part(const char *at, const char **name, size_t *bytes)
{
	size_t digits = 0, length = 0;
	while (isdigit((unsigned char)at[digits]) && digits < 3)
		length = length * 10 + (size_t)(at[digits++] - '0');
	if (length == 0 || strlen(at + digits) < length + 2 || at[digits + length] != '_')
		return 0;
	bool has_letter = false;
	for (size_t i = 0; i < length; i++) {
		unsigned char c = (unsigned char)at[digits + i];
		if (!isalnum(c) && c != '_')
			return 0;
		has_letter |= isalpha(c) != 0;
	}
	*name = at + digits;
	*bytes = length;
	return !has_letter || isdigit((unsigned char)**name) ? 0 : digits + length + 1;
}

static bool cython_name_add(char *out, size_t *used, const char *text, size_t bytes)
{
	if (*used + bytes + 2 > GP_NAME_MAX)
		return false;
	if (*used != 0)
		out[(*used)++] = '.';
	memcpy(out + *used, text, bytes);
	out[ *used += bytes] = '\0';
	return true;
}

/* "cupy.core.core" lies in .../cupy/core/core.cpython-312-x86_64-linux-gnu.so */
static bool is_module(const char *dotted, const char *path)
{
	size_t bytes = strlen(dotted);
	const char *dot = strrchr(path, '/');
	dot = dot != NULL ? strchr(dot, '.') : NULL;
	if (dot == NULL || (size_t)(dot - path) < bytes + 1 || dot[-1 - (long)bytes] != '/')
		return false;
	for (size_t i = 0; i < bytes; i++) {
		char c = dot[(long)i - (long)bytes];
		if (c != dotted[i] && (c != '/' || dotted[i] != '.'))
			return false;
	}
	return true;
}

/*
 * Adds the function's name, which follows the scope. A number stands before it if it is not the
 * first function there.
 */
static bool add_function(const char *at, char *out, size_t *used)
{
	at += strspn(at, "0123456789");
	size_t bytes = 0;
	while (isalnum((unsigned char)at[bytes]) || at[bytes] == '_')
		bytes++;
	return bytes != 0 && !isdigit((unsigned char)*at) && ends_name(at + bytes) &&
	       cython_name_add(out, used, at, bytes);
}

bool gp_cython_name(const char *function, const char *module, char *name)
{
	static const char start[] = "__pyx_pw_";
	name[0] = '\0';
	if (module == NULL || !starts(function, start))
		return false;
	const char *at = function + sizeof start - 1, *part;
	size_t used = 0, bytes, step;
	bool is_whole = false;
	while (!is_whole && (step = read_part(at, &part, &bytes)) != 0) {
		if (!cython_name_add(name, &used, part, bytes))
			break;
		at += step;
		is_whole = is_module(name, module);
	}
	/* It is a class only if a number follows its name: else its length could be that number. */
	while (is_whole && (step = read_part(at, &part, &bytes)) != 0) {
		is_whole = isdigit((unsigned char)at[step]) &&
			   cython_name_add(name, &used, part, bytes);
		at += step;
	}
	if (is_whole && add_function(at, name, &used))
		return true;
	name[0] = '\0';
	return false;
}
