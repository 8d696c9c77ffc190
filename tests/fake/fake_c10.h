/*
 * The fake caching allocator's interface: one table, found with dlsym("fake_c10") in
 * build/fake/libc10.so. Victims load it with RTLD_LOCAL as `import torch` does.
 */
#ifndef FAKE_C10_H
#define FAKE_C10_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct fake_c10_stats {
	uint64_t allocated, allocated_peak;
	uint64_t reserved, reserved_peak;
	uint64_t reports;   /* made for this device */
	uint64_t forwarded; /* reports of all devices that arrived at the originals */
	uint64_t ooms_forwarded;
};

struct fake_c10 {
	/*
	 * Segments by VMM instead of cuMemAlloc; call it before the first allocation of a device.
	 */
	void (*use_expandable_segments)(bool);
	/* NULL after an out-of-memory report. */
	void *(*allocate)(int device, size_t bytes);
	void (*release)(void *block);
	void (*empty_cache)(int device);
	/* Most bytes that the device's segments may have; 0: only the driver's limit. */
	void (*set_limit)(int device, uint64_t bytes);
	void (*stats)(int device, struct fake_c10_stats *out);
	void (*reset_peaks)(int device);
	/* Adds `bytes` to the totals in the next report only. */
	void (*lie_once)(int64_t bytes);
	/* Omits the next report. */
	void (*drop_once)(void);
	/*
	 * Reports a live block again with unchanged totals, as PyTorch does when it restores a
	 * graph pool's checkpoint.
	 */
	void (*report_again)(void *block);
	/* Calls `inside` with the device's allocator mutex held. */
	void (*with_lock)(int device, void (*inside)(void *), void *argument);
	/*
	 * Allocates from a stream's own segments, in the pool of that number; 0, 0 are the
	 * defaults.
	 */
	void *(*allocate_in)(int device, size_t bytes, uint64_t stream, uint64_t user_pool);
	/*
	 * Marks a use of the block by another stream: once freed, it is pending until the use ends.
	 */
	void (*use_elsewhere)(void *block);
	/* Lets the device's next allocation find that all such uses have ended. */
	void (*finish_uses)(int device);
	/*
	 * Takes a snapshot, of all pools or of the one of that number, as far as the allocator's
	 * trackers notice it.
	 */
	void (*snapshot)(int device, uint64_t user_pool);
};

#endif
