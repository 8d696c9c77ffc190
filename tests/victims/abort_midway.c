/* Aborts while a second thread is at work. */
#include "victim.h"

#include <sys/resource.h>

int main(void)
{
	static struct busy_thread busy;
	setrlimit(RLIMIT_CORE, &(struct rlimit){ 0 });
	busy_thread_start(&busy, 100);
	alloc_and_free(&busy.driver, 1000);
	sem_wait(&busy.is_busy);
	claim_as(getpid(), ">=", "alloc", 1100);
	claim_as(getpid(), ">=", "free", 1100);
	claim("complete", 1);
	claim_recordings(1);
	printf("aborting\n");
	fflush(stdout);
	abort();
}
