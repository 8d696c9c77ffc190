/*
 * The three entry points to a driver function, from outside: dlsym, cuGetProcAddress and ELF
 * exports. Probes (`tests/entry_points`) run bare and preloaded and must print the same. They check
 * that calls pass through the wrappers. GP_LIB, GP_FAKE and GP_ENTRY_POINTS name the object, the
 * fake driver and the folder of the probes; by default they are found beside this program.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "gpuprof.h"

#define ENVIRONMENT_MAX 8

static char build[512], library[600], fake[600], folder[600], scratch[64];

/* How to run a probe. `preload`: names separated by spaces, "" is bare. `variables`: NAME=VALUE. */
struct how {
	const char *preload;
	const char *libraries; /* LD_LIBRARY_PATH */
	const char *variables[ENVIRONMENT_MAX];
};

struct outcome {
	int status; /* exit status, or 1000 + signal */
	char out[65536];
	char err[8192];
};

static void read_whole(const char *path, char *out, size_t capacity)
{
	int file = open(path, O_RDONLY | O_CLOEXEC);
	ssize_t bytes = file < 0 ? 0 : read(file, out, capacity - 1);
	out[bytes > 0 ? bytes : 0] = '\0';
	if (file >= 0)
		close(file);
}

static void child(const struct how *how, const char *program, const char *argument, const char *out,
		  const char *err)
{
	char path[700];
	snprintf(path, sizeof path, "%s/%s", folder, program);
	unsetenv("LD_PRELOAD");
	if (*how->preload)
		setenv("LD_PRELOAD", how->preload, 1);
	setenv("LD_LIBRARY_PATH", how->libraries, 1);
	for (size_t i = 0; i < ENVIRONMENT_MAX && how->variables[i]; i++)
		putenv((char *)how->variables[i]);
	if (dup2(open(out, O_WRONLY | O_CREAT | O_TRUNC, 0600), 1) < 0 ||
	    dup2(open(err, O_WRONLY | O_CREAT | O_TRUNC, 0600), 2) < 0 || chdir(scratch) != 0)
		_exit(121);
	alarm(200);
	execl(path, path, argument, (char *)NULL);
	_exit(122);
}

static void run(struct outcome *outcome, const struct how *how, const char *program,
		const char *argument)
{
	char out[80], err[80];
	int status = 0;
	snprintf(out, sizeof out, "%s/out", scratch);
	snprintf(err, sizeof err, "%s/err", scratch);
	pid_t pid = fork();
	if (pid == 0)
		child(how, program, argument, out, err);
	assert_int_equal(waitpid(pid, &status, 0), pid);
	outcome->status = WIFEXITED(status) ? WEXITSTATUS(status) : 1000 + WTERMSIG(status);
	read_whole(out, outcome->out, sizeof outcome->out);
	read_whole(err, outcome->err, sizeof outcome->err);
}

/* Succeeds under `how`, and prints the same as with the preload `without`. */
static void same_as(const char *without, struct how how, const char *program, const char *argument)
{
	static struct outcome bare, preloaded;
	struct how plain = how;
	plain.preload = without;
	for (size_t i = 0; i < ENVIRONMENT_MAX; i++)
		if (plain.variables[i] && strncmp(plain.variables[i], "PROBE_OURS", 10) == 0)
			plain.variables[i] = "NOTHING=1";
	run(&bare, &plain, program, argument);
	if (bare.status != 0)
		fail_msg("%s %s bare: status %d: %s", program, argument, bare.status, bare.err);
	run(&preloaded, &how, program, argument);
	if (preloaded.status != 0)
		fail_msg("%s %s: status %d: %s", program, argument, preloaded.status,
			 preloaded.err);
	assert_string_equal(preloaded.out, bare.out);
	assert_true(bare.out[0] != '\0' || strcmp(argument, "self") == 0 ||
		    strcmp(argument, "inside") == 0);
}

