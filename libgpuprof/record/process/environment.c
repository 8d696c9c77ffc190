/*
 * The current environment. A thread of the job may call setenv meanwhile, which moves and may free
 * the list, and takes a lock of libc. So this takes no lock and reads through the kernel, which
 * refuses unmapped memory. If the kernel forbids that, no variable is found.
 */
#include <errno.h>
#include <string.h>

#include "own_memory.h"
#include "settings.h"

#define LIST_PART 64u
#define LIST_MOST 65536u /* entries: a list in motion may have no end */
#define NAME_MOST 80u

extern char **environ;

struct search {
	int memory;
	const char *name;
	size_t name_bytes;
	char *value;
	size_t capacity;
};

/* True if the entry is NAME=VALUE with this name; then its value is kept. */
static bool search_entry(const struct search *s, const char *entry)
{
	char head[NAME_MOST + 1];
	const size_t head_bytes = s->name_bytes + 1;
	const uintptr_t at = (uintptr_t)entry;
	if (gp_own_memory_read(s->memory, at, head, head_bytes) < head_bytes ||
	    memcmp(head, s->name, s->name_bytes) != 0 || head[s->name_bytes] != '=')
		return false;
	s->value[gp_own_memory_read(s->memory, at + head_bytes, s->value, s->capacity - 1)] = '\0';
	return true;
}

static bool search_list(const struct search *s)
{
	const char *part[LIST_PART];
	char **list = __atomic_load_n(&environ, __ATOMIC_RELAXED);
	for (size_t at = 0; list && at < LIST_MOST;) {
		const uintptr_t from = (uintptr_t)(list + at);
		const size_t n =
			gp_own_memory_read(s->memory, from, part, sizeof part) / sizeof *part;
		for (size_t k = 0; k < n; k++)
			if (!part[k] || search_entry(s, part[k]))
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
	const struct search s = { gp_own_memory_open(), name, strlen(name), value, capacity };
	const bool is_found = s.memory >= 0 && s.name_bytes < NAME_MOST && search_list(&s);
	gp_own_memory_close(s.memory);
	errno = kept;
	return is_found;
}
