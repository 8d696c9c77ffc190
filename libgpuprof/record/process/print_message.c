/*
 * The target's only printer: one write to stderr, each text at most once, errno kept. It writes
 * only to the original stderr of the process, and only what stderr takes at once. It cannot end the
 * job: it raises no signal and is not a cancellation point. The drain thread has closed its stderr,
 * so its lines wait for a thread of the job. Not covered: a regular file on a hanging disk delays
 * the line.
 */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <time.h>
#include <unistd.h>

#include "../recorder.h"
#include "held_signals.h"

#define PRINTED_MAX 32u
#define LINE_MAX_BYTES 1400u
#define PENDING_MAX 8u

static _Atomic(const char *) printed[PRINTED_MAX];

enum pending_state { PENDING_NONE, PENDING_WRITING, PENDING_READY };
static struct {
	_Atomic uint32_t state;
	size_t length;
	char line[LINE_MAX_BYTES];
} pending[PENDING_MAX];

static bool was_printed(const char *text)
{
	for (unsigned k = 0; k < PRINTED_MAX; k++) {
		const char *other = NULL;
		if (atomic_compare_exchange_strong(&printed[k], &other, text))
			return false;
		if (other == text)
			return true;
	}
	return true;
}

static size_t print_message_append(char *line, size_t at, const char *text)
{
	size_t n = strlen(text), room = LINE_MAX_BYTES - 1 - at;
	if (n > room)
		n = room;
	memcpy(line + at, text, n);
	return at + n;
}

/* ---- stderr ---- */

static struct statx stderr_at_start; /* mask 0: it was closed */

static bool stderr_look(struct statx *out)
{
	return statx(STDERR_FILENO, "", AT_EMPTY_PATH, STATX_TYPE | STATX_INO | STATX_BTIME, out) ==
	       0;
}

void gp_log_init(void)
{
	if (!stderr_look(&stderr_at_start))
		stderr_at_start.stx_mask = 0;
}

/* A daemon closes it, and descriptor 2 may become its data file. */
static bool stderr_is_still_there(void)
{
	const struct statx *then = &stderr_at_start;
	struct statx now;
	return then->stx_mask != 0 && stderr_look(&now) && now.stx_ino == then->stx_ino &&
	       now.stx_dev_major == then->stx_dev_major &&
	       now.stx_dev_minor == then->stx_dev_minor && now.stx_mode == then->stx_mode &&
	       now.stx_btime.tv_sec == then->stx_btime.tv_sec &&
	       now.stx_btime.tv_nsec == then->stx_btime.tv_nsec;
}

bool gp_log_goes_to(const char *path)
{
	const struct statx *own = &stderr_at_start;
	struct statx other;
	return own->stx_mask != 0 && statx(AT_FDCWD, path, 0, STATX_INO, &other) == 0 &&
	       other.stx_ino == own->stx_ino && other.stx_dev_major == own->stx_dev_major &&
	       other.stx_dev_minor == own->stx_dev_minor;
}

static bool stderr_takes_more(void)
{
	const struct timespec at_once = { 0, 0 };
	struct pollfd poll = { .fd = STDERR_FILENO, .events = POLLOUT };
	return syscall(SYS_ppoll, &poll, 1, &at_once, NULL, 0) == 1 && poll.revents & POLLOUT;
}

/*
 * Another thread of the job may fill a pipe meanwhile. Files do not accept the flag; Linux before
 * 6.4 has none for pipes.
 */
static long stderr_write(const char *line, size_t length)
{
	const struct iovec part = { (void *)(uintptr_t)line, length };
	const mode_t mode = stderr_at_start.stx_mode;
	const bool may_wait = S_ISFIFO(mode) || S_ISSOCK(mode);
	const long written =
		may_wait ? syscall(SYS_pwritev2, STDERR_FILENO, &part, 1, -1L, -1L, RWF_NOWAIT) :
			   -1;
	if (may_wait && (written >= 0 || errno != EOPNOTSUPP))
		return written;
	return syscall(SYS_write, STDERR_FILENO, line, length);
}

/* Takes the signal that a failed write raised for this thread; an earlier one stays pending. */
static void take_back(int number, uint64_t pending_before)
{
	const struct timespec at_once = { 0, 0 };
	const uint64_t set = gp_signal_bit(number);
	if (!(pending_before & set))
		syscall(SYS_rt_sigtimedwait, &set, NULL, &at_once, sizeof set);
}

/*
 * Direct system calls: libc's write(2) is a cancellation point. SIGTTOU is blocked, so it does not
 * stop a background job of the terminal.
 */
static void write_unseen(long (*write)(const char *, size_t), const char *line, size_t length)
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

static void put_line(const char *line, size_t length)
{
	if (stderr_is_still_there() && stderr_takes_more())
		write_unseen(stderr_write, line, length);
}

