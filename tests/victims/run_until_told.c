/*
 * Correct program: two threads allocate and free, so that a debugger or a profiler can attach to a
 * busy process. Prints "ready PID" once both are busy, works until stdin ends, then works on.
 */
#include <poll.h>

#include "victim.h"

#define PAIRS_AFTER 2000

static struct driver driver;
static _Atomic int is_reported;
static unsigned long pairs[2];
static sem_t is_busy;

static void *work_until_told(void *argument)
{
	unsigned long *made = argument;
	must(driver_use(&driver, 0));
	while (!is_reported || *made < 1000) {
		alloc_and_free(&driver, 1);
		if (++*made == 100)
			sem_post(&is_busy);
	}
	return NULL;
}

int main(void)
{
	pthread_t thread[2];
	struct pollfd in = { .fd = 0 };
	char byte;
	driver = need_driver(FROM_DLSYM);
	must(sem_init(&is_busy, 0, 0) == 0);
	for (int k = 0; k < 2; k++)
		must(pthread_create(&thread[k], NULL, work_until_told, &pairs[k]) == 0);
	for (int k = 0; k < 2; k++)
		while (sem_wait(&is_busy) != 0)
			must(errno == EINTR);
	printf("ready %d\n", (int)getpid());
	fflush(stdout);
	in.events = POLLIN;
	do
		while (poll(&in, 1, -1) < 0)
			must(errno == EINTR);
	while (read(0, &byte, 1) > 0);
	is_reported = 1;
	for (int k = 0; k < 2; k++)
		must(pthread_join(thread[k], NULL) == 0);
	alloc_and_free(&driver, PAIRS_AFTER);
	claim("alloc", pairs[0] + pairs[1] + PAIRS_AFTER);
	claim("free", pairs[0] + pairs[1] + PAIRS_AFTER);
	claim("complete", 1);
	claim_recordings(1);
	puts("worked on to the end");
	return 0;
}
