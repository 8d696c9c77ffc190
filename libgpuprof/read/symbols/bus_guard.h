/*
 * Guards files that are mapped and read. Another process may cut such a file short: the lost part
 * then reads as zeros, where the kernel would end this process with SIGBUS. Not for tools/.
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
