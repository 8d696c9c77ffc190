/*
 * Reads the layout of a kernel's parameters from the driver, and keeps it.
 */
#include "use_layout.h"

#include <errno.h>
#include <string.h>

#include "../../libgpuprof/record/record.h"
#include "../driver/cuda_api.h"
#include "capture.h"

#define PLACES (1u << GP_LAYOUT_BITS)
#define PARAMETERS_MAX 1024u
#define PARAMETER_BYTES_MAX 65536u /* CUDA 13 has 32,764 in all */

_Atomic(struct gp_use_layout *) *gp_use_layouts GP_HOT_DATA;
static unsigned char *room;
static _Atomic uint64_t room_used;

bool gp_use_layouts_open(void)
{
	const size_t bytes = PLACES * sizeof *gp_use_layouts + GP_LAYOUT_BYTES;
	if (gp_use_layouts)
		return true;
	void *pages = gp_pages_inherited(bytes);
	if (!pages)
		return false;
	room = (unsigned char *)pages + PLACES * sizeof *gp_use_layouts;
	atomic_store(&room_used, 0);
	__atomic_store_n(&gp_use_layouts, pages, __ATOMIC_RELEASE);
	return true;
}

/* ---- what the driver returns ---- */

/* Notes only whole words, where pointers can be: a struct with a pointer is aligned to 8. */
static bool note(struct gp_use_layout *out, size_t index, size_t offset, size_t bytes)
{
	if (bytes > PARAMETER_BYTES_MAX)
		return false;
	if (offset % 8 != 0 || bytes < 8)
		return true;
	out->piece[out->pieces].parameter = (uint16_t)index;
	out->piece[out->pieces++].words = (uint16_t)(bytes / 8);
	out->words += (uint32_t)(bytes / 8);
	return true;
}

/* Inside the gate. The runtime passes a CUkernel where a CUfunction is expected. */
static CUresult query_one(uint64_t function, bool is_kernel, size_t index, size_t *offset,
			  size_t *bytes)
{
	if (is_kernel)
		return gp_cuda.cuKernelGetParamInfo ?
			       gp_cuda.cuKernelGetParamInfo((CUkernel)function, index, offset,
							    bytes) :
			       CUDA_ERROR_NOT_FOUND;
	return gp_cuda.cuFuncGetParamInfo ?
		       gp_cuda.cuFuncGetParamInfo((CUfunction)function, index, offset, bytes) :
		       CUDA_ERROR_NOT_FOUND;
}

/* False: the driver does not return the layout. */
static bool query_all(uint64_t function, bool is_kernel, struct gp_use_layout *out)
{
	CUresult result = CUDA_ERROR_NOT_FOUND;
	size_t index = 0;
	for (; index < PARAMETERS_MAX; index++) {
		size_t offset = 0, bytes = 0;
		result = query_one(function, is_kernel, index, &offset, &bytes);
		if (result != CUDA_SUCCESS || !note(out, index, offset, bytes))
			break;
	}
	/* the index after the last parameter is invalid, also the first one without parameters */
	return result == CUDA_ERROR_INVALID_VALUE && index < PARAMETERS_MAX;
}

/* A function that is refused at its first parameter may be a kernel, or have no parameters. */
static void query(uint64_t function, struct gp_use_layout *out)
{
	bool is_function = query_all(function, false, out);
	if (is_function && out->pieces)
		return;
	struct gp_use_layout first = { .pieces = out->pieces };
	out->pieces = out->words = 0;
	if (query_all(function, true, out) || (is_function && !first.pieces))
		return;
	out->pieces = GP_LAYOUT_UNKNOWN;
	out->words = 0;
}

/* ---- kept layouts ---- */

static size_t bytes_of(const struct gp_use_layout *layout)
{
	uint32_t pieces = layout->pieces == GP_LAYOUT_UNKNOWN ? 0 : layout->pieces;
	return (sizeof *layout + pieces * sizeof layout->piece[0] + 15) & ~(size_t)15;
}

static bool use_layout_is_like(const struct gp_use_layout *a, const struct gp_use_layout *b)
{
	return a->pieces == b->pieces &&
	       (a->pieces == GP_LAYOUT_UNKNOWN ||
		memcmp(a->piece, b->piece, a->pieces * sizeof a->piece[0]) == 0);
}

/* NULL: no room. */
static struct gp_use_layout *use_layout_keep(const struct gp_use_layout *layout)
{
	size_t bytes = bytes_of(layout);
	uint64_t at = atomic_load(&room_used);
	do
		if (at + bytes > GP_LAYOUT_BYTES)
			return NULL;
	while (!atomic_compare_exchange_weak(&room_used, &at, at + bytes));
	struct gp_use_layout *kept = (struct gp_use_layout *)(void *)(room + at);
	memcpy(kept, layout, bytes);
	return kept;
}

static const struct gp_use_layout *use_layout_put(struct gp_use_layout *layout)
{
	uint64_t key = atomic_load(&layout->key), function = key >> 8;
	uint64_t at = function * 0x9e3779b97f4a7c15u >> (64 - GP_LAYOUT_BITS);
	for (unsigned k = 0; k < GP_LAYOUT_PROBES; k++) {
		_Atomic(struct gp_use_layout *) *place = &gp_use_layouts[(at + k) % PLACES];
		struct gp_use_layout *there = atomic_load_explicit(place, memory_order_acquire);
		if (there && atomic_load(&there->key) >> 8 != function)
			continue;
		if (there && use_layout_is_like(there, layout)) {
			atomic_store(&there->key, key);
			return there;
		}
		struct gp_use_layout *kept = use_layout_keep(layout);
		/* partner: the acquire loads of all look-ups */
		if (kept)
			atomic_store_explicit(place, kept, memory_order_release);
		return kept;
	}
	return NULL;
}

/* Searches beyond the first place. */
static const struct gp_use_layout *use_layout_find(uint64_t function, uint64_t key)
{
	uint64_t at = function * 0x9e3779b97f4a7c15u >> (64 - GP_LAYOUT_BITS);
	for (unsigned k = 0; k < GP_LAYOUT_PROBES; k++) {
		const struct gp_use_layout *layout = atomic_load_explicit(
			&gp_use_layouts[(at + k) % PLACES], memory_order_acquire);
		if (!layout)
			return NULL;
		if (atomic_load_explicit(&layout->key, memory_order_relaxed) == key)
			return layout;
	}
	return NULL;
}

const struct gp_use_layout *gp_use_layout_query(uint64_t function)
{
	uint64_t key = function << 8 | atomic_load(&gp_kernel_generation);
	const struct gp_use_layout *layout = use_layout_find(function, key);
	if (layout || !function)
		return layout;
	int kept = errno;
	if (gp_calls_begin()) {
		_Alignas(struct gp_use_layout) char
			bytes[sizeof(struct gp_use_layout) +
			      PARAMETERS_MAX * sizeof(struct gp_use_piece)];
		struct gp_use_layout *queried = (struct gp_use_layout *)bytes;
		queried->pieces = queried->words = 0;
		query(function, queried);
		gp_calls_end();
		atomic_store(&queried->key, key);
		layout = use_layout_put(queried);
	}
	errno = kept;
	return layout;
}
