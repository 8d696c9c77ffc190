/*
 * Rows of calls: each group gets its kernels, and each call goes to the row of its operation,
 * communicator and size. Rates need the number of ranks, which a communicator may report as late as
 * at its end, so they come last.
 */
#include <stdlib.h>
#include <string.h>

#include "../../read/file/recording.h"
#include "../settle.h"
#include "call_groups.h"
#include "nccl_kernels.h"

#define ROWS_MOST 65536u
#define COMMUNICATORS_MOST 4096u
#define STREAMS_MOST 100000u /* further ones are not counted */

struct row {
	uint64_t key;
	struct gp_collective_row sum;
	uint64_t communicator;
	double timed_bytes; /* of a rank */
	uint64_t group;	    /* the newest that it has time of */
};
struct communicator {
	uint64_t key;
	struct gp_communicator c;
	bool has_facts, is_unclear; /* unclear: differing numbers of ranks */
};
struct stream {
	uint64_t key; /* of its row, device, context and number */
};
struct lasted {
	uint64_t took_ns;
	uint32_t row;
};
struct group_rows {
	uint32_t exchanged;
	bool is_shared;
	uint64_t part, part_hash;
};
struct group_time {
	const struct gp_nccl_kernel *kernel;
	size_t kernels; /* each belongs to one group only */
	uint64_t first_ns, last_ns, kernel_ns, overlapped_ns;
	uint64_t devices; /* bits */
};

struct summing {
	struct gp_collectives *out;
	enum gp_collectives_by by;
	int64_t from_ns, to_ns, steps_from_ns, steps_to_ns;
	struct gp_steps steps;
	struct gp_nccl_kernels kernels;
	struct gp_nccl_groups groups;
	struct gp_row_table rows, communicators, streams;
	struct lasted *lasted;
	size_t lasteds;
	uint64_t group; /* number of the newest one */
	bool is_out_of_memory;
};

static void add(uint64_t *sum, uint64_t n)
{
	if (__builtin_add_overflow(*sum, n, sum))
		*sum = UINT64_MAX;
}

static bool is_chosen(int64_t at_ns, int64_t from_ns, int64_t to_ns)
{
	return at_ns >= from_ns && at_ns <= to_ns;
}

/* ---- communicators ---- */

static struct communicator *communicator_of(struct summing *s, uint64_t id)
{
	struct communicator *c = gp_row_of_key(&s->communicators, sizeof *c, id);
	if (c != NULL || s->communicators.rows == COMMUNICATORS_MOST)
		return c;
	c = gp_row_get_key(&s->communicators, sizeof *c, id);
	s->is_out_of_memory |= c == NULL;
	if (c != NULL)
		c->c = (struct gp_communicator){ .id = id, .device = GP_DEVICE_UNKNOWN };
	return c;
}

/* Without a hash, all communicators have one row. */
static void see_communicator(struct summing *s, const struct gp_record *r)
{
	const uint32_t ranks =
		r->communicator.ranks <= INT32_MAX ? (uint32_t)r->communicator.ranks : 0;
	const uint32_t rank =
		r->communicator.rank <= INT32_MAX ? (uint32_t)r->communicator.rank : 0;
	struct communicator *c = communicator_of(s, r->communicator.communicator);
	if (c == NULL)
		return;
	if (c->c.parent == 0)
		c->c.parent = r->communicator.parent;
	if (ranks == 0) {
		c->is_unclear |= c->c.id == 0;
		return;
	}
	if (!c->has_facts) {
		c->c.ranks = ranks;
		c->c.rank = rank;
		c->c.device = r->device;
	}
	c->is_unclear |= c->c.ranks != ranks;
	if (c->c.rank != rank)
		c->c.rank = 0;
	if (c->c.device != r->device)
		c->c.device = GP_DEVICE_UNKNOWN;
	c->has_facts = true;
}

/* ---- groups ---- */

static uint64_t stream_key(const struct gp_gpu_operation *op)
{
	return gp_hash_pair((uint64_t)op->context << 8 | op->device, op->stream);
}

/*
 * PyTorch makes an all-to-all of a send to and a receive from each rank. Returns the number of
 * these ranks; 0: the group is not one.
 */
