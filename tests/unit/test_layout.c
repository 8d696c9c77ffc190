/* The recording's header, byte by byte, and where the rings lie. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "format/crc.h"
#include "format/layout.h"
#include "format/varint.h"

static struct gp_file_header sample(void)
{
	struct gp_file_header h = {
		.major = GP_FORMAT_MAJOR,
		.minor = GP_FORMAT_MINOR,
		.clock = GP_CLOCK_TSC,
		.pid = 4242,
		.slots = 16,
		.slot_bytes = 32u << 20,
		.start_ticks = 0x0102030405060708,
		.start_mono_ns = 12,
		.start_unix_ns = 1700000000000000000,
		.ticks_per_second = 2100000000,
		.boot_id = "0c1c8a6e-7d7e-4a49-8a2c-000000000000",
		.hostname = "node7",
		.ring_path = "/dev/shm/gpuprof-ring-0-4242-99",
		.flags = GP_FILE_HAS_HOLE,
		.lost = { 1, 2, 3, UINT64_MAX },
		.failed_blocks = 5,
	};
	memset(h.command, 'x', sizeof h.command - 1);
	return h;
}

static void test_crc_is_castagnoli(void **state)
{
	(void)state;
	assert_int_equal(gp_crc32c((const unsigned char *)"123456789", 9), 0xe3069283);
	assert_int_equal(gp_crc32c(NULL, 0), 0);
}

static void test_header_round_trip(void **state)
{
	(void)state;
	static unsigned char bytes[GP_FILE_HEADER];
	struct gp_file_header in = sample(), out;
	gp_file_header_encode(&in, bytes);
	assert_int_equal(gp_file_header_decode(bytes, &out), GP_OK);
	assert_memory_equal(&in, &out, sizeof in);
	assert_memory_equal(bytes + 40, "\x08\x07\x06\x05\x04\x03\x02\x01", 8);
	in.slots = 0;
	in.slot_bytes = 0;
	gp_file_header_encode(&in, bytes);
	assert_int_equal(gp_file_header_decode(bytes, &out), GP_OK);
}

static void test_every_flipped_bit(void **state)
{
	(void)state;
	static unsigned char bytes[GP_FILE_HEADER];
	struct gp_file_header in = sample(), out;
	gp_file_header_encode(&in, bytes);
	for (size_t bit = 0; bit < 8 * sizeof bytes; bit++) {
		enum gp_status expected = bit < 64 ? GP_E_NOT_RECORDING : GP_E_DAMAGED;
		bytes[bit / 8] ^= (unsigned char)(1u << bit % 8);
		assert_int_equal(gp_file_header_decode(bytes, &out), expected);
		bytes[bit / 8] ^= (unsigned char)(1u << bit % 8);
	}
}

static void test_texts_are_cut_and_ended(void **state)
{
	(void)state;
	static unsigned char bytes[GP_FILE_HEADER];
	struct gp_file_header in = sample(), out;
	memset(in.hostname, 'h', sizeof in.hostname);
	memset(in.command, 'c', sizeof in.command);
	memcpy(in.boot_id, "short\0garbage", 14);
	gp_file_header_encode(&in, bytes);
	assert_int_equal(gp_file_header_decode(bytes, &out), GP_OK);
	assert_int_equal(strlen(out.hostname), sizeof out.hostname - 1);
	assert_int_equal(strlen(out.command), sizeof out.command - 1);
	assert_string_equal(out.boot_id, "short");
	assert_int_equal(out.boot_id[7], 0);
}

static void test_values_that_no_writer_writes(void **state)
{
	(void)state;
	static unsigned char bytes[GP_FILE_HEADER];
	for (unsigned lie = 0; lie < 9; lie++) {
		struct gp_file_header in = sample(), out;
		in.clock = lie == 0 ? 0 : lie == 1 ? 3 : in.clock;
		in.slots = lie == 2 ? 0 : lie == 3 ? UINT32_MAX : lie == 8 ? 4097 : in.slots;
		in.slot_bytes = lie == 4 ? 0 :
				lie == 5 ? UINT64_MAX :
				lie == 6 ? 100 :
					   in.slot_bytes;
		in.ticks_per_second = lie == 7 ? 0 : in.ticks_per_second;
		gp_file_header_encode(&in, bytes);
		assert_int_equal(gp_file_header_decode(bytes, &out), GP_E_DAMAGED);
	}
}

static void test_most_slots(void **state)
{
	(void)state;
	static unsigned char bytes[GP_FILE_HEADER];
	struct gp_file_header in = sample(), out;
	in.slots = 4096;
	gp_file_header_encode(&in, bytes);
	assert_int_equal(gp_file_header_decode(bytes, &out), GP_OK);
	assert_int_equal(out.slots, 4096);
}

static void test_versions(void **state)
{
	(void)state;
	static unsigned char bytes[GP_FILE_HEADER];
	struct gp_file_header in = sample(), out;
	in.minor = GP_FORMAT_MINOR + 1;
	gp_file_header_encode(&in, bytes);
	assert_int_equal(gp_file_header_decode(bytes, &out), GP_OK);
	in.major = GP_FORMAT_MAJOR + 1;
	gp_file_header_encode(&in, bytes);
	assert_int_equal(gp_file_header_decode(bytes, &out), GP_E_VERSION);
	bytes[100] ^= 1;
	assert_int_equal(gp_file_header_decode(bytes, &out), GP_E_DAMAGED);
	in.major = GP_FORMAT_MAJOR - 1;
	gp_file_header_encode(&in, bytes);
	assert_int_equal(gp_file_header_decode(bytes, &out), GP_E_DAMAGED);
}

static void test_places(void **state)
{
	(void)state;
	struct gp_file_header h = sample();
	assert_int_equal(gp_slot_offset(&h, 0), 4096);
	assert_int_equal(gp_slot_offset(&h, 15), 4096 + 15 * (32ull << 20));
	assert_int_equal(gp_ring_offset(0), 65536);
	assert_int_equal(gp_ring_offset(2),
			 65536 + 2 * (4096ull + (32u << 10) + (256u << 10) + (2u << 20)));
}

static void test_varints(void **state)
{
	(void)state;
	for (unsigned bit = 0; bit < 64; bit++)
		for (int beside = -1; beside <= 1; beside++) {
			unsigned char bytes[GP_VARINT_MAX];
			uint64_t value = ((uint64_t)1 << bit) + (uint64_t)beside, got;
			unsigned char *end = gp_varint_put(bytes, value);
			assert_ptr_equal(gp_varint_get(bytes, end, &got), end);
			assert_int_equal(got, value);
			for (unsigned char *cut = bytes; cut < end; cut++)
				assert_null(gp_varint_get(bytes, cut, &got));
			end = gp_bytes_put(bytes, value);
			assert_true(end <= bytes + GP_VARINT_MAX);
			assert_ptr_equal(gp_bytes_get(bytes, end, &got), end);
			assert_int_equal(got, value);
			for (unsigned char *cut = bytes; cut < end; cut++)
				assert_null(gp_bytes_get(bytes, cut, &got));
			assert_int_equal(gp_unzigzag(gp_zigzag(value)), value);
		}
	unsigned char bytes[GP_VARINT_MAX];
	assert_int_equal(gp_bytes_put(bytes, 0) - bytes, 1);
	assert_int_equal(gp_bytes_put(bytes, 31 * 512) - bytes, 1);
	assert_int_equal(gp_bytes_put(bytes, -(32ull * 512)) - bytes, 1);
	assert_int_equal(gp_bytes_put(bytes, 32 * 512) - bytes, 2);
}

static void test_varints_that_no_writer_writes(void **state)
{
	(void)state;
	static const unsigned char too_long[] = { 0xff, 0xff, 0xff, 0xff, 0xff,
						  0xff, 0xff, 0xff, 0xff, 0x04 };
	static const unsigned char without_end[] = { 0xff, 0xff, 0xff, 0xff, 0xff, 0xff,
						     0xff, 0xff, 0xff, 0xff, 0 };
	static const unsigned char padded[] = { 0x85, 0x00 };
	uint64_t value;
	assert_null(gp_varint_get(too_long, too_long + sizeof too_long, &value));
	assert_null(gp_varint_get(without_end, without_end + sizeof without_end, &value));
	assert_null(gp_varint_get(padded, padded + sizeof padded, &value));
	assert_null(gp_bytes_get(too_long, too_long + sizeof too_long, &value));
	assert_null(gp_bytes_get(padded, padded + sizeof padded, &value));
}

static void test_every_status_has_a_text(void **state)
{
	(void)state;
	assert_string_equal(gp_status_text(GP_OK), "no error");
	assert_string_equal(gp_status_text(GP_E_DAMAGED), "damaged");
	assert_string_equal(gp_status_text((enum gp_status)999), "unknown error");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_crc_is_castagnoli),
		cmocka_unit_test(test_header_round_trip),
		cmocka_unit_test(test_every_flipped_bit),
		cmocka_unit_test(test_texts_are_cut_and_ended),
		cmocka_unit_test(test_values_that_no_writer_writes),
		cmocka_unit_test(test_most_slots),
		cmocka_unit_test(test_versions),
		cmocka_unit_test(test_places),
		cmocka_unit_test(test_varints),
		cmocka_unit_test(test_varints_that_no_writer_writes),
		cmocka_unit_test(test_every_status_has_a_text),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
