/* Mangled names of C++ and Rust in readable form, and names that are left as they are. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "read/symbols/demangle.h"

static void names_are_written_as_people_write_them(void **state)
{
	(void)state;
	static const char *const name[][2] = {
		{ "_ZN2at4_ops5addmm4callERKNS_6TensorES4_S4_RKN3c106ScalarES8_",
		  "at::_ops::addmm::call" },
		{ "_ZN5torch8autograd9generated14AddmmBackward05applyEOSt6vectorIN2at6TensorESaIS5_"
		  "EE",
		  "torch::autograd::generated::AddmmBackward0::apply" },
		{ "_ZN4core3fmt9Formatter3pad17h0123456789abcdefE", "core::fmt::Formatter::pad" },
		{ "_RNvC6_123foo3bar", "123foo::bar" },
		{ "cudaMalloc", "cudaMalloc" },
		{ "_Z", "_Z" },
		{ "_ZN2at", "_ZN2at" },
		{ "", "" },
	};
	char out[GP_DEMANGLED_MAX];
	for (size_t i = 0; i < sizeof name / sizeof name[0]; i++) {
		assert_int_equal(gp_demangle(name[i][0], out, sizeof out), strlen(name[i][1]));
		assert_string_equal(out, name[i][1]);
	}
}

static void names_that_do_not_fit_are_left_mangled(void **state)
{
	(void)state;
	char out[GP_DEMANGLED_MAX];
	assert_int_equal(gp_demangle("_ZN2at4_ops5addmm4callEv", out, 8), 7);
	assert_string_equal(out, "_ZN2at4");
	assert_int_equal(gp_demangle("_ZN2at5addmmEv", out, 10), 9);
	assert_string_equal(out, "at::addmm");
	assert_int_equal(gp_demangle("_ZN2at5addmmEv", out, 9), 8);
	assert_string_equal(out, "_ZN2at5a");
	assert_int_equal(gp_demangle("cudaMalloc", out, 11), 10);
	assert_string_equal(out, "cudaMalloc");
	assert_int_equal(gp_demangle("cudaMalloc", out, 10), 9);
	assert_string_equal(out, "cudaMallo");
}

/* f<a<int>, b<a<int>, a<int>>, ...>: each argument contains the one before it twice */
static void names_that_double_are_given_up(void **state)
{
	(void)state;
	static const char digit[] = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ";
	char name[1024] = "_Z1fI1aIiE", out[GP_DEMANGLED_MAX];
	for (unsigned level = 1; level < 17; level++) {
		char argument[32], of = digit[2 * level - 1];
		snprintf(argument, sizeof argument, "1%cIS%c_S%c_E", 'a' + (int)level, of, of);
		strcat(name, argument);
		if (level == 2) {
			char sound[1024];
			snprintf(sound, sizeof sound, "%sEvv", name);
			gp_demangle(sound, out, sizeof out);
			assert_string_equal(out, "f<a<int>, b<a<int>, a<int> >, "
						 "c<b<a<int>, a<int> >, b<a<int>, a<int> > > >");
		}
	}
	strcat(name, "Evv");
	assert_int_equal(gp_demangle(name, out, sizeof out), strlen(name));
	assert_string_equal(out, name);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(names_are_written_as_people_write_them),
		cmocka_unit_test(names_that_do_not_fit_are_left_mangled),
		cmocka_unit_test(names_that_double_are_given_up),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
