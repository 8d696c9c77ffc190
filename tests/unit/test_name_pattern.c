/*
 * Expansion of GPUPROF_OUTPUT: pattern and environment in, absolute path out. Also the warnings of
 * a process about unknown variables and invalid values.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <dlfcn.h>
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "record/recorder.h"

#define START_NS 1769903999123456789u /* 2026-01-31 23:59:59 UTC */

static bool is_setuid;
static unsigned long (*next_getauxval)(unsigned long);

unsigned long getauxval(unsigned long type)
{
	if (type == AT_SECURE)
		return is_setuid;
	if (!next_getauxval)
		*(void **)&next_getauxval = dlsym(RTLD_NEXT, "getauxval");
	return next_getauxval(type);
}

static void clear_environment(void)
{
	static const char *const names[] = {
		"RANK",	      "SLURM_PROCID",  "OMPI_COMM_WORLD_RANK",	     "PMI_RANK",
		"LOCAL_RANK", "SLURM_LOCALID", "OMPI_COMM_WORLD_LOCAL_RANK", "SLURM_NODEID",
		"GROUP_RANK", "SLURM_JOB_ID",  "TORCHELASTIC_RUN_ID",	     "PBS_JOBID",
		"V"
	};
	for (size_t k = 0; k < sizeof names / sizeof *names; k++)
		unsetenv(names[k]);
}

static void test_patterns(void **state)
{
	(void)state;
	char host[65] = "", pid[32], with_host[128], with_pid[80];
	gethostname(host, sizeof host - 1);
	snprintf(pid, sizeof pid, "%d", getpid());
	snprintf(with_host, sizeof with_host, "/d/%.*s.gpr", (int)strcspn(host, "."), host);
	snprintf(with_pid, sizeof with_pid, "/d/p%s-%s", pid, pid);
	const struct {
		const char *pattern, *environment, *expected;
	} rows[] = {
		{ "/d/plain.gpr", "", "/d/plain.gpr" },
		{ "/d/%h.gpr", "", with_host },
		{ "/d/p%p-%p", "", with_pid },
		{ "/d/%t.gpr", "", "/d/20260131T235959.gpr" },
		{ "/d/100%%", "", "/d/100%" },
		{ "/d/%%p", "", "/d/%p" },
		/* the first launcher's variable that is set; 0 if there is none */
		{ "/d/%r-%l-%n-%j", "", "/d/0-0-0-0" },
		{ "/d/%r", "RANK=", "/d/0" },
		{ "/d/%r", "RANK=7", "/d/7" },
		{ "/d/%r", "PMI_RANK=3", "/d/3" },
		{ "/d/%r", "SLURM_PROCID=5", "/d/5" },
		{ "/d/%l", "LOCAL_RANK=1", "/d/1" },
		{ "/d/%n", "GROUP_RANK=2", "/d/2" },
		{ "/d/%j", "SLURM_JOB_ID=4711", "/d/4711" },
		{ "/d/%j", "TORCHELASTIC_RUN_ID=a/b", "/d/a_b" },
		{ "/d/%q{V}.gpr", "V=x y", "/d/x y.gpr" },
		{ "/d/%q{V}.gpr", "", "/d/.gpr" },
		{ "/d/%q{V}/x", "V=..", "/d/_./x" },
		{ "/d/%q{V}", "V=../../etc/passwd", "/d/_._.._etc_passwd" },
		{ "/d/%q{V}", "V=a\nb", "/d/a_b" },
		{ "/d/%q{V}%q{V}", "V=1", "/d/11" },
		/* unknown letters stay as they are */
		{ "/d/x%z", "", "/d/x%z" },
		{ "/d/x%", "", "/d/x%" },
		{ "/d/%q{V.gpr", "V=1", "/d/%q{V.gpr" },
		{ "/d/%q{}", "", "/d/%q{}" },
		{ "/d/%q%p", "", NULL },
	};
	for (size_t k = 0; k < sizeof rows / sizeof *rows; k++) {
		char out[1024], expected[128], assignment[64];
		clear_environment();
		strcpy(assignment, rows[k].environment);
		if (*assignment)
			assert_int_equal(putenv(assignment), 0);
		snprintf(expected, sizeof expected, "/d/%%q%s", pid);
		assert_true(gp_output_name(rows[k].pattern, START_NS, out, sizeof out));
		assert_string_equal(out, rows[k].expected ? rows[k].expected : expected);
		clear_environment();
	}
}

