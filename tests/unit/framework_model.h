/*
 * A plain model of a caching allocator, and the events that a recorder with allocator details
 * writes of it. It has arenas with whole and with expandable segments, blocks that are freed at
 * once or after other streams, and memory outside. All places are in unsorted lists that are
 * searched from end to end, for comparison with the state that is read back. Shares nothing with
 * libgpuprof/analyze.
 */
#ifndef FRAMEWORK_MODEL_H
#define FRAMEWORK_MODEL_H

#include "recording_writer.h"

#define MIB (1ull << 20)
#define MODEL_ARENAS 7u /* 0 is not used */
#define PAGES 256u	/* of a reservation */

struct model_block {
	uint64_t address, bytes, requested;
	unsigned segment; /* index; UINT32_MAX: in a reservation */
	bool is_pending;
	int64_t at_ns;
	uint32_t stack;
};

struct model_segment {
	uint64_t address, bytes;
	unsigned arena;
	bool is_live;
	uint32_t stack;
};

/* An expandable one: a reservation of an arena, some pages of it mapped. */
struct model_reservation {
	uint64_t address, page_bytes;
	unsigned arena;
	bool is_mapped[PAGES];
};

struct model_outside {
	uint64_t address, bytes;
};

struct model {
	struct model_segment segment[400];
	unsigned segments;
	struct model_reservation reservation[3];
	unsigned reservations;
	struct model_block block[2000];
	unsigned blocks;
	struct model_outside outside[50];
	unsigned outsides;
	uint64_t allocated, reserved, pending;
	uint64_t next_address, next_handle, random, peak_reserved;
};

static uint64_t model_draw(struct model *m, uint64_t below)
{
	m->random ^= m->random << 13;
	m->random ^= m->random >> 7;
	m->random ^= m->random << 17;
	return (m->random >> 11) % below;
}

static void model_put(struct model *m, struct writer *w, struct gp_record r)
{
	put(w, (unsigned)model_draw(m, 4), r);
}

static uint64_t model_take(struct model *m, uint64_t bytes)
{
	uint64_t address = m->next_address;
	m->next_address +=
		(bytes + 2 * MIB - 1) / (2 * MIB) * (2 * MIB) + (model_draw(m, 2) ? 2 * MIB : 0);
	return address;
}

static int64_t model_now_ns(const struct writer *w)
{
	return (int64_t)w->time - 1024;
}

static void model_begin(struct model *m, struct writer *w, uint64_t seed)
{
	*m = (struct model){ .next_address = 0x700000000000,
			     .next_handle = 0x5000,
			     .random = seed * 0x9e3779b97f4a7c15u | 1 };
	put(w, 0,
	    (struct gp_record){
		    .kind = GP_FACT, .aux = GP_FACT_ALLOCATOR_DETAILS, .fact.value = 1 });
	/* 5: private, of a capture; 6: a pool that the job made itself */
	static const uint64_t arena[MODEL_ARENAS][3] = { { 0, 0, 0 },	 { 0, 0, 0 },
							 { 0x77, 0, 0 }, { 0, 0, 0 },
							 { 0x77, 0, 0 }, { 0x88, 1, 0 },
							 { 0, 0, 3 } };
	for (unsigned i = 1; i < MODEL_ARENAS; i++)
		if (i != 5)
			put_definition(w, 0,
				       (struct gp_record){ .kind = GP_ARENA,
							   .aux = i,
							   .arena = { arena[i][0], arena[i][1],
								      arena[i][2], 1 } });
	for (unsigned i = 0; i < 3; i++) {
		static const unsigned of[] = { 3, 4, 3 };
		struct model_reservation *r = &m->reservation[m->reservations++];
		r->arena = of[i];
		r->page_bytes = i == 1 ? 20 * MIB : 2 * MIB;
		r->address = m->next_address; /* the first two touch */
		m->next_address += PAGES * r->page_bytes;
		put(w, 0,
		    (struct gp_record){
			    .kind = GP_ALLOC,
			    .space = GP_SPACE_RESERVATION,
			    .alloc = { .address = r->address, .bytes = PAGES * r->page_bytes } });
	}
}

