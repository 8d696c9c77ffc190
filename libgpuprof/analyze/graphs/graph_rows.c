/* Rows of graphs, their kernels and their pools. */
#include "graph_rows.h"

#include <stdlib.h>
#include <string.h>

#include "../../read/symbols/demangle.h"
#include "../../read/tables/array.h"
#include "../groups/group_key.h"
#include "../memory/memory_view.h"

struct by_handle {
	uint64_t key;
	uint32_t row;
};

/* A kernel of a row. */
struct row_kernel {
	uint64_t key; /* hash of row and handle */
	uint64_t handle, count;
	const char *name; /* of the recording; NULL: not known yet */
	uint32_t next;	  /* 1 + index of an older one of the row; 0: none */
};

/* A pool of a row. */
struct row_hold {
	uint64_t key; /* row << 32 | pool */
	uint32_t pool, next;
};

/* Bytes by arena, which is a stream and a pool. */
struct arena_bytes {
	uint64_t key; /* its number */
	uint64_t bytes, allocated_bytes;
};

struct pool_index {
	uint64_t key; /* hash of its id */
	uint32_t pool;
	uint64_t bytes; /* of its segments now */
};

void gp_graph_rows_open(struct gp_graph_rows *rows, struct gp_recording *recording,
			struct gp_graphs_report *out)
{
	*rows = (struct gp_graph_rows){ .recording = recording, .out = out };
	gp_looks_open_bytes(&rows->looks, recording->file.bytes);
}

void gp_graph_rows_release(struct gp_graph_rows *rows)
{
	for (size_t k = 0; k < rows->rows; k++) {
		free(rows->row[k].graph.key);
		free(rows->row[k].graph.kernel);
	}
	free(rows->row);
	gp_row_table_release(&rows->graphs);
	gp_row_table_release(&rows->execs);
	gp_row_table_release(&rows->kernels);
	gp_row_table_release(&rows->holds);
	gp_row_table_release(&rows->arenas);
	gp_row_table_release(&rows->pools);
	gp_row_table_release(&rows->names);
	*rows = (struct gp_graph_rows){ 0 };
}

/* ---- rows ---- */

uint32_t gp_graph_row_add(struct gp_graph_rows *rows, enum gp_graph_origin origin, int64_t at_ns)
{
	if (rows->rows == GP_GRAPH_ROWS_MOST) {
		rows->out->beyond++;
		return GP_GRAPH_NO_ROW;
	}
	struct gp_graph_row *row = gp_array_append(&rows->row, &rows->rows, sizeof *row);
	if (row == NULL) {
		rows->is_out_of_memory = true;
		return GP_GRAPH_NO_ROW;
	}
	*row = (struct gp_graph_row){ .graph = { .origin = origin,
						 .at_ns = at_ns,
						 .took_ns = -1,
						 .first_ns = -1,
						 .last_ns = -1,
						 .gone_ns = -1,
						 .pool = GP_GRAPH_NO_POOL,
						 .is_partial = origin == GP_GRAPH_UNSEEN } };
	return (uint32_t)rows->rows - 1;
}

void gp_graph_row_set(struct gp_graph_rows *rows, struct gp_row_table *table, uint64_t handle,
		      uint32_t row)
{
	struct by_handle *h;
	if (row == GP_GRAPH_NO_ROW)
		return;
	h = gp_row_get_key(table, sizeof *h, handle);
	rows->is_out_of_memory |= h == NULL;
	if (h != NULL)
		h->row = row;
}

uint32_t gp_graph_row_find(const struct gp_row_table *table, uint64_t handle)
{
	const struct by_handle *h = gp_row_of_key(table, sizeof *h, handle);
	return h != NULL ? h->row : GP_GRAPH_NO_ROW;
}

uint32_t gp_graph_row_take(struct gp_row_table *table, uint64_t handle)
{
	struct by_handle *h = gp_row_of_key(table, sizeof *h, handle);
	if (h == NULL)
		return GP_GRAPH_NO_ROW;
	const uint32_t row = h->row;
	gp_row_drop_key(table, sizeof *h, h);
	return row;
}

/* ---- nodes and kernels ---- */

