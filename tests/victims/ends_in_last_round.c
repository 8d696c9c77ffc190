/*
 * Uses the driver in all four rounds of each thread's key destructors: nobody is told that the
 * thread ended after that, and what the recorder took for it must be taken back all the same.
 */
#include "ring_files.h"

#define THREADS 300
#define ROUNDS 4 /* as glibc does */

static struct driver driver;
static pthread_key_t key;
static _Thread_local int rounds;

static void end(void *value)
{
	must(driver_use(&driver, 0));
	alloc_and_free(&driver, 1);
	if (++rounds < ROUNDS)
		pthread_setspecific(key, value);
}

static void *work(void *argument)
{
	must(driver_use(&driver, 0));
	alloc_and_free(&driver, 1);
	pthread_setspecific(key, &driver);
	return argument;
}

int main(void)
{
	driver = need_driver(DOOR_PROC_ADDRESS);
	must(pthread_key_create(&key, end) == 0);
	unsigned long half = 0;
	for (int i = 0; i < THREADS; i++) {
		pthread_t thread;
		must(pthread_create(&thread, NULL, work, NULL) == 0);
		pthread_join(thread, NULL);
		if (i == THREADS / 2)
			half = kib_of("VmData:");
	}
	must(kib_of("VmData:") < half + 4096); /* 27 KiB a thread */
	/* never more than two of them lived at a time; the recorder may come to it late */
	while (shared_kib() >= 100u << 10)
		usleep(10000);
	claim("alloc", THREADS * (1 + ROUNDS));
	claim("free", THREADS * (1 + ROUNDS));
	printf("%d threads\n", THREADS);
	return 0;
}
