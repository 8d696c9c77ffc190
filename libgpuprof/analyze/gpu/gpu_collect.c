/* Collects GPU time from a recording. Launches outside of the windows are not kept. */
#include "gpu_collect.h"

#include "gpu_groups.h"

#include <stdlib.h>
#include <string.h>

#include "../../read/tables/row_table.h"
#include "../../state/looks.h"
#include "../phases/range_path.h"

#define EDGE_NS 1000000	    /* around a window's edge, other threads' calls may be on either side */
#define EDGE_LAUNCHES 4096u /* kept before a window begins */
#define NOT_KEPT UINT8_MAX  /* by: before the first window */
#define NONE UINT32_MAX

struct stream {
	uint64_t key;
	uint32_t number, generation; /* of its handle: changes when the stream ends */
};

/* Newest launch of a thread on a stream; older ones follow in the chain. */
struct newest {
	uint64_t key;
	uint32_t thread, stream, launch; /* NONE: all older ones have ended */
	uint8_t device;
};

struct thread {
	uint64_t key;
	int64_t call_ns;  /* begin of its last call */
	int64_t event_ns; /* its last event but definitions */
	uint32_t launch;  /* its newest, whose return is unknown yet; NONE */
	bool has_defined; /* definitions since */
};

struct collecting {
	struct gp_recording *recording;
	struct gp_gpu *out;
	struct gp_gpu_collected *collected;
	size_t items_most;
	size_t operation_room, launch_room, chain_room, function_room, window_room;
	uint32_t *chain; /* of a launch: the one before it of its thread and stream */
	struct gp_row_table streams, handles, newests, threads, functions;
	struct thread no_thread;
	struct gp_looks looks;
	/* calls while no window was open */
	struct gp_gpu_launch edge[EDGE_LAUNCHES];
	uint64_t edges;
	bool has_times, has_window, is_open;
	uint32_t edge_thread; /* that opened or closed the window last */
	int64_t edge_ns;
	bool is_out_of_memory;
};

/* Room for one more: a quarter more at a time, since addresses are bounded, too. */
static bool reserve(void *array, size_t *room, size_t count, size_t bytes)
{
	void **first = array;
	if (count < *room)
		return true;
	const size_t more = count + count / 4 + 1024;
	void *grown = realloc(*first, more * bytes);
	if (grown == NULL)
		return false;
	*first = grown;
	*room = more;
	return true;
}

/* ---- streams and threads ---- */

/* Default streams: one for each device, or for each thread of it. */
static uint32_t stream_of(struct collecting *c, uint64_t handle, const struct gp_gpu_launch *l)
{
	uint64_t key = handle;
	if (handle == 2)
		key = gp_hash_pair(gp_hash_pair(handle, l->device), l->thread);
	else if (handle < 2)
		key = gp_hash_pair(0, l->device);
	const struct stream *ended = gp_row_of_key(&c->handles, sizeof *ended, handle);
	if (ended != NULL)
		key = gp_hash_pair(key, ended->generation);
	struct stream *s = gp_row_of_key(&c->streams, sizeof *s, key);
	if (s == NULL && (s = gp_row_get_key(&c->streams, sizeof *s, key)) != NULL)
		s->number = c->streams.rows - 1;
	c->is_out_of_memory |= s == NULL;
	return s != NULL ? s->number : 0;
}

static void stream_end(struct collecting *c, uint64_t handle)
{
	struct stream *ended = gp_row_get_key(&c->handles, sizeof *ended, handle);
	c->is_out_of_memory |= ended == NULL;
	if (ended != NULL)
		ended->generation++;
}

static struct thread *thread_of(struct collecting *c, uint32_t thread)
{
	struct thread *t = gp_row_of_key(&c->threads, sizeof *t, thread);
	if (t != NULL)
		return t;
	t = gp_row_get_key(&c->threads, sizeof *t, thread);
	if (t == NULL) {
		c->is_out_of_memory = true;
		return &c->no_thread;
	}
	t->call_ns = t->event_ns = INT64_MIN / 2;
	t->launch = NONE;
	return t;
}

