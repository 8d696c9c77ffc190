/*
 * A file is written under a temporary name beside its target and renamed when it is complete.
 * Readers see the old file, none, or the new one, and a report on the target itself cannot empty
 * it. A signal that ends the program removes the unfinished file.
 */
#include "sink.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "../command.h"
#include "message.h"
#include "screen.h"
#include "stdin_recording.h"
#include "style.h"

/* ---- signals ---- */

static const int ends[] = { SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGPIPE, SIGXCPU, SIGXFSZ };
enum { ENDS = sizeof ends / sizeof *ends };

/* One report at a time; "": none. Changed only while the signals are blocked. */
static char unfinished[PATH_MAX];

/* SA_RESETHAND has restored the default, so the same signal ends the program on return. */
static void remove_unfinished(int signal)
{
	if (unfinished[0])
		unlink(unfinished);
	raise(signal);
}

/* Leaves ignored signals ignored (nohup, background jobs of a shell). */
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

static int failed(const struct gp_sink *sink, int error)
{
	gp_error("cannot create '%s': %s", sink->path,
		 error == ENOENT ? "no such directory" : gp_cause(error));
	if (error == EEXIST && sink->is_recording)
		gp_hint("choose another name");
	else if (error == EEXIST)
		gp_hint("--force replaces it");
	return error == EEXIST ? GP_EXIT_USAGE : GP_EXIT_INTERNAL;
}

static bool is_input(const struct stat *file, char *const *inputs, int count)
{
	struct stat input;
	for (int k = 0; k < count; k++)
		if (stat(gp_readable_path(inputs[k]), &input) == 0 &&
		    input.st_dev == file->st_dev && input.st_ino == file->st_ino)
			return true;
	return false;
}

/* Resolves links: the file is replaced, not the link to it. False: errno. */
static bool find_target(struct gp_sink *sink, bool is_there)
{
	if (is_there)
		return realpath(sink->path, sink->target) != NULL;
	int n = snprintf(sink->target, sizeof sink->target, "%s", sink->path);
	errno = ENAMETOOLONG;
	return n < (int)sizeof sink->target;
}

/* The mode of a report: that of the replaced file, else 0666 less the umask. */
static mode_t mode_of(const struct stat *there)
{
	if (there)
		return there->st_mode & 0777;
	mode_t mask = umask(077);
	umask(mask);
	return 0666 & ~mask;
}

/* -1: errno. On a file system without modes, ignores the failure to set one. */
static int open_beside(struct gp_sink *sink, const struct stat *there)
{
	static const char suffix[] = ".XXXXXX";
	if (!find_target(sink, there != NULL))
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
	else if (!sink->is_recording && fchmod(fd, mode_of(there)) != 0)
		errno = 0;
	return fd;
}

/* Without may_replace, refuses a dangling link, too. -1: errno. */
static int open_any(struct gp_sink *sink, const struct stat *there)
{
	struct stat st;
	if (there && !S_ISREG(there->st_mode))
		return open(sink->path, O_WRONLY | O_CLOEXEC); /* a device, a pipe */
	if (!sink->may_replace && lstat(sink->path, &st) == 0) {
		errno = EEXIST;
		return -1;
	}
	return open_beside(sink, there);
}

/* -1: errno. Notes the new file before a signal can arrive. */
static int open_file(struct gp_sink *sink, const struct stat *there)
{
	sigset_t old;
	watch_signals();
	block_signals(&old);
	int fd = open_any(sink, there);
	int error = errno;
	memcpy(unfinished, sink->written, sizeof unfinished);
	sigprocmask(SIG_SETMASK, &old, NULL);
	errno = error;
	return fd;
}

/* Without may_replace, does not overwrite a file that has appeared since. False: errno. */
static bool give_name(const struct gp_sink *sink)
{
	const char *from = sink->written, *to = sink->target;
	if (sink->may_replace)
		return rename(from, to) == 0;
	if (renameat2(AT_FDCWD, from, AT_FDCWD, to, RENAME_NOREPLACE) == 0)
		return true;
	/* file systems without renameat2 flags, such as NFS, have links */
	if ((errno != EINVAL && errno != ENOSYS) || link(from, to) != 0)
		return false;
	unlink(from);
	return true;
}

/* Renames the file to its target, or removes it. errno of the failure; 0: none. */
static int sink_settle(const struct gp_sink *sink, bool is_kept)
{
	sigset_t old;
	int error = 0;
	block_signals(&old);
	if (is_kept && sink->written[0] && !give_name(sink)) {
		error = errno;
		is_kept = false;
	}
	if (sink->written[0] && !is_kept)
		unlink(sink->written);
	unfinished[0] = '\0';
	sigprocmask(SIG_SETMASK, &old, NULL);
	return error;
}

