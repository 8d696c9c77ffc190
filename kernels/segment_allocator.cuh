/*
 * A caching sub-allocator over cudaMalloc segments, like those of frameworks. It has blocks of 512
 * bytes and up, uses the first fit and joins neighbours. Only trim() gives segments back. It counts
 * its requests to CUDA, with which a recording of the job must agree. One instance a device; not
 * thread-safe.
 */
#ifndef SEGMENT_ALLOCATOR_CUH
#define SEGMENT_ALLOCATOR_CUH

#include <cuda_runtime.h>

#include <algorithm>
#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <iterator>
#include <map>

static inline void must_at(cudaError_t result, const char *what, const char *file, int line)
{
	if (result == cudaSuccess)
		return;
	fprintf(stderr, "%s:%d: %s: %s\n", file, line, what, cudaGetErrorString(result));
	exit(1);
}
#define must(call) must_at((call), #call, __FILE__, __LINE__)

/* Requests to one device, in bytes and calls. */
struct requested {
	unsigned long long allocations, frees;
	unsigned long long live_bytes, peak_bytes;

	void add(size_t bytes)
	{
		allocations++;
		live_bytes += bytes;
		peak_bytes = std::max(peak_bytes, live_bytes);
	}
	void drop(size_t bytes)
	{
		frees++;
		live_bytes -= bytes;
	}
};

class segment_allocator
{
public:
	explicit segment_allocator(requested &requested) : requested_(requested)
	{
	}
	segment_allocator(const segment_allocator &) = delete;

	/* Contents undefined. Ends the program if CUDA has no memory. */
	char *take(size_t bytes)
	{
		bytes = (std::max<size_t>(bytes, 1) + block_unit - 1) / block_unit * block_unit;
		auto fit = std::find_if(blocks_.begin(), blocks_.end(), [&](const auto &b) {
			return b.second.is_free && b.second.bytes >= bytes;
		});
		if (fit == blocks_.end())
			fit = add_segment(bytes);
		if (fit->second.bytes > bytes)
			blocks_[fit->first + bytes] = { fit->second.bytes - bytes,
							fit->second.segment, true };
		fit->second.bytes = bytes;
		fit->second.is_free = false;
		taken_bytes_ += bytes;
		taken_peak_bytes_ = std::max(taken_peak_bytes_, taken_bytes_);
		return fit->first;
	}

	void give(void *address)
	{
		auto block = blocks_.find(static_cast<char *>(address));
		if (block == blocks_.end() || block->second.is_free) {
			fprintf(stderr, "segment_allocator: %p is no block\n", address);
			exit(1);
		}
		block->second.is_free = true;
		taken_bytes_ -= block->second.bytes;
		join(block);
		if (block != blocks_.begin())
			join(std::prev(block));
	}

	/* Gives segments without a taken block back to CUDA. */
	void trim()
	{
		for (auto block = blocks_.begin(); block != blocks_.end();) {
			auto segment = segments_.find(block->second.segment);
			if (!block->second.is_free || block->second.bytes != segment->second) {
				++block;
				continue;
			}
			must(cudaFree(segment->first));
			requested_.drop(segment->second);
			segments_.erase(segment);
			block = blocks_.erase(block);
		}
	}

	size_t taken_peak_bytes() const
	{
		return taken_peak_bytes_;
	}

private:
	struct block {
		size_t bytes;
		char *segment;
		bool is_free;
	};
	using blocks = std::map<char *, block>;
	static constexpr size_t block_unit = 512, segment_unit = 2u << 20;

	blocks::iterator add_segment(size_t bytes)
	{
		void *address;
		bytes = (bytes + segment_unit - 1) / segment_unit * segment_unit;
		must(cudaMalloc(&address, bytes));
		requested_.add(bytes);
		char *segment = static_cast<char *>(address);
		segments_[segment] = bytes;
		return blocks_.insert({ segment, { bytes, segment, true } }).first;
	}

	/* Joins a free block with its free right neighbour of the same segment. */
	void join(blocks::iterator left)
	{
		auto right = std::next(left);
		if (right == blocks_.end() || !left->second.is_free || !right->second.is_free ||
		    left->second.segment != right->second.segment)
			return;
		left->second.bytes += right->second.bytes;
		blocks_.erase(right);
	}

	requested &requested_;
	blocks blocks_;
	std::map<char *, size_t> segments_;
	size_t taken_bytes_ = 0, taken_peak_bytes_ = 0;
};

#endif
