/*
 * A file that replaces another is written beside it and renamed: a reader sees the old one or the
 * new one, and a report on the file itself cannot empty it. A signal that ends the program takes
 * the unfinished file along.
 */
#include "sink.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "command.h"
#include "message.h"

/* ---- signals ---- */

static const int ends[] = { SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGPIPE };
enum { ENDS = sizeof ends / sizeof *ends };

/* Of one report at a time; "": none. Changed only while the signals are blocked. */
static char unfinished[PATH_MAX];

/* Ends by the same signal: SA_RESETHAND has put its default back, it comes when we return. */
static void remove_unfinished(int signal)
{
	if (unfinished[0])
		unlink(unfinished);
	raise(signal);
}

/* What was ignored (nohup, a shell's background job) stays so. */
static void watch_signals(void)
{
	static bool is_done;
	struct sigaction old,
		ours = { .sa_handler = remove_unfinished, .sa_flags = (int)SA_RESETHAND };
	sigfillset(&ours.sa_mask);
	for (int k = 0; k < ENDS && !is_done; k++)
		if (sigaction(ends[k], NULL, &old) == 0 && old.sa_handler == SIG_DFL)
			sigaction(ends[k], &ours, NULL);
	is_done = true;
}

static void block_signals(sigset_t *old)
{
	sigset_t blocked;
	sigemptyset(&blocked);
	for (int k = 0; k < ENDS; k++)
		sigaddset(&blocked, ends[k]);
	sigprocmask(SIG_BLOCK, &blocked, old);
}

/* ---- files ---- */

static int failed(const char *path, int error)
{
	gp_complain("cannot create '%s': %s", path,
		    error == ENOENT ? "no such directory" : gp_cause(error));
	if (error == EEXIST)
		gp_hint("--force replaces it");
	return error == EEXIST ? GP_EXIT_USAGE : GP_EXIT_INTERNAL;
}

static bool is_input(const struct stat *file, char *const *inputs, int count)
{
	struct stat input;
	for (int k = 0; k < count; k++)
		if (stat(inputs[k], &input) == 0 && input.st_dev == file->st_dev &&
		    input.st_ino == file->st_ino)
			return true;
	return false;
}

/* Through links: the file is replaced, not the link to it. -1: errno. */
static int open_beside(struct gp_sink *sink)
{
	static const char suffix[] = ".XXXXXX";
	if (!realpath(sink->path, sink->target))
		return -1;
	size_t n = strlen(sink->target);
	if (n + sizeof suffix > sizeof sink->written) {
		errno = ENAMETOOLONG;
		return -1;
	}
	memcpy(sink->written, sink->target, n);
	memcpy(sink->written + n, suffix, sizeof suffix);
	int fd = mkostemp(sink->written, O_CLOEXEC); /* 0600 */
	if (fd < 0)
		sink->written[0] = '\0';
	return fd;
}

static int open_new(struct gp_sink *sink)
{
	int fd = open(sink->path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
	if (fd >= 0)
		snprintf(sink->written, sizeof sink->written, "%s", sink->path);
	return fd;
}

/* -1: errno. What is made is noted before a signal can come. */
static int open_file(struct gp_sink *sink, const struct stat *there, bool may_replace)
{
	sigset_t old;
	watch_signals();
	block_signals(&old);
	int fd = !there || !may_replace	 ? open_new(sink) :
		 S_ISREG(there->st_mode) ? open_beside(sink) :
					   open(sink->path, O_WRONLY | O_CLOEXEC);
	int error = errno;
	memcpy(unfinished, sink->written, sizeof unfinished);
	sigprocmask(SIG_SETMASK, &old, NULL);
	errno = error;
	return fd;
}

/* Gives the file its name, or takes it away. errno of what failed; 0: nothing. */
static int settle(const struct gp_sink *sink, bool is_kept)
{
	sigset_t old;
	int error = 0;
	block_signals(&old);
	if (is_kept && sink->target[0] && rename(sink->written, sink->target) != 0) {
		error = errno;
		is_kept = false;
	}
	if (sink->written[0] && !is_kept)
		unlink(sink->written);
	unfinished[0] = '\0';
	sigprocmask(SIG_SETMASK, &old, NULL);
	return error;
}

int gp_sink_open(struct gp_sink *sink, const char *path, bool may_replace, char *const *inputs,
		 int count)
{
	struct stat st;
	sink->out = stdout;
	sink->path = path;
	sink->has_report = false;
	sink->written[0] = sink->target[0] = '\0';
	if (!path)
		return GP_EXIT_OK;
	bool is_there = stat(path, &st) == 0;
	if (is_there && is_input(&st, inputs, count)) {
		gp_complain("cannot write '%s': the report is made from it", path);
		return GP_EXIT_USAGE;
	}
	int fd = open_file(sink, is_there ? &st : NULL, may_replace);
	if (fd < 0)
		return failed(path, errno);
	sink->out = fdopen(fd, "w");
	if (sink->out)
		return GP_EXIT_OK;
	int error = errno;
	close(fd);
	settle(sink, false);
	return failed(path, error);
}

/* errno of what went wrong on the way to the disk; 0: nothing. */
static int finish(struct gp_sink *sink)
{
	int error = 0;
	if (fflush(sink->out) != 0 || ferror(sink->out))
		error = errno ? errno : EIO;
	if (sink->path && fclose(sink->out) != 0 && !error)
		error = errno;
	return error;
}

int gp_sink_close(struct gp_sink *sink, int exit_status)
{
	int error = finish(sink);
	bool is_kept = !error && sink->has_report && exit_status != GP_EXIT_INTERNAL;
	int unsettled = settle(sink, is_kept);
	error = error ? error : unsettled;
	if (!error)
		return exit_status;
	if (sink->path)
		gp_complain("cannot write '%s': %s", sink->path, gp_cause(error));
	else
		gp_complain("cannot write to stdout: %s", gp_cause(error));
	return GP_EXIT_INTERNAL;
}
