/* Names of a trace's events, as viewers and analyses of PyTorch's traces know them. */
#include <string.h>

#include "trace.h"

const struct gp_range_path *gp_trace_range(const struct gp_trace *t,
					   const struct gp_trace_span *span)
{
	return gp_range_paths_called(t->gpu.ranges, &t->call[span->number]);
}

void gp_trace_range_name(const struct gp_range_path *path, char *out, size_t room)
{
	const char *name = path->name ? path->name : "(unknown)";
	if (path->domain)
		snprintf(out, room, "%s:%s", path->domain, name);
	else
		snprintf(out, room, "%s", name);
}

const char *gp_trace_operation_category(const struct gp_gpu_operation *op)
{
	static const char *const categories[] = { [GP_GPU_IS_KERNEL] = "kernel",
						  [GP_GPU_IS_COPY] = "gpu_memcpy",
						  [GP_GPU_IS_SET] = "gpu_memset" };
	return categories[op->kind];
}

/* CUpti_ActivityMemoryKind */
static const char *memory_kind(unsigned kind)
{
	static const char *const kinds[] = { "Unknown",	      "Pageable",      "Pinned",
					     "Device",	      "Array",	       "Managed",
					     "Device Static", "Managed Static" };
	return kind < sizeof kinds / sizeof *kinds ? kinds[kind] : kinds[0];
}

/* CUpti_ActivityMemcpyKind */
static const char *copy_kind(unsigned kind)
{
	static const char *const kinds[] = { "Unknown", "HtoD", "DtoH", "HtoA", "AtoH", "AtoA",
					     "AtoD",	"DtoA", "DtoD", "HtoH", "PtoP" };
	return kind < sizeof kinds / sizeof *kinds ? kinds[kind] : kinds[0];
}

void gp_trace_operation_name(const struct gp_trace *t, const struct gp_gpu_operation *op, char *out,
			     size_t room)
{
	if (op->kind == GP_GPU_IS_KERNEL && op->function < t->gpu.functions)
		gp_gpu_function_name(&t->gpu.function[op->function], out, room);
	else if (op->kind == GP_GPU_IS_KERNEL)
		snprintf(out, room, "(unknown)");
	else if (op->kind == GP_GPU_IS_SET)
		snprintf(out, room, "Memset (%s)", memory_kind(GP_GPU_COPY_TO(op->function)));
	else
		snprintf(out, room, "Memcpy %s (%s -> %s)",
			 copy_kind(GP_GPU_COPY_KIND(op->function)),
			 memory_kind(GP_GPU_COPY_FROM(op->function)),
			 memory_kind(GP_GPU_COPY_TO(op->function)));
}

static const char *launch_name(unsigned variant)
{
	switch (variant & ~(unsigned)(GP_LAUNCH_CAPTURED | GP_LAUNCH_SCANNED)) {
	case GP_LAUNCH_EX:
		return "cudaLaunchKernelExC";
	case GP_LAUNCH_COOPERATIVE:
		return "cudaLaunchCooperativeKernel";
	default:
		return "cudaLaunchKernel";
	}
}

static const char *wait_name(const struct gp_record *r)
{
	static const char *const names[GP_WAITS] = {
		[GP_WAIT_STREAM] = "cudaStreamSynchronize",
		[GP_WAIT_EVENT] = "cudaEventSynchronize",
		[GP_WAIT_CONTEXT] = "cudaDeviceSynchronize",
		[GP_WAIT_FREE] = "cudaFree",
		[GP_WAIT_FREE_HOST] = "cudaFreeHost",
		[GP_WAIT_UNREGISTER] = "cudaHostUnregister",
		[GP_WAIT_EVENT_QUERY] = "cudaEventQuery",
		[GP_WAIT_STREAM_QUERY] = "cudaStreamQuery",
	};
	const unsigned kind = (unsigned)gp_call_kind(r->aux);
	return kind < GP_WAITS ? names[kind] : "cudaDeviceSynchronize";
}

const char *gp_trace_call_name(const struct gp_record *r)
{
	const bool is_async = (r->aux & GP_CALL_ASYNC) != 0;
	switch (r->kind) {
	case GP_LAUNCH:
		return launch_name((unsigned)(r->launch.block >> 48));
	case GP_GRAPH_LAUNCH:
		return "cudaGraphLaunch";
	case GP_COPY:
		if (gp_call_kind(r->aux) == GP_COPY_FILL)
			return is_async ? "cudaMemsetAsync" : "cudaMemset";
		if (gp_call_kind(r->aux) == GP_COPY_PREFETCH)
			return "cudaMemPrefetchAsync";
		return is_async ? "cudaMemcpyAsync" : "cudaMemcpy";
	default:
		return wait_name(r);
	}
}

const char *gp_trace_mark_name(const struct gp_trace *t, const struct gp_event *e,
			       enum gp_trace_mark kind)
{
	static const char *const names[] = {
		[GP_TRACE_OOM] = "out of memory",     [GP_TRACE_FAILED] = "allocation failed",
		[GP_TRACE_GAP] = "recording resumed", [GP_TRACE_LOST] = "lost events",
		[GP_TRACE_SNAPSHOT] = "snapshot",
	};
	const struct gp_record *r = &e->record;
	const char *name;
	switch (kind) {
	case GP_TRACE_CAPTURE:
		return r->kind == GP_CAPTURE_BEGIN ? "capture begins" :
		       r->kind == GP_CAPTURE_END   ? "capture ends" :
						     "capture broken";
	case GP_TRACE_SCOPE:
		return r->aux ? "full recording begins" : "full recording ends";
	case GP_TRACE_MARK:
		name = gp_recording_text(t->e->recording, GP_RANGE_NAME, r->aux);
		return name ? name : "(unknown)";
	case GP_TRACE_OOM:
	case GP_TRACE_FAILED:
	case GP_TRACE_GAP:
	case GP_TRACE_LOST:
	case GP_TRACE_SNAPSHOT:
		break;
	}
	return names[kind];
}