static uint32_t exchanged_ranks(const struct gp_nccl_group *g)
{
	const size_t ranks = g->calls / 2;
	uint8_t *seen = g->calls % 2 == 0 && ranks >= 2 && g->is_whole ? calloc(ranks, 1) : NULL;
	bool is_exchange = seen != NULL;
	for (size_t k = 0; k < g->calls && is_exchange; k++) {
		const struct gp_nccl_call *c = &g->call[k];
		const uint8_t way = c->operation == GP_SEND ? 1 : c->operation == GP_RECV ? 2 : 0;
		is_exchange = way != 0 && c->peer >= 1 && c->peer <= ranks &&
			      (seen[c->peer - 1] & way) == 0 && c->bytes == g->call->bytes &&
			      c->communicator == g->call->communicator;
		if (is_exchange)
			seen[c->peer - 1] |= way;
	}
	free(seen);
	return is_exchange ? (uint32_t)ranks : 0;
}

static bool is_of_one_row(const struct gp_nccl_group *g)
{
	for (size_t k = 1; k < g->calls; k++)
		if (g->call[k].operation != g->call->operation ||
		    g->call[k].communicator != g->call->communicator ||
		    g->call[k].bytes != g->call->bytes)
			return false;
	return g->is_whole;
}

/* Where the rows are of steps or streams: as gp_collective_row.part, and the same as a hash. */
static uint64_t part_of(const struct summing *s, const struct gp_nccl_group *g,
			const struct group_time *t, uint64_t *hash)
{
	uint64_t part = 0;
	*hash = 0;
	if (s->by == GP_COLLECTIVES_BY_STEP) {
		const size_t step = gp_step_at(&s->steps, g->call->at_ns);
		part = step < s->steps.steps ? step + 1 : 0;
		*hash = part;
	} else if (s->by == GP_COLLECTIVES_BY_STREAM && t->kernels != 0) {
		const struct gp_gpu_operation *op = &s->out->gpu.operation[t->kernel->operation];
		part = op->stream + UINT64_C(1);
		*hash = stream_key(op);
	}
	return part;
}

static struct row *collective_row_of(struct summing *s, const struct gp_nccl_call *c,
				     const struct group_rows *of)
{
	const uint64_t key =
		gp_hash_pair(gp_hash_pair((uint64_t)c->operation << 32 | of->exchanged,
					  gp_hash_pair(c->communicator, of->part_hash)),
			     gp_hash_pair(c->bytes, of->is_shared));
	struct row *row = gp_row_of_key(&s->rows, sizeof *row, key);
	if (row != NULL)
		return row;
	if (s->rows.rows == ROWS_MOST || communicator_of(s, c->communicator) == NULL)
		return NULL;
	row = gp_row_get_key(&s->rows, sizeof *row, key);
	s->is_out_of_memory |= row == NULL;
	if (row != NULL) {
		row->communicator = c->communicator;
		row->sum = (struct gp_collective_row){ .operation = c->operation,
						       .bytes = c->bytes,
						       .part = of->part,
						       .exchanged = of->exchanged,
						       .is_shared = of->is_shared };
	}
	return row;
}

static void stream_count(struct summing *s, struct row *row, const struct gp_gpu_operation *op)
{
	const uint64_t key = gp_hash_pair(row->key, stream_key(op));
	if (gp_row_of_key(&s->streams, sizeof(struct stream), key) != NULL ||
	    s->streams.rows == STREAMS_MOST)
		return;
	row->sum.streams++;
	s->is_out_of_memory |= gp_row_get_key(&s->streams, sizeof(struct stream), key) == NULL;
}

static struct group_time group_time_of(const struct summing *s, struct gp_nccl_kernel *kernel,
				       size_t kernels)
{
	struct group_time t = { .kernel = kernel, .first_ns = UINT64_MAX };
	for (; t.kernels < kernels && !kernel[t.kernels].is_found; t.kernels++) {
		const struct gp_gpu_operation *op =
			&s->out->gpu.operation[kernel[t.kernels].operation];
		const uint64_t end_ns = op->began_ns + op->took_ns;
		kernel[t.kernels].is_found = true;
		t.first_ns = op->began_ns < t.first_ns ? op->began_ns : t.first_ns;
		t.last_ns = end_ns > t.last_ns ? end_ns : t.last_ns;
		t.devices |= UINT64_C(1) << op->device % 64;
		add(&t.kernel_ns, op->took_ns);
		add(&t.overlapped_ns, gp_nccl_overlapped_ns(&s->kernels, op));
	}
	return t;
}

