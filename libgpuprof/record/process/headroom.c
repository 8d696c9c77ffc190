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
#define LINE_BYTES 4096u /* skips a longer line, as of a user with many groups */

struct hierarchy {
	const char *controller; /* name in its line of /proc/self/cgroup; "": version 2 */
	/* files; `high`: limit from which the kernel slows down, NULL: none */
	const char *limit, *high;
	const char *used;
	const char *active, *inactive; /* lines of memory.stat: pages of files */
};

static const struct hierarchy versions[] = {
	{ "", "memory.max", "memory.high", "memory.current", "active_file", "inactive_file" },
	{ "memory", "memory.limit_in_bytes", NULL, "memory.usage_in_bytes", "total_active_file",
	  "total_inactive_file" },
};

struct lines {
	int fd;
	size_t at, end; /* bytes read and not returned yet */
	char text[LINE_BYTES];
};

static void lines_open(struct lines *l, const char *directory, const char *name)
{
	char path[PATH_BYTES + 64];
	snprintf(path, sizeof path, "%s/%s", directory, name);
	l->fd = open(path, O_RDONLY | O_CLOEXEC);
	l->at = l->end = 0;
}

static void lines_close(const struct lines *l)
{
	if (l->fd >= 0)
		close(l->fd);
}

/* The next line without its newline, valid until the next call; NULL: no more. */
static const char *lines_next(struct lines *l)
{
	bool is_rest = false; /* of a skipped line */
	for (;;) {
		char *line = l->text + l->at, *end = memchr(line, '\n', l->end - l->at);
		if (end) {
			*end = '\0';
			l->at = (size_t)(end + 1 - l->text);
			if (!is_rest)
				return line;
			is_rest = false;
			continue;
		}
		is_rest |= l->end - l->at == sizeof l->text;
		l->end = is_rest ? 0 : l->end - l->at;
		l->at = 0;
		memmove(l->text, line, l->end);
		const ssize_t n = read(l->fd, l->text + l->end, sizeof l->text - l->end);
		if (n <= 0)
			return NULL;
		l->end += (size_t)n;
	}
}

/* "max", and the largest value of version 1, are GP_NO_LIMIT. */
static uint64_t read_number(const char *directory, const char *name)
{
	struct lines lines;
	lines_open(&lines, directory, name);
	const char *line = lines_next(&lines);
	const bool is_number = line && *line >= '0' && *line <= '9';
	const uint64_t number = is_number ? strtoull(line, NULL, 10) : GP_NO_LIMIT;
	lines_close(&lines);
	return number >> 62 ? GP_NO_LIMIT : number;
}

/* The number in a line that begins with `key` and a blank; 0 for other lines. */
static uint64_t headroom_number_of(const char *line, const char *key)
{
	const size_t n = strlen(key);
	const bool is_of = strncmp(line, key, n) == 0 && (line[n] == ' ' || line[n] == '\t');
	return is_of ? strtoull(line + n + 1, NULL, 10) : 0;
}

static uint64_t read_dropped(const struct hierarchy *h, const char *directory)
{
	struct lines lines;
	uint64_t dropped = 0;
	lines_open(&lines, directory, "memory.stat");
	for (const char *line; (line = lines_next(&lines));)
		dropped +=
			headroom_number_of(line, h->active) + headroom_number_of(line, h->inactive);
	lines_close(&lines);
	return dropped;
}

static uint64_t left_in(const struct hierarchy *h, const char *directory)
{
	const uint64_t high = h->high ? read_number(directory, h->high) : GP_NO_LIMIT;
	const uint64_t limit = gp_least(read_number(directory, h->limit), high);
	uint64_t used = read_number(directory, h->used);
	if (limit == GP_NO_LIMIT || used == GP_NO_LIMIT)
		return GP_NO_LIMIT;
	used -= gp_least(read_dropped(h, directory), used);
	return limit > used ? limit - used : 0;
}

