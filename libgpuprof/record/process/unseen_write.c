/* A write whose failure the job does not notice. */
#include <errno.h>
#include <time.h>

#include "../recorder.h"
#include "held_signals.h"

/* The signal that a failed write has made for this thread; one that was there before stays. */
static void take_back(int number, uint64_t pending_before)
{
	const struct timespec at_once = { 0, 0 };
	const uint64_t set = gp_signal_bit(number);
	if (!(pending_before & set))
		syscall(SYS_rt_sigtimedwait, &set, NULL, &at_once, sizeof set);
}

/*
 * System calls as such: write(2) of libc is a point where a thread that was cancelled ends. Held
 * back, SIGTTOU does not stop a job in the background of its terminal.
 */
void gp_write_unseen(long (*write)(const char *, size_t), const char *line, size_t length)
{
	uint64_t held, before = 0;
	gp_signals_hold(&held);
	syscall(SYS_rt_sigpending, &before, sizeof before);
	const long written = write(line, length);
	if (written < 0 && errno == EPIPE)
		take_back(SIGPIPE, before);
	if (written < 0 && errno == EFBIG)
		take_back(SIGXFSZ, before);
	gp_signals_release(&held);
}
