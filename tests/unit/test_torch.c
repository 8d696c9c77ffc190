/*
 * The PyTorch hook and its look-up of the original, without PyTorch: against libc's own tables and
 * the fake c10.
 */
#include "../../interpose/lookup/elf_lookup.c"
#include "../../interpose/lookup/elf_tables.c"
#include "../../interpose/lookup/mapped_scope.c"
#include "../../interpose/lookup/mapped_symbol.c"
#include "../../interpose/torch/hook_torch.c"

bool gp_lookups_open = true;
unsigned gp_objects_at_start;

/* joining of reports is tested elsewhere */
_Thread_local struct gp_block_details gp_block_details;
bool gp_trace_is_needed(bool is_first_block)
{
	(void)is_first_block;
	return false;
}
void gp_trace_first_block(void)
{
}
void gp_torch_ranges_request(void)
{
}
void gp_torch_nodes_request(void)
{
}
void gp_device_memory_query_oom(unsigned device)
{
	(void)device;
}

#include <dlfcn.h>
#include <pthread.h>
#include <sched.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#include <cmocka.h>

#include "gpuprof.h"

static char scratch[64];

/* The fake c10 lies in BUILD/fake, this program in BUILD/unit. */
static void c10_path(char *path, size_t bytes)
{
	ssize_t length = readlink("/proc/self/exe", path, bytes - 64);
	assert_true(length > 0);
	path[length] = '\0';
	strcpy(strrchr(path, '/'), "/../fake/libc10.so");
}

static void *open_c10(void)
{
	char path[1024];
	c10_path(path, sizeof path);
	return dlopen(path, RTLD_NOW | RTLD_LOCAL);
}

static void finds_the_symbols_of_the_loader(void **state)
{
	(void)state;
	static const char *const names[] = { "getpid",		"malloc", "qsort", "fopen",
					     "dl_iterate_phdr", "getenv", "strtol" };
	char path[256];
	void *libc =
		dlopen("libc.so.6", RTLD_LAZY); /* not RTLD_DEFAULT: sanitizers come before it */
	assert_non_null(libc);
	for (size_t i = 0; i < sizeof names / sizeof *names; i++)
		assert_ptr_equal(gp_mapped_symbol("libc.so", names[i], path, sizeof path),
				 dlsym(libc, names[i]));
	assert_non_null(strstr(path, "libc.so"));
	assert_ptr_equal(gp_mapped_symbol(NULL, "getpid", NULL, 0), dlsym(libc, "getpid"));
	dlclose(libc);
}

static void finds_no_missing_symbols(void **state)
{
	(void)state;
	errno = 4242;
	assert_null(gp_mapped_symbol("libc.so", "no_such_function_anywhere", NULL, 0));
	assert_null(gp_mapped_symbol("libnothing.so", "getpid", NULL, 0));
	assert_null(gp_mapped_symbol(NULL, "", NULL, 0));
	assert_int_equal(errno, 4242);
}

static void cuts_no_path(void **state)
{
	(void)state;
	char path[4] = "xyz";
	assert_non_null(gp_mapped_symbol("libc.so", "getpid", path, sizeof path));
	assert_string_equal(path, "");
}

/* An object made by this test, with only the older hash table. */
struct old_object {
	uint32_t hash[2 + 1 + 3];
	ElfW(Sym) symbols[3];
	char strings[32];
};

static void *look_up_old(struct old_object *o, const char *name)
{
	ElfW(Phdr) load = { .p_type = PT_LOAD, .p_vaddr = (uintptr_t)o, .p_memsz = sizeof *o };
	struct dl_phdr_info info = { .dlpi_phdr = &load, .dlpi_phnum = 1 };
	const struct gp_elf_tables t = { .object = &info,
					 .symbols = o->symbols,
					 .strings = o->strings,
					 .strings_bytes = sizeof o->strings,
					 .sysv_hash = o->hash };
	return gp_elf_find_symbol(&t, GP_ELF_FUNCTION, name, 0, NULL);
}

static void reads_the_older_hash_table(void **state)
{
	(void)state;
	struct old_object o = { .hash = { 1, 3, 1, 0, 2, 0 }, .strings = "\0one\0two" };
	o.symbols[1] = (ElfW(Sym)){ .st_name = 1,
				    .st_info = STB_GLOBAL << 4 | STT_FUNC,
				    .st_shndx = 1,
				    .st_value = 0x100 };
	o.symbols[2] = (ElfW(Sym)){ .st_name = 5,
				    .st_info = STB_GLOBAL << 4 | STT_FUNC,
				    .st_shndx = 1,
				    .st_value = 0x200 };
	assert_ptr_equal(look_up_old(&o, "one"), (void *)0x100);
	assert_ptr_equal(look_up_old(&o, "two"), (void *)0x200);
	assert_null(look_up_old(&o, "three"));
	o.symbols[2].st_shndx = SHN_UNDEF;
	assert_null(look_up_old(&o, "two"));
	o.hash[5] = 1; /* a search in a circular chain ends */
	assert_null(look_up_old(&o, "three"));
	o.hash[1] = 1u << 30; /* a table that goes beyond the object */
	assert_null(look_up_old(&o, "one"));
	o.symbols[1].st_name = 1u << 20;
	o.hash[1] = 3;
	assert_null(look_up_old(&o, "one"));
}