/* An event of the thread came, so its newest launch had returned. */
static void thread_returned(struct collecting *c, struct thread *t, int64_t at_ns)
{
	if (t->launch != NONE)
		c->out->launch[t->launch].returned_ns = at_ns;
	t->launch = NONE;
}

/* ---- launches ---- */

static void launch_add(struct collecting *c, const struct gp_gpu_launch *l)
{
	struct gp_gpu *out = c->out;
	/* a window whose begin was overwritten would have operations by now */
	if (out->launches == c->items_most && !c->has_window && out->operations == 0) {
		out->launches = 0;
		gp_row_table_clear(&c->threads);
		gp_row_table_clear(&c->newests);
	}
	if (out->launches == c->items_most) {
		out->beyond++;
		return;
	}
	const uint64_t key = (uint64_t)l->thread << 32 | l->stream;
	struct newest *n = gp_row_of_key(&c->newests, sizeof *n, key);
	if (n == NULL && (n = gp_row_get_key(&c->newests, sizeof *n, key)) != NULL)
		*n = (struct newest){ key, l->thread, l->stream, NONE, l->device };
	if (n == NULL ||
	    !reserve(&out->launch, &c->launch_room, out->launches, sizeof *out->launch) ||
	    !reserve(&c->chain, &c->chain_room, out->launches, sizeof *c->chain)) {
		c->is_out_of_memory = true;
		return;
	}
	c->chain[out->launches] = n->launch;
	n->launch = (uint32_t)out->launches;
	if (l->returned_ns == INT64_MAX)
		thread_of(c, l->thread)->launch = (uint32_t)out->launches;
	out->launch[out->launches++] = *l;
}

static void launch_see(struct collecting *c, struct gp_gpu_launch *l)
{
	const bool is_at_edge =
		c->has_window && l->thread != c->edge_thread && l->at_ns <= c->edge_ns + EDGE_NS;
	l->is_optional |= is_at_edge;
	if (c->is_open || is_at_edge) {
		launch_add(c, l);
		return;
	}
	c->is_out_of_memory |= !gp_gpu_kinds_add(&c->collected->outside, l);
	c->edge[c->edges++ % EDGE_LAUNCHES] = *l;
}

/* When CUPTI began to switch. From there to the event, operations may be there or not. */
static int64_t switch_ns(const struct collecting *c, const struct gp_event *e)
{
	const uint64_t since = e->record.gpu_time.since;
	const int64_t ns = since != 0 ? gp_tick_ns(&c->recording->tick, since) : e->at_ns;
	return ns < e->at_ns ? ns : e->at_ns;
}

/* True: whether it has an operation is not known. Calls of other threads may be under way. */
static bool is_at_switch(const struct gp_gpu_launch *l, const struct gp_event *e, int64_t since_ns)
{
	return l->at_ns >= since_ns - (l->thread != e->thread ? EDGE_NS : 0);
}

/* The first window begins now: earlier launches have no operation. */
static void launches_forget(struct collecting *c, const struct gp_event *e, int64_t since_ns)
{
	for (size_t k = 0; k < c->out->launches; k++) {
		struct gp_gpu_launch *l = &c->out->launch[k];
		l->is_optional = true;
		if (is_at_switch(l, e, since_ns))
			continue;
		c->is_out_of_memory |= !gp_gpu_kinds_add(&c->collected->outside, l);
		l->by = NOT_KEPT;
	}
}

const struct gp_gpu_window *gp_gpu_window_by(const struct gp_gpu_collected *c, int64_t at_ns)
{
	size_t low = 0, high = c->windows; /* the number of windows that opened by then */
	while (low < high) {
		const size_t middle = low + (high - low) / 2;
		if (c->window[middle].open_ns <= at_ns)
			low = middle + 1;
		else
			high = middle;
	}
	return low != 0 ? &c->window[low - 1] : NULL;
}

