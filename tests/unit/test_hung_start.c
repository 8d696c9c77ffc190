/*
 * Cases where the recorder cannot begin, or hangs later: the job is delayed once, and a child never
 * dies. The recorder's system calls go through functions of this file.
 */
/* ThreadSanitizer calls mmap before the function of this file can run. */
#if !defined(__SANITIZE_THREAD__)

#include "record/stacks/stack_table.h"
#include "recorded_child.h"
#include "single_step.h"

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <time.h>

#define SLOW_NS 50000000

static _Atomic bool has_no_threads, has_no_memory, has_no_rings, is_disk_hung, is_disk_slow;
static _Atomic unsigned in_hung_write, in_slow_write;
static _Thread_local unsigned listings_failing; /* the drain thread has its own copy */

int pthread_create(pthread_t *thread, const pthread_attr_t *attributes, void *(*start)(void *),
		   void *argument)
{
	static int (*real)(pthread_t *, const pthread_attr_t *, void *(*)(void *), void *);
	if (!real)
		*(void **)&real = dlsym(RTLD_NEXT, "pthread_create");
	return has_no_threads ? EAGAIN : real(thread, attributes, start, argument);
}

ssize_t pwrite(int fd, const void *from, size_t bytes, off_t at)
{
	while (atomic_load(&is_disk_hung)) {
		atomic_store(&in_hung_write, 1);
		nanosleep(&(const struct timespec){ .tv_nsec = 1000000 }, NULL);
	}
	atomic_store(&in_slow_write, atomic_load(&is_disk_slow));
	if (atomic_load(&is_disk_slow))
		nanosleep(&(const struct timespec){ .tv_nsec = SLOW_NS }, NULL);
	return syscall(SYS_pwrite64, fd, from, bytes, at);
}

ssize_t pwrite64(int fd, const void *from, size_t bytes, off_t at) __attribute__((alias("pwrite")));

void *mmap(void *at, size_t bytes, int protection, int flags, int fd, off_t offset)
{
	if (has_no_memory || (has_no_rings && bytes == GP_REGION_OFFSET(1u))) {
		errno = ENOMEM;
		return MAP_FAILED;
	}
	return (void *)syscall(SYS_mmap, at, bytes, protection, flags, fd, offset);
}

void *mmap64(void *at, size_t bytes, int protection, int flags, int fd, off_t offset)
	__attribute__((alias("mmap")));

int open(const char *path, int flags, ...)
{
	va_list more;
	va_start(more, flags);
	const mode_t mode = flags & O_CREAT ? va_arg(more, mode_t) : 0;
	va_end(more);
	if (strcmp(path, "/proc/self/task") == 0 && listings_failing != 0) {
		listings_failing--;
		errno = EMFILE;
		return -1;
	}
	return (int)syscall(SYS_openat, AT_FDCWD, path, flags, mode);
}

int open64(const char *path, int flags, ...) __attribute__((alias("open")));

static uint64_t now_ms(void)
{
	return gp_clock_raw_ns(CLOCK_MONOTONIC) / 1000000;
}

static void without_a_thread(void)
{
	atomic_store(&has_no_threads, true);
	CHECK(!gp_enter());
	const uint64_t began = now_ms();
	gp_recorder_end();
	CHECK(now_ms() - began < 1000);
}

static void *allocate(void *unused)
{
	if (!gp_enter())
		return unused;
	struct gp_record *r = gp_reserve(GP_ALLOC);
	if (r)
		gp_commit_memory(r);
	gp_leave();
	return unused;
}

static void allocate_in_thread(void)
{
	pthread_t thread;
	CHECK(pthread_create(&thread, NULL, allocate, NULL) == 0);
	pthread_join(thread, NULL);
}

static void hang_disk(void)
{
	allocate(NULL);
	atomic_store(&is_disk_hung, true);
	while (!atomic_load(&in_hung_write))
		sched_yield();
}

