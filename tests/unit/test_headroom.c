/* Memory limits of cgroups, in directories of this test, and the growth that a budget allows. */
#include <errno.h>
#include <grp.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "../../libgpuprof/record/process/headroom.h"
#include "../../libgpuprof/record/process/thread_memory.h"
#include "../../libgpuprof/record/recorder.h"
#include "../../libgpuprof/state/live_table.h"
#include "single_step.h"

#define MIB ((uint64_t)1 << 20)

static char root[64];

static void put(const char *path, const char *text)
{
	char whole[512];
	snprintf(whole, sizeof whole, "%s/%s", root, path);
	for (char *slash = whole + strlen(root) + 1; (slash = strchr(slash, '/')); slash++) {
		*slash = '\0';
		mkdir(whole, 0700);
		*slash = '/';
	}
	FILE *file = fopen(whole, "w");
	assert_non_null(file);
	fputs(text, file);
	fclose(file);
}

static int begin(void **state)
{
	(void)state;
	strcpy(root, "/tmp/gpuprof-headroom.XXXXXX");
	return mkdtemp(root) == NULL;
}

static int end(void **state)
{
	char command[128];
	(void)state;
	snprintf(command, sizeof command, "rm -rf %s", root);
	return system(command);
}

static uint64_t address_space(void)
{
	unsigned long long pages;
	FILE *file = fopen("/proc/self/statm", "r");
	assert_non_null(file);
	assert_int_equal(fscanf(file, "%llu", &pages), 1);
	fclose(file);
	return pages * 4096;
}

/* `resource` leaves the job `left` more bytes. Returns the limit before. */
static struct rlimit limit_to(int resource, uint64_t left)
{
	struct rlimit former;
	assert_int_equal(getrlimit(resource, &former), 0);
	const struct rlimit limit = { address_space() + left, former.rlim_max };
	assert_int_equal(setrlimit(resource, &limit), 0);
	return former;
}

static void limit_back(int resource, struct rlimit former)
{
	assert_int_equal(setrlimit(resource, &former), 0);
}

static void without_cgroups(void **state)
{
	(void)state;
	assert_true(gp_headroom_cgroup(root) == GP_NO_LIMIT);
	put("proc/self/cgroup", "0::/job\n");
	put("proc/self/mountinfo", "24 1 0:22 / /proc rw shared:5 - proc proc rw\n");
	assert_true(gp_headroom_cgroup(root) == GP_NO_LIMIT);
}

static void version_2(void **state)
{
	(void)state;
	put("proc/self/cgroup", "0::/batch/job\n");
	put("proc/self/mountinfo", "24 1 0:22 / /proc rw shared:5 - proc proc rw\n"
				   "31 1 0:26 / /sys/fs/cgroup rw shared:9 - cgroup2 none rw\n");
	put("sys/fs/cgroup/batch/job/memory.max", "max\n");
	put("sys/fs/cgroup/batch/job/memory.current", "1048576\n");
	assert_true(gp_headroom_cgroup(root) == GP_NO_LIMIT);
	/* a limit of an outer level counts, too */
	put("sys/fs/cgroup/batch/memory.max", "104857600\n");
	put("sys/fs/cgroup/batch/memory.current", "94371840\n");
	assert_int_equal(gp_headroom_cgroup(root), 10 * MIB);
	/* the kernel drops pages of files first */
	put("sys/fs/cgroup/batch/memory.stat",
	    "anon 4096\nfile 62914560\ninactive_file 41943040\nactive_file 10485760\n");
	assert_int_equal(gp_headroom_cgroup(root), 60 * MIB);
	put("sys/fs/cgroup/batch/job/memory.max", "5242880\n");
	assert_int_equal(gp_headroom_cgroup(root), 4 * MIB);
	put("sys/fs/cgroup/batch/job/memory.current", "6291456\n");
	assert_int_equal(gp_headroom_cgroup(root), 0);
	/* from memory.high on the kernel slows the job */
	put("sys/fs/cgroup/batch/job/memory.max", "max\n");
	assert_int_equal(gp_headroom_cgroup(root), 60 * MIB);
	put("sys/fs/cgroup/batch/job/memory.high", "8388608\n");
	assert_int_equal(gp_headroom_cgroup(root), 2 * MIB);
}

