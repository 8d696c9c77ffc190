/*
 * The environment as it is now. A thread of the job may call setenv meanwhile, which moves the list
 * and may free it, and takes a lock of libc. So this takes no lock and reads through the kernel,
 * which refuses what is not mapped. Where the kernel does not allow that, it reads what the program
 * was started with.
 */
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

#include "settings.h"

#define LIST_PART 64u
#define LIST_MOST 65536u /* entries: a list that is being moved may have no end */
#define TEXT_PART 256u

extern char **environ;

/* Compares entries with NAME= and keeps the value of the one that matches. */
struct search {
	const char *name;
	size_t name_bytes;
	char *value;
	size_t capacity, at, kept;
	bool differs;
};

static void search_entry(struct search *s)
{
	s->at = s->kept = 0;
	s->differs = false;
}

/* True: `c` ended the entry that was looked for. */
static bool search_take(struct search *s, char c)
{
	if (c == '\0' && !s->differs && s->at > s->name_bytes) {
		s->value[s->kept] = '\0';
		return true;
	}
	if (s->at < s->name_bytes)
		s->differs |= c != s->name[s->at];
	else if (s->at == s->name_bytes)
		s->differs |= c != '=';
	else if (s->kept + 1 < s->capacity)
		s->value[s->kept++] = c;
	s->at++;
	return false;
}

/* How many bytes could be read; less than `bytes` at the end of what is mapped. */
static size_t peek(const void *from, void *to, size_t bytes)
{
	const struct iovec local = { to, bytes };
	const struct iovec remote = { (void *)(uintptr_t)from, bytes };
	const ssize_t n = process_vm_readv(getpid(), &local, 1, &remote, 1, 0);
	return n > 0 ? (size_t)n : 0;
}

/* Up to the next page: a call that crosses into what is not mapped may read nothing. */
static size_t part_at(const char *from, size_t most)
{
	const size_t left = 4096 - (uintptr_t)from % 4096;
	return left < most ? left : most;
}

static bool is_in_text(struct search *s, const char *text)
{
	char part[TEXT_PART];
	size_t n;
	search_entry(s);
	do {
		n = peek(text, part, part_at(text, sizeof part));
		for (size_t k = 0; k < n; k++) {
			if (search_take(s, part[k]))
				return true;
			if (part[k] == '\0' || s->differs)
				return false;
		}
		text += n;
	} while (n != 0);
	return false;
}

/* `is_readable` is false where the kernel lets us read nothing. */
static bool is_in_list(struct search *s, bool *is_readable)
{
	const char *part[LIST_PART];
	char **list = __atomic_load_n(&environ, __ATOMIC_RELAXED);
	*is_readable = true;
	for (size_t at = 0; list && at < LIST_MOST;) {
		const size_t most = part_at((const char *)(list + at), sizeof part);
		const size_t n = peek(list + at, part, most) / sizeof *part;
		*is_readable = n != 0;
		for (size_t k = 0; k < n; k++)
			if (!part[k] || is_in_text(s, part[k]))
				return part[k] != NULL;
		if (n == 0)
			break;
		at += n;
	}
	return false;
}

static bool is_at_start(struct search *s)
{
	char part[4096];
	long n;
	const long fd = syscall(SYS_openat, AT_FDCWD, "/proc/self/environ", O_RDONLY | O_CLOEXEC);
	bool is_found = false;
	search_entry(s);
	while (fd >= 0 && !is_found && (n = syscall(SYS_read, fd, part, sizeof part)) > 0)
		for (long k = 0; k < n && !is_found; k++) {
			is_found = search_take(s, part[k]);
			if (part[k] == '\0' && !is_found)
				search_entry(s);
		}
	if (fd >= 0)
		syscall(SYS_close, fd);
	return is_found;
}

bool gp_environment_find(const char *name, char *value, size_t capacity)
{
	struct search s = {
		.name = name, .name_bytes = strlen(name), .value = value, .capacity = capacity
	};
	const int kept = errno;
	bool is_readable;
	const bool is_found = is_in_list(&s, &is_readable) || (!is_readable && is_at_start(&s));
	errno = kept;
	return is_found;
}
