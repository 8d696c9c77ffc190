/*
 * Kills a recording process with SIGKILL and checks what it left.
 *
 *	storm BUILD DIRECTORY [KILLS [SEED]]	at random moments
 *	storm BUILD DIRECTORY writes STEP	at each STEP-th of the moments before, in the
 *						middle of and after each of its first 40 writes
 *
 * The victim (count_up) increments counters in a page of its own after each driver call returned.
 * After adoption of the rings, the recording must have all counted events. Half of the kills use a
 * flight recorder of 4 MiB, so that segments turn over. A quarter come within the first 100 ms of
 * the process, the others within the first second of its allocations. Prints one line a failure and
 * a summary; exit 0 when all held.
 */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "../../libgpuprof/format/layout.h"
#include "../../libgpuprof/gpuprof.h"
#include "../victims/count_page.h"

#define WRITES 40u

#define WRITES_MOST_S 300 /* for a busy machine: only a hung victim takes longer */

struct kill {
	unsigned number, threads;
	bool is_ring;
	unsigned delay_us;
	bool is_begun;	    /* the delay begins with the first allocation, not with the process */
	const char *moment; /* at the write with this number; NULL: after delay_us */
	char page_path[512], recording[512];
	uint64_t allocs, frees; /* calls that had returned before the kill */
};

static unsigned kills, failures, empty, lost;
static uint64_t random_state;

static unsigned random_below(unsigned limit)
{
	random_state = random_state * 6364136223846793005u + 1442695040888963407u;
	return (unsigned)((random_state >> 33) % limit);
}

static void fail(const struct kill *k, const char *what, uint64_t expected, uint64_t found)
{
	char when[64];
	snprintf(when, sizeof when, "after %u us", k->delay_us);
	if (k->moment)
		snprintf(when, sizeof when, "%s write %u", k->moment, k->number);
	printf("not so: kill %u (%s, %s, %u threads): %s: expected %" PRIu64 ", found %" PRIu64
	       "\n",
	       k->number, when, k->is_ring ? "4M ring" : "keep all", k->threads, what, expected,
	       found);
	failures++;
}

static void start_victim(const struct kill *k, const char *build)
{
	char victim[512], preload[1024], fake[512], threads[16], number[16];
	snprintf(victim, sizeof victim, "%s/victims/count_up", build);
	snprintf(preload, sizeof preload, "%s/libgpuprof.so", build);
	if (k->moment) {
		snprintf(preload, sizeof preload, "%s/fake/kill_at_write.so:%s/libgpuprof.so",
			 build, build);
		snprintf(number, sizeof number, "%u", k->number);
		setenv("KILL_AT", number, 1);
		setenv("KILL_MOMENT", k->moment, 1);
	}
	snprintf(fake, sizeof fake, "%s/fake", build);
	snprintf(threads, sizeof threads, "%u", k->threads);
	setenv("LD_PRELOAD", preload, 1);
	setenv("LD_LIBRARY_PATH", fake, 1);
	setenv("GPUPROF_OUTPUT", k->recording, 1);
	setenv("GPUPROF_RING", k->is_ring ? "4M" : "0", 1);
	execl(victim, victim, k->page_path, threads, (char *)NULL);
	_exit(127);
}

/* True if a child ended by itself. SIGCHLD is blocked. */
static bool has_ended(void)
{
	const struct timespec most = { .tv_sec = WRITES_MOST_S };
	sigset_t child;
	sigemptyset(&child);
	sigaddset(&child, SIGCHLD);
	return sigtimedwait(&child, NULL, &most) == SIGCHLD;
}

/*
 * Waits until the first allocation has returned, or the victim has ended, which run_victim reports.
 */
static void await_first(struct count_page *page, pid_t child)
{
	siginfo_t ended = { 0 };
	while (!atomic_load(&page->thread[0].allocs) &&
	       waitid(P_PID, (id_t)child, &ended, WEXITED | WNOHANG | WNOWAIT) == 0 &&
	       ended.si_pid == 0)
		usleep(1000);
}

