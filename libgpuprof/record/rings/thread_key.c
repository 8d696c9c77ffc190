/* The key with the destructor that runs when a thread of the job ends. */
#include <pthread.h>

#include "../recorder.h"

/*
 * glibc keeps the values of further keys in memory from calloc, whose lock the caller may hold.
 * With such a key only the constructor's thread uses it. Other threads then record no stacks, and
 * their ranges are lost and counted, because no thread end would unmap their memory.
 */
#define KEYS_IN_THREAD 32u

static pthread_key_t thread_end;

bool gp_thread_key_create(void (*end)(void *thread))
{
	return pthread_key_create(&thread_end, end) == 0;
}

bool gp_thread_end_is_reported(void)
{
	struct gp_thread *t = &gp_thread;
	if (gp_recorder_is_initialised && (t->is_end_reported || thread_end < KEYS_IN_THREAD))
		t->is_end_reported = pthread_setspecific(thread_end, t) == 0;
	return t->is_end_reported;
}