static void row_sum(uint64_t *sum, uint64_t more)
{
	if (__builtin_add_overflow(*sum, more, sum))
		*sum = UINT64_MAX;
}

static struct row_kernel *row_kernel_at(const struct gp_graph_rows *rows, uint32_t at)
{
	return at != 0 ? &((struct row_kernel *)rows->kernels.row)[at - 1] : NULL;
}

static void row_kernel_add(struct gp_graph_rows *rows, uint32_t row, uint64_t handle,
			   const char *name, uint64_t count)
{
	struct gp_graph_row *to = &rows->row[row];
	const uint64_t key = gp_hash_pair(row, handle);
	struct row_kernel *k = gp_row_of_key(&rows->kernels, sizeof *k, key);
	row_sum(&to->graph.kernel_launches, count);
	if (k == NULL && rows->kernels.rows == GP_GRAPH_KERNELS_MOST) {
		rows->out->beyond++;
		to->graph.is_partial = true;
		return;
	}
	if (k == NULL) {
		k = gp_row_get_key(&rows->kernels, sizeof *k, key);
		rows->is_out_of_memory |= k == NULL;
		if (k == NULL)
			return;
		k->handle = handle;
		k->name = name;
		k->next = to->kernel;
		to->kernel = rows->kernels.rows;
	}
	row_sum(&k->count, count);
}

void gp_graph_node_add(struct gp_graph_rows *rows, uint32_t row, enum gp_graph_node kind,
		       uint64_t kernel)
{
	if (row == GP_GRAPH_NO_ROW)
		return;
	rows->row[row].graph.node[kind]++;
	if (kind == GP_GRAPH_KERNEL)
		row_kernel_add(rows, row, kernel, gp_recording_kernel_name(rows->recording, kernel),
			       1);
}

void gp_graph_row_copy(struct gp_graph_rows *rows, uint32_t to, uint32_t from, bool has_nodes)
{
	if (to == GP_GRAPH_NO_ROW || to == from)
		return;
	if (from == GP_GRAPH_NO_ROW) {
		rows->row[to].graph.is_partial = true;
		return;
	}
	struct gp_graph *g = &rows->row[to].graph;
	const struct gp_graph_row source = rows->row[from];
	g->is_partial |= source.graph.is_partial;
	for (unsigned k = 0; k < GP_GRAPH_NODES && has_nodes; k++)
		row_sum(&g->node[k], source.graph.node[k]);
	for (uint32_t at = source.kernel; at != 0;) {
		const struct row_kernel k = *row_kernel_at(rows, at); /* rows may move */
		if (!gp_looks_take(&rows->looks, 1)) {
			rows->row[to].graph.is_partial = true;
			return;
		}
		row_kernel_add(rows, to, k.handle, k.name, k.count);
		at = k.next;
	}
}

void gp_graph_row_name(struct gp_graph_rows *rows, uint32_t row)
{
	for (uint32_t at = rows->row[row].kernel; at != 0;) {
		struct row_kernel *k = row_kernel_at(rows, at);
		if (!gp_looks_take(&rows->looks, 1))
			return;
		if (k->name == NULL)
			k->name = gp_recording_kernel_name(rows->recording, k->handle);
		at = k->next;
	}
}

static int row_kernel_order(const void *left, const void *right)
{
	const struct gp_graph_kernel *a = left, *b = right;
	if (a->count != b->count)
		return a->count < b->count ? 1 : -1;
	if (a->name == NULL || b->name == NULL)
		return (a->name == NULL) - (b->name == NULL);
	return strcmp(a->name, b->name);
}

static int row_kernel_name_order(const void *left, const void *right)
{
	const uintptr_t a = (uintptr_t)((const struct gp_graph_kernel *)left)->name;
	const uintptr_t b = (uintptr_t)((const struct gp_graph_kernel *)right)->name;
	return (a > b) - (a < b);
}

struct row_name {
	uint64_t key; /* address of the recorded name */
	const char *text;
};

