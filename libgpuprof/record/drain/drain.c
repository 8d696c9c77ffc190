/*
 * The drain thread: merges the rings by order number, applies each event to the live state, writes
 * per-thread blocks, and only then frees the slots. Never calls CUDA, never takes a lock of the
 * job. drain_start.c creates it.
 */
#include <errno.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "../../state/live_table.h"
#include "../ranges/range_name.h"
#include "../ranges/scope.h"
#include "../recorder.h"
#include "../stacks/stack_table.h"

#define BLOCK_AGE_NS 1000000000u /* unwritten records of that age are written */
/* skip a number that is in flight for longer; its event will be late */
#define MISSING_NS 100000000u
#define TURN_NS 5000000u
#define BUSY_TURN_NS 1000000u
#define IDLE_TURN_NS 51000000u /* fewer than 20 a second */
#define RANGE_THREADS 1024u    /* limit of threads whose open ranges are followed at a time */
#define UNNAMED_NS 100000000u
#define SLOT_BYTES_MIN (64u << 10) /* a block, and the definitions that its segment repeats */

/* ---- from rings to the live state ---- */

static void print_fact(const struct gp_record *fact, const char *text, size_t bytes)
{
	char printed[128] = "";
	size_t at = sizeof printed - 1;
	uint64_t number = fact->fact.value;
	memcpy(printed, text, bytes < sizeof printed ? bytes : sizeof printed - 1);
	if (fact->aux == GP_FACT_PYTORCH) {
		gp_log(false, "found PyTorch", printed);
	} else if (fact->aux == GP_FACT_BLOCK_REPORTS) {
		gp_log(false, "the blocks of PyTorch's allocator are recorded", NULL);
	} else if (fact->aux == GP_FACT_ROUTES) {
		for (printed[at] = '\0'; number; number /= 10)
			printed[--at] = (char)('0' + number % 10);
		gp_log(false, "look-ups of driver functions that bypassed gpuprof:", printed + at);
	}
}

/* The text of a definition may wrap around at the ring's end. */
static void define(struct gp_recorder *r, const struct gp_ring_view *view,
		   const struct gp_record *record)
{
	unsigned char text[64 * 255];
	for (unsigned k = 0; k < record->extra; k++)
		memcpy(text + 64 * k, gp_view_slot(view, view->seen + 1 + k), 64);
	uint64_t bytes = 0;
	if (record->extra)
		memcpy(&bytes, text, sizeof bytes);
	if (record->kind == GP_FACT && gp_settings.is_verbose)
		print_fact(record, (char *)text + sizeof bytes, bytes <= GP_TEXT_MAX ? bytes : 0);
	gp_definitions_add(&r->definitions, record, text);
}

static void apply(struct gp_recorder *r, struct gp_ring_view *view, const struct gp_record *record)
{
	if (gp_event_infos[record->kind % GP_KINDS].class == GP_CLASS_DEFINE)
		define(r, view, record);
	gp_live_apply(r->live, record);
	if (gp_is_range(record->kind))
		gp_open_ranges_apply(r->ranges, view->ring->thread, record);
	r->segment_events++;
	view->has_late |=
		record->order < atomic_load_explicit(&gp_control->cut, memory_order_relaxed);
	view->seen += 1u + record->extra;
}

/*
 * True if it came after the recording ended. Records other than memory events have the number of
 * the next memory event.
 */
static bool is_left_out(const struct gp_recorder *r, const struct gp_record *record)
{
	const bool is_memory = gp_event_infos[record->kind % GP_KINDS].class == GP_CLASS_MEMORY;
	/* partner: the store in stop_recording, which came before the cause of such a record */
	const uint64_t end = atomic_load_explicit(&r->ends_before, memory_order_relaxed);
	return gp_unlikely(end != 0) && record->order >= end + !is_memory;
}

/*
 * Applies all records that do not wait for a number in flight, at most one block. A producer that
 * waits for room gets it after one block, not after the whole ring. Leaves next_order at the first
 * MEMORY record that must wait. True: a block is full.
 */
