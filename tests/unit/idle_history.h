/*
 * Random histories of blocks that launches and copies use, as a recording and as a model. The model
 * has each block's life with all uses: their moments, and the number of launches by then.
 */
#ifndef IDLE_HISTORY_H
#define IDLE_HISTORY_H

#include "recording_writer.h"

#define SEGMENT 0x7000000000ull
#define SEGMENT_BYTES (256ull << 20)
#define PLACES 256u
#define PLACE_BYTES (SEGMENT_BYTES / PLACES)
#define STACKS 7u
#define LIVES 20000u
#define USES_MAX 4000000u

/* ---- the model ---- */

struct life {
	uint64_t bytes, born, freed; /* launches by then */
	int64_t born_ns, freed_ns;
	uint64_t order, end_order; /* of events: which lived at once */
	/* the uses of this life in `moment`: index and number, set when the history ends */
	size_t first_use, uses;
	uint32_t stack;
	bool is_freed;
};
struct moment {
	uint32_t life;
	uint64_t launches, order;
};

static struct {
	struct life life[LIVES];
	size_t lives, now[PLACES]; /* 1 + life */
	struct moment *moment;
	size_t moments;
	uint64_t launches, events, allocated, peak_bytes, peak_order, resolved, copies_resolved;
	uint64_t unseen; /* of the moments */
} model;

static inline struct gp_record launched(uint64_t extra_bits)
{
	return (struct gp_record){ .kind = GP_LAUNCH,
				   .launch = { .kernel = 0xabc,
					       .block = (GP_LAUNCH_SCANNED | extra_bits) << 48 } };
}

static inline int64_t now_ns(const struct writer *w)
{
	return (int64_t)w->time - 1024;
}

static inline void model_alloc(struct writer *w, unsigned place, uint64_t bytes, uint32_t stack)
{
	model.allocated += bytes;
	put(w, 0,
	    (struct gp_record){ .kind = GP_BLOCK_ALLOC,
				.stack = stack,
				.block_alloc = { SEGMENT + place * PLACE_BYTES, bytes,
						 model.allocated, SEGMENT_BYTES } });
	model.events++;
	assert_true(model.lives < LIVES);
	model.life[model.lives] = (struct life){ .bytes = bytes,
						 .born = model.launches,
						 .born_ns = now_ns(w),
						 .order = model.events,
						 .stack = stack };
	model.now[place] = ++model.lives;
	if (model.allocated > model.peak_bytes) {
		model.peak_bytes = model.allocated;
		model.peak_order = model.events;
	}
}

static inline void model_free(struct writer *w, unsigned place)
{
	struct life *l = &model.life[model.now[place] - 1];
	model.allocated -= l->bytes;
	put(w, 0,
	    (struct gp_record){ .kind = GP_BLOCK_FREE,
				.block_free = { SEGMENT + place * PLACE_BYTES, l->bytes,
						model.allocated, SEGMENT_BYTES } });
	model.events++;
	l->is_freed = true;
	l->freed = model.launches;
	l->freed_ns = now_ns(w);
	l->end_order = model.events;
	model.now[place] = 0;
}

/* False: the address is not in a live block. */
static inline bool model_use(uint64_t address)
{
	if (address - SEGMENT >= SEGMENT_BYTES)
		return false;
	unsigned place = (unsigned)((address - SEGMENT) / PLACE_BYTES);
	size_t life = model.now[place];
	if (!life || (address - SEGMENT) % PLACE_BYTES >= model.life[life - 1].bytes)
		return false;
	assert_true(model.moments < USES_MAX);
	model.moment[model.moments++] =
		(struct moment){ (uint32_t)life - 1, model.launches, model.events };
	return true;
}

static uint64_t seed;
static inline uint64_t draw(uint64_t below)
{
	seed = seed * 6364136223846793005u + 1442695040888963407u;
	return (seed >> 33) % below;
}

