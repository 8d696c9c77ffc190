/*
 * The shape of PyTorch's CUDA allocators, as far as it is visible from outside: names, the order of
 * virtual functions in one class and its derived ones, the arguments of a trace tracker. With
 * FAKE_TORCH_OLD as up to 2.7: entries in another namespace and without a pool. In C++, so that the
 * tables, std::function and std::string are the compiler's own.
 */
#ifndef FAKE_TORCH_HH
#define FAKE_TORCH_HH

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#ifdef FAKE_TORCH_OLD
namespace c10 { namespace cuda { namespace CUDACachingAllocator {
#else
namespace c10 { namespace CachingDeviceAllocator {
#endif

struct TraceEntry {
	enum Action { ALLOC, FREE_REQUESTED, FREE_COMPLETED };
	Action action_;
	int8_t device_;
	size_t addr_;
	std::shared_ptr<int> context_;
	void *stream_;
	size_t size_;
#ifndef FAKE_TORCH_OLD
	std::pair<unsigned long long, unsigned long long> mempool_;
#endif
	int64_t time_;
	std::string compile_context_;
};

struct BlockInfo {
	size_t size;
	size_t requested_size;
	int32_t gc_counter;
	bool allocated;
	bool active;
	std::shared_ptr<int> context_when_allocated;
};

struct SegmentInfo {
	int8_t device;
#ifndef FAKE_TORCH_OLD
	int32_t registration_counter;
#endif
	size_t address;
	size_t total_size;
	size_t requested_size;
	size_t allocated_size;
	size_t active_size;
	void *stream;
	bool is_large;
	bool is_expandable;
	std::pair<unsigned long long, unsigned long long> owner_private_pool_id;
	std::vector<BlockInfo> blocks;
	std::shared_ptr<int> context_when_allocated;
};

#ifdef FAKE_TORCH_OLD
}}}
#else
}}
#endif

namespace c10 { namespace cuda { namespace CUDACachingAllocator {

#ifndef FAKE_TORCH_OLD
using c10::CachingDeviceAllocator::BlockInfo;
using c10::CachingDeviceAllocator::SegmentInfo;
using c10::CachingDeviceAllocator::TraceEntry;
#endif

struct SnapshotInfo {
	std::vector<SegmentInfo> segments;
	std::vector<std::vector<TraceEntry>> device_traces;
	double garbage_collection_threshold;
	std::string last_allocator_settings;
	std::vector<size_t> roundup_power2_divisions;
};

/* Parameters by version: none at first, then a pool, then also whether traces are included. */
typedef std::pair<unsigned long long, unsigned long long> MempoolId_t;
#if defined FAKE_TORCH_OLD
#define FAKE_SNAPSHOT_TAKES
#elif defined FAKE_TORCH_OF_POOL
#define FAKE_SNAPSHOT_TAKES MempoolId_t
#else
#define FAKE_SNAPSHOT_TAKES MempoolId_t, bool
#endif

class __attribute__((visibility("default"))) CUDAAllocator {
    public:
	virtual ~CUDAAllocator() {}
	virtual void *raw_alloc(size_t bytes) = 0;
	virtual void raw_delete(void *block) = 0;
	virtual bool initialized() = 0;
	virtual double getMemoryFraction(int8_t device) = 0;
	virtual void setMemoryFraction(double fraction, int8_t device) = 0;
	virtual SnapshotInfo snapshot(FAKE_SNAPSHOT_TAKES) = 0;
	virtual bool isHistoryEnabled() { return false; }
	virtual void attachAllocatorTraceTracker(std::function<void(const TraceEntry &)> tracker) = 0;
	virtual std::string name() = 0;
};

extern std::atomic<CUDAAllocator *> allocator;

}}}

#endif
