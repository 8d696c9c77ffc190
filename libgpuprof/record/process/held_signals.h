/*
 * Blocks signals while a thread holds something that it must release: a handler that jumps away
 * would keep it forever. Signals of a fault are not blocked, because the kernel kills a process
 * that blocks them. Two system calls, so for slow halves only. Keeps errno.
 */
#ifndef GP_HELD_SIGNALS_H
#define GP_HELD_SIGNALS_H

#include <signal.h>
#include <stdint.h>
#include <sys/syscall.h>
#include <unistd.h>

static inline uint64_t gp_signal_bit(int signal)
{
	return UINT64_C(1) << (signal - 1);
}

/* `before` is for gp_signals_release. */
static inline void gp_signals_hold(uint64_t *before)
{
	const uint64_t held =
		~(gp_signal_bit(SIGSEGV) | gp_signal_bit(SIGBUS) | gp_signal_bit(SIGILL) |
		  gp_signal_bit(SIGFPE) | gp_signal_bit(SIGTRAP) | gp_signal_bit(SIGABRT) |
		  gp_signal_bit(SIGSYS));
	syscall(SYS_rt_sigprocmask, SIG_BLOCK, &held, before, sizeof held);
}

static inline void gp_signals_release(const uint64_t *before)
{
	syscall(SYS_rt_sigprocmask, SIG_SETMASK, before, NULL, sizeof *before);
}

#endif
