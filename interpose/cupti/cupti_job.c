/* The job's callbacks and buffers (cupti_job.h). */
#include "cupti_job.h"

#include <errno.h>
#include <stdatomic.h>
#include <string.h>

#include "cupti_process.h"

#define DESKS 64u
/* CUPTI's own flush waits for its callbacks; ours stops at this, so that a deadlock ends */
#define WAIT_MOST_MS 5000u
#define NAP_US 100u
#define PAIRS 64u

/* states of a desk; larger: in use, the number of that use */
enum { DESK_EMPTY, DESK_HOLDS, DESK_FIRST_USE };

struct callbacks {
	gp_cupti_request *_Atomic request;
	gp_cupti_complete *_Atomic complete;
};

struct gp_cupti_desk {
	_Atomic uint64_t state;
	uint8_t *buffer; /* the job's; NULL: none */
	size_t bytes, used, records, records_most;
	gp_cupti_complete *complete; /* of the callbacks that gave the buffer */
};

static struct gp_cupti_desk desks[DESKS];
static _Atomic uint64_t uses = DESK_FIRST_USE;
static _Atomic size_t dropped;
/* pairs are only added, so a reader never sees half of one */
static struct callbacks pairs[PAIRS];
static _Atomic uint32_t pairs_used;
static const struct callbacks *_Atomic current;
static _Thread_local unsigned own_desks;

/* ---- callbacks ---- */

static const struct callbacks *job_callbacks(void)
{
	return atomic_load_explicit(&current, memory_order_acquire);
}

void gp_cupti_job_register(gp_cupti_request *request, gp_cupti_complete *complete)
{
	const struct callbacks *now = job_callbacks();
	if (!request || !complete) {
		atomic_store(&current, NULL);
		return;
	}
	for (unsigned k = 0; k < atomic_load(&pairs_used) && k < PAIRS; k++)
		if (atomic_load(&pairs[k].request) == request &&
		    atomic_load(&pairs[k].complete) == complete) {
			atomic_store_explicit(&current, &pairs[k], memory_order_release);
			return;
		}
	/* a job with more pairs than that keeps the last: none is known with more than one */
	const uint32_t place =
		atomic_load(&pairs_used) < PAIRS ? atomic_fetch_add(&pairs_used, 1) : PAIRS;
	if (place < PAIRS) {
		atomic_store(&pairs[place].request, request);
		atomic_store(&pairs[place].complete, complete);
		now = &pairs[place];
	}
	atomic_store_explicit(&current, now, memory_order_release);
}

bool gp_cupti_job_is_called(void)
{
	return own_desks != 0;
}

bool gp_cupti_job_is_registered(void)
{
	return job_callbacks() != NULL;
}

/* ---- desks ---- */

static bool desk_claim(struct gp_cupti_desk *desk, uint64_t from)
{
	if (atomic_load_explicit(&desk->state, memory_order_relaxed) != from ||
	    !atomic_compare_exchange_strong(&desk->state, &from, atomic_fetch_add(&uses, 1)))
		return false;
	own_desks++;
	return true;
}

void gp_cupti_job_end(struct gp_cupti_desk *desk)
{
	own_desks--;
	atomic_store_explicit(&desk->state, desk->buffer ? DESK_HOLDS : DESK_EMPTY,
			      memory_order_release);
}

static struct gp_cupti_desk *desk_take(void)
{
	for (uint64_t from = DESK_HOLDS + 1; from-- > DESK_EMPTY;)
		for (unsigned k = 0; k < DESKS; k++)
			if (desk_claim(&desks[k], from))
				return &desks[k];
	return NULL;
}

struct gp_cupti_desk *gp_cupti_job_begin(void)
{
	struct gp_cupti_desk *desk = NULL;
	const uint64_t until = gp_cupti_now_ms() + WAIT_MOST_MS;
	while (job_callbacks() && !(desk = desk_take()) && gp_cupti_now_ms() < until)
		gp_cupti_sleep(NAP_US);
	return desk;
}

