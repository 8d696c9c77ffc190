/*
 * Guards files that are mapped and read. If another process truncates such a file, the lost part
 * reads as zeros. Without the guard the kernel ends this process with SIGBUS. Not for tools/.
 */
#ifndef GP_BUS_GUARD_H
#define GP_BUS_GUARD_H

#include <stdbool.h>
#include <stddef.h>

/*
 * From now on, unreadable pages of [base, base + bytes), a private mapping, are replaced. False:
 * the table of ranges is full. For one thread.
 */
bool gp_bus_guard_add(void *base, size_t bytes);
void gp_bus_guard_remove(const void *base);

#endif
