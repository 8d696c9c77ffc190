/*
 * The index of a recording: its segments, the places of their parts, its damage. It takes one pass
 * over the block headers. Memory grows with segments and threads, not with blocks.
 */
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>

#include "../tables/array.h"
#include "../tables/row_rank.h"
#include "../tables/row_table.h"
#include "recording.h"

#define LOOKS_MAX 64u /* attempts while the owner overwrites slots of the ring */

/* The next sequence number expected of a thread. */
struct thread_sequence {
	uint64_t thread, next;
	bool is_begun;
};

struct builder {
	const struct gp_file *file;
	struct gp_index *index;
	struct gp_row_table threads; /* of struct thread_sequence */
	bool is_whole;		     /* no block was overwritten: sequences start at 0 */
	bool is_overtaken;	     /* the owner overwrote slots during the pass */
	bool is_extended;	     /* sequences are not known: missing numbers show losses */
	unsigned looks;
	bool is_out_of_memory;
};

void gp_index_damage(struct gp_index *index, uint64_t offset, uint64_t block, const char *format,
		     ...)
{
	/* each replay finds the same places again */
	for (size_t i = 0; i < index->damages && i < GP_DAMAGES_KEPT && index->damage; i++)
		if (index->damage[i].offset == offset)
			return;
	if (index->damages++ >= GP_DAMAGES_KEPT)
		return;
	if (index->damage == NULL)
		index->damage = calloc(GP_DAMAGES_KEPT, sizeof *index->damage);
	if (index->damage == NULL)
		return;
	struct gp_damage *damage = &index->damage[index->damages - 1];
	damage->offset = offset;
	damage->block = block;
	va_list arguments;
	va_start(arguments, format);
	vsnprintf(damage->what, sizeof damage->what, format, arguments);
	va_end(arguments);
}

/* Damage of unknown extent: even the last order number in it is unknown. */
static void note_unknown(struct builder *b, struct gp_segment *s)
{
	s->is_damaged = true;
	b->index->missing_to = UINT64_MAX;
	b->index->missing_segment = s->number;
}

static bool has_sequence(const struct gp_block_header *h)
{
	return h->type == GP_BLOCK_DEFINE || h->type == GP_BLOCK_CHECKPOINT ||
	       h->type == GP_BLOCK_EVENTS;
}

static void check_sequence(struct builder *b, const struct gp_block_walk *walk)
{
	const struct gp_block_header *h = &walk->header;
	struct thread_sequence *t = gp_row_get_key(&b->threads, sizeof *t, h->thread);
	if (t == NULL) {
		b->is_out_of_memory = true;
		return;
	}
	if (!t->is_begun)
		t->next = b->is_whole ? 0 : h->sequence;
	t->is_begun = true;
	if (h->sequence < t->next) {
		uint64_t *repeated =
			gp_array_append(&b->index->repeated, &b->index->repeats, sizeof *repeated);
		if (repeated == NULL)
			b->is_out_of_memory = true;
		else
			*repeated = walk->offset;
		return;
	}
	if (h->sequence > t->next && h->thread == GP_THREAD_NONE)
		gp_index_damage(
			b->index, walk->offset, b->index->blocks,
			"%llu blocks of definitions or checkpoints are missing before this one",
			(unsigned long long)(h->sequence - t->next));
	else if (h->sequence > t->next)
		gp_index_damage(b->index, walk->offset, b->index->blocks,
				"%llu blocks of thread %u are missing before this one",
				(unsigned long long)(h->sequence - t->next), h->thread);
	if (h->sequence > t->next)
		note_unknown(b, &b->index->segment[b->index->segments - 1]);
	t->next = h->sequence + 1;
}

