/* Limits, read from /proc and the cgroup file systems: see headroom.h, and cgroups(7). */
#include "headroom.h"

#include <fcntl.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#define PATH_BYTES 1024u
#define STATUS_BYTES 8192u
#define TEXT_BYTES 16384u /* of mountinfo: what lies behind is not looked at */

struct hierarchy {
	const char *controller;	       /* of its line in /proc/self/cgroup; "": version 2 */
	const char *limit, *used;      /* files */
	const char *active, *inactive; /* lines of memory.stat: pages of files */
};

static const struct hierarchy versions[] = {
	{ "", "memory.max", "memory.current", "active_file", "inactive_file" },
	{ "memory", "memory.limit_in_bytes", "memory.usage_in_bytes", "total_active_file",
	  "total_inactive_file" },
};

static bool read_text(const char *directory, const char *name, char *out, size_t capacity)
{
	char path[PATH_BYTES + 64];
	size_t at = 0;
	ssize_t n = -1;
	snprintf(path, sizeof path, "%s/%s", directory, name);
	const int fd = open(path, O_RDONLY | O_CLOEXEC);
	while (fd >= 0 && at + 1 < capacity && (n = read(fd, out + at, capacity - 1 - at)) > 0)
		at += (size_t)n;
	if (fd >= 0)
		close(fd);
	out[at] = '\0';
	return at != 0;
}

/*
 * Of /proc/self/status as much of its end as fits: the lines of memory stand behind that of the
 * user's groups, which may be thousands.
 */
static bool read_status(char *out, size_t capacity)
{
	size_t at = 0;
	ssize_t n = -1;
	const int fd = open("/proc/self/status", O_RDONLY | O_CLOEXEC);
	while (fd >= 0 && (n = read(fd, out + at, capacity - 1 - at)) > 0) {
		at += (size_t)n;
		if (at > capacity / 2) {
			memmove(out, out + at - capacity / 2, capacity / 2);
			at = capacity / 2;
		}
	}
	if (fd >= 0)
		close(fd);
	out[at] = '\0';
	return at != 0;
}

/* "max", and what no limit is in version 1, are GP_NO_LIMIT. */
static uint64_t read_number(const char *directory, const char *name)
{
	char text[64];
	if (!read_text(directory, name, text, sizeof text) || *text < '0' || *text > '9')
		return GP_NO_LIMIT;
	const uint64_t number = strtoull(text, NULL, 10);
	return number >> 62 ? GP_NO_LIMIT : number;
}

/* The number in the line that begins with `key` and a blank, 0 without such a line. */
static uint64_t number_of(const char *text, const char *key)
{
	const size_t n = strlen(key);
	for (const char *line = text; line; line = strchr(line, '\n')) {
		line += *line == '\n';
		if (strncmp(line, key, n) == 0 && (line[n] == ' ' || line[n] == '\t'))
			return strtoull(line + n + 1, NULL, 10);
	}
	return 0;
}

static uint64_t left_in(const struct hierarchy *h, const char *directory)
{
	char stat[8192];
	const uint64_t limit = read_number(directory, h->limit);
	uint64_t used = read_number(directory, h->used), dropped = 0;
	if (limit == GP_NO_LIMIT || used == GP_NO_LIMIT)
		return GP_NO_LIMIT;
	if (read_text(directory, "memory.stat", stat, sizeof stat))
		dropped = number_of(stat, h->active) + number_of(stat, h->inactive);
	used -= dropped < used ? dropped : used;
	return limit > used ? limit - used : 0;
}

/* "0::/path", or "4:memory:/path" where controllers are a list. */
static bool is_line_of(const struct hierarchy *h, const char *line, const char **path)
{
	const char *list = strchr(line, ':'), *end = list ? strchr(list + 1, ':') : NULL;
	const size_t wanted = strlen(h->controller);
	if (!end)
		return false;
	*path = end + 1;
	for (const char *word = list + 1; word <= end; word += strcspn(word, ",:") + 1)
		if (strcspn(word, ",:") == wanted && strncmp(word, h->controller, wanted) == 0)
			return wanted != 0 || end == list + 1;
	return false;
}

