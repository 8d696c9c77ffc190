/*
 * The events of one segment in order: a heap over threads, with one decoded block for each thread
 * in it. A block is decoded when its first event is due and freed after its last. So memory grows
 * with the number of threads whose blocks overlap.
 *
 * The key is 2 * order + 1 for MEMORY and 2 * order for the rest; ties by time, then thread.
 */
#include <stdlib.h>
#include <string.h>

#include "../tables/array.h"
#include "block_list.h"
#include "merge_heap.h"
#include "read_ahead.h"
#include "recording.h"

/* With fewer blocks a second thread costs more than it saves. */
#define AHEAD_BLOCKS_MIN 16u
/* Each block that is queued needs a look at all streams. */
#define AHEAD_STREAMS_MOST 64u

struct gp_merge {
	struct gp_block_list list; /* of the segment */
	struct gp_definitions_index *definitions;
	struct gp_block_room room;
	struct gp_read_ahead *ahead; /* NULL: blocks are decoded when they are due */
	struct stream *heap;
	size_t streams, stream_room;
	struct plain *pool;
	size_t wholes;	   /* number of buffers of whole blocks, without the pool */
	uint64_t window;   /* slots of each other buffer; it may have a few more */
	bool has_current;  /* gp_merge_next returned the first stream's record */
	uint64_t failures; /* number of blocks that could not be decoded */
	struct {
		void (*visit)(void *context, uint64_t done, uint64_t bytes, unsigned pass);
		void *context;
		uint64_t done;
		unsigned passes;
	} watch;
	bool is_overtaken;
	bool is_out_of_memory;
};

struct gp_merge *gp_merge_open(const struct gp_file *file, struct gp_index *index,
			       struct gp_definitions_index *definitions)
{
	struct gp_merge *m = calloc(1, sizeof *m);
	if (m == NULL)
		return NULL;
	m->list.file = file;
	m->list.index = index;
	m->definitions = definitions;
	if (gp_block_room_open_decoder(&m->room))
		return m;
	gp_merge_close(m);
	return NULL;
}

static void give_back(struct gp_merge *m, struct stream *s)
{
	struct plain *plain = s->plain;
	s->plain = NULL;
	if (plain == NULL)
		return;
	if (plain->room < GP_BLOCK_RECORDS) {
		free(plain);
		return;
	}
	m->wholes--;
	plain->next = m->pool;
	m->pool = plain;
}

static void drop_queued(struct gp_merge *m)
{
	struct stream queued = { 0 };
	while ((queued.plain = gp_ahead_drop(m->ahead)) != NULL)
		give_back(m, &queued);
}

static void drop_streams(struct gp_merge *m)
{
	drop_queued(m);
	for (size_t i = 0; i < m->streams; i++)
		give_back(m, &m->heap[i]);
	m->streams = 0;
}

void gp_merge_close(struct gp_merge *m)
{
	if (m == NULL)
		return;
	drop_streams(m);
	gp_ahead_close(m->ahead);
	while (m->pool != NULL) {
		struct plain *next = m->pool->next;
		free(m->pool);
		m->pool = next;
	}
	free(m->heap);
	free(m->list.block);
	gp_block_room_release(&m->room);
	free(m);
}

uint64_t gp_merge_failures(const struct gp_merge *m)
{
	return m->failures;
}

bool gp_merge_is_out_of_memory(const struct gp_merge *m)
{
	return m->is_out_of_memory;
}

bool gp_merge_is_overtaken(const struct gp_merge *m)
{
	return m->is_overtaken;
}

void gp_merge_forget_overtaken(struct gp_merge *m)
{
	m->is_overtaken = false;
}

/* Ends this segment: its owner overwrites it. */
static void overtake(struct gp_merge *m)
{
	m->is_overtaken = true;
	drop_streams(m);
	m->has_current = false;
	m->list.blocks = 0;
}

/*
 * True: the block may be incomplete because its writer was killed. In a slot that was used before,
 * the rest is part of an older block. In a file that grew, the file ends there instead.
 */
