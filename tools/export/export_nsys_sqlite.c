/*
 * `--format nsys-sqlite`: a database in the shape of Nsight Systems' export, so that queries that
 * were written for it run. Columns that a recording cannot fill are NULL.
 */
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "../io/message.h"
#include "tables/nsys_rows.h"

extern const struct gp_export_format gp_export_format_nsys_sqlite;

static const struct {
	enum nsys_table table;
	int id;
	const char *name, *label;
} enums[] = {
	{ NSYS_ENUM_CUDA_MEMCPY_OPER, 1, "CUDA_MEMCPY_KIND_HTOD", "Host-to-Device" },
	{ NSYS_ENUM_CUDA_MEMCPY_OPER, 2, "CUDA_MEMCPY_KIND_DTOH", "Device-to-Host" },
	{ NSYS_ENUM_CUDA_MEMCPY_OPER, 8, "CUDA_MEMCPY_KIND_DTOD", "Device-to-Device" },
	{ NSYS_ENUM_CUDA_MEMCPY_OPER, 9, "CUDA_MEMCPY_KIND_HTOH", "Host-to-Host" },
	{ NSYS_ENUM_CUDA_MEMCPY_OPER, 10, "CUDA_MEMCPY_KIND_PTOP", "Peer-to-Peer" },
	{ NSYS_ENUM_CUDA_MEM_KIND, 0, "CUDA_MEMOPR_MEMORY_KIND_PAGEABLE", "Pageable" },
	{ NSYS_ENUM_CUDA_MEM_KIND, 1, "CUDA_MEMOPR_MEMORY_KIND_PINNED", "Pinned" },
	{ NSYS_ENUM_CUDA_MEM_KIND, 2, "CUDA_MEMOPR_MEMORY_KIND_DEVICE", "Device" },
	{ NSYS_ENUM_CUDA_MEM_KIND, 3, "CUDA_MEMOPR_MEMORY_KIND_ARRAY", "Array" },
	{ NSYS_ENUM_CUDA_MEM_KIND, 4, "CUDA_MEMOPR_MEMORY_KIND_MANAGED", "Managed" },
	{ NSYS_ENUM_CUDA_DEV_MEM_EVENT_OPER, 0, "CUDA_DEV_MEM_EVENT_OPR_ALLOCATION", "Allocation" },
	{ NSYS_ENUM_CUDA_DEV_MEM_EVENT_OPER, 1, "CUDA_DEV_MEM_EVENT_OPR_DEALLOCATION",
	  "Deallocation" },
	{ NSYS_ENUM_CUPTI_SYNC_TYPE, 1, "EVENT_SYNCHRONIZE", "Event sync" },
	{ NSYS_ENUM_CUPTI_SYNC_TYPE, 3, "STREAM_SYNCHRONIZE", "Stream sync" },
	{ NSYS_ENUM_CUPTI_SYNC_TYPE, 4, "CONTEXT_SYNCHRONIZE", "Context sync" },
	{ NSYS_ENUM_NSYS_EVENT_TYPE, 34, "NvtxMark", "NvtxMark" },
	{ NSYS_ENUM_NSYS_EVENT_TYPE, 59, "NvtxPushPopRange", "NvtxPushPopRange" },
	{ NSYS_ENUM_NSYS_EVENT_TYPE, 60, "NvtxStartEndRange", "NvtxStartEndRange" },
	{ NSYS_ENUM_NSYS_EVENT_TYPE, 75, "NvtxDomainCreate", "NvtxDomainCreate" },
};

/* The kind of memory as nsys numbers it; -1: not memory of the job's own. */
static int memory_kind(unsigned space)
{
	switch (space) {
	case GP_SPACE_DEVICE:
	case GP_SPACE_ASYNC:
	case GP_SPACE_PHYSICAL:
		return 2;
	case GP_SPACE_HOST:
		return 1;
	case GP_SPACE_MANAGED:
		return 4;
	case GP_SPACE_ARRAY:
		return 3;
	default:
		return -1;
	}
}

/* ---- memory ---- */

