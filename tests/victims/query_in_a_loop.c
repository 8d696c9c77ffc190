/*
 * Threads that wait for the GPU in loops of queries: main thread and others, loops that are left
 * before the answer, a fork in the middle of one. Answers and errno are the driver's.
 */
#include "victim.h"

#define THREADS 4
#define LOOPS 20
#define NOT_READY 600

static struct driver driver;
static CUresult (*query_event)(void *), (*query_stream)(CUstream);
static CUresult (*record_event)(void *, CUstream), (*create_event)(void **, unsigned);

static void *find(const char *name)
{
	void *library = dlopen("libcuda.so.1", RTLD_NOW), *found = dlsym(library, name);
	must(found);
	return found;
}

/* How many answers were "not ready". */
static unsigned long spin_until(void *event, CUstream stream, bool is_event)
{
	unsigned long answers = 0;
	CUresult answer;
	must(record_event(event, stream) == CUDA_SUCCESS);
	do {
		errno = 4711;
		answer = is_event ? query_event(event) : query_stream(stream);
		must(errno == 4711);
		must(answer == CUDA_SUCCESS || answer == NOT_READY);
		answers += answer == NOT_READY;
	} while (answer == NOT_READY);
	must(query_event(event) == CUDA_SUCCESS && query_stream(stream) == CUDA_SUCCESS);
	return answers;
}

/* Leaves each loop early: the next call is another, a query of another object, or none. */
static void leave_loops(void *event, CUstream stream)
{
	for (int i = 0; i < LOOPS; i++) {
		must(record_event(event, stream) == CUDA_SUCCESS);
		for (int k = 0; k < 200; k++)
			query_event(event);
		if (i % 3 == 0)
			must(driver.cuMemFree_v2(must_alloc(&driver, 4096)) == CUDA_SUCCESS);
		else if (i % 3 == 1)
			query_stream(stream);
	}
	must(query_event((void *)16) != NOT_READY);
}

static void *loops(void *argument)
{
	(void)argument;
	CUstream stream;
	void *event;
	must(driver_use(&driver, 0));
	must(driver.cuStreamCreate(&stream, 1) == CUDA_SUCCESS);
	must(create_event(&event, 0) == CUDA_SUCCESS);
	unsigned long answers = 0;
	for (int i = 0; i < LOOPS; i++)
		answers += spin_until(event, stream, i % 2 != 0);
	must(answers > 0);
	leave_loops(event, stream);
	return NULL;
}

int main(void)
{
	driver = need_driver(FROM_DLSYM);
	*(void **)&query_event = find("cuEventQuery");
	*(void **)&query_stream = find("cuStreamQuery");
	*(void **)&record_event = find("cuEventRecord");
	*(void **)&create_event = find("cuEventCreate");
	pthread_t thread[THREADS];
	for (int i = 0; i < THREADS; i++)
		must(pthread_create(&thread[i], NULL, loops, NULL) == 0);
	loops(NULL);
	for (int i = 0; i < THREADS; i++)
		pthread_join(thread[i], NULL);

	void *event;
	must(create_event(&event, 0) == CUDA_SUCCESS && record_event(event, NULL) == CUDA_SUCCESS);
	for (int k = 0; k < 200; k++)
		query_event(event);
	pid_t child = fork();
	must(child >= 0);
	if (child == 0) {
		query_event(event);
		must(driver.cuMemFree_v2(must_alloc(&driver, 4096)) == CUDA_SUCCESS);
		claim("wait", 1); /* of the free: the loop is the parent's */
		_exit(0);
	}
	int status;
	must(waitpid(child, &status, 0) == child && status == 0);
	/* at the very least the waits of frees: 7 a thread */
	claim_as(getpid(), ">=", "wait", 7 * (THREADS + 1) + 1);
	claim("mismatches", 0);
	printf("%d loops\n", LOOPS * (THREADS + 1));
	return 0;
}
