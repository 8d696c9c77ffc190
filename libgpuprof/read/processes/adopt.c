/*
 * What a dead process left in its rings goes into its recording: encoded as its drain thread would
 * have done, flagged ADOPTED, sealed. Which rings, and when, adoption.c knows; it holds the lock.
 * Where to go on is read from the recording, not believed from the control page. Each block is
 * noted in the ring (sequence, tail) after it is written, so that a crash in the middle costs
 * nothing: the next adopter goes on.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "../file/recording.h"
#include "../regular_file.h"
#include "orphan_stacks.h"

#define TIME_ROUNDING 65536u /* ticks */

struct adopter {
	struct gp_ring_file *rings;
	struct gp_file file;
	struct gp_index index;
	struct gp_tick tick;
	uint64_t ticks;	  /* the newest moment known of the run */
	uint64_t at, end; /* where the next block goes, and where its slot ends */
	uint64_t slot;
	uint32_t segment, part;
	uint64_t cut;
	struct gp_block_room room; /* record: one decoded block */
	struct gp_adopted got;
};

/*
 * The run ended when its last event came, not now. If no event is later than the owner's last
 * block, this has the same clocks: readers compute all times from the latest ones, and computed
 * ones are rounded.
 */
static struct gp_block_header make_header(const struct adopter *a, enum gp_block_type type,
					  uint16_t flags)
{
	const struct gp_file_header *h = &a->file.header;
	const struct gp_block_header *last = &a->index.last;
	const bool is_last = a->ticks == last->ticks;
	int64_t ns = gp_tick_ns(&a->tick, a->ticks);
	return (struct gp_block_header){
		.type = (uint16_t)type,
		.flags = (uint16_t)(flags | GP_BLOCK_ADOPTED),
		.segment = a->segment,
		.part = a->part,
		.thread = GP_THREAD_NONE,
		.first_order = a->cut,
		.last_order = a->cut,
		.ticks = a->ticks,
		.mono_ns = is_last ? last->mono_ns : h->start_mono_ns + (uint64_t)ns,
		.unix_ns = is_last ? last->unix_ns : h->start_unix_ns + (uint64_t)ns,
	};
}

static enum gp_status put_plain(struct adopter *a, enum gp_block_type type, uint16_t flags)
{
	unsigned char bytes[GP_BLOCK_HEADER];
	struct gp_block_header header = make_header(a, type, flags);
	gp_block_header_encode(&header, bytes);
	enum gp_status status = gp_file_write(a->file.fd, a->at, bytes, sizeof bytes);
	if (status == GP_OK)
		a->at += sizeof bytes;
	return status;
}

static void enter_slot(struct adopter *a, uint64_t slot)
{
	const struct gp_file_header *h = &a->file.header;
	a->slot = slot;
	a->end = h->slots != 0 ? gp_slot_offset(h, slot + 1) : UINT64_MAX;
}

static enum gp_status begin_part(struct adopter *a)
{
	const struct gp_file_header *h = &a->file.header;
	/* a segment may not overwrite its own beginning */
	if (a->part + 2 >= h->slots)
		return GP_E_SPACE;
	a->part++;
	enter_slot(a, (a->slot + 1) % h->slots);
	a->at = gp_slot_offset(h, a->slot);
	return put_plain(a, GP_BLOCK_SEGMENT, 0);
}

/* ---- rings ---- */

/*
 * Copies what may go into one block to a->room.record: while it is looked at and encoded another
 * process may write into the rings.
 */
static uint64_t copy_slots(struct adopter *a, const struct gp_ring *ring, uint64_t tail,
			   uint64_t head)
{
	uint64_t n = head - tail < GP_BLOCK_RECORDS ? head - tail : GP_BLOCK_RECORDS;
	for (uint64_t k = 0; k < n; k++)
		a->room.record[k] = *gp_ring_slot(ring, tail + k);
	return n;
}

/* Slots of whole records in a->room.record that go into one block: on one side of the cut. */
static uint64_t block_slots(struct adopter *a, uint64_t copied, bool *is_late)
{
	uint64_t at = 0;
	*is_late = a->room.record[0].order < a->cut;
	while (at < copied) {
		const struct gp_record *record = &a->room.record[at];
		uint64_t next = at + 1u + record->extra;
		if (next > copied || (record->order < a->cut) != *is_late)
			break;
		if (record->time > a->ticks)
			a->ticks = record->time;
		at = next;
	}
	return at;
}

