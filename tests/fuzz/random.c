/* The random numbers of the mutators. One seed gives one sequence on every machine. */
#include "fuzz.h"

static uint64_t state = 1;

void fuzz_random_begin(uint64_t seed)
{
	state = seed * 0x9e3779b97f4a7c15u + 0x632be59bd9b4e019u;
	if (state == 0)
		state = 1;
	(void)fuzz_random();
}

/* xorshift64*, Vigna 2016 */
uint64_t fuzz_random(void)
{
	state ^= state >> 12;
	state ^= state << 25;
	state ^= state >> 27;
	return state * 0x2545f4914f6cdd1du;
}

size_t fuzz_below(size_t limit)
{
	return limit ? (size_t)((fuzz_random() >> 16) % limit) : 0;
}

uint64_t fuzz_number(uint64_t old)
{
	/* widths of fields, sizes of tables, limits of signed and unsigned numbers */
	static const unsigned char width[] = { 4,  7,  8,  9,  12, 13, 15, 16, 20, 21,
					       30, 31, 32, 44, 47, 52, 56, 62, 63 };
	switch (fuzz_below(9)) {
	case 0:
		return ((uint64_t)1 << width[fuzz_below(sizeof width)]) - fuzz_below(3) + 1;
	case 1:
		return UINT64_MAX - fuzz_below(3) * fuzz_below(600);
	case 2:
		return old + 1;
	case 3:
		return old - 1;
	case 4:
		return old ^ (uint64_t)1 << fuzz_below(64);
	case 5:
		return fuzz_below(16);
	case 6:
		return fuzz_below(5000);
	case 7:
		return fuzz_below(2) ? old * 2 : 0 - old;
	default:
		return fuzz_random() >> fuzz_below(64);
	}
}

const char *fuzz_text(void)
{
	static const char *const texts[] = {
		"",
		"\x1b[31mred\x1b]0;title\x07",
		"<script>alert(1)</script>",
		"\"'><svg onload=x>",
		"\xff\xfe\xc0\x80",
		"\xe2\x80\xae"
		"abc\xc2\x9b"
		"31m",
		"%s%n%d%99999d",
		"]]>-->",
		"a\r\nb\tc",
		"../../../../etc/passwd",
		"\"\\u0000\\",
		"; touch x #",
		"_ZN3fooEv",
		"_ZSt4moveIRSt6vectorIiSaIiEEEONSt16remove_referenceIT_E4typeEOS5_",
		"_RNvC6_123foo3bar",
		"ProfilerStep#1",
		"Optimizer.step#Adam.step",
		"forward",
		"step 17",
		"aten::addmm",
		"torch::autograd::Engine::evaluate_function",
		"__pyx_pw_5torch_1f",
		"- /nonexistent/libtorch_cpu.so",
		"0123456789abcdef /usr/lib/libcuda.so.1",
		"- relative.so",
	};
	return texts[fuzz_below(sizeof texts / sizeof *texts)];
}
