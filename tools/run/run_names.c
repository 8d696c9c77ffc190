/*
 * The child looks up names until the soft limit, then stores them. At the hard limit it is killed,
 * which loses only its names: recordings are written so that they stay intact.
 */
#include "run_names.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "../io/monotonic.h"
#include "gpuprof.h"

#define LIMIT_NS 10000000000
/* time for the library that is being read at the soft limit, and for writing */
#define RESERVE_NS 2000000000
#define SHARE_NS 2000000000 /* least time for one recording */

static const int ending[] = { SIGINT, SIGTERM, SIGHUP, SIGQUIT };

/* The child's results for one recording, in shared memory. */
struct naming {
	bool is_done;
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

static void name_one(const char *path, int64_t deadline_ns, struct naming *naming)
{
	struct gp_recording *recording;
	struct gp_symbolized s = { 0 };
	naming->status = gp_recording_open(path, &recording, NULL);
	if (naming->status != GP_OK)
		return;
	const struct gp_symbolizing how = { is_over, &deadline_ns };
	naming->status = gp_recording_symbolize(recording, &how, &s);
	naming->frames = s.frames;
	naming->named = s.named;
	naming->waiting = s.waiting;
	gp_symbolized_free(&s);
	gp_recording_close(recording);
}

/*
 * Each recording gets an equal part of the remaining time, but enough to read large libraries. With
 * many recordings, some get names rather than none.
 */
static void name_all(const struct gp_made *made, size_t count, int64_t deadline_ns,
		     struct naming *naming)
{
	for (size_t k = 0; k < count; k++) {
		int64_t now = gp_monotonic_ns(), left = deadline_ns > now ? deadline_ns - now : 0;
		int64_t share = left / (int64_t)(count - k);
		share = share > SHARE_NS ? share : left < SHARE_NS ? left : SHARE_NS;
		name_one(made[k].path, now + share, &naming[k]);
		naming[k].is_done = true;
	}
}

static pid_t run_names_start(const struct gp_made *made, size_t count, int64_t deadline_ns,
			     const sigset_t *mask, struct naming *naming)
{
	pid_t parent = getpid();
	fflush(NULL);
	pid_t child = fork();
	if (child != 0)
		return child;
	const struct rlimit no_core = { 0, 0 };
	setrlimit(RLIMIT_CORE, &no_core);
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (getppid() == parent) {
		sigprocmask(SIG_SETMASK, mask, NULL);
		name_all(made, count, deadline_ns, naming);
	}
	_exit(0);
}

/* ---- the parent ---- */

static const char time_up[] = "time was up";

/* Waits for the child's end, a signal or the limit. Returns why it was ended, or NULL. */
static const char *run_child(const struct gp_made *made, size_t count, const sigset_t *set,
			     const sigset_t *mask, struct naming *naming)
{
	const int64_t limit_ns = gp_monotonic_ns() + LIMIT_NS;
	const char *why = NULL;
	const pid_t child = run_names_start(made, count, limit_ns - RESERVE_NS, mask, naming);
	while (child > 0 && waitpid(child, NULL, WNOHANG) == 0) {
		const int64_t left = limit_ns - gp_monotonic_ns();
		const struct timespec most = { left / 1000000000, left % 1000000000 };
		const int number = left > 0 ? sigtimedwait(set, NULL, &most) : 0;
		if (left > 0 && (number == SIGCHLD || number < 0))
			continue;
		why = left > 0 ? "interrupted" : time_up;
		kill(child, SIGKILL);
		while (waitpid(child, NULL, 0) < 0 && errno == EINTR)
			;
		break;
	}
	return why;
}

static void sum_up(const struct gp_made *made, size_t count, const struct naming *naming,
		   struct gp_run_names *out)
{
	const char *full = NULL;
	for (size_t k = 0; k < count; k++) {
		const struct naming *t = &naming[k];
		const bool is_full = t->status == GP_E_SPACE || t->status == GP_E_IO;
		out->done += t->is_done && t->status == GP_OK;
		out->frames += t->frames;
		out->named += t->named;
		if (is_full)
			full = gp_status_text(t->status);
		/* an unreadable recording has no names to wait for */
		if (t->is_done && !is_full && (t->status != GP_OK || t->waiting == 0))
			continue;
		if (out->unfinished++ == 0)
			out->first = made[k].path;
		if (t->waiting != 0 && !out->why)
			out->why = time_up;
	}
	out->why = full ? full : out->why ? out->why : "looking them up failed";
}

void gp_run_names(const struct gp_made *made, size_t count, struct gp_run_names *out)
{
	sigset_t set, mask;
	const size_t bytes = (count + 1) * sizeof(struct naming);
	struct naming *naming =
		mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	*out = (struct gp_run_names){ 0 };
	if (naming == MAP_FAILED)
		return;
	sigemptyset(&set);
	for (size_t k = 0; k < sizeof ending / sizeof *ending; k++)
		sigaddset(&set, ending[k]);
	sigaddset(&set, SIGCHLD);
	sigprocmask(SIG_BLOCK, &set, &mask);
	out->why = run_child(made, count, &set, &mask, naming);
	sum_up(made, count, naming, out);
	sigprocmask(SIG_SETMASK, &mask, NULL);
	munmap(naming, bytes);
}