static bool advance(struct gp_recorder *r, struct gp_ring_view *view)
{
	uint64_t tail = atomic_load_explicit(&view->ring->tail, memory_order_relaxed);
	struct gp_run drain_run = gp_view_run(view, view->seen);
	while (view->seen < view->head) {
		if (gp_unlikely(view->seen >= drain_run.end))
			drain_run = gp_view_run(view, view->seen);
		const struct gp_record *record = &drain_run.slots[view->seen & drain_run.mask];
		if (view->seen - tail >= GP_BLOCK_RECORDS)
			return true;
		if (is_left_out(r, record))
			break;
		if (gp_event_infos[record->kind % GP_KINDS].class == GP_CLASS_MEMORY) {
			if (record->order > r->expected) {
				view->next_order = record->order;
				return false;
			}
			/*
			 * a lower number that was skipped before comes late: the state handles it
			 */
			r->expected += record->order == r->expected;
		}
		apply(r, view, record);
	}
	view->next_order = UINT64_MAX;
	return false;
}

static void load_heads(struct gp_recorder *r, uint32_t rings)
{
	uint64_t now = gp_now_ns();
	for (uint32_t k = 0; k < rings; k++) {
		struct gp_ring_view *view = &r->views[k];
		/* partner: release store in gp_commit and gp_commit_memory */
		uint64_t head = atomic_load_explicit(&view->ring->head, memory_order_acquire);
		r->has_news |= head != view->head;
		if (head != view->head && view->pending_ns == 0)
			view->pending_ns = now;
		view->head = head;
	}
}

static struct gp_ring_view *lowest(struct gp_recorder *r, uint32_t rings)
{
	struct gp_ring_view *best = NULL;
	for (uint32_t k = 0; k < rings; k++)
		if (r->views[k].next_order != UINT64_MAX &&
		    (!best || r->views[k].next_order < best->next_order))
			best = &r->views[k];
	return best;
}

/*
 * The number that all rings wait for did not arrive: a thread was stopped between taking and
 * publishing it.
 */
static bool is_given_up(struct gp_recorder *r)
{
	uint64_t now = gp_now_ns();
	if (r->missing_since_ns == 0)
		r->missing_since_ns = now;
	return now - r->missing_since_ns > MISSING_NS;
}

/* True: there is more, but a block must be written first. */
static bool merge(struct gp_recorder *r, uint32_t rings)
{
	uint64_t started = r->expected;
	for (uint32_t k = 0; k < rings; k++)
		if (advance(r, &r->views[k]))
			return true;
	for (;;) {
		struct gp_ring_view *view = lowest(r, rings);
		if (!view)
			break;
		if (view->next_order != r->expected) {
			if (r->expected != started)
				r->missing_since_ns = 0;
			if (r->expected != started || !is_given_up(r))
				return false;
			r->expected = view->next_order;
		}
		r->missing_since_ns = 0;
		if (advance(r, view))
			return true;
	}
	r->missing_since_ns = 0;
	return false;
}

/* ---- from rings to the file ---- */

static bool is_much(const struct gp_ring_view *view, uint64_t pending)
{
	return pending >=
	       gp_region_much(atomic_load_explicit(&view->ring->region, memory_order_relaxed));
}

static void flush_due(struct gp_recorder *r, uint32_t rings, bool is_urgent)
{
	uint64_t now = gp_now_ns();
	for (uint32_t k = 0; k < rings; k++) {
		struct gp_ring_view *view = &r->views[k];
		uint64_t pending =
			view->seen - atomic_load_explicit(&view->ring->tail, memory_order_relaxed);
		/* partner: the release store in end_thread, after which its head is final */
		bool is_retired = atomic_load_explicit(&view->ring->state, memory_order_acquire) ==
				  GP_RING_RETIRED;
		bool is_old = view->pending_ns && now - view->pending_ns >= BLOCK_AGE_NS;
		bool is_due = is_old || is_retired || is_urgent;
		if (is_much(view, pending) || (pending && is_due))
			gp_drain_flush(r, view);
		/* partner: release store in gp_commit and gp_commit_memory */
		uint64_t head = atomic_load_explicit(&view->ring->head, memory_order_acquire);
		if (is_retired && head == atomic_load(&view->ring->tail)) {
			gp_open_ranges_forget(r->ranges, view->ring->thread);
			atomic_store(&view->ring->tid, 0); /* without an owner: see ring_supply.c */
			/* partner: the exchange in take_ring; the thread reads the tail after it */
			atomic_store_explicit(&view->ring->state, GP_RING_FREE,
					      memory_order_release);
		}
	}
}

