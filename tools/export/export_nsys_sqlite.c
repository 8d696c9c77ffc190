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
	{ NSYS_ENUM_CUDA_MEMCPY_OPER, 3, "CUDA_MEMCPY_KIND_HTOA", "Host-to-Array" },
	{ NSYS_ENUM_CUDA_MEMCPY_OPER, 4, "CUDA_MEMCPY_KIND_ATOH", "Array-to-Host" },
	{ NSYS_ENUM_CUDA_MEMCPY_OPER, 5, "CUDA_MEMCPY_KIND_ATOA", "Array-to-Array" },
	{ NSYS_ENUM_CUDA_MEMCPY_OPER, 6, "CUDA_MEMCPY_KIND_ATOD", "Array-to-Device" },
	{ NSYS_ENUM_CUDA_MEMCPY_OPER, 7, "CUDA_MEMCPY_KIND_DTOA", "Device-to-Array" },
	{ NSYS_ENUM_CUDA_MEMCPY_OPER, 8, "CUDA_MEMCPY_KIND_DTOD", "Device-to-Device" },
	{ NSYS_ENUM_CUDA_MEMCPY_OPER, 9, "CUDA_MEMCPY_KIND_HTOH", "Host-to-Host" },
	{ NSYS_ENUM_CUDA_MEMCPY_OPER, 10, "CUDA_MEMCPY_KIND_PTOP", "Peer-to-Peer" },
	{ NSYS_ENUM_CUDA_MEM_KIND, 0, "CUDA_MEMOPR_MEMORY_KIND_PAGEABLE", "Pageable" },
	{ NSYS_ENUM_CUDA_MEM_KIND, 1, "CUDA_MEMOPR_MEMORY_KIND_PINNED", "Pinned" },
	{ NSYS_ENUM_CUDA_MEM_KIND, 2, "CUDA_MEMOPR_MEMORY_KIND_DEVICE", "Device" },
	{ NSYS_ENUM_CUDA_MEM_KIND, 3, "CUDA_MEMOPR_MEMORY_KIND_ARRAY", "Array" },
	{ NSYS_ENUM_CUDA_MEM_KIND, 4, "CUDA_MEMOPR_MEMORY_KIND_MANAGED", "Managed" },
	{ NSYS_ENUM_CUDA_MEM_KIND, 5, "CUDA_MEMOPR_MEMORY_KIND_DEVICE_STATIC", "Device Static" },
	{ NSYS_ENUM_CUDA_MEM_KIND, 6, "CUDA_MEMOPR_MEMORY_KIND_MANAGED_STATIC", "Managed Static" },
	{ NSYS_ENUM_CUDA_DEV_MEM_EVENT_OPER, 0, "CUDA_DEV_MEM_EVENT_OPR_ALLOCATION", "Allocation" },
	{ NSYS_ENUM_CUDA_DEV_MEM_EVENT_OPER, 1, "CUDA_DEV_MEM_EVENT_OPR_DEALLOCATION",
	  "Deallocation" },
	{ NSYS_ENUM_CUPTI_SYNC_TYPE, 1, "EVENT_SYNCHRONIZE", "Event sync" },
	{ NSYS_ENUM_CUPTI_SYNC_TYPE, 3, "STREAM_SYNCHRONIZE", "Stream sync" },
	{ NSYS_ENUM_CUPTI_SYNC_TYPE, 4, "CONTEXT_SYNCHRONIZE", "Context sync" },
	{ NSYS_ENUM_DIAGNOSTIC_SEVERITY_LEVEL, NSYS_INFO, "Info", "Information" },
	{ NSYS_ENUM_DIAGNOSTIC_SEVERITY_LEVEL, NSYS_WARNING, "Warning", "Warning" },
	{ NSYS_ENUM_DIAGNOSTIC_SOURCE_TYPE, NSYS_FROM_RECORDER, "Recorder", "gpuprof run" },
	{ NSYS_ENUM_DIAGNOSTIC_SOURCE_TYPE, NSYS_FROM_EXPORT, "Export", "gpuprof export" },
	{ NSYS_ENUM_DIAGNOSTIC_TIMESTAMP_SOURCE, 1, "TargetTimestamp", "Recording" },
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

/* ---- the replay ---- */

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

static void thread_name(struct gp_nsys *n, const struct gp_event *event, int64_t tid)
{
	const uint64_t key = GP_OBJECT_KEY(GP_OBJECT_THREAD, event->tid);
	const char *name = gp_recording_text(n->e->recording, GP_OBJECT_NAME, key);
	struct gp_pickle_row *known = gp_pickle_row_get(&n->tids, (uint64_t)tid, 0, NULL);
	struct gp_rows *row = &n->row;
	if (!known)
		n->file.status = GP_E_MEMORY;
	if (!known || known->memo)
		return;
	known->memo = 1;
	gp_row_number(row, gp_nsys_text(n, name ? name : ""));
	gp_row_null(row);
	gp_row_signed(row, tid);
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
	case GP_MARK:
		mark_write(n, event);
		break;
	default:
		break;
	}
}

static void event_see(struct gp_nsys *n, struct nsys_memory *memory, const struct gp_event *event)
{
	const struct gp_export *e = n->e;
	const bool is_in = event->at_ns >= e->from_ns && event->at_ns <= e->to_ns &&
			   (e->device == GP_DEVICE_UNKNOWN || event->record.device == e->device);
	struct gp_nsys_thread *thread = gp_nsys_thread(n, event->thread);
	if (!thread)
		return;
	const bool is_call = gp_nsys_call_see(n, event, thread, is_in);
	if ((is_in || is_call) && !thread->is_named) {
		thread->is_named = true;
		thread_name(n, event, gp_nsys_tid(n, event->thread));
	}
	if (is_in)
		event_write(n, memory, event);
	if (event->at_ns > thread->last_ns)
		thread->last_ns = event->at_ns;
}

static enum gp_status events_write(struct gp_nsys *n)
{
	struct nsys_memory memory = { 0 };
	struct gp_event event;
	enum gp_status status = gp_recording_rewind(n->e->recording);
	while (!n->file.status && status == GP_OK &&
	       (status = gp_recording_next(n->e->recording, &event)) == GP_OK) {
		n->seen++;
		if (gp_is_happening(event.record.kind))
			event_see(n, &memory, &event);
	}
	gp_pickle_rows_release(&memory.addresses);
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
	if (info->hostname && info->hostname[0]) {
		gp_row_null(row);
		gp_row_null(row);
		gp_row_text(row, "Hostname");
		gp_row_null(row);
		gp_row_text(row, info->hostname);
		gp_nsys_add(n, NSYS_TARGET_INFO_SYSTEM_ENV);
	}
	for (size_t k = 0; k < info->devices; k++) {
		const struct gp_info_device *d = &info->device[k];
		gp_row_number(row, d->device);
		gp_row_text(row, d->name);
		gp_row_number_if(row, d->total_bytes != 0, d->total_bytes);
		gp_row_null(row);
		gp_row_text(row, d->uuid[0] ? d->uuid : NULL);
		gp_row_number(row, d->device);
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
	if (e->has_stacks && !n.file.status)
		n.file.status = gp_stack_epochs_open(e->recording, &n.epochs);
	recording_write(&n);
	if (!n.file.status && (has_operations || e->info->has_ranges))
		gp_nsys_gpu_open(&n);
	if (!n.file.status)
		n.file.status = events_write(&n);
	if (!n.file.status && e->info->has_ranges)
		gp_nsys_ranges_write(&n);
	if (!n.file.status)
		gp_nsys_diagnostics_write(&n);
	gp_nsys_gpu_close(&n);
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
