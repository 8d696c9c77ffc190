/*
 * Memory comes from gp_top_peak_build, so the values are those of `top` and `peak`. GPU time comes
 * from gp_gpu_build.
 */
#include "value_table.h"

#include <stdlib.h>
#include <string.h>

#include "../../io/amount.h"
#include "../../io/message.h"
#include "../../report/report.h"

#define SHORT_NS 1000000
#define LABEL_ROOM 1024u

#define BIT(value) (1u << (value))
#define ALLOCATED (BIT(GP_VALUE_ALLOC_OBJECTS) | BIT(GP_VALUE_ALLOC_SPACE))
#define HELD (BIT(GP_VALUE_INUSE_OBJECTS) | BIT(GP_VALUE_INUSE_SPACE))
#define ON_GPU (BIT(GP_VALUE_GPU_TIME) | BIT(GP_VALUE_GPU_KERNELS))

const struct gp_value_type gp_value_types[GP_STACK_VALUES] = {
	[GP_VALUE_ALLOC_OBJECTS] = { "alloc_objects", "count" },
	[GP_VALUE_ALLOC_SPACE] = { "alloc_space", "bytes" },
	[GP_VALUE_INUSE_OBJECTS] = { "inuse_objects", "count" },
	[GP_VALUE_INUSE_SPACE] = { "inuse_space", "bytes" },
	[GP_VALUE_GPU_TIME] = { "gpu_time", "nanoseconds" },
	[GP_VALUE_GPU_KERNELS] = { "gpu_kernels", "count" },
};
const char *const gp_value_labels[GP_VALUE_LABELS] = {
	[GP_LABEL_DEVICE] = "device", [GP_LABEL_MEMORY] = "memory", [GP_LABEL_OWNER] = "owner",
	[GP_LABEL_PHASE] = "phase",   [GP_LABEL_ROLE] = "role",	    [GP_LABEL_OP] = "op",
};

enum gp_stack_value gp_value_find(const char *name)
{
	for (unsigned k = 0; k < GP_STACK_VALUES; k++)
		if (strcmp(gp_value_types[k].name, name) == 0)
			return (enum gp_stack_value)k;
	return GP_VALUE_INUSE_SPACE;
}

/* ---- rows ---- */

static void value_add(struct gp_value_table *m, const struct gp_value_row *like,
		      enum gp_stack_value of, uint64_t count)
{
	struct gp_value_row *row = count ? gp_table_row(m, like) : NULL;
	if (!row)
		return;
	row->value[of] += count;
	m->out->total[of] += count;
}

static const char *phase_of(struct gp_value_table *m, const struct gp_range_path *range)
{
	char text[LABEL_ROOM];
	const struct gp_range_path *path = gp_range_path_shown(range, NULL);
	if (!m->has_phases || !path || path->known == GP_RANGE_UNRECORDED)
		return NULL;
	if (path->known != GP_RANGE_IN) {
		gp_range_path_text(path, text, sizeof text);
		return gp_table_text(m, text);
	}
	const char *name = gp_range_path_phase(path)->name;
	return gp_table_text(m, name ? name : "");
}

static const char *device_of(struct gp_value_table *m, unsigned device)
{
	char text[16] = "host";
	if (device != GP_DEVICE_UNKNOWN)
		snprintf(text, sizeof text, "%u", device);
	return gp_table_text(m, text);
}

static const char *owner_without_library(uint8_t space)
{
	return space == GP_SPACE_BLOCK					 ? "PyTorch" :
	       space == GP_SPACE_HOST || space == GP_SPACE_HOST_REGISTER ? "pinned memory" :
	       space == GP_SPACE_NONE					 ? NULL :
									   gp_space_owner(space);
}

static const char *const memories[GP_CURVE_PINNED + 1] = { [GP_CURVE_ALLOCATED] = "allocated",
							   [GP_CURVE_DRIVER] = "driver",
							   [GP_CURVE_PINNED] = "pinned" };

