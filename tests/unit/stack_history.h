/*
 * Random histories of two devices with stacks, as a recording and as a list of events. Each
 * question searches the list from end to end.
 */
#ifndef STACK_HISTORY_H
#define STACK_HISTORY_H

#include <inttypes.h>

#include "stack_records.h"

#define STACKS 24u
#define LINES 5u
#define EVENTS_MAX 8000u
#define GIB (1ull << 30)

/* ---- stacks that a recording defines ---- */

/*
 * Stack `id` 1 to STACKS: function fK of train.py, of a module of PyTorch, called from line K of
 * train.py. Stacks that are equal modulo LINES have the same text.
 */
static void define_stacks(struct writer *w)
{
	static const char user[] = "/srv/job/train.py\0step";
	static const char package[] = "/x/site-packages/torch/nn/modules/linear.py\0Linear.forward";
	put_text(w, (struct gp_record){ .kind = GP_PYTHON_CODE, .aux = 1000 }, user,
		 sizeof user - 1);
	put_text(w, (struct gp_record){ .kind = GP_PYTHON_CODE, .aux = 1001 }, package,
		 sizeof package - 1);
	for (uint32_t id = 1; id <= STACKS; id++) {
		put(w, 0,
		    (struct gp_record){ .kind = GP_PYTHON_FRAME,
					.aux = 2000 + id,
					.python_frame = { .python_code = 1000,
							  .line = 10 + id % LINES,
							  .place = 1 } });
		put(w, 0,
		    (struct gp_record){ .kind = GP_PYTHON_FRAME,
					.aux = 3000 + id,
					.python_frame = { .parent = 2000 + id,
							  .python_code = 1001,
							  .line = 116,
							  .place = 1 } });
		put(w, 0,
		    (struct gp_record){
			    .kind = GP_CALL_STACK,
			    .aux = id,
			    .call_stack = { .python = 3000 + id, .why_native = GP_WHY_OFF } });
	}
	flush(w, 0);
}

/* ---- a history, and its figures by brute force ---- */

struct history {
	struct gp_record event[EVENTS_MAX];
	size_t events;
	uint64_t random;
	unsigned outsides;
	unsigned without; /* 1 + cell of the one block without a stack, on device 1 */
};

static uint64_t draw(struct history *h, uint64_t below)
{
	h->random ^= h->random << 13;
	h->random ^= h->random >> 7;
	h->random ^= h->random << 17;
	return (h->random >> 11) % below;
}

static void add_event(struct history *h, struct writer *w, struct gp_record r)
{
	put(w, (unsigned)(h->events / 40 % 4), r);
	r.order = w->order - 1;
	r.time = w->time;
	h->event[h->events++] = r;
}

static bool is_birth(const struct gp_record *r)
{
	return r->kind == GP_ALLOC || r->kind == GP_BLOCK_ALLOC;
}

static enum gp_curve curve_of(const struct gp_record *r)
{
	return r->kind == GP_BLOCK_ALLOC ? GP_CURVE_ALLOCATED : GP_CURVE_DRIVER;
}

static uint64_t allocated_now(const struct writer *w, unsigned device, enum gp_curve curve)
{
	return gp_live_device(w->live, device)->curve[curve].now_bytes;
}

/* Where segments of a device lie: 4 MiB each, a block in every 64 KiB of it. */
static uint64_t cell_address(unsigned device, unsigned cell)
{
	return 0x700000000000 + device * GIB * 16 + cell * 65536ull;
}

#define CELLS 640u
static bool is_taken[2][CELLS];

static void add_segment(struct history *h, struct writer *w, unsigned device, unsigned number)
{
	add_event(h, w,
		  (struct gp_record){ .kind = GP_ALLOC,
				      .device = (uint8_t)device,
				      .space = GP_SPACE_DEVICE,
				      .stack = (uint32_t)(1 + draw(h, STACKS)),
				      .alloc = { .address = cell_address(device, 64 * number),
						 .bytes = 4 << 20 } });
}

