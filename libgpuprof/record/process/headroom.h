/*
 * How much more memory this process may take before one of its limits stops it. Limits: memory
 * cgroups of version 1 and 2, RLIMIT_AS, RLIMIT_DATA, and RLIMIT_MEMLOCK for locked memory. Reads
 * files, so on the drain thread only.
 */
#ifndef GP_HEADROOM_H
#define GP_HEADROOM_H

#include <stdint.h>

#define GP_NO_LIMIT UINT64_MAX

/* The smaller number of bytes; GP_NO_LIMIT is the largest. */
static inline uint64_t gp_least(uint64_t a, uint64_t b)
{
	return a < b ? a : b;
}

/*
 * Bytes that the memory cgroups leave: the minimum over all levels of limit minus usage. In version
 * 2 the limit is the smaller of memory.max and memory.high. File pages that the kernel can drop do
 * not count as used. `root` is a prefix of each path that is read; "" in the job. GP_NO_LIMIT: no
 * limit, or it cannot be read.
 */
uint64_t gp_headroom_cgroup(const char *root);
/* Bytes that the limits of the process leave for mappings, used or not. */
uint64_t gp_headroom_mappings(void);
/* The minimum of all; `root` as above. */
uint64_t gp_headroom(const char *root);

#endif