/* The source form of a name. NULL: unknown, or out of memory. */
static const char *row_name_of(struct gp_graph_rows *rows, const char *name)
{
	char text[GP_KEY_MAX];
	struct gp_graphs_report *out = rows->out;
	if (name == NULL)
		return NULL;
	struct row_name *known = gp_row_get_key(&rows->names, sizeof *known, (uintptr_t)name);
	if (known == NULL || known->text != NULL) {
		rows->is_out_of_memory |= known == NULL;
		return known != NULL ? known->text : NULL;
	}
	gp_demangle(name, text, sizeof text);
	char **made = gp_array_append(&out->name, &out->names, sizeof *made);
	if (made != NULL)
		known->text = *made = strdup(text);
	rows->is_out_of_memory |= known->text == NULL;
	return known->text;
}

/* Several handles may have one name, which the recording stores once. */
enum gp_status gp_graph_row_kernels(struct gp_graph_rows *rows, uint32_t row)
{
	struct gp_graph *g = &rows->row[row].graph;
	size_t count = 0, kept = 0;
	for (uint32_t at = rows->row[row].kernel; at != 0; at = row_kernel_at(rows, at)->next)
		count++;
	g->kernel = calloc(count + 1, sizeof *g->kernel);
	if (g->kernel == NULL)
		return GP_E_MEMORY;
	count = 0;
	for (uint32_t at = rows->row[row].kernel; at != 0; at = row_kernel_at(rows, at)->next) {
		const struct row_kernel *k = row_kernel_at(rows, at);
		g->kernel[count++] = (struct gp_graph_kernel){ k->name, k->count };
	}
	if (count > 1)
		qsort(g->kernel, count, sizeof *g->kernel, row_kernel_name_order);
	for (size_t k = 0; k < count; k++)
		if (kept != 0 && g->kernel[kept - 1].name == g->kernel[k].name)
			row_sum(&g->kernel[kept - 1].count, g->kernel[k].count);
		else
			g->kernel[kept++] = g->kernel[k];
	g->kernels = kept;
	for (size_t k = 0; k < kept; k++)
		g->kernel[k].name = row_name_of(rows, g->kernel[k].name);
	if (kept > 1)
		qsort(g->kernel, kept, sizeof *g->kernel, row_kernel_order);
	return rows->is_out_of_memory ? GP_E_MEMORY : GP_OK;
}

/* ---- pools ---- */

static void pool_shift(uint64_t *sum, uint64_t bytes, bool is_gone)
{
	if (is_gone)
		*sum -= bytes < *sum ? bytes : *sum;
	else
		row_sum(sum, bytes);
}

void gp_graph_pool_move(struct gp_graph_rows *rows, uint32_t arena, bool is_block, bool is_gone,
			uint64_t bytes)
{
	struct arena_bytes *a;
	if (arena == 0)
		return;
	a = gp_row_get_key(&rows->arenas, sizeof *a, arena);
	rows->is_out_of_memory |= a == NULL;
	if (a != NULL)
		pool_shift(is_block ? &a->allocated_bytes : &a->bytes, bytes, is_gone);
}

/* The pool of an arena; NULL: the default one, unknown, or out of memory. */
static struct pool_index *pool_index_of(struct gp_graph_rows *rows, uint32_t arena)
{
	const struct gp_arena a = gp_memory_arena(rows->recording, arena);
	if (!a.is_known || (a.pool | a.user_pool) == 0)
		return NULL;
	const uint64_t key = gp_hash_pair(a.pool, a.user_pool);
	struct pool_index *known = gp_row_of_key(&rows->pools, sizeof *known, key);
	if (known != NULL)
		return known;
	known = gp_row_get_key(&rows->pools, sizeof *known, key);
	struct gp_graphs_report *out = rows->out;
	struct gp_graph_pool *pool =
		known != NULL ? gp_array_append(&out->pool, &out->pools, sizeof *pool) : NULL;
	rows->is_out_of_memory |= pool == NULL;
	if (pool == NULL)
		return NULL;
	*pool = (struct gp_graph_pool){ .pool = a.pool, .user_pool = a.user_pool };
	known->pool = (uint32_t)out->pools - 1;
	return known;
}

/* UINT32_MAX: none. */
static uint32_t pool_of(struct gp_graph_rows *rows, uint32_t arena)
{
	const struct pool_index *known = pool_index_of(rows, arena);
	return known != NULL ? known->pool : UINT32_MAX;
}

