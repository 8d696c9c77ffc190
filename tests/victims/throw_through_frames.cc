// Throws through many frames, some of which allocate and have destructors, on several threads. The program must keep
// using the unwinder with which it was linked.
#include <cstdio>
#include <cstdlib>
#include <dlfcn.h>
#include <stdexcept>
#include <string>
#include <thread>

namespace
{
using alloc_function = int(unsigned long long *, unsigned long);
using free_function = int(unsigned long long);
alloc_function *device_alloc;
free_function *device_free;

struct block {
	unsigned long long address = 0;
	unsigned *freed;
	explicit block(unsigned *count) : freed(count)
	{
		if (device_alloc(&address, 4096) != 0)
			std::abort();
	}
	~block()
	{
		device_free(address);
		++*freed;
	}
};

__attribute__((noinline)) unsigned descend(unsigned depth, unsigned *freed)
{
	block held(freed);
	if (depth == 0)
		throw std::runtime_error("thrown " + std::to_string(*freed));
	unsigned below = descend(depth - 1, freed);
	return below + 1;
}

void work(unsigned rounds, unsigned *caught, unsigned *freed)
{
	for (unsigned i = 0; i < rounds; i++) {
		unsigned before = *freed;
		try {
			descend(i % 50, freed);
		} catch (const std::runtime_error &error) {
			*caught += error.what() == "thrown " + std::to_string(before) &&
				   *freed == before + i % 50 + 1;
		}
	}
}
} // namespace

int main()
{
	void *library = dlopen("libcuda.so.1", RTLD_NOW);
	auto init = library ? reinterpret_cast<int (*)(unsigned)>(dlsym(library, "cuInit")) : nullptr;
	if (!init) {
		std::fputs("no libcuda.so.1\n", stderr);
		return 77;
	}
	auto retain = reinterpret_cast<int (*)(void **, int)>(dlsym(library, "cuDevicePrimaryCtxRetain"));
	auto use = reinterpret_cast<int (*)(void *)>(dlsym(library, "cuCtxSetCurrent"));
	device_alloc = reinterpret_cast<alloc_function *>(dlsym(library, "cuMemAlloc_v2"));
	device_free = reinterpret_cast<free_function *>(dlsym(library, "cuMemFree_v2"));
	void *context = nullptr;
	if (init(0) != 0 || retain(&context, 0) != 0)
		return 1;
	unsigned caught[3] = {}, freed[3] = {};
	std::thread threads[3];
	for (int i = 0; i < 3; i++)
		threads[i] = std::thread([&, i] {
			use(context);
			work(500, &caught[i], &freed[i]);
		});
	for (auto &thread : threads)
		thread.join();
	std::printf("caught %u %u %u, freed %u %u %u\n", caught[0], caught[1], caught[2], freed[0], freed[1],
		    freed[2]);
	return caught[0] == 500 && caught[1] == 500 && caught[2] == 500 ? 0 : 1;
}
