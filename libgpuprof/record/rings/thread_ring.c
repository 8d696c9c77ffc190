/*
 * A thread and its ring: where it gets one, what it does when that is full. The producers' slow
 * halves; runs on the job's threads, no lock, no malloc. Every entry keeps errno.
 */
#include <errno.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "../poll_loop.h"
#include "../process/held_signals.h"
#include "../ranges/scope.h"
#include "../recorder.h"

#define RING_RETRY_NS 1000000u

/* ---- a thread starts ---- */

static void define_thread(uint32_t number)
{
	struct gp_record record = { .kind = GP_THREAD, .device = GP_DEVICE_UNKNOWN, .aux = number };
	char name[17] = "";
	record.thread.tid = (uint64_t)syscall(SYS_gettid);
	prctl(PR_GET_NAME, name);
	gp_define(&record, name, strlen(name));
}

static void use_region(struct gp_thread *t, const struct gp_ring_view *view, uint32_t region)
{
	t->slots = view->slots[region];
	t->mask = GP_REGION_SLOTS(region) - 1;
	atomic_signal_fence(memory_order_seq_cst);
	t->region = (uint8_t)region;
}

static void join_ring(struct gp_thread *t, struct gp_ring_view *view)
{
	struct gp_ring *ring = view->ring;
	/* ordered by take_ring's exchange: no other thread writes them until this thread does */
	t->head = t->limit = atomic_load(&ring->head);
	t->ring_index = (uint16_t)(view - gp_recorder.views);
	use_region(t, view, atomic_load(&ring->region));
	atomic_store(&view->is_growth_refused, 0);
	ring->thread = atomic_fetch_add(&gp_recorder.threads, 1) + 1;
	atomic_store(&ring->sequence, 0);
	/* after a vfork it is not a thread of the process: its state cannot be read then */
	const bool is_own = (uint32_t)syscall(SYS_getpid) == gp_control->pid;
	atomic_store(&ring->tid, is_own ? (uint32_t)syscall(SYS_gettid) : 0);
	t->ring = ring;
	define_thread(ring->thread);
}

/* With signals held: a handler that jumps away would leave a ring that no thread writes to. */
static bool take_ring(struct gp_thread *t, struct gp_ring_view *view)
{
	uint32_t state = GP_RING_FREE;
	uint64_t before;
	gp_signals_hold(&before);
	/* partner: release store of FREE in flush_due, which follows the last tail */
	const bool is_ours =
		atomic_compare_exchange_strong(&view->ring->state, &state, GP_RING_ACTIVE);
	if (is_ours)
		join_ring(t, view);
	gp_signals_release(&before);
	return is_ours;
}

/* Of a thousand threads that begin at once each looks on where the one before it found one. */
static bool find_ring(struct gp_thread *t, bool *has_retired)
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
		if (state != GP_RING_FREE || !take_ring(t, &r->views[index]))
			continue;
		/* a hint: whoever misses it looks a little longer */
		atomic_store_explicit(&r->rings_from, index, memory_order_relaxed);
		return true;
	}
	return false;
}

/* Waits as long as the drain thread makes rings, even if a thousand threads begin at once. */
static bool await_ring(struct gp_thread *t)
{
	struct gp_recorder *r = &gp_recorder;
	for (;;) {
		bool has_retired;
		const uint32_t made = atomic_load(&r->rings_made);
		if (find_ring(t, &has_retired))
			return true;
		if ((!has_retired && atomic_load(&r->is_out_of_rings)) ||
		    !gp_wait_for_drain(&r->rings_made, made))
			return false;
	}
}

/* With signals held: where a handler jumps away the count and the thread's own mark agree. */
static void request_ring(struct gp_thread *t)
{
	uint64_t before;
	gp_signals_hold(&before);
	/* partner: the loads in make_rings and gp_rings_hand_out; `rings_made` rises */
	atomic_fetch_add(&gp_recorder.rings_requested, 1);
	t->is_ring_requested = 1;
	gp_signals_release(&before);
}

void gp_thread_refuse_ring(struct gp_thread *t)
{
	uint64_t before;
	if (!t->is_ring_requested)
		return;
	gp_signals_hold(&before);
	/* a handler may have come before; a forked child's recorder has not counted it */
	if (t->is_ring_requested && t->generation == gp_recorder.generation)
		atomic_fetch_sub(&gp_recorder.rings_requested, 1);
	t->is_ring_requested = 0;
	gp_signals_release(&before);
}