static bool is_tail(const struct gp_merge *m, uint64_t offset)
{
	const struct gp_file_header *h = &m->list.file->header;
	if (offset != m->list.index->last_block || m->list.index->is_sealed || h->slots == 0)
		return false;
	const struct gp_segment *first = &m->list.index->segment[0];
	if (first->number != 0 || !first->has_begin)
		return true;
	return gp_slot_offset(h, (offset - GP_FILE_HEADER) / h->slot_bytes + 1) <=
	       m->list.file->bytes;
}

/*
 * A thread may use a range name a moment before the record of another thread that defines it.
 * Memory accesses and clock reads of two threads are not ordered. So names are learned when their
 * block is decoded. Only a block with texts has more slots than records.
 */
static void learn_range_names(struct gp_merge *m, const struct gp_record *record, uint64_t slots)
{
	for (uint64_t k = 0; k < slots; k += 1u + record[k].extra)
		if (record[k].kind == GP_RANGE_NAME &&
		    gp_defined_add(m->definitions, &record[k]) != GP_OK)
			m->is_out_of_memory = true;
}

/*
 * After a block was decoded. One that cannot be decoded is damage, unless its owner died while
 * writing it.
 */
static enum gp_status see_decoded(struct gp_merge *m, const struct gp_block_ref *ref,
				  const struct gp_record *out, enum gp_status status,
				  uint64_t *slots)
{
	const struct gp_block_header *h = &ref->header;
	if (status == GP_OK && *slots > h->records)
		learn_range_names(m, out, *slots);
	if (status == GP_OK)
		return GP_OK;
	*slots = 0;
	/* Test its own part only: a file may have thousands of parts, each with such blocks. */
	if (gp_part_is_overwritten(m->list.file, ref->offset, h->segment, h->part)) {
		m->is_overtaken = true;
		return status;
	}
	if (is_tail(m, ref->offset))
		return status;
	m->failures++;
	m->list.index->segment[m->list.which].is_damaged = true;
	uint64_t to = h->last_order != 0 ? h->last_order : 1;
	if (to > m->list.index->missing_to)
		m->list.index->missing_to = to;
	if (h->segment > m->list.index->missing_segment)
		m->list.index->missing_segment = h->segment;
	gp_index_damage(m->list.index, ref->offset, h->sequence,
			gp_file_allows_block(m->list.file, h) ?
				"the %u records of this block of thread %u do not decode" :
				"the %u records of this block of thread %u have fewer bytes "
				"than format 1.7 requires",
			h->records, h->thread);
	return status;
}

static enum gp_status decode(struct gp_merge *m, const struct gp_block_ref *ref,
			     struct gp_record *out, uint64_t *slots)
{
	enum gp_status status =
		gp_file_decode(m->list.file, ref->offset, &ref->header, &m->room, out, slots);
	return see_decoded(m, ref, out, status, slots);
}

static struct plain *plain_open(size_t room)
{
	struct plain *plain = malloc(sizeof *plain + room * sizeof(struct gp_record));
	if (plain != NULL)
		plain->room = room;
	return plain;
}

/* A buffer for a whole block. */
static struct plain *take_plain(struct gp_merge *m)
{
	struct plain *plain = m->pool;
	if (plain != NULL)
		m->pool = plain->next;
	else
		plain = plain_open(GP_BLOCK_RECORDS);
	m->wholes += plain != NULL;
	return plain;
}

/* ---- one segment's blocks ---- */

static enum gp_status collect_more(struct gp_merge *m, enum gp_block_type type)
{
	if (!gp_block_list_add(&m->list, type))
		return GP_E_MEMORY;
	if (gp_index_is_overwritten(m->list.file, m->list.index, m->list.which))
		overtake(m);
	return GP_OK;
}

static enum gp_status collect(struct gp_merge *m, size_t which, enum gp_block_type type)
{
	gp_block_list_begin(&m->list, which);
	return collect_more(m, type);
}

