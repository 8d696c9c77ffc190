/*
 * How much more memory this process may take before a limit of its own stops it: memory cgroups of
 * version 1 and 2, RLIMIT_AS, RLIMIT_DATA, and RLIMIT_MEMLOCK where memory is locked. Reads files,
 * so on the drain thread only.
 */
#ifndef GP_HEADROOM_H
#define GP_HEADROOM_H

#include <stdint.h>

#define GP_NO_LIMIT UINT64_MAX

/* Of two numbers of bytes; GP_NO_LIMIT is above all others. */
static inline uint64_t gp_least(uint64_t a, uint64_t b)
{
	return a < b ? a : b;
}

/*
 * Bytes that the memory cgroups leave: the least over all levels of the limit less what is used. In
 * version 2 the limit is the smaller of memory.max and memory.high. File pages that the kernel can
 * drop do not count as used. `root` stands before each path that is read; "" in the job.
 * GP_NO_LIMIT: there is none, or it cannot be read.
 */
uint64_t gp_headroom_cgroup(const char *root);
/* What the process's own limits leave for mappings, used or not. */
uint64_t gp_headroom_mappings(void);
/* The least of all; `root` as above. */
uint64_t gp_headroom(const char *root);

#endif