/* Each of them would wait for half a second. */
static void begin_while_hung(void)
{
	hang_disk();
	const uint64_t began = now_ms();
	for (unsigned k = 0; k < 20; k++)
		allocate_in_thread();
	CHECK(now_ms() - began < 5000);
	CHECK(atomic_load(&gp_control->lost[0]) == 20);
	const uint32_t progress = atomic_load(&gp_recorder.progress);
	atomic_store(&is_disk_hung, false);
	while (atomic_load(&gp_recorder.progress) == progress)
		sched_yield();
	/* threads that wait get rings again */
	for (unsigned k = 0; k < 20; k++)
		allocate_in_thread();
	CHECK(atomic_load(&gp_control->lost[0]) == 20);
}

static sigjmp_buf landing;
static _Atomic(struct gp_thread *) jumping;

static void jump(int signal)
{
	(void)signal;
	siglongjmp(landing, 1);
}

/* A timeout of the job, made with a handler that jumps. */
static void *end_out_of_wait(void *unused)
{
	atomic_store(&jumping, &gp_thread);
	if (sigsetjmp(landing, 1) == 0)
		allocate(NULL);
	CHECK(atomic_load(&gp_recorder.rings_requested) == 1);
	return unused;
}

static void *go_on_out_of_wait(void *unused)
{
	end_out_of_wait(unused);
	atomic_store(&is_disk_hung, false);
	allocate(NULL);
	CHECK(atomic_load(&gp_recorder.rings_requested) == 0);
	return unused;
}

/* A thread that jumped out no longer waits: no turn looks for rings for it. */
static void jump_while_hung(void *(*body)(void *))
{
	pthread_t thread;
	hang_disk();
	signal(SIGUSR1, jump);
	CHECK(pthread_create(&thread, NULL, body, NULL) == 0);
	while (!atomic_load(&jumping) ||
	       !*(volatile uint16_t *)&atomic_load(&jumping)->is_ring_requested)
		sched_yield();
	pthread_kill(thread, SIGUSR1);
	pthread_join(thread, NULL);
	atomic_store(&is_disk_hung, false);
	CHECK(atomic_load(&gp_recorder.rings_requested) == 0);
}

#if defined(__x86_64__)
#define NEVER_THERE 2 /* exit status: the thread did not reach `signal_at` */
static unsigned signal_at;
static bool was_there;

static void send(int signal)
{
	was_there = true;
	pthread_kill(pthread_self(), signal);
}

static void cancel_in_handler(int signal)
{
	(void)signal;
	gp_thread_refuse_ring(&gp_thread);
}

static unsigned instruction;

/* The `signal_at`-th instruction of the recorder that ends the wait. */
static void interrupt_when_stepped(int signal, siginfo_t *unused, void *context)
{
	const uintptr_t into =
		single_step_register(context, REG_RIP) - (uintptr_t)gp_thread_refuse_ring;
	(void)signal;
	(void)unused;
	if (into < 256 && instruction++ == signal_at)
		send(SIGUSR2);
}

static __attribute__((noinline)) void overwrite_return_addresses(void)
{
	volatile char room[8192];
	for (unsigned k = 0; k < sizeof room; k++)
		room[k] = 7;
}

/* A handler of the job that begins an event also ends a wait that a jump left behind. */
static void interrupt_taking_back(void)
{
	allocate(NULL);
	signal(SIGUSR2, cancel_in_handler);
	do {
		was_there = false;
		instruction = 0;
		atomic_fetch_add(&gp_recorder.rings_requested, 1);
		gp_thread.is_ring_requested = 1;
		single_step_begin(interrupt_when_stepped);
		gp_thread_refuse_ring(&gp_thread);
		single_step_end();
		CHECK(atomic_load(&gp_recorder.rings_requested) == 0 &&
		      !gp_thread.is_ring_requested);
		signal_at++;
	} while (was_there);
	CHECK(signal_at > 5);
}