static void set_key(struct stream *s)
{
	const struct gp_record *r = &s->plain->record[s->at];
	bool is_memory = r->kind < GP_KINDS && gp_event_infos[r->kind].class == GP_CLASS_MEMORY;
	s->key = 2 * r->order + is_memory;
	s->time = r->time;
}

/* The lower bound of a block that is not decoded yet: no event in it is earlier. */
static void set_lower_bound(const struct gp_merge *m, struct stream *s)
{
	s->key = 2 * m->list.block[s->block].header.first_order;
	s->time = 0;
}

static bool add_stream(struct gp_merge *m, size_t first, size_t last)
{
	if (!gp_array_reserve(&m->heap, &m->stream_room, m->streams, 1, sizeof *m->heap))
		return false;
	struct stream *s = &m->heap[m->streams++];
	*s = (struct stream){ .thread = m->list.block[first].header.thread,
			      .block = first,
			      .blocks = last };
	set_lower_bound(m, s);
	return true;
}

/* A stream for each thread in m->list.block, in the order of threads. */
static enum gp_status make_streams(struct gp_merge *m)
{
	gp_block_list_sort(&m->list);
	for (size_t i = 0, first = 0; i < m->list.blocks; i++) {
		if (i + 1 < m->list.blocks &&
		    m->list.block[i + 1].header.thread == m->list.block[first].header.thread)
			continue;
		if (!add_stream(m, first, i + 1))
			return GP_E_MEMORY;
		first = i + 1;
	}
	m->window = window_of(m->streams);
	if (m->ahead == NULL && m->list.blocks >= AHEAD_BLOCKS_MIN &&
	    m->streams <= AHEAD_STREAMS_MOST)
		m->ahead = gp_ahead_open(m->list.file);
	return GP_OK;
}

enum gp_status gp_merge_begin_at(struct gp_merge *m, size_t which, const struct gp_merge_at *at,
				 size_t count)
{
	drop_streams(m);
	m->has_current = false;
	if (m->is_overtaken)
		return GP_OK;
	enum gp_status status = collect(m, which, GP_BLOCK_EVENTS);
	if (status == GP_OK)
		status = make_streams(m);
	/* both are in the order of threads, and a thread without a place was read to its end */
	const size_t all = at != NULL && status == GP_OK ? m->streams : 0;
	m->streams -= all;
	for (size_t i = 0, k = 0; i < all && k < count; i++) {
		struct stream s = m->heap[i];
		if (s.thread != at[k].thread)
			continue;
		while (s.block + 1 < s.blocks && m->list.block[s.block].offset != at[k].offset)
			s.block++;
		s.behind = at[k++].slot;
		set_lower_bound(m, &s);
		m->heap[m->streams++] = s;
	}
	if (status == GP_OK)
		heapify(m->heap, m->streams);
	return status;
}

size_t gp_merge_at(const struct gp_merge *m, struct gp_merge_at *out, size_t room)
{
	for (size_t i = 0; i < m->streams && i < room; i++) {
		const struct stream *s = &m->heap[i];
		const uint64_t read = s->plain != NULL ? s->at : 0;
		out[i] = (struct gp_merge_at){ m->list.block[s->block].offset, s->behind + read,
					       s->thread };
		if (i == 0 && m->has_current)
			out[i].slot += 1u + s->plain->record[read].extra;
	}
	return m->streams;
}

static int compare_threads(const void *left, const void *right)
{
	const struct stream *a = left, *b = right;
	return (a->thread > b->thread) - (a->thread < b->thread);
}

static enum gp_status visit_blocks(struct gp_merge *m, size_t from,
				   enum gp_status (*visit)(void *, const struct gp_record *),
				   void *context)
{
	enum gp_status status = GP_OK;
	for (size_t i = from; i < m->list.blocks && status == GP_OK && !m->is_overtaken; i++) {
		uint64_t slots;
		const struct gp_record *record = m->room.record;
		decode(m, &m->list.block[i], m->room.record, &slots);
		for (uint64_t at = 0; at < slots && status == GP_OK; at += 1u + record[at].extra)
			status = visit(context, &record[at]);
	}
	return status;
}