/* The row of a use, without values. */
static struct gp_value_row use_row(struct gp_value_table *m, const struct gp_use *use,
				   enum gp_curve of, unsigned device)
{
	struct gp_stack_place place;
	if (!m->e->has_stacks)
		place = gp_table_reason(m, "without stacks");
	else if (use->without)
		place = gp_table_reason(m, use->without);
	else
		place = gp_table_place(m, use->stack, use->at_ns);
	return (struct gp_value_row){
		.stack = place.stack,
		.leaf = GP_NO_FRAME,
		.device = device,
		.label = { [GP_LABEL_DEVICE] = device_of(m, device),
			   [GP_LABEL_MEMORY] = memories[of],
			   [GP_LABEL_OWNER] =
				   place.owner ? place.owner : owner_without_library(use->space),
			   [GP_LABEL_PHASE] = phase_of(m, use->range),
			   [GP_LABEL_ROLE] =
				   use->rule ? gp_role_keys[gp_role_rule(use->rule)->role] : NULL,
			   [GP_LABEL_OP] = place.op }
	};
}

/* Whether memory of this device is exported; of the host with all devices only. */
static bool values_have(struct gp_value_table *m, unsigned device, uint64_t bytes)
{
	const struct gp_export *e = m->e;
	if (device == GP_DEVICE_UNKNOWN)
		return e->device == GP_DEVICE_UNKNOWN;
	if (gp_export_has(e, device))
		return true;
	m->left_out += device >= e->devices ? bytes : 0;
	return false;
}

/* enum gp_with: what labels need. */
static unsigned with_labels(const struct gp_value_table *m)
{
	return (m->wish.has_labels ? GP_WITH_ROLES : 0) | (m->has_phases ? GP_WITH_RANGES : 0);
}

/* ---- allocated in the span ---- */

static void add_allocated(struct gp_value_table *m, const struct gp_top_curve *c)
{
	if (!values_have(m, c->device, c->bytes))
		return;
	for (size_t k = 0; k < c->uses && !m->is_out_of_memory; k++) {
		const struct gp_use *use = &c->use[k];
		/* the content of segments is in other rows */
		if (!use->count || (c->of == GP_CURVE_DRIVER && use->is_segment))
			continue;
		const struct gp_value_row row = use_row(m, use, c->of, c->device);
		value_add(m, &row, GP_VALUE_ALLOC_OBJECTS, use->count);
		value_add(m, &row, GP_VALUE_ALLOC_SPACE, use->bytes);
	}
}

static void add_top(struct gp_value_table *m, const struct gp_top *top)
{
	for (size_t k = 0; k < top->curves + (top->host != NULL); k++)
		add_allocated(m, &top->curve[k]);
}

/* ---- live at its end ---- */

/* Bytes of segments in which no block lies. */
static void add_unused(struct gp_value_table *m, unsigned device, uint64_t segments,
		       uint64_t blocks)
{
	if (segments <= blocks)
		return;
	const struct gp_value_row row = {
		.stack = gp_table_reason(m, "unused in PyTorch's segments").stack,
		.leaf = GP_NO_FRAME,
		.device = device,
		.label = { [GP_LABEL_DEVICE] = device_of(m, device),
			   [GP_LABEL_MEMORY] = "unused",
			   [GP_LABEL_OWNER] = "PyTorch" }
	};
	value_add(m, &row, GP_VALUE_INUSE_SPACE, segments - blocks);
}

/* Returns the bytes of segments. */
static uint64_t add_held(struct gp_value_table *m, const struct gp_holders *h)
{
	uint64_t segments = 0;
	for (size_t k = 0; k < h->uses && !m->is_out_of_memory; k++) {
		const struct gp_use *use = &h->use[k];
		if (h->of == GP_CURVE_DRIVER && use->is_segment) {
			segments += use->bytes;
			continue;
		}
		const struct gp_value_row row = use_row(m, use, h->of, h->device);
		value_add(m, &row, GP_VALUE_INUSE_OBJECTS, use->count);
		value_add(m, &row, GP_VALUE_INUSE_SPACE, use->bytes);
	}
	return segments;
}

