/*
 * Reads PYTORCH_CUDA_ALLOC_CONF as PyTorch's allocator does: keys and values with ':', pairs with
 * ',', lists in brackets. A missing key gets its default.
 */
#ifndef GP_ALLOC_SETTINGS_H
#define GP_ALLOC_SETTINGS_H

#include <stdbool.h>
#include <stdint.h>

#include "gpuprof.h"

struct gp_alloc_settings {
	int64_t max_split_bytes; /* -1: no limit */
	double garbage_collection_threshold;
	bool has_expandable_segments, releases_lock, has_host_register;
	uint64_t register_threads;
	uint64_t divisions[GP_ROUNDUP_BUCKETS]; /* sizes from 2^k MiB on; 0: none */
};
struct gp_alloc_settings gp_alloc_settings_parse(const char *text);

#endif
