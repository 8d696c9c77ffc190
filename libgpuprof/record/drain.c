/*
 * The drain thread: merges the rings by order number, applies each event to the live state, writes
 * per-thread blocks, and only then frees the slots. Never calls CUDA, never takes a lock of the
 * job, blocks all signals, and has its own table of descriptors so that a job that closes
 * everything cannot reach ours.
 */
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "recorder.h"
#include "stack_table.h"

#define BLOCK_AGE_NS 1000000000u /* what there is after a second is written */
#define MISSING_NS 100000000u /* a number in flight for longer is passed over: it will come late */
#define TURN_NS 5000000u
#define BUSY_TURN_NS 1000000u

static struct gp_record *slot_of(const struct gp_ring_view *view, uint64_t position)
{
	return &view->ring->slots[position & (GP_RING_SLOTS - 1)];
}

/* ---- the recorder's own records ---- */

void gp_drain_tell(struct gp_recorder *r, struct gp_record *record, const char *text)
{
	struct gp_ring_view *own = &r->views[0];
	size_t length = text ? strlen(text) : 0;
	if (length > GP_TEXT_MAX)
		length = GP_TEXT_MAX;
	record->extra = length ? (uint8_t)((length + 8 + 63) / 64) : 0;
	uint64_t head = atomic_load_explicit(&own->ring->head, memory_order_relaxed);
	uint64_t tail = atomic_load_explicit(&own->ring->tail, memory_order_relaxed);
	if (head + 1u + record->extra > tail + GP_RING_SLOTS)
		return;
	record->time = gp_clock_now();
	bool is_memory = gp_event_infos[record->kind].class == GP_CLASS_MEMORY;
	/* others lie before all that is not yet applied, or where the caller says */
	if (is_memory)
		record->order = atomic_fetch_add(&gp_control->next_order, 1);
	else if (record->order == 0)
		record->order = r->expected;
	*slot_of(own, head) = *record;
	unsigned char bytes[64 * 17] = { 0 };
	uint64_t length64 = length;
	memcpy(bytes, &length64, sizeof length64);
	if (length)
		memcpy(bytes + 8, text, length);
	for (unsigned k = 0; k < record->extra; k++)
		memcpy(slot_of(own, head + 1 + k), bytes + 64 * k, 64);
	atomic_store_explicit(&own->ring->head, head + 1u + record->extra, memory_order_release);
}

static bool is_news(uint64_t now, uint64_t *told, uint64_t *news)
{
	*news = now - *told;
	*told = now;
	return *news != 0;
}

/*
 * Loss is data: what producers counted since the last turn becomes a LOST record. Called after the
 * heads were loaded and before the merge: a loss that happened before a visible event is told
 * before it. Where it lies between what is not yet applied and what comes next is not known, so
 * `span` covers all of that.
 */
static void tell_losses(struct gp_recorder *r)
{
	struct gp_record lost = { .kind = GP_LOST };
	uint32_t rings = atomic_load(&gp_control->rings);
	bool any = false;
	for (uint32_t k = 0; k < rings; k++) {
		struct gp_ring *ring = r->views[k].ring;
		const uint64_t now[4] = { ring->lost_memory, ring->lost_launch, ring->lost_other,
					  ring->nested };
		for (unsigned n = 0; n < 4; n++) {
			uint64_t news;
			any |= is_news(now[n], &ring->told[n], &news);
			lost.v[n] += news;
		}
	}
	for (unsigned n = 0; n < 3; n++) {
		uint64_t news;
		any |= is_news(atomic_load(&r->lost_without_ring[n]), &r->told_without_ring[n],
			       &news);
		lost.v[n] += news;
	}
	if (!any)
		return;
	lost.order = r->unwritten && r->unwritten <= r->expected ? r->unwritten - 1 : r->expected;
	r->unwritten = 0;
	/* loaded after the counters: what is lost by now has no later place */
	uint64_t span = atomic_load(&gp_control->next_order) - lost.order;
	if (lost.lost.memory)
		lost.aux = span < UINT32_MAX ? (uint32_t)span : UINT32_MAX;
	gp_drain_tell(r, &lost, NULL);
}

