/*
 * Writes the events that a dead process left in its rings into its recording: encoded as its drain
 * thread would have done, flagged ADOPTED, sealed. adoption.c selects the rings and the time, and
 * holds the lock. The position to continue at is read from the recording: the control page is not
 * trusted. After each block is written, the ring gets its new sequence and tail. So a crash in the
 * middle loses nothing: the next adopter continues.
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
	uint64_t ticks;	  /* the newest known time of the run */
	uint64_t at, end; /* the place of the next block, and the end of its slot */
	uint64_t slot;
	uint32_t segment, part;
	uint64_t cut;
	struct gp_block_room room; /* its `record` holds one decoded block */
	struct gp_adopted got;
};

/*
 * The end time of the run is that of its last event, not the current time. If no event is later
 * than the owner's last block, this block gets the same clocks. Readers compute all times from the
 * latest clocks, and computed clocks are rounded.
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
	/* a segment must not overwrite its own beginning */
	if (a->part + 2 >= h->slots)
		return GP_E_SPACE;
	a->part++;
	enter_slot(a, (a->slot + 1) % h->slots);
	a->at = gp_slot_offset(h, a->slot);
	return put_plain(a, GP_BLOCK_SEGMENT, 0);
}

/* ---- rings ---- */

/*
 * Copies the slots for one block to a->room.record. The copy is then checked and encoded: another
 * process may write into the rings meanwhile.
 */
static uint64_t copy_slots(struct adopter *a, const struct gp_ring *ring, uint64_t tail,
			   uint64_t head)
{
	uint64_t n = head - tail < GP_BLOCK_RECORDS ? head - tail : GP_BLOCK_RECORDS;
	for (uint64_t k = 0; k < n; k++)
		a->room.record[k] = *gp_ring_slot(ring, tail + k);
	return n;
}

/*
 * The number of slots of whole records in a->room.record for one block. All of them lie on one side
 * of the cut.
 */
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

/* Writes a block of `slots` slots from `base`, a ring buffer of `room` slots. */
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
		bool fits = a->end - a->at >= length + GP_BLOCK_HEADER; /* leave space for an END */
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

/* Writes the first `slots` slots of a->room.record. */
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

/* ---- definitions that the records refer to ---- */

/* As blocks of ring 0, which is the recorder's own and has a known sequence. */
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

/* Compares what a block keeps of a record: its times are rounded. */
static bool is_same_record(const struct gp_record *a, const struct gp_record *b)
{
	return a->kind == b->kind && a->order == b->order && a->device == b->device &&
	       a->space == b->space && a->stack == b->stack && a->aux == b->aux &&
	       memcmp(a->v, b->v, sizeof a->v) == 0 &&
	       (a->time > b->time ? a->time - b->time : b->time - a->time) < TIME_ROUNDING;
}

/*
 * The owner (or an adopter) may have died after it wrote a block and before it freed the slots.
 * This can only be its last block.
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
		a->at = walk.offset; /* incompletely written: overwrite it */
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
 * The lowest order that is left in the rings. A LOST record goes before it: else events that the
 * loss affects would look wrong.
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

/*
 * Puts a LOST record into ring 0, the recorder's own, for losses that no LOST record has counted.
 */
static void write_losses(struct adopter *a)
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
			lost.v[n] += now[n] - ring->reported[n];
			any |= now[n] - ring->reported[n];
			ring->reported[n] = now[n];
		}
	}
	struct gp_control *c = a->rings->control;
	for (unsigned n = 0; n < 3; n++) {
		uint64_t now = atomic_load(&c->lost[n]);
		lost.v[n] += now - c->reported[n];
		any |= now - c->reported[n];
		c->reported[n] = now;
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
	/* definitions come before the records that refer to them */
	enum gp_status status = gp_orphan_stacks_visit(a->rings, put_definitions, a);
	enum gp_status first_failure = status;
	/* ring 0 last: the other rings have the newest time */
	for (uint32_t i = a->rings->rings; i-- > 0 && status != GP_E_SPACE && status != GP_E_IO;) {
		if (i == 0)
			write_losses(a);
		status = adopt_ring(a, gp_ring_file_ring(a->rings, i));
		if (status != GP_OK && first_failure == GP_OK)
			first_failure = status;
	}
	/*
	 * An impossible ring is skipped. A full disk ends this attempt only: the next adopter tries
	 * again.
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

/*
 * Adds counts to the header that the owner had no time to write, and counts of losses without a
 * LOST record.
 */
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
	/* Not GP_FORMAT_MINOR: the owner's blocks may not obey its newer rules. */
	h->minor = h->minor > GP_FORMAT_LOSSES ? h->minor : GP_FORMAT_LOSSES;
	unsigned char bytes[GP_FILE_HEADER];
	gp_file_header_encode(h, bytes);
	return gp_file_write(a->file.fd, 0, bytes, sizeof bytes);
}

bool gp_is_recording_of(const struct gp_file_header *h, const struct gp_ring_file *rings)
{
	const struct gp_control *c = rings->control;
	const char *ours = strrchr(rings->path, '/'), *named = strrchr(h->ring_path, '/');
	/* an owner that was killed at its start has not written the path of its rings */
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

/* Opens the recording at its owner's path; else at the reader's path, if it was moved. */
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
		enum gp_status header = GP_OK;
		if (status != GP_E_DAMAGED)
			header = put_header(&a);
		if (status == GP_OK)
			status = header;
	} else if (status == GP_OK) {
		status = put_header(&a);
	}
	*out = a.got;
	gp_index_release(&a.index);
	gp_file_release(&a.file);
	gp_block_room_release(&a.room);
	return status;
}