struct nsys_memory {
	struct gp_pickle_rows addresses; /* memo: 1 + the index of its bytes */
	uint64_t *bytes;
	size_t count, room;
};

/* Where the bytes of the last allocation at this address are. NULL: out of memory. */
static uint64_t *memory_bytes(struct nsys_memory *m, const struct gp_record *r)
{
	struct gp_pickle_row *row =
		gp_pickle_row_get(&m->addresses, r->alloc.address, r->space, NULL);
	if (row && row->memo)
		return &m->bytes[row->memo - 1];
	if (m->count == m->room) {
		const size_t room = m->room ? 2 * m->room : 256;
		uint64_t *grown = realloc(m->bytes, room * sizeof *grown);
		if (!grown)
			return NULL;
		m->bytes = grown;
		m->room = room;
	}
	if (!row)
		return NULL;
	m->bytes[m->count++] = 0;
	row->memo = (uint32_t)m->count;
	return &m->bytes[row->memo - 1];
}

/* A refused free is one more allocation: the memory is still there. */
static void memory_write(struct gp_nsys *n, struct nsys_memory *m, const struct gp_event *event)
{
	const struct gp_record *r = &event->record;
	struct gp_rows *row = &n->row;
	const int kind = memory_kind(r->space);
	if (kind < 0 || (r->kind == GP_ALLOC && r->aux & (GP_ALLOC_IMPORT | GP_ALLOC_CAPTURED)))
		return;
	uint64_t *bytes = memory_bytes(m, r);
	if (!bytes) {
		n->file.status = GP_E_MEMORY;
		return;
	}
	if (r->kind == GP_ALLOC)
		*bytes = r->alloc.bytes;
	gp_row_signed(row, event->at_ns);
	gp_row_signed(row, gp_nsys_pid(n));
	gp_row_number_if(row, r->device < GP_DEVICES, r->device);
	gp_row_null(row);
	gp_row_number(row, r->alloc.address);
	gp_row_null(row);
	gp_row_number_if(row, *bytes != 0, *bytes);
	gp_row_signed(row, kind);
	gp_row_number(row, r->kind == GP_FREE);
	for (unsigned k = 0; k < 9; k++)
		gp_row_null(row);
	gp_nsys_add(n, NSYS_CUDA_GPU_MEMORY_USAGE_EVENTS);
}

/* ---- calls with a duration ---- */

static const char *call_name(const struct gp_record *r)
{
	static const char *const copies[GP_COPIES] = {
		[GP_COPY_UNIFIED] = "cuMemcpy",	    [GP_COPY_TO_DEVICE] = "cuMemcpyHtoD",
		[GP_COPY_TO_HOST] = "cuMemcpyDtoH", [GP_COPY_ON_DEVICE] = "cuMemcpyDtoD",
		[GP_COPY_PEER] = "cuMemcpyPeer",    [GP_COPY_FILL] = "cuMemset",
		[GP_COPY_ON_HOST] = "cuMemcpy",	    [GP_COPY_PREFETCH] = "cuMemPrefetchAsync",
	};
	static const char *const waits[GP_WAITS] = {
		[GP_WAIT_STREAM] = "cuStreamSynchronize",
		[GP_WAIT_EVENT] = "cuEventSynchronize",
		[GP_WAIT_CONTEXT] = "cuCtxSynchronize",
		[GP_WAIT_FREE] = "cuMemFree",
		[GP_WAIT_FREE_HOST] = "cuMemFreeHost",
		[GP_WAIT_UNREGISTER] = "cuMemHostUnregister",
		[GP_WAIT_EVENT_QUERY] = "cuEventQuery",
		[GP_WAIT_STREAM_QUERY] = "cuStreamQuery",
	};
	const enum gp_call call = gp_call_kind(r->aux);
	const char *name = r->kind == GP_COPY ? call < GP_COPIES ? copies[call] : NULL :
			   call < GP_WAITS    ? waits[call] :
						NULL;
	return name ? name : "unknown";
}

