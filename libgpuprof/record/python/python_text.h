/*
 * Copies a Python str out as UTF-8 without calling the interpreter. Reads only what never changes
 * in a str that has an owner: length, kind and characters; not the cached UTF-8, which other
 * threads fill.
 */
#ifndef GP_PYTHON_TEXT_H
#define GP_PYTHON_TEXT_H

#include "python_layout.h"

/* The caller's room and what lies in it. Not ended by a NUL, and may hold some. */
struct gp_python_text {
	char *bytes;
	size_t room;
	size_t size;
	bool is_cut; /* did not fit: ends in "..." */
};

/*
 * Lone surrogates (file names that are not UTF-8) come out as three bytes each, which strict
 * readers of UTF-8 refuse. An object that is not a plain str (a str of a class of its own, one of
 * an old form) comes out as "?".
 */
void gp_python_text_copy(const struct gp_python_layout *layout, const void *text_type,
			 const void *object, struct gp_python_text *out);

#endif
