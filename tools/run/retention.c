/*
 * Finds what the pattern may have named with glob, then asks more of each: `*` for a pid also finds
 * strangers.
 */
#include "retention.h"

#include <ctype.h>
#include <glob.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "gpuprof.h"

/* The library cuts longer command lines: two that are alike so far need not be the same. */
enum { COMMAND_WHOLE = 1023 };

/* ---- names ---- */

/* Where the suffix of a taken name stands, as the library puts it: before the extension. */
static const char *suffix_place(const char *pattern)
{
	const char *dot = strrchr(pattern, '.'), *slash = strrchr(pattern, '/');
	const char *name = slash ? slash + 1 : pattern;
	return dot && dot > name ? dot : pattern + strlen(pattern);
}

struct host {
	char name[65];
};

static struct host this_host(void)
{
	struct host host = { "" };
	if (gethostname(host.name, sizeof host.name - 1) != 0)
		strcpy(host.name, "localhost");
	return host;
}

static bool match(const char *pattern, const char *suffix, const char *name);

/* Any number of digits, then the rest. */
static bool match_number(const char *pattern, const char *suffix, const char *name)
{
	while (isdigit((unsigned char)*name))
		if (match(pattern, suffix, ++name))
			return true;
	return false;
}

static bool match_moment(const char *pattern, const char *suffix, const char *name)
{
	static const char form[] = "ddddddddTdddddd";
	for (const char *f = form; *f; f++, name++)
		if (*f == 'd' ? !isdigit((unsigned char)*name) : *name != *f)
			return false;
	return match(pattern, suffix, name);
}

static bool match_host(const char *pattern, const char *suffix, const char *name)
{
	struct host host = this_host();
	size_t n = strcspn(host.name, ".");
	return strncmp(name, host.name, n) == 0 && match(pattern, suffix, name + n);
}

/* `pattern` stands at the brace: the value that the variable has here. */
static bool match_variable(const char *pattern, const char *suffix, const char *name)
{
	const char *end = gp_field_variable_end(pattern), *first = name;
	char variable[66];
	if (!end)
		return false;
	snprintf(variable, sizeof variable, "%.*s", (int)(end - pattern - 1), pattern + 1);
	const char *value = getenv(variable);
	for (; value && *value; value++, name++)
		if (*name != gp_field_byte(*value, name == first))
			return false;
	return match(end + 1, suffix, name);
}

static bool match_field(char field, const char *pattern, const char *suffix, const char *name)
{
	switch (field) {
	case 'p':
	case 'r':
	case 'l':
	case 'n':
	case 'j':
		return match_number(pattern, suffix, name);
	case 't':
		return match_moment(pattern, suffix, name);
	case 'h':
		return match_host(pattern, suffix, name);
	case 'q':
		return match_variable(pattern, suffix, name);
	case '%':
		return *name == field && match(pattern, suffix, name + 1);
	default: /* no field: `run` takes no such pattern */
		return false;
	}
}

/* `suffix`: where in the pattern one may stand; NULL: it has been there. */
static bool match(const char *pattern, const char *suffix, const char *name)
{
	if (pattern == suffix && *name == '.' && match_number(pattern, NULL, name + 1))
		return true;
	if (!*pattern)
		return !*name;
	if (*pattern == '%')
		return match_field(pattern[1] ? pattern[1] : '%', pattern + 1 + (pattern[1] != 0),
				   suffix, name);
	return *pattern == *name && match(pattern + 1, suffix, name + 1);
}

bool gp_retain_matches(const char *pattern, const char *name)
{
	return match(pattern, suffix_place(pattern), name);
}

/* The pattern as a glob: what differs from run to run becomes '*', also a suffix. */
static bool glob_of(const char *pattern, bool has_suffix, char *out, size_t capacity)
{
	const char *suffix = suffix_place(pattern);
	size_t n = 0;
	for (const char *at = pattern;; at++) {
		if (n + 8 > capacity)
			return false;
		if (at == suffix && has_suffix) {
			memcpy(out + n, ".[0-9]*", 7);
			n += 7;
		}
		if (!*at)
			break;
		if (*at != '%') {
			if (strchr("*?[\\", *at))
				out[n++] = '\\';
			out[n++] = *at;
			continue;
		}
		at++;
		if (*at == '%' || !*at) {
			out[n++] = '%';
			at -= !*at;
			continue;
		}
		out[n++] = '*';
		if (*at == 'q' && at[1] == '{')
			at += strcspn(at, "}") - (strchr(at, '}') == NULL);
	}
	out[n] = '\0';
	return true;
}

