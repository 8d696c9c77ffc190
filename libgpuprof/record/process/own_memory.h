/*
 * Copies memory of this process that another thread may unmap at any moment: the kernel copies, and
 * stops at unmapped memory. Through /proc/self/mem, since a filter of system calls may end a
 * process for process_vm_readv. The descriptor is in the calling thread's table: not for the hot
 * path. None of these calls is a cancellation point.
 */
#ifndef GP_OWN_MEMORY_H
#define GP_OWN_MEMORY_H

#include <fcntl.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/syscall.h>
#include <unistd.h>

/* Negative: the kernel does not allow copies (no /proc, a process that changed its user, ...). */
static inline int gp_own_memory_open(void)
{
	return (int)syscall(SYS_openat, AT_FDCWD, "/proc/self/mem", O_RDONLY | O_CLOEXEC);
}

/* Number of bytes copied; less than `bytes` at the end of mapped memory. */
static inline size_t gp_own_memory_read(int memory, uintptr_t from, void *to, size_t bytes)
{
	const long n = syscall(SYS_pread64, memory, to, bytes, from);
	return n > 0 ? (size_t)n : 0;
}

static inline void gp_own_memory_close(int memory)
{
	if (memory >= 0)
		syscall(SYS_close, memory);
}

#endif
