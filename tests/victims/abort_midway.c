/* Aborts with work under way in a second thread. */
#include "victim.h"

#include <semaphore.h>
#include <sys/resource.h>

static struct driver driver;
static sem_t is_busy;

static void *work(void *argument)
{
	(void)argument;
	must(driver_use(&driver, 0));
	for (unsigned long i = 0;; i++) {
		alloc_and_free(&driver, 1);
		if (i == 100)
			sem_post(&is_busy);
	}
	return NULL;
}

int main(void)
{
	setrlimit(RLIMIT_CORE, &(struct rlimit){ 0 });
	driver = need_driver(DOOR_PROC_ADDRESS);
	must(sem_init(&is_busy, 0, 0) == 0);
	pthread_t thread;
	must(pthread_create(&thread, NULL, work, NULL) == 0);
	alloc_and_free(&driver, 1000);
	sem_wait(&is_busy);
	claim_as(getpid(), ">=", "alloc", 1100);
	claim_as(getpid(), ">=", "free", 1100);
	claim("complete", 1);
	claim_recordings(1);
	printf("aborting\n");
	fflush(stdout);
	abort();
}
