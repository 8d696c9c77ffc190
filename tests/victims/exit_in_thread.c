/* Calls exit in a second thread while a third allocates and the first waits. */
#include "victim.h"

#include <semaphore.h>

static struct driver driver;
static sem_t is_busy;

static void *work(void *argument)
{
	(void)argument;
	must(driver_use(&driver, 0));
	for (unsigned long i = 0;; i++) {
		alloc_and_free(&driver, 1);
		if (i == 1000)
			sem_post(&is_busy);
	}
	return NULL;
}

static void *leave(void *argument)
{
	(void)argument;
	sem_wait(&is_busy);
	printf("leaving\n");
	exit(5);
}

int main(void)
{
	driver = need_driver(DOOR_PROC_ADDRESS);
	alarm(20);
	must(sem_init(&is_busy, 0, 0) == 0);
	claim_as(getpid(), ">=", "alloc", 1001);
	pthread_t thread[2];
	must(pthread_create(&thread[0], NULL, work, NULL) == 0);
	must(pthread_create(&thread[1], NULL, leave, NULL) == 0);
	pthread_join(thread[1], NULL);
	return 71;
}
