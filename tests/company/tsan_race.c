/*
 * A program built with ThreadSanitizer. Its threads, and a child, use the driver. The threads count
 * with a lock, or with the argument "race" without one.
 */
#include <string.h>

#include "../victims/victim.h"

#define THREADS 8

static struct driver driver;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static unsigned counted;
static bool is_race;

/*
 * Counts first, because the driver's own locks would order one thread's access before the other's.
 */
static void *count_and_allocate(void *unused)
{
	if (!is_race)
		pthread_mutex_lock(&lock);
	counted++;
	if (!is_race)
		pthread_mutex_unlock(&lock);
	must(driver_use(&driver, 0));
	alloc_and_free(&driver, 100);
	return unused;
}

/* Without the recorder, this process has one thread when it forks. */
static void allocate_in_child(void)
{
	const pid_t child = fork();
	must(child >= 0);
	if (child == 0) {
		alloc_and_free(&driver, 50);
		claim("alloc", 50);
		exit(0);
	}
	must(wait_for(child) == 0);
}

int main(int argc, char **argv)
{
	pthread_t thread[THREADS];
	is_race = argc > 1 && strcmp(argv[1], "race") == 0;
	driver = need_driver(FROM_PROC_ADDRESS);
	alloc_and_free(&driver, 100);
	allocate_in_child();
	for (unsigned i = 0; i < THREADS; i++)
		must(pthread_create(&thread[i], NULL, count_and_allocate, NULL) == 0);
	for (unsigned i = 0; i < THREADS; i++)
		must(pthread_join(thread[i], NULL) == 0);
	claim("alloc", (THREADS + 1) * 100);
	claim_recordings(2);
	puts("allocated and freed");
	return 0;
}
