/*
 * Preloaded in front of the library under test: while the file SLOW_WHILE is there, each pwrite
 * takes 0.2 s, as on a disk that others keep busy. The jobs themselves write nothing with pwrite.
 */
#include <stdlib.h>
#include <sys/syscall.h>
#include <sys/types.h>
#include <time.h>
#include <unistd.h>

#define DELAY_NS 200000000

ssize_t pwrite(int fd, const void *from, size_t n, off_t at)
{
	const char *slow = getenv("SLOW_WHILE");
	if (slow && access(slow, F_OK) == 0)
		nanosleep(&(const struct timespec){ 0, DELAY_NS }, NULL);
	return syscall(SYS_pwrite64, fd, from, n, at);
}

ssize_t pwrite64(int fd, const void *from, size_t n, off_t at) __attribute__((alias("pwrite")));
