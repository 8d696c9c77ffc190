/*
 * Blocks in a few places, which two threads decode. Whoever finds a queued block decodes it: the
 * second thread, or the merge's own thread while it waits. A place changes its state under the
 * lock; while it is DECODING, only that thread uses it.
 */
#include "read_ahead.h"

#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <unistd.h>

#define STACK_BYTES (256u << 10) /* decoding takes a few kilobytes; sanitizers more */

struct place {
	enum { FREE, QUEUED, DECODING, DECODED } state;
	uint64_t number; /* places are decoded in the order in which they were queued */
	struct gp_block_ref ref;
	struct gp_record *out;
	void *context;
	enum gp_status status;
	uint64_t slots;
};

struct gp_read_ahead {
	const struct gp_file *file;
	struct gp_block_room room; /* of the second thread */
	pthread_t thread;
	pid_t process; /* that has the thread; 0: not started */
	bool is_off;   /* the thread cannot be started */
	pthread_mutex_t lock;
	pthread_cond_t queued, decoded;
	bool is_ending;
	uint64_t number;
	struct place place[GP_AHEAD_MOST];
};

static bool has_cores(void)
{
	cpu_set_t cores;
	return sched_getaffinity(0, sizeof cores, &cores) == 0 && CPU_COUNT(&cores) > 1;
}

struct gp_read_ahead *gp_ahead_open(const struct gp_file *file)
{
	struct gp_read_ahead *a = has_cores() ? calloc(1, sizeof *a) : NULL;
	if (a == NULL)
		return NULL;
	a->file = file;
	pthread_mutex_init(&a->lock, NULL);
	pthread_cond_init(&a->queued, NULL);
	pthread_cond_init(&a->decoded, NULL);
	return a;
}

/* With the lock. The oldest queued block; NULL: none. */
static struct place *oldest(struct gp_read_ahead *a)
{
	struct place *found = NULL;
	for (unsigned k = 0; k < GP_AHEAD_MOST; k++) {
		struct place *p = &a->place[k];
		if (p->state == QUEUED && (found == NULL || p->number < found->number))
			found = p;
	}
	return found;
}

/* With the lock, which it releases meanwhile. */
static void place_decode(struct gp_read_ahead *a, struct place *p, struct gp_block_room *room)
{
	p->state = DECODING;
	pthread_mutex_unlock(&a->lock);
	p->status = gp_file_decode(a->file, p->ref.offset, &p->ref.header, room, p->out, &p->slots);
	pthread_mutex_lock(&a->lock);
	p->state = DECODED;
}

static void *decode_queued(void *ahead)
{
	struct gp_read_ahead *a = ahead;
	pthread_mutex_lock(&a->lock);
	while (!a->is_ending) {
		struct place *p = oldest(a);
		if (p == NULL) {
			pthread_cond_wait(&a->queued, &a->lock);
			continue;
		}
		place_decode(a, p, &a->room);
		pthread_cond_signal(&a->decoded);
	}
	pthread_mutex_unlock(&a->lock);
	return NULL;
}

/* Signals of the process are not for this thread. */
static bool thread_start(struct gp_read_ahead *a)
{
	sigset_t all, before;
	pthread_attr_t attributes;
	if (!gp_block_room_open_decoder(&a->room) || pthread_attr_init(&attributes) != 0)
		return false;
	free(a->room.record); /* places have their own */
	a->room.record = NULL;
	pthread_attr_setstacksize(&attributes, STACK_BYTES);
	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &before);
	const bool is_started = pthread_create(&a->thread, &attributes, decode_queued, a) == 0;
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	pthread_attr_destroy(&attributes);
	return is_started;
}

/*
 * In a child of fork the thread does not exist, and the lock may be locked forever. Blocks that it
 * decoded then may be half done. The child starts a thread of its own when it queues a block.
 */
static void child_begin(struct gp_read_ahead *a)
{
	if (a->process == 0 || a->process == getpid())
		return;
	pthread_mutex_init(&a->lock, NULL);
	pthread_cond_init(&a->queued, NULL);
	pthread_cond_init(&a->decoded, NULL);
	for (unsigned k = 0; k < GP_AHEAD_MOST; k++)
		if (a->place[k].state != FREE)
			a->place[k].state = QUEUED;
	gp_block_room_release(&a->room);
	a->room = (struct gp_block_room){ 0 };
	a->process = 0;
}

bool gp_ahead_has_room(const struct gp_read_ahead *ahead)
{
	/* the thread's changes are between QUEUED and DECODED only */
	for (unsigned k = 0; ahead != NULL && !ahead->is_off && k < GP_AHEAD_MOST; k++)
		if (ahead->place[k].out == NULL)
			return true;
	return false;
}

void gp_ahead_queue(struct gp_read_ahead *a, const struct gp_block_ref *ref, struct gp_record *out,
		    void *context)
{
	struct place *p = a->place;
	while (p->out != NULL)
		p++;
	child_begin(a);
	if (a->process == 0 && !a->is_off) {
		a->is_off = !thread_start(a);
		a->process = a->is_off ? 0 : getpid();
	}
	pthread_mutex_lock(&a->lock);
	*p = (struct place){ QUEUED, a->number++, *ref, out, context, GP_OK, 0 };
	pthread_cond_signal(&a->queued);
	pthread_mutex_unlock(&a->lock);
}

bool gp_ahead_take(struct gp_read_ahead *a, const struct gp_block_ref *ref,
		   struct gp_block_room *room, enum gp_status *status, uint64_t *slots,
		   void **context)
{
	struct place *p = NULL;
	for (unsigned k = 0; a != NULL && k < GP_AHEAD_MOST; k++)
		if (a->place[k].out != NULL && a->place[k].ref.offset == ref->offset)
			p = &a->place[k];
	if (p == NULL)
		return false;
	child_begin(a);
	pthread_mutex_lock(&a->lock);
	while (p->state != DECODED) {
		struct place *other = p->state == QUEUED ? p : oldest(a);
		if (other != NULL)
			place_decode(a, other, room);
		else
			pthread_cond_wait(&a->decoded, &a->lock);
	}
	*status = p->status;
	*slots = p->slots;
	*context = p->context;
	*p = (struct place){ .state = FREE };
	pthread_mutex_unlock(&a->lock);
	return true;
}

void *gp_ahead_drop(struct gp_read_ahead *a)
{
	for (unsigned k = 0; a != NULL && k < GP_AHEAD_MOST; k++) {
		struct place *p = &a->place[k];
		if (p->out == NULL)
			continue;
		void *context = p->context;
		child_begin(a);
		pthread_mutex_lock(&a->lock);
		while (p->state == DECODING)
			pthread_cond_wait(&a->decoded, &a->lock);
		*p = (struct place){ .state = FREE };
		pthread_mutex_unlock(&a->lock);
		return context;
	}
	return NULL;
}

void gp_ahead_close(struct gp_read_ahead *a)
{
	if (a == NULL)
		return;
	child_begin(a);
	if (a->process != 0) {
		pthread_mutex_lock(&a->lock);
		a->is_ending = true;
		pthread_cond_signal(&a->queued);
		pthread_mutex_unlock(&a->lock);
		pthread_join(a->thread, NULL);
	}
	gp_block_room_release(&a->room);
	free(a);
}