static bool run_victim(struct kill *k, const char *build)
{
	struct count_page *page;
	int file = open(k->page_path, O_RDWR | O_CREAT | O_TRUNC, 0600), status = 0;
	if (file < 0 || ftruncate(file, sizeof *page) != 0)
		return false;
	page = mmap(NULL, sizeof *page, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
	close(file);
	if (page == MAP_FAILED)
		return false;
	pid_t child = fork();
	if (child == 0)
		start_victim(k, build);
	if (k->is_begun)
		await_first(page, child);
	if (!k->moment)
		usleep(k->delay_us);
	else if (!has_ended())
		fail(k, "seconds for its writes, at most", WRITES_MOST_S, WRITES_MOST_S);
	kill(child, SIGKILL);
	if (waitpid(child, &status, 0) != child || !WIFSIGNALED(status) ||
	    WTERMSIG(status) != SIGKILL) {
		fail(k, "the victim ended by itself with", SIGKILL, (uint64_t)status);
		child = -1;
	}
	for (unsigned t = 0; t < COUNT_THREADS; t++) {
		k->allocs += page->thread[t].allocs;
		k->frees += page->thread[t].frees;
	}
	munmap(page, sizeof *page);
	unlink(k->page_path);
	return child > 0;
}

static void judge_counts(const struct kill *k, const struct gp_info *info)
{
	uint64_t missing = info->lost_memory;
	if (info->is_damaged)
		fail(k, info->damages ? info->damage[0].what : "damaged", 0, info->damages);
	/* killed while the recorder started: no block was committed, and the file was not sealed */
	if (!info->is_complete && k->allocs)
		fail(k, "complete after adoption", 1, 0);
	if (info->counts[GP_ALLOC] + missing < k->allocs)
		fail(k, "allocations", k->allocs, info->counts[GP_ALLOC]);
	if (info->counts[GP_FREE] + missing < k->frees)
		fail(k, "frees", k->frees, info->counts[GP_FREE]);
	/* each once: a thread has one call under way at most */
	if (info->counts[GP_ALLOC] > k->allocs + k->threads)
		fail(k, "allocations at most", k->allocs + k->threads, info->counts[GP_ALLOC]);
	if (info->counts[GP_FREE] > k->frees + k->threads)
		fail(k, "frees at most", k->frees + k->threads, info->counts[GP_FREE]);
	if (info->anomalies)
		fail(k, "anomalies", 0, info->anomalies);
	/*
	 * a busy machine makes the recorder lose events; each event is recorded or counted as lost
	 */
	uint64_t told = info->counts[GP_ALLOC] + info->counts[GP_FREE] + missing;
	if (told < k->allocs + k->frees)
		fail(k, "recorded and lost", k->allocs + k->frees, told);
	if (told > k->allocs + k->frees + k->threads)
		fail(k, "recorded and lost at most", k->allocs + k->frees + k->threads, told);
	lost += missing != 0;
}

static void judge(const struct kill *k)
{
	struct gp_recording *recording = NULL;
	struct gp_damage why;
	const struct gp_info *info;
	struct stat seen;
	/* killed before its header was complete */
	if (stat(k->recording, &seen) != 0 || seen.st_size < (off_t)GP_FILE_HEADER) {
		if (k->allocs)
			fail(k, "a recording", k->allocs, 0);
		empty++;
		return;
	}
	enum gp_status status = gp_recording_open(k->recording, &recording, &why);
	if (status != GP_OK) {
		printf("%s: %s\n", gp_status_text(status), why.what);
		fail(k, "status of open", GP_OK, status);
		return;
	}
	status = gp_recording_info(recording, &info);
	if (status != GP_OK)
		fail(k, "status of info", GP_OK, status);
	else
		judge_counts(k, info);
	gp_recording_close(recording);
	status = gp_verify(k->recording, NULL, stdout);
	if (status != GP_OK)
		fail(k, "status of verify", GP_OK, status);
}

static void kill_and_judge(struct kill *k, const char *build, const char *directory)
{
	unsigned failed_before = failures;
	snprintf(k->page_path, sizeof k->page_path, "%s/page", directory);
	snprintf(k->recording, sizeof k->recording, "%s/kill-%u.gpr", directory, kills++);
	if (!run_victim(k, build))
		return;
	enum gp_status status = gp_adopt(NULL, stdout);
	if (status != GP_OK)
		fail(k, "status of adopt", GP_OK, status);
	judge(k);
	/* keeps the files of a failure */
	if (failures == failed_before)
		unlink(k->recording);
}

static void kill_at_random(unsigned number, const char *build, const char *directory)
{
	struct kill k = { .number = number,
			  .is_ring = number % 2,
			  .is_begun = number % 4 != 0,
			  .threads = 1 + random_below(3) };
	k.delay_us = random_below(k.is_begun ? 1000000 : 100000);
	kill_and_judge(&k, build, directory);
}

static void kill_at_writes(unsigned step, const char *build, const char *directory)
{
	static const char *const moments[] = { "before", "half", "after" };
	for (unsigned point = 0; point < 3 * WRITES; point += step)
		for (unsigned is_ring = 0; is_ring < 2; is_ring++) {
			struct kill k = { .number = 1 + point / 3,
					  .moment = moments[point % 3],
					  .is_ring = is_ring,
					  .threads = 2 };
			kill_and_judge(&k, build, directory);
		}
}

int main(int argc, char **argv)
{
	if (argc < 3) {
		fprintf(stderr, "usage: storm BUILD DIRECTORY [KILLS [SEED] | writes STEP]\n");
		return 2;
	}
	if (argc > 4 && strcmp(argv[3], "writes") == 0) {
		sigset_t child;
		sigemptyset(&child);
		sigaddset(&child, SIGCHLD);
		sigprocmask(SIG_BLOCK, &child, NULL);
		kill_at_writes((unsigned)strtoul(argv[4], NULL, 10), argv[1], argv[2]);
	} else {
		unsigned wanted = argc > 3 ? (unsigned)strtoul(argv[3], NULL, 10) : 200;
		unsigned long seed =
			argc > 4 ? strtoul(argv[4], NULL, 10) : (unsigned long)time(NULL);
		random_state = seed;
		printf("seed %lu\n", seed);
		for (unsigned i = 0; i < wanted; i++)
			kill_at_random(i, argv[1], argv[2]);
	}
	printf("%u kills, %u before the first event, %u with losses counted, %u failures\n", kills,
	       empty, lost, failures);
	return failures != 0 || empty == kills;
}