static void window_add(struct collecting *c, int64_t open_ns)
{
	struct gp_gpu_collected *out = c->collected;
	if (!reserve(&out->window, &c->window_room, out->windows, sizeof *out->window)) {
		c->is_out_of_memory = true;
		return;
	}
	if (out->windows != 0 && out->window[out->windows - 1].close_ns > open_ns)
		open_ns = out->window[out->windows - 1].close_ns;
	out->window[out->windows++] = (struct gp_gpu_window){ open_ns, INT64_MAX };
}

static void window_open(struct collecting *c, const struct gp_event *e)
{
	const int64_t since_ns = switch_ns(c, e);
	if (!c->has_window && c->out->operations == 0)
		launches_forget(c, e, since_ns);
	c->out->windows++;
	if (!c->has_window || !c->is_open)
		window_add(c, since_ns);
	c->has_window = c->is_open = true;
	c->edge_thread = e->thread;
	c->edge_ns = e->at_ns;
	const uint64_t first = c->edges > EDGE_LAUNCHES ? c->edges - EDGE_LAUNCHES : 0;
	for (uint64_t k = first; k < c->edges; k++) {
		struct gp_gpu_launch *l = &c->edge[k % EDGE_LAUNCHES];
		l->is_optional = true;
		if (is_at_switch(l, e, since_ns))
			launch_add(c, l);
	}
	c->edges = 0;
}

static void window_close(struct collecting *c, const struct gp_event *e)
{
	const int64_t since_ns = switch_ns(c, e);
	if (!c->has_window) { /* its begin was overwritten */
		c->out->windows++;
		window_add(c, INT64_MIN);
	}
	if (c->is_open && c->collected->windows != 0) {
		struct gp_gpu_window *w = &c->collected->window[c->collected->windows - 1];
		w->close_ns = since_ns > w->open_ns ? since_ns : w->open_ns;
	}
	c->has_window = true;
	c->is_open = false;
	c->edge_thread = e->thread;
	c->edge_ns = e->at_ns;
	for (size_t k = c->out->launches; k-- > 0 && gp_looks_take(&c->looks, 1);) {
		struct gp_gpu_launch *l = &c->out->launch[k];
		if (l->at_ns < since_ns - EDGE_NS)
			break;
		l->is_optional |= is_at_switch(l, e, since_ns);
	}
}

static void newest_done(struct collecting *c, struct newest *n, int64_t at_ns)
{
	for (; n->launch != NONE; n->launch = c->chain[n->launch])
		c->out->launch[n->launch].done_ns = at_ns;
}

/* The thread waited for the stream: the work that it launched there had ended by then. */
static void stream_done(struct collecting *c, const struct gp_event *e, uint32_t stream)
{
	struct newest *n;
	const uint64_t key = (uint64_t)e->thread << 32 | stream;
	if ((n = gp_row_of_key(&c->newests, sizeof *n, key)) != NULL)
		newest_done(c, n, e->at_ns);
}

/* Without looks the assignment has less evidence, and is uncertain at worst. */
static void device_done(struct collecting *c, const struct gp_event *e)
{
	struct newest *n = c->newests.row;
	if (!gp_looks_take(&c->looks, c->newests.rows))
		return;
	for (uint32_t k = 0; k < c->newests.rows; k++)
		if (n[k].thread == e->thread && n[k].device == e->record.device)
			newest_done(c, &n[k], e->at_ns);
}

/* ---- events ---- */

static struct gp_gpu_launch call_of(struct collecting *c, const struct gp_event *e, int64_t at_ns)
{
	struct thread *t = thread_of(c, e->thread);
	struct gp_gpu_launch l = { .at_ns = at_ns,
				   .event = c->recording->seen,
				   .done_ns = INT64_MAX,
				   .returned_ns = INT64_MAX,
				   .thread = e->thread,
				   .stack = e->record.stack,
				   .device = e->record.device };
	if (l.at_ns < t->call_ns) /* durations and ticks are rounded; a thread's calls are not */
		l.at_ns = t->call_ns;
	thread_returned(c, t, l.at_ns);
	l.before_ns = t->has_defined && t->event_ns < l.at_ns ? t->event_ns : l.at_ns;
	t->call_ns = l.at_ns;
	if (c->out->ranges != NULL) {
		l.range = gp_range_paths_of(c->out->ranges, e->thread);
		l.call = gp_range_paths_call(c->out->ranges, e->thread);
	}
	return l;
}