static void model_block_event(struct model *m, struct writer *w, enum gp_kind kind,
			      const struct model_block *b, unsigned arena)
{
	bool is_alloc = kind == GP_BLOCK_ALLOC;
	m->allocated += is_alloc ? b->bytes : 0 - b->bytes;
	m->peak_reserved = m->reserved > m->peak_reserved ? m->reserved : m->peak_reserved;
	model_put(m, w,
		  (struct gp_record){
			  .kind = (uint16_t)kind,
			  .space = GP_SPACE_BLOCK,
			  .code = (uint16_t)arena,
			  .stack = is_alloc ? b->stack : 0,
			  .aux = is_alloc ? (uint32_t)(1 + b->bytes - b->requested) : b->is_pending,
			  .block_alloc = { b->address, b->bytes, m->allocated, m->reserved } });
}

static void model_add_block(struct model *m, struct writer *w, uint64_t address, uint64_t bytes,
			    unsigned segment, unsigned arena)
{
	struct model_block *b = &m->block[m->blocks++];
	*b = (struct model_block){ .address = address,
				   .bytes = bytes,
				   .requested = bytes - model_draw(m, 512),
				   .segment = segment,
				   .stack = (uint32_t)(1 + model_draw(m, 9)) };
	model_block_event(m, w, GP_BLOCK_ALLOC, b, arena);
	b->at_ns = model_now_ns(w);
}

/* Free bytes from `address` on, up to `limit`. */
static uint64_t model_room(const struct model *m, uint64_t address, uint64_t limit)
{
	for (unsigned i = 0; i < m->blocks; i++) {
		const struct model_block *b = &m->block[i];
		if (address - b->address < b->bytes)
			return 0;
		if (b->address > address && b->address < limit)
			limit = b->address;
	}
	return limit - address;
}

static void model_new_segment(struct model *m, struct writer *w, unsigned arena)
{
	bool is_small = model_draw(m, 2) == 0;
	uint64_t bytes = is_small ? 2 * MIB : 20 * MIB + 2 * MIB * model_draw(m, 4);
	struct model_segment *s = &m->segment[m->segments++];
	*s = (struct model_segment){ .address = model_take(m, bytes),
				     .bytes = bytes,
				     .arena = arena,
				     .is_live = true,
				     .stack = (uint32_t)(20 + model_draw(m, 5)) };
	model_put(m, w,
		  (struct gp_record){
			  .kind = GP_ALLOC,
			  .space = GP_SPACE_DEVICE,
			  .stack = s->stack,
			  .alloc = { .address = s->address, .bytes = bytes, .owner = 0xc0 } });
	model_put(m, w,
		  (struct gp_record){ .kind = GP_SEGMENT_ALLOC,
				      .code = (uint16_t)arena,
				      .stack = s->stack,
				      .segment_alloc = { s->address, bytes, 0, 0 } });
	m->reserved += bytes;
	model_add_block(m, w, s->address, 512 * (1 + model_draw(m, bytes / 1024)), m->segments - 1,
			arena);
}

