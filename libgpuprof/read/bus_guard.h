/*
 * Files that are read as memory, and that somebody may cut short meanwhile: what is gone reads as
 * zeros, where the kernel would end the process with SIGBUS. Not for tools/.
 */
#ifndef GP_BUS_GUARD_H
#define GP_BUS_GUARD_H

#include <stdbool.h>
#include <stddef.h>

/*
 * From now on pages of [base, base + bytes), a private mapping, are replaced when they cannot be
 * read. False: there are too many such ranges already. For one thread.
 */
bool gp_bus_guard_add(void *base, size_t bytes);
void gp_bus_guard_remove(const void *base);

#endif