/* The `signal_at`-th time that the count of waiting threads and the thread's mark disagree. */
static void jump_when_stepped(int signal, siginfo_t *unused, void *context)
{
	static bool did_disagree;
	static unsigned times;
	const bool disagrees =
		atomic_load(&gp_recorder.rings_requested) != gp_thread.is_ring_requested;
	(void)signal;
	(void)unused;
	(void)context;
	if (disagrees && !did_disagree) {
		atomic_store(&is_disk_hung, false);
		if (times++ == signal_at)
			send(SIGUSR1);
	}
	did_disagree = disagrees;
}

static void *begin_step_by_step(void *unused)
{
	if (sigsetjmp(landing, 1) == 0) {
		single_step_begin(jump_when_stepped);
		allocate(NULL);
		single_step_end();
		_exit(NEVER_THERE);
	}
	overwrite_return_addresses();
	allocate(NULL);
	CHECK(atomic_load(&gp_recorder.rings_requested) == 0);
	return unused;
}

static void jump_while_counted(void)
{
	pthread_t thread;
	hang_disk();
	signal(SIGUSR1, jump);
	CHECK(pthread_create(&thread, NULL, begin_step_by_step, NULL) == 0);
	pthread_join(thread, NULL);
}
#endif

static void jump_while_hung_and_go_on(void)
{
	jump_while_hung(go_on_out_of_wait);
}

static void jump_while_hung_and_end(void)
{
	jump_while_hung(end_out_of_wait);
}

static uint64_t lost_memory(void)
{
	return atomic_load(&gp_thread.ring->lost_memory);
}

static void allocate_often(unsigned times)
{
	for (unsigned k = 0; k < times; k++)
		allocate(NULL);
}

static void launch_often(unsigned times)
{
	for (unsigned k = 0; k < times; k++) {
		CHECK(gp_enter_launch());
		struct gp_record *r = gp_reserve(GP_LAUNCH);
		if (r)
			gp_commit(r);
		gp_leave();
	}
}

/* A burst at the start of a thread, while the drain thread cannot look at its ring. */
static void launch_while_away(void)
{
	allocate(NULL);
	atomic_store(&is_disk_slow, true);
	gp_flush_soon();
	while (!atomic_load(&in_slow_write))
		sched_yield();
	launch_often(2000);
	CHECK(atomic_load(&gp_thread.ring->lost_launch) == 0);
	atomic_store(&is_disk_slow, false);
}

/* More events than any ring holds, while each write takes longer than all of them. */
static void fill_while_slow(void)
{
	allocate(NULL);
	atomic_store(&is_disk_slow, true);
	allocate_often(3 * GP_RING_SLOTS);
	CHECK(lost_memory() == 0);
	atomic_store(&is_disk_slow, false);
}

static void fill_while_hung(void)
{
	hang_disk();
	const uint64_t began = now_ms();
	allocate_often(3 * GP_RING_SLOTS);
	CHECK(now_ms() - began < 5000);
	CHECK(lost_memory() > GP_RING_SLOTS);
	const uint64_t lost = lost_memory();
	const uint32_t progress = atomic_load(&gp_recorder.progress);
	atomic_store(&is_disk_hung, false);
	while (atomic_load(&gp_recorder.progress) == progress)
		sched_yield();
	allocate_often(3 * GP_RING_SLOTS);
	CHECK(lost_memory() == lost);
}

/* No turn of the recorder makes a ring: threads do not wait for the next turn. */
static void begin_without_rings(void)
{
	allocate(NULL);
	atomic_store(&has_no_rings, true);
	const uint64_t began = now_ms();
	for (unsigned k = 0; k < 20; k++)
		allocate_in_thread();
	CHECK(now_ms() - began < 5000);
	CHECK(atomic_load(&gp_control->lost[0]) == 20);
	atomic_store(&has_no_rings, false);
	/* each lost event requests a ring again: the next turn makes one */
	uint64_t lost = 0;
	for (unsigned k = 0; k < 1000 && lost != atomic_load(&gp_control->lost[0]); k++) {
		lost = atomic_load(&gp_control->lost[0]);
		allocate_in_thread();
	}
	CHECK(lost == atomic_load(&gp_control->lost[0]));
}