/* ---- turns ---- */

/* Uses that were off at the start cannot be recorded later: the used memory was not noted. */
static void obey_uses(void)
{
	uint32_t requested = gp_settings.has_uses && atomic_load(&gp_control->requested_uses);
	/* its line is in the caches of all threads of the job: written only when it changes */
	if (atomic_load(&gp_uses_requested) == requested)
		return;
	/* partner: the relaxed load in gp_hook_launch; a few launches more or less are harmless */
	atomic_store(&gp_uses_requested, requested);
	atomic_store(&gp_control->uses, requested);
}

/* Recorded early, so that the recording of a killed job has it, too. */
static void write_unnamed_ranges(struct gp_recorder *r)
{
	const uint64_t count = gp_range_names_refused();
	if (gp_likely(count == r->ranges_unnamed))
		return;
	const uint64_t now = gp_now_ns();
	if (!r->is_ending && now - r->unnamed_written_ns < UNNAMED_NS)
		return;
	gp_log(false, "no room for more names of ranges; new names count as one", NULL);
	r->ranges_unnamed = count;
	r->unnamed_written_ns = now;
	gp_drain_write_fact(r, GP_FACT_RANGES_UNNAMED, count, NULL);
}

/* True: another turn is due at once. */
static bool turn(struct gp_recorder *r)
{
	gp_scope_tend(r);
	obey_uses();
	bool has_more = gp_rings_tend(r);
	gp_stacks_maintain(r);
	write_unnamed_ranges(r);
	uint32_t rings = atomic_load(&gp_control->rings);
	bool is_urgent = gp_flush_begin(r);
	load_heads(r, rings);
	gp_losses_write(r);
	r->views[0].head = atomic_load(&r->views[0].ring->head);
	bool is_cut = merge(r, rings);
	has_more |= gp_snapshot_tend(r) || is_cut;
	flush_due(r, rings, is_urgent);
	if (is_urgent && !is_cut && r->expected >= r->flush_until)
		has_more |= gp_flush_end(r);
	gp_segment_slice(r);
	/*
	 * after a failure the segment has a hole: begin a new segment, whose checkpoint is exact
	 * again
	 */
	bool has_hole = atomic_load_explicit(&gp_control->has_hole, memory_order_relaxed);
	if (has_hole ? gp_losses_retry(r) : gp_segment_is_due(r))
		gp_segment_turn(r);
	gp_losses_keep(r, false);
	atomic_store(&gp_control->heartbeat_ns, gp_now_ns());
	gp_rings_hand_out(r);
	gp_wait_end(r);
	return has_more;
}

/* ---- start and end ---- */

static void write_facts(struct gp_recorder *r)
{
	char place[300] = "private", rank[128];
	if (!r->is_private) {
		strcpy(place, strncmp(r->ring_path, "/dev/shm", 8) == 0 ? "shm " : "disk ");
		strcat(place, r->ring_path);
		*strrchr(place, '/') = '\0';
	}
	gp_drain_write_fact(r, GP_FACT_RING_PLACE, 0, place);
	gp_rank_variables(rank, sizeof rank);
	if (*rank)
		gp_drain_write_fact(r, GP_FACT_RANK, 0, rank);
	gp_drain_write(r,
		       &(struct gp_record){ .kind = GP_THREAD,
					    .device = GP_DEVICE_UNKNOWN,
					    .aux = 0,
					    .thread.tid = (uint64_t)syscall(SYS_gettid) },
		       "gpuprof");
}

static bool open_memory(struct gp_recorder *r)
{
	void *scratch = gp_pages(gp_block_scratch_bytes());
	r->scratch = scratch ? gp_block_scratch_init(scratch, gp_block_scratch_bytes()) : NULL;
	r->block_capacity = gp_block_bound();
	r->block = gp_pages(r->block_capacity);
	r->live = gp_live_open();
	r->ranges = gp_open_ranges_open(RANGE_THREADS);
	return r->scratch && r->block && r->live && r->ranges && gp_segment_open(r) &&
	       gp_definitions_open(&r->definitions);
}