static void same_as_bare(struct how how, const char *program, const char *argument)
{
	same_as("", how, program, argument);
}

#define OURS "PROBE_OURS=1"
#define NONE_OURS "PROBE_OURS=0"
#define WITH_DRIVER(...) \
	((struct how){ library, with_fake, { "GPUPROF_OUTPUT=probe-%p.gpr", __VA_ARGS__ } })
#define WITHOUT_DRIVER \
	((struct how){ library, folder, { "GPUPROF_OUTPUT=probe-%p.gpr", NONE_OURS } })
static char with_fake[1300];

/* ---- dlsym ---- */

static void finds_no_driver_where_there_is_none(void **state)
{
	(void)state;
	same_as_bare(WITHOUT_DRIVER, "entry_probe", "names");
	same_as_bare(WITHOUT_DRIVER, "entry_probe", "library");
	same_as_bare(WITHOUT_DRIVER, "entry_weak", "");
}

/*
 * A weak reference to a function that an old driver lacks is bound to the wrapper: the call fails
 * as documented.
 */
static void fails_calls_that_an_old_driver_lacks(void **state)
{
	(void)state;
	char old[700];
	snprintf(old, sizeof old, "%s/old", folder);
	same_as_bare((struct how){ library, old, { "GPUPROF_OUTPUT=probe-%p.gpr" } },
		     "entry_weak_old", "");
	same_as_bare((struct how){ library, old, { "GPUPROF=off" } }, "entry_weak_old", "");
}

static void gives_every_row_its_own_wrapper(void **state)
{
	(void)state;
	same_as_bare(WITH_DRIVER(OURS), "entry_probe", "rows");
	same_as_bare(WITH_DRIVER(OURS), "entry_probe", "reopen");
}

static void returns_no_wrappers_when_off(void **state)
{
	(void)state;
	same_as_bare(WITH_DRIVER(NONE_OURS, "GPUPROF=off"), "entry_probe", "rows");
	same_as_bare(WITH_DRIVER(NONE_OURS, "GPUPROF=off"), "entry_probe", "requests");
	same_as_bare(WITH_DRIVER(NONE_OURS, "GPUPROF=off"), "entry_probe",
		     "names_with_global_driver");
	same_as_bare(WITH_DRIVER("GPUPROF=off"), "entry_linked", "");
}

static void gives_the_driver_its_own(void **state)
{
	(void)state;
	same_as_bare(WITH_DRIVER(OURS), "entry_probe", "inside");
}

static void routes_all_of_a_race(void **state)
{
	(void)state;
	static struct outcome outcome;
	const struct how how = WITH_DRIVER(OURS);
	for (int i = 0; i < 25; i++) {
		run(&outcome, &how, "entry_probe", "race");
		if (outcome.status != 0)
			fail_msg("race %d: status %d: %s", i, outcome.status, outcome.err);
	}
}

/* ---- cuGetProcAddress ---- */

static void answers_the_runtime_with_exact_variants(void **state)
{
	(void)state;
	same_as_bare(WITH_DRIVER(OURS), "entry_probe", "requests");
	same_as_bare(WITH_DRIVER(OURS), "entry_probe", "self");
}

static void answers_as_an_old_driver_would(void **state)
{
	(void)state;
	static const char *const versions[] = { "FAKE_CUDA_VERSION=10010",
						"FAKE_CUDA_VERSION=11030",
						"FAKE_CUDA_VERSION=11080",
						"FAKE_CUDA_VERSION=12020" };
	for (size_t i = 0; i < sizeof versions / sizeof *versions; i++) {
		same_as_bare(WITH_DRIVER(OURS, versions[i]), "entry_probe", "rows");
		if (strcmp(versions[i], "FAKE_CUDA_VERSION=10010") != 0)
			same_as_bare(WITH_DRIVER(OURS, versions[i]), "entry_probe",
				     "requests_of_any_driver");
	}
	const char *missing =
		"FAKE_CUDA_MISSING=cuMemAllocAsync,cuMemFreeAsync,cuMemAlloc_v2,cuLaunchKernelEx,"
		"cuDriverGetVersion,cuInit,cuMemMap";
	same_as_bare(WITH_DRIVER(OURS, missing), "entry_probe", "rows");
	same_as_bare(WITH_DRIVER(OURS, missing), "entry_probe", "requests_of_any_driver");
}

