/*
 * Blocks: the decoder returns the encoded records at every extreme, damage is found, and the size
 * of an event on disk has a limit.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>

#include <cmocka.h>

#include "format/block.h"
#include "training_records.h"
#include "unpadded_block.h"

#define RING_SLOTS 16384u /* a power of two */
#define TIME_UNIT 64u	  /* ticks: docs/FORMAT.md */

struct bench {
	struct gp_block_scratch *scratch;
	void *memory;
	struct gp_record *ring, *back;
	unsigned char *out;
	size_t capacity, length;
	struct gp_block_header header;
	uint64_t random;
};

static int set_up(void **state)
{
	struct bench *b = calloc(1, sizeof *b);
	b->memory = aligned_alloc(64, (gp_block_scratch_bytes() + 63) / 64 * 64);
	b->scratch = gp_block_scratch_init(b->memory, gp_block_scratch_bytes());
	b->ring = calloc(RING_SLOTS, sizeof *b->ring);
	b->back = calloc(GP_BLOCK_RECORDS, sizeof *b->back);
	b->capacity = gp_block_bound();
	b->out = malloc(b->capacity);
	b->random = 0x9e3779b97f4a7c15ull;
	*state = b;
	return b->scratch && b->ring && b->back && b->out ? 0 : -1;
}

static int tear_down(void **state)
{
	struct bench *b = *state;
	free(b->memory);
	free(b->ring);
	free(b->back);
	free(b->out);
	free(b);
	return 0;
}

static uint64_t draw(struct bench *b, uint64_t below)
{
	return training_draw(&b->random, below);
}

static void encode(struct bench *b, uint64_t first, uint64_t slots)
{
	b->header = (struct gp_block_header){
		.type = GP_BLOCK_EVENTS, .thread = 7, .sequence = 3, .unix_ns = 99
	};
	assert_int_equal(gp_block_encode(b->scratch, &b->header, b->ring, RING_SLOTS, first, slots,
					 b->out, b->capacity, &b->length),
			 GP_OK);
	assert_int_equal(b->length, GP_BLOCK_HEADER + b->header.stored_bytes);
}

/* The same slots are decoded; times are in whole units. */
static void check_back(struct bench *b, uint64_t first, uint64_t slots, uint64_t got)
{
	assert_int_equal(got, slots);
	unsigned text = 0;
	for (uint64_t i = 0; i < slots; i++) {
		struct gp_record expected = b->ring[(first + i) & (RING_SLOTS - 1)];
		if (text == 0) {
			text = expected.extra + 1u;
			expected.time -= expected.time % TIME_UNIT;
		}
		text--;
		assert_memory_equal(&b->back[i], &expected, sizeof expected);
	}
}

static void round_trip(struct bench *b, uint64_t first, uint64_t slots)
{
	uint64_t got = 0;
	struct gp_block_header header;
	encode(b, first, slots);
	assert_int_equal(gp_block_header_decode(b->out, &header), GP_OK);
	unsigned char again[GP_BLOCK_HEADER];
	gp_block_header_encode(&header, again);
	assert_memory_equal(again, b->out, sizeof again);
	/* a copy of exactly that size: sanitizers report a read behind it */
	unsigned char *payload = malloc(header.stored_bytes + 1u);
	memcpy(payload, b->out + GP_BLOCK_HEADER, header.stored_bytes);
	payload = realloc(payload, header.stored_bytes ? header.stored_bytes : 1);
	assert_int_equal(gp_block_decode(b->scratch, &header, payload, b->back, &got), GP_OK);
	free(payload);
	check_back(b, first, slots, got);
}

/* 0, small, a power of two and its neighbours, or anything. */
static uint64_t extreme(struct bench *b)
{
	uint64_t bit = 1ull << draw(b, 64);
	switch (draw(b, 7)) {
	case 0:
		return 0;
	case 1:
		return draw(b, 256);
	case 2:
		return bit;
	case 3:
		return bit - 1;
	case 4:
		return 512 * draw(b, 1 << 20);
	case 5:
		return ~bit;
	default:
		return draw(b, UINT64_MAX) * 2 + draw(b, 2);
	}
}

static struct gp_record extreme_record(struct bench *b, unsigned kind)
{
	struct gp_record r = { .time = extreme(b), .order = extreme(b), .kind = (uint16_t)kind };
	r.device = (uint8_t)extreme(b);
	r.space = (uint8_t)extreme(b);
	r.zero = (uint8_t)extreme(b);
	r.code = (uint16_t)extreme(b);
	r.stack = (uint32_t)extreme(b);
	r.aux = (uint32_t)extreme(b);
	for (unsigned n = 0; n < 4; n++)
		r.v[n] = extreme(b);
	return r;
}

