/*
 * The owner of a file, by its path: the library of a module, and the library of a Python file that
 * calls the driver. The rows are in frame_names.def.
 */
#ifndef GP_LIBRARY_NAMES_H
#define GP_LIBRARY_NAMES_H

#include <stdbool.h>

const char *gp_library_of(const char *module); /* NULL: not a known library */
/* The name of a module of no known library: its package, or its file's name up to a dot. */
void gp_library_by_file(const char *module, char *out);
const char *gp_python_library_of(const char *file); /* NULL: likewise */

/* The part of a path after the last "-packages/": a package and a file in it. NULL: none. */
const char *gp_package_of(const char *path);
/* True: the path begins with these folders. A star at the end matches the rest of the last name. */
bool gp_path_begins(const char *path, const char *folders);

#endif