/* ---- ELF exports ---- */

/* Each row passes each argument on, once, and returns the result and errno; off and on. */
static void passes_calls_on_unchanged(void **state)
{
	(void)state;
	char echo[700];
	snprintf(echo, sizeof echo, "%s/echo", folder);
	same_as_bare((struct how){ library, echo, { "GPUPROF_OUTPUT=probe-%p.gpr", OURS } },
		     "entry_echo", "");
	same_as_bare((struct how){ library, echo, { "GPUPROF=off" } }, "entry_echo", "");
}

/*
 * Reads the recording that `run` left: look-ups that bypassed the recorder, and allocations. It has
 * no lost event.
 */
static void read_recording(uint64_t *misses, uint64_t *allocs)
{
	const struct gp_info *info;
	char path[96];
	struct gp_recording *recording = NULL;
	struct gp_damage why;
	struct gp_event event;
	snprintf(path, sizeof path, "%s/probe.gpr", scratch);
	*misses = *allocs = 0;
	if (gp_recording_open(path, &recording, &why) != GP_OK)
		fail_msg("%s: %s", path, why.what);
	while (gp_recording_next(recording, &event) == GP_OK) {
		*allocs += event.record.kind == GP_ALLOC;
		if (event.record.kind == GP_FACT && event.record.aux == GP_FACT_ROUTES)
			*misses = event.record.fact.value;
	}
	assert_int_equal(gp_recording_info(recording, &info), GP_OK);
	assert_int_equal(info->lost_memory + info->lost_launch + info->lost_other, 0);
	gp_recording_close(recording);
	assert_int_equal(unlink(path), 0);
}

/* With a driver, and without one: then the stubs return an error. */
static void sees_calls_through_stubs(void **state)
{
	(void)state;
	uint64_t misses, allocs;
	same_as_bare((struct how){ library, folder, { "GPUPROF_OUTPUT=probe.gpr" } }, "entry_probe",
		     "stubs");
	same_as_bare((struct how){ library, with_fake, { "GPUPROF_OUTPUT=probe.gpr", OURS } },
		     "entry_probe", "stubs");
	read_recording(&misses, &allocs);
	assert_int_equal(allocs, 1);
	assert_int_equal(misses, 0);
}

static void stands_before_a_linked_driver(void **state)
{
	(void)state;
	uint64_t misses, allocs;
	same_as_bare((struct how){ library, with_fake, { "GPUPROF_OUTPUT=probe.gpr", OURS } },
		     "entry_linked", "");
	read_recording(&misses, &allocs);
	assert_int_equal(allocs, 10);
	assert_int_equal(misses, 0);
}

/*
 * Each call passes each interposer once, in either order. The interposer after ours answers one
 * look-up with a function of its own: the recording counts exactly one miss.
 */
static void shares_calls_with_an_elf_interposer(void **state)
{
	(void)state;
	static struct outcome outcome;
	char above[1300], below[1300];
	snprintf(above, sizeof above, "%s/libentry_elf_interposer.so %s", folder, library);
	snprintf(below, sizeof below, "%s %s/libentry_elf_interposer.so", library, folder);
	for (int i = 0; i < 2; i++) {
		const struct how how = { i ? below : above,
					 with_fake,
					 { "GPUPROF_OUTPUT=probe.gpr" } };
		uint64_t misses, allocs;
		run(&outcome, &how, "entry_linked", "");
		if (outcome.status != 0)
			fail_msg("%s: status %d: %s", how.preload, outcome.status, outcome.err);
		assert_string_equal(outcome.out, "driver saw 10 allocations, 11 frees\n");
		assert_non_null(strstr(outcome.err, "interposer saw 10 allocations\n"));
		read_recording(&misses, &allocs);
		assert_int_equal(allocs, 10);
		assert_int_equal(misses, i ? 1 : 0);
	}
}