/* Mostly an address inside a live block; sometimes one in a dead block or outside of all memory. */
static inline uint64_t any_address(void)
{
	unsigned place = (unsigned)draw(PLACES / 4);
	if (draw(16) == 0)
		return 0x6000000000 + draw(1u << 30);
	return SEGMENT + place * PLACE_BYTES + draw(draw(8) ? 512 : PLACE_BYTES);
}

/* A launch of any thread with several addresses; its uses follow it. */
static inline void put_launch(struct writer *w)
{
	unsigned thread = (unsigned)draw(4), words = (unsigned)draw(9);
	put(w, thread, launched(0));
	model.launches++;
	model.events++;
	bool is_resolved = false;
	for (unsigned k = 0; k < words; k += 4) {
		struct gp_record use = { .kind = GP_USE, .aux = GP_USE_LAUNCH };
		for (unsigned v = 0; v < 4 && k + v < words; v++)
			use.v[v] = any_address();
		for (unsigned v = 0; v < 4; v++)
			if (use.v[v])
				is_resolved |= model_use(use.v[v]);
		put(w, thread, use);
		model.events++;
	}
	model.resolved += is_resolved;
}

static inline void put_copy(struct writer *w)
{
	struct gp_record use = { .kind = GP_USE, .aux = GP_USE_COPY };
	use.use.first = any_address();
	use.use.second = draw(2) ? any_address() : 0;
	bool is_to = model_use(use.use.first),
	     is_from = use.use.second && model_use(use.use.second);
	model.copies_resolved += is_to || is_from;
	put(w, (unsigned)draw(4), use);
	model.events++;
}

/* Work that may have used all live memory. */
static inline void put_unseen(struct writer *w)
{
	struct gp_record lost = { .kind = GP_LOST, .device = GP_DEVICE_UNKNOWN };
	lost.lost.launch = 1;
	put(w, (unsigned)draw(4), lost);
	model.events++;
	for (unsigned place = 0; place < PLACES; place++) {
		if (!model.now[place])
			continue;
		assert_true(model.moments < USES_MAX);
		model.moment[model.moments++] = (struct moment){ (uint32_t)model.now[place] - 1,
								 model.launches, model.events };
		model.unseen++;
	}
}

static inline void begin_history(struct writer *w, const char *name, uint32_t slots, bool has_uses)
{
	struct moment *moment = model.moment;
	memset(&model, 0, sizeof model);
	model.moment = moment ? moment : malloc(USES_MAX * sizeof *moment);
	writer_open(w, name, slots, slots ? 1 << 16 : 0);
	struct gp_record fact = { .kind = GP_FACT,
				  .device = GP_DEVICE_UNKNOWN,
				  .aux = GP_FACT_USES };
	fact.fact.value = 1;
	if (has_uses)
		put_definition(w, 0, fact);
	put(w, 0,
	    (struct gp_record){ .kind = GP_ALLOC,
				.space = GP_SPACE_DEVICE,
				.alloc = { .address = SEGMENT, .bytes = SEGMENT_BYTES } });
}

/* One in `unseen` events is unseen work; 0: none. */
static inline void random_history(struct writer *w, unsigned events, unsigned unseen)
{
	for (unsigned k = 0; k < events; k++) {
		unsigned place = (unsigned)draw(PLACES), what = (unsigned)draw(10);
		if (unseen && draw(unseen) == 0)
			put_unseen(w);
		else if (what == 9)
			put_copy(w);
		else if (what >= 4)
			put_launch(w);
		else if (model.now[place])
			model_free(w, place);
		else
			model_alloc(w, place, 512 * (1 + draw(draw(4) ? 4 : 64)),
				    1 + (uint32_t)draw(STACKS));
	}
}

static inline struct gp_recording *open_recording(struct writer *w)
{
	struct gp_recording *r = fixture_read(w);
	return r;
}

static inline void assert_sum(const struct gp_idle_device *d, enum gp_idle_owner owner,
			      enum gp_idle_state state, uint64_t bytes, uint64_t count)
{
	assert_int_equal(d->sum[owner][state].bytes, bytes);
	assert_int_equal(d->sum[owner][state].count, count);
}

#endif
