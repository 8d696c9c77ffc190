/*
 * Forks, raw clones and closed descriptors while threads unwind new code: no child hangs, and the
 * job loses no byte. FULL=1: 10,000 forks.
 */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

#include "../../libgpuprof/record/process/fork_gate.h"
#include "native_fixture.h"
#include "native_paths.h"

static uint64_t now_ms(void)
{
	struct timespec t;
	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000u + (uint64_t)t.tv_nsec / 1000000u;
}

static __attribute__((noinline)) void look(void *depth)
{
	struct gp_native_stack *s =
		gp_native_stack_now(native_thread(), __builtin_frame_address(0));
	*(unsigned *)depth = s ? s->depth : 0;
}

static unsigned look_below(unsigned frames, uint64_t *seed)
{
	uint8_t path[40];
	unsigned depth;
	for (unsigned k = 0; k < frames; k++)
		path[k] = (uint8_t)(path_random(seed) >> 30);
	path_run(path, frames, look, &depth);
	return depth;
}

/* Exit status of the child; -1 when it hung for 100 s and was killed. */
static int end_of(pid_t child)
{
	int status = -1;
	struct pollfd ended = { .fd = (int)syscall(SYS_pidfd_open, child, 0), .events = POLLIN };
	bool is_late = ended.fd >= 0 && poll(&ended, 1, 100000) == 0;
	if (is_late)
		kill(child, SIGKILL); /* it may have blocked every signal */
	waitpid(child, &status, 0);
	close(ended.fd);
	return is_late ? -1 : WIFEXITED(status) ? WEXITSTATUS(status) : -2;
}

/* ---- threads that always unwind new code ---- */

static _Atomic int is_over;
static _Atomic unsigned looked;

static void *unwind_new_code(void *context)
{
	uint64_t seed = 77 + (uintptr_t)context;
	while (!atomic_load(&is_over)) {
		gp_native_rules_forget(); /* all code counts as new */
		look_below(20, &seed);
		atomic_fetch_add(&looked, 1);
	}
	native_thread_done();
	return NULL;
}

/* It unwinds new code and enters the loader. */
static __attribute__((noreturn)) void be_child(void)
{
	uint64_t seed = 5;
	gp_native_rules_forget();
	unsigned depth = look_below(20, &seed);
	void *library = dlopen("libm.so.6", RTLD_NOW | RTLD_LOCAL);
	_exit(library && (depth > 20 || gp_fork_gate_overdue()) ? 0 : 3);
}

static void no_child_hangs(void **state)
{
	const unsigned forks = getenv("FULL") && *getenv("FULL") ? 10000 : 300;
	pthread_t thread[2];
	(void)state;
	atomic_store(&is_over, 0);
	for (uintptr_t i = 0; i < 2; i++)
		assert_int_equal(pthread_create(&thread[i], NULL, unwind_new_code, (void *)i), 0);
	while (atomic_load(&looked) < 2)
		sched_yield();
	unsigned looked_before = atomic_load(&looked);
	for (unsigned i = 0; i < forks; i++) {
		pid_t child = fork();
		if (child == 0)
			be_child();
		assert_true(child > 0);
		assert_int_equal(end_of(child), 0);
	}
	assert_true(atomic_load(&looked) > looked_before);
	atomic_store(&is_over, 1);
	for (unsigned i = 0; i < 2; i++)
		pthread_join(thread[i], NULL);
	print_message("%u forks, %u did not wait long enough\n", forks, gp_fork_gate_overdue());
}

/* ---- threads that hold the gate too long ---- */

static _Atomic int is_inside, may_leave;

static void *stay_inside(void *context)
{
	uint64_t signals;
	if (!gp_fork_gate_enter(&signals))
		return context;
	atomic_store(&is_inside, 1);
	while (!atomic_load(&may_leave))
		sched_yield();
	gp_fork_gate_leave(&signals);
	return context;
}