/* An interposer after ours calls another function inside a call: one allocation is recorded. */
static void counts_a_call_inside_a_call_once(void **state)
{
	(void)state;
	uint64_t misses, allocs;
	char managed[700], both[1300];
	snprintf(managed, sizeof managed, "%s/libentry_managed.so", folder);
	snprintf(both, sizeof both, "%s %s", library, managed);
	same_as(managed, (struct how){ both, with_fake, { "GPUPROF_OUTPUT=probe.gpr" } },
		"entry_linked", "");
	read_recording(&misses, &allocs);
	assert_int_equal(allocs, 10);
	assert_int_equal(misses, 0);
}

/*
 * A profiler's preload after ours. A look-up in its constructor must not make us call it. Functions
 * that it hands out are its own, and are still recorded. Without a driver its look-up fails either
 * way.
 */
static void comes_before_a_tool(void **state)
{
	(void)state;
	uint64_t misses, allocs;
	char tool[700], both[1300];
	snprintf(tool, sizeof tool, "%s/libentry_tool.so", folder);
	snprintf(both, sizeof both, "%s %s", library, tool);
	static const char *const programs[] = { "entry_resolved", "entry_linked" };
	for (size_t i = 0; i < sizeof programs / sizeof *programs; i++) {
		same_as(tool, (struct how){ both, with_fake, { "GPUPROF_OUTPUT=probe.gpr" } },
			programs[i], "");
		read_recording(&misses, &allocs);
		assert_int_equal(allocs, 10);
		assert_int_equal(misses, 0);
	}
	same_as(tool, (struct how){ both, with_fake, { "GPUPROF=off" } }, "entry_resolved", "");
}

/*
 * A second driver from another path works as it does bare. Its calls are not recorded, and the
 * recording counts the look-up that led to it.
 */
static void counts_look_ups_in_a_second_driver(void **state)
{
	(void)state;
	uint64_t misses, allocs;
	char second[700];
	snprintf(second, sizeof second, "%s/second/libcuda.so.1", folder);
	same_as_bare((struct how){ library, with_fake, { "GPUPROF_OUTPUT=probe.gpr" } },
		     "entry_resolved", second);
	read_recording(&misses, &allocs);
	assert_int_equal(allocs, 10);
	assert_int_equal(misses, 1);
}

static void finds_the_same_names_beside_a_driver(void **state)
{
	(void)state;
	same_as_bare(WITH_DRIVER(OURS), "entry_probe", "names_with_local_driver");
	same_as_bare(WITH_DRIVER(OURS), "entry_probe", "names_with_global_driver");
	same_as_bare(WITH_DRIVER(OURS), "entry_probe", "library_with_local_driver");
	same_as_bare(WITH_DRIVER(OURS), "entry_probe", "library_with_global_driver");
	same_as_bare(WITH_DRIVER(OURS), "entry_probe", "library_that_needs_the_driver");
	same_as_bare(WITH_DRIVER(OURS), "entry_probe", "driver");
}

/* No wrapper and no resolver enters the loader, with stacks of any kind. */
static void stays_out_of_the_loader(void **state)
{
	(void)state;
	static const char *const stacks[] = { "off", "python", "native", "both", "all" };
	for (size_t i = 0; i < sizeof stacks / sizeof *stacks; i++) {
		char setting[32];
		snprintf(setting, sizeof setting, "GPUPROF_STACKS=%s", stacks[i]);
		same_as_bare(WITH_DRIVER(setting), "entry_loading", "call");
		same_as_bare(WITH_DRIVER(setting), "entry_loading", "resolver");
	}
	same_as_bare(WITH_DRIVER("GPUPROF=off"), "entry_loading", "call");
}

