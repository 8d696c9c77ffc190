/*
 * Mangled names of C++ and Rust to what people write: without parameters, as overloads are told
 * apart by file and line. Holds libiberty; runs in the program, never in the job.
 */
#ifndef GP_DEMANGLE_H
#define GP_DEMANGLE_H

#include <stddef.h>

#define GP_DEMANGLED_MAX 8192u

/*
 * Writes `name` as people write it to `out` (`room` bytes with the zero). A name that is not
 * mangled, that does not parse or whose plain form does not fit is copied as it is, cut at `room`.
 * Returns the length written.
 */
size_t gp_demangle(const char *name, char *out, size_t room);

#endif