/* `count` times `line`, then `last`. */
static char *many_lines(size_t count, const char *line, const char *last)
{
	const size_t bytes = strlen(line);
	char *text = malloc(count * bytes + strlen(last) + 1);
	assert_non_null(text);
	for (size_t k = 0; k < count; k++)
		memcpy(text + k * bytes, line, bytes);
	strcpy(text + count * bytes, last);
	return text;
}

/* As on machines with many containers, and with overlays of many layers. */
static void behind_many_and_long_lines(void **state)
{
	(void)state;
	char *layers = many_lines(3000, "/x", " rw - overlay overlay rw\n");
	char *mounts = many_lines(2000, "24 1 0:22 / /proc rw shared:5 - proc proc rw\n",
				  "31 1 0:26 / /sys/fs/cgroup rw - cgroup2 none rw\n");
	char *both = malloc(strlen(layers) + strlen(mounts) + 1);
	char *groups = many_lines(2000, "9:name=systemd:/other\n", "0::/job\n");
	char *stat = many_lines(1000, "anon 4096\n", "active_file 1048576\n");
	assert_non_null(both);
	strcpy(both, layers);
	strcat(both, mounts);
	put("proc/self/cgroup", groups);
	put("proc/self/mountinfo", both);
	put("sys/fs/cgroup/job/memory.max", "104857600\n");
	put("sys/fs/cgroup/job/memory.current", "94371840\n");
	assert_int_equal(gp_headroom_cgroup(root), 10 * MIB);
	put("sys/fs/cgroup/job/memory.stat", stat);
	assert_int_equal(gp_headroom_cgroup(root), 11 * MIB);
	put("sys/fs/cgroup/job/memory.stat", layers); /* none of its lines matters */
	assert_int_equal(gp_headroom_cgroup(root), 10 * MIB);
	/* the budget is a fraction of the smallest limit */
	assert_int_equal(gp_headroom(root), 10 * MIB);
	put("proc/self/status", "VmPeak:\t    8 kB\nVmSize:\t    8 kB\nVmData:\t    4 kB\n");
	assert_int_equal(gp_headroom(root), 10 * MIB);
	put("sys/fs/cgroup/job/memory.max", "max\n");
	const struct rlimit former = limit_to(RLIMIT_AS, 64 * MIB);
	struct rlimit now;
	assert_int_equal(getrlimit(RLIMIT_AS, &now), 0);
	assert_int_equal(gp_headroom(root), now.rlim_cur - 8192);
	limit_back(RLIMIT_AS, former);
	free(stat);
	free(groups);
	free(both);
	free(mounts);
	free(layers);
}

static void version_1_and_a_container(void **state)
{
	(void)state;
	put("proc/self/cgroup", "9:name=systemd:/\n4:cpu,memory:/docker/abc/inner\n0::/\n");
	put("proc/self/mountinfo",
	    "35 31 0:32 / /sys/fs/cgroup/cpuset rw - cgroup cgroup rw,cpuset\n"
	    "36 31 0:33 /docker/abc /sys/fs/cgroup/memory rw - cgroup cgroup rw,cpu,memory\n");
	put("sys/fs/cgroup/memory/memory.limit_in_bytes", "209715200\n");
	put("sys/fs/cgroup/memory/memory.usage_in_bytes", "52428800\n");
	put("sys/fs/cgroup/memory/inner/memory.limit_in_bytes", "9223372036854771712\n");
	put("sys/fs/cgroup/memory/inner/memory.usage_in_bytes", "4096\n");
	assert_int_equal(gp_headroom_cgroup(root), 150 * MIB);
	/* a path outside of the mount: use the visible part */
	put("proc/self/cgroup", "4:memory:/docker/other\n");
	assert_int_equal(gp_headroom_cgroup(root), 150 * MIB);
}

