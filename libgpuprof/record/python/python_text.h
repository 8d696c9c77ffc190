/*
 * Copies a Python str out as UTF-8 without calling the interpreter. Reads only what never changes
 * in a str with an owner: length, kind and characters. Not the cached UTF-8, which other threads
 * fill.
 */
#ifndef GP_PYTHON_TEXT_H
#define GP_PYTHON_TEXT_H

#include "python_layout.h"

/* The caller's buffer and its content. Not NUL-terminated, and may contain NULs. */
struct gp_python_text {
	char *bytes;
	size_t room;
	size_t size;
	bool is_cut; /* did not fit: ends in "..." */
};

/*
 * Lone surrogates (file names that are not UTF-8) become three bytes each, which strict readers of
 * UTF-8 reject. An object that is not a plain str becomes "?": a str of a subclass, or of an old
 * form.
 */
void gp_python_text_copy(const struct gp_python_layout *layout, const void *text_type,
			 const void *object, struct gp_python_text *out);

#endif