static void a_fork_waits_50_ms_and_its_child_stays_out(void **state)
{
	pthread_t thread;
	uint64_t seed = 8;
	(void)state;
	const uint32_t overdue = gp_fork_gate_overdue();
	assert_int_equal(pthread_create(&thread, NULL, stay_inside, NULL), 0);
	while (!atomic_load(&is_inside))
		sched_yield();
	uint64_t waited = 0;
	pid_t child = -1;
	unsigned depth[3];
	/* from one place, whose code is in the cache then */
	for (unsigned turn = 0; turn < 3; turn++) {
		uint64_t same = 8;
		depth[turn] = look_below(9, &same);
		if (turn == 0) {
			waited = now_ms();
			child = fork();
			waited = now_ms() - waited;
			if (child != 0)
				break;
		} else {
			gp_native_rules_forget();
		}
	}
	const struct gp_native_counts *counts = gp_native_thread_counts(native_thread());
	if (child == 0)
		_exit(depth[1] == depth[0] && depth[2] == 0 && counts->refused == 1 ? 0 : 3);
	atomic_store(&may_leave, 1);
	pthread_join(thread, NULL);
	assert_int_equal(end_of(child), 0);
	assert_in_range(waited, 50, 20000);
	assert_int_equal(gp_fork_gate_overdue(), overdue + 1);
	gp_native_rules_forget();
	assert_in_range(look_below(9, &seed), 10, GP_NATIVE_DEPTH); /* open again */
}

static sigjmp_buf way_out;

static void jump_out(int signal)
{
	siglongjmp(way_out, signal);
}

/* After a handler jumped out, the gate has no thread inside, and the next fork does not wait. */
static void a_handler_cannot_jump_out_of_it(void **state)
{
	volatile bool has_left = false;
	uint64_t signals;
	(void)state;
	const uint32_t overdue = gp_fork_gate_overdue();
	void (*const before)(int) = signal(SIGUSR1, jump_out);
	if (sigsetjmp(way_out, 1) == 0) {
		assert_true(gp_fork_gate_enter(&signals));
		raise(SIGUSR1);
		has_left = true;
		gp_fork_gate_leave(&signals);
		fail_msg("the signal did not come");
	}
	signal(SIGUSR1, before);
	assert_true(has_left);
	const pid_t child = fork();
	if (child == 0)
		_exit(gp_fork_gate_enter(&signals) ? 0 : 3);
	assert_int_equal(end_of(child), 0);
	assert_int_equal(gp_fork_gate_overdue(), overdue);
}

static void a_raw_clone_stays_out(void **state)
{
	uint64_t seed = 8;
	(void)state;
	look_below(9, &seed);
	pid_t child = (pid_t)syscall(SYS_clone, SIGCHLD, 0, 0, 0, 0);
	if (child == 0) {
		gp_native_rules_forget();
		_exit(look_below(9, &seed) == 0 ? 0 : 3);
	}
	assert_int_equal(end_of(child), 0);
}

static void *stay_in_a_walk(void *context)
{
	uint64_t signals;
	if (!gp_walks_begin(&signals))
		return context;
	atomic_store(&is_inside, 1);
	while (!atomic_load(&may_leave))
		sched_yield();
	gp_walks_end(&signals);
	return context;
}

static bool fork_once(void)
{
	const pid_t child = fork();
	if (child == 0)
		_exit(0);
	return child > 0 && end_of(child) == 0;
}

/* In a child that never enters: its forks wait for its own walks, and for no others afterwards. */
static int forks_beside_a_walk(void)
{
	pthread_t walker;
	const uint32_t overdue = gp_fork_gate_overdue();
	uint64_t signals;
	if (gp_fork_gate_enter(&signals))
		return 3;
	atomic_store(&is_inside, 0);
	atomic_store(&may_leave, 0);
	if (pthread_create(&walker, NULL, stay_in_a_walk, NULL) != 0)
		return 4;
	while (!atomic_load(&is_inside))
		sched_yield();
	const uint64_t begin = now_ms();
	if (!fork_once())
		return 5;
	if (now_ms() - begin < 50 || gp_fork_gate_overdue() != overdue + 1)
		return 6;
	atomic_store(&may_leave, 1);
	pthread_join(walker, NULL);
	if (!fork_once())
		return 7;
	return gp_fork_gate_overdue() == overdue + 1 ? 0 : 8;
}

static void forks_of_a_raw_clone_wait_for_its_walks(void **state)
{
	(void)state;
	const pid_t child = (pid_t)syscall(SYS_clone, SIGCHLD, 0, 0, 0, 0);
	if (child == 0)
		_exit(forks_beside_a_walk());
	assert_int_equal(end_of(child), 0);
}

