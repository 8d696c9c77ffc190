/* Both arrays together have one row an operation at most, so their memory is that of gp_gpu. */
#include "nccl_kernels.h"

#include <stdlib.h>
#include <string.h>

bool gp_nccl_is_kernel(const char *name)
{
	if (name == NULL)
		return false;
	if (strncmp(name, "_Z", 2) == 0)
		name += 2 + strspn(name + 2, "0123456789");
	return strncmp(name, "nccl", 4) == 0 && strstr(name, "Kernel_") != NULL;
}

static bool is_joined(const struct gp_gpu_operation *op)
{
	return op->launch != GP_GPU_NO_LAUNCH && !op->is_in_graph;
}

/* qsort has no context. */
struct sort_key {
	uint32_t launch_thread, operation;
	int64_t at_ns;
};

static int by_launch(const void *left, const void *right)
{
	const struct sort_key *a = left, *b = right;
	if (a->launch_thread != b->launch_thread)
		return a->launch_thread < b->launch_thread ? -1 : 1;
	if (a->at_ns != b->at_ns)
		return a->at_ns < b->at_ns ? -1 : 1;
	return (a->operation > b->operation) - (a->operation < b->operation);
}

static enum gp_status kernels_sort(struct gp_nccl_kernels *k)
{
	struct sort_key *key = malloc((k->joined + 1) * sizeof *key);
	if (key == NULL)
		return GP_E_MEMORY;
	for (size_t n = 0; n < k->joined; n++) {
		const uint32_t at = k->kernel[n].operation;
		const struct gp_gpu_launch *l = &k->gpu->launch[k->gpu->operation[at].launch];
		key[n] = (struct sort_key){ l->thread, at, l->at_ns };
	}
	qsort(key, k->joined, sizeof *key, by_launch);
	for (size_t n = 0; n < k->joined; n++)
		k->kernel[n].operation = key[n].operation;
	free(key);
	return GP_OK;
}

static int by_device(const void *left, const void *right)
{
	const struct gp_nccl_other *a = left, *b = right;
	if (a->device != b->device)
		return a->device < b->device ? -1 : 1;
	return (a->from_ns > b->from_ns) - (a->from_ns < b->from_ns);
}

/* Operations are in the order of their begin. */
static void other_add(struct gp_nccl_kernels *k, size_t newest[256],
		      const struct gp_gpu_operation *op)
{
	const uint64_t end_ns = op->began_ns + op->took_ns;
	struct gp_nccl_other *o =
		newest[op->device] != SIZE_MAX ? &k->other[newest[op->device]] : NULL;
	if (o != NULL && op->began_ns <= o->to_ns) {
		o->to_ns = end_ns > o->to_ns ? end_ns : o->to_ns;
		return;
	}
	newest[op->device] = k->others;
	k->other[k->others++] = (struct gp_nccl_other){ op->began_ns, end_ns, 0, op->device };
}

static enum gp_status kernels_list(struct gp_nccl_kernels *k, const bool *is_nccl)
{
	const struct gp_gpu *gpu = k->gpu;
	size_t newest[256], nccl = 0, other = 0;
	for (size_t n = 0; n < gpu->operations; n++) {
		const struct gp_gpu_operation *op = &gpu->operation[n];
		nccl += op->kind == GP_GPU_IS_KERNEL && is_nccl[op->function];
		other += op->kind == GP_GPU_IS_KERNEL && !is_nccl[op->function];
	}
	k->kernel = malloc((nccl + 1) * sizeof *k->kernel);
	k->other = malloc((other + 1) * sizeof *k->other);
	if (k->kernel == NULL || k->other == NULL)
		return GP_E_MEMORY;
	for (unsigned d = 0; d < 256; d++)
		newest[d] = SIZE_MAX;
	for (size_t n = 0; n < gpu->operations; n++) {
		const struct gp_gpu_operation *op = &gpu->operation[n];
		if (op->kind != GP_GPU_IS_KERNEL)
			continue;
		if (!is_nccl[op->function])
			other_add(k, newest, op);
		else if (is_joined(op))
			k->kernel[k->joined++] =
				(struct gp_nccl_kernel){ .operation = (uint32_t)n };
		else
			k->kernel[nccl - ++k->kernels] =
				(struct gp_nccl_kernel){ .operation = (uint32_t)n };
	}
	k->kernels = nccl;
	return GP_OK;
}

enum gp_status gp_nccl_kernels_open(struct gp_nccl_kernels *k, const struct gp_gpu *gpu)
{
	*k = (struct gp_nccl_kernels){ .gpu = gpu };
	bool *is_nccl = calloc(gpu->functions + 1, sizeof *is_nccl);
	for (size_t n = 0; is_nccl != NULL && n < gpu->functions; n++)
		is_nccl[n] = gp_nccl_is_kernel(gpu->function[n].name);
	enum gp_status status = is_nccl != NULL ? kernels_list(k, is_nccl) : GP_E_MEMORY;
	free(is_nccl);
	if (status == GP_OK)
		status = kernels_sort(k);
	if (status != GP_OK)
		return status;
	qsort(k->other, k->others, sizeof *k->other, by_device);
	for (size_t n = 1; n < k->others; n++)
		if (k->other[n].device == k->other[n - 1].device)
			k->other[n].before_ns = k->other[n - 1].before_ns + k->other[n - 1].to_ns -
						k->other[n - 1].from_ns;
	return GP_OK;
}

/* How many of the joined kernels were launched by an earlier thread, or before the moment. */
static size_t kernels_before(const struct gp_nccl_kernels *k, uint32_t thread, int64_t at_ns)
{
	size_t low = 0, high = k->joined;
	while (low < high) {
		const size_t middle = low + (high - low) / 2;
		const struct gp_gpu_launch *l =
			&k->gpu->launch[k->gpu->operation[k->kernel[middle].operation].launch];
		if (l->thread < thread || (l->thread == thread && l->at_ns < at_ns))
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

struct gp_nccl_kernel *gp_nccl_kernels_find(const struct gp_nccl_kernels *k,
					    const struct gp_nccl_group *group, size_t *count)
{
	const size_t first = kernels_before(k, group->thread, group->from_ns) + group->before;
	size_t end = kernels_before(k, group->thread, group->to_ns) + group->within;
	end = end < k->joined ? end : k->joined;
	*count = end > first ? end - first : 0;
	return k->kernel + (first < end ? first : end);
}

/* Time of other kernels on the device before the moment. */
static uint64_t others_before(const struct gp_nccl_kernels *k, uint8_t device, uint64_t at_ns)
{
	size_t low = 0, high = k->others; /* how many began by then, or are of earlier devices */
	while (low < high) {
		const size_t middle = low + (high - low) / 2;
		const struct gp_nccl_other *o = &k->other[middle];
		if (o->device < device || (o->device == device && o->from_ns < at_ns))
			low = middle + 1;
		else
			high = middle;
	}
	if (low == 0 || k->other[low - 1].device != device)
		return 0;
	const struct gp_nccl_other *o = &k->other[low - 1];
	return o->before_ns + (at_ns < o->to_ns ? at_ns : o->to_ns) - o->from_ns;
}

uint64_t gp_nccl_overlapped_ns(const struct gp_nccl_kernels *k, const struct gp_gpu_operation *op)
{
	return others_before(k, op->device, op->began_ns + op->took_ns) -
	       others_before(k, op->device, op->began_ns);
}

void gp_nccl_kernels_release(struct gp_nccl_kernels *k)
{
	free(k->kernel);
	free(k->other);
	*k = (struct gp_nccl_kernels){ 0 };
}
