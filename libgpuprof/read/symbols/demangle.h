/*
 * Converts mangled names of C++ and Rust to source form. Contains libiberty, so it runs in the
 * program, never in the job.
 */
#ifndef GP_DEMANGLE_H
#define GP_DEMANGLE_H

#include <stddef.h>

#define GP_DEMANGLED_MAX 8192u

/*
 * Writes the source form of `name` to `out` (`room` bytes with the zero), without parameters: file
 * and line distinguish overloads. It copies a name that is not mangled or invalid, or whose source
 * form does not fit, and cuts it at `room`. Returns the length written.
 */
size_t gp_demangle(const char *name, char *out, size_t room);
/* The same with parameters. */
size_t gp_demangle_whole(const char *name, char *out, size_t room);

#endif