/* A block of `slots` slots from `base`, which has room for `room` of them, wrapping. */
static enum gp_status put_block(struct adopter *a, struct gp_block_header header,
				const struct gp_record *base, uint64_t room, uint64_t tail,
				uint64_t slots)
{
	for (;;) {
		size_t length;
		header.part = a->part;
		enum gp_status status =
			gp_block_encode(a->room.scratch, &header, base, room, tail, slots,
					a->room.bytes, gp_block_bound(), &length);
		if (status != GP_OK)
			return status;
		bool fits = a->end - a->at >= length + GP_BLOCK_HEADER; /* an END must still fit */
		status = fits ? gp_file_write(a->file.fd, a->at, a->room.bytes, length) :
				begin_part(a);
		if (status != GP_OK)
			return status;
		if (!fits)
			continue;
		a->at += length;
		return GP_OK;
	}
}

/* The first `slots` of a->room.record. */
static enum gp_status put_events(struct adopter *a, struct gp_ring *ring, uint64_t slots,
				 bool is_late)
{
	struct gp_block_header header =
		make_header(a, GP_BLOCK_EVENTS, is_late ? GP_BLOCK_LATE : 0);
	header.thread = ring->thread;
	header.sequence = atomic_load(&ring->sequence);
	enum gp_status status = put_block(a, header, a->room.record, GP_BLOCK_RECORDS, 0, slots);
	if (status != GP_OK)
		return status;
	atomic_store(&ring->sequence, header.sequence + 1);
	a->got.events += slots;
	return GP_OK;
}

/* ---- what the rest refers to ---- */

/* As blocks of ring 0, the recorder's own, whose sequence is known. */
static enum gp_status put_definitions(void *context, const struct gp_record *slots, uint64_t count)
{
	struct adopter *a = context;
	struct gp_ring *own = gp_ring_file_ring(a->rings, 0);
	struct gp_block_header header = make_header(a, GP_BLOCK_DEFINE, 0);
	header.thread = own->thread;
	header.sequence = atomic_load(&own->sequence);
	enum gp_status status = put_block(a, header, slots, GP_BLOCK_RECORDS, 0, count);
	atomic_store(&own->sequence, header.sequence + (status == GP_OK));
	return status;
}

static enum gp_status adopt_ring(struct adopter *a, struct gp_ring *ring)
{
	uint64_t tail = atomic_load(&ring->tail), head = atomic_load(&ring->head);
	if (!gp_ring_is_possible(ring, tail, head))
		return GP_E_DAMAGED;
	while (tail < head) {
		bool is_late;
		uint64_t slots = block_slots(a, copy_slots(a, ring, tail, head), &is_late);
		if (slots == 0)
			return GP_E_DAMAGED;
		enum gp_status status = put_events(a, ring, slots, is_late);
		if (status != GP_OK)
			return status;
		tail += slots;
		atomic_store(&ring->tail, tail);
	}
	return GP_OK;
}

/* As far as a block keeps it: times are rounded. */
static bool is_same_record(const struct gp_record *a, const struct gp_record *b)
{
	return a->kind == b->kind && a->order == b->order && a->device == b->device &&
	       a->space == b->space && a->stack == b->stack && a->aux == b->aux &&
	       memcmp(a->v, b->v, sizeof a->v) == 0 &&
	       (a->time > b->time ? a->time - b->time : b->time - a->time) < TIME_ROUNDING;
}

/*
 * The owner (or an adopter) may have died after it wrote a block and before it freed the slots:
 * only its last one.
 */
static void skip_written(struct adopter *a)
{
	const struct gp_part last = { a->index.last_block, a->file.bytes, a->segment, a->part };
	struct gp_block_walk walk = gp_part_walk(&a->file, &last);
	if (a->index.blocks == 0 || !gp_block_walk_next(&walk) || walk.skipped > 0 ||
	    walk.header.type != GP_BLOCK_EVENTS)
		return;
	uint64_t slots = 0;
	if (gp_file_decode(&a->file, walk.offset, &walk.header, &a->room, a->room.record, &slots) !=
		    GP_OK ||
	    slots == 0) {
		a->at = walk.offset; /* torn: written anew */
		return;
	}
	for (uint32_t i = 0; i < a->rings->rings; i++) {
		struct gp_ring *ring = gp_ring_file_ring(a->rings, i);
		uint64_t tail = atomic_load(&ring->tail), head = atomic_load(&ring->head);
		if (ring->thread != walk.header.thread || !gp_ring_is_possible(ring, tail, head) ||
		    head - tail < slots ||
		    !is_same_record(gp_ring_slot(ring, tail), &a->room.record[0]))
			continue;
		atomic_store(&ring->sequence, walk.header.sequence + 1);
		atomic_store(&ring->tail, tail + slots);
	}
}

