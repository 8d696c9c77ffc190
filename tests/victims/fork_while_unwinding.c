/*
 * Forks while threads allocate from code that is always new: a library comes and goes, so an
 * unwinder's rules become invalid. Children allocate, load a library and end; none may hang.
 */
#include "forks.h"

#include <stdatomic.h>

static struct driver driver;
static _Atomic bool is_over;
static _Atomic unsigned long pairs;

/* As deep as `path` has digits, through four functions in turn. */
#define BELOW(name, next)                                              \
	static __attribute__((noinline)) void name(unsigned long path) \
	{                                                              \
		if (path)                                              \
			next(path >> 1);                               \
		else                                                   \
			alloc_and_free(&driver, 1);                    \
		__asm__ volatile("" ::: "memory");                     \
	}
static void below_one(unsigned long path);
BELOW(below_four, below_one)
BELOW(below_three, below_four)
BELOW(below_two, below_three)
BELOW(below_one, below_two)

/* The loader does not support a fork at the same time: held while loading and while forking. */
static pthread_mutex_t loading = PTHREAD_MUTEX_INITIALIZER;

static void come_and_go(void)
{
	void *library = dlopen("libutil.so.1", RTLD_NOW | RTLD_LOCAL);
	must(library);
	dlclose(library);
}

static void *work(void *argument)
{
	must(driver_use(&driver, 0));
	for (unsigned long i = (unsigned long)(uintptr_t)argument; !is_over; i++) {
		pthread_mutex_lock(&loading);
		come_and_go();
		pthread_mutex_unlock(&loading);
		for (unsigned k = 0; k < 8; k++, pairs++)
			below_one(1ul << (i + k) % 24);
	}
	return NULL;
}

static void child(unsigned long number)
{
	alarm(100);
	come_and_go();
	if (number % 20 == 0) {
		below_one(1ul << number % 24);
		claim("alloc", 1);
	}
	_exit(0);
}

int main(int argc, char **argv)
{
	unsigned long forks = count_argument(argc, argv, 300);
	driver = need_driver(FROM_PROC_ADDRESS);
	unsigned long hung = fork_beside(&(struct forks){ forks, work, child, &loading, &is_over });
	claim("alloc", pairs);
	claim("free", pairs);
	printf("%lu children hung or failed\n", hung);
	return hung ? 1 : 0;
}