/* Field `n` of a line of mountinfo, from 1 on; "": there is none. */
static void copy_field(const char *line, unsigned n, char *out, size_t capacity)
{
	for (; n > 1 && *line && *line != '\n'; n--) {
		line += strcspn(line, " \n");
		line += *line == ' ';
	}
	size_t bytes = strcspn(line, " \n");
	bytes = bytes < capacity ? bytes : 0;
	memcpy(out, line, bytes);
	out[bytes] = '\0';
}

static bool is_mount_of(const struct hierarchy *h, const char *line)
{
	const size_t length = strcspn(line, "\n");
	const char *type = memmem(line, length, " - ", 3);
	char kind[32], options[256];
	if (!type)
		return false;
	copy_field(type + 3, 1, kind, sizeof kind);
	copy_field(type + 3, 3, options, sizeof options);
	if (*h->controller == '\0')
		return strcmp(kind, "cgroup2") == 0;
	if (strcmp(kind, "cgroup") != 0)
		return false;
	for (const char *word = options; *word; word += *word == ',') {
		const size_t n = strcspn(word, ",");
		if (n == strlen(h->controller) && strncmp(word, h->controller, n) == 0)
			return true;
		word += n;
	}
	return false;
}

/*
 * Where the group's directory is: below the mount, less what of its path the mount begins with (a
 * container sees its own part of the tree). `top` bytes of it are the mount.
 */
static bool find_directory(const struct hierarchy *h, const char *root, char *out, size_t *top)
{
	static char text[TEXT_BYTES]; /* the drain thread's stack is small */
	char group[PATH_BYTES] = "", from[PATH_BYTES], at[PATH_BYTES];
	const char *path, *line;
	if (!read_text(root, "proc/self/cgroup", text, sizeof text))
		return false;
	for (line = text; *line && !*group; line += strcspn(line, "\n"), line += *line == '\n')
		if (is_line_of(h, line, &path))
			copy_field(path, 1, group, sizeof group);
	if (!*group || !read_text(root, "proc/self/mountinfo", text, sizeof text))
		return false;
	for (line = text; *line && !is_mount_of(h, line); line += *line == '\n')
		line += strcspn(line, "\n");
	copy_field(line, 4, from, sizeof from);
	copy_field(line, 5, at, sizeof at);
	if (*at != '/')
		return false;
	const size_t n = strcmp(from, "/") == 0 ? 0 : strlen(from);
	const bool is_below = strncmp(group, from, n) == 0 && (group[n] == '/' || !group[n]);
	*top = (size_t)snprintf(out, PATH_BYTES, "%s%s", root, at);
	if (*top >= PATH_BYTES)
		return false;
	const int length = snprintf(out + *top, PATH_BYTES - *top, "%s", is_below ? group + n : "");
	return length >= 0 && (size_t)length < PATH_BYTES - *top;
}

uint64_t gp_headroom_cgroup(const char *root)
{
	uint64_t left = GP_NO_LIMIT;
	for (size_t v = 0; v < sizeof versions / sizeof *versions; v++) {
		char directory[PATH_BYTES];
		size_t top;
		if (!find_directory(&versions[v], root, directory, &top))
			continue;
		for (;;) {
			left = gp_least(left, left_in(&versions[v], directory));
			char *slash = strrchr(directory + top, '/');
			if (!slash)
				break;
			*slash = '\0';
		}
	}
	return left;
}

static uint64_t left_of(int resource, uint64_t used)
{
	struct rlimit limit;
	if (getrlimit(resource, &limit) != 0 || limit.rlim_cur == RLIM_INFINITY)
		return GP_NO_LIMIT;
	return limit.rlim_cur > used ? limit.rlim_cur - used : 0;
}

static uint64_t left_for_mappings(const char *status)
{
	return gp_least(left_of(RLIMIT_AS, number_of(status, "VmSize:") << 10),
			left_of(RLIMIT_DATA, number_of(status, "VmData:") << 10));
}

uint64_t gp_headroom_mappings(void)
{
	char status[STATUS_BYTES];
	if (!read_status(status, sizeof status))
		return GP_NO_LIMIT;
	return left_for_mappings(status);
}

uint64_t gp_headroom(void)
{
	char status[STATUS_BYTES];
	uint64_t left = gp_headroom_cgroup("");
	if (!read_status(status, sizeof status))
		return left;
	left = gp_least(left, left_for_mappings(status));
	const uint64_t locked = number_of(status, "VmLck:") << 10;
	return locked && geteuid() != 0 ? gp_least(left, left_of(RLIMIT_MEMLOCK, locked)) : left;
}