/*
 * Before everything that is left in the rings, or the events that a loss confuses would look wrong.
 */
static uint64_t oldest_left(struct adopter *a)
{
	uint64_t oldest = atomic_load(&a->rings->control->next_order);
	for (uint32_t i = 0; i < a->rings->rings; i++) {
		const struct gp_ring *ring = gp_ring_file_ring(a->rings, i);
		uint64_t tail = atomic_load(&ring->tail);
		if (tail != atomic_load(&ring->head) && gp_ring_slot(ring, tail)->order < oldest)
			oldest = gp_ring_slot(ring, tail)->order;
	}
	return oldest;
}

/* Losses that no LOST record has told yet, told by ring 0, the recorder's own. */
static void tell_losses(struct adopter *a)
{
	struct gp_record lost = { .kind = GP_LOST, .order = oldest_left(a), .time = a->ticks };
	uint64_t any = 0;
	for (uint32_t i = 0; i < a->rings->rings; i++) {
		struct gp_ring *ring = gp_ring_file_ring(a->rings, i);
		const uint64_t now[4] = { atomic_load(&ring->lost_memory),
					  atomic_load(&ring->lost_launch),
					  atomic_load(&ring->lost_other),
					  atomic_load(&ring->nested) };
		for (unsigned n = 0; n < 4; n++) {
			lost.v[n] += now[n] - ring->told[n];
			any |= now[n] - ring->told[n];
			ring->told[n] = now[n];
		}
	}
	struct gp_control *c = a->rings->control;
	for (unsigned n = 0; n < 3; n++) {
		uint64_t now = atomic_load(&c->lost[n]);
		lost.v[n] += now - c->told[n];
		any |= now - c->told[n];
		c->told[n] = now;
	}
	if (any == 0 || a->rings->rings == 0)
		return;
	uint64_t span = atomic_load(&a->rings->control->next_order) - lost.order;
	if (lost.lost.memory)
		lost.aux = span < UINT32_MAX ? (uint32_t)span : UINT32_MAX;
	struct gp_ring *own = gp_ring_file_ring(a->rings, 0);
	uint64_t head = atomic_load(&own->head);
	if (!gp_ring_is_possible(own, atomic_load(&own->tail), head + 1))
		return;
	*gp_ring_slot(own, head) = lost;
	atomic_store(&own->head, head + 1);
}

static enum gp_status adopt_rings(struct adopter *a)
{
	skip_written(a);
	/* what the records refer to comes before them */
	enum gp_status status = gp_orphan_stacks_visit(a->rings, put_definitions, a);
	enum gp_status first_failure = status;
	/* all others first: what they hold is the newest moment */
	for (uint32_t i = a->rings->rings; i-- > 0 && status != GP_E_SPACE && status != GP_E_IO;) {
		if (i == 0)
			tell_losses(a);
		status = adopt_ring(a, gp_ring_file_ring(a->rings, i));
		if (status != GP_OK && first_failure == GP_OK)
			first_failure = status;
	}
	/*
	 * an impossible ring is skipped; a full disk is not the end: the next adopter tries again
	 */
	if (first_failure == GP_E_SPACE || first_failure == GP_E_IO)
		return first_failure;
	status = put_plain(a, GP_BLOCK_END, GP_BLOCK_SEALED);
	if (status == GP_OK && a->file.header.slots == 0 &&
	    ftruncate(a->file.fd, (off_t)a->at) != 0)
		status = GP_E_IO;
	return status;
}

/* ---- the recording ---- */

/* What the owner counted and had no time to write into its header, or what no LOST record tells. */
static enum gp_status put_header(struct adopter *a)
{
	const struct gp_control *c = a->rings->control;
	struct gp_file_header *h = &a->file.header;
	const struct gp_file_header old = *h;
	uint64_t total[4] = { atomic_load(&c->lost[0]), atomic_load(&c->lost[1]),
			      atomic_load(&c->lost[2]) };
	for (uint32_t i = 0; i < a->rings->rings; i++) {
		const struct gp_ring *ring = gp_ring_file_ring(a->rings, i);
		total[0] += atomic_load(&ring->lost_memory);
		total[1] += atomic_load(&ring->lost_launch);
		total[2] += atomic_load(&ring->lost_other);
		total[3] += atomic_load(&ring->nested);
	}
	for (unsigned n = 0; n < 4; n++)
		if (total[n] > h->lost[n])
			h->lost[n] = total[n];
	if (atomic_load(&c->failed_blocks) >= h->failed_blocks) {
		h->failed_blocks = atomic_load(&c->failed_blocks);
		h->flags = atomic_load(&c->has_hole) != 0 ? GP_FILE_HAS_HOLE : 0;
	}
	if (memcmp(old.lost, h->lost, sizeof old.lost) == 0 && old.flags == h->flags &&
	    old.failed_blocks == h->failed_blocks)
		return GP_OK;
	/* not to GP_FORMAT_MINOR: what the owner wrote may break rules that are newer than it */
	h->minor = h->minor > GP_FORMAT_LOSSES ? h->minor : GP_FORMAT_LOSSES;
	unsigned char bytes[GP_FILE_HEADER];
	gp_file_header_encode(h, bytes);
	return gp_file_write(a->file.fd, 0, bytes, sizeof bytes);
}

