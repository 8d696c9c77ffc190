/* Recordings of launches, copies and waits, and what gp_waits_build finds in them. */
#ifndef WAIT_RECORDS_H
#define WAIT_RECORDS_H

#include "recording_writer.h"

#define DEVICE_MEMORY 0x7000000000ull
#define PINNED 0x500000000ull
#define PAGEABLE 0x400000000ull
#define STREAM 0x11ull
#define OTHER_STREAM 0x22ull
#define US 1024u /* about a microsecond: a multiple of the ticks that are kept */

static struct writer w;
static struct gp_waits waits;

/* The thread's next event is this much later. */
static void pass(uint64_t us)
{
	w.time += us * US - 64;
}

static void launch(uint64_t stream)
{
	put(&w, 0,
	    (struct gp_record){ .kind = GP_LAUNCH,
				.launch = { .kernel = 0xabc, .stream = stream } });
}

static void copy(enum gp_call kind, uint32_t flags, uint64_t to, uint64_t from, uint64_t bytes,
		 uint64_t took_us, uint32_t stack)
{
	pass(took_us);
	put(&w, 0,
	    (struct gp_record){ .kind = GP_COPY,
				.stack = stack,
				.aux = gp_call_pack(kind, flags, took_us * US),
				.copy = { to, from, bytes, STREAM } });
}

static void await(enum gp_call kind, uint64_t handle, uint64_t took_us, uint32_t stack)
{
	pass(took_us);
	put(&w, 0,
	    (struct gp_record){ .kind = GP_WAIT,
				.stack = stack,
				.aux = gp_call_pack(kind, 0, took_us * US),
				.wait.handle = handle });
}

static void allocate(unsigned thread, uint64_t address, uint64_t bytes, uint64_t took_us)
{
	pass(took_us);
	put(&w, thread,
	    (struct gp_record){ .kind = GP_ALLOC,
				.space = GP_SPACE_DEVICE,
				.stack = 7,
				.code = (uint16_t)gp_took_pack(took_us * US, GP_ALLOC_TOOK_BITS),
				.alloc = { .address = address, .bytes = bytes } });
}

static inline void release(uint64_t address, uint64_t took_us)
{
	put(&w, 0,
	    (struct gp_record){ .kind = GP_FREE,
				.space = GP_SPACE_DEVICE,
				.device = GP_DEVICE_UNKNOWN,
				.free = { .address = address } });
	await(GP_WAIT_FREE, address, took_us, 2);
}

static int begin_waits(void **state)
{
	(void)state;
	writer_open(&w, "waits.gpr", 0, 0);
	put(&w, 0,
	    (struct gp_record){ .kind = GP_ALLOC,
				.space = GP_SPACE_DEVICE,
				.alloc = { .address = DEVICE_MEMORY, .bytes = 1 << 20 } });
	put(&w, 0,
	    (struct gp_record){ .kind = GP_ALLOC,
				.space = GP_SPACE_HOST,
				.alloc = { .address = PINNED, .bytes = 1 << 20 } });
	return 0;
}

/* The rows of the recording as written so far; released by `end_waits`. */
static void build_waits(void)
{
	struct gp_recording *r = fixture_read(&w);
	assert_int_equal(gp_waits_build(r, INT64_MIN, INT64_MAX, &waits), GP_OK);
	gp_recording_close(r);
}

/* The last gap may end after the last call. */
static int end_waits(void **state)
{
	(void)state;
	assert_true(waits.idle_ns <= waits.to_ns - waits.from_ns);
	gp_waits_free(&waits);
	return 0;
}

static const struct gp_wait_row *row_of(enum gp_wait_reason reason)
{
	const struct gp_wait_row *found = NULL;
	for (size_t k = 0; k < waits.rows; k++)
		if (waits.row[k].reason == reason) {
			assert_null(found);
			found = &waits.row[k];
		}
	assert_non_null(found);
	return found;
}

static void load(uint64_t took_us)
{
	pass(took_us);
	put(&w, 0,
	    (struct gp_record){ .kind = GP_MODULE_LOAD,
				.stack = 2,
				.module_load = { .bytes = 1000, .took = took_us * US } });
}

#endif
