/* Forks between its allocations, and the child allocates too: each has its own recording. */
#include "victim.h"

int main(void)
{
	struct driver driver = need_driver(FROM_PROC_ADDRESS);
	alloc_and_free(&driver, 50);
	for (int i = 0; i < 4; i++) {
		fflush(stdout);
		pid_t child = fork();
		must(child >= 0);
		if (child == 0) {
			alloc_and_free(&driver, 20);
			claim("alloc", 20);
			claim("free", 20);
			/* half of them end as multiprocessing's workers do */
			if (i % 2)
				_exit(i);
			exit(i);
		}
		alloc_and_free(&driver, 10);
		printf("child ended with %d\n", wait_for(child));
	}
	alloc_and_free(&driver, 10);
	claim("alloc", 100);
	claim("free", 100);
	claim_recordings(5);
	return 0;
}