static const char *named(const char *name)
{
	return name != NULL && *name != 0 ? name : NULL;
}

static void see_launch(struct collecting *c, const struct gp_event *e)
{
	const struct gp_record *r = &e->record;
	struct gp_gpu_launch l = call_of(c, e, e->at_ns);
	if (r->kind == GP_GRAPH_LAUNCH) {
		l.by = GP_GPU_BY_GRAPH;
		l.stream = stream_of(c, r->graph_launch.stream, &l);
	} else {
		l.by = GP_GPU_BY_KERNEL;
		l.name = named(gp_recording_kernel_name(c->recording, r->launch.kernel));
		l.variant = r->launch.block >> 48 & GP_LAUNCH_OLD;
		l.shape = gp_gpu_kernel_shape(r->launch.grid, r->launch.block);
		l.stream = stream_of(c, r->launch.stream, &l);
	}
	launch_see(c, &l);
}

static void see_copy(struct collecting *c, const struct gp_event *e)
{
	const struct gp_record *r = &e->record;
	const enum gp_call kind = gp_call_kind(r->aux);
	if (kind == GP_COPY_PREFETCH)
		return; /* not an operation of CUPTI's */
	const bool is_async = (r->aux & GP_CALL_ASYNC) != 0;
	const uint64_t took = gp_call_took(r->aux);
	struct gp_gpu_launch l =
		call_of(c, e, gp_tick_ns(&c->recording->tick, took < r->time ? r->time - took : 0));
	l.by = GP_GPU_BY_COPY;
	l.returned_ns = e->at_ns;
	l.shape = gp_gpu_copy_shape(r->copy.bytes, kind == GP_COPY_FILL);
	l.is_optional = kind == GP_COPY_ON_HOST || kind == GP_COPY_UNIFIED || r->copy.bytes == 0 ||
			(r->aux & GP_CALL_CAPTURED) != 0;
	l.stream = stream_of(c, r->copy.stream, &l);
	const uint32_t stream = l.stream;
	if (kind != GP_COPY_ON_HOST || is_async)
		launch_see(c, &l);
	if (kind == GP_COPY_TO_HOST && !is_async)
		stream_done(c, e, stream);
}

static void see_wait(struct collecting *c, const struct gp_event *e)
{
	const struct gp_record *r = &e->record;
	const struct gp_gpu_launch l = { .device = r->device, .thread = e->thread };
	if (r->code != 0)
		return;
	const enum gp_call kind = gp_call_kind(r->aux);
	if (kind == GP_WAIT_STREAM || kind == GP_WAIT_STREAM_QUERY)
		stream_done(c, e, stream_of(c, r->wait.handle, &l));
	else if (kind == GP_WAIT_CONTEXT)
		device_done(c, e);
}

static uint32_t function_of(struct collecting *c, uint64_t id)
{
	struct function {
		uint64_t key;
		uint32_t number;
	} * row;
	const struct gp_record *r =
		gp_defined_record(c->recording->definitions, GP_GPU_FUNCTION, id);
	struct gp_gpu_function f = { 0 };
	if (r != NULL)
		f = (struct gp_gpu_function){
			named(gp_recording_text(c->recording, GP_GPU_FUNCTION, id)),
			r->gpu_function.grid,
			r->gpu_function.block,
			(uint32_t)r->gpu_function.shared,
			(uint32_t)(r->gpu_function.shared >> 32),
			(uint32_t)r->gpu_function.registers,
			(uint32_t)(r->gpu_function.registers >> 32),
		};
	uint64_t key =
		gp_hash_pair((uint64_t)(uintptr_t)f.name, gp_gpu_kernel_shape(f.grid, f.block));
	if (r != NULL)
		key = gp_hash_pair(key,
				   gp_hash_pair(r->gpu_function.shared, r->gpu_function.registers));
	row = gp_row_of_key(&c->functions, sizeof *row, key);
	if (row != NULL)
		return row->number;
	row = gp_row_get_key(&c->functions, sizeof *row, key);
	if (row == NULL || !reserve(&c->out->function, &c->function_room, c->out->functions,
				    sizeof *c->out->function)) {
		c->is_out_of_memory = true;
		return 0;
	}
	row->number = (uint32_t)c->out->functions;
	c->out->function[c->out->functions++] = f;
	return row->number;
}