bool gp_is_recording_of(const struct gp_file_header *h, const struct gp_ring_file *rings)
{
	const struct gp_control *c = rings->control;
	const char *ours = strrchr(rings->path, '/'), *named = strrchr(h->ring_path, '/');
	/* one killed right at its start had no time to name its rings */
	bool is_named = h->ring_path[0] == '\0' ||
			(ours != NULL && named != NULL && strcmp(ours, named) == 0);
	return is_named && h->pid == c->pid &&
	       strncmp(h->boot_id, c->boot_id, sizeof c->boot_id) == 0;
}

static enum gp_status open_recording(struct adopter *a, const char *path, int flags)
{
	struct stat st;
	a->got = (struct gp_adopted){ .recording = path };
	a->file.fd = gp_regular_open(path, O_RDWR | flags);
	if (a->file.fd < 0) {
		a->got.error = errno;
		a->got.is_nowhere = errno == ENOENT || errno == ENOTDIR;
		return GP_E_OPEN;
	}
	if (fstat(a->file.fd, &st) != 0 || !S_ISREG(st.st_mode) || st.st_uid != geteuid())
		return GP_E_NOT_RECORDING;
	a->file.bytes = (uint64_t)st.st_size;
	unsigned char bytes[GP_FILE_HEADER];
	enum gp_status status = gp_file_read(&a->file, 0, bytes, sizeof bytes);
	if (status == GP_OK)
		status = gp_file_header_decode(bytes, &a->file.header);
	if (status == GP_OK && !gp_is_recording_of(&a->file.header, a->rings))
		status = GP_E_NOT_RECORDING;
	a->got.is_nowhere = status == GP_E_NOT_RECORDING;
	return status;
}

/* Where its owner wrote it; else where it is read, which may be elsewhere by now. */
static enum gp_status find_recording(struct adopter *a, const char *moved_to)
{
	enum gp_status status = open_recording(a, a->rings->control->output, O_NOFOLLOW);
	if (status != GP_OK && moved_to != NULL) {
		gp_file_release(&a->file);
		status = open_recording(a, moved_to, 0);
	}
	return status == GP_OK ? gp_index_build(&a->file, &a->index) : status;
}

static enum gp_status find_position(struct adopter *a)
{
	const struct gp_index *x = &a->index;
	gp_tick_init(&a->tick, &a->file.header, &x->last);
	a->ticks = x->last.ticks > a->file.header.start_ticks ? x->last.ticks :
								a->file.header.start_ticks;
	if (x->segments == 0) {
		enter_slot(a, 0);
		a->at = GP_FILE_HEADER;
		return put_plain(a, GP_BLOCK_SEGMENT, 0);
	}
	const struct gp_part *part = &x->part[x->parts - 1];
	a->segment = part->segment;
	a->part = part->part;
	a->cut = x->segment[x->segments - 1].cut;
	a->at = x->end;
	enter_slot(a, a->file.header.slots != 0 ?
			      (part->offset - GP_FILE_HEADER) / a->file.header.slot_bytes :
			      0);
	return GP_OK;
}

enum gp_status gp_adopt_ring_file(struct gp_ring_file *rings, const char *moved_to,
				  struct gp_adopted *out)
{
	struct adopter a = { .rings = rings, .file.fd = -1 };
	enum gp_status status = find_recording(&a, moved_to);
	if (status == GP_OK && !a.index.is_sealed) {
		status = gp_block_room_open(&a.room) ? find_position(&a) : GP_E_MEMORY;
		if (status == GP_OK)
			status = adopt_rings(&a);
		enum gp_status told = GP_OK;
		if (status != GP_E_DAMAGED)
			told = put_header(&a);
		if (status == GP_OK)
			status = told;
	} else if (status == GP_OK) {
		status = put_header(&a);
	}
	*out = a.got;
	gp_index_release(&a.index);
	gp_file_release(&a.file);
	gp_block_room_release(&a.room);
	return status;
}