static bool open_file(struct gp_recorder *r)
{
	struct gp_file_header *h = &r->writer.header;
	h->major = GP_FORMAT_MAJOR;
	h->minor = GP_FORMAT_MINOR;
	h->clock = gp_clock_is_tsc ? GP_CLOCK_TSC : GP_CLOCK_MONOTONIC_RAW;
	h->pid = (uint32_t)getpid();
	h->slots = gp_settings.ring_bytes ? GP_FILE_SLOTS : 0;
	h->slot_bytes = gp_settings.ring_bytes / GP_FILE_SLOTS & ~(uint64_t)4095;
	if (h->slots && h->slot_bytes < SLOT_BYTES_MIN)
		h->slot_bytes = SLOT_BYTES_MIN;
	h->start_ticks = r->start.ticks;
	h->start_mono_ns = r->start.mono_ns;
	h->start_unix_ns = r->start.unix_ns;
	h->ticks_per_second = gp_clock_ticks_per_second();
	if (h->pid == r->loaded_pid)
		h->loaded_ticks = r->loaded_ticks;
	return gp_file_create(&r->writer, r->name);
}

/*
 * The header names the rings, and the rings name the recording. The file is therefore made first
 * and its header rewritten.
 */
static bool name_rings(struct gp_recorder *r)
{
	memcpy(r->writer.header.ring_path, r->ring_path, sizeof r->writer.header.ring_path);
	return gp_file_put_header(&r->writer);
}

static void release_memory(struct gp_recorder *r)
{
	gp_live_close(r->live);
	gp_open_ranges_close(r->ranges);
	gp_definitions_close(&r->definitions);
	gp_segment_close(r);
	gp_pages_close(r->block, r->block_capacity);
	gp_pages_close(r->scratch, gp_block_scratch_bytes());
}

/* Removes an empty recording, and rings that no thread will write to. */
static bool drain_refuse(struct gp_recorder *r, const char *why, const char *subject, int error)
{
	gp_log_refusal(why, subject, error);
	if (r->writer.fd >= 0)
		unlink(r->writer.path);
	gp_file_close(&r->writer);
	if (gp_control)
		gp_ring_place_close(r);
	release_memory(r);
	gp_stack_table_close();
	return false;
}

static bool start(struct gp_recorder *r)
{
	r->start = gp_clock_triple();
	gp_range_names_begin();
	gp_stack_table_reset(); /* a parent's table lies where its child may have other memory */
	__atomic_store_n(&gp_control, NULL, __ATOMIC_RELAXED);
	r->writer.fd = -1;
	if (!gp_output_name(gp_settings.output, r->start.unix_ns, r->name, sizeof r->name))
		/* an absolute pattern would not need it */
		return drain_refuse(r,
				    errno == ENAMETOOLONG || errno == ERANGE ?
					    "cannot use" :
					    "cannot find the working directory for",
				    gp_settings.output, errno == ERANGE ? ENAMETOOLONG : errno);
	/* partner: the load in start_process, of a thread that waited in vain */
	atomic_store(&r->is_named, true);
	gp_budget_open(r);
	if (!open_memory(r) || !gp_budget_leaves_half(r))
		return drain_refuse(r, "no memory for the recorder", NULL, 0);
	if (!open_file(r))
		return drain_refuse(r, "cannot create", r->writer.path, errno);
	if (!gp_ring_place_open(r, gp_scope_begin) || !gp_ring_place_add(r) ||
	    !gp_ring_place_add(r))
		return drain_refuse(r, "no room for the rings", NULL, 0);
	gp_losses_begin(r);
	r->writer.control = gp_control;
	atomic_store(&r->views[0].ring->state, GP_RING_ACTIVE);
	if (!name_rings(r))
		return drain_refuse(r, "cannot write", r->writer.path, errno);
	/* if that fails, it is tried again; events lost until then are counted */
	gp_segment_begin(r);
	gp_name_write(&r->writer);
	if (r->is_private)
		gp_log(false, "the rings are private memory: what a kill leaves in them is lost",
		       NULL);
	else
		gp_log(false, "the rings are in", r->ring_path);
	write_facts(r);
	gp_scope_write(r);
	gp_stacks_open(r);
	return true;
}