static void test_flaws(void **state)
{
	(void)state;
	assert_null(gp_output_flaw("gpuprof-%h-%p-%t.gpr"));
	assert_null(gp_output_flaw("%%%r%l%n%j%q{V}"));
	static const char *const flawed[] = { "@%z", "%p@%", "%%@%Q", "@%q{V", "@%q{}", "@%qV}" };
	for (size_t k = 0; k < sizeof flawed / sizeof *flawed; k++) {
		char pattern[32];
		const char *at = strchr(flawed[k], '@');
		snprintf(pattern, sizeof pattern, "%.*s%s", (int)(at - flawed[k]), flawed[k],
			 at + 1);
		assert_ptr_equal(gp_output_flaw(pattern), pattern + (at - flawed[k]));
	}
}

static void test_moments(void **state)
{
	(void)state;
	static const struct {
		uint64_t seconds;
		const char *expected;
	} rows[] = {
		{ 0, "/19700101T000000" },	    { 951782400, "/20000229T000000" },
		{ 1709251199, "/20240229T235959" }, { 1709251200, "/20240301T000000" },
		{ 4107542400, "/21000301T000000" }, { 1767225599, "/20251231T235959" },
	};
	for (size_t k = 0; k < sizeof rows / sizeof *rows; k++) {
		char out[64];
		assert_true(gp_output_name("/%t", rows[k].seconds * 1000000000u, out, sizeof out));
		assert_string_equal(out, rows[k].expected);
	}
}

static void test_too_long(void **state)
{
	(void)state;
	char pattern[400] = "/", out[301];
	memset(pattern + 1, 'x', 299);
	assert_true(gp_output_name(pattern, 0, out, sizeof out));
	assert_string_equal(out, pattern);
	strcat(pattern, "y");
	errno = 0;
	assert_false(gp_output_name(pattern, 0, out, sizeof out));
	assert_int_equal(errno, ENAMETOOLONG);
}

static void test_working_directory(void **state)
{
	(void)state;
	char directory[] = "/tmp/gpuprof-test-XXXXXX", out[1024], expected[1024], before[PATH_MAX];
	assert_non_null(getcwd(before, sizeof before));
	assert_non_null(mkdtemp(directory));
	assert_int_equal(chdir(directory), 0);
	snprintf(expected, sizeof expected, "%s/a/b.gpr", directory);
	assert_true(gp_output_name("a/b.gpr", 0, out, sizeof out));
	assert_string_equal(out, expected);
	assert_int_equal(rmdir(directory), 0);
	assert_false(gp_output_name("a/b.gpr", 0, out, sizeof out));
	assert_int_equal(errno, ENOENT);
	assert_true(gp_output_name("/a/b.gpr", 0, out, sizeof out));
	assert_int_equal(chdir(before), 0);
}

static void test_attempts(void **state)
{
	(void)state;
	static const struct {
		const char *name;
		unsigned attempt;
		const char *expected;
	} rows[] = {
		{ "/d/x.gpr", 0, "/d/x.gpr" },	     { "/d/x.gpr", 1, "/d/x.2.gpr" },
		{ "/d/x.gpr", 99, "/d/x.100.gpr" },  { "/d/x", 1, "/d/x.2" },
		{ "/d.1/x", 1, "/d.1/x.2" },	     { "/d/.x", 1, "/d/.x.2" },
		{ "/d/a.b.gpr", 2, "/d/a.b.3.gpr" },
	};
	char out[64], small[10];
	for (size_t k = 0; k < sizeof rows / sizeof *rows; k++) {
		assert_true(gp_output_attempt(rows[k].name, rows[k].attempt, out, sizeof out));
		assert_string_equal(out, rows[k].expected);
	}
	assert_true(gp_output_attempt("/d/xy.gpr", 0, small, sizeof small));
	assert_false(gp_output_attempt("/d/xy.gpr", 1, small, sizeof small));
}

