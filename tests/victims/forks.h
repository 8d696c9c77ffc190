/* Forks beside working threads, and counts the children that hung or failed. */
#ifndef FORKS_H
#define FORKS_H

#include "victim.h"

struct forks {
	unsigned long number;
	void *(*work)(void *thread);	     /* gets 0, 1; works until *is_over */
	void (*child)(unsigned long number); /* does not return */
	pthread_mutex_t *held;		     /* around each fork; may be NULL */
	_Atomic bool *is_over;
};

static inline unsigned long fork_beside(const struct forks *f)
{
	unsigned long hung = 0;
	pthread_t thread[2];
	for (uintptr_t i = 0; i < 2; i++)
		must(pthread_create(&thread[i], NULL, f->work, (void *)i) == 0);
	for (unsigned long i = 0; i < f->number; i++) {
		if (f->held)
			pthread_mutex_lock(f->held);
		pid_t pid = fork();
		must(pid >= 0);
		if (pid == 0)
			f->child(i);
		if (f->held)
			pthread_mutex_unlock(f->held);
		hung += wait_for(pid) != 0;
	}
	*f->is_over = true;
	for (int i = 0; i < 2; i++)
		pthread_join(thread[i], NULL);
	return hung;
}

#endif