static void model_map(struct model *m, struct writer *w, struct model_reservation *r)
{
	unsigned from = (unsigned)model_draw(m, 24), count = 1 + (unsigned)model_draw(m, 3);
	for (unsigned i = from; i < from + count; i++)
		if (r->is_mapped[i])
			return;
	uint64_t address = r->address + from * r->page_bytes;
	for (unsigned i = 0; i < count; i++) {
		uint64_t handle = m->next_handle++;
		r->is_mapped[from + i] = true;
		model_put(m, w,
			  (struct gp_record){
				  .kind = GP_ALLOC,
				  .space = GP_SPACE_PHYSICAL,
				  .alloc = { .address = handle, .bytes = r->page_bytes } });
		model_put(m, w,
			  (struct gp_record){ .kind = GP_MAP,
					      .space = GP_SPACE_MAPPED,
					      .map = { .address = address + i * r->page_bytes,
						       .bytes = r->page_bytes,
						       .handle = handle } });
		model_put(m, w,
			  (struct gp_record){ .kind = GP_FREE,
					      .space = GP_SPACE_PHYSICAL,
					      .free.address = handle });
	}
	model_put(m, w,
		  (struct gp_record){ .kind = GP_SEGMENT_MAP,
				      .code = (uint16_t)r->arena,
				      .segment_map = { address, count * r->page_bytes, 0, 0 } });
	m->reserved += count * r->page_bytes;
	model_add_block(m, w, address, 512 * (1 + model_draw(m, r->page_bytes / 512)), UINT32_MAX,
			r->arena);
}

static void model_unmap(struct model *m, struct writer *w, struct model_reservation *r)
{
	unsigned page = (unsigned)model_draw(m, 26), count = 0;
	uint64_t address = r->address + page * r->page_bytes;
	for (unsigned i = 0; i < m->blocks; i++)
		if (m->block[i].address + m->block[i].bytes > address &&
		    m->block[i].address < address + r->page_bytes)
			return;
	if (!r->is_mapped[page])
		return;
	count = 1;
	r->is_mapped[page] = false;
	m->reserved -= r->page_bytes;
	model_put(m, w,
		  (struct gp_record){ .kind = GP_UNMAP,
				      .space = GP_SPACE_MAPPED,
				      .unmap = { address, count * r->page_bytes, 0, 0 } });
	model_put(m, w,
		  (struct gp_record){ .kind = GP_SEGMENT_UNMAP,
				      .code = (uint16_t)r->arena,
				      .segment_unmap = { address, count * r->page_bytes, 0, 0 } });
}

static void model_reuse(struct model *m, struct writer *w)
{
	bool is_whole = m->segments > 0 && model_draw(m, 2) == 0;
	uint64_t base, limit;
	unsigned segment = UINT32_MAX, arena;
	if (is_whole) {
		segment = (unsigned)model_draw(m, m->segments);
		const struct model_segment *s = &m->segment[segment];
		if (!s->is_live)
			return;
		base = s->address;
		limit = base + s->bytes;
		arena = s->arena;
	} else {
		struct model_reservation *r = &m->reservation[model_draw(m, m->reservations)];
		unsigned page = (unsigned)model_draw(m, 26);
		if (!r->is_mapped[page])
			return;
		base = r->address + page * r->page_bytes;
		for (limit = base; r->is_mapped[page]; page++)
			limit += r->page_bytes;
		arena = r->arena;
	}
	uint64_t address = base + 512 * model_draw(m, (limit - base) / 512);
	uint64_t room = model_room(m, address, limit);
	if (room >= 512)
		model_add_block(m, w, address, 512 * (1 + model_draw(m, room / 512)), segment,
				arena);
}

static void model_drop_block(struct model *m, struct writer *w, unsigned at)
{
	struct model_block *b = &m->block[at];
	if (b->is_pending) {
		m->pending -= b->bytes;
		model_put(m, w,
			  (struct gp_record){ .kind = GP_BLOCK_COMPLETED,
					      .block_completed.address = b->address });
	} else {
		b->is_pending = model_draw(m, 4) == 0;
		m->pending += b->is_pending ? b->bytes : 0;
		model_block_event(m, w, GP_BLOCK_FREE, b, 0);
		if (b->is_pending)
			return;
	}
	*b = m->block[--m->blocks];
}

