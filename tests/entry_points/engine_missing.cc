// Calls autograd's engine where no library has one: the preload object stands in front of it.
#include <cstdio>
#include <stdexcept>

extern "C" void *execute(void *result, void *engine, const void *roots, const void *inputs, bool keeps, bool creates,
			 bool accumulates, const void *outputs)
	__asm__("_ZN5torch8autograd6Engine7executeERKSt6vectorINS0_4EdgeESaIS3_EERKS2_IN2at6TensorESaIS9_EEbbbS7_")
		__attribute__((weak));

int main()
{
	void *result[3] = {};
	if (!execute) {
		std::puts("no engine and no preloaded object");
		return 1;
	}
	for (int i = 0; i < 2; i++) {
		try {
			execute(result, nullptr, nullptr, nullptr, true, false, true, nullptr);
			return 2;
		} catch (const std::runtime_error &error) {
			std::printf("RuntimeError: %s\n", error.what());
		}
	}
	return 0;
}