static void budget_open(struct gp_recorder *r, uint64_t budget)
{
	r->budget = gp_settings.memory_bytes = budget;
	r->headroom = GP_NO_LIMIT;
	gp_thread_memory_begin();
	r->live = gp_live_open();
	r->ranges = gp_open_ranges_open(16);
	assert_non_null(r->live);
	assert_non_null(r->ranges);
}

static void budget_close(struct gp_recorder *r)
{
	gp_thread_memory_begin();
	gp_thread_memory_bound(UINT64_MAX);
	gp_settings.memory_bytes = 0;
	gp_live_close(r->live);
	gp_open_ranges_close(r->ranges);
}

/* A thread's first ring may exceed the budget, but not half of what the limits leave. */
static void first_rings_end_at_the_jobs_limit(void **state)
{
	static struct gp_recorder r;
	(void)state;
	budget_open(&r, 8 * MIB);
	r.ring_bytes = 64 * MIB;
	assert_true(gp_budget_may_begin(&r, 36 << 10));
	assert_false(gp_budget_may_grow(&r, 36 << 10));
	r.headroom = 0;
	r.headroom_ns = 0; /* the next call reads the limits again */
	const struct rlimit former = limit_to(RLIMIT_AS, 512 * MIB);
	assert_true(gp_budget_may_begin(&r, 36 << 10));
	r.headroom_ns = 0;
	limit_to(RLIMIT_AS, 48 * MIB);
	assert_false(gp_budget_may_begin(&r, 36 << 10));
	limit_back(RLIMIT_AS, former);
	budget_close(&r);
}

/*
 * A launcher may limit the job after its first event. The recorder may then use a quarter of the
 * rest.
 */
static void a_limit_may_come_later(void **state)
{
	static struct gp_recorder r;
	(void)state;
	budget_open(&r, 256 * MIB);
	gp_settings.memory_bytes = 0;
	assert_true(gp_budget_may_grow(&r, 100 * MIB));
	r.headroom_ns = 0; /* the next call reads the limits again */
	const struct rlimit former = limit_to(RLIMIT_AS, 256 * MIB);
	assert_true(gp_budget_may_grow(&r, 16 * MIB));
	assert_in_range(r.budget, 64 * MIB, 68 * MIB);
	r.ring_bytes += 16 * MIB;
	assert_false(gp_budget_may_grow(&r, 32 * MIB));
	r.headroom_ns = 0;
	limit_back(RLIMIT_AS, former);
	assert_true(gp_budget_may_grow(&r, 100 * MIB));
	budget_close(&r);
}

/* Rings that grow between two reads of the limits share the rest of the first read. */
static void growth_counts_before_the_next_look(void **state)
{
	static struct gp_recorder r;
	(void)state;
	bool may_grow, may_again, may_grow_less;
	uint64_t looked_ns;
	budget_open(&r, 256 * MIB);
	do {
		r.headroom = 32 * MIB;
		r.headroom_ns = looked_ns = gp_clock_raw_ns(CLOCK_MONOTONIC_RAW);
		may_grow = gp_budget_may_grow(&r, 8 * MIB);
		may_again = gp_budget_may_grow(&r, 8 * MIB);
		may_grow_less = gp_budget_may_grow(&r, 6 * MIB);
	} while (r.headroom_ns != looked_ns); /* on a busy machine 10 ms may pass */
	assert_true(may_grow && !may_again && may_grow_less);
	budget_close(&r);
}

/*
 * Rings and the table of stacks get three quarters of the budget. Memos get a third of that, if
 * available.
 */