static void model_drop_segment(struct model *m, struct writer *w, unsigned at)
{
	struct model_segment *s = &m->segment[at];
	if (!s->is_live || model_room(m, s->address, s->address + s->bytes) != s->bytes)
		return;
	s->is_live = false;
	m->reserved -= s->bytes;
	model_put(m, w,
		  (struct gp_record){ .kind = GP_SEGMENT_FREE,
				      .code = (uint16_t)s->arena,
				      .segment_free = { s->address, s->bytes, 0, 0 } });
	model_put(m, w,
		  (struct gp_record){
			  .kind = GP_FREE, .space = GP_SPACE_DEVICE, .free.address = s->address });
}

static void model_outside(struct model *m, struct writer *w)
{
	if (m->outsides < 50 && model_draw(m, 2) == 0) {
		struct model_outside *o = &m->outside[m->outsides++];
		o->bytes = 4096 * (1 + model_draw(m, 5000));
		o->address = model_take(m, o->bytes);
		model_put(m, w,
			  (struct gp_record){
				  .kind = GP_ALLOC,
				  .space = GP_SPACE_ASYNC,
				  .alloc = { .address = o->address, .bytes = o->bytes } });
	} else if (m->outsides > 0) {
		struct model_outside *o = &m->outside[model_draw(m, m->outsides)];
		model_put(m, w,
			  (struct gp_record){ .kind = GP_FREE,
					      .space = GP_SPACE_ASYNC,
					      .free.address = o->address });
		*o = m->outside[--m->outsides];
	}
}

static void model_step(struct model *m, struct writer *w)
{
	uint64_t choice = model_draw(m, 100);
	unsigned arena = (unsigned[]){ 1, 1, 2, 6 }[model_draw(m, 4)];
	if (choice < 4 && m->segments < 390)
		model_new_segment(m, w, arena);
	else if (choice < 8)
		model_map(m, w, &m->reservation[model_draw(m, m->reservations)]);
	else if (choice < 12)
		model_unmap(m, w, &m->reservation[model_draw(m, m->reservations)]);
	else if (choice < 16 && m->segments > 0)
		model_drop_segment(m, w, (unsigned)model_draw(m, m->segments));
	else if (choice < 20)
		model_outside(m, w);
	else if (choice < 54 && m->blocks < 1900)
		model_reuse(m, w);
	else if (m->blocks > 0)
		model_drop_block(m, w, (unsigned)model_draw(m, m->blocks));
}

/* ---- what is read back ---- */

/* The mapped run around a page that is mapped. */
static void model_run(const struct model_reservation *r, unsigned page, uint64_t *address,
		      uint64_t *bytes)
{
	unsigned from = page, to = page;
	while (from > 0 && r->is_mapped[from - 1])
		from--;
	while (to < PAGES && r->is_mapped[to])
		to++;
	*address = r->address + from * r->page_bytes;
	*bytes = (to - from) * r->page_bytes;
}

static const struct model_segment *model_whole(const struct model *m, uint64_t address)
{
	for (unsigned i = 0; i < m->segments; i++)
		if (m->segment[i].is_live && m->segment[i].address == address)
			return &m->segment[i];
	return NULL;
}

static const struct model_reservation *model_reserved(const struct model *m, uint64_t address)
{
	for (unsigned i = 0; i < m->reservations; i++)
		if (address - m->reservation[i].address < PAGES * m->reservation[i].page_bytes)
			return &m->reservation[i];
	return NULL;
}

static const struct model_block *model_find_block(const struct model *m, uint64_t address)
{
	for (unsigned i = 0; i < m->blocks; i++)
		if (m->block[i].address == address)
			return &m->block[i];
	return NULL;
}

static inline void assert_blocks(const struct model *m, const struct gp_memory *memory,
				 const struct gp_memory_segment *s, unsigned *blocks)
{
	uint64_t at = s->address;
	bool was_free = false;
	for (size_t i = s->first; i < s->first + s->blocks; i++) {
		const struct gp_memory_block *b = &memory->block[i];
		const struct model_block *is = model_find_block(m, b->address);
		assert_int_equal(b->address, at);
		assert_true(b->bytes > 0);
		at += b->bytes;
		if (is == NULL) {
			assert_int_equal(b->state, GP_STATE_FREE);
			assert_false(was_free); /* neighbouring gaps are one gap */
			was_free = true;
			continue;
		}
		was_free = false;
		++*blocks;
		assert_int_equal(b->bytes, is->bytes);
		assert_int_equal(b->state, is->is_pending ? GP_STATE_PENDING : GP_STATE_ALLOCATED);
		assert_int_equal(b->requested_bytes, is->requested);
		assert_int_equal(b->at_ns, is->at_ns);
		assert_int_equal(b->stack, is->stack);
	}
	assert_int_equal(at, s->address + s->bytes);
}