static uint32_t is_refused(void)
{
	return atomic_load(&gp_recorder.views[gp_thread.ring_index].is_growth_refused);
}

/* The drain thread may be reading the limits; its later reads return this one. */
static void set_budget(uint64_t bytes)
{
	gp_settings.memory_bytes = bytes;
	do {
		gp_recorder.budget = bytes;
		const uint32_t progress = atomic_load(&gp_recorder.progress);
		while (atomic_load(&gp_recorder.progress) - progress < 2)
			sched_yield();
	} while (*(volatile uint64_t *)&gp_recorder.budget != bytes);
}

/* Memory that the job frees later becomes available to rings later. */
static void grow_later(void)
{
	allocate(NULL);
	const uint64_t budget = gp_recorder.budget, latest = now_ms() + 60000;
	bool refused;
	set_budget(1);
	atomic_store(&is_disk_slow, true); /* the ring fills, even if this thread is slow */
	do
		allocate_often(400);
	while (!(refused = is_refused()) && now_ms() < latest);
	CHECK(refused && gp_thread.region == 0);
	set_budget(budget);
	while (gp_thread.region == 0 && now_ms() < latest)
		allocate_often(400);
	atomic_store(&is_disk_slow, false);
	CHECK(gp_thread.region > 0);
}

/* The thread that forked uses its ring only if the word in the child equals its own copy. */
static void fork_and_begin_elsewhere(void)
{
	allocate(NULL);
	const pid_t pid = fork();
	if (pid == 0) {
		allocate_in_thread();
		allocate(NULL);
		CHECK(gp_thread.generation == gp_recorder.generation);
		gp_recorder_end();
		_exit(0);
	}
	CHECK(end_of(pid) == 0);
}

/*
 * Addresses of the parent's recorder are unmapped in the child, and the job may map memory there.
 */
