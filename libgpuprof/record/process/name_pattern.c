/* %h, %p, %r ... of GPUPROF_OUTPUT -> an absolute path. Creates no file. */
#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "settings.h"

#define VALUE_BYTES 1024u /* a longer one would not fit into a path */

struct text {
	char *out;
	size_t at, capacity;
	bool is_whole;
};

static void name_pattern_put(struct text *t, const char *bytes, size_t n)
{
	if (n >= t->capacity - t->at) {
		t->is_whole = false;
		return;
	}
	memcpy(t->out + t->at, bytes, n);
	t->at += n;
	t->out[t->at] = '\0';
}

static void put_number(struct text *t, uint64_t number)
{
	char digits[24];
	size_t n = sizeof digits;
	do
		digits[--n] = (char)('0' + number % 10);
	while (number /= 10);
	name_pattern_put(t, digits + n, sizeof digits - n);
}

/* The value becomes part of a file name: no separators, no leading dot. */
static void put_value(struct text *t, const char *value)
{
	for (const char *first = value; *value; value++) {
		char c = gp_field_byte(*value, value == first);
		name_pattern_put(t, &c, 1);
	}
}

static void put_first_of(struct text *t, const char *const *variables)
{
	char value[VALUE_BYTES];
	for (; *variables; variables++) {
		if (gp_environment_find(*variables, value, sizeof value) && *value) {
			put_value(t, value);
			return;
		}
	}
	name_pattern_put(t, "0", 1);
}

/* Of launchers: the rank, and the number of ranks. The first rank that is set counts. */
static const struct {
	const char *rank, *ranks;
} launchers[] = {
	{ "RANK", "WORLD_SIZE" },
	/* not SLURM_NTASKS: the script of a batch job has it too, as one process of rank 0 */
	{ "SLURM_PROCID", "SLURM_STEP_NUM_TASKS" },
	{ "OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE" },
	{ "PMI_RANK", "PMI_SIZE" },
};
enum { LAUNCHERS = sizeof launchers / sizeof *launchers };

static void put_rank(struct text *t)
{
	char value[VALUE_BYTES];
	for (unsigned k = 0; k < LAUNCHERS; k++)
		if (gp_environment_find(launchers[k].rank, value, sizeof value) && *value) {
			put_value(t, value);
			return;
		}
	name_pattern_put(t, "0", 1);
}

static void put_variable_of(struct text *t, const char *name, const char *value)
{
	name_pattern_put(t, " ", t->at != 0);
	name_pattern_put(t, name, strlen(name));
	name_pattern_put(t, "=", 1);
	name_pattern_put(t, value, strlen(value));
}

void gp_rank_variables(char *out, size_t capacity)
{
	char value[24]; /* a number */
	struct text t = { out, 0, capacity, true };
	*out = '\0';
	for (unsigned k = 0; k < LAUNCHERS && !*out; k++) {
		if (!gp_environment_find(launchers[k].rank, value, sizeof value) || !*value)
			continue;
		put_variable_of(&t, launchers[k].rank, value);
		if (gp_environment_find(launchers[k].ranks, value, sizeof value) && *value)
			put_variable_of(&t, launchers[k].ranks, value);
	}
}

static void put_host(struct text *t)
{
	char host[65] = "localhost";
	gethostname(host, sizeof host - 1);
	name_pattern_put(t, host, strcspn(host, "."));
}

static void put_padded(struct text *t, uint64_t number, unsigned digits)
{
	for (uint64_t limit = 10; digits > 1; limit *= 10, digits--)
		if (number < limit)
			name_pattern_put(t, "0", 1);
	put_number(t, number);
}

/*
 * UTC as 20260131T235959: sortable, without blanks or colons. Not gmtime_r: it takes libc's time
 * zone lock, which may stay held forever in a forked child. Days to date as in Howard Hinnant's
 * chrono-compatible calendar algorithms.
 */