/* ---- from rings to the live state ---- */

/* The text of a definition may wrap at the ring's end. */
static void define(struct gp_recorder *r, const struct gp_ring_view *view,
		   const struct gp_record *record)
{
	unsigned char text[64 * 255];
	for (unsigned k = 0; k < record->extra; k++)
		memcpy(text + 64 * k, slot_of(view, view->seen + 1 + k), 64);
	gp_definitions_add(&r->definitions, record, text);
}

static void apply(struct gp_recorder *r, struct gp_ring_view *view, const struct gp_record *record)
{
	if (gp_event_infos[record->kind % GP_KINDS].class == GP_CLASS_DEFINE)
		define(r, view, record);
	gp_live_apply(r->live, record);
	r->segment_events++;
	view->has_late |=
		record->order < atomic_load_explicit(&gp_control->cut, memory_order_relaxed);
	view->seen += 1u + record->extra;
}

/*
 * Applies all that needs no number in flight, a block's worth at most: a producer that waits for
 * room gets it after one block, not after the whole ring. Leaves next_order at the first MEMORY
 * record that must wait. True: a block is full.
 */
static bool advance(struct gp_recorder *r, struct gp_ring_view *view)
{
	uint64_t tail = atomic_load_explicit(&view->ring->tail, memory_order_relaxed);
	while (view->seen < view->head) {
		const struct gp_record *record = slot_of(view, view->seen);
		if (view->seen - tail >= GP_BLOCK_RECORDS)
			return true;
		if (gp_event_infos[record->kind % GP_KINDS].class == GP_CLASS_MEMORY) {
			if (record->order > r->expected) {
				view->next_order = record->order;
				return false;
			}
			/*
			 * a lower number was passed over once and comes late: the state knows what
			 * to do
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
	uint64_t now = gp_clock_raw_ns(CLOCK_MONOTONIC_RAW);
	for (uint32_t k = 0; k < rings; k++) {
		struct gp_ring_view *view = &r->views[k];
		/* partner: release store in gp_commit and gp_commit_memory */
		uint64_t head = atomic_load_explicit(&view->ring->head, memory_order_acquire);
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
 * The number that everybody waits for did not come: a thread was stopped between taking and
 * publishing it.
 */
static bool is_given_up(struct gp_recorder *r)
{
	uint64_t now = gp_clock_raw_ns(CLOCK_MONOTONIC_RAW);
	if (r->missing_since_ns == 0)
		r->missing_since_ns = now;
	return now - r->missing_since_ns > MISSING_NS;
}

/* True: there is more, but a block has to be written first. */
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

/* How many slots from the tail on belong to one block: whole records, on one side of the cut. */
static uint64_t block_slots(const struct gp_ring_view *view, uint64_t tail, uint64_t cut,
			    bool *is_late)
{
	uint64_t at = tail;
	*is_late = false;
	if (!view->has_late && view->seen - tail <= GP_BLOCK_RECORDS)
		return view->seen - tail;
	*is_late = slot_of(view, tail)->order < cut;
	while (at < view->seen) {
		const struct gp_record *record = slot_of(view, at);
		uint64_t next = at + 1u + record->extra;
		if (next - tail > GP_BLOCK_RECORDS || (record->order < cut) != *is_late)
			break;
		at = next;
	}
	return at - tail;
}

static void count_unwritten(struct gp_recorder *r, const struct gp_ring_view *view, uint64_t tail,
			    uint64_t slots)
{
	for (uint64_t at = tail; at < tail + slots;) {
		const struct gp_record *record = slot_of(view, at);
		enum gp_class class = gp_event_infos[record->kind % GP_KINDS].class;
		unsigned which = class == GP_CLASS_MEMORY ? 0 : class == GP_CLASS_LAUNCH ? 1 : 2;
		if (r->unwritten == 0 || record->order < r->unwritten)
			r->unwritten = record->order + 1;
		atomic_fetch_add(&r->lost_without_ring[which], 1);
		atomic_fetch_add(&gp_control->dropped_full_disk, 1);
		at += 1u + record->extra;
	}
}

static bool write_block(struct gp_recorder *r, struct gp_ring_view *view, uint64_t tail,
			uint64_t slots, bool is_late)
{
	gp_segment_define(r, view, tail, slots);
	struct gp_clock_triple now = gp_clock_triple();
	struct gp_block_header header = {
		.type = GP_BLOCK_EVENTS,
		.flags = is_late ? GP_BLOCK_LATE : 0,
		.segment = (uint32_t)atomic_load(&gp_control->segment),
		.part = (uint32_t)atomic_load(&gp_control->part),
		.thread = view->ring->thread,
		.sequence = atomic_load(&view->ring->sequence),
		.ticks = now.ticks,
		.mono_ns = now.mono_ns,
		.unix_ns = now.unix_ns,
	};
	size_t length;
	if (gp_block_encode(r->scratch, &header, view->ring->slots, GP_RING_SLOTS, tail, slots,
			    r->block, r->block_capacity, &length) != GP_OK ||
	    !gp_file_put(&r->writer, r->block, length))
		return false;
	atomic_fetch_add(&view->ring->sequence, 1);
	atomic_fetch_add(&gp_control->drained, header.records);
	return true;
}

bool gp_drain_flush(struct gp_recorder *r, struct gp_ring_view *view)
{
	bool is_whole = true;
	uint64_t tail = atomic_load_explicit(&view->ring->tail, memory_order_relaxed);
	uint64_t cut = atomic_load(&gp_control->cut);
	while (tail < view->seen) {
		bool is_late;
		uint64_t slots = block_slots(view, tail, cut, &is_late);
		if (!write_block(r, view, tail, slots, is_late)) {
			count_unwritten(r, view, tail, slots);
			is_whole = false;
		}
		tail += slots;
		/* partner: acquire load in gp_reserve_slow; the slots are free from here on */
		atomic_store_explicit(&view->ring->tail, tail, memory_order_release);
	}
	view->has_late = false;
	view->pending_ns = view->seen < view->head ? view->pending_ns : 0;
	return is_whole;
}

static bool flush_due(struct gp_recorder *r, uint32_t rings)
{
	uint64_t now = gp_clock_raw_ns(CLOCK_MONOTONIC_RAW);
	bool is_whole = true;
	for (uint32_t k = 0; k < rings; k++) {
		struct gp_ring_view *view = &r->views[k];
		uint64_t pending =
			view->seen - atomic_load_explicit(&view->ring->tail, memory_order_relaxed);
		bool is_retired = atomic_load(&view->ring->state) == GP_RING_RETIRED;
		bool is_old = view->pending_ns && now - view->pending_ns >= BLOCK_AGE_NS;
		if (pending >= GP_BLOCK_RECORDS || (pending && (is_old || is_retired)))
			is_whole &= gp_drain_flush(r, view);
		uint64_t head = atomic_load_explicit(&view->ring->head, memory_order_acquire);
		if (is_retired && head == atomic_load(&view->ring->tail))
			atomic_store_explicit(&view->ring->state, GP_RING_FREE,
					      memory_order_release);
	}
	return is_whole;
}

/* ---- turns ---- */

static void obey(struct gp_recorder *r)
{
	uint32_t want = atomic_load(&gp_control->want_level),
		 level = atomic_load(&gp_control->level);
	if (want == level || want < GP_LEVEL_OFF || want > GP_LEVEL_ALL)
		return;
	if (level == GP_LEVEL_OFF)
		gp_drain_tell(r, &(struct gp_record){ .kind = GP_GAP, .aux = GP_WHY_STOPPED },
			      NULL);
	atomic_store(&gp_control->level, want);
	uint32_t word = atomic_load(&gp_local->word);
	/*
	 * partner: the relaxed load in gp_enter; a thread may record a few events more, which does
	 * no harm
	 */
	atomic_store(&gp_local->word, ((word >> 2) + 1) << 2 | want);
}

/* True: another turn is due at once. */
static bool turn(struct gp_recorder *r)
{
	obey(r);
	while (atomic_load(&r->rings_wanted)) {
		atomic_fetch_sub(&r->rings_wanted, 1);
		if (!gp_ring_place_grow(r))
			break;
		gp_futex_wake(&r->progress);
	}
	if (r->define.entry && gp_stack_table_wants_chunk())
		gp_ring_place_add_stacks(r);
	uint32_t rings = atomic_load(&gp_control->rings);
	load_heads(r, rings);
	tell_losses(r);
	r->views[0].head = atomic_load(&r->views[0].ring->head);
	bool has_more = merge(r, rings);
	bool was_failing = r->writer.is_failing;
	bool is_whole = flush_due(r, rings);
	gp_segment_slice(r);
	/*
	 * after a failure the segment has a hole: begin a new one, whose checkpoint is exact again
	 */
	if (gp_segment_is_due(r) ||
	    (was_failing && is_whole && !r->is_walking && r->segment_events))
		gp_segment_turn(r);
	atomic_store(&gp_control->heartbeat_ns, gp_clock_raw_ns(CLOCK_MONOTONIC_RAW));
	gp_futex_wake(&r->progress);
	return has_more;
}

/* ---- start and end ---- */

struct directory_entry {
	uint64_t inode;
	int64_t offset;
	uint16_t bytes;
	uint8_t type;
	char name[];
};

static int number_of(const char *name)
{
	int number = 0;
	for (; *name >= '0' && *name <= '9'; name++)
		number = number * 10 + (*name - '0');
	return number;
}

/* Kernels before 5.9 have no close_range. Not opendir: it would call the job's malloc. */
static void close_listed(void)
{
	_Alignas(8) char entries[4096];
	int directory = open("/proc/thread-self/fd", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (directory < 0)
		return;
	long n;
	while ((n = syscall(SYS_getdents64, directory, entries, sizeof entries)) > 0)
		for (long at = 0; at < n; at += ((struct directory_entry *)(entries + at))->bytes) {
			const char *name = ((struct directory_entry *)(entries + at))->name;
			if (*name != '.' && number_of(name) != directory)
				close(number_of(name));
		}
	close(directory);
}

/*
 * From here on descriptors are ours alone; the copies of the job's are dropped at once, or a pipe
 * that the job closes would stay open. Seccomp profiles of containers may forbid it: then each
 * write looks first.
 */
static void own_descriptors(struct gp_recorder *r)
{
	r->writer.is_shared_table = unshare(CLONE_FILES) != 0;
	if (r->writer.is_shared_table)
		return;
	if (syscall(SYS_close_range, 0u, ~0u, 0u) != 0)
		close_listed();
	/*
	 * numbers 0 to 2 never mean a file of ours, whatever libc may print here in its last
	 * moments
	 */
	int null = open("/dev/null", O_RDWR | O_CLOEXEC);
	while (null >= 0 && null < STDERR_FILENO)
		null = dup(null);
}

static void append_to_list(const struct gp_recorder *r)
{
	if (!gp_settings.list[0])
		return;
	int fd = open(gp_settings.list, O_WRONLY | O_APPEND | O_CLOEXEC | O_NOFOLLOW);
	if (fd < 0)
		return;
	char line[1100];
	size_t n = strlen(r->writer.path);
	memcpy(line, r->writer.path, n);
	line[n++] = '\n';
	ssize_t written = write(fd, line, n);
	(void)written;
	close(fd);
}

static void tell_facts(struct gp_recorder *r)
{
	char place[300] = "private";
	if (!r->is_private) {
		strcpy(place, strncmp(r->ring_path, "/dev/shm", 8) == 0 ? "shm " : "disk ");
		strcat(place, r->ring_path);
		*strrchr(place, '/') = '\0';
	}
	gp_drain_tell(r, &(struct gp_record){ .kind = GP_FACT, .aux = GP_FACT_RING_PLACE }, place);
	gp_drain_tell(r,
		      &(struct gp_record){ .kind = GP_THREAD,
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
	return r->scratch && r->block && r->live && gp_segment_open(r) &&
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
	if (h->slots && h->slot_bytes < 64u << 10)
		h->slot_bytes = 64u << 10;
	h->start_ticks = r->start.ticks;
	h->start_mono_ns = r->start.mono_ns;
	h->start_unix_ns = r->start.unix_ns;
	h->ticks_per_second = gp_clock_ticks_per_second();
	return gp_file_create(&r->writer, r->name);
}

/*
 * The header names the rings, the rings name the recording: the file is made first, its header
 * rewritten.
 */
static bool rewrite_header(struct gp_recorder *r)
{
	unsigned char bytes[GP_FILE_HEADER];
	memcpy(r->writer.header.ring_path, r->ring_path, sizeof r->writer.header.ring_path);
	gp_file_header_encode(&r->writer.header, bytes);
	return pwrite(r->writer.fd, bytes, sizeof bytes, 0) == (ssize_t)sizeof bytes;
}

static bool start(struct gp_recorder *r)
{
	own_descriptors(r);
	if (!open_memory(r)) {
		gp_say(true, "no memory for the recorder, nothing is recorded", NULL);
		return false;
	}
	if (!open_file(r)) {
		gp_say_errno("nothing is recorded, cannot create", r->writer.path, errno);
		return false;
	}
	if (!gp_ring_place_open(r) || !gp_ring_place_grow(r) || !gp_ring_place_grow(r)) {
		unlink(r->writer.path);
		gp_say(true, "no room for the rings, nothing is recorded", NULL);
		return false;
	}
	r->writer.control = gp_control;
	atomic_store(&r->views[0].ring->state, GP_RING_ACTIVE);
	atomic_store(&gp_control->want_level, !gp_settings.is_started ? (uint32_t)GP_LEVEL_OFF :
					      !gp_settings.has_launches ?
									(uint32_t)GP_LEVEL_MEMORY :
									(uint32_t)GP_LEVEL_ALL);
	atomic_store(&gp_control->level, atomic_load(&gp_control->want_level));
	if (r->define.entry)
		gp_ring_place_add_stacks(r);
	if (!rewrite_header(r) || !gp_segment_begin(r))
		return false;
	append_to_list(r);
	tell_facts(r);
	return true;
}

static void finish(struct gp_recorder *r)
{
	/* an order number still in flight gets the time of a few turns, not more */
	for (int k = 0; k < 20; k++) {
		while (turn(r))
			;
		if (r->expected == atomic_load(&gp_control->next_order))
			break;
		gp_futex_wait(&r->wake, atomic_load(&r->wake), BUSY_TURN_NS);
	}
	if (gp_segment_seal(r)) {
		atomic_store(&gp_control->is_sealed, 1);
		gp_ring_place_close(r);
	}
	gp_file_close(&r->writer);
}

void *gp_drain_main(void *context)
{
	struct gp_recorder *r = context;
	prctl(PR_SET_NAME, "gpuprof");
	gp_thread.depth = 1; /* nothing that this thread does is an event */
	gp_thread.is_drain = 1;
	bool is_running = start(r);
	uint32_t level = is_running ? atomic_load(&gp_control->level) : (uint32_t)GP_LEVEL_OFF;
	atomic_store(&r->state, is_running ? GP_RECORDER_RUNNING : GP_RECORDER_FAILED);
	/* partner: the load in gp_enter; from here on threads record */
	atomic_store(&gp_local->word, 1u << 2 | level);
	gp_futex_wake(&r->progress);
	if (!is_running)
		return NULL;
	while (!atomic_load(&r->is_ending)) {
		uint32_t seen = atomic_load(&r->wake);
		if (turn(r))
			continue;
		atomic_store(&r->is_asleep, 1);
		gp_futex_wait(&r->wake, seen, r->is_walking ? BUSY_TURN_NS : TURN_NS);
		atomic_store(&r->is_asleep, 0);
	}
	finish(r);
	atomic_store(&r->state, GP_RECORDER_ENDED);
	gp_futex_wake(&r->progress);
	return NULL;
}