static void fork_and_fill_the_hole(void)
{
	enum { PIECES = 64, BYTES = 1 << 20 };
	allocate(NULL);
	CHECK(gp_stack_table_open(1 << 20));
	const pid_t pid = fork();
	if (pid == 0) {
		static char *piece[PIECES];
		for (unsigned k = 0; k < PIECES; k++) {
			piece[k] = mmap(NULL, BYTES, PROT_READ | PROT_WRITE,
					MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
			CHECK(piece[k] != MAP_FAILED);
			memset(piece[k], (int)k + 1, BYTES);
		}
		atomic_store(&has_no_memory, true);
		allocate(NULL);
		while (atomic_load(&gp_recorder.state) != GP_RECORDER_FAILED)
			sched_yield();
		for (unsigned k = 0; k < PIECES; k++)
			CHECK(piece[k][0] == (char)(k + 1) && piece[k][BYTES - 1] == (char)(k + 1));
		_exit(0);
	}
	CHECK(end_of(pid) == 0);
}

/* A handler of the job may run before the parent's recorder is unmapped. */
static void fork_and_lose(void)
{
	allocate(NULL);
	const pid_t pid = fork();
	if (pid == 0) {
		gp_losses_early(0);
		_exit(0);
	}
	CHECK(end_of(pid) == 0);
}

static void *live_on(void *barrier)
{
	pthread_barrier_wait(barrier);
	return NULL;
}

/* The main thread has ended: the other threads still count, even if listing them fails at times. */
static void list_threads_with_failures(void)
{
	static pthread_barrier_t barrier;
	pthread_t thread;
	allocate(NULL);
	pthread_barrier_init(&barrier, NULL, 2);
	CHECK(pthread_create(&thread, NULL, live_on, &barrier) == 0);
	atomic_store(&gp_local->job_end, GP_JOB_MAIN_ENDED);
	listings_failing = 2;
	CHECK(!gp_job_is_over() && listings_failing == 0);
	CHECK(atomic_load(&gp_local->job_end) == GP_JOB_MAIN_ENDED);
	listings_failing = 3;
	CHECK(gp_job_is_over());
	pthread_barrier_wait(&barrier);
	pthread_join(thread, NULL);
}

static void an_exit_waits_for_no_recorder_without_a_thread(void **state)
{
	(void)state;
	assert_int_equal(in_child("none.gpr", "0", without_a_thread), 0);
}

static void a_hung_disk_costs_one_wait(void **state)
{
	(void)state;
	assert_int_equal(in_child("hung.gpr", "0", begin_while_hung), 0);
}

static void a_jump_out_of_the_wait_ends_it(void **state)
{
	(void)state;
	assert_int_equal(in_child("jumped.gpr", "0", jump_while_hung_and_go_on), 0);
	assert_int_equal(in_child("ended.gpr", "0", jump_while_hung_and_end), 0);
#if defined(__x86_64__)
	assert_int_equal(in_child("stepped.gpr", "0", interrupt_taking_back), 0);
	for (signal_at = 0; signal_at < 2; signal_at++)
		assert_int_equal(in_child("counted.gpr", "0", jump_while_counted), 0);
	assert_int_equal(in_child("counted.gpr", "0", jump_while_counted), NEVER_THERE);
#endif
}

static void a_burst_of_launches_waits_for_its_ring(void **state)
{
	(void)state;
	assert_int_equal(in_child("burst.gpr", "0", launch_while_away), 0);
}

static void a_slow_disk_loses_no_memory_event(void **state)
{
	(void)state;
	assert_int_equal(in_child("slow.gpr", "0", fill_while_slow), 0);
}

static void a_hung_disk_costs_a_full_ring_one_wait(void **state)
{
	(void)state;
	assert_int_equal(in_child("hung_later.gpr", "0", fill_while_hung), 0);
}

static void rings_that_cannot_be_had_cost_no_wait(void **state)
{
	(void)state;
	assert_int_equal(in_child("no_rings.gpr", "0", begin_without_rings), 0);
}

static void a_refused_ring_grows_later(void **state)
{
	(void)state;
	assert_int_equal(in_child("refused.gpr", "0", grow_later), 0);
}

static void a_failed_listing_ends_no_recording(void **state)
{
	(void)state;
	assert_int_equal(in_child("listing.gpr", "0", list_threads_with_failures), 0);
}

static void a_child_begins_with_another_thread(void **state)
{
	(void)state;
	assert_int_equal(in_child("child.gpr", "0", fork_and_begin_elsewhere), 0);
	assert_int_equal(in_child("hole.gpr", "0", fork_and_fill_the_hole), 0);
}

static void a_child_loses_before_it_begins(void **state)
{
	(void)state;
	assert_int_equal(in_child("early.gpr", "0", fork_and_lose), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(an_exit_waits_for_no_recorder_without_a_thread),
		cmocka_unit_test(a_hung_disk_costs_one_wait),
		cmocka_unit_test(a_jump_out_of_the_wait_ends_it),
		cmocka_unit_test(a_burst_of_launches_waits_for_its_ring),
		cmocka_unit_test(a_slow_disk_loses_no_memory_event),
		cmocka_unit_test(a_hung_disk_costs_a_full_ring_one_wait),
		cmocka_unit_test(rings_that_cannot_be_had_cost_no_wait),
		cmocka_unit_test(a_refused_ring_grows_later),
		cmocka_unit_test(a_failed_listing_ends_no_recording),
		cmocka_unit_test(a_child_begins_with_another_thread),
		cmocka_unit_test(a_child_loses_before_it_begins),
	};
	return cmocka_run_group_tests(tests, make_directory, drop_directory);
}

#else
int main(void)
{
	return 0; /* this build cannot make calls fail */
}
#endif