void gp_graph_segment_move(struct gp_graph_rows *rows, const struct gp_graph_segment *s,
			   bool is_gone)
{
	gp_graph_pool_move(rows, s->arena, false, is_gone, s->bytes);
	struct pool_index *known = pool_index_of(rows, s->arena);
	if (known == NULL)
		return;
	struct gp_graph_pool *pool = &rows->out->pool[known->pool];
	pool_shift(&known->bytes, s->bytes, is_gone);
	if (known->bytes <= pool->most_bytes)
		return;
	if (pool->most_bytes == 0)
		pool->device = s->device;
	pool->most_bytes = known->bytes;
	pool->most_at_ns = s->at_ns;
}

/* PyTorch sets the first half of the id of a pool that it makes for a capture. */
static bool pool_is_of_capture(const struct gp_graphs_report *out, size_t pool)
{
	return out->pool[pool].pool != 0;
}

void gp_graph_pool_use(struct gp_graph_rows *rows, uint32_t row, uint32_t arena)
{
	const uint32_t pool = row != GP_GRAPH_NO_ROW ? pool_of(rows, arena) : UINT32_MAX;
	struct row_hold *hold;
	if (pool == UINT32_MAX)
		return;
	const uint64_t key = (uint64_t)row << 32 | pool;
	if (gp_row_of_key(&rows->holds, sizeof *hold, key) != NULL)
		return;
	struct gp_graph_row *to = &rows->row[row];
	hold = gp_row_get_key(&rows->holds, sizeof *hold, key);
	rows->is_out_of_memory |= hold == NULL;
	if (hold == NULL)
		return;
	hold->pool = pool;
	hold->next = to->hold;
	to->hold = rows->holds.rows;
	to->pools++;
	if (to->graph.pool == GP_GRAPH_NO_POOL ||
	    (pool_is_of_capture(rows->out, pool) && !pool_is_of_capture(rows->out, to->graph.pool)))
		to->graph.pool = pool;
}

/* All pools take part: the sums are few. */
void gp_graph_pools_settle(struct gp_graph_rows *rows)
{
	struct gp_graphs_report *out = rows->out;
	for (size_t k = 0; k < out->pools; k++)
		out->pool[k].bytes = out->pool[k].allocated_bytes = 0;
	for (uint32_t k = 0; k < rows->arenas.rows; k++) {
		const struct arena_bytes a = ((const struct arena_bytes *)rows->arenas.row)[k];
		const uint32_t pool = pool_of(rows, (uint32_t)a.key);
		if (pool == UINT32_MAX)
			continue;
		row_sum(&out->pool[pool].bytes, a.bytes);
		row_sum(&out->pool[pool].allocated_bytes, a.allocated_bytes);
	}
}

void gp_graph_pool_settle(struct gp_graph_rows *rows, uint32_t row)
{
	struct gp_graph_row *r = &rows->row[row];
	struct gp_graph *g = &r->graph;
	if (r->hold == 0 || !gp_looks_take(&rows->looks, rows->arenas.rows + r->pools))
		return;
	gp_graph_pools_settle(rows);
	g->pool_bytes = g->pool_allocated_bytes = g->other_pool_bytes = 0;
	g->other_pools = r->pools - 1;
	for (uint32_t at = r->hold; at != 0;) {
		const struct row_hold *hold = &((const struct row_hold *)rows->holds.row)[at - 1];
		const struct gp_graph_pool *pool = &rows->out->pool[hold->pool];
		if (hold->pool == g->pool) {
			g->pool_bytes = pool->bytes;
			g->pool_allocated_bytes = pool->allocated_bytes;
		} else {
			row_sum(&g->other_pool_bytes, pool->bytes);
		}
		at = hold->next;
	}
}

void gp_graph_pools_count(struct gp_graph_rows *rows, uint32_t row)
{
	for (uint32_t at = rows->row[row].hold; at != 0;) {
		const struct row_hold *hold = &((const struct row_hold *)rows->holds.row)[at - 1];
		rows->out->pool[hold->pool].graphs++;
		rows->out->pool[hold->pool].is_own |= hold->pool == rows->row[row].graph.pool;
		rows->out->pool[hold->pool].launched += rows->row[row].graph.launches != 0;
		at = hold->next;
	}
}