static void test_every_kind_at_its_extremes(void **state)
{
	struct bench *b = *state;
	for (unsigned kind = 0; kind < GP_KINDS + 8; kind++) {
		struct gp_record *r = b->ring;
		memset(&r[0], 0, sizeof r[0]);
		memset(&r[1], 0xff, sizeof r[1]);
		for (unsigned i = 0; i < 2; i++) {
			r[i].kind = (uint16_t)kind;
			r[i].extra = 0;
		}
		for (unsigned field = 0; field < 12; field++) {
			r[2 + field] = (struct gp_record){ .kind = (uint16_t)kind };
			memset((char *)&r[2 + field] + (field < 2 ? field * 8 : 20 + 4 * field),
			       0xff, 4);
			r[2 + field].extra = 0;
		}
		for (unsigned i = 14; i < 200; i++)
			r[i] = extreme_record(b, kind);
		round_trip(b, 0, 200);
		round_trip(b, 0, 1);
		round_trip(b, 1, 1);
	}
}

static unsigned random_kind(struct bench *b)
{
	unsigned kind = (unsigned)draw(b, GP_KINDS);
	return draw(b, 50) == 0 ? (unsigned)draw(b, 65536) : kind;
}

/*
 * Random records of random kinds at any place of the ring. Some have a text, some repeat an earlier
 * record.
 */
static uint64_t fill(struct bench *b, uint64_t first, uint64_t slots)
{
	uint64_t at = 0;
	while (at < slots) {
		struct gp_record *r = &b->ring[(first + at) & (RING_SLOTS - 1)];
		*r = extreme_record(b, random_kind(b));
		if (at && draw(b, 3) == 0) {
			struct gp_record *before =
				&b->ring[(first + draw(b, at)) & (RING_SLOTS - 1)];
			memcpy(&r->kind, &before->kind,
			       sizeof *r - offsetof(struct gp_record, kind));
		}
		uint64_t room = slots - ++at;
		r->extra = draw(b, 9) ? 0 : (uint8_t)draw(b, room < 255 ? room + 1 : 256);
		for (unsigned k = 0; k < r->extra; k++, at++)
			for (unsigned n = 0; n < 4; n++)
				b->ring[(first + at) & (RING_SLOTS - 1)].v[n] = extreme(b);
	}
	return at;
}

static void test_random_records(void **state)
{
	struct bench *b = *state;
	for (unsigned round = 0; round < 150; round++) {
		uint64_t slots = round % 10 == 0 ? GP_BLOCK_RECORDS : 1 + draw(b, 300);
		uint64_t first = draw(b, UINT64_MAX - RING_SLOTS);
		assert_int_equal(fill(b, first, slots), slots);
		round_trip(b, first, slots);
	}
}

static void test_ring_wraps(void **state)
{
	struct bench *b = *state;
	fill(b, RING_SLOTS - 100, 300);
	for (uint64_t first = RING_SLOTS - 100, text = 0, at = first; at < first + 300; at++) {
		struct gp_record *r = &b->ring[at & (RING_SLOTS - 1)];
		if (text == 0) {
			round_trip(b, at, first + 300 - at);
			text = r->extra + 1u;
		}
		text--;
	}
}

/* More values than the dictionaries hold, each of them twice. */
static void test_full_dictionaries(void **state)
{
	struct bench *b = *state;
	for (unsigned i = 0; i < GP_BLOCK_RECORDS; i++) {
		unsigned n = i < GP_BLOCK_RECORDS / 2 ? i : GP_BLOCK_RECORDS - 1 - i;
		b->ring[i] = extreme_record(b, i % 3 ? GP_ALLOC_FAILED : GP_GRAPH_ADD_NODE);
		b->ring[i].extra = 0;
		b->ring[i].alloc_failed.bytes = 512ull * n * 3;
		b->ring[i].alloc_failed.stream = 77 * n + 1;
		b->ring[i].alloc_failed.free_bytes = 512ull * n * 3 + 512;
		b->ring[i].alloc_failed.total_bytes = 512ull * n * 3 + 1024;
	}
	round_trip(b, 0, GP_BLOCK_RECORDS);
}