static int open_sink(struct gp_sink *sink, char *const *inputs, int count)
{
	struct stat st;
	const char *path = sink->path;
	if (!*path || gp_is_stdin(path)) {
		gp_error("bad value of '--%s': '%s' is not a name of a file",
			 sink->is_recording ? "repair" : "output", path);
		return GP_EXIT_USAGE;
	}
	bool is_there = stat(path, &st) == 0;
	if (is_there && is_input(&st, inputs, count)) {
		gp_error("cannot write '%s': the report is made from it", path);
		return GP_EXIT_USAGE;
	}
	int fd = open_file(sink, is_there ? &st : NULL);
	if (fd < 0)
		return failed(sink, errno);
	sink->out = fdopen(fd, "w");
	if (sink->out)
		return GP_EXIT_OK;
	int error = errno;
	close(fd);
	sink_settle(sink, false);
	return failed(sink, error);
}

static int open_report(struct gp_sink *sink, const char *path, bool may_replace,
		       char *const *inputs, int count)
{
	if (path && strcmp(path, "-") == 0)
		path = NULL;
	sink->out = stdout;
	sink->path = path;
	sink->has_report = sink->is_recording = sink->is_text = false;
	sink->may_replace = may_replace;
	sink->written[0] = sink->target[0] = '\0';
	return path ? open_sink(sink, inputs, count) : GP_EXIT_OK;
}

int gp_sink_open(struct gp_sink *sink, const char *path, bool may_replace, bool is_text,
		 char *const *inputs, int count)
{
	int exit_status = open_report(sink, path, may_replace, inputs, count);
	sink->is_text = is_text;
	if (exit_status || !is_text)
		return exit_status;
	if (sink->path)
		gp_report_colour(fileno(sink->out));
	else
		sink->out = gp_screen_open();
	return exit_status;
}

int gp_sink_check(const char *path, bool may_replace, char *const *inputs, int count)
{
	struct gp_sink sink;
	struct stat st;
	/* do not open a pipe: closing it would end the input of its reader */
	if (!path || (may_replace && stat(path, &st) == 0 && !S_ISREG(st.st_mode)))
		return GP_EXIT_OK;
	int exit_status = open_report(&sink, path, may_replace, inputs, count);
	return exit_status ? exit_status : gp_sink_close(&sink, GP_EXIT_OK);
}

int gp_sink_open_recording(struct gp_sink *sink, const char *path)
{
	*sink = (struct gp_sink){ .path = path, .is_recording = true };
	return open_sink(sink, NULL, 0);
}

/* errno of the failure until the data is on disk; 0: none. */
static int sink_finish(struct gp_sink *sink)
{
	int error = 0;
	if (sink->out != stdout && !sink->path)
		return gp_screen_close();
	if (fflush(sink->out) != 0 || ferror(sink->out))
		error = errno ? errno : EIO;
	/* after a power cut, a file under the final name must have its data */
	if (!error && sink->has_report && sink->written[0] && fsync(fileno(sink->out)) != 0 &&
	    errno != EINVAL)
		error = errno;
	if (sink->path && fclose(sink->out) != 0 && !error)
		error = errno;
	return error;
}

/* Only for files that people read. A program waits for its own files. */
static void print_written(const struct gp_sink *sink)
{
	size_t bytes = strlen(sink->path);
	if ((bytes > 4 && strcmp(sink->path + bytes - 4, ".svg") == 0) ||
	    (bytes > 5 && strcmp(sink->path + bytes - 5, ".html") == 0))
		gp_error("wrote '%s'; open it in a browser", sink->path);
	else if (sink->is_text)
		gp_error("wrote '%s'", sink->path);
}

int gp_sink_close(struct gp_sink *sink, int exit_status)
{
	int error = sink_finish(sink);
	bool is_kept = !error && sink->has_report && exit_status != GP_EXIT_INTERNAL;
	int unsettled = sink_settle(sink, is_kept);
	if (unsettled == EEXIST)
		return failed(sink, unsettled);
	error = error ? error : unsettled;
	if (!error && is_kept && sink->written[0])
		print_written(sink);
	if (!error)
		return exit_status;
	if (sink->path)
		gp_error("cannot write '%s': %s", sink->path, gp_cause(error));
	else
		gp_error("cannot write to stdout: %s", gp_cause(error));
	return GP_EXIT_INTERNAL;
}
