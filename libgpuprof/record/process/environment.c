/*
 * The environment as it is now. A thread of the job may call setenv meanwhile, which moves the list
 * and may free it, and takes a lock of libc. So this takes no lock and reads through the kernel,
 * which refuses what is not mapped. Where the kernel does not allow that, no variable is found.
 */
#include <errno.h>
#include <string.h>

#include "own_memory.h"
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
	int memory;
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

static bool is_in_text(struct search *s, const char *text)
{
	char part[TEXT_PART];
	size_t n;
	search_entry(s);
	do {
		n = gp_own_memory_read(s->memory, (uintptr_t)text, part, sizeof part);
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

static bool is_in_list(struct search *s)
{
	const char *part[LIST_PART];
	char **list = __atomic_load_n(&environ, __ATOMIC_RELAXED);
	for (size_t at = 0; list && at < LIST_MOST;) {
		const uintptr_t from = (uintptr_t)(list + at);
		const size_t n =
			gp_own_memory_read(s->memory, from, part, sizeof part) / sizeof *part;
		for (size_t k = 0; k < n; k++)
			if (!part[k] || is_in_text(s, part[k]))
				return part[k] != NULL;
		if (n == 0)
			break;
		at += n;
	}
	return false;
}

bool gp_environment_find(const char *name, char *value, size_t capacity)
{
	const int kept = errno;
	struct search s = { .name = name,
			    .name_bytes = strlen(name),
			    .value = value,
			    .capacity = capacity,
			    .memory = gp_own_memory_open() };
	const bool is_found = s.memory >= 0 && is_in_list(&s);
	gp_own_memory_close(s.memory);
	errno = kept;
	return is_found;
}