static void desk_hand_over(uint8_t *buffer, size_t bytes, size_t used, gp_cupti_complete *complete)
{
	const int error = errno;
	if (buffer)
		complete(NULL, 0, buffer, bytes, used);
	errno = error;
}

/* A new buffer for the desk; the one that it has is handed over after that, as CUPTI does. */
static void desk_renew(struct gp_cupti_desk *desk, bool is_wanted)
{
	const struct gp_cupti_desk old = { .buffer = desk->buffer,
					   .bytes = desk->bytes,
					   .used = desk->used,
					   .complete = desk->complete };
	const struct callbacks *callbacks = job_callbacks();
	const int error = errno;
	desk->buffer = NULL;
	desk->bytes = desk->used = desk->records = desk->records_most = 0;
	if (is_wanted && callbacks) {
		desk->complete = callbacks->complete;
		atomic_load (&callbacks->request)(&desk->buffer, &desk->bytes, &desk->records_most);
	}
	errno = error;
	desk_hand_over(old.buffer, old.bytes, old.used, old.complete);
}

static bool desk_has_room(const struct gp_cupti_desk *desk, size_t bytes)
{
	return desk->buffer && bytes <= desk->bytes - desk->used &&
	       (desk->records_most == 0 || desk->records < desk->records_most);
}

void gp_cupti_job_copy(struct gp_cupti_desk *desk, const void *record, size_t bytes, bool is_last)
{
	if (!desk_has_room(desk, bytes))
		desk_renew(desk, true);
	if (!desk_has_room(desk, bytes)) {
		gp_cupti_job_dropped(1);
		return;
	}
	memcpy(desk->buffer + desk->used, record, bytes);
	desk->used += bytes;
	desk->records++;
	if (is_last)
		desk_renew(desk, false);
}

/* Takes a desk that was in use before `limit` as soon as it is free. False: it has no buffer. */
static bool desk_await(struct gp_cupti_desk *desk, uint64_t limit, uint64_t until)
{
	for (;;) {
		const uint64_t state = atomic_load_explicit(&desk->state, memory_order_acquire);
		if (state == DESK_HOLDS && desk_claim(desk, DESK_HOLDS))
			return true;
		if (state == DESK_EMPTY || state >= limit)
			return false;
		/* a callback of the job that flushes would wait for itself */
		if (state != DESK_HOLDS && (own_desks || gp_cupti_now_ms() > until))
			return false;
		if (state != DESK_HOLDS)
			gp_cupti_sleep(NAP_US);
	}
}

void gp_cupti_job_hand_over(struct gp_cupti_desk *desk)
{
	if (desk->used)
		desk_renew(desk, true);
}

void gp_cupti_job_deliver(bool keeps_empty)
{
	const uint64_t limit = atomic_load(&uses), until = gp_cupti_now_ms() + WAIT_MOST_MS;
	for (unsigned k = 0; k < DESKS; k++)
		if (desk_await(&desks[k], limit, until)) {
			if (desks[k].used || !keeps_empty)
				desk_renew(&desks[k], false);
			gp_cupti_job_end(&desks[k]);
		}
}

void gp_cupti_job_prepare(void)
{
	for (unsigned k = 0; k < DESKS; k++)
		if (atomic_load(&desks[k].state) == DESK_HOLDS)
			return; /* one in use may have none */
	struct gp_cupti_desk *desk = gp_cupti_job_begin();
	if (desk) {
		if (!desk->buffer)
			desk_renew(desk, true);
		gp_cupti_job_end(desk);
	}
}

/* ---- losses ---- */

void gp_cupti_job_dropped(size_t number)
{
	atomic_fetch_add(&dropped, number);
}

size_t gp_cupti_job_take_dropped(void)
{
	return atomic_exchange(&dropped, 0);
}