static void add_peak(struct gp_value_table *m, const struct gp_peak *peak)
{
	uint64_t blocks[GP_DEVICES] = { 0 };
	/* ALLOCATED comes before DRIVER */
	for (size_t k = 0; k < peak->holders; k++) {
		const struct gp_holders *h = &peak->holder[k];
		if (h->of == GP_CURVE_RESERVED || !values_have(m, h->device, h->live_bytes))
			continue;
		const uint64_t segments = add_held(m, h);
		if (h->of == GP_CURVE_ALLOCATED && h->device < GP_DEVICES)
			blocks[h->device] = h->live_bytes;
		else if (h->device < GP_DEVICES)
			add_unused(m, h->device, segments, blocks[h->device]);
	}
	if (peak->host && values_have(m, GP_DEVICE_UNKNOWN, 0))
		add_held(m, peak->host);
}

/* Roles and ranges cost replays, roles also 2 bytes an allocation: they are for labels alone. */
static enum gp_status build_memory(struct gp_value_table *m)
{
	struct gp_top top = { 0 };
	struct gp_peak peak = { 0 };
	const struct gp_export *e = m->e;
	const unsigned with = with_labels(m), top_with = with | GP_WITH_SEGMENTS;
	const bool has_top = (m->wish.values & ALLOCATED) != 0,
		   has_peak = (m->wish.values & HELD) != 0;
	enum gp_status status = GP_OK;
	if (has_top && has_peak)
		status = gp_top_peak_build(e->recording, e->from_ns, e->to_ns, SHORT_NS, top_with,
					   with, &top, &peak);
	else if (has_top)
		status = gp_top_build_with(e->recording, e->from_ns, e->to_ns, SHORT_NS, top_with,
					   &top);
	else if (has_peak)
		status = gp_peak_build_with(e->recording, GP_AT_TIME, e->to_ns, with, &peak);
	if (status)
		return status;
	add_top(m, &top);
	add_peak(m, &peak);
	gp_top_free(&top);
	gp_peak_free(&peak);
	return GP_OK;
}

/* ---- GPU time ---- */

static struct gp_value_row operation_row(struct gp_value_table *m, const struct gp_gpu *gpu,
					 const struct gp_gpu_operation *op)
{
	char text[8192];
	const struct gp_gpu_launch *l =
		op->launch == GP_GPU_NO_LAUNCH ? NULL : &gpu->launch[op->launch];
	const struct gp_stack_place place =
		!l		  ? gp_table_reason(m, "no launch found") :
		!m->e->has_stacks ? gp_table_reason(m, "without stacks") :
		!l->stack	  ? gp_table_reason(m, "no stack was recorded") :
				    gp_table_place(m, l->stack, l->at_ns);
	const bool is_kernel = op->kind == GP_GPU_IS_KERNEL;
	gp_gpu_operation_text(gpu, op, text, sizeof text);
	const char *name = gp_table_text(m, text);
	const char *symbol = is_kernel ? gpu->function[op->function].name : NULL;
	symbol = symbol ? gp_table_text(m, symbol) : name;
	return (struct gp_value_row){
		.stack = place.stack,
		.leaf = gp_table_frame(m,
				       &(struct gp_value_frame){ .name = name, .symbol = symbol }),
		.device = op->device,
		.label = { [GP_LABEL_DEVICE] = device_of(m, op->device),
			   [GP_LABEL_OWNER] = place.owner,
			   [GP_LABEL_PHASE] = l ? phase_of(m, l->range) : NULL,
			   [GP_LABEL_OP] = place.op }
	};
}

