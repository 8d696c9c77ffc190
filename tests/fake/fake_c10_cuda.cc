/*
 * libc10_cuda.so: the objects that stand in front of the fake caching allocator (fake_c10.c) as
 * PyTorch's classes do, and its trace trackers. FAKE_TORCH_ALLOCATOR chooses what `allocator`
 * points to: native; async (another class of this library); heap (made at run time);
 * foreign_slots (functions of another library); loose_table (a table that can be written).
 */
#include "fake_torch.hh"

#include <cstdlib>
#include <cstring>
#include <stdexcept>
#include <vector>

#include "fake_trace.h"

using namespace c10::cuda::CUDACachingAllocator;

static const struct fake_trace_host *host;
static std::vector<std::function<void(const TraceEntry &)>> trackers[FAKE_TRACE_DEVICES];

struct Attach {
	int device;
	std::function<void(const TraceEntry &)> *tracker;
};

static void attach_locked(void *argument)
{
	Attach *attach = static_cast<Attach *>(argument);
	trackers[attach->device].emplace_back(std::move(*attach->tracker));
}

class Native : public CUDAAllocator {
    public:
	void *raw_alloc(size_t) override { return nullptr; }
	void raw_delete(void *) override {}
	bool initialized() override { return true; }
	double getMemoryFraction(int8_t device) override { return host->fraction(device); }
	void setMemoryFraction(double, int8_t) override {}
	void attachAllocatorTraceTracker(std::function<void(const TraceEntry &)> tracker) override
	{
		for (int device = 0; device < FAKE_TRACE_DEVICES; device++) {
			std::function<void(const TraceEntry &)> copy = tracker;
			Attach attach = { device, &copy };
			host->with_lock(device, attach_locked, &attach);
		}
	}
	std::string name() override { return "native"; }
};

class Async : public Native {
    public:
	void attachAllocatorTraceTracker(std::function<void(const TraceEntry &)>) override
	{
		throw std::logic_error("cudaMallocAsync does not yet support trackers");
	}
	std::string name() override { return "cudaMallocAsync"; }
};

static Native native;
static Async async;

#define EIGHT(x) x, x, x, x, x, x, x, x
static void *const foreign_table[32] = { EIGHT((void *)&std::free), EIGHT((void *)&std::free),
					 EIGHT((void *)&std::free), EIGHT((void *)&std::free) };
static const void *foreign = foreign_table + 2;
static void *loose_table[16];
static const void *loose = loose_table + 2;

namespace c10 { namespace cuda { namespace CUDACachingAllocator {
__attribute__((visibility("default"))) std::atomic<CUDAAllocator *> allocator;
}}}

static CUDAAllocator *choose(const char *which)
{
	if (strcmp(which, "async") == 0)
		return &async;
	if (strcmp(which, "heap") == 0)
		return new Native;
	if (strcmp(which, "foreign_slots") == 0)
		return reinterpret_cast<CUDAAllocator *>(&foreign);
	if (strcmp(which, "loose_table") == 0) {
		memcpy(loose_table, *reinterpret_cast<void ***>(&native) - 2, 12 * sizeof(void *));
		return reinterpret_cast<CUDAAllocator *>(&loose);
	}
	return &native;
}

static void trace(int device, int action, uint64_t address, uint64_t bytes, uint64_t stream,
		  uint64_t pool, uint64_t user_pool)
{
	if (trackers[device].empty())
		return;
	TraceEntry entry = {};
	entry.action_ = static_cast<TraceEntry::Action>(action);
	/* as PyTorch's snapshots do: they name device 0 whatever device they are of */
	entry.device_ = static_cast<int8_t>(action == FAKE_TRACE_SNAPSHOT ? 0 : device);
	entry.addr_ = address;
	entry.stream_ = reinterpret_cast<void *>(stream);
	entry.size_ = bytes;
#ifdef FAKE_TORCH_OLD
	(void)pool, (void)user_pool;
#else
	entry.mempool_ = { pool, user_pool };
#endif
	entry.time_ = 0x5a5a5a5a5a5a5a5a;
	entry.compile_context_ = "N/A";
	for (const auto &tracker : trackers[device])
		tracker(entry);
}

extern "C" __attribute__((visibility("default"))) fake_trace_function *
fake_trace_open(const struct fake_trace_host *of)
{
	const char *which = getenv("FAKE_TORCH_ALLOCATOR");
	host = of;
	allocator.store(choose(which ? which : "native"));
	return trace;
}
