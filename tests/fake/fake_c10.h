/*
 * The fake caching allocator as its users see it: one table, found with dlsym("fake_c10") in
 * build/fake/libc10.so, which victims load with RTLD_LOCAL as `import torch` does.
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
	uint64_t forwarded; /* reports of all devices that arrived at the originals here */
	uint64_t ooms_forwarded;
};

struct fake_c10 {
	/* Segments by VMM instead of cuMemAlloc; before the first allocation of a device. */
	void (*use_expandable_segments)(bool);
	/* NULL after an out-of-memory report. */
	void *(*allocate)(int device, size_t bytes);
	void (*release)(void *block);
	void (*empty_cache)(int device);
	/* Bytes that the device's segments may have; 0: no limit but the driver's. */
	void (*set_limit)(int device, uint64_t bytes);
	void (*stats)(int device, struct fake_c10_stats *out);
	void (*reset_peaks)(int device);
	/* Adds `bytes` to the totals carried by the next report, and only there. */
	void (*lie_once)(int64_t bytes);
	/* The next report is not made. */
	void (*drop_once)(void);
	/*
	 * Reports a live block again with unchanged totals, as restoring a graph pool's checkpoint
	 * does.
	 */
	void (*report_again)(void *block);
	/* Calls `inside` with the device's allocator mutex held. */
	void (*with_lock)(int device, void (*inside)(void *), void *argument);
	/* From a stream's own segments, in the pool of that number; 0, 0 are the default ones. */
	void *(*allocate_in)(int device, size_t bytes, uint64_t stream, uint64_t user_pool);
	/* Another stream uses the block: freed, it is pending until the uses are finished. */
	void (*use_elsewhere)(void *block);
	/* The device's next allocation will see that all such uses have ended. */
	void (*finish_uses)(int device);
	/*
	 * Takes one, of all pools or of the one of that number, as far as the allocator's trackers
	 * learn of it.
	 */
	void (*snapshot)(int device, uint64_t user_pool);
};

#endif