static void call_write(struct gp_nsys *n, const struct gp_event *event)
{
	const struct gp_record *r = &event->record;
	struct gp_rows *row = &n->row;
	char name[64];
	const int64_t took_ns = gp_call_took_ns(n->e->recording, r);
	const bool is_async = r->aux & GP_CALL_ASYNC && gp_call_kind(r->aux) != GP_COPY_PREFETCH;
	snprintf(name, sizeof name, "%s%s", call_name(r), is_async ? "Async" : "");
	gp_row_signed(row, event->at_ns - took_ns);
	gp_row_signed(row, event->at_ns);
	gp_row_null(row);
	gp_row_signed(row, gp_nsys_tid(n, event->thread));
	gp_row_null(row);
	gp_row_number(row, gp_nsys_text(n, name));
	gp_row_number(row, r->code);
	gp_row_null(row);
	gp_nsys_add(n, NSYS_CUPTI_ACTIVITY_KIND_RUNTIME);
	const enum gp_call wait = gp_call_kind(r->aux);
	if (r->kind != GP_WAIT || wait > GP_WAIT_CONTEXT)
		return;
	gp_row_signed(row, event->at_ns - took_ns);
	gp_row_signed(row, event->at_ns);
	gp_row_number_if(row, r->device < GP_DEVICES, r->device);
	for (unsigned k = 0; k < 3; k++)
		gp_row_null(row);
	gp_row_signed(row, gp_nsys_pid(n));
	gp_row_number(row, wait == GP_WAIT_EVENT ? 1 : wait == GP_WAIT_STREAM ? 3 : 4);
	gp_row_number_if(row, wait == GP_WAIT_EVENT, r->wait.handle);
	gp_nsys_add(n, NSYS_CUPTI_ACTIVITY_KIND_SYNCHRONIZATION);
}

static void mark_write(struct gp_nsys *n, const struct gp_event *event)
{
	struct gp_rows *row = &n->row;
	gp_row_signed(row, event->at_ns);
	gp_row_null(row);
	gp_row_number(row, 34);
	for (unsigned k = 0; k < 3; k++)
		gp_row_null(row);
	gp_row_text(row, gp_recording_text(n->e->recording, GP_RANGE_NAME, event->record.aux));
	gp_row_signed(row, gp_nsys_tid(n, event->thread));
	gp_row_null(row);
	gp_row_null(row);
	gp_row_number(row, 0);
	gp_nsys_add(n, NSYS_NVTX_EVENTS);
}

/* ---- the replay ---- */

static void thread_see(struct gp_nsys *n, struct gp_pickle_rows *threads,
		       const struct gp_event *event)
{
	const uint64_t key = GP_OBJECT_KEY(GP_OBJECT_THREAD, event->tid);
	struct gp_pickle_row *thread = gp_pickle_row_get(threads, event->thread, event->tid, NULL);
	struct gp_rows *row = &n->row;
	if (!thread || thread->memo)
		return;
	thread->memo = 1;
	const char *name = gp_recording_text(n->e->recording, GP_OBJECT_NAME, key);
	gp_row_number(row, gp_nsys_text(n, name ? name : ""));
	gp_row_null(row);
	gp_row_signed(row, gp_nsys_tid(n, event->thread));
	gp_nsys_add(n, NSYS_ThreadNames);
}

static void event_write(struct gp_nsys *n, struct nsys_memory *memory, const struct gp_event *event)
{
	switch (event->record.kind) {
	case GP_ALLOC:
	case GP_FREE:
	case GP_FREE_FAILED:
		memory_write(n, memory, event);
		break;
	case GP_COPY:
	case GP_WAIT:
		call_write(n, event);
		break;
	case GP_MARK:
		mark_write(n, event);
		break;
	default:
		break;
	}
}

static enum gp_status events_write(struct gp_nsys *n)
{
	struct nsys_memory memory = { 0 };
	struct gp_pickle_rows threads = { 0 };
	struct gp_event event;
	const struct gp_export *e = n->e;
	enum gp_status status = gp_recording_rewind(e->recording);
	while (!n->file.status && status == GP_OK &&
	       (status = gp_recording_next(e->recording, &event)) == GP_OK) {
		if (!gp_is_happening(event.record.kind) || event.at_ns < e->from_ns ||
		    event.at_ns > e->to_ns ||
		    (e->device != GP_DEVICE_UNKNOWN && event.record.device != e->device))
			continue;
		thread_see(n, &threads, &event);
		event_write(n, &memory, &event);
	}
	gp_pickle_rows_release(&memory.addresses);
	gp_pickle_rows_release(&threads);
	free(memory.bytes);
	return status == GP_END ? GP_OK : status;
}

