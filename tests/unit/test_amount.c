/* Amounts as a person reads them: exact where that is known, two digits where nobody knows. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "../../tools/amount.c"

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
	assert_string_equal(gp_rate_text(102606.3, 4).s, "102,606");
	assert_string_equal(gp_rate_text(999.4, 3).s, "999");
	assert_string_equal(gp_rate_text(999.6, 3).s, "1,000");
	assert_string_equal(gp_rate_text(0.5, 3).s, "0.5");
	assert_string_equal(gp_rate_text(0.00002, 3).s, "less than 0.0001");
	assert_string_equal(gp_bytes_text(512).s, "512 B");
	assert_string_equal(gp_bytes_text(1536u << 20).s, "1.50 GiB");
}

static void nouns_are_whole(void **state)
{
	(void)state;
	assert_string_equal(gp_plural(0, "device").s, "no devices");
	assert_string_equal(gp_plural(1, "physical allocation").s, "1 physical allocation");
	assert_string_equal(gp_plural(1234, "physical allocation").s, "1,234 physical allocations");
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

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(about_has_two_digits),
		cmocka_unit_test(known_times_are_exact),
		cmocka_unit_test(nouns_are_whole),
		cmocka_unit_test(rates_are_rounded_up),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