static void see_operation(struct collecting *c, const struct gp_record *r)
{
	struct gp_gpu *out = c->out;
	const bool is_kernel = r->kind == GP_GPU_KERNEL;
	if (out->operations == c->items_most) {
		out->beyond++;
		return;
	}
	const uint64_t launch = is_kernel ? r->gpu_kernel.launch : r->gpu_copy.launch;
	struct gp_gpu_operation op = {
		.began_ns = is_kernel ? r->gpu_kernel.began_ns : r->gpu_copy.began_ns,
		.took_ns = is_kernel ? r->gpu_kernel.took_ns : r->gpu_copy.took_ns,
		.launch = GP_GPU_NO_LAUNCH,
		.correlation = GP_GPU_CORRELATION(launch),
		.stream = GP_GPU_STREAM(launch),
		.context = r->code,
		.device = r->device,
		.join = GP_GPU_UNJOINED,
	};
	if (op.took_ns > UINT64_MAX - op.began_ns)
		op.took_ns = UINT64_MAX - op.began_ns;
	if (is_kernel) {
		op.function = function_of(c, r->aux);
		op.is_in_graph = r->gpu_kernel.node != 0;
	} else {
		op.function = r->aux;
		op.bytes = r->gpu_copy.bytes;
		op.is_in_graph = (r->aux & GP_GPU_IN_GRAPH) != 0;
		op.kind = GP_GPU_COPY_KIND(r->aux) == GP_GPU_SET ? GP_GPU_IS_SET : GP_GPU_IS_COPY;
	}
	if (!reserve(&out->operation, &c->operation_room, out->operations,
		     sizeof *out->operation)) {
		c->is_out_of_memory = true;
		return;
	}
	out->operation[out->operations++] = op;
}

static void see_state(struct collecting *c, const struct gp_event *e)
{
	const struct gp_record *r = &e->record;
	uint64_t *count = r->aux == GP_GPU_TIME_DROPPED ? &c->out->dropped : &c->out->lost;
	switch (r->aux) {
	case GP_GPU_TIME_ON:
		window_open(c, e);
		break;
	case GP_GPU_TIME_OFF:
	case GP_GPU_TIME_TAKEN:
		window_close(c, e);
		break;
	case GP_GPU_TIME_DROPPED:
	case GP_GPU_TIME_LOST:
		if (__builtin_add_overflow(*count, r->gpu_time.number, count))
			*count = UINT64_MAX;
		break;
	default:
		break;
	}
}

