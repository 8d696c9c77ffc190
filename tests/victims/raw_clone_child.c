/*
 * Makes children by raw clone and _Fork, which run no fork handlers. They must not write into the
 * parent's rings.
 */
#include "victim.h"

#include <signal.h>
#include <sys/syscall.h>

static pid_t raw_clone(void)
{
	return (pid_t)syscall(SYS_clone, SIGCHLD, 0, 0, 0, 0);
}

int main(void)
{
	struct driver driver = need_driver(FROM_PROC_ADDRESS);
	pid_t (*bare_fork)(void);
	*(void **)&bare_fork = dlsym(RTLD_DEFAULT, "_Fork"); /* glibc 2.34 and newer */
	for (int i = 0; i < 20; i++) {
		alloc_and_free(&driver, 10);
		pid_t child = i % 2 && bare_fork ? bare_fork() : raw_clone();
		must(child >= 0);
		if (child == 0) {
			alloc_and_free(&driver, 7);
			_exit(3);
		}
		alloc_and_free(&driver, 10);
		must(wait_for(child) == 3);
	}
	claim("alloc", 400);
	claim("free", 400);
	claim("complete", 1);
	printf("20 children\n");
	return 0;
}
