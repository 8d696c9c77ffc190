/*
 * Whose a file is, by its path: which library a module belongs to, and which of those that call the
 * driver from Python. The rows are in frame_names.def.
 */
#ifndef GP_LIBRARY_NAMES_H
#define GP_LIBRARY_NAMES_H

#include <stdbool.h>

const char *gp_library_of(const char *module); /* NULL: none of those that are known */
/* What a module of no known library is called: its package, or its file's name up to a dot. */
void gp_library_by_file(const char *module, char *out);
const char *gp_python_library_of(const char *file); /* NULL: likewise */

/* What follows the last "-packages/" of a path: a package and a file in it. NULL: not so. */
const char *gp_package_of(const char *path);
/* Whether it begins with these folders; of the last one with a star, with its start. */
bool gp_path_begins(const char *path, const char *folders);

#endif
