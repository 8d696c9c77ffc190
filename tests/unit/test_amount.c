/*
 * Amounts as persons read and write them: exact values where they are available, else two digits.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "format/size_text.h"

#include "../../tools/io/amount.c"

static void about_has_two_digits(void **state)
{
	(void)state;
	static const struct {
		double seconds;
		const char *text;
	} cases[] = {
		{ 0, "0.0 s" },
		{ 0.04, "0.0 s" },
		{ 9.94, "9.9 s" },
		{ 9.96, "10 s" },
		{ 119.9, "120 s" },
		{ 120, "2.0 min" },
		{ 25 * 60 + 20, "25 min" },
		{ 7199, "120 min" },
		{ 7200, "2.0 h" },
		{ 25560, "7.1 h" },
		{ 172799, "48 h" },
		{ 172800, "2.0 days" },
		{ 3.2 * 86400, "3.2 days" },
		{ 365 * 86400.0, "365 days" },
	};
	for (size_t k = 0; k < sizeof cases / sizeof *cases; k++)
		assert_string_equal(gp_about_text(cases[k].seconds * 1e9).s, cases[k].text);
}

static void known_times_are_exact(void **state)
{
	(void)state;
	assert_string_equal(gp_ns_text(0).s, "0 s");
	assert_string_equal(gp_ns_text(-1500).s, "-1.50 us");
	assert_string_equal(gp_ns_text(1234000000).s, "1.234 s");
	assert_string_equal(gp_ns_text(125000000000).s, "2 min 05 s");
	assert_string_equal(gp_ns_text(259200000000000 + 300000000000).s, "72 h 05 min");
	assert_string_equal(gp_count_text(13122847).s, "13,122,847");
	assert_string_equal(gp_rate_text(34.982, 4).s, "34.98");
	assert_string_equal(gp_rate_text(999.94, 4).s, "999.9");
	assert_string_equal(gp_rate_text(999.96, 4).s, "1,000");
	assert_string_equal(gp_rate_text(2287.4, 4).s, "2,287");
	assert_string_equal(gp_rate_text(102606.3, 4).s, "102,606");
	assert_string_equal(gp_rate_text(999.4, 3).s, "999");
	assert_string_equal(gp_rate_text(999.6, 3).s, "1,000");
	assert_string_equal(gp_rate_text(0.5, 3).s, "0.5");
	assert_string_equal(gp_rate_text(0.00002, 3).s, "less than 0.0001");
	assert_string_equal(gp_bytes_text(512).s, "512 B");
	/* 43.164 and 43.196 GiB: a limit is rounded down, a requirement is rounded up */
	assert_string_equal(gp_bytes_text(46347059200).s, "43.2 GiB");
	assert_string_equal(gp_at_most_text(46347059200).s, "43.1 GiB");
	assert_string_equal(gp_at_least_text(46347059200).s, "43.2 GiB");
	assert_string_equal(gp_at_least_text(46330000000).s, "43.2 GiB");
	assert_string_equal(gp_at_most_text(512).s, "512 B");
	assert_string_equal(gp_at_least_text((24u << 20) + 1).s, "24.1 MiB");
	assert_string_equal(gp_at_most_text(24u << 20).s, "24.0 MiB");
	assert_string_equal(gp_bytes_text(1536u << 20).s, "1.50 GiB");
}

static void nouns_are_whole(void **state)
{
	(void)state;
	assert_string_equal(gp_plural(0, "device").s, "no devices");
	assert_string_equal(gp_plural(1, "physical allocation").s, "1 physical allocation");
	assert_string_equal(gp_plural(1234, "physical allocation").s, "1,234 physical allocations");
	assert_string_equal(gp_plural(2, "launch").s, "2 launches");
	assert_string_equal(gp_plural(UINT64_MAX, "address reservation").s,
			    "18,446,744,073,709,551,615 address reservations");
}

static void rates_are_rounded_up(void **state)
{
	(void)state;
	assert_int_equal(gp_rate_bytes(0), 0);
	assert_int_equal(gp_rate_bytes(512), 512);
	assert_int_equal(gp_rate_bytes(1638.4), 1639);
	assert_int_equal(gp_rate_bytes(0.25), 1);
	assert_int_equal(gp_rate_bytes(512.0 / 3 + 512.0 / 3 + 512.0 / 3), 512);
	assert_int_equal(gp_rate_bytes(-512), -512);
}

static void sizes_are_read_as_they_are_written(void **state)
{
	(void)state;
	static const struct {
		const char *text;
		uint64_t bytes;
	} right[] = {
		{ "0", 0 },
		{ "1024", 1024 },
		{ "512M", 512ull << 20 },
		{ "4 MiB", 4 << 20 },
		{ "1gb", 1 << 30 },
		{ "1.50 GiB", 3ull << 29 }, /* as PyTorch's messages have it */
		{ "0.5k", 512 },
		{ "1.0009765625K", 1024 }, /* six digits of a fraction: 0.99997 bytes */
		{ "16777215T", 16777215ull << 40 },
		{ "18446744073709551615", UINT64_MAX },
	};
	static const char *const wrong[] = {
		"",
		"G",
		"-1",
		"1.5",
		"1.",
		"1.G",
		".5G",
		"1e9",
		"1 XB",
		"1GiBs",
		"1.5.5G",
		"16777216T",
		"18446744073709551616",
		"1G 5",
	};
	uint64_t bytes = 0;
	for (size_t k = 0; k < sizeof right / sizeof *right; k++) {
		assert_true(gp_size_parse(right[k].text, &bytes));
		assert_int_equal(bytes, right[k].bytes);
	}
	for (size_t k = 0; k < sizeof wrong / sizeof *wrong; k++)
		assert_false(gp_size_parse(wrong[k], &bytes));
}

static void a_plain_duration_is_seconds(void **state)
{
	(void)state;
	int64_t ns;
	assert_true(gp_duration_parse("10", &ns) && ns == 10000000000);
	assert_true(gp_duration_parse("0.5", &ns) && ns == 500000000);
	assert_true(gp_duration_parse("200us", &ns) && ns == 200000);
	assert_true(gp_duration_parse("2min", &ns) && ns == 120000000000);
	assert_false(gp_duration_parse("", &ns));
	assert_false(gp_duration_parse("soon", &ns));
	assert_false(gp_duration_parse("-1", &ns));
	/* a moment without a unit is in nanoseconds */
	assert_true(gp_ns_parse("10", &ns) && ns == 10);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(about_has_two_digits),
		cmocka_unit_test(known_times_are_exact),
		cmocka_unit_test(nouns_are_whole),
		cmocka_unit_test(rates_are_rounded_up),
		cmocka_unit_test(sizes_are_read_as_they_are_written),
		cmocka_unit_test(a_plain_duration_is_seconds),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
