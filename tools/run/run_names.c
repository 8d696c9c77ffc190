/*
 * The child looks up until the soft limit and stores what it has; at the hard one it is killed,
 * which loses its names and nothing else: recordings are written so that they stay whole.
 */
#include "run_names.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <sys/wait.h>
#include <unistd.h>

#include "../io/monotonic.h"
#include "gpuprof.h"

#define LIMIT_NS 10000000000
/* of it for one library that is being read when the time is up, and for writing */
#define RESERVE_NS 2000000000
#define SHARE_NS 2000000000 /* of one recording, at least */

static const int ending[] = { SIGINT, SIGTERM, SIGHUP, SIGQUIT };

/* What the child tells of one recording; shorter than PIPE_BUF, so it comes whole. */
struct told {
	size_t which;
	enum gp_status status;
	uint64_t frames, named, waiting;
};

/* ---- the child ---- */

static bool is_over(void *context, uint64_t done, uint64_t frames)
{
	(void)done;
	(void)frames;
	return gp_monotonic_ns() >= *(const int64_t *)context;
}

static void name_one(const char *path, int64_t deadline_ns, struct told *told)
{
	struct gp_recording *recording;
	struct gp_symbolized s = { 0 };
	told->status = gp_recording_open(path, &recording, NULL);
	if (told->status != GP_OK)
		return;
	const struct gp_symbolizing how = { is_over, &deadline_ns };
	told->status = gp_recording_symbolize(recording, &how, &s);
	told->frames = s.frames;
	told->named = s.named;
	told->waiting = s.waiting;
	gp_symbolized_free(&s);
	gp_recording_close(recording);
}

/*
 * Each recording gets an equal part of the time that is left, but enough to read large libraries:
 * of many recordings some get names rather than none.
 */
static void name_all(const struct gp_made *made, size_t count, int64_t deadline_ns, int out)
{
	for (size_t k = 0; k < count; k++) {
		int64_t now = gp_monotonic_ns(), left = deadline_ns > now ? deadline_ns - now : 0;
		struct told told = { .which = k };
		int64_t share = left / (int64_t)(count - k);
		share = share > SHARE_NS ? share : left < SHARE_NS ? left : SHARE_NS;
		name_one(made[k].path, now + share, &told);
		if (write(out, &told, sizeof told) != sizeof told)
			break;
	}
}

static pid_t run_names_start(const struct gp_made *made, size_t count, int64_t deadline_ns,
			     const sigset_t *mask, int ends[2])
{
	pid_t parent = getpid();
	fflush(NULL);
	pid_t child = fork();
	if (child != 0)
		return child;
	const struct rlimit no_core = { 0, 0 };
	setrlimit(RLIMIT_CORE, &no_core);
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	close(ends[0]);
	if (getppid() == parent) {
		sigprocmask(SIG_SETMASK, mask, NULL);
		name_all(made, count, deadline_ns, ends[1]);
	}
	_exit(0);
}

/* ---- its parent ---- */

static const char time_up[] = "time was up";

static void run_names_take(const struct told *told, bool *is_done, struct gp_run_names *out)
{
	bool is_full = told->status == GP_E_SPACE || told->status == GP_E_IO;
	is_done[told->which] = told->status == GP_OK ? told->waiting == 0 : !is_full;
	if (is_full)
		out->why = gp_status_text(told->status);
	else if (!is_done[told->which] && !out->why)
		out->why = time_up;
	out->done += told->status == GP_OK;
	out->frames += told->frames;
	out->named += told->named;
}

/* Until the child has told all and ended, the time is over or a signal comes. */
static void listen(int from, int signals, int64_t deadline_ns, size_t count, bool *is_done,
		   struct gp_run_names *out)
{
	struct pollfd polled[2] = { { .fd = from, .events = POLLIN },
				    { .fd = signals, .events = POLLIN } };
	struct told told;
	for (int64_t left; (left = deadline_ns - gp_monotonic_ns()) > 0;) {
		int ready = poll(polled, 2, (int)(left / 1000000) + 1);
		if (ready < 0 && errno != EINTR)
			return;
		if (ready > 0 && polled[1].revents != 0) {
			struct signalfd_siginfo info;
			if (read(signals, &info, sizeof info) == sizeof info)
				out->why = "interrupted";
			return;
		}
		if (ready <= 0)
			continue;
		if (read(from, &told, sizeof told) != sizeof told || told.which >= count)
			return;
		run_names_take(&told, is_done, out);
	}
	out->why = time_up;
}

static void sum_up(const struct gp_made *made, size_t count, const bool *is_done,
		   struct gp_run_names *out)
{
	for (size_t k = 0; k < count; k++) {
		if (is_done[k])
			continue;
		if (out->unfinished++ == 0)
			out->first = made[k].path;
	}
	if (!out->why)
		out->why = "looking them up failed";
}

static void run_child(const struct gp_made *made, size_t count, const sigset_t *set,
		      const sigset_t *mask, bool *is_done, struct gp_run_names *out)
{
	int ends[2];
	int64_t limit_ns = gp_monotonic_ns() + LIMIT_NS;
	int signals = signalfd(-1, set, SFD_CLOEXEC);
	if (signals < 0 || pipe2(ends, O_CLOEXEC) != 0) {
		if (signals >= 0)
			close(signals);
		return;
	}
	pid_t child = run_names_start(made, count, limit_ns - RESERVE_NS, mask, ends);
	close(ends[1]);
	if (child > 0) {
		listen(ends[0], signals, limit_ns, count, is_done, out);
		kill(child, SIGKILL);
		while (waitpid(child, NULL, 0) < 0 && errno == EINTR)
			;
	}
	close(ends[0]);
	close(signals);
}

void gp_run_names(const struct gp_made *made, size_t count, struct gp_run_names *out)
{
	sigset_t set, mask;
	bool *is_done = calloc(count + 1, sizeof *is_done);
	*out = (struct gp_run_names){ 0 };
	if (is_done == NULL)
		return;
	sigemptyset(&set);
	for (size_t k = 0; k < sizeof ending / sizeof *ending; k++)
		sigaddset(&set, ending[k]);
	sigprocmask(SIG_BLOCK, &set, &mask);
	run_child(made, count, &set, &mask, is_done, out);
	sum_up(made, count, is_done, out);
	sigprocmask(SIG_SETMASK, &mask, NULL);
	free(is_done);
}