/* ---- files ---- */

struct candidate {
	const char *path;
	struct timespec changed;
};

static int newest_first(const void *a, const void *b)
{
	const struct candidate *x = a, *y = b;
	if (x->changed.tv_sec != y->changed.tv_sec)
		return x->changed.tv_sec < y->changed.tv_sec ? 1 : -1;
	return (x->changed.tv_nsec < y->changed.tv_nsec) -
	       (x->changed.tv_nsec > y->changed.tv_nsec);
}

static bool is_made_now(const struct stat *st, const struct gp_made *made, size_t count)
{
	struct stat other;
	for (size_t k = 0; k < count; k++)
		if (stat(made[k].path, &other) == 0 && other.st_dev == st->st_dev &&
		    other.st_ino == st->st_ino)
			return true;
	return false;
}

static bool is_same_command(const struct gp_info *info, const struct gp_made *made, size_t count)
{
	size_t n = info->command ? strlen(info->command) : 0;
	for (size_t k = 0; k < count && n && n < COMMAND_WHOLE; k++)
		if (strcmp(info->command, made[k].command) == 0)
			return true;
	return false;
}

static bool is_removable(const char *path, const struct gp_made *made, size_t count,
			 struct timespec *changed)
{
	struct stat st;
	struct gp_recording *recording;
	const struct gp_info *info;
	struct host host = this_host();
	if (lstat(path, &st) != 0 || !S_ISREG(st.st_mode) || st.st_uid != geteuid() ||
	    is_made_now(&st, made, count) || gp_recording_open(path, &recording, NULL) != GP_OK)
		return false;
	bool is_ours = gp_recording_info(recording, &info) == GP_OK && info->is_complete &&
		       info->hostname && strcmp(info->hostname, host.name) == 0 &&
		       is_same_command(info, made, count);
	gp_recording_close(recording);
	*changed = st.st_mtim;
	return is_ours;
}

static size_t remove_all(const struct candidate *candidate, size_t count, char *removed,
			 size_t capacity)
{
	size_t done = 0, at = 0, unnamed = 0;
	removed[0] = '\0';
	for (size_t k = 0; k < count; k++) {
		if (unlink(candidate[k].path) != 0)
			continue;
		done++;
		/* the last 40 bytes tell how many have no room */
		if (at + strlen(candidate[k].path) + 44 > capacity)
			unnamed++;
		else
			at += (size_t)snprintf(removed + at, capacity - at, "%s'%s'",
					       done > 1 ? ", " : "", candidate[k].path);
	}
	if (unnamed)
		snprintf(removed + at, capacity - at, " and %zu more", unnamed);
	return done;
}

size_t gp_retain_newest(const char *pattern, uint64_t keep, const struct gp_made *made,
			size_t count, char *removed, size_t capacity)
{
	char plain[4096], taken[4096];
	glob_t found = { 0 };
	if (!glob_of(pattern, false, plain, sizeof plain) ||
	    !glob_of(pattern, true, taken, sizeof taken))
		return 0;
	glob(plain, 0, NULL, &found);
	glob(taken, found.gl_pathc ? GLOB_APPEND : 0, NULL, &found);
	struct candidate *candidate = calloc(found.gl_pathc + 1, sizeof *candidate);
	size_t n = 0;
	for (size_t k = 0; candidate && k < found.gl_pathc; k++) {
		const char *path = found.gl_pathv[k];
		bool is_twice = false;
		for (size_t j = 0; j < n; j++)
			is_twice = is_twice || strcmp(candidate[j].path, path) == 0;
		if (!is_twice && gp_retain_matches(pattern, path) &&
		    is_removable(path, made, count, &candidate[n].changed))
			candidate[n++].path = path;
	}
	if (n)
		qsort(candidate, n, sizeof *candidate, newest_first);
	size_t older = keep > count ? keep - count : 0, done = 0;
	if (older < n)
		done = remove_all(candidate + older, n - older, removed, capacity);
	free(candidate);
	globfree(&found);
	return done;
}