static void forwards_to_the_mapped_c10(void **state)
{
	(void)state;
	void *c10 = open_c10();
	assert_non_null(c10);
	/*
	 * the original of its own object, or of the mapped c10 if the caller's object is not linked
	 * with it
	 */
	const void *callers[] = { dlsym(c10, "fake_c10"), (const void *)(uintptr_t)open_c10 };
	for (unsigned i = 0; i < 2; i++) {
		assert_ptr_equal(original_of(&memory_originals, memory_names, callers[i]),
				 dlsym(c10, MEMORY_LMM));
		assert_ptr_equal(original_of(&oom_originals, oom_names, callers[i]),
				 dlsym(c10, OOM_LMM));
		static const char *const no_names[] = { "_ZN3c1011no_functionEv", NULL };
		struct gp_originals none = { .claimed = 0 };
		assert_ptr_equal(original_of(&none, no_names, callers[i]), no_original);
		assert_ptr_equal(gp_original_known(&memory_originals, callers[i]),
				 dlsym(c10, MEMORY_LMM));
	}
}

/* ---- the gate between walks and forks ---- */

static void *search_at_the_gate(void *unused)
{
	(void)unused;
	memset(&memory_originals, 0, sizeof memory_originals);
	const void *caller = (const void *)(uintptr_t)open_c10;
	return original_of(&memory_originals, memory_names, caller);
}

/* Registered before the gate: it runs after the gate is closed. */
static bool is_search_due;
static void *found_in_fork;

static void search_in_the_fork(void)
{
	pthread_t searcher;
	if (!is_search_due)
		return;
	assert_int_equal(pthread_create(&searcher, NULL, search_at_the_gate, NULL), 0);
	pthread_join(searcher, &found_in_fork);
	/* the thread that forks walks before the fork */
	assert_non_null(gp_mapped_symbol("libc.so", "getpid", NULL, 0));
}

static void no_search_begins_during_a_fork(void **state)
{
	(void)state;
#if defined(__SANITIZE_THREAD__)
	print_message("skipped: ThreadSanitizer makes no thread in a fork\n");
	skip();
#endif
	found_in_fork = &found_in_fork;
	is_search_due = true;
	const pid_t child = fork();
	if (child == 0)
		_exit(0);
	is_search_due = false;
	assert_int_equal(waitpid(child, NULL, 0), child);
	assert_null(found_in_fork);
	assert_int_equal(memory_originals.claimed, 0); /* and the search is not marked as done */
	assert_non_null(search_at_the_gate(NULL));
	assert_int_equal(memory_originals.claimed, 1);
	assert_int_equal(gp_fork_gate_overdue(), 0);
}

static int until_the_gate_closes(struct dl_phdr_info *object, size_t bytes, void *is_walking)
{
	uint64_t signals;
	(void)object, (void)bytes;
	atomic_store((_Atomic int *)is_walking, 1);
	while (gp_fork_gate_enter(&signals)) {
		gp_fork_gate_leave(&signals);
		sched_yield();
	}
	return 1;
}

static void *walk_until_the_gate_closes(void *is_walking)
{
	gp_mapped_walk(until_the_gate_closes, is_walking);
	return NULL;
}

static void a_fork_waits_for_a_walk(void **state)
{
	(void)state;
	pthread_t walker;
	_Atomic int is_walking = 0;
	assert_int_equal(pthread_create(&walker, NULL, walk_until_the_gate_closes, &is_walking), 0);
	while (!is_walking)
		sched_yield();
	pid_t child = fork();
	assert_true(child >= 0);
	if (child == 0) {
		alarm(100); /* a lock held for ever would hang it */
		bool is_well = gp_mapped_symbol("libc.so", "getpid", NULL, 0) != NULL;
		/* not through ThreadSanitizer, which would miss the walker that was not forked */
		syscall(SYS_exit_group, is_well ? 0 : 1);
	}
	int status;
	pthread_join(walker, NULL);
	assert_int_equal(waitpid(child, &status, 0), child);
	assert_int_equal(status, 0);
}

static sigjmp_buf way_out;

static void jump_out(int signal)
{
	siglongjmp(way_out, signal);
}

static int raise_inside(struct dl_phdr_info *object, size_t bytes, void *has_returned)
{
	(void)object, (void)bytes;
	raise(SIGUSR1);
	*(volatile bool *)has_returned = true;
	return 1;
}