static void test_worst_block_fits_its_bound(void **state)
{
	struct bench *b = *state;
	for (unsigned i = 0; i < GP_BLOCK_RECORDS; i++) {
		struct gp_record *r = &b->ring[i];
		for (unsigned n = 0; n < 8; n++)
			((uint64_t *)r)[n] =
				(draw(b, UINT64_MAX) * 2 + draw(b, 2)) | 1ull << 63 | 1;
		r->kind = i % 2 ? GP_BLOCK_ALLOC : GP_ALLOC;
		r->extra = 0;
	}
	round_trip(b, 0, GP_BLOCK_RECORDS);
	assert_true(b->header.raw_bytes > 60 * GP_BLOCK_RECORDS);
}

static void test_small_buffer_is_refused(void **state)
{
	struct bench *b = *state;
	fill(b, 0, 500);
	encode(b, 0, 500);
	size_t whole = b->length;
	for (size_t capacity = 0; capacity < whole; capacity += capacity < 120 ? 1 : 97) {
		unsigned char *out = malloc(capacity ? capacity : 1);
		struct gp_block_header header = { .type = GP_BLOCK_EVENTS };
		size_t length;
		assert_int_equal(gp_block_encode(b->scratch, &header, b->ring, RING_SLOTS, 0, 500,
						 out, capacity, &length),
				 GP_E_SPACE);
		free(out);
	}
	/* the scratch memory works as before */
	round_trip(b, 0, 500);
}

static void test_bad_arguments(void **state)
{
	struct bench *b = *state;
	struct gp_block_header header = { .type = GP_BLOCK_EVENTS };
	size_t length;
	memset(b->ring, 0, 64 * 20);
	b->ring[9].extra = 1;
	assert_int_equal(gp_block_encode(b->scratch, &header, b->ring, RING_SLOTS, 0, 10, b->out,
					 b->capacity, &length),
			 GP_E_ARGUMENT);
	assert_int_equal(gp_block_encode(b->scratch, &header, b->ring, RING_SLOTS, 0,
					 GP_BLOCK_RECORDS + 1, b->out, b->capacity, &length),
			 GP_E_ARGUMENT);
	assert_int_equal(gp_block_encode(b->scratch, &header, b->ring, 1000, 0, 10, b->out,
					 b->capacity, &length),
			 GP_E_ARGUMENT);
	assert_null(gp_block_scratch_init(b->memory, gp_block_scratch_bytes() - 1));
	assert_null(gp_block_scratch_init((char *)b->memory + 8, gp_block_scratch_bytes()));
	round_trip(b, 0, 11);
}

static void test_no_records(void **state)
{
	struct bench *b = *state;
	uint64_t slots = 5;
	b->header = (struct gp_block_header){ .type = GP_BLOCK_CHECKPOINT,
					      .first_order = 8,
					      .last_order = 9 };
	assert_int_equal(gp_block_encode(b->scratch, &b->header, b->ring, RING_SLOTS, 0, 0, b->out,
					 b->capacity, &b->length),
			 GP_OK);
	assert_int_equal(b->length, GP_BLOCK_HEADER);
	assert_int_equal(gp_block_header_decode(b->out, &b->header), GP_OK);
	assert_int_equal(b->header.first_order, 8);
	assert_int_equal(gp_block_decode(b->scratch, &b->header, b->out, b->back, &slots), GP_OK);
	assert_int_equal(slots, 0);
}

static void test_header_describes_the_records(void **state)
{
	struct bench *b = *state;
	memset(b->ring, 0, 64 * 20);
	for (unsigned i = 0; i < 6; i++)
		b->ring[i].order = 100 - i;
	b->ring[2].extra = 2;
	b->ring[4].order = 1000; /* text, not an order number */
	encode(b, 0, 6);
	assert_int_equal(b->header.records, 4);
	assert_int_equal(b->header.first_order, 95);
	assert_int_equal(b->header.last_order, 100);
	assert_int_equal(b->header.thread, 7);
	assert_int_equal(b->header.unix_ns, 99);
}

/* ---- damage ---- */

/* A block of some events of a job, small enough to damage every byte. */
static void small_block(struct bench *b)
{
	struct training t;
	training_open(&t, 4000);
	training_step(&t, 50);
	memcpy(b->ring, t.records[0] + 100, 60 * sizeof *b->ring);
	b->ring[30] =
		(struct gp_record){ .kind = GP_KERNEL, .extra = 2, .kernel = { .handle = 5 } };
	memset(&b->ring[31], 'k', 128);
	training_close(&t);
	encode(b, 0, 60);
}