static void gpu_collect_see(struct collecting *c, const struct gp_event *e)
{
	const struct gp_record *r = &e->record;
	gp_looks_add(&c->looks);
	if (c->out->ranges != NULL)
		gp_range_paths_see(c->out->ranges, e->thread, r);
	if (r->kind < GP_KINDS && gp_event_infos[r->kind].class == GP_CLASS_DEFINE) {
		thread_of(c, e->thread)->has_defined = true;
		return;
	}
	switch (r->kind) {
	case GP_LAUNCH:
	case GP_GRAPH_LAUNCH:
		if (c->has_times && (gp_launched_as(r) == GP_LAUNCHED_KERNEL ||
				     gp_launched_as(r) == GP_LAUNCHED_GRAPH))
			see_launch(c, e);
		break;
	case GP_COPY:
		if (c->has_times && r->code == 0)
			see_copy(c, e);
		break;
	case GP_WAIT:
		see_wait(c, e);
		break;
	case GP_STREAM_DESTROY:
		stream_end(c, r->stream_destroy.handle);
		break;
	case GP_GPU_KERNEL:
	case GP_GPU_COPY:
		see_operation(c, r);
		break;
	case GP_GPU_CLOCK:
		c->is_out_of_memory |=
			!gp_gpu_clock_add(&c->collected->clock, &c->recording->tick, r);
		break;
	case GP_GPU_TIME:
		see_state(c, e);
		break;
	case GP_LOST:
		if (__builtin_add_overflow(c->out->lost_launches, r->lost.launch,
					   &c->out->lost_launches))
			c->out->lost_launches = UINT64_MAX;
		break;
	default:
		break;
	}
	struct thread *t = thread_of(c, e->thread);
	if (r->kind != GP_LAUNCH && r->kind != GP_GRAPH_LAUNCH && r->kind != GP_COPY)
		thread_returned(c, t, e->at_ns);
	t->event_ns = e->at_ns;
	t->has_defined = false;
}

struct begun {
	int64_t at_ns;
	uint32_t launch;
};

static int by_begin(const void *left, const void *right)
{
	const struct begun *a = left, *b = right;
	if (a->at_ns != b->at_ns)
		return a->at_ns < b->at_ns ? -1 : 1;
	return (a->launch > b->launch) - (a->launch < b->launch);
}

/* A copy is recorded at its end, and may have begun before another thread's launch. */
static enum gp_status sort_launches(struct gp_gpu *out)
{
	size_t k = 1;
	while (k < out->launches && out->launch[k - 1].at_ns <= out->launch[k].at_ns)
		k++;
	if (k >= out->launches)
		return GP_OK;
	struct begun *begun = malloc(out->launches * sizeof *begun);
	struct gp_gpu_launch *sorted = malloc(out->launches * sizeof *sorted);
	if (begun != NULL && sorted != NULL) {
		for (k = 0; k < out->launches; k++)
			begun[k] = (struct begun){ out->launch[k].at_ns, (uint32_t)k };
		qsort(begun, out->launches, sizeof *begun, by_begin);
		for (k = 0; k < out->launches; k++)
			sorted[k] = out->launch[begun[k].launch];
		free(out->launch);
		out->launch = sorted;
	} else {
		free(sorted);
	}
	free(begun);
	return begun != NULL && sorted != NULL ? GP_OK : GP_E_MEMORY;
}

enum gp_status gp_gpu_collect(struct gp_recording *recording, struct gp_gpu *out,
			      struct gp_gpu_collected *collected)
{
	struct collecting *c = calloc(1, sizeof *c);
	struct gp_event e;
	enum gp_status status = c != NULL ? GP_OK : GP_E_MEMORY;
	if (c == NULL)
		return status;
	*c = (struct collecting){
		.recording = recording, .out = out, .collected = collected, .is_open = true
	};
	gp_looks_open(&c->looks);
	c->items_most = gp_gpu_items_most(recording);
	c->has_times = gp_gpu_has_times(recording);
	while ((status = gp_recording_next(recording, &e)) == GP_OK && !c->is_out_of_memory)
		gpu_collect_see(c, &e);
	const bool has_none = !c->has_window && out->operations == 0;
	size_t kept = 0;
	for (size_t k = 0; k < out->launches && !has_none; k++)
		if (out->launch[k].by != NOT_KEPT)
			out->launch[kept++] = out->launch[k];
	out->launches = kept;
	collected->streams = c->streams.rows;
	gp_gpu_clock_settle(&collected->clock);
	if (status == GP_END || c->is_out_of_memory)
		status = c->is_out_of_memory ? GP_E_MEMORY : sort_launches(out);
	gp_row_table_release(&c->streams);
	gp_row_table_release(&c->handles);
	gp_row_table_release(&c->newests);
	gp_row_table_release(&c->threads);
	gp_row_table_release(&c->functions);
	free(c->chain);
	free(c);
	return status;
}