/* ---- the list of `gpuprof run` ---- */

static long list_append(const char *line, size_t length)
{
	const long fd = syscall(SYS_openat, AT_FDCWD, gp_settings.list,
				O_WRONLY | O_APPEND | O_CLOEXEC | O_NOFOLLOW);
	if (fd < 0)
		return 0;
	const long written = syscall(SYS_write, fd, line, length);
	const int error = errno;
	syscall(SYS_close, fd);
	errno = error;
	return written;
}

void gp_list_add(const char *what, const char *text)
{
	char line[1500];
	size_t before = strlen(what), n = strlen(text);
	if (!gp_settings.list[0] || before + n >= sizeof line)
		return;
	memcpy(line, what, before);
	memcpy(line + before, text, n);
	line[before + n] = '\n';
	write_unseen(list_append, line, before + n + 1);
}

/* ---- lines ---- */

static void keep_line(const char *line, size_t length)
{
	for (unsigned k = 0; k < PENDING_MAX; k++) {
		uint32_t none = PENDING_NONE;
		if (!atomic_compare_exchange_strong(&pending[k].state, &none, PENDING_WRITING))
			continue;
		memcpy(pending[k].line, line, length);
		pending[k].length = length;
		atomic_store(&pending[k].state, PENDING_READY);
		/* the next event of each thread takes the slow path and prints it */
		uint32_t word = atomic_load(&gp_local->word);
		if (word)
			atomic_compare_exchange_strong(&gp_local->word, &word,
						       word + GP_WORD_CHANGE);
		return;
	}
}

void gp_log_pending(void)
{
	for (unsigned k = 0; k < PENDING_MAX; k++) {
		uint32_t ready = PENDING_READY;
		if (!atomic_compare_exchange_strong(&pending[k].state, &ready, PENDING_WRITING))
			continue;
		put_line(pending[k].line, pending[k].length);
		atomic_store(&pending[k].state, PENDING_NONE);
	}
}

/* Returns the length. `line` ends with a 0. */
static size_t compose(char line[LINE_MAX_BYTES], const char *before, const char *text,
		      const char *subject, const char *cause)
{
	size_t n = print_message_append(line, 0, before);
	n = print_message_append(line, n, text);
	if (subject) {
		n = print_message_append(line, n, " '");
		n = print_message_append(line, n, subject);
		n = print_message_append(line, n, "'");
	}
	if (cause) {
		n = print_message_append(line, n, ": ");
		n = print_message_append(line, n, cause);
	}
	line[n] = '\0';
	return n;
}

static void print_message_write(const char *before, const char *text, const char *subject,
				const char *cause)
{
	const int kept = errno;
	char line[LINE_MAX_BYTES];
	size_t n = compose(line, before, text, subject, cause);
	line[n++] = '\n';
	if (gp_thread.is_drain)
		keep_line(line, n);
	else
		put_line(line, n);
	errno = kept;
}

void gp_log(bool is_important, const char *text, const char *subject)
{
	/* unimportant lines are printed once per process by their caller: also in a forked child */
	if (is_important ? !was_printed(text) : gp_settings.is_verbose)
		print_message_write("gpuprof: ", text, subject, NULL);
}

/* Texts of the usual causes; strerror may call malloc and take a lock. */
static const char *cause_of(int error)
{
	switch (error) {
	case EACCES:
	case EPERM:
		return "permission denied";
	case ENOENT:
	case ENOTDIR:
		return "no such directory";
	case ENOSPC:
	case EDQUOT:
		return "no space left";
	case EROFS:
		return "the file system is read-only";
	case ENAMETOOLONG:
		return "the name is too long";
	case EISDIR:
		return "it is a directory";
	case EEXIST:
		return "it exists and is not a regular file";
	case ELOOP:
		return "it is a symbolic link";
	case EFBIG:
		return "the file would be too large";
	case ESTALE:
		return "another file has taken its place";
	case EIO:
		return "the device failed";
	case EMFILE:
	case ENFILE:
		return "too many open files";
	default:
		return "the system refused";
	}
}

void gp_log_errno(const char *text, const char *subject, int error)
{
	if (!was_printed(text))
		print_message_write("gpuprof: ", text, subject, cause_of(error));
}

void gp_log_hint(const char *hint)
{
	if (!was_printed(hint))
		print_message_write("hint: ", hint, NULL, NULL);
}

void gp_log_refusal(const char *why, const char *subject, int error)
{
	const int kept = errno;
	const char *cause = error ? cause_of(error) : NULL;
	char line[LINE_MAX_BYTES];
	if (!was_printed(why))
		print_message_write("gpuprof: nothing is recorded, ", why, subject, cause);
	compose(line, "", why, subject, cause);
	gp_list_add("failed: ", line);
	errno = kept;
}