/* The segment of this block. A new number adds a segment. */
static struct gp_segment *place_block(struct builder *b, const struct gp_block_walk *walk)
{
	struct gp_index *x = b->index;
	const struct gp_block_header *h = &walk->header;
	if (x->segments == 0 || x->segment[x->segments - 1].number != h->segment) {
		struct gp_segment *s = gp_array_append(&x->segment, &x->segments, sizeof *s);
		if (s == NULL)
			return NULL;
		*s = (struct gp_segment){ .number = h->segment,
					  .cut = h->first_order,
					  .ticks = h->ticks,
					  .part = x->parts };
	}
	struct gp_segment *s = &x->segment[x->segments - 1];
	if (s->parts == 0 || x->part[x->parts - 1].part != h->part) {
		struct gp_part *p = gp_array_append(&x->part, &x->parts, sizeof *p);
		if (p == NULL)
			return NULL;
		*p = (struct gp_part){ .offset = walk->offset,
				       .segment = h->segment,
				       .part = h->part };
		s->parts++;
	}
	x->part[x->parts - 1].end = walk->at;
	return s;
}

static void file_index_add_block(struct builder *b, const struct gp_block_walk *walk)
{
	struct gp_index *x = b->index;
	const struct gp_block_header *h = &walk->header;
	struct gp_segment *s = place_block(b, walk);
	if (s == NULL) {
		b->is_out_of_memory = true;
		return;
	}
	if (walk->skipped > 0) {
		note_unknown(b, s);
		gp_index_damage(x, walk->skipped_at, x->blocks,
				"expected a block, found %llu bytes that are none",
				(unsigned long long)walk->skipped);
	}
	if (h->type == GP_BLOCK_SEGMENT) {
		s->has_begin |= h->part == 0;
		s->cut = h->first_order;
	}
	if (has_sequence(h) && !b->is_extended)
		check_sequence(b, walk);
	s->has_checkpoint |=
		h->type == GP_BLOCK_CHECKPOINT && (h->flags & GP_BLOCK_LAST_CHECKPOINT) != 0;
	s->has_end = h->type == GP_BLOCK_END;
	x->is_sealed = s->has_end && (h->flags & GP_BLOCK_SEALED) != 0;
	x->end = s->has_end ? walk->offset : walk->at;
	if (h->ticks >= x->last.ticks)
		x->last = *h;
	x->last_block = walk->offset;
	x->blocks++;
}

/*
 * In a file that only grows, a killed writer leaves one incomplete block at the end. The header of
 * that block is valid or cut off. A complete but invalid header was changed afterwards. Zeros: the
 * system crashed.
 */
static bool is_broken_block(const struct gp_file *file, uint64_t at)
{
	unsigned char bytes[GP_BLOCK_HEADER];
	struct gp_block_header h;
	return gp_file_is_written(file, at, sizeof bytes) &&
	       gp_file_read(file, at, bytes, sizeof bytes) == GP_OK &&
	       gp_block_header_decode(bytes, &h) != GP_OK;
}

static void check_end(struct builder *b, uint64_t at)
{
	struct gp_index *x = b->index;
	if (x->is_sealed || b->is_out_of_memory || !is_broken_block(b->file, at))
		return;
	gp_index_damage(x, at, x->blocks, "expected a block, found %llu bytes that are none",
			(unsigned long long)(b->file->bytes - at));
	if (x->segments > 0)
		note_unknown(b, &x->segment[x->segments - 1]);
}

static void index_all_kept(struct builder *b)
{
	struct gp_block_walk walk = { .file = b->file,
				      .at = GP_FILE_HEADER,
				      .end = b->file->bytes };
	while (!b->is_out_of_memory && !b->index->is_sealed && gp_block_walk_next(&walk)) {
		if (b->index->blocks == 0)
			b->is_whole = walk.header.segment == 0;
		file_index_add_block(b, &walk);
	}
	check_end(b, walk.at);
}

/* ---- slots ---- */

static int compare_slots(const void *left, const void *right)
{
	const struct gp_part *a = left, *b = right;
	if (a->segment != b->segment)
		return a->segment < b->segment ? -1 : 1;
	return (a->part > b->part) - (a->part < b->part);
}

/*
 * Reads segment and part from the slot's first block. False: never written, or that block is
 * damaged.
 */
