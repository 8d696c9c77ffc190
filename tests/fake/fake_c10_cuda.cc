/*
 * libc10_cuda.so: the objects in front of the fake caching allocator (fake_c10.c), as PyTorch's
 * classes are, and its trace trackers. FAKE_TORCH_ALLOCATOR chooses what `allocator` points to:
 * native; async (another class of this library); heap (made at run time); foreign_slots (functions
 * of another library); loose_table (a table that can be written). FAKE_TORCH_SNAPSHOT makes its
 * snapshots wrong: see choose_wrong.
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

static void trace(int device, int action, uint64_t address, uint64_t bytes, uint64_t stream,
		  uint64_t pool, uint64_t user_pool);

static void list_segment(void *context, uint64_t address, uint64_t bytes, uint64_t stream,
			 uint64_t pool, uint64_t user_pool, int is_expandable)
{
	SegmentInfo segment = {};
	segment.address = address;
	segment.total_size = bytes;
	segment.stream = reinterpret_cast<void *>(stream);
	segment.is_expandable = is_expandable;
	segment.owner_private_pool_id = { pool, user_pool };
	static_cast<std::vector<SegmentInfo> *>(context)->push_back(segment);
}

static void list_block(void *context, const struct fake_listed_block *block)
{
	/* the allocator also holds a reference, as with PyTorch's record of an allocation */
	static const auto kept = std::make_shared<int>(1);
	SegmentInfo &segment = static_cast<std::vector<SegmentInfo> *>(context)->back();
	BlockInfo one = {};
	one.size = block->bytes;
	one.requested_size = block->requested;
	one.allocated = block->is_allocated;
	one.active = block->is_active;
	one.context_when_allocated = kept;
	segment.requested_size += one.active ? one.requested_size : 0;
	segment.allocated_size += one.allocated ? one.size : 0;
	segment.active_size += one.active ? one.size : 0;
	segment.blocks.push_back(one);
}

struct List {
	int device;
	SnapshotInfo *snapshot;
};

static void list_locked(void *argument)
{
	List *list = static_cast<List *>(argument);
	std::vector<SegmentInfo> segments;
	host->list(list->device, list_segment, list_block, &segments);
	uint64_t active = 0;
	for (auto &segment : segments) {
		segment.device = static_cast<int8_t>(list->device);
		active += segment.active_size;
		list->snapshot->segments.push_back(segment);
	}
	trace(list->device, FAKE_TRACE_SNAPSHOT, 0, active, 0, 0, 0);
}

/*
 * odd, huge: not a valid vector; short: blocks that do not fill their segment; flags: allocated but
 * not active; sums: one segment is missing, so it differs from what was reported.
 */
static void choose_wrong(SnapshotInfo *snapshot)
{
	const char *which = getenv("FAKE_TORCH_SNAPSHOT");
	if (!which || snapshot->segments.empty())
		return;
	SegmentInfo &segment = snapshot->segments[0];
	uintptr_t words[3];
	memcpy(words, static_cast<void *>(&segment.blocks), sizeof words);
	if (strcmp(which, "odd") == 0)
		words[0] += 4;
	if (strcmp(which, "huge") == 0)
		words[1] = words[2] = words[0] + (uintptr_t{ 40 } << 40);
	memcpy(static_cast<void *>(&segment.blocks), words, sizeof words);
	if (strcmp(which, "short") == 0)
		segment.total_size += 512;
	if (strcmp(which, "flags") == 0)
		segment.blocks[0].active = false;
	if (strcmp(which, "sums") == 0)
		snapshot->segments.pop_back();
}

class Native : public CUDAAllocator {
    public:
	void *raw_alloc(size_t) override { return nullptr; }
	void raw_delete(void *) override {}
	bool initialized() override { return true; }
	double getMemoryFraction(int8_t device) override { return host->fraction(device); }
	void setMemoryFraction(double, int8_t) override {}
	SnapshotInfo snapshot(FAKE_SNAPSHOT_TAKES) override
	{
		SnapshotInfo snapshot = {};
		for (int device = 0; device < FAKE_TRACE_DEVICES; device++) {
			List list = { device, &snapshot };
			host->with_lock(device, list_locked, &list);
		}
		snapshot.last_allocator_settings = "some text that does not fit into a string";
		snapshot.roundup_power2_divisions.assign(16, 0);
		choose_wrong(&snapshot);
		return snapshot;
	}
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
	/* as in PyTorch's snapshots, which always name device 0 */
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
