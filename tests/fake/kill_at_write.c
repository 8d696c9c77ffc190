/*
 * Preloaded in front of the library under test: SIGKILL ends the process at its KILL_AT-th pwrite.
 * KILL_MOMENT is before, half or after the write. Half is how the kernel tears a write: at the end
 * of a page. The victims themselves do not call pwrite.
 */
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/types.h>
#include <unistd.h>

#define PAGE 4096u

static void die(void)
{
	syscall(SYS_kill, syscall(SYS_getpid), SIGKILL);
}

ssize_t pwrite(int fd, const void *from, size_t n, off_t at)
{
	static _Atomic unsigned long writes;
	const char *number = getenv("KILL_AT"), *moment = getenv("KILL_MOMENT");
	bool is_last =
		number && moment && atomic_fetch_add(&writes, 1) + 1 == strtoul(number, NULL, 10);
	const size_t until_page = PAGE - (size_t)at % PAGE;
	if (is_last && strcmp(moment, "before") == 0)
		die();
	if (is_last && strcmp(moment, "half") == 0)
		n = n / 2 > until_page ? n / 2 - (n / 2 - until_page) % PAGE : 0;
	ssize_t written = syscall(SYS_pwrite64, fd, from, n, at);
	if (is_last)
		die();
	return written;
}

ssize_t pwrite64(int fd, const void *from, size_t n, off_t at) __attribute__((alias("pwrite")));
