/*
 * Preloaded in front of the library under test: while the file SLOW_WHILE exists, each pwrite takes
 * 0.2 s, or SLOW_MS, as on a disk that other processes keep busy. The jobs themselves do not call
 * pwrite.
 */
#include <stdlib.h>
#include <sys/syscall.h>
#include <sys/types.h>
#include <time.h>
#include <unistd.h>

#define DELAY_MS 200

ssize_t pwrite(int fd, const void *from, size_t n, off_t at)
{
	const char *slow = getenv("SLOW_WHILE");
	const char *text = getenv("SLOW_MS");
	const long ms = text ? atol(text) : DELAY_MS;
	if (slow && access(slow, F_OK) == 0)
		nanosleep(&(const struct timespec){ ms / 1000, ms % 1000 * 1000000 }, NULL);
	return syscall(SYS_pwrite64, fd, from, n, at);
}

ssize_t pwrite64(int fd, const void *from, size_t n, off_t at) __attribute__((alias("pwrite")));
