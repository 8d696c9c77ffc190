/*
 * Part of gpuprof.h, which includes it: CUDA graphs with their content, their memory and their
 * launches, and captures that failed.
 */
#ifndef GPUPROF_GRAPHS_H
#define GPUPROF_GRAPHS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "format/status.h"

struct gp_recording;

enum gp_graph_origin {
	GP_GRAPH_CAPTURED,
	GP_GRAPH_BUILT,	 /* node by node */
	GP_GRAPH_CLONED, /* a copy of another graph */
	GP_GRAPH_UNSEEN, /* made before the recording, or by calls that are not recorded */
	GP_GRAPH_ORIGINS,
};
/* "captured", "built", ... */
extern const char *const gp_graph_origin_names[GP_GRAPH_ORIGINS];

enum gp_graph_node {
	GP_GRAPH_KERNEL,
	GP_GRAPH_COPY,
	GP_GRAPH_FILL,
	GP_GRAPH_ALLOC,
	GP_GRAPH_FREE,
	GP_GRAPH_CHILD,
	GP_GRAPH_HOST,
	GP_GRAPH_OTHER,
	GP_GRAPH_NODES,
};
/* "kernel", "copy", ... */
extern const char *const gp_graph_node_names[GP_GRAPH_NODES];

struct gp_graph_kernel {
	const char *name; /* in source form; NULL: unknown */
	uint64_t count;
};

/* A private pool of PyTorch's allocator into which a capture allocated. */
struct gp_graph_pool {
	uint64_t pool, user_pool; /* the two halves of its id */
	uint64_t graphs;	  /* number of graphs that use it */
	uint64_t launched;	  /* of these, graphs that were launched */
	/* of its segments and its blocks, at the end of the recording */
	uint64_t bytes, allocated_bytes;
	bool is_own;	     /* of a graph: not only another pool */
	unsigned device;     /* of its first segment */
	uint64_t most_bytes; /* of its segments: the highest sum, and its moment */
	int64_t most_at_ns;
};

#define GP_GRAPH_NO_POOL SIZE_MAX

struct gp_graph {
	enum gp_graph_origin origin;
	uint64_t handle; /* of the CUgraph; 0: unknown */
	/* begin of the capture, else the first event of the graph */
	int64_t at_ns;
	int64_t took_ns; /* of the capture; -1: unknown */
	/* of the call that began the capture; of graphs without one: that instantiated it */
	uint32_t stack;
	char *key;	     /* its line, a text for people, as keys of stacks */
	const char *file;    /* of the line; NULL: unknown */
	uint32_t line;	     /* 0: unknown */
	const char *without; /* the reason for a missing line, a static text; NULL: not missing */
	/*
	 * Nodes by kind, as recorded. `nodes`: all of them; of a capture as the driver counts them
	 * (since format 1.16), and those of no recorded call are GP_GRAPH_OTHER.
	 */
	uint64_t nodes, node[GP_GRAPH_NODES];
	/* some nodes are unknown, or may belong to another capture at the same time */
	bool is_partial;
	size_t kernels;
	struct gp_graph_kernel *kernel; /* the most frequent first; with those of child graphs */
	uint64_t kernel_launches;	/* of one launch; with those of child graphs */
	uint64_t instantiations, updates, launches;
	int64_t first_ns, last_ns;   /* of its launches; -1: none */
	uint64_t untimed;	     /* launches without a recorded duration of the call */
	int64_t host_ns, longest_ns; /* of the calls that launch it: sum, maximum */
	/*
	 * With GPU time: launches with operations; from the first begin to the last end of each,
	 * added up.
	 */
	uint64_t gpu_launches, gpu_ns;
	int64_t gone_ns; /* graph and execs are destroyed; -1: not, or unknown */
	/*
	 * Its own pool: that of its capture, else the first that it allocated from. Bytes are those
	 * of the pool's segments and blocks when the graph was gone, else at the end.
	 */
	size_t pool; /* index; or GP_GRAPH_NO_POOL */
	/* its capture allocated blocks whose pool was not recorded */
	bool lacks_pool;
	uint64_t pool_bytes, pool_allocated_bytes;
	uint64_t other_pools, other_pool_bytes; /* as a nested MemPool */
	uint64_t node_bytes;			/* of its allocation nodes */
	uint64_t driver_bytes;			/* requested from the driver during the capture */
};

/* A capture that failed. */
struct gp_graph_failure {
	int64_t began_ns; /* of the capture; -1: not recorded */
	int64_t at_ns;	  /* of the call that broke it */
	const char *call; /* the driver function; NULL: unknown */
	/*
	 * The call is the one that ended the capture. Code 901: a call broke it that is not
	 * recorded, as all of them before format 1.16. 904: a stream was not joined.
	 */
	bool is_end;
	bool is_unended; /* the capture was not ended in the recording */
	unsigned code;	 /* CUresult of the call */
	uint32_t stack;	 /* of the call; 0: none */
	char *key;	 /* as of gp_graph, of the call */
	const char *file;
	uint32_t line;
	const char *without;
	uint32_t begin_stack; /* of the call that began the capture */
};
/* "cudaErrorStreamCaptureUnsupported" for 900, and so on; NULL: another code. */
const char *gp_graph_error_name(unsigned code);

struct gp_graphs_report {
	size_t graphs;
	struct gp_graph *graph; /* most bytes of the pool first, then most launches */
	size_t pools;
	struct gp_graph_pool *pool; /* in the order of their first segment or use */
	size_t failures;
	struct gp_graph_failure *failure; /* by time */
	/* captures that were not ended and not broken: under way, or their stream was destroyed */
	uint64_t open;
	uint64_t beyond; /* graphs, failures and kernels that exceed the bounds of the report */
	/* as gp_launched_as counts them; kernels that launches of graphs started */
	uint64_t launches, captured_launches, graph_launches, graph_kernels;
	uint64_t unknown_launches; /* of graphs with unknown nodes */
	bool has_gpu_time;
	size_t names;
	char **name; /* texts of kernels */
};

/*
 * Holds memory at the end that serves no graph that was launched: in pools of such graphs alone, or
 * of its own nodes.
 */
bool gp_graph_is_idle(const struct gp_graphs_report *report, const struct gp_graph *graph);

/* False: it may have a pool that was not recorded. */
bool gp_graph_has_known_pool(const struct gp_graph *graph);

/*
 * One replay, and one more with GPU time. Free with gp_graphs_report_free. GP_E_MEMORY, and what a
 * replay returns.
 */
enum gp_status gp_graphs_report_build(struct gp_recording *recording, struct gp_graphs_report *out);
void gp_graphs_report_free(struct gp_graphs_report *report);

#endif