static enum gp_status merge_learn(void *definitions, const struct gp_record *record)
{
	return gp_defined_add(definitions, record);
}

/* Adds the definitions behind m->list.collected, such as stacks of events that follow them. */
static enum gp_status learn_more(struct gp_merge *m)
{
	const struct gp_block_list before = m->list;
	enum gp_status status = collect_more(m, GP_BLOCK_DEFINE);
	if (status == GP_OK)
		status = visit_blocks(m, before.blocks, merge_learn, m->definitions);
	gp_block_list_back(&m->list, &before);
	return status;
}

enum gp_status gp_merge_extend(struct gp_merge *m)
{
	m->has_current = false;
	drop_queued(m);
	const size_t olds = m->streams;
	struct stream *old = malloc((olds + 1) * sizeof *old);
	if (old == NULL)
		return GP_E_MEMORY;
	if (olds > 0) {
		memcpy(old, m->heap, olds * sizeof *old);
		qsort(old, olds, sizeof *old, compare_threads);
	}
	m->streams = 0; /* `old` has their records until they are made again */
	m->list.blocks = 0;
	for (size_t k = 0; k < olds; k++) /* the unread ones move to the front */
		for (size_t i = old[k].block; i < old[k].blocks; i++)
			m->list.block[m->list.blocks++] = m->list.block[i];
	enum gp_status status = learn_more(m);
	if (status == GP_OK)
		status = collect_more(m, GP_BLOCK_EVENTS);
	if (status == GP_OK)
		status = make_streams(m);
	/* both are in the order of threads, and each old one has a block that is not read */
	for (size_t i = 0, k = 0; k < olds; k++) {
		while (i < m->streams && m->heap[i].thread < old[k].thread)
			i++;
		if (status != GP_OK || i == m->streams || m->heap[i].thread != old[k].thread) {
			give_back(m, &old[k]);
			continue;
		}
		old[k].block = m->heap[i].block;
		old[k].ahead = 0;
		old[k].blocks = m->heap[i].blocks;
		m->heap[i] = old[k];
	}
	free(old);
	heapify(m->heap, m->streams);
	return status;
}

void gp_merge_watch(struct gp_merge *m,
		    void (*visit)(void *context, uint64_t done, uint64_t bytes, unsigned pass),
		    void *context)
{
	m->watch.visit = visit;
	m->watch.context = context;
}

void gp_merge_count_pass(struct gp_merge *m)
{
	m->watch.done = 0;
}

static void count_progress(struct gp_merge *m, const struct gp_block_header *used)
{
	m->watch.passes += m->watch.done == 0;
	m->watch.done += GP_BLOCK_HEADER + used->stored_bytes;
	m->watch.visit(m->watch.context, m->watch.done, m->list.file->bytes, m->watch.passes);
}

/*
 * After the last record of the first stream's block: goes to its next block, or removes the stream
 * from the heap.
 */
static void leave_block(struct gp_merge *m)
{
	struct stream *s = &m->heap[0];
	give_back(m, s);
	s->behind = 0;
	if (m->watch.visit != NULL)
		count_progress(m, &m->list.block[s->block].header);
	if (++s->block < s->blocks)
		set_lower_bound(m, s);
	else
		m->heap[0] = m->heap[--m->streams];
	if (m->streams > 0)
		sift_down(m->heap, m->streams, 0);
}

/*
 * Copies the next whole records of a block with `slots` slots, from s->behind on. False: out of
 * memory.
 */
static bool take_window(struct stream *s, const struct gp_record *from, uint64_t slots,
			uint64_t window)
{
	const struct gp_record *record = &from[s->behind];
	uint64_t most = slots - s->behind, n = 0;
	do
		n += 1u + record[n].extra;
	while (n < most && n < window);
	s->plain = plain_open(n);
	if (s->plain == NULL)
		return false;
	memcpy(s->plain->record, record, n * sizeof *record);
	s->slots = n;
	s->has_more = n < most;
	return true;
}

