/* Kernels, copies and sets with their times on the recording's clock, and ranges. */
#include <stdlib.h>
#include <string.h>

#include "../../io/message.h"
#include "../../report/report.h"
#include "nsys_rows.h"

#define NAME_ROOM 16384u
#define CUPTI_COPY_DEVICE_TO_DEVICE 8u /* on one device; else it is peer to peer */
enum { NVTX_MARK = 34, NVTX_PUSHED = 59, NVTX_STARTED = 60, NVTX_DOMAIN = 75 };

/* The columns that all operations begin with. */
static void put_operation(struct gp_nsys *n, const struct gp_gpu_operation *op)
{
	struct gp_rows *row = &n->row;
	gp_row_signed(row, op->at_ns);
	gp_row_signed(row, op->at_ns + (int64_t)op->took_ns);
	gp_row_number(row, op->device);
	gp_row_number(row, op->context);
	gp_row_null(row);
	gp_row_number(row, op->stream);
	gp_row_number(row, op->correlation);
	gp_row_signed(row, gp_nsys_pid(n));
}

/* Without parameters, templates and name spaces. */
static void name_shorten(char *name)
{
	const size_t end = strcspn(name, "<(");
	if (end == 0) /* "(anonymous namespace)::..." stays whole */
		return;
	name[end] = '\0';
	const char *last = strrchr(name, ':'), *type = strrchr(last ? last : name, ' ');
	const char *from = type ? type + 1 : last ? last + 1 : name;
	memmove(name, from, strlen(from) + 1);
}

static void kernel_write(struct gp_nsys *n, const struct gp_gpu_operation *op)
{
	const struct gp_gpu_function *f = &n->gpu.function[op->function];
	struct gp_rows *row = &n->row;
	const bool has_shape = gp_gpu_has_shape(f);
	const uint64_t shape[] = { f->registers,
				   f->grid & 0xffffffff,
				   f->grid >> 32 & 0xffff,
				   f->grid >> 48,
				   f->block & 0xffff,
				   f->block >> 16 & 0xffff,
				   f->block >> 32 & 0xffff,
				   f->static_shared,
				   f->dynamic_shared,
				   f->local_bytes };
	char text[NAME_ROOM];
	put_operation(n, op);
	gp_gpu_function_name(f, text, sizeof text);
	gp_row_number(row, gp_nsys_text(n, text));
	name_shorten(text);
	gp_row_number(row, gp_nsys_text(n, text));
	if (f->name)
		gp_row_number(row, gp_nsys_text(n, f->name));
	else
		gp_row_null(row);
	for (size_t k = 0; k < sizeof shape / sizeof *shape; k++)
		gp_row_number_if(row, has_shape, shape[k]);
	for (unsigned k = 0; k < 3; k++)
		gp_row_null(row);
	gp_nsys_add(n, NSYS_CUPTI_ACTIVITY_KIND_KERNEL);
}

/* CUPTI's kinds of memory are one more than those of nsys; 0: unknown. */
static void put_memory_kind(struct gp_rows *row, unsigned kind)
{
	gp_row_number_if(row, kind != 0, kind - 1);
}

static void copy_write(struct gp_nsys *n, const struct gp_gpu_operation *op)
{
	struct gp_rows *row = &n->row;
	const bool is_on_one = GP_GPU_COPY_KIND(op->function) == CUPTI_COPY_DEVICE_TO_DEVICE;
	put_operation(n, op);
	if (op->kind == GP_GPU_IS_SET) {
		gp_row_null(row);
		gp_row_number(row, op->bytes);
		put_memory_kind(row, GP_GPU_COPY_TO(op->function));
		gp_row_null(row);
		gp_nsys_add(n, NSYS_CUPTI_ACTIVITY_KIND_MEMSET);
		return;
	}
	gp_row_number(row, op->bytes);
	gp_row_number(row, GP_GPU_COPY_KIND(op->function));
	put_memory_kind(row, GP_GPU_COPY_FROM(op->function));
	put_memory_kind(row, GP_GPU_COPY_TO(op->function));
	gp_row_number_if(row, is_on_one, op->device);
	gp_row_number_if(row, is_on_one, op->device);
	gp_row_null(row);
	gp_nsys_add(n, NSYS_CUPTI_ACTIVITY_KIND_MEMCPY);
}

