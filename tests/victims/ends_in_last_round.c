/*
 * Uses the driver in all four rounds of each thread's key destructors. The recorder gets no notice
 * of such a late end, but must still release what it took for the thread.
 */
#include "ring_files.h"

#define THREADS 1200ul
#define RING_KIB 36ul /* a new ring */
#define ROUNDS 4      /* as many as glibc runs */

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
	driver = need_driver(FROM_PROC_ADDRESS);
	must(pthread_key_create(&key, end) == 0);
	unsigned long half = 0, half_shared = 0;
	for (unsigned long i = 0; i < THREADS; i++) {
		pthread_t thread;
		must(pthread_create(&thread, NULL, work, NULL) == 0);
		pthread_join(thread, NULL);
		if (i == THREADS / 2) {
			half = kib_of("VmData:");
			half_shared = shared_kib();
		}
	}
	/* libc keeps 8 KiB a thread; without a release, the recorder would keep 27 KiB more */
	must(kib_of("VmData:") < half + THREADS / 2 * 16);
	/*
	 * One thread lives at a time. The recorder looks for ended threads every 10 ms, so it keeps
	 * as many rings as threads begin in that time. A ring for each thread of the second half
	 * would be twice the limit below.
	 */
	must(shared_kib() < half_shared + THREADS / 2 * RING_KIB / 2);
	claim("alloc", THREADS * (1 + ROUNDS));
	claim("free", THREADS * (1 + ROUNDS));
	printf("%lu threads\n", THREADS);
	return 0;
}