/* ---- the recording ---- */

static void pair_write(struct gp_nsys *n, enum nsys_table table, const char *name,
		       const char *value)
{
	gp_row_text(&n->row, name);
	gp_row_text(&n->row, value);
	gp_nsys_add(n, table);
}

static void session_write(struct gp_nsys *n)
{
	const struct gp_info *info = n->e->info;
	struct gp_rows *row = &n->row;
	const time_t second = (time_t)(info->start_unix_ns / 1000000000u);
	char text[64] = "";
	struct tm utc;
	if (gmtime_r(&second, &utc))
		strftime(text, sizeof text, "%Y-%m-%dT%H:%M:%S+00:00", &utc);
	gp_row_number(row, info->start_unix_ns);
	gp_row_text(row, text);
	gp_row_null(row);
	gp_nsys_add(n, NSYS_TARGET_INFO_SESSION_START_TIME);
	gp_row_number(row, 0);
	gp_row_number(row, info->duration_ns);
	gp_row_number(row, 0);
	gp_row_number(row, info->duration_ns);
	gp_nsys_add(n, NSYS_ANALYSIS_DETAILS);
	gp_row_signed(row, gp_nsys_pid(n));
	gp_row_number(row, info->pid);
	gp_row_text(row, info->command);
	gp_nsys_add(n, NSYS_PROCESSES);
}

static void recording_write(struct gp_nsys *n)
{
	const struct gp_info *info = n->e->info;
	struct gp_rows *row = &n->row;
	pair_write(n, NSYS_META_DATA_EXPORT, "EXPORT_SCHEMA_VERSION", "3.16.1");
	pair_write(n, NSYS_META_DATA_EXPORT, "EXPORT_PRODUCT_VERSION", "gpuprof " GP_VERSION);
	pair_write(n, NSYS_META_DATA_CAPTURE, "COMMAND_LINE", info->command);
	session_write(n);
	for (size_t k = 0; k < info->devices; k++) {
		const struct gp_info_device *d = &info->device[k];
		gp_row_number(row, d->device);
		gp_row_text(row, d->name);
		gp_row_number_if(row, d->total_bytes != 0, d->total_bytes);
		gp_row_null(row);
		gp_row_text(row, d->uuid[0] ? d->uuid : NULL);
		gp_nsys_add(n, NSYS_TARGET_INFO_GPU);
	}
	for (size_t k = 0; k < sizeof enums / sizeof *enums; k++) {
		gp_row_signed(row, enums[k].id);
		gp_row_text(row, enums[k].name);
		gp_row_text(row, enums[k].label);
		gp_nsys_add(n, enums[k].table);
	}
}

static enum gp_status export_nsys_write(struct gp_export *e)
{
	struct gp_nsys n = { 0 };
	const uint64_t *kept = e->info->kept;
	const bool has_operations = kept[GP_GPU_KERNEL] + kept[GP_GPU_COPY] != 0;
	gp_nsys_open(&n, e, has_operations);
	recording_write(&n);
	const enum gp_status status = events_write(&n);
	if (!n.file.status)
		n.file.status = status;
	if (!n.file.status && (has_operations || e->info->has_ranges))
		gp_nsys_gpu_write(&n);
	gp_nsys_close(&n);
	if (!has_operations)
		gp_hint("no GPU time was recorded: no tables of kernels and copies (gpuprof run "
			"--gpu-time)");
	return n.file.status;
}

const struct gp_export_format gp_export_format_nsys_sqlite = {
	.name = "nsys-sqlite",
	.unit = "rows",
	.opens = "queries for Nsight Systems' SQLite export run on it",
	.is_own_file = true,
	.write = export_nsys_write,
};