static bool read_slot(const struct gp_file *file, uint64_t number, struct gp_part *out)
{
	uint64_t offset = gp_slot_offset(&file->header, number);
	unsigned char bytes[GP_BLOCK_HEADER];
	struct gp_block_header h;
	if (gp_file_read(file, offset, bytes, sizeof bytes) != GP_OK ||
	    gp_block_header_decode(bytes, &h) != GP_OK || h.type != GP_BLOCK_SEGMENT)
		return false;
	uint64_t end = offset + file->header.slot_bytes;
	*out = (struct gp_part){ .offset = offset,
				 .end = end < file->bytes ? end : file->bytes,
				 .segment = h.segment,
				 .part = h.part };
	return true;
}

/* Drops slots at the front whose segment lost its first part: newer slots overwrote it. */
static size_t drop_headless(struct gp_part *slot, size_t slots)
{
	size_t first = 0;
	while (first < slots && slot[first].part != 0)
		first++;
	return first;
}

bool gp_part_is_overwritten(const struct gp_file *file, uint64_t offset, uint32_t segment,
			    uint32_t part)
{
	if (file->header.slots == 0)
		return false;
	struct gp_part now = { 0 };
	return !read_slot(file, (offset - GP_FILE_HEADER) / file->header.slot_bytes, &now) ||
	       now.segment != segment || now.part != part;
}

bool gp_index_is_overwritten(const struct gp_file *file, const struct gp_index *index, size_t which)
{
	const struct gp_segment *s = &index->segment[which];
	for (size_t i = s->part; i < s->part + s->parts && file->header.slots != 0; i++) {
		const struct gp_part *part = &index->part[i];
		if (gp_part_is_overwritten(file, part->offset, part->segment, part->part))
			return true;
	}
	return false;
}

/* True: each indexed slot still begins with the same block as when it was read. */
static bool are_as_found(const struct gp_file *file, const struct gp_part *slot, size_t slots)
{
	for (size_t i = 0; i < slots; i++)
		if (gp_part_is_overwritten(file, slot[i].offset, slot[i].segment, slot[i].part))
			return false;
	return true;
}

static void index_slots(struct builder *b)
{
	const struct gp_file *file = b->file;
	struct gp_part *slot = calloc(file->header.slots, sizeof *slot);
	if (slot == NULL) {
		b->is_out_of_memory = true;
		return;
	}
	size_t slots = 0;
	size_t broken = 0;
	for (uint64_t i = 0; i < file->header.slots; i++) {
		if (read_slot(file, i, &slot[slots]))
			slots++;
		else if (gp_file_is_written(file, gp_slot_offset(&file->header, i),
					    GP_BLOCK_HEADER) &&
			 ++broken)
			gp_index_damage(b->index, gp_slot_offset(&file->header, i), 0,
					"expected the first block of slot %llu",
					(unsigned long long)i);
	}
	qsort(slot, slots, sizeof *slot, compare_slots);
	b->is_whole = slots > 0 && slot[0].segment == 0 && slot[0].part == 0;
	for (size_t i = drop_headless(slot, slots); i < slots && !b->is_out_of_memory; i++) {
		if (i > 0 && slot[i].part != 0 && (slot[i - 1].segment != slot[i].segment))
			gp_index_damage(b->index, slot[i].offset, b->index->blocks,
					"the first part of segment %u is missing", slot[i].segment);
		struct gp_block_walk walk = gp_part_walk(file, &slot[i]);
		while (!b->is_out_of_memory && gp_block_walk_next(&walk)) {
			file_index_add_block(b, &walk);
			if (walk.header.type == GP_BLOCK_END)
				break;
		}
		/* The file still grows in this slot, so no older block lies behind its blocks. */
		if (b->is_whole && slot[i].end - slot[i].offset < file->header.slot_bytes &&
		    walk.header.type != GP_BLOCK_END)
			check_end(b, walk.at);
	}
	/* The owner may be writing a broken first block right now, so read again. */
	b->is_overtaken = (broken > 0 && b->looks < 3) || !are_as_found(file, slot, slots);
	free(slot);
}

