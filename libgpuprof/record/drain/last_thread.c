/*
 * The end of a job whose main thread called pthread_exit. glibc calls exit on the last thread that
 * it made, and counts the drain thread. So the job's last thread ends the drain thread before it
 * ends itself. exit then runs on the same thread as without gpuprof, with the job's own
 * descriptors. A last thread that never recorded cannot do that, so the drain thread watches the
 * list of threads.
 *
 * In some cases exit still runs on the drain thread, and output that stdio holds is lost. One: the
 * last thread never recorded, or records first in a destructor. Two: more than GP_LEAVERS threads
 * end within microseconds of the main thread. Three: the disk hangs for three seconds. Frees of
 * exit handlers and of later destructors of the last thread are not recorded. The process does not
 * end if its main thread ends by the system call exit. Nor does a child of a thread that never
 * recorded and made no context. If /proc cannot be read three times in 20 ms, the recording ends
 * with the main thread.
 *
 * While the main thread lives, a thread's end costs two system calls. After its end a short thread
 * of two allocations took 0.3 ms instead of 0.07, because ends queue up.
 */
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "../process/listing.h"
#include "../ranges/scope.h"
#include "../recorder.h"

#define GONE_WAIT_NS 1000000000u /* for a thread that ends: usually some 50 us */
#define GONE_LOOK_NS 100000u
#define LISTINGS_MOST 3u /* failures in a row, after which all reads are assumed to fail */
#define LISTING_REST_NS 10000000u
#define JOB_LOOK_NS 51000000u /* fewer than 20 a second */

/* Treats unknown as yes: actions at a job's end cannot be undone. */
static bool lives(uint32_t tid)
{
	char text[512];
	snprintf(text, sizeof text, "/proc/self/task/%u/stat", tid);
	const int fd = open(text, O_RDONLY | O_CLOEXEC);
	if (fd < 0) /* without /proc the kernel still answers for all threads but the main thread */
		return syscall(SYS_tgkill, (int)syscall(SYS_getpid), tid, 0) == 0 || errno != ESRCH;
	const ssize_t n = read(fd, text, sizeof text - 1);
	const bool is_gone = n < 0 && errno == ESRCH;
	close(fd);
	text[n > 0 ? n : 0] = '\0';
	/* the name before the state may hold any character; an ended main thread stays as 'Z' */
	const char *state = strrchr(text, ')');
	return !is_gone && !(state && state[1] == ' ' && (state[2] == 'Z' || state[2] == 'X'));
}

/* Waits, and adds the time to `*waited_ns`; after GONE_WAIT_NS the thread may still be alive. */
static void await_end(uint32_t tid, uint64_t *waited_ns)
{
	_Atomic uint32_t never = 0;
	for (; *waited_ns < GONE_WAIT_NS && lives(tid); *waited_ns += GONE_LOOK_NS)
		gp_futex_wait(&never, 0, GONE_LOOK_NS);
}

static bool is_collecting(uint32_t tid)
{
	bool is = false;
	for (unsigned k = 0; k < GP_GPU_THREADS; k++)
		is |= atomic_load(&gp_local->gpu_tid[k]) == tid;
	return is;
}

enum company { COMPANY_OTHERS, COMPANY_NONE, COMPANY_UNKNOWN };