static void toggle_block(struct history *h, struct writer *w, unsigned device, unsigned cell)
{
	static uint64_t bytes[2][CELLS];
	uint64_t *size = &bytes[device][cell], now = allocated_now(w, device, GP_CURVE_ALLOCATED);
	uint64_t reserved = allocated_now(w, device, GP_CURVE_RESERVED);
	bool is_first = cell % 64 == 0 && !is_taken[device][cell];
	if (is_first && reserved < (cell / 64 + 1) * (4ull << 20))
		reserved += 4 << 20;
	if (is_taken[device][cell]) {
		is_taken[device][cell] = false;
		add_event(h, w,
			  (struct gp_record){ .kind = GP_BLOCK_FREE,
					      .device = (uint8_t)device,
					      .block_free = { cell_address(device, cell), *size,
							      now - *size, reserved } });
		return;
	}
	is_taken[device][cell] = true;
	*size = 512 * (1 + draw(h, 128));
	uint32_t stack = (uint32_t)(1 + draw(h, STACKS));
	if (device == 1 && h->without == 0 && h->events > 20) {
		h->without = cell + 1;
		stack = 0;
	}
	add_event(h, w,
		  (struct gp_record){ .kind = GP_BLOCK_ALLOC,
				      .device = (uint8_t)device,
				      .stack = stack,
				      .block_alloc = { cell_address(device, cell), *size,
						       now + *size, reserved } });
}

static void add_outside(struct history *h, struct writer *w, unsigned device)
{
	uint64_t address = 0x600000000000 + GIB * h->outsides++;
	add_event(h, w,
		  (struct gp_record){
			  .kind = GP_ALLOC,
			  .device = (uint8_t)device,
			  .space = GP_SPACE_MANAGED,
			  .stack = (uint32_t)(1 + draw(h, STACKS)),
			  .alloc = { .address = address, .bytes = 4096 * (1 + draw(h, 999)) } });
	if (draw(h, 3) != 0)
		add_event(h, w,
			  (struct gp_record){ .kind = GP_FREE,
					      .device = (uint8_t)device,
					      .space = GP_SPACE_DEVICE,
					      .free.address = address });
}

static void make_history(struct history *h, struct writer *w, uint64_t seed, size_t events)
{
	unsigned segments[2] = { 0 };
	memset(h, 0, sizeof *h);
	memset(is_taken, 0, sizeof is_taken);
	h->random = seed;
	while (h->events < events) {
		unsigned device = (unsigned)draw(h, 2);
		if (segments[device] < 10 && (segments[device] == 0 || draw(h, 200) == 0)) {
			add_segment(h, w, device, segments[device]);
			toggle_block(h, w, device, 64 * segments[device]++);
		} else if (draw(h, 30) == 0) {
			add_outside(h, w, device);
		} else {
			unsigned cell = (unsigned)draw(h, 64 * segments[device]);
			if (device != 1 || cell + 1 != h->without)
				toggle_block(h, w, device, cell);
		}
	}
}

static struct history history;

static struct gp_recording *record_history(const char *name, uint64_t seed, size_t events)
{
	struct writer w;
	writer_open(&w, name, 0, 0);
	define_stacks(&w);
	make_history(&history, &w, seed, events);
	struct gp_recording *r = fixture_read(&w);
	return r;
}

/* Nine segments of a little training; a ring of `slots` (0: no ring) keeps the last ones. */
static struct gp_recording *record_segments(uint32_t slots, struct expected *out, uint64_t *blocks)
{
	struct writer w;
	uint64_t seed = 0;
	writer_open(&w, slots ? "slots.gpr" : "segments.gpr", slots, slots ? 1 << 16 : 0);
	for (unsigned k = 0; k < 9; k++) {
		put_work(&w, 3000, &seed);
		next_segment(&w);
	}
	put_work(&w, 30, &seed);
	*blocks = gp_live_count(w.live, GP_BLOCK_ALLOC);
	*out = expect(&w);
	struct gp_recording *r = fixture_read(&w);
	return r;
}

#endif
