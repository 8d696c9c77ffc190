/*
 * The recorder has a message (GPUPROF_VERBOSE) that stderr cannot take: its reader is gone, or does
 * not read; files may not grow; another file has its number; or the thread that would write has
 * been cancelled. The job must continue as without a message.
 */
#include "victim.h"

#include <string.h>
#include <sys/resource.h>

static CUdeviceptr address;
static bool has_returned;

static void *call_driver(void *barrier)
{
	struct driver driver = need_driver(FROM_PROC_ADDRESS);
	pthread_barrier_wait(barrier);
	pthread_barrier_wait(barrier); /* it is cancelled, and has no cancellation point */
	must(driver.cuMemAlloc_v2(&address, 512) == CUDA_SUCCESS);
	has_returned = true;
	must(driver.cuMemFree_v2(address) == CUDA_SUCCESS);
	return NULL;
}

static void cancelled(void)
{
	pthread_barrier_t barrier;
	pthread_t thread;
	pthread_barrier_init(&barrier, NULL, 2);
	must(pthread_create(&thread, NULL, call_driver, &barrier) == 0);
	pthread_barrier_wait(&barrier);
	must(pthread_cancel(thread) == 0);
	pthread_barrier_wait(&barrier);
	must(pthread_join(thread, NULL) == 0);
	must(has_returned);
}

static void record(void)
{
	struct driver driver = need_driver(FROM_PROC_ADDRESS);
	alloc_and_free(&driver, 10);
}

static void reused(void)
{
	char path[] = "/tmp/victim-XXXXXX", bytes[8];
	close(STDERR_FILENO);
	must(mkstemp(path) == STDERR_FILENO);
	unlink(path);
	record();
	must(pread(STDERR_FILENO, bytes, sizeof bytes, 0) == 0);
}

/* Makes stderr one of these before the program starts. */
static void prepare(const char *name, int ends[2])
{
	char bytes[4096] = "";
	must(pipe(ends) == 0);
	if (strcmp(name, "dead") == 0) {
		close(ends[0]);
	} else if (strcmp(name, "full") == 0) {
		must(fcntl(ends[1], F_SETFL, O_NONBLOCK) == 0);
		while (write(ends[1], bytes, sizeof bytes) > 0)
			;
		must(fcntl(ends[1], F_SETFL, 0) == 0);
	} else if (strcmp(name, "limited") == 0) {
		const struct rlimit none = { 0, 0 };
		char path[] = "/tmp/victim-XXXXXX";
		ends[1] = mkstemp(path);
		must(ends[1] >= 0);
		unlink(path);
		must(setrlimit(RLIMIT_FSIZE, &none) == 0);
	}
	must(dup2(ends[1], STDERR_FILENO) == STDERR_FILENO);
}

static void try(const char *name, char *program)
{
	const pid_t child = fork();
	int ends[2];
	if (child == 0) {
		prepare(name, ends);
		execl(program, program, name, (char *)NULL);
		_exit(71);
	}
	printf("%s: %d\n", name, wait_for(child));
	fflush(stdout);
}

int main(int argc, char **argv)
{
	if (argc > 1) {
		strcmp(argv[1], "reused") == 0	  ? reused() :
		strcmp(argv[1], "cancelled") == 0 ? cancelled() :
						    record();
		return 0;
	}
	try("dead", argv[0]);
	try("full", argv[0]);
	try("limited", argv[0]);
	try("reused", argv[0]);
	try("cancelled", argv[0]);
	claim_recordings(4); /* except the file that may not grow */
	return 0;
}