static enum gp_status decode_copy(struct bench *b, struct gp_block_header *header,
				  const unsigned char *bytes, size_t n, uint64_t *slots)
{
	enum gp_status status = gp_block_header_decode(bytes, header);
	if (status != GP_OK)
		return status;
	if (header->stored_bytes > n - GP_BLOCK_HEADER)
		return GP_E_TRUNCATED;
	unsigned char *payload = malloc(header->stored_bytes);
	memcpy(payload, bytes + GP_BLOCK_HEADER, header->stored_bytes);
	status = gp_block_decode(b->scratch, header, payload, b->back, slots);
	free(payload);
	return status;
}

static void test_every_truncation_is_noticed(void **state)
{
	struct bench *b = *state;
	small_block(b);
	for (uint32_t stored = 0; stored < b->header.stored_bytes; stored++) {
		/* as if the header had this size */
		struct gp_block_header header = b->header;
		unsigned char *payload = malloc(stored ? stored : 1);
		uint64_t slots;
		memcpy(payload, b->out + GP_BLOCK_HEADER, stored);
		header.stored_bytes = stored;
		assert_int_equal(gp_block_decode(b->scratch, &header, payload, b->back, &slots),
				 GP_E_DAMAGED);
		free(payload);
	}
}

static void test_every_flipped_bit_is_noticed(void **state)
{
	struct bench *b = *state;
	unsigned same = 0;
	small_block(b);
	for (size_t bit = 0; bit < 8 * b->length; bit++) {
		struct gp_block_header header;
		uint64_t slots = 0;
		b->out[bit / 8] ^= (unsigned char)(1u << bit % 8);
		enum gp_status status = decode_copy(b, &header, b->out, b->length, &slots);
		b->out[bit / 8] ^= (unsigned char)(1u << bit % 8);
		if (bit < 32)
			assert_int_equal(status, GP_E_NOT_RECORDING);
		else if (status == GP_OK) {
			/* some zstd codes are equivalent: then the data is intact */
			same++;
			check_back(b, 0, 60, slots);
		} else
			assert_int_equal(status, GP_E_DAMAGED);
	}
	assert_true(same <= 8 * b->length / 100);
}

/* A header with plausible wrong fields and a correct checksum. */
static void test_header_with_wrong_fields(void **state)
{
	struct bench *b = *state;
	unsigned char bytes[GP_BLOCK_HEADER];
	struct gp_block_header out;
	uint64_t slots;
	small_block(b);
	for (unsigned lie = 0; lie < 9; lie++) {
		struct gp_block_header h = b->header;
		h.type = lie == 0 ? 0 : h.type;
		h.records = lie == 1 ? GP_BLOCK_RECORDS + 1 : lie == 2 ? 0 : h.records;
		h.raw_bytes = lie == 3 ? UINT32_MAX : lie == 4 ? 0 : h.raw_bytes;
		h.stored_bytes = lie == 5 ? UINT32_MAX : lie == 6 ? 0 : h.stored_bytes;
		h.first_order = lie == 7 ? h.last_order + 1 : h.first_order;
		gp_block_header_encode(&h, bytes);
		assert_int_equal(gp_block_header_decode(bytes, &out),
				 lie == 8 ? GP_OK : GP_E_DAMAGED);
	}
	for (unsigned lie = 0; lie < 4; lie++) {
		struct gp_block_header h = b->header;
		const uint32_t bytes_in_all = GP_BLOCK_HEADER + h.stored_bytes;
		h.records = lie < 2 ? bytes_in_all + lie : 1;
		h.raw_bytes = lie < 2 ? 1 : GP_BLOCK_RATIO * (bytes_in_all + lie - 2);
		assert_int_equal(gp_block_is_short(&h), lie % 2);
	}
	for (unsigned lie = 0; lie < 4; lie++) {
		struct gp_block_header h = b->header;
		h.records += lie == 0 ? 1u : lie == 1 ? -1u : 0;
		h.raw_bytes += lie == 2 ? 1u : lie == 3 ? -1u : 0;
		assert_int_equal(
			gp_block_decode(b->scratch, &h, b->out + GP_BLOCK_HEADER, b->back, &slots),
			GP_E_DAMAGED);
	}
}

/* ---- size ---- */

