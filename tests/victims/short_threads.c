/* Starts thousands of threads that live for two events: later threads must reuse their slots. */
#include "victim.h"

static struct driver driver;

static void *live_shortly(void *argument)
{
	(void)argument;
	must(driver_use(&driver, 0));
	alloc_and_free(&driver, 1);
	return NULL;
}

int main(int argc, char **argv)
{
	unsigned long threads = count_argument(argc, argv, 10000);
	driver = need_driver(FROM_PROC_ADDRESS);
	for (unsigned long i = 0; i < threads / 4; i++) {
		pthread_t thread[4];
		for (int t = 0; t < 4; t++)
			must(pthread_create(&thread[t], NULL, live_shortly, NULL) == 0);
		for (int t = 0; t < 4; t++)
			pthread_join(thread[t], NULL);
	}
	claim("alloc", threads / 4 * 4);
	claim("free", threads / 4 * 4);
	printf("%lu threads\n", threads / 4 * 4);
	return 0;
}
