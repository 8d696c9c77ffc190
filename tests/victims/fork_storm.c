/*
 * Forks again and again while threads work. A child must not hang, whatever lock a thread held at
 * the fork.
 */
#include "forks.h"

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
		/* forked children mostly hang in the loader */
		void *library = dlopen("libcuda.so.1", RTLD_NOW);
		must(library && dlsym(library, "cuInit"));
		dlclose(library);
	}
	return NULL;
}

static void child(unsigned long number)
{
	alarm(100);
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
	unsigned long forks = count_argument(argc, argv, 1000);
	driver = need_driver(FROM_PROC_ADDRESS);
	unsigned long hung = fork_beside(&(struct forks){ forks, work, child, NULL, &is_over });
	claim("alloc", pairs);
	claim("free", pairs);
	claim_recordings(1 + (forks + 99) / 100);
	printf("%lu children, %lu hung\n", forks, hung);
	return hung != 0;
}
