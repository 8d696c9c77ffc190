/*
 * A signal handler allocates while the recorder unmaps the memory of a thread that ends, and a
 * later destructor allocates after that. Both allocations are normal events.
 */
#include <signal.h>
#include <sys/mman.h>
#include <sys/syscall.h>

#include "victim.h"

static struct driver driver;
static pthread_key_t key;
static _Thread_local volatile bool has_ended;
static volatile int handled;

/* Replaces libc's munmap. */
int munmap(void *at, size_t bytes)
{
	if (has_ended) {
		has_ended = false;
		raise(SIGUSR1);
	}
	return (int)syscall(SYS_munmap, at, bytes);
}

static void allocate_in_handler(int signal)
{
	(void)signal;
	must(driver_use(&driver, 0));
	must_alloc(&driver, 512);
	handled++;
}

/* Made after the recorder's key: glibc calls it later. */
static void end(void *unused)
{
	(void)unused;
	has_ended = false;
	must(driver_use(&driver, 0));
	must_alloc(&driver, 512);
}

static void *work(void *argument)
{
	must(driver_use(&driver, 0));
	for (int k = 0; k < 6; k++)
		must_alloc(&driver, 512);
	pthread_setspecific(key, &key);
	has_ended = true;
	return argument;
}

int main(void)
{
	pthread_t thread;
	driver = need_driver(FROM_PROC_ADDRESS);
	must(pthread_key_create(&key, end) == 0);
	signal(SIGUSR1, allocate_in_handler);
	must(pthread_create(&thread, NULL, work, NULL) == 0);
	pthread_join(thread, NULL);
	/* only the recorded run has memory to unmap */
	must(handled == (getenv("LD_PRELOAD") != NULL));
	claim("alloc", 7 + (unsigned)handled);
	printf("a thread ended\n");
	return 0;
}