/* A plugin that is linked with a shim in front of the driver. */
static void leaves_pseudo_handles_alone(void **state)
{
	(void)state;
	same_as_bare(WITH_DRIVER(NULL), "entry_plugins", "");
	same_as_bare(WITH_DRIVER("GPUPROF=off"), "entry_plugins", "");
}

/* Off: only passes calls on. The same probe detects the recorder when it is on. */
static void is_inert_when_off(void **state)
{
	(void)state;
	static struct outcome outcome;
	same_as_bare(WITH_DRIVER("GPUPROF=off", "GPUPROF_STACKS=all"), "entry_off", "");
	const struct how on = WITH_DRIVER("GPUPROF_STACKS=all");
	run(&outcome, &on, "entry_off", "");
	assert_non_null(strstr(outcome.out, "fork handler"));
	assert_non_null(strstr(outcome.out, "mapping"));
	assert_non_null(strstr(outcome.out, "file"));
}

/* Each copy of PyTorch has its own reports and graphs. */
static void keeps_two_copies_apart(void **state)
{
	(void)state;
	char libraries[2100];
	snprintf(libraries, sizeof libraries, "%s:%s", folder, fake);
	same_as_bare((struct how){ library, libraries, { "GPUPROF_OUTPUT=probe-%p.gpr" } },
		     "entry_copies", folder);
	same_as_bare((struct how){ library, libraries, { "GPUPROF=off" } }, "entry_copies", folder);
}

/* A preload with a dlsym of its own, as vGPU limiters have. */
static void shares_dlsym_with_another(void **state)
{
	(void)state;
	char above[1300], below[1300], other[700];
	snprintf(other, sizeof other, "%s/other_interposer.so", fake);
	snprintf(above, sizeof above, "%s %s", other, library);
	snprintf(below, sizeof below, "%s %s", library, other);
	static const char *const probes[] = { "names_with_local_driver", "inside", "self" };
	for (size_t i = 0; i < sizeof probes / sizeof *probes; i++) {
		same_as(other, (struct how){ above, with_fake, { "GPUPROF_OUTPUT=probe-%p.gpr" } },
			"entry_probe", probes[i]);
		same_as(other, (struct how){ below, with_fake, { "GPUPROF_OUTPUT=probe-%p.gpr" } },
			"entry_probe", probes[i]);
	}
}

/*
 * A malloc interposer that finds libc's malloc with dlsym, at the first allocation of the process.
 */
static void serves_a_malloc_interposer(void **state)
{
	(void)state;
	char above[1300], below[1300];
	snprintf(above, sizeof above, "%s/libentry_malloc.so %s", folder, library);
	snprintf(below, sizeof below, "%s %s/libentry_malloc.so", library, folder);
	for (int i = 0; i < 2; i++) {
		struct how how = { i ? below : above,
				   with_fake,
				   { "GPUPROF_OUTPUT=probe-%p.gpr" } };
		same_as_bare(how, "entry_linked", "");
		same_as_bare(how, "entry_probe", "requests");
		how.libraries = folder;
		same_as_bare(how, "entry_probe", "names");
	}
}

/* ---- the real runtime ---- */

static void lets_the_static_runtime_be(void **state)
{
	(void)state;
	char program[700], stub[700];
	snprintf(program, sizeof program, "%s/entry_runtime", folder);
	snprintf(stub, sizeof stub, "%s/stub", folder);
	if (access(program, X_OK) != 0) {
		print_message("skipped: no CUDA toolkit with libcudart_static.a and the stub of "
			      "libcuda\n");
		skip();
	}
	same_as_bare((struct how){ library, stub, { "GPUPROF_OUTPUT=probe-%p.gpr" } },
		     "entry_runtime", "");
	same_as_bare((struct how){ library, with_fake, { "GPUPROF_OUTPUT=probe-%p.gpr" } },
		     "entry_runtime", "");
	same_as_bare((struct how){ library, folder, { "GPUPROF_OUTPUT=probe-%p.gpr" } },
		     "entry_runtime", "");
}