enum gp_status gp_index_build(struct gp_file *file, struct gp_index *out)
{
	struct builder b = { .is_overtaken = true };
	*out = (struct gp_index){ 0 };
	for (unsigned i = 0; i < LOOKS_MAX && b.is_overtaken && !b.is_out_of_memory; i++) {
		gp_index_release(out);
		*out = (struct gp_index){ .end = GP_FILE_HEADER };
		b = (struct builder){ .file = file, .index = out, .looks = i };
		struct stat st;
		/* the file may have grown since it was opened */
		if (fstat(file->fd, &st) == 0)
			file->bytes = (uint64_t)st.st_size;
		if (file->is_header_damaged)
			gp_index_damage(out, 0, 0, "%s", gp_damaged_header);
		if (file->header.slots != 0)
			index_slots(&b);
		else
			index_all_kept(&b);
		gp_row_table_release(&b.threads);
	}
	if (out->repeats > 1)
		qsort(out->repeated, out->repeats, sizeof *out->repeated, gp_row_order);
	if (!b.is_out_of_memory)
		return GP_OK;
	gp_index_release(out);
	return GP_E_MEMORY;
}

/* Adds the blocks of one part from `at` to `end`. */
static void index_more(struct builder *b, struct gp_part part, uint64_t at, uint64_t end)
{
	part.end = end;
	struct gp_block_walk walk = gp_part_walk(b->file, &part);
	walk.at = at;
	walk.is_slot = b->file->header.slots != 0;
	while (at < end && !b->is_out_of_memory && gp_block_walk_next(&walk)) {
		file_index_add_block(b, &walk);
		if (walk.is_slot && walk.header.type == GP_BLOCK_END)
			break;
	}
}

bool gp_index_extend(const struct gp_file *file, uint64_t written, struct gp_index *index)
{
	struct builder b = { .file = file, .index = index, .is_extended = true };
	const uint32_t slots = file->header.slots;
	if (index->parts == 0 || written <= GP_FILE_HEADER)
		return false;
	struct gp_part part = index->part[index->parts - 1];
	if (slots == 0) {
		index_more(&b, part, index->end, written);
		return !b.is_out_of_memory;
	}
	/* the byte before the position is in the slot that is being written */
	const uint64_t bytes = file->header.slot_bytes;
	const uint64_t last = (written - 1 - GP_FILE_HEADER) / bytes;
	uint64_t slot = (part.offset - GP_FILE_HEADER) / bytes;
	if (gp_part_is_overwritten(file, part.offset, part.segment, part.part) || last >= slots)
		return false;
	for (uint64_t at = index->end;; at = part.offset) {
		const uint64_t end = part.offset + bytes;
		index_more(&b, part, at, slot == last ? written : end);
		if (slot == last || b.is_out_of_memory)
			break;
		slot = (slot + 1) % slots;
		const struct gp_part before = part;
		if (!read_slot(file, slot, &part) ||
		    (part.segment == before.segment ? part.part != before.part + 1 :
						      part.segment != before.segment + 1))
			return false;
	}
	return !b.is_out_of_memory;
}

void gp_index_release(struct gp_index *index)
{
	free(index->part);
	free(index->segment);
	free(index->damage);
	free(index->repeated);
	*index = (struct gp_index){ 0 };
}

bool gp_index_is_repeated(const struct gp_index *index, uint64_t offset)
{
	return index->repeats != 0 && bsearch(&offset, index->repeated, index->repeats,
					      sizeof offset, gp_row_order) != NULL;
}

size_t gp_index_first(const struct gp_index *index)
{
	for (size_t i = 0; i < index->segments; i++) {
		const struct gp_segment *s = &index->segment[i];
		/* segment 0 needs no checkpoint: there is no state before it */
		if (s->has_begin && (s->has_checkpoint || s->number == 0))
			return i;
	}
	return 0;
}
