/* COPY and WAIT. The record has the time of the return: a thread's times only grow. */
#include "hook_wait.h"

#include "../../libgpuprof/record/poll_loop.h"
#include "capture.h"
#include "context.h"
#include "hook_reserve.h"

/* Of CUDA_MEMCPY2D and CUDA_MEMCPY3D. */
enum { MEMORY_HOST = 1, MEMORY_DEVICE = 2, MEMORY_ARRAY = 3, MEMORY_UNIFIED = 4 };

/* A record of the call that began at `began` and has just returned; NULL: lost, and counted. */
GP_HOT struct gp_record *wait_reserve(enum gp_kind kind, CUresult result, uint64_t began,
				      enum gp_call call, uint32_t flags, unsigned device)
{
	const uint64_t ended = gp_clock_now();
	struct gp_record *r = gp_reserve_ended(kind, ended);
	if (gp_unlikely(!r))
		return NULL;
	if (gp_unlikely(gp_is_capturing()))
		flags |= GP_CALL_CAPTURED;
	r->device = (uint8_t)device;
	r->code = (uint16_t)result;
	r->aux = gp_call_pack(call, flags, ended > began ? ended - began : 0);
	return r;
}

GP_HOT_TEXT void gp_hook_copy(CUresult result, uint64_t began, struct gp_copy c)
{
	if (!gp_enter_launch()) {
		gp_deferred_call(result);
		return;
	}
	struct gp_record *r = wait_reserve(GP_COPY, result, began, c.kind, c.flags,
					   gp_device_of_stream(c.stream));
	if (gp_likely(r != NULL)) {
		r->copy.to = c.to;
		r->copy.from = c.from;
		r->copy.bytes = c.bytes;
		r->copy.stream = c.stream;
		gp_commit(r);
	}
	if (gp_unlikely(atomic_load_explicit(&gp_uses_requested, memory_order_relaxed) != 0) &&
	    result == CUDA_SUCCESS && c.kind != GP_COPY_PREFETCH)
		gp_uses_of_copy(c.kind == GP_COPY_FILL ? GP_USE_FILL : GP_USE_COPY, c.to, c.from);
	gp_deferred_moment(result);
	gp_leave();
}

GP_HOT_TEXT void gp_hook_waited(CUresult result, uint64_t began, enum gp_call kind, uint64_t handle)
{
	/* outside of captures frees are recorded, waits are not; NULL is not freed */
	if (gp_thread.level < GP_LEVEL_ALL || (kind >= GP_WAIT_FREE && !handle))
		return;
	unsigned device = gp_device_current();
	if (kind == GP_WAIT_STREAM)
		device = gp_device_of_stream(handle);
	else if (kind == GP_WAIT_CONTEXT && handle)
		device = (unsigned)gp_context_device(handle);
	struct gp_record *r = wait_reserve(GP_WAIT, result, began, kind, 0, device);
	if (gp_unlikely(!r))
		return;
	r->wait.handle = handle;
	gp_commit(r);
}

GP_HOT_TEXT void gp_hook_wait(CUresult result, uint64_t began, enum gp_call kind, uint64_t handle)
{
	if (!gp_enter_launch())
		return;
	gp_hook_waited(result, began, kind, handle);
	gp_leave();
}

/* ---- loops of queries ---- */

/* A TSC counts at 2 to 5 GHz; the thresholds need not be closer. */
#define POLL_US(us) (gp_clock_is_tsc ? (us)*2500u : (us)*1000u)
#define POLL_LEAST 3u		   /* queries */
#define POLL_LONG POLL_US(50u)	   /* shorter loops cost the job less than most waits */
#define POLL_PAUSE POLL_US(10000u) /* ends a loop: two turns of Python's lock are 10 ms */
/*
 * Of a busy loop most queries follow at once: each takes about 1 us, and a loop of Python less than
 * that. A thread that works between its queries, as PyTorch's cache of pinned memory does, takes
 * longer between most of them.
 */
#define POLL_QUICK POLL_US(5u)