static void drain_finish(struct gp_recorder *r)
{
	/*
	 * Waits a few turns at most for an order number in flight. If the job does not wait for
	 * this thread, it waits until the number is given up.
	 */
	const int turns = gp_scope_is_over() ? 200 : 20;
	for (int k = 0; k < turns; k++) {
		while (turn(r))
			;
		const uint64_t end = atomic_load(&r->ends_before);
		if (r->expected == (end ? end : atomic_load(&gp_control->next_order)))
			break;
		gp_futex_wait(&r->wake, atomic_load(&r->wake), BUSY_TURN_NS);
	}
	bool is_sealed = gp_segment_seal(r);
	bool is_reported = gp_losses_keep(r, true);
	/* the recording had no room for its end: all records in the rings count as lost */
	if (is_sealed || is_reported) {
		atomic_store(&gp_control->is_sealed, 1);
		gp_ring_place_close(r);
	}
	gp_log(false, is_sealed ? "recorded to the end" : "recorded, but not to the end",
	       r->writer.path);
	gp_file_close(&r->writer);
}

static bool drain_begin(struct gp_recorder *r)
{
	atomic_store(&r->state, GP_RECORDER_STARTING);
	bool is_running = start(r);
	atomic_store(&gp_uses_requested, is_running && gp_settings.has_uses);
	atomic_store(&r->state, is_running ? GP_RECORDER_RUNNING : GP_RECORDER_FAILED);
	/* partner: the load in gp_enter; from here on threads record */
	atomic_store(&gp_local->word,
		     is_running ? r->first_word : gp_word_next(0, GP_LEVEL_OFF, false));
	gp_futex_wake(&r->progress);
	return is_running;
}

/*
 * Each turn without events doubles the rest. Threads with full rings and urgent requests wake the
 * thread (has_room, gp_flush_soon). Commands of `gpuprof` wait for the next turn.
 */
static uint64_t next_rest_ns(const struct gp_recorder *r, uint64_t rest_ns)
{
	if (r->has_news || r->missing_since_ns || r->snapshot_since_ns)
		return TURN_NS;
	return 2 * rest_ns < IDLE_TURN_NS ? 2 * rest_ns : IDLE_TURN_NS;
}

static void drain_run(struct gp_recorder *r)
{
	turn(r); /* threads wait for their rings */
	gp_ring_left_clear(r, turn);
	uint64_t rest_ns = TURN_NS;
	while (!atomic_load(&r->is_ending)) {
		uint32_t seen = atomic_load(&r->wake);
		r->has_news = false;
		if (turn(r))
			continue;
		if (!r->has_news && gp_job_is_over())
			break;
		rest_ns = next_rest_ns(r, rest_ns);
		atomic_store(&r->is_asleep, 1);
		gp_futex_wait(&r->wake, seen,
			      gp_scope_sleep_ns(r->is_walking ? BUSY_TURN_NS : rest_ns));
		atomic_store(&r->is_asleep, 0);
	}
	atomic_store(&r->is_ending, 1); /* also if the job ended without notice */
	gp_scope_write_end(r);
	drain_finish(r);
	atomic_store(&r->state, GP_RECORDER_ENDED);
	gp_futex_wake(&r->progress);
	gp_futex_wake(&r->rings_made);
	if (!gp_scope_is_over())
		return;
	/*
	 * The job continues. A thread inside a call may still use its ring, so all memory that
	 * threads may reach stays writable.
	 */
	atomic_store(&gp_uses_requested, 0);
	gp_ring_place_empty(r);
	release_memory(r);
}

void *gp_drain_main(void *context)
{
	struct gp_recorder *r = context;
	prctl(PR_SET_NAME, "gpuprof");
	gp_thread.inside = 1; /* actions of this thread are not events */
	gp_thread.is_drain = 1;
	atomic_store(&gp_local->drain_tid, (uint32_t)syscall(SYS_gettid));
	if (gp_drain_await_call(r) && drain_begin(r))
		drain_run(r);
	gp_own_descriptors_keep(r);
	gp_job_end_here();
	return NULL;
}
