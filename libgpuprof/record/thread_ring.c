/*
 * A thread and its ring: where it gets one, what it does when that is full. The producers' slow
 * halves; runs on the job's threads, no lock, no malloc. Every entry keeps errno.
 */
#include <errno.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "recorder.h"
#include "scope.h"

#define RING_RETRY_NS 1000000u
#define FULL_WAIT_NS 2000000u

/* ---- a thread starts ---- */

static uint64_t now_ns(void)
{
	return gp_clock_raw_ns(CLOCK_MONOTONIC_RAW);
}

/* Of a thousand threads that begin at once each looks on where the one before it found one. */
static struct gp_ring *find_ring(bool *has_retired)
{
	struct gp_recorder *r = &gp_recorder;
	/* partner: release store in ring_add: the view is filled */
	uint32_t rings = atomic_load_explicit(&gp_control->rings, memory_order_acquire);
	uint32_t from = atomic_load_explicit(&r->rings_from, memory_order_relaxed);
	*has_retired = false;
	for (uint32_t k = 0; k + 1 < rings; k++) {
		const uint32_t index = 1 + (from + k) % (rings - 1);
		struct gp_ring *ring = r->views[index].ring;
		uint32_t state = atomic_load_explicit(&ring->state, memory_order_relaxed);
		*has_retired |= state == GP_RING_RETIRED;
		/* partner: release store of FREE in flush_due, which follows the last tail */
		if (state != GP_RING_FREE ||
		    !atomic_compare_exchange_strong(&ring->state, &state, GP_RING_ACTIVE))
			continue;
		/* a hint: whoever misses it looks a little longer */
		atomic_store_explicit(&r->rings_from, index, memory_order_relaxed);
		return ring;
	}
	return NULL;
}

/*
 * Is there nothing to wait for? A disk that hangs costs the job one such wait, not one of each
 * thread that begins.
 */
static bool is_in_vain(bool has_retired, uint32_t progress)
{
	return (!has_retired && atomic_load(&gp_recorder.is_out_of_rings)) ||
	       atomic_load(&gp_recorder.hung_at) == progress + 1u;
}

static struct gp_ring *await_ring(uint64_t timeout_ns)
{
	const uint64_t deadline = now_ns() + timeout_ns;
	const uint32_t began = atomic_load(&gp_recorder.progress);
	for (;;) {
		bool has_retired;
		uint32_t seen = atomic_load(&gp_recorder.progress);
		struct gp_ring *ring = find_ring(&has_retired);
		uint64_t now = now_ns();
		/* an ended recorder makes none */
		if (ring || atomic_load(&gp_recorder.state) == GP_RECORDER_ENDED)
			return ring;
		gp_futex_wake(&gp_recorder.wake);
		if (now >= deadline || is_in_vain(has_retired, seen)) {
			if (now >= deadline && seen == began)
				atomic_store(&gp_recorder.hung_at, seen + 1);
			return NULL;
		}
		gp_futex_wait(&gp_recorder.progress, seen, deadline - now);
	}
}

/*
 * A dead thread's ring is taken before a new one is asked for: 10,000 short threads need a few
 * rings. The drain thread makes as many at once as threads wait.
 */
static struct gp_ring *take_ring(uint64_t timeout_ns)
{
	bool has_retired;
	struct gp_ring *ring = find_ring(&has_retired);
	if (ring)
		return ring;
	if (timeout_ns == 0) {
		atomic_store(&gp_recorder.is_ring_asked, 1);
		gp_futex_wake(&gp_recorder.wake);
		return NULL;
	}
	/* partner: the load in gp_rings_tend, after which `progress` rises */
	atomic_fetch_add(&gp_recorder.rings_wanted, 1);
	ring = await_ring(timeout_ns);
	atomic_fetch_sub(&gp_recorder.rings_wanted, 1);
	return ring;
}

static void define_thread(uint32_t number)
{
	struct gp_record record = { .kind = GP_THREAD, .device = GP_DEVICE_UNKNOWN, .aux = number };
	char name[17] = "";
	record.thread.tid = (uint64_t)syscall(SYS_gettid);
	prctl(PR_GET_NAME, name);
	gp_define(&record, name, strlen(name));
}

static void join_ring(struct gp_thread *t, struct gp_ring *ring)
{
	/* ordered by find_ring's exchange: nobody writes them until this thread does */
	t->head = atomic_load(&ring->head);
	t->limit = atomic_load(&ring->tail) + GP_RING_SLOTS;
	t->is_stalled = 0;
	ring->thread = atomic_fetch_add(&gp_recorder.threads, 1) + 1;
	atomic_store(&ring->sequence, 0);
	/* after a vfork it is no thread of the process: then whether it lives cannot be asked */
	const bool is_own = (uint32_t)syscall(SYS_getpid) == gp_control->pid;
	atomic_store(&ring->tid, is_own ? (uint32_t)syscall(SYS_gettid) : 0);
	t->ring = ring;
	gp_thread_end_is_told();
	define_thread(ring->thread);
}

void gp_thread_join(struct gp_thread *t, uint64_t timeout_ns)
{
	struct gp_ring *ring = take_ring(timeout_ns);
	if (ring)
		join_ring(t, ring);
	else
		t->retry_ns = now_ns() + RING_RETRY_NS;
}