static bool poll_is_busy(const struct gp_poll *p)
{
	return p->queries >= POLL_LEAST && p->quick >= p->queries / 2;
}

/* The thread's next event then ends the loop, since it finds no room in the fast half. */
static void poll_grew_long(struct gp_poll *p)
{
	if (!gp_enter_launch())
		return;
	/* a forked child has begun its own recording: the loop is its parent's */
	if (p->queries == 0) {
		gp_leave();
		return;
	}
	p->stack = gp_stack_of_alloc();
	p->device = (uint8_t)(p->kind == GP_WAIT_STREAM_QUERY ? gp_device_of_stream(p->handle) :
								gp_device_current());
	if (gp_thread.head != p->head) { /* definitions, later than the last answer */
		p->head = gp_thread.head;
		p->last = gp_clock_now();
	}
	p->is_long = true;
	gp_thread.limit = 0;
	gp_leave();
}

static void poll_answered(CUresult result, enum gp_call kind, uint64_t handle, uint64_t now)
{
	struct gp_poll *p = &gp_thread.poll;
	const bool goes_on = p->queries != 0 && p->handle == handle && p->kind == kind &&
			     p->head == gp_thread.head && now - p->last <= POLL_PAUSE;
	if (goes_on) {
		p->queries++;
		p->quick += now - p->last <= POLL_QUICK;
		p->last = now;
	}
	if (result == CUDA_ERROR_NOT_READY && goes_on) {
		if (!p->is_long && now - p->began >= POLL_LONG && poll_is_busy(p))
			poll_grew_long(p);
		return;
	}
	if (p->is_long && gp_enter_launch()) {
		gp_poll_close(goes_on ? (uint16_t)result : GP_CODE_NOT_READY);
		gp_leave();
	}
	*p = (struct gp_poll){ .handle = handle,
			       .began = now,
			       .last = now,
			       .head = gp_thread.head,
			       .queries = result == CUDA_ERROR_NOT_READY,
			       .kind = (uint8_t)kind };
}

void gp_hook_query(CUresult result, enum gp_call kind, uint64_t handle)
{
	poll_answered(result, kind, handle, gp_clock_now());
}

void gp_hook_elapsed(CUresult result, const float *ms, uint64_t start, uint64_t end)
{
	if (result != CUDA_SUCCESS || !ms || !(*ms >= 0) || !gp_enter_launch())
		return;
	const unsigned device = gp_device_current();
	const uint32_t caller = gp_stack_of_alloc();
	struct gp_record *r = gp_reserve(GP_ELAPSED);
	if (r) {
		r->stack = caller;
		r->device = (uint8_t)device;
		r->elapsed.start = start;
		r->elapsed.end = end;
		r->elapsed.elapsed_ns = (uint64_t)((double)*ms * 1e6 + 0.5);
		gp_commit(r);
	}
	gp_leave();
}

/* ---- copies of rows and volumes: the first byte of either side ---- */

static uint64_t wait_side(int type, const void *host, uint64_t device, uint64_t offset)
{
	if (type == MEMORY_HOST)
		return (uint64_t)host + offset;
	return type == MEMORY_DEVICE || type == MEMORY_UNIFIED ? device + offset : 0;
}

static enum gp_call wait_kind(int to, int from)
{
	if (to == MEMORY_UNIFIED || from == MEMORY_UNIFIED)
		return GP_COPY_UNIFIED;
	if (to == MEMORY_HOST)
		return from == MEMORY_HOST ? GP_COPY_ON_HOST : GP_COPY_TO_HOST;
	return from == MEMORY_HOST ? GP_COPY_TO_DEVICE : GP_COPY_ON_DEVICE;
}