static void take(char *out, size_t capacity, const char *variable, const char *standard)
{
	const char *given = getenv(variable);
	char *whole = realpath(given && *given ? given : standard, NULL);
	snprintf(out, capacity, "%s", whole ? whole : standard);
	free(whole);
}

static int find_files(void **state)
{
	(void)state;
	char standard[700];
	ssize_t bytes = readlink("/proc/self/exe", build, sizeof build - 1);
	if (bytes <= 0)
		return -1;
	build[bytes] = '\0';
	for (int i = 0; i < 2; i++) /* twice: BUILD/unit/test_entry_points */
		*strrchr(build, '/') = '\0';
	snprintf(standard, sizeof standard, "%s/libgpuprof.so", build);
	take(library, sizeof library, "GP_LIB", standard);
	snprintf(standard, sizeof standard, "%s/fake", build);
	take(fake, sizeof fake, "GP_FAKE", standard);
	snprintf(standard, sizeof standard, "%s/entry_points", build);
	take(folder, sizeof folder, "GP_ENTRY_POINTS", standard);
	snprintf(with_fake, sizeof with_fake, "%s:%s", fake, folder);
	snprintf(scratch, sizeof scratch, "/tmp/gpuprof-entry-XXXXXX");
	return mkdtemp(scratch) ? 0 : -1;
}

static int remove_files(void **state)
{
	(void)state;
	char command[128];
	snprintf(command, sizeof command, "rm -rf %s", scratch);
	return system(command);
}

/* Replaces all of these tests in builds with a sanitizer. */
static void needs_a_plain_build(void **state)
{
	(void)state;
	print_message("skipped: a preload cannot stand before a sanitizer's runtime\n");
	skip();
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(finds_no_driver_where_there_is_none),
		cmocka_unit_test(finds_the_same_names_beside_a_driver),
		cmocka_unit_test(fails_calls_that_an_old_driver_lacks),
		cmocka_unit_test(counts_look_ups_in_a_second_driver),
		cmocka_unit_test(gives_every_row_its_own_wrapper),
		cmocka_unit_test(returns_no_wrappers_when_off),
		cmocka_unit_test(gives_the_driver_its_own),
		cmocka_unit_test(routes_all_of_a_race),
		cmocka_unit_test(answers_the_runtime_with_exact_variants),
		cmocka_unit_test(answers_as_an_old_driver_would),
		cmocka_unit_test(passes_calls_on_unchanged),
		cmocka_unit_test(stands_before_a_linked_driver),
		cmocka_unit_test(sees_calls_through_stubs),
		cmocka_unit_test(shares_calls_with_an_elf_interposer),
		cmocka_unit_test(counts_a_call_inside_a_call_once),
		cmocka_unit_test(comes_before_a_tool),
		cmocka_unit_test(stays_out_of_the_loader),
		cmocka_unit_test(leaves_pseudo_handles_alone),
		cmocka_unit_test(is_inert_when_off),
		cmocka_unit_test(keeps_two_copies_apart),
		cmocka_unit_test(shares_dlsym_with_another),
		cmocka_unit_test(serves_a_malloc_interposer),
		cmocka_unit_test(lets_the_static_runtime_be),
	};
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
	const struct CMUnitTest none[] = { cmocka_unit_test(needs_a_plain_build) };
	(void)tests, (void)find_files, (void)remove_files;
	return cmocka_run_group_tests(none, NULL, NULL);
#else
	(void)needs_a_plain_build;
	return cmocka_run_group_tests(tests, find_files, remove_files);
#endif
}
