/*
 * One thread loads a library whose constructor takes the allocator's lock. Another thread holds
 * that lock and makes its first block report. A hook that enters the loader there would deadlock.
 */
#include "victim.h"

#include <semaphore.h>

static const struct fake_c10 *c10;
static sem_t is_in_constructor;

static void in_constructor(void)
{
	sem_post(&is_in_constructor);
	c10->release(c10->allocate(0, 2048)); /* waits for the lock */
}

static void *load(void *argument)
{
	(void)argument;
	must(dlopen("libconstructor.so", RTLD_NOW));
	return NULL;
}

static void inside_lock(void *argument)
{
	pthread_t *thread = argument;
	must(pthread_create(thread, NULL, load, NULL) == 0);
	sem_wait(&is_in_constructor);
	c10->release(c10->allocate(0, 4096));
}

int main(void)
{
	char text[32];
	pthread_t thread;
	alarm(100);
	c10 = need_c10();
	must(sem_init(&is_in_constructor, 0, 0) == 0);
	snprintf(text, sizeof text, "%p", (void *)(uintptr_t)in_constructor);
	setenv("VICTIM_CONSTRUCTOR", text, 1);
	c10->with_lock(0, inside_lock, &thread);
	pthread_join(thread, NULL);
	claim("block_alloc", 2);
	claim("block_free", 2);
	claim("mismatches", 0);
	printf("no deadlock\n");
	return 0;
}