/* After the jump the gate has no thread inside, and the loader's lock is free, also in a child. */
static void a_handler_cannot_jump_out_of_a_walk(void **state)
{
	(void)state;
	volatile bool has_returned = false;
	void (*const before)(int) = signal(SIGUSR1, jump_out);
	if (sigsetjmp(way_out, 1) == 0) {
		gp_mapped_walk(raise_inside, (void *)&has_returned);
		fail_msg("the signal did not come");
	}
	signal(SIGUSR1, before);
	assert_true(has_returned);
	pid_t child = fork();
	assert_int_equal(gp_fork_gate_overdue(), 0);
	if (child == 0) {
		alarm(100); /* a lock held for ever would hang it */
		bool is_well = gp_mapped_symbol("libc.so", "getpid", NULL, 0) != NULL;
		syscall(SYS_exit_group, is_well ? 0 : 1);
	}
	int status;
	assert_int_equal(waitpid(child, &status, 0), child);
	assert_int_equal(status, 0);
}

/* The signal mask is unchanged afterwards, also for walks inside walks. */
static void a_walk_leaves_the_signals_as_they_were(void **state)
{
	(void)state;
	sigset_t before, now;
	uint64_t outer, inner;
	sigemptyset(&before);
	sigaddset(&before, SIGUSR2);
	assert_int_equal(sigprocmask(SIG_SETMASK, &before, NULL), 0);
	assert_true(gp_walks_begin(&outer));
	assert_true(gp_walks_begin(&inner));
	gp_walks_end(&inner);
	sigprocmask(SIG_SETMASK, NULL, &now);
	assert_true(sigismember(&now, SIGUSR1) && !sigismember(&now, SIGSEGV));
	gp_walks_end(&outer);
	sigprocmask(SIG_SETMASK, NULL, &now);
	assert_true(sigismember(&now, SIGUSR2) && !sigismember(&now, SIGUSR1));
	sigemptyset(&before);
	sigprocmask(SIG_SETMASK, &before, NULL);
}

static void reads_a_version(void **state)
{
	(void)state;
	char out[32] = "";
	assert_true(version_in(
		"from typing import Optional\n__version__ = '2.11.0+cu130'\ndebug = False\n", out,
		sizeof out));
	assert_string_equal(out, "2.11.0+cu130");
	assert_true(version_in("__version__ = \"1.13\"", out, sizeof out));
	assert_string_equal(out, "1.13");
	assert_false(version_in("__version__ = '2.1", out, sizeof out));
	assert_false(version_in("__version__ = ''", out, sizeof out));
	assert_false(version_in("version = '3'", out, sizeof out));
	assert_false(version_in("__version__ = 'longer than there is room'", out, 8));
}

static void copy_c10(const char *to)
{
	char path[1024], bytes[65536];
	c10_path(path, sizeof path);
	FILE *from = fopen(path, "rb"), *out = fopen(to, "wb");
	assert_true(from && out);
	for (size_t n; (n = fread(bytes, 1, sizeof bytes, from)) > 0;)
		assert_int_equal(fwrite(bytes, 1, n, out), n);
	fclose(from);
	assert_int_equal(fclose(out), 0);
}

/* Runs in a child, where no other c10 is mapped: 0 if the version beside it was read. */
static int version_beside(const char *library)
{
	char version[64] = "";
	errno = 4242;
	if (gp_torch_version(version, sizeof version) || errno != 4242)
		return 1;
	if (!dlopen(library, RTLD_NOW | RTLD_LOCAL))
		return 2;
	errno = 4242;
	if (!gp_torch_version(version, sizeof version) || errno != 4242)
		return 3;
	return strcmp(version, "2.11.0+cu130") == 0 ? 0 : 4;
}

static void reads_the_version_beside_c10(void **state)
{
	(void)state;
	char path[4][128];
	static const char *const name[] = { "torch", "torch/lib", "torch/version.py",
					    "torch/lib/libc10.so" };
	for (int i = 0; i < 4; i++)
		snprintf(path[i], sizeof path[i], "%s/%s", scratch, name[i]);
	assert_int_equal(mkdir(path[0], 0700), 0);
	assert_int_equal(mkdir(path[1], 0700), 0);
	FILE *file = fopen(path[2], "w");
	assert_non_null(file);
	fprintf(file, "__all__ = ['__version__', 'debug']\n__version__ = '2.11.0+cu130'\ndebug = "
		      "False\n");
	assert_int_equal(fclose(file), 0);
	copy_c10(path[3]);
	pid_t child = fork();
	if (child == 0)
		_exit(version_beside(path[3]));
	int status;
	assert_int_equal(waitpid(child, &status, 0), child);
	for (int i = 3; i >= 0; i--)
		assert_int_equal(remove(path[i]), 0);
	assert_int_equal(status, 0);
}