static enum company look_for_company(uint32_t own, uint32_t other)
{
	struct gp_listing listing;
	bool has_others = false, has_own = false;
	const int directory = open("/proc/self/task", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	gp_listing_begin(&listing, directory);
	for (const char *name; !has_others && (name = gp_listing_next(&listing));) {
		const uint32_t tid = (uint32_t)gp_listing_number(name);
		has_own |= tid == own;
		has_others = *name != '.' && tid != own && tid != other && !is_collecting(tid) &&
			     lives(tid);
	}
	if (directory >= 0)
		close(directory);
	if (has_others)
		return COMPANY_OTHERS;
	return has_own ? COMPANY_NONE : COMPANY_UNKNOWN;
}

/* Continues also after signals. */
static void rest(uint64_t ns)
{
	_Atomic uint32_t never = 0;
	uint64_t now = gp_clock_raw_ns(CLOCK_MONOTONIC);
	for (const uint64_t until = now + ns; now < until; now = gp_clock_raw_ns(CLOCK_MONOTONIC))
		gp_futex_wait(&never, 0, until - now);
}

/*
 * Which threads of the process live besides these two and the one that collects GPU time. Unknown
 * if /proc cannot be read; a job may also lack descriptors for a moment.
 */
static enum company company_of(uint32_t own, uint32_t other)
{
	enum company company = look_for_company(own, other);
	for (unsigned k = 1; k < LISTINGS_MOST && company == COMPANY_UNKNOWN; k++) {
		rest(LISTING_REST_NS);
		company = look_for_company(own, other);
	}
	return company;
}

/*
 * If threads end at once, the last one must find itself alone. So the main thread waits until all
 * threads that ended shortly before it are gone. Each later thread waits for the one before it.
 */
static void await_earlier(uint32_t own, bool is_main, uint32_t before)
{
	uint64_t waited_ns = 0;
	if (before != 0 && before != own)
		await_end(before, &waited_ns);
	for (unsigned k = 0; is_main && k < GP_LEAVERS; k++) {
		const uint32_t tid = atomic_load(&gp_local->leavers[k]);
		if (tid != 0 && tid != own)
			await_end(tid, &waited_ns);
	}
}

/* They have been ended before. */
static void await_gpu_threads(void)
{
	uint64_t waited_ns = 0;
	for (unsigned k = 0; k < GP_GPU_THREADS; k++)
		if (atomic_load(&gp_local->gpu_tid[k]))
			await_end(atomic_load(&gp_local->gpu_tid[k]), &waited_ns);
}

static void leave(void (*end)(void))
{
	const uint32_t own = (uint32_t)syscall(SYS_gettid);
	const bool is_main = own == (uint32_t)syscall(SYS_getpid);
	if (is_main)
		/* partner: the load below, by a thread that comes here before or after this one */
		atomic_store(&gp_local->job_end, GP_JOB_MAIN_ENDED);
	/*
	 * first: a thread with a later exchange finds this one; a thread that waits for main stays
	 * out
	 */
	if (atomic_load(&gp_local->job_end) == GP_JOB_RUNS)
		atomic_store(&gp_local->leavers[atomic_fetch_add(&gp_local->left, 1) % GP_LEAVERS],
			     own);
	const uint32_t before = atomic_exchange(&gp_local->leaver, own);
	if (atomic_load(&gp_local->job_end) == GP_JOB_RUNS)
		return;
	const uint32_t drain = atomic_load(&gp_local->drain_tid);
	await_earlier(own, is_main, before);
	const enum company company = company_of(own, drain);
	const bool is_last = company == COMPANY_NONE || (company == COMPANY_UNKNOWN && is_main);
	if (company == COMPANY_UNKNOWN && is_main)
		gp_scope_end(GP_SCOPE_BY_MAIN); /* no later moment would find the last thread */
	if (is_last)
		atomic_store(&gp_local->job_end, GP_JOB_LAST_ENDS);
	if (is_last || is_main)
		gp_futex_wake(&gp_local->calls); /* it sleeps without a timeout until then */
	if (!is_last || drain == 0)
		return;
	end();
	uint64_t waited_ns = 0;
	await_end(drain, &waited_ns);
	await_gpu_threads();
}

void gp_last_thread_leave(void (*end)(void))
{
	const int kept = errno;
	/* the last thread of the job waits for these, so they wait for none */
	if (!is_collecting((uint32_t)syscall(SYS_gettid)))
		leave(end);
	errno = kept;
}

bool gp_job_is_over(void)
{
	const uint32_t end = atomic_load(&gp_local->job_end);
	if (end != GP_JOB_MAIN_ENDED)
		return end != GP_JOB_RUNS;
	const enum company company = company_of((uint32_t)syscall(SYS_gettid), 0);
	if (company == COMPANY_UNKNOWN)
		gp_scope_end(GP_SCOPE_BY_MAIN);
	if (company != COMPANY_OTHERS && gp_recorder_ending) {
		gp_recorder_ending();
		await_gpu_threads();
	}
	/* with other threads alive, signals remain theirs */
	if (company != COMPANY_OTHERS)
		atomic_store(&gp_local->job_end,
			     company == COMPANY_NONE ? GP_JOB_ENDED : GP_JOB_LAST_ENDS);
	return company != COMPANY_OTHERS;
}

/*
 * The drain thread blocks signals. As the last thread it unblocks them; otherwise none would
 * arrive.
 */
void gp_job_end_here(void)
{
	sigset_t none;
	sigemptyset(&none);
	if (atomic_load(&gp_local->job_end) == GP_JOB_ENDED)
		pthread_sigmask(SIG_SETMASK, &none, NULL);
}

void gp_job_await_call(uint32_t seen)
{
	const bool runs = atomic_load(&gp_local->job_end) == GP_JOB_RUNS;
	gp_futex_wait(&gp_local->calls, seen, runs ? GP_FUTEX_FOREVER : JOB_LOOK_NS);
}
