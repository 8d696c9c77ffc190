/*
 * A demangled name can be exponentially longer than its mangled one: output stops where room ends.
 */
#include "demangle.h"

#include <setjmp.h>
#include <stdbool.h>
#include <string.h>

#include <libiberty/demangle.h>

/* libiberty keeps arrays of about 50 times this size on the stack */
#define MANGLED_MAX 16384u

struct text {
	char *out;
	size_t used, room;
	jmp_buf full;
};

static void append(const char *piece, size_t bytes, void *context)
{
	struct text *text = context;
	if (bytes >= text->room - text->used)
		longjmp(text->full, 1);
	memcpy(text->out + text->used, piece, bytes);
	text->used += bytes;
}

static int print(const char *name, int options, struct text *text)
{
	/* Rust's older names are C++ names with a hash at their end */
	bool is_old_rust = strncmp(name, "_ZN", 3) == 0 && strstr(name, "17h") != NULL;
	if (strncmp(name, "_R", 2) == 0 || is_old_rust) {
		if (rust_demangle_callback(name, options, append, text))
			return 1;
	}
	if (strncmp(name, "_Z", 2) == 0)
		return cplus_demangle_v3_callback(name, options, append, text);
	return 0;
}

/* The length; 0: not mangled, damaged, or longer than fits. */
static size_t plain_form(const char *name, int options, char *out, size_t room)
{
	struct text text = { .out = out, .room = room };
	/* libiberty holds no memory while it prints to a callback, so longjmp leaks none */
	if (setjmp(text.full) != 0 || !print(name, options, &text))
		return 0;
	out[text.used] = 0;
	return text.used;
}

static size_t demangle(const char *name, int options, char *out, size_t room)
{
	size_t bytes = strlen(name);
	size_t plain = bytes < MANGLED_MAX ? plain_form(name, options, out, room) : 0;
	if (plain != 0)
		return plain;
	if (bytes >= room)
		bytes = room - 1;
	memcpy(out, name, bytes);
	out[bytes] = 0;
	return bytes;
}

size_t gp_demangle(const char *name, char *out, size_t room)
{
	return demangle(name, 0, out, room);
}

size_t gp_demangle_whole(const char *name, char *out, size_t room)
{
	return demangle(name, DMGL_PARAMS, out, room);
}
