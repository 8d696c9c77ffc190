/*
 * The main thread calls pthread_exit, so the process ends with its last thread, whose exit flushes
 * stdio. Each case is a forked child; its output stays in stdio's buffer until the end.
 */
#include "victim.h"

#include <limits.h>
#include <sys/resource.h>
#include <sys/syscall.h>

#define AT_ONCE 40u /* children in which three threads end at once */

static struct driver driver;
static pthread_t main_thread;
static pthread_key_t key;
static pthread_barrier_t barrier;

static void record(void)
{
	must(driver_use(&driver, 0));
	alloc_and_free(&driver, 10);
}

static void claim_own(unsigned long pairs)
{
	claim("alloc", pairs);
	claim("free", pairs);
	claim("complete", 1);
}

static void in_destructor(void *round)
{
	printf("destructor %d\n", *(int *)round);
	if (++*(int *)round < PTHREAD_DESTRUCTOR_ITERATIONS)
		pthread_setspecific(key, round);
}

static void *outlive_main(void *unused)
{
	must(pthread_join(main_thread, NULL) == 0);
	record();
	printf("outlived the main thread\n");
	return unused;
}

static void *outlive_with_destructors(void *unused)
{
	static int round;
	pthread_setspecific(key, &round);
	return outlive_main(unused);
}

static void *end_at_once(void *unused)
{
	record();
	pthread_barrier_wait(&barrier);
	printf("at once\n");
	return unused;
}

/* The recorder has not seen this thread; stdio is flushed here. */
static void *outlive_unrecorded(void *unused)
{
	must(pthread_join(main_thread, NULL) == 0);
	printf("was never recorded\n");
	fflush(stdout);
	return unused;
}

/* As in a chroot without /proc: no file can be opened there. */
static void close_proc(void)
{
	const struct rlimit none = { 0, 0 };
	must(setrlimit(RLIMIT_NOFILE, &none) == 0);
}

/* The recorder gets no notice of this thread's end, as with unrecorded threads. */
static void *outlive_and_close_proc(void *unused)
{
	must(pthread_join(main_thread, NULL) == 0);
	close_proc();
	printf("has no /proc\n");
	fflush(stdout);
	return unused;
}

static void start(void *(*work)(void *), unsigned number)
{
	pthread_t thread;
	main_thread = pthread_self();
	while (number--)
		must(pthread_create(&thread, NULL, work, NULL) == 0);
}

static void worker_is_last(void)
{
	driver = need_driver(FROM_PROC_ADDRESS);
	claim_own(10);
	start(outlive_main, 1);
}

static void destructors_run(void)
{
	driver = need_driver(FROM_PROC_ADDRESS);
	must(pthread_key_create(&key, in_destructor) == 0);
	claim_own(10);
	start(outlive_with_destructors, 1);
}

static void main_is_last(void)
{
	driver = need_driver(FROM_PROC_ADDRESS);
	record();
	claim_own(10);
	printf("alone\n");
}

static void all_at_once(void)
{
	driver = need_driver(FROM_PROC_ADDRESS);
	must(pthread_barrier_init(&barrier, NULL, 3) == 0);
	claim_own(20);
	start(end_at_once, 2);
	pthread_barrier_wait(&barrier);
}

static void unrecorded_is_last(void)
{
	/* a drain thread that still has a queue sleeps at its end */
	char name[32];
	snprintf(name, sizeof name, "victim-%d", (int)getpid());
	if (syscall(SYS_mq_open, name, O_CREAT | O_RDWR, 0600, NULL) >= 0)
		must(syscall(SYS_mq_unlink, name) == 0);
	driver = need_driver(FROM_PROC_ADDRESS);
	record();
	claim_own(10);
	start(outlive_unrecorded, 1);
}

static void worker_without_proc(void)
{
	driver = need_driver(FROM_PROC_ADDRESS);
	record();
	claim_own(10);
	start(outlive_main, 1);
	close_proc();
}

static void main_without_proc(void)
{
	main_is_last();
	close_proc();
}

/* The main thread ends while /proc exists, and the thread after it loses /proc. */
static void loses_proc(void)
{
	driver = need_driver(FROM_PROC_ADDRESS);
	record();
	claim_own(10);
	start(outlive_and_close_proc, 1);
}

static void nothing_recorded(void)
{
	driver = need_driver(FROM_PROC_ADDRESS);
	start(outlive_unrecorded, 1);
}

static void end_without_main(const char *name, void (*begin)(void))
{
	fflush(stdout);
	const pid_t child = fork();
	must(child >= 0);
	if (child == 0) {
		begin();
		pthread_exit(NULL);
	}
	must(wait_for(child) == 0);
	printf("%s\n", name);
}

int main(void)
{
	/* pthread_exit loads libgcc_s, which fails where files cannot be opened */
	must(dlopen("libgcc_s.so.1", RTLD_NOW));
	end_without_main("worker is last", worker_is_last);
	end_without_main("destructors run", destructors_run);
	end_without_main("main is last", main_is_last);
	for (unsigned k = 0; k < AT_ONCE; k++)
		end_without_main("all at once", all_at_once);
	end_without_main("unrecorded is last", unrecorded_is_last);
	end_without_main("nothing recorded", nothing_recorded);
	end_without_main("worker without /proc", worker_without_proc);
	end_without_main("main without /proc", main_without_proc);
	end_without_main("loses /proc", loses_proc);
	claim_recordings(7 + AT_ONCE);
	return 0;
}
