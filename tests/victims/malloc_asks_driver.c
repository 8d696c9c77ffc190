/*
 * An allocator that holds a non-recursive lock while it requests pinned memory from the driver.
 * This is the first event of the process, of a second thread, and of a forked child. The functions
 * that it calls must not allocate. Runs again with more keys than glibc keeps in the thread itself.
 */
#include "victim.h"

#include <string.h>

/* The recorder's key comes next, as the last of a block of 32 that glibc allocates. */
#define LAST_KEY 62u

extern void *__libc_malloc(size_t);
extern void *__libc_calloc(size_t, size_t);

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct driver driver;
/* Volatile: the compiler has built-in rules for malloc. The recorder has a thread, too. */
static __thread volatile bool has_to_grow;

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
}

static void *grow_in_thread(void *unused)
{
	must(driver_use(&driver, 0));
	grow();
	return unused;
}

static void grow_in_threads(void)
{
	pthread_t thread;
	driver = need_driver(FROM_PROC_ADDRESS);
	grow();
	must(pthread_create(&thread, NULL, grow_in_thread, NULL) == 0);
	must(pthread_join(thread, NULL) == 0);
	claim("alloc", 2);
	claim("complete", 1);
}

/* Before all constructors, as those of linked libraries run before the recorder's. */
static void make_keys(int argc, char **argv)
{
	pthread_key_t key = 0;
	if (argc > 1 && strcmp(argv[1], "keys") == 0)
		while (key < LAST_KEY)
			must(pthread_key_create(&key, NULL) == 0);
}

__attribute__((section(".preinit_array"), used)) static void (*const first)(int,
									    char **) = make_keys;

static void again_with_keys(void)
{
	const pid_t child = fork();
	if (child == 0) {
		execl("/proc/self/exe", "malloc_asks_driver", "keys", (char *)NULL);
		_exit(71);
	}
	must(wait_for(child) == 0);
}

int main(int argc, char **argv)
{
	grow_in_threads();
	/* a child may find this malloc's lock held by a thread that its parent had */
	if (argc > 1 && strcmp(argv[1], "alone") == 0)
		return 0;
	const pid_t child = fork();
	if (child == 0) {
		grow();
		claim("alloc", 1);
		claim("complete", 1);
		exit(0);
	}
	must(wait_for(child) == 0);
	if (argc > 1)
		return 0;
	again_with_keys();
	claim_recordings(4);
	printf("allocated\n");
	return 0;
}