static void forks_after_a_wait_in_vain_wait_for_their_walks(void **state)
{
	pthread_t thread;
	(void)state;
#if defined(__SANITIZE_THREAD__)
	print_message("skipped: to ThreadSanitizer the child's thread is the parent's\n");
	skip();
#endif
	atomic_store(&is_inside, 0);
	atomic_store(&may_leave, 0);
	assert_int_equal(pthread_create(&thread, NULL, stay_inside, NULL), 0);
	while (!atomic_load(&is_inside))
		sched_yield();
	const pid_t child = fork();
	if (child == 0)
		_exit(forks_beside_a_walk());
	atomic_store(&may_leave, 1);
	pthread_join(thread, NULL);
	assert_int_equal(end_of(child), 0);
}

/* ---- a job that closes every descriptor ---- */

#define STREAM_BYTES (4u << 20)

static unsigned char byte_at(size_t i)
{
	return (unsigned char)(i * 2654435761u >> 13);
}

static void *send_stream(void *socket)
{
	unsigned char block[4093];
	for (size_t at = 0; at < STREAM_BYTES;) {
		size_t n = sizeof block < STREAM_BYTES - at ? sizeof block : STREAM_BYTES - at;
		for (size_t i = 0; i < n; i++)
			block[i] = byte_at(at + i);
		ssize_t sent = send((int)(intptr_t)socket, block, n, 0);
		if (sent < 0)
			return (void *)1;
		at += (size_t)sent;
	}
	return NULL;
}

/* push %rbx; call *%rdi; pop %rbx; ret: code without unwind information */
static const unsigned char made_code[] = { 0x53, 0xff, 0xd7, 0x5b, 0xc3 };
static unsigned char *made;
static unsigned made_next;

static void look_once(void)
{
	unsigned depth;
	look(&depth);
}

/* At an address that was never a caller before. */
static void look_below_made_code(void)
{
	unsigned char *at = made + made_next;
	void (*call)(void (*)(void));
	memcpy(at, made_code, sizeof made_code);
	memcpy(&call, &at, sizeof at);
	call(look_once);
	made_next = (made_next + 8) % (1u << 20);
}

static int close_all_and_unwind(void)
{
	int pair[2];
	pthread_t sender;
	void *failed = NULL;
	uint64_t seed = 3;
	unsigned char block[4093];
	if (syscall(SYS_close_range, 0u, ~0u, 0u) != 0)
		for (int i = 0; i < 4096; i++)
			close(i);
	for (int i = 0; i < 12; i++) /* the last pipes get numbers that other files had */
		if (socketpair(AF_UNIX, SOCK_STREAM, 0, pair) != 0)
			return 3;
	if (pthread_create(&sender, NULL, send_stream, (void *)(intptr_t)pair[0]) != 0)
		return 4;
	for (size_t at = 0; at < STREAM_BYTES;) {
		ssize_t n = recv(pair[1], block, sizeof block, 0);
		if (n <= 0)
			return 5;
		for (ssize_t i = 0; i < n; i++)
			if (block[i] != byte_at(at++))
				return 6;
		gp_native_rules_forget();
		look_below(15, &seed);
		look_below_made_code();
	}
	pthread_join(sender, &failed);
	for (int i = 0; i < 24; i++) /* only the bytes that were sent */
		if (recv(i, block, 1, MSG_DONTWAIT) != -1 || errno != EAGAIN)
			return 7;
	return failed ? 8 : 0;
}

static void descriptors_are_the_jobs_own(void **state)
{
	(void)state;
	void *pages = mmap(NULL, 1u << 20, PROT_READ | PROT_WRITE | PROT_EXEC,
			   MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	assert_ptr_not_equal(pages, MAP_FAILED);
	made = pages;
	pid_t child = fork();
	if (child == 0)
		_exit(close_all_and_unwind());
	assert_int_equal(end_of(child), 0);
	munmap(pages, 1u << 20);
}

int main(int argc, char **argv)
{
	(void)argc;
	native_fixture_open(argv[0], GP_NATIVE_DEPTH);
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_fork_waits_50_ms_and_its_child_stays_out),
		cmocka_unit_test(a_handler_cannot_jump_out_of_it),
		cmocka_unit_test(a_raw_clone_stays_out),
		cmocka_unit_test(forks_of_a_raw_clone_wait_for_its_walks),
		cmocka_unit_test(forks_after_a_wait_in_vain_wait_for_their_walks),
		cmocka_unit_test(descriptors_are_the_jobs_own),
		cmocka_unit_test(no_child_hangs),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