/*
 * A dead thread's ring is taken before a new one is made: 10,000 short threads need a few
 * rings. The drain thread makes as many at once as threads wait.
 */
static bool get_ring(struct gp_thread *t, bool may_wait)
{
	bool has_retired;
	bool is_found = find_ring(t, &has_retired);
	if (!is_found && may_wait) {
		request_ring(t);
		is_found = await_ring(t);
		gp_thread_refuse_ring(t);
	}
	if (!is_found) {
		atomic_store(&gp_recorder.is_ring_requested, 1);
		gp_futex_wake(&gp_recorder.wake);
	}
	return is_found;
}

void gp_thread_join(struct gp_thread *t, bool may_wait)
{
	gp_thread_end_is_reported();
	if (!get_ring(t, may_wait))
		t->retry_ns = gp_now_ns() + RING_RETRY_NS;
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

/* Kinds that may come in floods: they cannot use the last eighth of a ring. */
static bool is_flood(enum gp_kind kind)
{
	const enum gp_class class = gp_event_infos[kind].class;
	return class == GP_CLASS_LAUNCH || class == GP_CLASS_OTHER || kind == GP_RANGE_NAME ||
	       kind == GP_OBJECT_NAME;
}

/*
 * The record that comes next is the first in the new region; what lies in the old one stays there.
 * The thread's own region comes last: where a signal handler jumps out of here it is done again.
 */
static void go_on_in_next_region(struct gp_thread *t)
{
	const struct gp_ring_view *view = &gp_recorder.views[t->ring_index];
	/* partner: release store in gp_ring_place_grow */
	while (atomic_load_explicit(&view->regions, memory_order_acquire) > t->region + 1u) {
		const uint32_t next = t->region + 1u;
		atomic_store_explicit(&t->ring->grown_at[next], t->head, memory_order_relaxed);
		/* partner: the loads in gp_ring_region, of the drain and of other processes */
		atomic_store_explicit(&t->ring->region, next, memory_order_release);
		atomic_signal_fence(memory_order_seq_cst);
		use_region(t, view, next);
	}
}

static bool may_grow(const struct gp_thread *t)
{
	return t->region + 1u < GP_RING_REGIONS &&
	       !atomic_load(&gp_recorder.views[t->ring_index].is_growth_refused);
}

static void request_growth(const struct gp_thread *t)
{
	struct gp_ring_view *view = &gp_recorder.views[t->ring_index];
	if (atomic_exchange(&view->is_growth_requested, 1))
		return;
	/* partner: the load in grow */
	atomic_store(&gp_recorder.is_growth_requested, 1);
	gp_futex_wake(&gp_recorder.wake);
}

/* Slots of the thread's region that the drain thread has not freed. */
static uint64_t slots_used(const struct gp_thread *t)
{
	/* partner: release store of tail in gp_drain_flush */
	const uint64_t tail = atomic_load_explicit(&t->ring->tail, memory_order_acquire);
	const uint64_t grown =
		atomic_load_explicit(&t->ring->grown_at[t->region], memory_order_relaxed);
	return t->head - (tail > grown ? tail : grown);
}

/* A quarter of the region is free, or less. */
static bool is_tight(const struct gp_thread *t)
{
	return slots_used(t) >= (t->mask + 1ull) / 4 * 3;
}

static bool thread_ring_has_room(struct gp_thread *t, enum gp_kind kind, unsigned slots)
{
	go_on_in_next_region(t);
	const uint64_t used = slots_used(t), size = t->mask + 1ull;
	const uint64_t end = t->head - used + size - (slots - 1), tight = end - size / 4;
	const uint64_t look_again = t->head + size / 8;
	t->limit = look_again < tight ? look_again : t->head < tight ? tight : t->head + 1;
	/*
	 * a quarter full and the drain thread sleeps: it need not wait for its time; a hint only,
	 * so relaxed: who misses it is served at the next turn
	 */
	if (used > size / 4) {
		if (may_grow(t))
			request_growth(t);
		if (atomic_load_explicit(&gp_recorder.is_asleep, memory_order_relaxed) &&
		    atomic_exchange(&gp_recorder.is_asleep, 0)) /* one call, not one an event */
			gp_futex_wake(&gp_recorder.wake);
	}
	return t->head + (is_flood(kind) ? size / 8 : 0) < end;
}

/*
 * While the ring is about to grow: without it a burst at the begin of a thread would be lost. On a
 * machine with ten busy threads a processor the drain thread gets its turn after 50 ms and more.
 */
static bool await_growth(struct gp_thread *t, enum gp_kind kind, unsigned slots)
{
	while (may_grow(t)) {
		const uint32_t seen = atomic_load(&gp_recorder.progress);
		if (thread_ring_has_room(t, kind, slots))
			return true;
		if (!gp_wait_for_drain(&gp_recorder.progress, seen))
			break;
	}
	return thread_ring_has_room(t, kind, slots);
}

/*
 * Memory events wait as long as the drain thread makes its turns, whatever lock the job holds: that
 * thread takes none of the job's. They begin while the ring still has room for the launches between
 * them, and end when it has caught up: where it must share the job's processor, one block's room
 * would be used up at once.
 *
 * So do operations of the GPU, which come in buffers of thousands, and the edges of their windows.
 * They do not use up the time for which memory events may wait.
 */
static bool await_drain(struct gp_thread *t, enum gp_kind kind, unsigned slots, bool is_memory)
{
	bool (*await_turn)(_Atomic uint32_t *, uint32_t) =
		is_memory ? gp_wait_for_drain : gp_wait_apart;
	for (;;) {
		const uint32_t seen = atomic_load(&gp_recorder.progress);
		const bool is_room = thread_ring_has_room(t, kind, slots);
		if ((is_room && slots_used(t) < gp_region_much(t->region)) ||
		    !await_turn(&gp_recorder.progress, seen))
			return is_room;
	}
}

static bool wait_for_room(struct gp_thread *t, enum gp_kind kind, unsigned slots)
{
	const bool is_of_gpu = kind == GP_GPU_KERNEL || kind == GP_GPU_COPY || kind == GP_GPU_TIME;
	const bool is_memory = gp_event_infos[kind].class == GP_CLASS_MEMORY;
	const bool is_room = thread_ring_has_room(t, kind, slots);
	if (!is_of_gpu && !is_memory)
		return is_room || await_growth(t, kind, slots);
	return (is_room && !is_tight(t)) || await_drain(t, kind, slots, is_memory);
}

struct gp_record *gp_reserve_slow(enum gp_kind kind, unsigned slots)
{
	int kept = errno;
	struct gp_thread *t = &gp_thread;
	struct gp_record *record = NULL;
	if (t->poll.is_long)
		gp_poll_close(GP_CODE_NOT_READY);
	if (!t->ring && gp_now_ns() >= t->retry_ns)
		gp_thread_join(t, false);
	if (t->ring && wait_for_room(t, kind, slots)) {
		record = &t->slots[t->head & t->mask];
		uint64_t order = gp_take_order(kind);
		*record = (struct gp_record){ .time = gp_clock_now(),
					      .order = order,
					      .kind = (uint16_t)kind };
	} else {
		gp_count_lost(kind);
		/* so that the next event tries again instead of trusting an old limit */
		t->limit = 0;
	}
	errno = kept;
	return record;
}

struct gp_record *gp_reserve_slow_at(enum gp_kind kind, uint64_t time)
{
	if (gp_thread.poll.is_long)
		gp_poll_close(GP_CODE_NOT_READY);
	const uint64_t head = gp_thread.head;
	struct gp_record *record = gp_reserve_slow(kind, 1);
	if (record && gp_thread.head == head) /* else a definition with a later time came first */
		record->time = time;
	return record;
}

bool gp_define(const struct gp_record *definition, const char *text, size_t text_bytes)
{
	struct gp_thread *t = &gp_thread;
	if (text_bytes > GP_TEXT_MAX)
		text_bytes = GP_TEXT_MAX;
	const uint8_t extra = gp_text_slots(text_bytes);
	struct gp_record *record = gp_reserve_slow((enum gp_kind)definition->kind, 1u + extra);
	if (!record)
		return false;
	const uint64_t time = record->time;
	*record = *definition;
	record->time = time;
	record->extra = extra;
	gp_text_put(t->slots, t->mask, t->head + 1, text, text_bytes);
	gp_commit(record);
	return true;
}

bool gp_define_fact(enum gp_fact key, uint64_t value, const char *text)
{
	const struct gp_record fact = {
		.kind = GP_FACT, .device = GP_DEVICE_UNKNOWN, .aux = key, .fact.value = value
	};
	return gp_define(&fact, text, text ? strlen(text) : 0);
}
