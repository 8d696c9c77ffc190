/*
 * The target's only printer: one write(2) to stderr, errno kept, each text at most once. The drain
 * thread has closed its stderr, so what it says is kept until a thread of the job comes by.
 */
#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "recorder.h"

#define SAID_MAX 32u
#define LINE_MAX_BYTES 1400u
#define PENDING_MAX 8u

static _Atomic(const char *) said[SAID_MAX];

enum pending_state { PENDING_NONE, PENDING_WRITING, PENDING_READY };
static struct {
	_Atomic uint32_t state;
	size_t length;
	char line[LINE_MAX_BYTES];
} pending[PENDING_MAX];

static bool was_said(const char *text)
{
	for (unsigned k = 0; k < SAID_MAX; k++) {
		const char *other = NULL;
		if (atomic_compare_exchange_strong(&said[k], &other, text))
			return false;
		if (other == text)
			return true;
	}
	return true;
}

static size_t append(char *line, size_t at, const char *text)
{
	size_t n = strlen(text), room = LINE_MAX_BYTES - 1 - at;
	if (n > room)
		n = room;
	memcpy(line + at, text, n);
	return at + n;
}

static void put_line(const char *line, size_t length)
{
	ssize_t written = write(STDERR_FILENO, line, length);
	(void)written;
}

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

void gp_say_pending(void)
{
	for (unsigned k = 0; k < PENDING_MAX; k++) {
		uint32_t ready = PENDING_READY;
		if (!atomic_compare_exchange_strong(&pending[k].state, &ready, PENDING_WRITING))
			continue;
		put_line(pending[k].line, pending[k].length);
		atomic_store(&pending[k].state, PENDING_NONE);
	}
}

/* Returns the length. `line` is closed by 0. */
static size_t compose(char line[LINE_MAX_BYTES], const char *text, const char *subject,
		      const char *cause)
{
	size_t n = append(line, 0, text);
	if (subject) {
		n = append(line, n, " '");
		n = append(line, n, subject);
		n = append(line, n, "'");
	}
	if (cause) {
		n = append(line, n, ": ");
		n = append(line, n, cause);
	}
	line[n] = '\0';
	return n;
}

static void say(const char *before, const char *text)
{
	char line[LINE_MAX_BYTES];
	size_t n = append(line, append(line, 0, before), text);
	line[n++] = '\n';
	if (gp_thread.is_drain)
		keep_line(line, n);
	else
		put_line(line, n);
}

void gp_say(bool is_important, const char *text, const char *subject)
{
	/* what is not important is said once a process, by who says it: also in a forked child */
	if (is_important ? was_said(text) : !gp_settings.is_verbose)
		return;
	int kept = errno;
	char line[LINE_MAX_BYTES];
	compose(line, text, subject, NULL);
	say("gpuprof: ", line);
	errno = kept;
}

/* The usual causes in words; strerror may call malloc and take a lock. */
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

void gp_say_errno(const char *text, const char *subject, int error)
{
	if (was_said(text))
		return;
	int kept = errno;
	char line[LINE_MAX_BYTES];
	compose(line, text, subject, cause_of(error));
	say("gpuprof: ", line);
	errno = kept;
}

void gp_say_hint(const char *hint)
{
	int kept = errno;
	if (!was_said(hint))
		say("hint: ", hint);
	errno = kept;
}

void gp_say_refusal(const char *why, const char *subject, int error)
{
	int kept = errno;
	char line[LINE_MAX_BYTES];
	compose(line, why, subject, error ? cause_of(error) : NULL);
	if (!was_said(why))
		say("gpuprof: nothing is recorded, ", line);
	gp_list_add("failed: ", line);
	errno = kept;
}
