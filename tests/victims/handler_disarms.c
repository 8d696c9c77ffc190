/*
 * A signal handler calls the driver at every single instruction of a launch. Its stack disarms
 * itself (SS_AUTODISARM): while the handler runs, sigaltstack reports no alternate stack. The
 * processor's trap flag raises the signal. The driver lacks cuMemGetInfo, which the recorder would
 * call within a launch: the interrupted call would then hold the fake driver's lock.
 */
#include "victim.h"

#if defined(__x86_64__)
#include <signal.h>
#include <sys/mman.h>

#ifndef SS_AUTODISARM
#define SS_AUTODISARM (1U << 31)
#endif
#define STACK_BYTES (256u << 10)
#define LAUNCHES 20u
#define TRAP_FLAG "0x100"

static struct driver driver;
static CUfunction kernel;
static volatile bool is_stepped;
static volatile unsigned long handled;

/* The kernel clears the trap flag inside the handler. */
static void allocate_and_free(int number)
{
	(void)number;
	if (!is_stepped)
		return;
	must(driver.cuMemFree_v2(must_alloc(&driver, 7777)) == CUDA_SUCCESS);
	handled++;
}

static void launch(void)
{
	must(driver.cuLaunchKernel(kernel, 1, 1, 1, 32, 1, 1, 0, NULL, NULL, NULL) == CUDA_SUCCESS);
}

static void launch_stepped(void)
{
	is_stepped = true;
	__asm__ volatile("sub $128, %%rsp\n\tpushfq\n\torq $" TRAP_FLAG ", (%%rsp)\n\tpopfq\n\t"
			 "add $128, %%rsp" ::
				 : "cc", "memory");
	launch();
	__asm__ volatile("sub $128, %%rsp\n\tpushfq\n\tandq $~" TRAP_FLAG ", (%%rsp)\n\tpopfq\n\t"
			 "add $128, %%rsp" ::
				 : "cc", "memory");
	is_stepped = false;
}

int main(void)
{
	CUmodule module;
	void *pages =
		mmap(NULL, STACK_BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	const stack_t stack = { .ss_sp = pages,
				.ss_size = STACK_BYTES,
				.ss_flags = (int)SS_AUTODISARM };
	const struct sigaction action = { .sa_handler = allocate_and_free, .sa_flags = SA_ONSTACK };
	must(pages != MAP_FAILED && sigaltstack(&stack, NULL) == 0);
	must(sigaction(SIGTRAP, &action, NULL) == 0);
	driver = need_driver(FROM_PROC_ADDRESS);
	must(driver.cuModuleLoadData(&module, "image") == CUDA_SUCCESS);
	must(driver.cuModuleGetFunction(&kernel, module, "gemm") == CUDA_SUCCESS);
	alloc_and_free(&driver, 1);
	launch(); /* does the recorder's first-time work */
	for (unsigned k = 0; k < LAUNCHES; k++)
		launch_stepped();
	must(handled > 20 * LAUNCHES);
	claim("launch", LAUNCHES + 1);
	claim("alloc", handled + 1);
	claim("free", handled + 1);
	claim_as(getpid(), ">=", "alloc", LAUNCHES); /* those outside the wrapper are recorded */
	claim_as(getpid(), ">=", "lost_memory", LAUNCHES); /* those inside are counted */
	claim("complete", 1);
	claim_recordings(1);
	printf("launched\n");
	return 0;
}

#else

int main(void)
{
	fprintf(stderr, "no trap flag on this processor\n");
	return VICTIM_SKIPPED;
}

#endif