static void put_moment(struct text *t, uint64_t unix_ns)
{
	uint64_t seconds = unix_ns / 1000000000u, days = seconds / 86400 + 719468;
	uint64_t era = days / 146097, day_of_era = days % 146097;
	uint64_t year =
		(day_of_era - day_of_era / 1460 + day_of_era / 36524 - day_of_era / 146096) / 365;
	uint64_t day = day_of_era - (365 * year + year / 4 - year / 100);
	uint64_t month = (5 * day + 2) / 153; /* from March */
	put_padded(t, year + era * 400 + (month >= 10), 4);
	put_padded(t, month < 10 ? month + 3 : month - 9, 2);
	put_padded(t, day - (153 * month + 2) / 5 + 1, 2);
	name_pattern_put(t, "T", 1);
	put_padded(t, seconds / 3600 % 24, 2);
	put_padded(t, seconds / 60 % 60, 2);
	put_padded(t, seconds % 60, 2);
}

static const char *put_variable(struct text *t, const char *at)
{
	const char *end = gp_field_variable_end(at);
	if (!end) {
		name_pattern_put(t, "%q", 2);
		return at;
	}
	char name[66];
	memcpy(name, at + 1, (size_t)(end - at - 1));
	name[end - at - 1] = '\0';
	char value[VALUE_BYTES];
	put_value(t, gp_environment_find(name, value, sizeof value) ? value : "");
	return end + 1;
}

static void expand(struct text *t, const char *pattern, uint64_t start_unix_ns)
{
	static const char *const locals[] = { "LOCAL_RANK", "SLURM_LOCALID",
					      "OMPI_COMM_WORLD_LOCAL_RANK", NULL };
	static const char *const nodes[] = { "SLURM_NODEID", "GROUP_RANK", NULL };
	static const char *const jobs[] = { "SLURM_JOB_ID", "TORCHELASTIC_RUN_ID", "PBS_JOBID",
					    NULL };
	while (*pattern) {
		size_t plain = strcspn(pattern, "%");
		name_pattern_put(t, pattern, plain);
		pattern += plain;
		if (*pattern++ == '\0')
			return;
		char c = *pattern;
		pattern += c != '\0';
		switch (c) {
		case 'h':
			put_host(t);
			break;
		case 'p':
			put_number(t, (uint64_t)getpid());
			break;
		case 't':
			put_moment(t, start_unix_ns);
			break;
		case 'r':
			put_rank(t);
			break;
		case 'l':
			put_first_of(t, locals);
			break;
		case 'n':
			put_first_of(t, nodes);
			break;
		case 'j':
			put_first_of(t, jobs);
			break;
		case 'q':
			pattern = put_variable(t, pattern);
			break;
		case '%':
			name_pattern_put(t, "%", 1);
			break;
		default:
			name_pattern_put(t, "%", 1);
			name_pattern_put(t, &c, c != '\0');
			break;
		}
	}
}

bool gp_output_name(const char *pattern, uint64_t start_unix_ns, char *out, size_t capacity)
{
	struct text t = { out, 0, capacity, true };
	*out = '\0';
	if (*pattern != '/') {
		if (!getcwd(out, capacity))
			return false;
		t.at = strlen(out);
		name_pattern_put(&t, "/", 1);
	}
	expand(&t, pattern, start_unix_ns);
	if (!t.is_whole)
		errno = ENAMETOOLONG;
	return t.is_whole;
}

bool gp_output_attempt(const char *name, unsigned attempt, char *out, size_t capacity)
{
	struct text t = { out, 0, capacity, true };
	const char *dot = strrchr(name, '.'), *slash = strrchr(name, '/');
	bool has_extension = attempt && dot && (!slash || dot > slash + 1);
	name_pattern_put(&t, name, has_extension ? (size_t)(dot - name) : strlen(name));
	if (attempt) {
		name_pattern_put(&t, ".", 1);
		put_number(&t, attempt + 1);
		name_pattern_put(&t, has_extension ? dot : "", has_extension ? strlen(dot) : 0);
	}
	return t.is_whole;
}