/* Of all blocks that are not queued, those with the lowest orders come next. */
static void queue_ahead(struct gp_merge *m)
{
	while (m->streams <= AHEAD_STREAMS_MOST && gp_ahead_has_room(m->ahead)) {
		struct stream *first = NULL;
		for (size_t i = 0; i < m->streams; i++) {
			struct stream *s = &m->heap[i];
			size_t next = s->block + (s->plain != NULL);
			s->ahead = s->ahead > next ? s->ahead : next;
			if (s->ahead < s->blocks &&
			    (first == NULL ||
			     m->list.block[s->ahead].header.first_order <
				     m->list.block[first->ahead].header.first_order))
				first = s;
		}
		struct plain *plain = first != NULL ? take_plain(m) : NULL;
		if (plain == NULL)
			return;
		gp_ahead_queue(m->ahead, &m->list.block[first->ahead++], plain->record, plain);
	}
}

/* Decodes the next records of the first stream: the rest of its block, or a window. */
static bool merge_fill(struct gp_merge *m, struct stream *s)
{
	const struct gp_block_ref *ref = &m->list.block[s->block];
	enum gp_status status;
	void *plain;
	uint64_t slots;
	s->at = s->slots = 0;
	s->has_more = false;
	if (gp_ahead_take(m->ahead, ref, &m->room, &status, &slots, &plain)) {
		s->plain = plain;
		see_decoded(m, ref, s->plain->record, status, &slots);
	} else if (m->wholes >= WHOLES_MAX) {
		decode(m, ref, m->room.record, &slots);
		return slots <= s->behind || take_window(s, m->room.record, slots, m->window);
	} else if ((s->plain = take_plain(m)) != NULL) {
		decode(m, ref, s->plain->record, &slots);
	} else {
		return false;
	}
	queue_ahead(m);
	if (slots <= s->behind)
		return true;
	s->at = s->behind;
	s->behind = 0;
	s->slots = slots;
	return true;
}

static void enter_block(struct gp_merge *m)
{
	struct stream *s = &m->heap[0];
	if (!merge_fill(m, s)) {
		m->is_out_of_memory = true;
		drop_streams(m);
		return;
	}
	if (m->is_overtaken) {
		overtake(m);
		return;
	}
	if (s->slots == 0) {
		leave_block(m);
		return;
	}
	set_key(s);
	sift_down(m->heap, m->streams, 0);
}

/* The window is read, its block is not. */
static void leave_window(struct gp_merge *m)
{
	struct stream *s = &m->heap[0];
	s->behind += s->slots;
	give_back(m, s);
	enter_block(m);
}

static void leave_record(struct gp_merge *m)
{
	struct stream *s = &m->heap[0];
	s->at += 1u + s->plain->record[s->at].extra;
	if (s->at >= s->slots && s->has_more) {
		leave_window(m);
		return;
	}
	if (s->at >= s->slots) {
		leave_block(m);
		return;
	}
	set_key(s);
	/* most events follow an event of the same thread */
	if ((m->streams > 1 && is_before(&m->heap[1], s)) ||
	    (m->streams > 2 && is_before(&m->heap[2], s)))
		sift_down(m->heap, m->streams, 0);
}

const struct gp_record *gp_merge_next(struct gp_merge *m, uint32_t *thread)
{
	if (m->has_current)
		leave_record(m);
	while (m->streams > 0 && m->heap[0].plain == NULL)
		enter_block(m);
	m->has_current = m->streams > 0;
	if (!m->has_current)
		return NULL;
	struct stream *s = &m->heap[0];
	*thread = s->thread;
	return &s->plain->record[s->at];
}

enum gp_status gp_merge_visit(struct gp_merge *m, size_t which, enum gp_block_type type,
			      enum gp_status (*visit)(void *context, const struct gp_record *),
			      void *context)
{
	if (m->is_overtaken)
		return GP_OK;
	enum gp_status status = collect(m, which, type);
	if (status == GP_OK)
		status = visit_blocks(m, 0, visit, context);
	if (m->is_overtaken)
		overtake(m);
	return status;
}