static void operations_write(struct gp_nsys *n, uint32_t *first)
{
	const struct gp_export *e = n->e;
	for (size_t k = n->gpu.operations; k-- > 0;)
		if (n->gpu.operation[k].launch < n->gpu.launches)
			first[n->gpu.operation[k].launch] = (uint32_t)k;
	for (size_t k = 0; k < n->gpu.operations && !n->file.status; k++) {
		const struct gp_gpu_operation *op = &n->gpu.operation[k];
		if (!gp_gpu_is_chosen(op, e->from_ns, e->to_ns, e->device))
			continue;
		if (op->at_ns == INT64_MIN) {
			n->untimed++;
			continue;
		}
		if (op->launch < n->gpu.launches)
			n->launch[op->launch].is_written = true;
		if (op->kind == GP_GPU_IS_KERNEL)
			kernel_write(n, op);
		else
			copy_write(n, op);
	}
}

static int launches_compare(const void *left, const void *right)
{
	const uint64_t a = ((const struct gp_nsys_launch *)left)->event,
		       b = ((const struct gp_nsys_launch *)right)->event;
	return a < b ? -1 : a > b;
}

void gp_nsys_gpu_open(struct gp_nsys *n)
{
	uint32_t *first = NULL;
	n->file.status = gp_gpu_build(n->e->recording, n->e->info->has_ranges, &n->gpu);
	if (n->file.status)
		return;
	n->launch = calloc(n->gpu.launches + 1, sizeof *n->launch);
	first = malloc((n->gpu.launches + 1) * sizeof *first);
	if (n->launch && first) {
		memset(first, 0xff, (n->gpu.launches + 1) * sizeof *first);
		operations_write(n, first);
		for (size_t k = 0; k < n->gpu.launches; k++) {
			n->launch[k].event = n->gpu.launch[k].event;
			n->launch[k].number = (uint32_t)k;
			n->launch[k].operation = first[k];
		}
		qsort(n->launch, n->gpu.launches, sizeof *n->launch, launches_compare);
	} else {
		n->file.status = GP_E_MEMORY;
	}
	free(first);
}

void gp_nsys_gpu_close(struct gp_nsys *n)
{
	free(n->launch);
	gp_gpu_free(&n->gpu);
}

/* 0: the default domain. A new one is an event of its own. */
static uint32_t domain_id(struct gp_nsys *n, const char *name)
{
	if (!name)
		return 0;
	const uint32_t id = gp_nsys_text(n, name) + 1;
	struct gp_pickle_row *domain = gp_pickle_row_get(&n->domains, id, 0, NULL);
	struct gp_rows *row = &n->row;
	if (!domain)
		n->file.status = GP_E_MEMORY;
	if (!domain || domain->memo)
		return id;
	domain->memo = 1;
	gp_row_number(row, 0);
	gp_row_null(row);
	gp_row_number(row, NVTX_DOMAIN);
	for (unsigned k = 0; k < 3; k++)
		gp_row_null(row);
	gp_row_text(row, name);
	gp_row_signed(row, gp_nsys_pid(n));
	gp_row_null(row);
	gp_row_null(row);
	gp_row_number(row, id);
	gp_nsys_add(n, NSYS_NVTX_EVENTS);
	return id;
}

static void range_write(struct gp_nsys *n, const struct gp_gpu_call *c, size_t number)
{
	struct gp_rows *row = &n->row;
	const bool is_known = c->path && c->path->known == GP_RANGE_IN && c->path->name;
	const uint32_t domain = domain_id(n, is_known ? c->path->domain : NULL);
	gp_row_signed(row, c->call->begin_ns);
	gp_row_signed(row, c->call->end_ns);
	gp_row_number(row, c->call->is_started ? NVTX_STARTED : NVTX_PUSHED);
	gp_row_number(row, number);
	gp_row_null(row);
	gp_row_null(row);
	gp_row_text(row, is_known ? c->path->name : NULL);
	gp_row_signed(row, gp_nsys_tid(n, c->call->thread));
	gp_row_signed_if(row, c->call->is_started && c->call->end_thread != c->call->thread,
			 gp_nsys_tid(n, c->call->end_thread));
	gp_row_null(row);
	gp_row_number(row, domain);
	gp_nsys_add(n, NSYS_NVTX_EVENTS);
}

void gp_nsys_ranges_write(struct gp_nsys *n)
{
	struct gp_gpu_calls calls = { 0 };
	const struct gp_export *e = n->e;
	n->file.status =
		gp_gpu_calls_build(&n->gpu, INT64_MIN, INT64_MAX, GP_DEVICE_UNKNOWN, &calls);
	for (size_t k = 1; k <= calls.calls && !n->file.status; k++) {
		const struct gp_range_call *call = calls.call[k].call;
		if (call->end_ns >= e->from_ns && call->begin_ns <= e->to_ns)
			range_write(n, &calls.call[k], k);
	}
	gp_gpu_calls_free(&calls);
}
