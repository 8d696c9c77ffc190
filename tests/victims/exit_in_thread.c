/* Calls exit in a second thread while a third one allocates and the first one waits. */
#include "victim.h"

static struct busy_thread busy;

static void *leave(void *argument)
{
	(void)argument;
	sem_wait(&busy.is_busy);
	printf("leaving\n");
	exit(5);
}

int main(void)
{
	pthread_t thread;
	alarm(100);
	busy_thread_start(&busy, 1001);
	claim_as(getpid(), ">=", "alloc", 1001);
	must(pthread_create(&thread, NULL, leave, NULL) == 0);
	pthread_join(thread, NULL);
	return 71;
}