static uint64_t cuda(unsigned index)
{
	return 0xffffffffffff0000u | DEVICE_CUDA |
	       index << 8; /* garbage above the low 16 bits, as compilers leave it */
}

/* Runs in a child: one process, one recording. */
static void report_some(const char *path)
{
	setenv("GPUPROF_OUTPUT", path, 1);
	if (!gp_recorder_init())
		_exit(1);
	_ZN3c1027reportMemoryUsageToProfilerEPvlmmNS_6DeviceE((void *)0x1000, 512, 512, 2 << 20,
							      cuda(0));
	_ZN3c1027reportMemoryUsageToProfilerEPvlmmNS_6DeviceE((void *)0x1000, 512, 512, 2 << 20,
							      cuda(0));
	_ZN3c1027reportMemoryUsageToProfilerEPvlllNS_6DeviceE((void *)0x9000, 1024, 1024, 2 << 20,
							      cuda(1));
	_ZN3c1027reportMemoryUsageToProfilerEPvlmmNS_6DeviceE((void *)0x5000, 64, 64, 0,
							      0xffff00); /* the CPU's, index -1 */
	_ZN3c1027reportOutOfMemoryToProfilerElllNS_6DeviceE(1 << 30, 512, 2 << 20, cuda(0));
	_ZN3c1027reportMemoryUsageToProfilerEPvlmmNS_6DeviceE((void *)0x1000, -512, 0, 2 << 20,
							      cuda(0));
	gp_recorder_end();
	_exit(0);
}

static void records_the_reports(void **state)
{
	(void)state;
	char path[128];
	snprintf(path, sizeof path, "%s/torch.gpr", scratch);
	pid_t child = fork();
	assert_true(child >= 0);
	if (child == 0)
		report_some(path);
	int status;
	assert_int_equal(waitpid(child, &status, 0), child);
	assert_int_equal(status, 0);
	struct gp_recording *recording;
	const struct gp_info *info;
	gp_adopt(NULL, stdout);
	assert_int_equal(gp_recording_open(path, &recording, NULL), GP_OK);
	assert_int_equal(gp_recording_info(recording, &info), GP_OK);
	assert_int_equal(info->counts[GP_BLOCK_ALLOC], 2);
	assert_int_equal(info->counts[GP_BLOCK_EXISTING], 1);
	assert_int_equal(info->counts[GP_BLOCK_FREE], 1);
	assert_int_equal(info->counts[GP_OOM], 1);
	struct gp_event e;
	unsigned frees = 0, facts = 0;
	while (gp_recording_next(recording, &e) == GP_OK) {
		if (e.record.kind == GP_BLOCK_FREE) {
			assert_int_equal(e.record.block_free.bytes, 512);
			assert_int_equal(e.record.block_free.address, 0x1000);
			assert_int_equal(e.record.device, 0);
			frees++;
		} else if (e.record.kind == GP_BLOCK_ALLOC && e.record.device == 1) {
			assert_int_equal(e.record.block_alloc.allocated, 1024);
		} else if (e.record.kind == GP_OOM) {
			assert_int_equal(e.record.oom.bytes, 1 << 30);
			assert_int_equal(e.record.oom.reserved, 2 << 20);
		} else if (e.record.kind == GP_FACT && e.record.aux == GP_FACT_BLOCK_REPORTS) {
			facts++;
		}
	}
	assert_int_equal(frees, 1);
	assert_int_equal(facts, 1);
	gp_recording_close(recording);
}

int main(void)
{
	pthread_atfork(search_in_the_fork, NULL, NULL);
	gp_fork_gate_open();
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(finds_the_symbols_of_the_loader),
		cmocka_unit_test(finds_no_missing_symbols),
		cmocka_unit_test(cuts_no_path),
		cmocka_unit_test(reads_the_older_hash_table),
		cmocka_unit_test(reads_the_version_beside_c10),
		cmocka_unit_test(forwards_to_the_mapped_c10),
		cmocka_unit_test(no_search_begins_during_a_fork),
		cmocka_unit_test(a_fork_waits_for_a_walk),
		cmocka_unit_test(a_handler_cannot_jump_out_of_a_walk),
		cmocka_unit_test(a_walk_leaves_the_signals_as_they_were),
		cmocka_unit_test(reads_a_version),
		cmocka_unit_test(records_the_reports),
	};
	snprintf(scratch, sizeof scratch, "/tmp/gp-torch-XXXXXX");
	if (!mkdtemp(scratch))
		return 1;
	int failed = cmocka_run_group_tests(tests, NULL, NULL);
	char command[128];
	snprintf(command, sizeof command, "%s/torch.gpr", scratch);
	unlink(command);
	rmdir(scratch);
	return failed;
}