/* Repetitive records and texts compress to few bytes; such a block is padded. */
static void test_repetitive_records_are_padded(void **state)
{
	struct bench *b = *state;
	const struct gp_record launch = { .kind = GP_LAUNCH };
	const struct gp_record text = { .kind = GP_FACT, .extra = 16 };
	memset(b->ring, 0, RING_SLOTS * sizeof *b->ring);
	for (unsigned k = 0; k < GP_BLOCK_RECORDS; k++)
		b->ring[k] = launch;
	for (unsigned slots = 1; slots <= GP_BLOCK_RECORDS; slots *= 2) {
		round_trip(b, 0, slots);
		assert_true(b->length >= slots && b->length < slots + 400);
	}
	for (unsigned k = 0; k + 17 <= GP_BLOCK_RECORDS; k += 17) {
		const uint64_t bytes = 1016;
		b->ring[k] = text;
		memset(&b->ring[k + 1], 'x', 16 * sizeof *b->ring);
		memcpy(&b->ring[k + 1], &bytes, sizeof bytes);
	}
	round_trip(b, 0, GP_BLOCK_RECORDS / 17 * 17);
	assert_true(b->header.raw_bytes > 400000);
	assert_true(b->length >= b->header.raw_bytes / GP_BLOCK_RATIO);
	assert_false(gp_block_is_short(&b->header));
	/* the encoder writes at most as many bytes as there is room for */
	for (size_t room = b->length - 1; room >= b->length - 20; room--)
		assert_int_equal(gp_block_encode(b->scratch, &b->header, b->ring, RING_SLOTS, 0,
						 GP_BLOCK_RECORDS / 17 * 17, b->out, room,
						 &b->length),
				 GP_E_SPACE);
	/* a reader skips more than one padding frame */
	uint64_t got = 0;
	encode(b, 0, GP_BLOCK_RECORDS / 17 * 17);
	memcpy(b->out + b->length, "\x51\x2a\x4d\x18\x03\0\0\0abc", 11);
	b->header.stored_bytes += 11;
	assert_int_equal(
		gp_block_decode(b->scratch, &b->header, b->out + GP_BLOCK_HEADER, b->back, &got),
		GP_OK);
	check_back(b, 0, GP_BLOCK_RECORDS / 17 * 17, got);
	/* no recorder wrote less than an eighth of that */
	b->header.stored_bytes = (uint32_t)(b->length / GP_BLOCK_OLD_PART - 1 - GP_BLOCK_HEADER);
	gp_block_header_encode(&b->header, b->out);
	assert_int_equal(gp_block_header_decode(b->out, &b->header), GP_E_DAMAGED);
	/* the decoder itself accepts blocks of older recorders */
	encode(b, 0, GP_BLOCK_RECORDS / 17 * 17);
	assert_true(unpad_block(b->out) < b->length);
	assert_int_equal(gp_block_header_decode(b->out, &b->header), GP_OK);
	assert_true(gp_block_is_short(&b->header));
	assert_int_equal(
		gp_block_decode(b->scratch, &b->header, b->out + GP_BLOCK_HEADER, b->back, &got),
		GP_OK);
	check_back(b, 0, GP_BLOCK_RECORDS / 17 * 17, got);
}

static double bytes_per_event(struct bench *b, unsigned noise)
{
	struct training t;
	size_t bytes = 0, events = 0;
	training_open(&t, 60000);
	for (unsigned step = 0; step < 30; step++)
		training_step(&t, noise);
	for (unsigned thread = 0; thread < TRAINING_THREADS; thread++)
		for (size_t at = 0, n; at < t.count[thread]; at += n) {
			n = t.count[thread] - at < GP_BLOCK_RECORDS ? t.count[thread] - at :
								      GP_BLOCK_RECORDS;
			memcpy(b->ring, t.records[thread] + at, n * sizeof *b->ring);
			round_trip(b, 0, n);
			bytes += b->length;
			events += n;
		}
	training_close(&t);
	return (double)bytes / (double)events;
}

static void test_a_training_event_takes_few_bytes(void **state)
{
	double same = bytes_per_event(*state, 0), other = bytes_per_event(*state, 1000);
	printf("bytes an event: %.2f when steps repeat, %.2f when nothing does\n", same, other);
	assert_true(same < 2.5);
	assert_true(other < 5.5);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_every_kind_at_its_extremes),
		cmocka_unit_test(test_random_records),
		cmocka_unit_test(test_ring_wraps),
		cmocka_unit_test(test_full_dictionaries),
		cmocka_unit_test(test_worst_block_fits_its_bound),
		cmocka_unit_test(test_small_buffer_is_refused),
		cmocka_unit_test(test_bad_arguments),
		cmocka_unit_test(test_no_records),
		cmocka_unit_test(test_header_describes_the_records),
		cmocka_unit_test(test_every_truncation_is_noticed),
		cmocka_unit_test(test_every_flipped_bit_is_noticed),
		cmocka_unit_test(test_header_with_wrong_fields),
		cmocka_unit_test(test_repetitive_records_are_padded),
		cmocka_unit_test(test_a_training_event_takes_few_bytes),
	};
	return cmocka_run_group_tests(tests, set_up, tear_down);
}
