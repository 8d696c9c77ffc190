/*
 * Finds candidates for the pattern with glob, then checks each one. `*` for a pid also matches
 * other names, and glob cannot match numbers.
 */
#include "retention.h"

#include <fnmatch.h>
#include <glob.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "gpuprof.h"

/* The library cuts longer command lines, so two that are equal up to here may differ. */
enum { COMMAND_WHOLE = 1023 };

/* ---- names ---- */

/* Where the library puts the suffix of a taken name: before the extension. */
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

/* A pattern of fnmatch or glob. */
struct shell {
	char text[4096];
	size_t n;
};

static void shell_put(struct shell *s, const char *text)
{
	s->n += (size_t)snprintf(s->text + s->n, sizeof s->text - s->n, "%s", text);
	s->n = s->n < sizeof s->text ? s->n : sizeof s->text - 1;
}

static void shell_put_literal(struct shell *s, char c)
{
	const char text[] = { '\\', c, '\0' };
	shell_put(s, strchr("*?[\\(", c) ? text : text + 1);
}

/*
 * Appends the local value of `%q{VARIABLE}`. Returns the text after the braces. NULL: not such a
 * field.
 */
static const char *shell_put_variable(struct shell *s, const char *brace)
{
	const char *end = gp_field_variable_end(brace);
	char variable[66];
	if (!end)
		return NULL;
	snprintf(variable, sizeof variable, "%.*s", (int)(end - brace - 1), brace + 1);
	const char *value = getenv(variable);
	for (const char *at = value; at && *at; at++)
		shell_put_literal(s, gp_field_byte(*at, at == value));
	return end;
}

/*
 * The output pattern for any process of this host. `is_exact` false: for glob, '*' stands for
 * numbers. False: too long, or a field that `run` does not accept.
 */
static bool shell_fill(struct shell *s, const char *pattern, bool is_exact)
{
	const char *suffix = suffix_place(pattern), *number = is_exact ? "+([0-9])" : "*";
	const struct host host = this_host();
	s->n = 0;
	for (const char *at = pattern;; at++) {
		if (at == suffix)
			shell_put(s, is_exact ? "?(.+([0-9]))" : "*");
		if (!*at)
			return s->n + 1 < sizeof s->text;
		if (*at != '%' || !at[1]) {
			shell_put_literal(s, *at);
			continue;
		}
		switch (*++at) {
		case 'p':
		case 'r':
		case 'l':
		case 'n':
		case 'j':
			shell_put(s, number);
			break;
		case 't':
			for (const char *form = "ddddddddTdddddd"; *form; form++)
				shell_put(s, *form == 'd' ? "[0-9]" : "T");
			break;
		case 'h':
			for (size_t k = 0; k < strcspn(host.name, "."); k++)
				shell_put_literal(s, host.name[k]);
			break;
		case 'q':
			at = shell_put_variable(s, at + 1);
			if (!at)
				return false;
			break;
		case '%':
			shell_put_literal(s, '%');
			break;
		default:
			return false;
		}
	}
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
		/* the last 40 bytes are for the count of omitted names */
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
	struct shell wide, exact;
	glob_t found = { 0 };
	if (!shell_fill(&wide, pattern, false) || !shell_fill(&exact, pattern, true))
		return 0;
	glob(wide.text, 0, NULL, &found);
	struct candidate *candidate = calloc(found.gl_pathc + 1, sizeof *candidate);
	size_t n = 0;
	for (size_t k = 0; candidate && k < found.gl_pathc; k++) {
		const char *path = found.gl_pathv[k];
		if (fnmatch(exact.text, path, FNM_EXTMATCH) == 0 &&
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
