/*
 * Runs a handler of SIGTRAP between any two instructions of a thread. The handler plays a signal or
 * a change by another thread that may occur there. x86-64 only.
 */
#ifndef SINGLE_STEP_H
#define SINGLE_STEP_H

#include <signal.h>
#include <stddef.h>
#include <stdint.h>
#include <ucontext.h>

#if defined(__x86_64__)
#define TRAP_FLAG 0x100

/* SIGTRAP must not be blocked: the kernel would end the process. */
static inline void single_step_begin(void (*handler)(int signal, siginfo_t *info, void *context))
{
	const struct sigaction step = { .sa_sigaction = handler, .sa_flags = SA_SIGINFO };
	sigaction(SIGTRAP, &step, NULL);
	/* below the red zone */
	__asm__ volatile("sub $128, %%rsp\n\tpushfq\n\torq %0, (%%rsp)\n\tpopfq\n\t"
			 "add $128, %%rsp" ::"i"(TRAP_FLAG)
			 : "cc", "memory");
}

static inline void single_step_end(void)
{
	__asm__ volatile("sub $128, %%rsp\n\tpushfq\n\tandq %0, (%%rsp)\n\tpopfq\n\t"
			 "add $128, %%rsp" ::"i"(~TRAP_FLAG)
			 : "cc", "memory");
}

static inline uintptr_t single_step_register(const void *context, int number)
{
	return (uintptr_t)((const ucontext_t *)context)->uc_mcontext.gregs[number];
}
#endif

#endif
