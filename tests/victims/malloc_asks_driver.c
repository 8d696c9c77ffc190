/*
 * An allocator whose lock is not recursive and that asks the driver for pinned memory under it:
 * that is the first event of the process, and of a forked child. What it calls may not allocate.
 */
#include "victim.h"

extern void *__libc_malloc(size_t);
extern void *__libc_calloc(size_t, size_t);

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct driver driver;
static volatile bool has_to_grow; /* the compiler knows malloc */

void *malloc(size_t bytes)
{
	pthread_mutex_lock(&lock);
	void *pinned;
	if (has_to_grow)
		must(driver.cuMemAllocHost_v2(&pinned, 1 << 20) == CUDA_SUCCESS);
	has_to_grow = false;
	void *memory = __libc_malloc(bytes);
	pthread_mutex_unlock(&lock);
	return memory;
}

void *calloc(size_t number, size_t bytes)
{
	pthread_mutex_lock(&lock);
	void *memory = __libc_calloc(number, bytes);
	pthread_mutex_unlock(&lock);
	return memory;
}

static void grow(void)
{
	void *volatile memory;
	has_to_grow = true;
	memory = malloc(100);
	free(memory);
	must(!has_to_grow);
	claim("alloc", 1);
	claim("complete", 1);
}

int main(void)
{
	driver = need_driver(DOOR_PROC_ADDRESS);
	grow();
	const pid_t child = fork();
	if (child == 0) {
		grow();
		exit(0);
	}
	must(wait_for(child) == 0);
	claim_recordings(2);
	printf("allocated\n");
	return 0;
}