static void memos_have_a_share_of_their_own(void **state)
{
	static struct gp_recorder r;
	(void)state;
	budget_open(&r, 64 * MIB);
	gp_budget_tend(&r);
	assert_false(gp_thread_memory_take(17 * MIB));
	assert_true(gp_thread_memory_take(16 * MIB));
	gp_budget_tend(&r);
	assert_false(gp_thread_memory_take(1 * MIB));
	assert_int_equal(gp_thread_memory(), 16 * MIB);
	assert_true(gp_budget_may_grow(&r, 36 * MIB)); /* as without memos */
	assert_false(gp_budget_may_grow(&r, 48 * MIB));
	gp_thread_memory_add(16 * MIB); /* memory that a thread needs in any case has no share */
	assert_false(gp_budget_may_grow(&r, 36 * MIB));
	gp_thread_memory_give(16 * MIB);
	r.ring_bytes = 40 * MIB;
	gp_thread_memory_give(8 * MIB);
	gp_budget_tend(&r);
	assert_false(gp_thread_memory_take(1 * MIB));
	r.ring_bytes = 24 * MIB;
	gp_budget_tend(&r);
	assert_true(gp_thread_memory_take(1 * MIB));
	gp_thread_memory_give(17 * MIB); /* the parent of a forked child allocated it */
	assert_int_equal(gp_thread_memory(), 0);
	budget_close(&r);
}

#if defined(__x86_64__)
static unsigned looks;

/* Runs before the second read of the threads' memory. */
static void take_or_give_when_stepped(int signal, siginfo_t *info, void *context)
{
	(void)signal;
	(void)info;
	if (single_step_register(context, REG_RIP) != (uintptr_t)gp_thread_memory || ++looks != 2)
		return;
	if (gp_thread_memory())
		gp_thread_memory_give(16 * MIB);
	else
		gp_thread_memory_add(16 * MIB);
}

/* A difference of two reads wraps around if a thread takes or gives memory in between. */
static void memos_come_and_go_while_rings_grow(void **state)
{
	static struct gp_recorder r;
	(void)state;
	budget_open(&r, 64 * MIB);
	for (unsigned is_taken = 0; is_taken < 2; is_taken++) {
		gp_thread_memory_begin();
		gp_thread_memory_add(is_taken * 16 * MIB);
		looks = 0;
		single_step_begin(take_or_give_when_stepped);
		const bool may_grow = gp_budget_may_grow(&r, MIB);
		single_step_end();
		assert_true(looks != 0 && may_grow);
	}
	budget_close(&r);
}
#endif

/* KiB that the budget allows, without the limits of this machine. */
static uint64_t room_kib(struct gp_recorder *r)
{
	uint64_t kib = 0;
	do {
		r->headroom = GP_NO_LIMIT;
		r->headroom_ns = gp_clock_raw_ns(CLOCK_MONOTONIC_RAW);
		kib++;
	} while (gp_budget_may_grow(r, kib << 10));
	return kib - 1;
}

static void open_ranges_count(void **state)
{
	static struct gp_recorder r;
	const struct gp_record push = { .kind = GP_RANGE_PUSH, .aux = 1 };
	(void)state;
	budget_open(&r, 64 * MIB);
	const uint64_t before = room_kib(&r);
	for (uint32_t thread = 0; thread < 16; thread++)
		gp_open_ranges_apply(r.ranges, thread, &push);
	assert_in_range(before - room_kib(&r), 16 * sizeof(struct gp_range_stack) >> 10,
			(16 * sizeof(struct gp_range_stack) >> 10) + 1);
	budget_close(&r);
}

/* The limits are read again, even if memos did not grow meanwhile. */
static void memos_grow_by_the_present_rest(void **state)
{
	static struct gp_recorder r;
	(void)state;
	budget_open(&r, 64 * MIB);
	r.headroom = 512 * MIB;
	const struct rlimit former = limit_to(RLIMIT_AS, 16 * MIB);
	r.headroom_ns = gp_clock_raw_ns(CLOCK_MONOTONIC_RAW);
	gp_budget_tend(&r);
	assert_true(gp_thread_memory_take(8 * MIB));
	gp_thread_memory_give(8 * MIB);
	r.headroom_ns -= 2000000000u;
	gp_budget_tend(&r);
	assert_false(gp_thread_memory_take(8 * MIB));
	assert_true(gp_thread_memory_take(1 * MIB));
	limit_back(RLIMIT_AS, former);
	budget_close(&r);
}