/* The time of a group, once for each of its rows. */
static void time_add(struct summing *s, struct row *row, const struct group_time *t)
{
	if (row->group == s->group)
		return;
	row->group = s->group;
	add(&row->sum.total_ns, t->last_ns - t->first_ns);
	add(&row->sum.kernel_ns, t->kernel_ns);
	add(&row->sum.overlapped_ns, t->overlapped_ns);
	for (size_t k = 0; k < (row->sum.is_shared ? 1 : t->kernels); k++)
		stream_count(s, row, &s->out->gpu.operation[t->kernel[k].operation]);
	if (!row->sum.is_shared)
		s->lasted[s->lasteds++] =
			(struct lasted){ t->last_ns - t->first_ns,
					 (uint32_t)(row - (struct row *)s->rows.row) };
}

/* With several devices in one group, each is a rank that calls the same. */
static void call_add(struct summing *s, const struct gp_nccl_call *c, struct row *row,
		     unsigned devices)
{
	row->sum.count++;
	row->sum.in_steps += is_chosen(c->at_ns, s->steps_from_ns, s->steps_to_ns);
	row->sum.timed += devices != 0;
	if (devices != 0)
		row->timed_bytes += (double)c->bytes / devices;
	s->out->calls++;
	add(&s->out->bytes, c->bytes);
}

static void see_group(void *context, const struct gp_nccl_group *g)
{
	struct summing *s = context;
	size_t kernels;
	struct gp_nccl_kernel *kernel = gp_nccl_kernels_find(&s->kernels, g, &kernels);
	const struct group_time time = group_time_of(s, kernel, kernels);
	if (!is_chosen(g->call->at_ns, s->from_ns, s->to_ns)) {
		for (size_t k = 0; k < time.kernels; k++)
			kernel[k].is_outside = true;
		return;
	}
	const unsigned devices = (unsigned)__builtin_popcountll(time.devices);
	s->group++;
	struct group_rows of = { .exchanged = exchanged_ranks(g) };
	struct gp_nccl_call whole = *g->call;
	whole.operation = GP_ALL_TO_ALL;
	of.is_shared = of.exchanged == 0 &&
		       (!is_of_one_row(g) || (devices != 0 && g->calls % devices != 0));
	of.part = part_of(s, g, &time, &of.part_hash);
	for (size_t k = 0; k < (of.exchanged != 0 ? 1 : g->calls); k++) {
		const struct gp_nccl_call *c = of.exchanged != 0 ? &whole : &g->call[k];
		struct row *row = collective_row_of(s, c, &of);
		if (row == NULL) {
			s->out->beyond++;
			continue;
		}
		call_add(s, c, row, devices);
		if (time.kernels != 0)
			time_add(s, row, &time);
	}
}

/* ---- rates ---- */

/* By how much the bytes of a call are less than those that nccl-tests counts. */
static double bytes_factor(uint32_t operation, uint32_t ranks)
{
	switch (operation) {
	case GP_ALL_GATHER:
	case GP_REDUCE_SCATTER:
	case GP_ALL_TO_ALL:
	case GP_GATHER:
	case GP_SCATTER:
		return ranks;
	default:
		return 1;
	}
}

static double bus_factor(uint32_t operation, uint32_t ranks)
{
	const double other_share = (ranks - 1.0) / ranks;
	switch (operation) {
	case GP_ALL_REDUCE:
		return 2 * other_share;
	case GP_ALL_GATHER:
	case GP_REDUCE_SCATTER:
	case GP_ALL_TO_ALL:
	case GP_GATHER:
	case GP_SCATTER:
		return other_share;
	default:
		return 1;
	}
}

static bool needs_ranks(uint32_t operation)
{
	return bus_factor(operation, 3) != 1;
}

