/*
 * libtorch_cuda.so: the pluggable allocator, of which tests need only names and the order of its
 * functions. Both are exported, as in PyTorch.
 */
#include "fake_torch.hh"

#include <stdexcept>

/* The symbol that a build with libc++ exports: its argument has another type there. */
#ifdef FAKE_TORCH_LIBCXX
#define OF_LIBCXX                                                                               \
	__asm__("_ZN5torch4cuda22CUDAPluggableAllocator22CUDAPluggableAllocator27"              \
		"attachAllocatorTraceTrackerENSt3__18functionIFvRKN3c1022CachingDeviceAllocator" \
		"10TraceEntryEEEE")
#else
#define OF_LIBCXX
#endif

namespace torch { namespace cuda { namespace CUDAPluggableAllocator {

using c10::cuda::CUDACachingAllocator::MempoolId_t;

struct __attribute__((visibility("default"))) CUDAPluggableAllocator
	: public c10::cuda::CUDACachingAllocator::CUDAAllocator {
	void *raw_alloc(size_t bytes) override;
	void raw_delete(void *block) override;
	bool initialized() override;
	double getMemoryFraction(int8_t device) override;
	void setMemoryFraction(double fraction, int8_t device) override;
	c10::cuda::CUDACachingAllocator::SnapshotInfo snapshot(FAKE_SNAPSHOT_TAKES) override;
	void attachAllocatorTraceTracker(
		std::function<void(const c10::cuda::CUDACachingAllocator::TraceEntry &)> tracker)
		override OF_LIBCXX;
	std::string name() override;
	virtual void set_reset_fn(int which);
};

void *CUDAPluggableAllocator::raw_alloc(size_t) { return nullptr; }
void CUDAPluggableAllocator::raw_delete(void *) {}
bool CUDAPluggableAllocator::initialized() { return true; }
double CUDAPluggableAllocator::getMemoryFraction(int8_t) { return 2; }
void CUDAPluggableAllocator::setMemoryFraction(double, int8_t) {}
c10::cuda::CUDACachingAllocator::SnapshotInfo CUDAPluggableAllocator::snapshot(FAKE_SNAPSHOT_TAKES)
{
	throw std::logic_error("no snapshots here");
}
void CUDAPluggableAllocator::attachAllocatorTraceTracker(
	std::function<void(const c10::cuda::CUDACachingAllocator::TraceEntry &)>)
{
	throw std::logic_error("no trackers here");
}
std::string CUDAPluggableAllocator::name() { return "pluggable"; }
void CUDAPluggableAllocator::set_reset_fn(int) {}

}}}