void gp_hook_copy_2d(CUresult result, uint64_t began, const CUDA_MEMCPY2D *c, uint32_t flags,
		     uint64_t stream)
{
	struct gp_copy copy = { .flags = flags, .stream = stream };
	if (c && result == CUDA_SUCCESS) {
		copy.kind = wait_kind(c->dstMemoryType, c->srcMemoryType);
		copy.bytes = (uint64_t)c->WidthInBytes * c->Height;
		copy.to = wait_side(c->dstMemoryType, c->dstHost, c->dstDevice,
				    c->dstY * c->dstPitch + c->dstXInBytes);
		copy.from = wait_side(c->srcMemoryType, c->srcHost, c->srcDevice,
				      c->srcY * c->srcPitch + c->srcXInBytes);
	}
	gp_hook_copy(result, began, copy);
}

static struct gp_copy wait_volume(CUresult result, const CUDA_MEMCPY3D *c, uint32_t flags,
				  uint64_t stream)
{
	struct gp_copy copy = { .flags = flags, .stream = stream };
	if (c && result == CUDA_SUCCESS) {
		copy.kind = wait_kind(c->dstMemoryType, c->srcMemoryType);
		copy.bytes = (uint64_t)c->WidthInBytes * c->Height * c->Depth;
		copy.to = wait_side(c->dstMemoryType, c->dstHost, c->dstDevice,
				    (c->dstZ * c->dstHeight + c->dstY) * c->dstPitch +
					    c->dstXInBytes);
		copy.from = wait_side(c->srcMemoryType, c->srcHost, c->srcDevice,
				      (c->srcZ * c->srcHeight + c->srcY) * c->srcPitch +
					      c->srcXInBytes);
	}
	return copy;
}

void gp_hook_copy_3d(CUresult result, uint64_t began, const CUDA_MEMCPY3D *c, uint32_t flags,
		     uint64_t stream)
{
	gp_hook_copy(result, began, wait_volume(result, c, flags, stream));
}

void gp_hook_copy_3d_peer(CUresult result, uint64_t began, const CUDA_MEMCPY3D_PEER *c,
			  uint32_t flags, uint64_t stream)
{
	struct gp_copy copy = wait_volume(result, c, flags, stream);
	if (copy.kind == GP_COPY_ON_DEVICE)
		copy.kind = GP_COPY_PEER;
	gp_hook_copy(result, began, copy);
}

/* ---- several copies by one call, which the driver has read ---- */

#define WAIT_COUNTED UINT64_MAX /* `began` of an element whose call has its duration already */

void gp_hook_copy_batch(CUresult result, uint64_t began, enum gp_call kind, const CUdeviceptr *to,
			const CUdeviceptr *from, const size_t *bytes, size_t count, uint64_t stream)
{
	struct gp_copy copy = { .kind = kind, .flags = GP_CALL_ASYNC, .stream = stream };
	if (result != CUDA_SUCCESS || count == 0)
		gp_hook_copy(result, began, copy);
	else
		for (size_t k = 0; k < count; k++, began = WAIT_COUNTED) {
			copy.to = to[k];
			copy.from = from ? from[k] : 0;
			copy.bytes = bytes[k];
			gp_hook_copy(result, began, copy);
		}
}

void gp_hook_copy_3d_list(CUresult result, uint64_t began, const CUDA_MEMCPY3D_BATCH_OP *list,
			  size_t count, uint64_t stream)
{
	struct gp_copy copy = { .flags = GP_CALL_ASYNC, .stream = stream };
	if (result != CUDA_SUCCESS || count == 0)
		gp_hook_copy(result, began, copy);
	else
		for (size_t k = 0; k < count; k++, began = WAIT_COUNTED) {
			const CUDA_MEMCPY3D_BATCH_OP *c = &list[k];
			const bool has_to = c->dst.type == CU_MEMCPY_OPERAND_TYPE_POINTER;
			const bool has_from = c->src.type == CU_MEMCPY_OPERAND_TYPE_POINTER;
			copy.to = has_to ? c->dst.op.ptr.ptr : 0;
			copy.from = has_from ? c->src.op.ptr.ptr : 0;
			/* beside an array the unit is its element, whose size the call lacks */
			copy.bytes = has_to && has_from ?
					     (uint64_t)c->extent.width * c->extent.height *
						     c->extent.depth :
					     0;
			gp_hook_copy(result, began, copy);
		}
}
