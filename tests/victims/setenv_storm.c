/*
 * One thread sets environment variables, for which libc moves the list and frees the old one.
 * Another thread makes the first driver call of the process. Each child is such a start.
 */
#include "victim.h"

static _Atomic bool has_begun;

static void *storm(void *unused)
{
	char name[32];
	for (unsigned k = 0;; k = k < 3000 ? k + 1 : 0) {
		snprintf(name, sizeof name, "VARIABLE_%u", k);
		if (k == 0)
			clearenv();
		setenv(name, "a value that is not short, so that it takes memory", 1);
		has_begun = k > 20;
	}
	return unused;
}

static void begin(unsigned delay_us)
{
	struct driver driver = need_driver(FROM_PROC_ADDRESS);
	pthread_t thread;
	must(pthread_create(&thread, NULL, storm, NULL) == 0);
	while (!has_begun)
		sched_yield();
	usleep(delay_us);
	alloc_and_free(&driver, 1);
	_exit(0);
}

int main(int argc, char **argv)
{
	const unsigned long starts = count_argument(argc, argv, 60);
	for (unsigned long k = 0; k < starts; k++) {
		const pid_t child = fork();
		if (child == 0)
			begin((unsigned)(k * 37 % 2000));
		must(wait_for(child) == 0);
	}
	printf("started\n");
	return 0;
}