static inline void assert_segment(const struct model *m, const struct gp_memory *memory,
				  const struct gp_memory_segment *s)
{
	const struct model_reservation *in = model_reserved(m, s->address);
	uint64_t address = 0, bytes = 0;
	unsigned arena;
	assert_int_equal(s->is_expandable, in != NULL);
	if (in != NULL) {
		model_run(in, (unsigned)((s->address - in->address) / in->page_bytes), &address,
			  &bytes);
		arena = in->arena;
		assert_int_equal(s->is_small, in->page_bytes == 2 * MIB);
	} else {
		const struct model_segment *is = model_whole(m, s->address);
		assert_non_null(is);
		address = is->address;
		bytes = is->bytes;
		arena = is->arena;
		assert_int_equal(s->stack, is->stack);
		assert_int_equal(s->is_small, is->bytes == 2 * MIB);
	}
	assert_int_equal(s->address, address);
	assert_int_equal(s->bytes, bytes);
	const struct gp_arena *a = &memory->arena[s->arena];
	assert_true(a->is_known && a->has_pool);
	static const uint64_t stream[] = { 0, 0, 0x77, 0, 0x77, 0x88, 0 };
	assert_int_equal(a->stream, stream[arena]);
	assert_int_equal(a->pool, arena == 5);
	assert_int_equal(a->user_pool, arena == 6 ? 3 : 0);
}

/* The state that is read back equals the model, in both directions. */
static inline void assert_memory(const struct model *m, const struct gp_memory *memory)
{
	unsigned blocks = 0;
	uint64_t reserved = 0, outside = 0, active = 0, requested = 0;
	for (size_t i = 0; i < memory->segments; i++) {
		const struct gp_memory_segment *s = &memory->segment[i];
		assert_true(i == 0 || s->address >= s[-1].address + s[-1].bytes);
		assert_segment(m, memory, s);
		assert_blocks(m, memory, s, &blocks);
		reserved += s->bytes;
		active += s->active_bytes;
		requested += s->requested_bytes;
	}
	assert_int_equal(blocks, m->blocks);
	assert_int_equal(reserved, m->reserved);
	assert_int_equal(active, m->allocated + m->pending);
	for (size_t i = 0; i < memory->outsides; i++) {
		const struct gp_memory_outside *o = &memory->outside[i];
		unsigned k = 0;
		while (k < m->outsides && m->outside[k].address != o->address)
			k++;
		assert_true(k < m->outsides);
		assert_int_equal(o->bytes, m->outside[k].bytes);
		assert_true(i == 0 || o[-1].bytes >= o->bytes);
		outside += o->bytes;
	}
	assert_int_equal(memory->outsides, m->outsides);
	assert_int_equal(memory->devices, 1);
	const struct gp_memory_device *d = &memory->device[0];
	assert_int_equal(d->reserved_bytes, m->reserved);
	assert_int_equal(d->allocated_bytes, m->allocated);
	assert_int_equal(d->active_bytes, m->allocated + m->pending);
	assert_int_equal(d->requested_bytes, requested);
	assert_int_equal(d->driver_bytes, reserved + outside);
	assert_int_equal(d->segments, memory->segments);
	assert_int_equal(d->outsides, memory->outsides);
	assert_true(memory->has_allocator_details);
	assert_false(memory->is_uncertain);
	assert_null(memory->caveat);
}

#endif