/* Not half of the present rest: another thread of the job may allocate or free in between. */
static void tables_take_half_of_the_earlier_rest(void **state)
{
	static struct gp_recorder r;
	(void)state;
	const struct rlimit former = limit_to(RLIMIT_AS, 1024 * MIB);
	gp_budget_open(&r);
	void *foreign = mmap(NULL, 600 * MIB, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	assert_true(foreign != MAP_FAILED);
	assert_true(gp_budget_leaves_half(&r));
	void *table = gp_pages(300 * MIB);
	assert_non_null(table);
	assert_true(gp_budget_leaves_half(&r));
	assert_int_equal(munmap(foreign, 600 * MIB), 0);
	void *other = gp_pages_open(300 * MIB);
	assert_non_null(other);
	assert_false(gp_budget_leaves_half(&r));
	limit_back(RLIMIT_AS, former);
	gp_pages_close(table, 300 * MIB);
	gp_pages_close(other, 300 * MIB);
}

static void private_memory_has_a_limit_too(void **state)
{
	(void)state;
	const struct rlimit former = limit_to(RLIMIT_DATA, 64 * MIB);
	const uint64_t left = gp_headroom_mappings();
	assert_in_range(left, 64 * MIB, address_space() + 64 * MIB);
	void *memory = gp_pages(16 * MIB);
	assert_non_null(memory);
	assert_in_range(left - gp_headroom_mappings(), 16 * MIB, 17 * MIB);
	assert_true(gp_headroom("") <= gp_headroom_mappings());
	gp_pages_close(memory, 16 * MIB);
	limit_back(RLIMIT_DATA, former);
}

/* A line of /proc/self/status that is longer than the buffer for the file. */
static void a_user_of_many_groups_has_limits(void **state)
{
	enum { GROUPS = 8000 };
	static gid_t group[GROUPS];
	(void)state;
	for (unsigned k = 0; k < GROUPS; k++)
		group[k] = 100000 + k;
	const pid_t pid = fork();
	if (pid == 0) {
		struct rlimit limit;
		if (setgroups(GROUPS, group) != 0)
			_exit(errno == EPERM ? 0 : 1); /* runs without root */
		if (getrlimit(RLIMIT_AS, &limit) != 0)
			_exit(2);
		/* more than AddressSanitizer reserves */
		const uint64_t whole = gp_least(limit.rlim_max, UINT64_C(1) << 46);
		limit.rlim_cur = whole;
		if (setrlimit(RLIMIT_AS, &limit) != 0)
			_exit(3);
		const uint64_t left = gp_headroom_mappings();
		_exit(left < whole - MIB && left > whole / 2 ? 0 : 4);
	}
	int status;
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(status, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(without_cgroups, begin, end),
		cmocka_unit_test_setup_teardown(version_2, begin, end),
		cmocka_unit_test_setup_teardown(behind_many_and_long_lines, begin, end),
		cmocka_unit_test_setup_teardown(version_1_and_a_container, begin, end),
		cmocka_unit_test(first_rings_end_at_the_jobs_limit),
		cmocka_unit_test(a_limit_may_come_later),
		cmocka_unit_test(growth_counts_before_the_next_look),
		cmocka_unit_test(memos_have_a_share_of_their_own),
#if defined(__x86_64__)
		cmocka_unit_test(memos_come_and_go_while_rings_grow),
#endif
		cmocka_unit_test(open_ranges_count),
		cmocka_unit_test(memos_grow_by_the_present_rest),
		cmocka_unit_test(tables_take_half_of_the_earlier_rest),
		cmocka_unit_test(private_memory_has_a_limit_too),
		cmocka_unit_test(a_user_of_many_groups_has_limits),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