/* "0::/path", or "4:memory:/path" with a list of controllers. */
static bool is_line_of(const struct hierarchy *h, const char *line, const char **path)
{
	const char *list = strchr(line, ':'), *end = list ? strchr(list + 1, ':') : NULL;
	const size_t bytes = strlen(h->controller);
	if (!end)
		return false;
	*path = end + 1;
	for (const char *word = list + 1; word <= end; word += strcspn(word, ",:") + 1)
		if (strcspn(word, ",:") == bytes && strncmp(word, h->controller, bytes) == 0)
			return bytes != 0 || end == list + 1;
	return false;
}

/* Field `n` of a line of mountinfo, from 1 on; "": there is none. */
static void copy_field(const char *line, unsigned n, char *out, size_t capacity)
{
	for (; n > 1 && *line; n--) {
		line += strcspn(line, " ");
		line += *line == ' ';
	}
	size_t bytes = strcspn(line, " ");
	bytes = bytes < capacity ? bytes : 0;
	memcpy(out, line, bytes);
	out[bytes] = '\0';
}

static bool is_mount_of(const struct hierarchy *h, const char *line)
{
	const char *type = strstr(line, " - ");
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

static void find_group(const struct hierarchy *h, const char *root, char *group)
{
	struct lines lines;
	const char *path;
	*group = '\0';
	lines_open(&lines, root, "proc/self/cgroup");
	for (const char *line; !*group && (line = lines_next(&lines));)
		if (is_line_of(h, line, &path) && strlen(path) < PATH_BYTES)
			strcpy(group, path);
	lines_close(&lines);
}

/* Where the hierarchy is mounted, and which of its directories is. */
static void find_mount(const struct hierarchy *h, const char *root, char *from, char *at)
{
	struct lines lines;
	*from = *at = '\0';
	lines_open(&lines, root, "proc/self/mountinfo");
	for (const char *line; (line = lines_next(&lines));) {
		if (!is_mount_of(h, line))
			continue;
		copy_field(line, 4, from, PATH_BYTES);
		copy_field(line, 5, at, PATH_BYTES);
		break;
	}
	lines_close(&lines);
}

/*
 * The group's directory: below the mount, without the part of its path that the mount begins with.
 * (A container sees its own part of the tree.) `top` bytes of it are the mount.
 */
static bool find_directory(const struct hierarchy *h, const char *root, char *out, size_t *top)
{
	char group[PATH_BYTES], from[PATH_BYTES], at[PATH_BYTES];
	find_group(h, root, group);
	if (!*group)
		return false;
	find_mount(h, root, from, at);
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

/* From /proc/self/status, in bytes. */
struct taken {
	uint64_t addresses, data, locked;
};

static struct taken read_taken(const char *root)
{
	struct lines lines;
	struct taken taken = { 0 };
	lines_open(&lines, root, "proc/self/status");
	for (const char *line; (line = lines_next(&lines));) {
		taken.addresses += headroom_number_of(line, "VmSize:") << 10;
		taken.data += headroom_number_of(line, "VmData:") << 10;
		taken.locked += headroom_number_of(line, "VmLck:") << 10;
	}
	lines_close(&lines);
	return taken;
}

static uint64_t left_for_mappings(const struct taken *taken)
{
	return gp_least(left_of(RLIMIT_AS, taken->addresses), left_of(RLIMIT_DATA, taken->data));
}

uint64_t gp_headroom_mappings(void)
{
	const struct taken taken = read_taken("");
	return taken.addresses ? left_for_mappings(&taken) : GP_NO_LIMIT;
}

uint64_t gp_headroom(const char *root)
{
	const struct taken taken = read_taken(root);
	const uint64_t group = gp_headroom_cgroup(root);
	if (!taken.addresses)
		return group;
	const uint64_t left = gp_least(group, left_for_mappings(&taken));
	return taken.locked && geteuid() != 0 ?
		       gp_least(left, left_of(RLIMIT_MEMLOCK, taken.locked)) :
		       left;
}