/* Operations of one stack, kernel and range have one row, which is looked for once. */
static struct gp_value_row *row_of_operation(struct gp_value_table *m, const struct gp_gpu *gpu,
					     const struct gp_gpu_operation *op)
{
	const struct gp_gpu_launch *l =
		op->launch == GP_GPU_NO_LAUNCH ? NULL : &gpu->launch[op->launch];
	const uint32_t epoch = l && m->epochs ? gp_stack_epoch(m->epochs, l->at_ns) : 0;
	const uint64_t key = gp_hash_pair((uint64_t)op->function << 16 | op->kind << 8 | op->device,
					  l ? (uint64_t)(uintptr_t)l->range : 1);
	struct gp_pickle_row *seen = gp_table_key(
		m, &m->operations, key, l ? (uint64_t)l->stack << 32 | epoch : UINT64_MAX);
	if (seen && seen->memo)
		return &m->out->row[seen->memo - 1];
	if (!seen)
		return NULL;
	const struct gp_value_row like = operation_row(m, gpu, op);
	struct gp_value_row *row = gp_table_row(m, &like);
	seen->memo = row ? (uint32_t)(row - m->out->row) + 1 : 0;
	return row;
}

static void add_operation(struct gp_value_table *m, const struct gp_gpu *gpu,
			  const struct gp_gpu_operation *op)
{
	struct gp_value_row *row = row_of_operation(m, gpu, op);
	const bool is_kernel = op->kind == GP_GPU_IS_KERNEL;
	if (!row)
		return;
	row->value[GP_VALUE_GPU_TIME] += op->took_ns;
	row->value[GP_VALUE_GPU_KERNELS] += is_kernel;
	m->out->total[GP_VALUE_GPU_TIME] += op->took_ns;
	m->out->total[GP_VALUE_GPU_KERNELS] += is_kernel;
}

/* Whether it is worth a replay: there are operations, or a reason why there are none. */
static bool may_have_gpu_time(const struct gp_value_table *m)
{
	const struct gp_info *info = m->e->info;
	return info->kept[GP_GPU_KERNEL] || info->kept[GP_GPU_COPY] ||
	       !(m->wish.values & HELD) || /* the recording is not read yet */
	       gp_recording_text(m->e->recording, GP_FACT, GP_FACT_GPU_TIME);
}

static enum gp_status build_gpu(struct gp_value_table *m)
{
	struct gp_gpu gpu;
	const struct gp_export *e = m->e;
	struct gp_stack_values *out = m->out;
	const bool is_whole = e->from_ns == INT64_MIN && e->to_ns == INT64_MAX;
	uint64_t timeless = 0;
	const enum gp_status status = gp_gpu_build(e->recording, m->has_phases, &gpu);
	out->has_gpu_time = status == GP_OK && gpu.has_operations;
	out->no_gpu_time = gpu.why ? gp_table_text(m, gpu.why) : NULL;
	for (size_t k = 0; out->has_gpu_time && k < gpu.operations && !m->is_out_of_memory; k++) {
		const struct gp_gpu_operation *op = &gpu.operation[k];
		if (gp_gpu_is_chosen(op, e->from_ns, e->to_ns, e->device))
			add_operation(m, &gpu, op);
		else
			timeless += !is_whole && op->at_ns == INT64_MIN;
	}
	if (out->has_gpu_time)
		out->gpu_lost = gpu.dropped + gpu.lost + gpu.beyond;
	if (out->gpu_lost)
		gp_error("%s of the GPU lost: gpu_time is too low",
			 gp_plural(out->gpu_lost, "operation").s);
	if (timeless)
		gp_error("%s of the GPU without a time on the recording's clock: left out",
			 gp_plural(timeless, "operation").s);
	gp_gpu_free(&gpu);
	return status;
}

/* ---- the whole ---- */

