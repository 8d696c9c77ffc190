/*
 * Forks again and again beside working threads. No child may hang, whatever lock a thread held at
 * the fork.
 */
#include "victim.h"

#include <signal.h>
#include <stdatomic.h>

static struct driver driver;
static _Atomic bool is_over;
static _Atomic unsigned long pairs;

static void *work(void *argument)
{
	(void)argument;
	must(driver_use(&driver, 0));
	while (!is_over) {
		alloc_and_free(&driver, 100);
		pairs += 100;
		/* the loader is where forked children hang */
		void *library = dlopen("libcuda.so.1", RTLD_NOW);
		must(library && dlsym(library, "cuInit"));
		dlclose(library);
	}
	return NULL;
}

static void child(unsigned long number)
{
	alarm(20);
	free(malloc(100));
	void *library = dlopen("libcuda.so.1", RTLD_NOW);
	must(library && dlsym(library, "cuMemAlloc_v2"));
	if (number % 100 == 0) {
		alloc_and_free(&driver, 5);
		claim("alloc", 5);
	}
	_exit(0);
}

int main(int argc, char **argv)
{
	unsigned long forks = count_argument(argc, argv, 1000), hung = 0;
	driver = need_driver(DOOR_PROC_ADDRESS);
	pthread_t thread[2];
	for (int i = 0; i < 2; i++)
		must(pthread_create(&thread[i], NULL, work, NULL) == 0);
	for (unsigned long i = 0; i < forks; i++) {
		pid_t pid = fork();
		must(pid >= 0);
		if (pid == 0)
			child(i);
		hung += wait_for(pid) != 0;
	}
	is_over = true;
	for (int i = 0; i < 2; i++)
		pthread_join(thread[i], NULL);
	claim("alloc", pairs);
	claim("free", pairs);
	claim_recordings(1 + (forks + 99) / 100);
	printf("%lu children, %lu hung\n", forks, hung);
	return hung != 0;
}