static void rates_fill(const struct summing *s, struct gp_collective_row *r, double timed_bytes,
		       uint32_t ranks)
{
	r->algorithm_rate = r->bus_rate = -1;
	if (r->exchanged != 0)
		ranks = r->exchanged;
	r->without = !s->out->gpu.has_operations	     ? "no GPU time was recorded" :
		     r->timed == 0 || r->total_ns == 0	     ? "no kernel was found" :
		     r->is_shared			     ? "the time is of several calls" :
		     !gp_collective_name(r->operation)	     ? "the operation has no formula" :
		     ranks == 0 && needs_ranks(r->operation) ? "the number of ranks is not known" :
							       NULL;
	const bool is_simple = bytes_factor(r->operation, 2) == 1;
	if (r->total_ns == 0 || r->is_shared || !gp_collective_name(r->operation) ||
	    (ranks == 0 && !is_simple))
		return;
	const double rate = timed_bytes / (double)r->total_ns;
	r->algorithm_rate = rate * bytes_factor(r->operation, ranks);
	if (r->without == NULL)
		r->bus_rate = r->algorithm_rate * bus_factor(r->operation, ranks);
}

/* ---- rows ---- */

static int by_row(const void *left, const void *right)
{
	const struct lasted *a = left, *b = right;
	if (a->row != b->row)
		return a->row < b->row ? -1 : 1;
	return (a->took_ns > b->took_ns) - (a->took_ns < b->took_ns);
}

static void medians_fill(struct summing *s)
{
	struct row *row = s->rows.row;
	qsort(s->lasted, s->lasteds, sizeof *s->lasted, by_row);
	for (size_t k = 0, end; k < s->lasteds; k = end) {
		for (end = k; end < s->lasteds && s->lasted[end].row == s->lasted[k].row; end++)
			;
		row[s->lasted[k].row].sum.median_ns = s->lasted[k + (end - k - 1) / 2].took_ns;
	}
}

static int costliest_row(const void *left, const void *right)
{
	const struct gp_collective_row *a = left, *b = right;
	if (a->total_ns != b->total_ns)
		return a->total_ns < b->total_ns ? 1 : -1;
	if (a->bytes != b->bytes)
		return a->bytes < b->bytes ? 1 : -1;
	if (a->operation != b->operation)
		return a->operation < b->operation ? -1 : 1;
	if (a->communicator != b->communicator)
		return a->communicator < b->communicator ? -1 : 1;
	if (a->part != b->part)
		return a->part < b->part ? -1 : 1;
	return (a->is_shared > b->is_shared) - (a->is_shared < b->is_shared);
}

static int earliest_row(const void *left, const void *right)
{
	const struct gp_collective_row *a = left, *b = right;
	if (a->part != b->part)
		return a->part < b->part ? -1 : 1;
	return costliest_row(left, right);
}

static enum gp_status rows_list(struct summing *s)
{
	struct gp_collectives *out = s->out;
	const struct communicator *c = s->communicators.row;
	const struct row *row = s->rows.row;
	out->communicator = malloc((s->communicators.rows + 1u) * sizeof *out->communicator);
	out->row = malloc((s->rows.rows + 1u) * sizeof *out->row);
	if (out->communicator == NULL || out->row == NULL)
		return GP_E_MEMORY;
	medians_fill(s);
	for (uint32_t k = 0; k < s->communicators.rows; k++) {
		out->communicator[out->communicators] = c[k].c;
		if (c[k].is_unclear)
			out->communicator[out->communicators].ranks = 0;
		out->communicators++;
	}
	for (uint32_t k = 0; k < s->rows.rows; k++) {
		struct gp_collective_row *to = &out->row[out->rows++];
		const struct communicator *of =
			gp_row_of_key(&s->communicators, sizeof *of, row[k].communicator);
		*to = row[k].sum;
		to->communicator = (uint32_t)(of - c);
		rates_fill(s, to, row[k].timed_bytes, out->communicator[to->communicator].ranks);
	}
	if (out->rows != 0)
		qsort(out->row, out->rows, sizeof *out->row,
		      s->by == GP_COLLECTIVES_BY_STEP ? earliest_row : costliest_row);
	return GP_OK;
}

static void kernels_count(struct summing *s)
{
	struct gp_collectives *out = s->out;
	const bool is_all = s->from_ns == INT64_MIN && s->to_ns == INT64_MAX;
	for (size_t k = 0; k < s->kernels.kernels; k++) {
		const struct gp_nccl_kernel *kernel = &s->kernels.kernel[k];
		const struct gp_gpu_operation *op = &out->gpu.operation[kernel->operation];
		const bool is_in = is_all || is_chosen(op->at_ns, s->from_ns, s->to_ns);
		if (kernel->is_outside || (!kernel->is_found && !is_in))
			continue;
		out->kernels++;
		add(&out->kernel_ns, op->took_ns);
		add(&out->overlapped_ns, gp_nccl_overlapped_ns(&s->kernels, op));
		if (kernel->is_found)
			continue;
		out->kernels_alone++;
		add(&out->alone_ns, op->took_ns);
		out->kernels_in_graphs += op->is_in_graph;
	}
}