enum gp_status gp_stack_values_build(struct gp_export *e, const struct gp_stack_values_wish *wish,
				     struct gp_stack_values *out)
{
	const struct gp_info *info = e->info;
	const int64_t kept_ns = (int64_t)info->kept_from_ns, end_ns = (int64_t)info->duration_ns;
	*out = (struct gp_stack_values){ .from_ns = e->from_ns > kept_ns ? e->from_ns : kept_ns,
					 .at_ns = e->to_ns < end_ns ? e->to_ns : end_ns };
	struct gp_value_table *m = out->table = calloc(1, sizeof *m);
	if (!m)
		return GP_E_MEMORY;
	m->e = e;
	m->out = out;
	m->wish = *wish;
	m->has_phases = wish->has_labels && gp_phases_by(info) != GP_PHASES_BY_NOTHING;
	enum gp_status status =
		e->has_stacks ? gp_stack_epochs_open(e->recording, &m->epochs) : GP_OK;
	if (!status)
		status = build_memory(m);
	if (!status && (wish->values & ON_GPU) && may_have_gpu_time(m))
		status = build_gpu(m);
	if (m->left_out)
		gp_error("%s of unknown devices: left out", gp_bytes_text(m->left_out).s);
	if (!status && !out->rows && (wish->values & ALLOCATED) && (wish->values & HELD))
		gp_error("'%s': no memory and no GPU time in this span: no stacks to write",
			 e->recording_path);
	return status ? status : m->is_out_of_memory ? GP_E_MEMORY : GP_OK;
}

void gp_stack_values_free(struct gp_stack_values *out)
{
	struct gp_value_table *m = out->table;
	free(out->frame);
	free(out->index);
	free(out->stack);
	free(out->row);
	if (m) {
		gp_stack_epochs_close(m->epochs);
		struct gp_pickle_rows *const tables[] = { &m->texts, &m->frames, &m->stacks,
							  &m->rows,  &m->places, &m->operations };
		for (size_t k = 0; k < sizeof tables / sizeof *tables; k++)
			gp_pickle_rows_release(tables[k]);
		free(m->place);
		free(m);
	}
	*out = (struct gp_stack_values){ 0 };
}

/* ---- sums ---- */

static int sum_compare_stacks(const void *left, const void *right)
{
	const struct gp_value_sum *a = left, *b = right;
	if (a->device != b->device)
		return a->device < b->device ? -1 : 1;
	if (a->stack != b->stack)
		return a->stack < b->stack ? -1 : 1;
	return (a->leaf > b->leaf) - (a->leaf < b->leaf);
}

static int sum_compare(const void *left, const void *right)
{
	const struct gp_value_sum *a = left, *b = right;
	if (a->device != b->device)
		return a->device < b->device ? -1 : 1;
	if (a->value != b->value)
		return a->value > b->value ? -1 : 1;
	return sum_compare_stacks(left, right);
}

struct gp_value_sum *gp_stack_values_sum(const struct gp_stack_values *values,
					 enum gp_stack_value of, size_t *sums)
{
	struct gp_value_sum *sum = calloc(values->rows + 1, sizeof *sum);
	size_t count = 0, kept = 0;
	for (size_t k = 0; sum && k < values->rows; k++) {
		const struct gp_value_row *row = &values->row[k];
		if (row->value[of])
			sum[count++] = (struct gp_value_sum){ row->stack, row->leaf, row->device,
							      row->value[of] };
	}
	*sums = 0;
	if (!sum || !count)
		return sum;
	qsort(sum, count, sizeof *sum, sum_compare_stacks);
	for (size_t k = 1; k < count; k++) {
		if (sum_compare_stacks(&sum[kept], &sum[k]) == 0)
			sum[kept].value += sum[k].value;
		else
			sum[++kept] = sum[k];
	}
	*sums = kept + 1;
	qsort(sum, *sums, sizeof *sum, sum_compare);
	return sum;
}

void gp_value_device_text(unsigned device, char out[16])
{
	if (device == GP_DEVICE_UNKNOWN)
		strcpy(out, "Host");
	else
		snprintf(out, 16, "GPU %u", device);
}
