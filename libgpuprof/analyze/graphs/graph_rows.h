/*
 * The graphs of a replay: a row for each, found by its handle and by those of its execs; the
 * kernels of a row; the private pools that a row uses. Rows, kernels and their search are bounded
 * for any recording.
 */
#ifndef GP_GRAPH_ROWS_H
#define GP_GRAPH_ROWS_H

#include "../../read/file/recording.h"
#include "../../read/tables/row_table.h"
#include "../../state/looks.h"

#define GP_GRAPH_ROWS_MOST (1u << 16)	 /* a capacity: 32 MiB */
#define GP_GRAPH_KERNELS_MOST (1u << 20) /* a capacity: 48 MiB */
#define GP_GRAPH_NO_ROW UINT32_MAX

struct gp_graph_row {
	struct gp_graph graph;
	bool is_dropped;   /* a capture that failed, or is under way */
	bool is_destroyed; /* the CUgraph, not its execs */
	uint64_t execs;
	uint32_t kernel, hold; /* 1 + index of the newest; 0: none */
	uint32_t pools;	       /* number of its holds */
};

struct gp_graph_rows {
	struct gp_recording *recording;
	struct gp_graphs_report *out;
	struct gp_graph_row *row;
	size_t rows;
	struct gp_row_table graphs, execs; /* rows by handle */
	struct gp_row_table kernels, holds, arenas, pools, names;
	struct gp_looks looks;
	bool is_out_of_memory;
};

void gp_graph_rows_open(struct gp_graph_rows *rows, struct gp_recording *recording,
			struct gp_graphs_report *out);
void gp_graph_rows_release(struct gp_graph_rows *rows);
/* A new row; GP_GRAPH_NO_ROW: the bound is reached, or out of memory. */
uint32_t gp_graph_row_add(struct gp_graph_rows *rows, enum gp_graph_origin origin, int64_t at_ns);
/* Sets the row of a handle, in `graphs` or `execs`. */
void gp_graph_row_set(struct gp_graph_rows *rows, struct gp_row_table *table, uint64_t handle,
		      uint32_t row);
/* The row of a handle; GP_GRAPH_NO_ROW: none. */
uint32_t gp_graph_row_find(const struct gp_row_table *table, uint64_t handle);
/* Removes the handle and returns its row. */
uint32_t gp_graph_row_take(struct gp_row_table *table, uint64_t handle);

/* Adds a node of that kind; `kernel`: the handle of a kernel, or 0. */
void gp_graph_node_add(struct gp_graph_rows *rows, uint32_t row, enum gp_graph_node kind,
		       uint64_t kernel);
/* Adds kernels, and with `has_nodes` nodes, of another row. */
void gp_graph_row_copy(struct gp_graph_rows *rows, uint32_t to, uint32_t from, bool has_nodes);
/* Looks up the names of kernels that are not named yet, since handles are reused. */
void gp_graph_row_name(struct gp_graph_rows *rows, uint32_t row);

/* A segment of `arena` came or went. */
struct gp_graph_segment {
	uint32_t arena;
	unsigned device;
	uint64_t bytes;
	int64_t at_ns;
};
void gp_graph_segment_move(struct gp_graph_rows *rows, const struct gp_graph_segment *segment,
			   bool is_gone);
/* A block came or went: changes the pool of `arena`. */
void gp_graph_pool_move(struct gp_graph_rows *rows, uint32_t arena, bool is_block, bool is_gone,
			uint64_t bytes);
/* A capture allocated in `arena`. The default pool is ignored. */
void gp_graph_pool_use(struct gp_graph_rows *rows, uint32_t row, uint32_t arena);
/* Sets the bytes of the row's pools to those of now. */
void gp_graph_pool_settle(struct gp_graph_rows *rows, uint32_t row);
/* Sets the bytes of all pools to those of now. */
void gp_graph_pools_settle(struct gp_graph_rows *rows);

/* Adds the row to the graphs of its pools. */
void gp_graph_pools_count(struct gp_graph_rows *rows, uint32_t row);

/* Fills in row.graph.kernel, by name. GP_E_MEMORY. */
enum gp_status gp_graph_row_kernels(struct gp_graph_rows *rows, uint32_t row);

#endif
