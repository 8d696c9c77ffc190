/*
 * Threads with small stacks that it made itself inside of other memory, without a guard page. They
 * call the driver with little room left, from places that were not met before. The recorder must
 * not write to the memory below.
 */
#include "victim.h"

#include <alloca.h>
#include <string.h>
#include <sys/mman.h>

#define STACK_BYTES (32u << 10)
#define BELOW_BYTES (256u << 10)
/*
 * Left of the stack when the driver is called. The driver and this program use 0.5 KiB, the
 * recorder 0.5 KiB and 1 KiB with native stacks.
 */
#define ROOM 1696u
#define FILL 0x5a

static struct driver driver;
static char *memory;

static __attribute__((noinline)) void allocate(void)
{
	for (unsigned k = 0; k < 3; k++)
		must(driver.cuMemFree_v2(must_alloc(&driver, 1 << 20)) == CUDA_SUCCESS);
}

static void *use_it_up(void *unused)
{
	const char *stack = memory + BELOW_BYTES;
	(void)unused;
	must(driver_use(&driver, 0));
	volatile char *used =
		alloca((size_t)((const char *)__builtin_frame_address(0) - stack) - ROOM);
	used[0] = FILL;
	allocate();
	return (void *)(uintptr_t)(used[0] == FILL);
}

int main(void)
{
	pthread_attr_t attributes;
	size_t changed = 0;
	driver = need_driver(FROM_PROC_ADDRESS);
	must_alloc(&driver, 4096); /* the recorder starts here, with the first event */
	memory = mmap(NULL, BELOW_BYTES + STACK_BYTES, PROT_READ | PROT_WRITE,
		      MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	must(memory != MAP_FAILED);
	memset(memory, FILL, BELOW_BYTES);
	must(pthread_attr_init(&attributes) == 0);
	must(pthread_attr_setstack(&attributes, memory + BELOW_BYTES, STACK_BYTES) == 0);
	for (unsigned k = 0; k < 10; k++) {
		pthread_t thread;
		must(pthread_create(&thread, &attributes, use_it_up, NULL) == 0);
		must(pthread_join(thread, NULL) == 0);
	}
	for (size_t k = 0; k < BELOW_BYTES; k++)
		changed += memory[k] != FILL;
	claim("alloc", 31);
	printf("%zu bytes below the stacks changed\n", changed);
	return changed != 0;
}