/* ---- a full ring ---- */

void gp_count_lost(enum gp_kind kind)
{
	struct gp_thread *t = &gp_thread;
	if (gp_scope_is_over()) /* it came after the end: a thread waited for its ring till then */
		return;
	if (!t->ring) {
		/* partner: none, a total; the drain and the adopter sum it */
		atomic_fetch_add_explicit(&gp_control->lost[gp_loss_of(kind)], 1,
					  memory_order_relaxed);
		return;
	}
	_Atomic uint64_t *const counters[] = { &t->ring->lost_memory, &t->ring->lost_launch,
					       &t->ring->lost_other };
	/* a total of this thread alone: the drain may see it a turn later */
	_Atomic uint64_t *counter = counters[gp_loss_of(kind)];
	atomic_store_explicit(counter, atomic_load_explicit(counter, memory_order_relaxed) + 1,
			      memory_order_relaxed);
}

/* What may come in floods: the last eighth of a ring is kept from it. */
static bool is_flood(enum gp_kind kind)
{
	const enum gp_class class = gp_event_infos[kind].class;
	return class == GP_CLASS_LAUNCH || class == GP_CLASS_OTHER || kind == GP_RANGE_NAME ||
	       kind == GP_OBJECT_NAME;
}

static bool has_room(struct gp_thread *t, enum gp_kind kind, unsigned slots)
{
	/* partner: release store of tail in gp_drain_flush */
	uint64_t tail = atomic_load_explicit(&t->ring->tail, memory_order_acquire);
	uint64_t end = tail + GP_RING_SLOTS - (slots - 1), look_again = t->head + GP_RING_SLOTS / 8;
	const bool is_tight = end < look_again + GP_RING_SLOTS / 8;
	t->limit = is_tight ? t->head + 1 : look_again;
	/*
	 * a quarter full and the drain thread sleeps: it need not wait for its time; a hint only,
	 * so relaxed: who misses it is served at the next turn
	 */
	if (t->head - tail > GP_RING_SLOTS / 4 &&
	    atomic_load_explicit(&gp_recorder.is_asleep, memory_order_relaxed))
		gp_futex_wake(&gp_recorder.wake);
	if (t->is_stalled && t->head - tail <= GP_RING_SLOTS / 2)
		t->is_stalled = 0;
	if (is_tight && is_flood(kind))
		return false;
	return !t->is_stalled && t->head < end;
}

/* Memory events wait, once a stall; then the ring loses until it is half empty. */
static bool wait_for_room(struct gp_thread *t, enum gp_kind kind, unsigned slots)
{
	if (has_room(t, kind, slots))
		return true;
	if (t->is_stalled || gp_event_infos[kind].class != GP_CLASS_MEMORY)
		return false;
	uint64_t deadline = now_ns() + FULL_WAIT_NS;
	for (;;) {
		uint32_t seen = atomic_load(&gp_recorder.progress);
		if (has_room(t, kind, slots))
			return true;
		uint64_t now = now_ns();
		if (now >= deadline)
			break;
		gp_futex_wake(&gp_recorder.wake);
		gp_futex_wait(&gp_recorder.progress, seen, deadline - now);
	}
	t->is_stalled = 1;
	return false;
}

struct gp_record *gp_reserve_slow(enum gp_kind kind, unsigned slots)
{
	int kept = errno;
	struct gp_thread *t = &gp_thread;
	struct gp_record *record = NULL;
	if (!t->ring && now_ns() >= t->retry_ns)
		gp_thread_join(t, 0);
	if (t->ring && wait_for_room(t, kind, slots)) {
		record = &t->ring->slots[t->head & (GP_RING_SLOTS - 1)];
		uint64_t order = gp_take_order(kind);
		*record = (struct gp_record){ .time = gp_clock_now(),
					      .order = order,
					      .kind = (uint16_t)kind };
	} else {
		gp_count_lost(kind);
		/* so that the next event asks again instead of trusting an old limit */
		t->limit = 0;
	}
	errno = kept;
	return record;
}

bool gp_define(const struct gp_record *definition, const char *text, size_t text_bytes)
{
	struct gp_thread *t = &gp_thread;
	if (text_bytes > GP_TEXT_MAX)
		text_bytes = GP_TEXT_MAX;
	unsigned extra = text_bytes ? (unsigned)((text_bytes + 8 + 63) / 64) : 0;
	struct gp_record *record = gp_reserve_slow((enum gp_kind)definition->kind, 1 + extra);
	if (!record)
		return false;
	uint64_t time = record->time, length = text_bytes;
	*record = *definition;
	record->time = time;
	record->extra = (uint8_t)extra;
	unsigned char bytes[64 * 17] = { 0 };
	memcpy(bytes, &length, sizeof length);
	if (text_bytes)
		memcpy(bytes + sizeof length, text, text_bytes);
	for (unsigned k = 0; k < extra; k++)
		memcpy(&t->ring->slots[(t->head + 1 + k) & (GP_RING_SLOTS - 1)], bytes + 64 * k,
		       64);
	gp_commit(record);
	return true;
}
