/*
 * Part of gpuprof.h, which includes it: the version of the reading interface, for programs that
 * load libgpuprof-read.so without its headers, such as the Python module.
 *
 * GP_API_MAJOR rises, and with it the number in libgpuprof-read.so.N, if a function disappears or
 * gets other arguments, an enum member gets another number, or a struct changes its size or the
 * place of a field. GP_API_MINOR rises if functions, structs or enum members are added. Until
 * gpuprof 1.0 a struct may change with GP_API_MINOR alone: compare gp_api_struct_bytes.
 */
#ifndef GPUPROF_API_H
#define GPUPROF_API_H

#include <stddef.h>

#define GP_API_MAJOR 0
#define GP_API_MINOR 1

/* Of the library: GP_VERSION, as "0.1.0". */
const char *gp_version(void);
/* Of the library: GP_API_MAJOR * 1000 + GP_API_MINOR. */
unsigned gp_api_version(void);
/*
 * sizeof of a struct of the interface in the library, by its name, as "gp_info": those that the
 * Python module reads. 0: it is not one of these.
 */
size_t gp_api_struct_bytes(const char *name);

#endif