/* The warnings of a child process with these variables: each is printed once. */
static void assert_warns(const char *const *variables, const char *expected)
{
	FILE *file = tmpfile();
	pid_t pid = fork();
	if (pid == 0) {
		dup2(fileno(file), STDERR_FILENO);
		for (; *variables; variables++)
			putenv(strdup(*variables));
		gp_log_init();
		gp_settings_read();
		gp_settings_warn();
		gp_settings_warn();
		_exit(0);
	}
	int status;
	char printed[2000];
	waitpid(pid, &status, 0);
	assert_int_equal(status, 0);
	rewind(file);
	size_t n = fread(printed, 1, sizeof printed - 1, file);
	printed[n] = '\0';
	fclose(file);
	assert_string_equal(printed, expected);
}

static void test_warnings(void **state)
{
	(void)state;
	static const char *const fine[] = { "GPUPROF_RING=4 MiB", "GPUPROF_LAUNCHES=No",
					    "GPUPROF_LIST=/x",	  "GPUPROF_OUTPUT=%p",
					    "GPUPROF_START=",	  NULL };
	static const char *const unknown[] = { "GPUPROF_RINGG=1", "GPUPROF_STAR=x",
					       "GPUPROF_FOOBARBAZ=", NULL };
	static const char *const values[] = { "GPUPROF=banana", "GPUPROF_OUTPUT=x%z",
					      "GPUPROF_RING=zz", "GPUPROF_START=of", NULL };
	static const char *const hostile[] = { "GPUPROF_RING=\033[31m", NULL };
	assert_warns(fine, "");
	assert_warns(unknown, "gpuprof: unknown variable 'GPUPROF_RINGG'\n"
			      "gpuprof: unknown variable 'GPUPROF_STAR'\n"
			      "gpuprof: unknown variable 'GPUPROF_FOOBARBAZ'\n");
	assert_warns(values,
		     "gpuprof: bad value of 'GPUPROF': 'banana' is neither on nor off\n"
		     "gpuprof: bad value of 'GPUPROF_OUTPUT': '%z' has no meaning and stays as it "
		     "is\n"
		     "gpuprof: bad value of 'GPUPROF_RING': 'zz' is not a size\n"
		     "gpuprof: bad value of 'GPUPROF_START': 'of' is neither on nor off\n");
	assert_warns(hostile, "gpuprof: bad value of 'GPUPROF_RING': '?[31m' is not a size\n");
}

/* A setuid program does not write to a path that its caller chooses. */
static void test_a_setuid_program_is_left_alone(void **state)
{
	(void)state;
	gp_settings_read();
	assert_true(gp_settings.is_on);
	is_setuid = true;
	gp_settings_read();
	is_setuid = false;
	assert_false(gp_settings.is_on);
}

static void test_a_variable_that_was_set_late(void **state)
{
	(void)state;
	char value[16];
	struct rlimit files;
	assert_false(gp_environment_find("V", value, sizeof value));
	setenv("V", "late", 1);
	setenv("VV", "other", 1);
	assert_true(gp_environment_find("V", value, sizeof value));
	assert_string_equal(value, "late");
	setenv("V", "0123456789abcdefgh", 1);
	assert_true(gp_environment_find("V", value, sizeof value));
	assert_string_equal(value, "0123456789abcde");
	/* without a free descriptor the search fails */
	assert_int_equal(getrlimit(RLIMIT_NOFILE, &files), 0);
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &(struct rlimit){ 0, files.rlim_max }), 0);
	errno = 4242;
	assert_false(gp_environment_find("V", value, sizeof value));
	assert_int_equal(errno, 4242);
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &files), 0);
	unsetenv("VV");
	unsetenv("V");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_patterns),
		cmocka_unit_test(test_flaws),
		cmocka_unit_test(test_moments),
		cmocka_unit_test(test_too_long),
		cmocka_unit_test(test_working_directory),
		cmocka_unit_test(test_attempts),
		cmocka_unit_test(test_warnings),
		cmocka_unit_test(test_a_setuid_program_is_left_alone),
		cmocka_unit_test(test_a_variable_that_was_set_late),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
