/*
 * One thread loads a library whose constructor takes a lock. The thread that holds the lock calls
 * the driver, which does not enter the loader when bare. `call`: its first call of a linked
 * function; `resolver`: cuGetProcAddress long after that.
 */
#include "entry_probe.h"

#include <pthread.h>
#include <semaphore.h>
#include <stdint.h>
#include <unistd.h>

int cuInit(unsigned flags);
int cuDevicePrimaryCtxRetain(void **context, int device);
int cuCtxSetCurrent(void *context);
int cuMemAlloc_v2(unsigned long long *address, size_t bytes);
int cuMemFree_v2(unsigned long long address);
int cuGetProcAddress_v2(const char *, void **, int, unsigned long long, int *);

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static sem_t is_in_constructor;

static void in_constructor(void)
{
	sem_post(&is_in_constructor);
	pthread_mutex_lock(&lock);
	pthread_mutex_unlock(&lock);
}

static void *load(void *ignored)
{
	(void)ignored;
	MUST(dlopen("libconstructor.so", RTLD_NOW), "%s", dlerror());
	return NULL;
}

static void ask(const char *name, int version)
{
	void *found = NULL;
	MUST(cuGetProcAddress_v2(name, &found, version, 0, NULL) == 0 && found, "%s", name);
}

int main(int argc, char **argv)
{
	const int is_first = argc > 1 && strcmp(argv[1], "call") == 0;
	char text[32];
	pthread_t thread;
	void *context;
	unsigned long long address;
	alarm(20);
	snprintf(text, sizeof text, "%p", (void *)(uintptr_t)in_constructor);
	setenv("VICTIM_CONSTRUCTOR", text, 1);
	MUST(sem_init(&is_in_constructor, 0, 0) == 0 && cuInit(0) == 0, "no driver");
	if (!is_first) {
		MUST(cuDevicePrimaryCtxRetain(&context, 0) == 0 && cuCtxSetCurrent(context) == 0,
		     "no device");
		ask("cuMemAlloc", 3020);
		MUST(cuMemAlloc_v2(&address, 4096) == 0, "allocation");
	}
	pthread_mutex_lock(&lock);
	MUST(pthread_create(&thread, NULL, load, NULL) == 0, "no thread");
	sem_wait(&is_in_constructor);
	if (is_first)
		MUST(cuDevicePrimaryCtxRetain(&context, 0) == 0 && cuCtxSetCurrent(context) == 0 &&
			     cuMemAlloc_v2(&address, 4096) == 0,
		     "allocation");
	else
		ask("cuMemFree", 3020);
	pthread_mutex_unlock(&lock);
	pthread_join(thread, NULL);
	MUST(cuMemFree_v2(address) == 0, "free");
	puts("went on");
	return 0;
}
