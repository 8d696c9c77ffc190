/*
 * Overflows its stack below calls of the driver, again and again, and jumps out of the handler.
 * With stacks on, the recorder's own frames touch the page beyond the end. A call that was left by
 * the jump counts as lost, and all later calls are recorded.
 */
#include "victim.h"

#include <setjmp.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/mman.h>

#define ROUNDS 20
#define PAGE 4096u
#define STACK_BYTES (256u << 10)
#define BLOCK (1u << 20)
#define BLOCKS 10

static struct driver driver;
static sigjmp_buf before;
static volatile int rounds;
static uintptr_t lowest; /* of the stack, beyond its guard page */

static void on_overflow(int number)
{
	(void)number;
	rounds++;
	siglongjmp(before, 1);
}

/*
 * Calls the driver where `need` bytes are left: enough for the driver itself, and, in some of the
 * rounds, too few for the recorder.
 */
static __attribute__((noinline)) unsigned go_deeper(unsigned n, uintptr_t need)
{
	volatile char room[96];
	const uintptr_t left = (uintptr_t)__builtin_frame_address(0) - lowest;
	room[n % sizeof room] = (char)n;
	if (left >= need && left < need + 500) {
		CUdeviceptr address;
		if (driver.cuMemAlloc_v2(&address, 4096) == CUDA_SUCCESS)
			driver.cuMemFree_v2(address);
	}
	if (n > STACK_BYTES)
		return 0; /* never reached: the stack is too small */
	return go_deeper(n + 1, need) + (unsigned)room[n % sizeof room];
}

static void allocate_blocks(void)
{
	for (int i = 0; i < BLOCKS; i++) {
		CUdeviceptr address;
		must(driver.cuMemAlloc_v2(&address, BLOCK) == CUDA_SUCCESS);
	}
	claim_as(getpid(), ">=", "driver_peak:0", BLOCKS * (unsigned long long)BLOCK);
}

static void *overflow(void *unused)
{
	(void)unused;
	static char handler_stack[64 << 10];
	stack_t stack = { .ss_sp = handler_stack, .ss_size = sizeof handler_stack };
	must(sigaltstack(&stack, NULL) == 0);
	must(driver_use(&driver, 0));
	/* the last one has the least room, so that a call of the recorder never returns */
	for (volatile unsigned round = ROUNDS; round-- > 0;)
		if (sigsetjmp(before, 1) == 0)
			go_deeper(0, 1536 + 256 * (uintptr_t)round);
	/* a child is recorded, too, and so are the later calls here, as without an overflow */
	pid_t child = fork();
	if (child == 0) {
		driver = need_driver(FROM_PROC_ADDRESS);
		allocate_blocks();
		exit(0);
	}
	must(child > 0 && waitpid(child, NULL, 0) == child);
	allocate_blocks();
	return NULL;
}

int main(void)
{
	struct sigaction action = { .sa_handler = on_overflow, .sa_flags = SA_ONSTACK };
	pthread_attr_t attributes;
	pthread_t thread;
	driver = need_driver(FROM_PROC_ADDRESS);
	sigaction(SIGSEGV, &action, NULL);
	pthread_attr_init(&attributes);
	char *pages = mmap(NULL, PAGE + STACK_BYTES, PROT_READ | PROT_WRITE,
			   MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	must(pages != MAP_FAILED && mprotect(pages, PAGE, PROT_NONE) == 0);
	lowest = (uintptr_t)pages + PAGE;
	must(pthread_attr_setstack(&attributes, pages + PAGE, STACK_BYTES) == 0);
	must(pthread_create(&thread, &attributes, overflow, NULL) == 0);
	must(pthread_join(thread, NULL) == 0);
	must(rounds == ROUNDS);
	claim_recordings(2);
	/* each round may lose the call that it interrupted, and no more */
	claim_as(getpid(), "<=", "lost_memory", ROUNDS);
	printf("%d overflows\n", rounds);
	return 0;
}
