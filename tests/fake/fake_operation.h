/*
 * Between the fake driver and the fake CUPTI: each operation that the driver has accepted, reported
 * on the calling thread and without a lock.
 */
#ifndef FAKE_OPERATION_H
#define FAKE_OPERATION_H

#include <stdbool.h>
#include <stdint.h>

#define FAKE_NODES 64u

struct fake_operation {
	uint32_t kind; /* CUpti_ActivityKind: 1 copy, 2 set, 10 kernel; 0: a wait for all work */
	const char *name;
	uint32_t stream, context, device;
	uint32_t grid[3], block[3], shared;
	uint64_t bytes;
	uint8_t what, from, to; /* of a copy: CUpti_ActivityMemcpyKind, CUpti_ActivityMemoryKind */
	bool is_async;
	/* a graph launch: its kernels, at most FAKE_NODES; 0: one kernel without a graph */
	uint32_t nodes;
	uint64_t node[FAKE_NODES];
};

typedef void fake_observer(const struct fake_operation *operation);

#endif
