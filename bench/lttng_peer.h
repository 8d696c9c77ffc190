/* The peer's lttng-ust tracepoint, with the fields of a launch event. */
#undef LTTNG_UST_TRACEPOINT_PROVIDER
#define LTTNG_UST_TRACEPOINT_PROVIDER gpuprof_peer
#undef LTTNG_UST_TRACEPOINT_INCLUDE
#define LTTNG_UST_TRACEPOINT_INCLUDE "bench/lttng_peer.h"

#if !defined(LTTNG_PEER_H) || defined(LTTNG_UST_TRACEPOINT_HEADER_MULTI_READ)
#define LTTNG_PEER_H

#include <lttng/tracepoint.h>
#include <stdint.h>

/* clang-format off */
LTTNG_UST_TRACEPOINT_EVENT(gpuprof_peer, launch,
	LTTNG_UST_TP_ARGS(uint64_t, kernel, uint64_t, stream, uint64_t, grid, uint64_t, block,
			  uint32_t, shared),
	LTTNG_UST_TP_FIELDS(
		lttng_ust_field_integer_hex(uint64_t, kernel, kernel)
		lttng_ust_field_integer_hex(uint64_t, stream, stream)
		lttng_ust_field_integer_hex(uint64_t, grid, grid)
		lttng_ust_field_integer_hex(uint64_t, block, block)
		lttng_ust_field_integer(uint32_t, shared, shared)))
/* clang-format on */

#endif
#include <lttng/tracepoint-event.h>
