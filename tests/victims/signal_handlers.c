/*
 * Blocks a signal in all its threads and takes it with sigtimedwait. The recorder's thread must not
 * run its handler.
 */
#include "victim.h"

#include <signal.h>

static volatile sig_atomic_t handled;

static void handler(int number)
{
	(void)number;
	handled++;
}

int main(void)
{
	struct sigaction action = { .sa_handler = handler };
	sigset_t set;
	sigemptyset(&set);
	sigaddset(&set, SIGUSR1);
	sigaddset(&set, SIGCHLD);
	sigaction(SIGUSR1, &action, NULL);
	struct driver driver = need_driver(FROM_PROC_ADDRESS);
	alloc_and_free(&driver, 10); /* no signal blocked: new threads inherit this mask */
	sigprocmask(SIG_BLOCK, &set, NULL);
	int taken = 0;
	for (int i = 0; i < 100; i++) {
		alloc_and_free(&driver, 10);
		kill(getpid(), SIGUSR1);
		taken += sigtimedwait(&set, NULL, &(struct timespec){ .tv_sec = 5 }) == SIGUSR1;
	}
	claim("alloc", 1010);
	printf("taken %d, handled elsewhere %d\n", taken, (int)handled);
	return handled != 0;
}
