/*
 * Calls of the driver, each with the operation of the GPU that it started. Of a launch of a kernel
 * only the begin is recorded. It is the end, too: scripts join ranges and calls by both.
 */
#include "../trace/trace.h"
#include "nsys_rows.h"

/*
 * Launches have the driver's names, as recorded. Of other calls only the kind is recorded; rules of
 * Nsight Systems find them by the names of the runtime's functions.
 */
static const char *launch_name(const struct gp_record *r)
{
	const unsigned variant = (unsigned)(r->launch.block >> 48) &
				 ~(unsigned)(GP_LAUNCH_CAPTURED | GP_LAUNCH_SCANNED);
	return variant == GP_LAUNCH_EX		? "cuLaunchKernelEx" :
	       variant == GP_LAUNCH_COOPERATIVE ? "cuLaunchCooperativeKernel" :
						  "cuLaunchKernel";
}

/* Of allocations only the kind of memory is recorded. NULL: it is not memory of the job's own. */
static const char *alloc_name(const struct gp_record *r)
{
	static const char *const names[GP_SPACES] = {
		[GP_SPACE_DEVICE] = "cudaMalloc",     [GP_SPACE_ASYNC] = "cudaMallocAsync",
		[GP_SPACE_HOST] = "cudaHostAlloc",    [GP_SPACE_MANAGED] = "cudaMallocManaged",
		[GP_SPACE_ARRAY] = "cudaMallocArray", [GP_SPACE_PHYSICAL] = "cuMemCreate",
	};
	return r->space < GP_SPACES && !(r->aux & (GP_ALLOC_IMPORT | GP_ALLOC_CAPTURED)) ?
		       names[r->space] :
		       NULL;
}

struct nsys_call {
	const char *name;
	int64_t begin_ns, end_ns;
	bool has_code;
	const struct gp_nsys_launch *launch; /* NULL: without an operation */
};

/* False: the event is not a call. */
static bool call_describe(struct gp_nsys *n, const struct gp_event *event, struct nsys_call *c)
{
	const struct gp_record *r = &event->record;
	int64_t took_ns;
	c->begin_ns = c->end_ns = event->at_ns;
	switch (r->kind) {
	case GP_LAUNCH:
		c->name = launch_name(r);
		n->ends_unknown++;
		return true;
	case GP_GRAPH_LAUNCH:
		c->name = "cuGraphLaunch";
		took_ns = gp_took_ns(n->e->recording, r, r->graph_launch.took);
		n->ends_unknown += took_ns <= 0;
		c->end_ns += took_ns > 0 ? took_ns : 0;
		return true;
	case GP_ALLOC:
		c->name = alloc_name(r);
		took_ns = gp_took_ns(n->e->recording, r, gp_alloc_took(r->code));
		n->ends_unknown += c->name && took_ns <= 0;
		c->begin_ns -= took_ns > 0 ? took_ns : 0;
		return c->name != NULL;
	case GP_COPY:
	case GP_WAIT:
		c->name = gp_trace_call_name(r);
		c->begin_ns -= gp_call_took_ns(n->e->recording, r);
		c->has_code = true;
		return true;
	default:
		return false;
	}
}

static const struct gp_nsys_launch *call_join(struct gp_nsys *n)
{
	while (n->launch_next < n->gpu.launches && n->launch[n->launch_next].event < n->seen)
		n->launch_next++;
	const struct gp_nsys_launch *launch = &n->launch[n->launch_next];
	return n->launch_next < n->gpu.launches && launch->event == n->seen &&
			       launch->operation != NSYS_NO_OPERATION ?
		       launch :
		       NULL;
}

static void wait_write(struct gp_nsys *n, const struct gp_record *r, const struct nsys_call *c)
{
	struct gp_rows *row = &n->row;
	const enum gp_call wait = gp_call_kind(r->aux);
	gp_row_signed(row, c->begin_ns);
	gp_row_signed(row, c->end_ns);
	gp_row_number_if(row, r->device < GP_DEVICES, r->device);
	for (unsigned k = 0; k < 3; k++)
		gp_row_null(row);
	gp_row_signed(row, gp_nsys_pid(n));
	gp_row_number(row, wait == GP_WAIT_EVENT ? 1 : wait == GP_WAIT_STREAM ? 3 : 4);
	gp_row_number_if(row, wait == GP_WAIT_EVENT, r->wait.handle);
	gp_nsys_add(n, NSYS_CUPTI_ACTIVITY_KIND_SYNCHRONIZATION);
}

bool gp_nsys_call_see(struct gp_nsys *n, const struct gp_event *event,
		      const struct gp_nsys_thread *thread, bool is_in)
{
	const struct gp_record *r = &event->record;
	struct gp_rows *row = &n->row;
	struct nsys_call c = { 0 };
	const bool is_call = r->kind == GP_LAUNCH || r->kind == GP_GRAPH_LAUNCH ||
			     r->kind == GP_COPY || r->kind == GP_WAIT || r->kind == GP_ALLOC;
	if (is_call && n->launch)
		c.launch = call_join(n);
	if (!is_call || (!is_in && !(c.launch && c.launch->is_written)) ||
	    !call_describe(n, event, &c))
		return false;
	/* durations are rounded; a thread's events follow each other nevertheless */
	if (c.begin_ns < thread->last_ns)
		c.begin_ns = thread->last_ns < c.end_ns ? thread->last_ns : c.end_ns;
	const uint32_t callchain = gp_nsys_callchain(n, r->stack, event->at_ns);
	gp_row_signed(row, c.begin_ns);
	gp_row_signed(row, c.end_ns);
	gp_row_null(row);
	gp_row_signed(row, gp_nsys_tid(n, event->thread));
	gp_row_number_if(row, c.launch != NULL,
			 c.launch ? n->gpu.operation[c.launch->operation].correlation : 0);
	gp_row_number(row, gp_nsys_text(n, c.name));
	gp_row_number_if(row, c.has_code, r->code);
	gp_row_number_if(row, callchain != 0, callchain);
	gp_nsys_add(n, NSYS_CUPTI_ACTIVITY_KIND_RUNTIME);
	if (r->kind == GP_WAIT && gp_call_kind(r->aux) <= GP_WAIT_CONTEXT)
		wait_write(n, r, &c);
	return true;
}