/* ---- the recording ---- */

static enum gp_status steps_find(struct summing *s, struct gp_recording *recording)
{
	struct gp_steps *steps = &s->steps;
	s->steps_from_ns = INT64_MAX;
	s->steps_to_ns = INT64_MIN;
	enum gp_status status = gp_steps_find(recording, steps);
	for (size_t k = steps->warmup; status == GP_OK && k < steps->steps; k++) {
		if (!is_chosen(steps->step[k].begin_ns, s->from_ns, s->to_ns))
			continue;
		if (s->out->steps++ == 0)
			s->steps_from_ns = steps->step[k].begin_ns;
		s->steps_to_ns = steps->step[k].end_ns;
	}
	return status == GP_OK ? gp_recording_rewind(recording) : status;
}

static enum gp_status calls_sum(struct summing *s, struct gp_recording *recording)
{
	struct gp_event e;
	enum gp_status status = GP_OK;
	if (!gp_recording_keeps(recording, GP_COLLECTIVE) &&
	    !gp_recording_keeps(recording, GP_COMMUNICATOR) &&
	    !gp_recording_keeps(recording, GP_RANGE_PUSH))
		return gp_recording_end(recording);
	s->groups.recording = recording;
	s->groups.visit = see_group;
	s->groups.context = s;
	while ((status = gp_recording_next(recording, &e)) == GP_OK) {
		if (e.record.kind == GP_COMMUNICATOR)
			see_communicator(s, &e.record);
		else
			gp_nccl_groups_see(&s->groups, &e);
		if (s->is_out_of_memory || s->groups.is_out_of_memory)
			return GP_E_MEMORY;
	}
	gp_nccl_groups_end(&s->groups);
	s->out->unsized = s->groups.unsized;
	add(&s->out->beyond, s->groups.beyond);
	return status == GP_END ? GP_OK : status;
}

static const char *silence(struct gp_recording *recording)
{
	const struct gp_record *fact =
		gp_defined_record(recording->definitions, GP_FACT, GP_FACT_NCCL_SILENT);
	if (fact != NULL && fact->fact.value != 0)
		return "NCCL_NVTX_DISABLE was set";
	return recording->info.nvtx_why;
}

enum gp_status gp_collectives_build(struct gp_recording *recording, enum gp_collectives_by by,
				    int64_t from_ns, int64_t to_ns, struct gp_collectives *out)
{
	struct summing s = { .out = out, .by = by, .from_ns = from_ns, .to_ns = to_ns };
	*out = (struct gp_collectives){ 0 };
	enum gp_status status = steps_find(&s, recording);
	if (status == GP_OK)
		status = gp_gpu_build(recording, false, &out->gpu);
	if (status == GP_OK)
		status = gp_nccl_kernels_open(&s.kernels, &out->gpu);
	if (status == GP_OK &&
	    (s.lasted = malloc((s.kernels.kernels + 1) * sizeof *s.lasted)) == NULL)
		status = GP_E_MEMORY;
	if (status == GP_OK)
		status = gp_recording_rewind(recording);
	if (status == GP_OK)
		status = calls_sum(&s, recording);
	if (status == GP_OK && s.is_out_of_memory)
		status = GP_E_MEMORY;
	if (status == GP_OK)
		status = rows_list(&s);
	if (status == GP_OK) {
		kernels_count(&s);
		out->why = silence(recording);
	}
	gp_steps_free(&s.steps);
	gp_nccl_kernels_release(&s.kernels);
	gp_nccl_groups_release(&s.groups);
	gp_row_table_release(&s.rows);
	gp_row_table_release(&s.communicators);
	gp_row_table_release(&s.streams);
	free(s.lasted);
	if (status != GP_OK)
		gp_collectives_free(out);
	return status;
}

void gp_collectives_free(struct gp_collectives *collectives)
{
	free(collectives->row);
	free(collectives->communicator);
	gp_gpu_free(&collectives->gpu);
	*collectives = (struct gp_collectives){ 0 };
}
