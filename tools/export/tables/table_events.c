/*
 * Actions of the job in exact order. Fields with a meaning of their own have a column, the others
 * are in `detail`, as JSON. Definitions and checkpoints are not events of the job.
 */
#include "table_events.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "../../report/use_print.h"
#include "../write/digits.h"

#define FIELDS 5u /* aux and four others */
#define DETAIL_ROOM 512u

/* Where a field goes. */
enum field_to {
	TO_NOTHING,
	TO_DETAIL,
	TO_ADDRESS,
	TO_BYTES,
	TO_ALLOCATED,
	TO_RESERVED,
	TO_STREAM,
	TO_HANDLE,
	TO_TOOK,
	TO_NAME, /* the number of a name */
	TO_SPARE,
	FIELD_TOS
};

struct event_peak {
	uint64_t bytes, order;
	int64_t at_ns;
	bool is_there;
};

struct event_rows {
	struct gp_export *e;
	struct gp_rows *rows;
	struct gp_table_stacks *stacks;
	uint8_t to[GP_KINDS][FIELDS];
	struct gp_pickle_rows threads; /* memo: number of events; text: the name */
	struct event_peak peak[GP_DEVICES][GP_CURVES];
	char detail[DETAIL_ROOM];
};

/* ---- where fields go ---- */

static const struct {
	const char *name;
	enum field_to to;
} places[] = {
	{ "bytes", TO_BYTES },	     { "active_bytes", TO_BYTES }, { "address", TO_ADDRESS },
	{ "to", TO_ADDRESS },	     { "first", TO_ADDRESS },	   { "allocated", TO_ALLOCATED },
	{ "reserved", TO_RESERVED }, { "stream", TO_STREAM },	   { "spare", TO_SPARE },
	{ "kernel", TO_HANDLE },     { "exec", TO_HANDLE },	   { "handle", TO_HANDLE },
	{ "graph", TO_HANDLE },	     { "pool", TO_HANDLE },	   { "communicator", TO_HANDLE },
	{ "id", TO_NAME },
};

static enum field_to field_place(const struct gp_field *field)
{
	if (!field->name)
		return TO_NOTHING;
	if (field->meaning == GP_TICKS || field->meaning == GP_CALL)
		return TO_TOOK;
	for (size_t k = 0; k < sizeof places / sizeof *places; k++)
		if (strcmp(field->name, places[k].name) == 0)
			return places[k].to;
	return TO_DETAIL;
}

static void places_find(struct event_rows *r)
{
	for (unsigned kind = 0; kind < GP_KINDS; kind++) {
		const struct gp_event_info *info = &gp_event_infos[kind];
		bool is_taken[FIELD_TOS] = { false };
		for (unsigned at = 0; at < FIELDS; at++) {
			const struct gp_field *field = at < 4 ? &info->v[at] : &info->aux;
			enum field_to to = field_place(field);
			if (to > TO_DETAIL && is_taken[to])
				to = TO_DETAIL;
			is_taken[to] = true;
			r->to[kind][at] = (uint8_t)to;
		}
	}
}

/* ---- details ---- */

#define DETAIL_NUMBERS 64u /* bytes of a field's value at most, with what is around its name */

static char *detail_three(char *out, uint64_t x, uint64_t y, uint64_t z)
{
	*out++ = '[';
	out = gp_digits_put(out, x);
	out = gp_digits_put(stpcpy(out, ", "), y);
	out = gp_digits_put(stpcpy(out, ", "), z);
	*out++ = ']';
	return out;
}

static size_t detail_add(char *out, size_t at, const struct gp_field *field, uint64_t v)
{
	char *to = out + at;
	if (DETAIL_ROOM - at < strlen(field->name) + DETAIL_NUMBERS)
		return at;
	to = stpcpy(to, at > 1 ? ", \"" : "\"");
	to = stpcpy(to, field->name);
	to = stpcpy(to, "\": ");
	if (field->meaning == GP_GRID)
		to = detail_three(to, v & 0xffffffff, v >> 32 & 0xffff, v >> 48);
	else if (field->meaning == GP_BLOCK)
		to = detail_three(to, v & 0xffff, v >> 16 & 0xffff, v >> 32 & 0xffff);
	else if (field->meaning == GP_ADDRESS || field->meaning == GP_HANDLE)
		to += sprintf(to, "\"0x%" PRIx64 "\"", v);
	else
		to = gp_digits_put(to, v);
	return (size_t)(to - out);
}

static const char *call_name(const struct gp_record *r)
{
	const enum gp_call call = gp_call_kind(r->aux);
	const bool is_copy = r->kind == GP_COPY;
	if (call >= (is_copy ? GP_COPIES : GP_WAITS))
		return "unknown";
	return is_copy ? gp_copy_names[call] : gp_wait_names[call];
}

/* NULL: all is in other columns. Fields that are 0 are left out. */
static const char *event_detail(struct event_rows *r, const struct gp_record *record)
{
	const struct gp_event_info *info = &gp_event_infos[record->kind];
	char *out = r->detail;
	size_t at = 1;
	out[0] = '{';
	for (unsigned k = 0; k < FIELDS; k++) {
		const uint64_t v = k < 4 ? record->v[k] : record->aux;
		if (r->to[record->kind][k] == TO_DETAIL && v)
			at = detail_add(out, at, k < 4 ? &info->v[k] : &info->aux, v);
	}
	if (info->aux.meaning == GP_CALL)
		at += (size_t)snprintf(out + at, DETAIL_ROOM - at,
				       "%s\"call\": \"%s\", \"async\": %s, \"captured\": %s",
				       at > 1 ? ", " : "", call_name(record),
				       record->aux & GP_CALL_ASYNC ? "true" : "false",
				       record->aux & GP_CALL_CAPTURED ? "true" : "false");
	else if (record->kind == GP_LAUNCH && gp_launched_as(record) == GP_LAUNCHED_CAPTURED)
		at += (size_t)snprintf(out + at, DETAIL_ROOM - at, "%s\"captured\": true",
				       at > 1 ? ", " : "");
	if (at == 1)
		return NULL;
	memcpy(out + at, "}", 2);
	return out;
}

/* ---- one event ---- */

static bool is_timed(const struct gp_record *record)
{
	return record->kind == GP_ALLOC || record->kind == GP_MAP;
}

static int64_t event_took_ns(const struct event_rows *r, const struct gp_record *record,
			     uint64_t ticks)
{
	if (gp_event_infos[record->kind].aux.meaning == GP_CALL)
		return gp_call_took_ns(r->e->recording, record);
	ticks = is_timed(record) ? gp_alloc_took(record->code) : ticks;
	return ticks ? gp_took_ns(r->e->recording, record, ticks) : -1;
}

static const char *event_name(const struct event_rows *r, const struct gp_event *event)
{
	const struct gp_record *record = &event->record;
	struct gp_recording *recording = r->e->recording;
	if (record->kind == GP_LAUNCH)
		return gp_recording_kernel_name(recording, record->launch.kernel);
	if (r->to[record->kind][FIELDS - 1] == TO_NAME || record->kind == GP_CAPTURE_ERROR)
		return gp_recording_text(recording, GP_RANGE_NAME, record->aux);
	return NULL;
}

/* 0 of ALLOC.stream and the like is the default stream. */
static void event_values(const struct event_rows *r, const struct gp_record *record,
			 uint64_t value[FIELD_TOS], bool has[FIELD_TOS])
{
	for (unsigned k = 0; k < FIELDS; k++) {
		const unsigned to = r->to[record->kind][k];
		value[to] = k < 4 ? record->v[k] : record->aux;
		has[to] = true;
	}
}

static void event_write(struct event_rows *r, const struct gp_event *event)
{
	const struct gp_record *record = &event->record;
	struct gp_rows *rows = r->rows;
	uint64_t value[FIELD_TOS];
	bool has[FIELD_TOS] = { false };
	const uint32_t stack = gp_table_stacks_find(r->stacks, record->stack, event->at_ns);
	event_values(r, record, value, has);
	const int64_t took_ns =
		has[TO_TOOK] || is_timed(record) ?
			event_took_ns(r, record, has[TO_TOOK] ? value[TO_TOOK] : 0) :
			-1;
	if (record->kind == GP_BLOCK_EXISTING)
		value[TO_SPARE] &= ~(uint64_t)GP_FOUND_PENDING;
	const bool is_requested = has[TO_SPARE] && has[TO_BYTES] && value[TO_SPARE] &&
				  value[TO_SPARE] - 1 <= value[TO_BYTES];
	gp_row_begin(rows, GP_TABLE_events);
	gp_row_number(rows, record->order);
	gp_row_signed(rows, event->at_ns);
	gp_row_number(rows, event->thread);
	gp_row_text(rows, gp_event_infos[record->kind].name);
	gp_row_number_if(rows, record->device < GP_DEVICES, record->device);
	gp_row_text(rows, record->space && record->space < GP_SPACES ?
				  gp_space_names[record->space] :
				  NULL);
	gp_row_number_if(rows, has[TO_ADDRESS], value[TO_ADDRESS]);
	gp_row_number_if(rows, has[TO_BYTES], value[TO_BYTES]);
	gp_row_number_if(rows, is_requested, value[TO_BYTES] - (value[TO_SPARE] - 1));
	gp_row_number_if(rows, has[TO_ALLOCATED], value[TO_ALLOCATED]);
	gp_row_number_if(rows, has[TO_RESERVED], value[TO_RESERVED]);
	gp_row_number_if(rows, has[TO_STREAM], value[TO_STREAM]);
	gp_row_number_if(rows, has[TO_HANDLE], value[TO_HANDLE]);
	gp_row_signed_if(rows, took_ns >= 0, took_ns);
	gp_row_number(rows, is_timed(record) ? 0 : record->code);
	gp_row_number_if(rows, stack != 0, stack);
	gp_row_text(rows, event_name(r, event));
	gp_row_text(rows, event_detail(r, record));
	gp_row_end(rows);
}

/* ---- threads and peaks ---- */

static void thread_see(struct event_rows *r, const struct gp_event *event)
{
	struct gp_pickle_row *row = gp_pickle_row_get(&r->threads, event->thread, event->tid, NULL);
	if (!row)
		r->rows->status = GP_E_MEMORY;
	else
		row->memo++;
}

static void threads_write(struct event_rows *r)
{
	struct gp_rows *rows = r->rows;
	for (size_t k = 0; k < r->threads.places; k++) {
		const struct gp_pickle_row *row = &r->threads.row[k];
		if (!row->is_there || !gp_rows_want(rows, GP_TABLE_threads))
			continue;
		const uint64_t key = GP_OBJECT_KEY(GP_OBJECT_THREAD, row->more);
		gp_row_begin(rows, GP_TABLE_threads);
		gp_row_number(rows, row->key);
		gp_row_number_if(rows, row->more != 0, row->more);
		gp_row_text(rows, gp_recording_text(r->e->recording, GP_OBJECT_NAME, key));
		gp_row_number(rows, row->memo);
		gp_row_end(rows);
	}
}

static void peak_see(struct event_rows *r, const struct gp_event *event)
{
	const struct gp_record *record = &event->record;
	uint64_t now[GP_CURVES];
	if (record->device >= GP_DEVICES ||
	    !gp_recording_curves_now(r->e->recording, record->device, now))
		return;
	for (unsigned k = 0; k < GP_CURVES; k++) {
		struct event_peak *peak = &r->peak[record->device][k];
		if (now[k] > peak->bytes)
			*peak = (struct event_peak){ now[k], record->order, event->at_ns, true };
	}
}

static void peak_write(struct event_rows *r, const struct gp_timeline_device *d, unsigned of)
{
	struct gp_rows *rows = r->rows;
	const bool has_kept = d->device < GP_DEVICES;
	const struct event_peak none = { 0 };
	const struct event_peak *kept = has_kept ? &r->peak[d->device][of] : &none;
	gp_row_begin(rows, GP_TABLE_peaks);
	gp_row_device(rows, d->device);
	gp_row_text(rows, has_kept ? gp_curve_keys[of] : "pinned");
	gp_row_number(rows, d->peak_bytes[of]);
	gp_row_signed(rows, d->peak_at_ns[of]);
	gp_row_number_if(rows, kept->is_there, kept->bytes);
	gp_row_signed_if(rows, kept->is_there, kept->at_ns);
	gp_row_number_if(rows, kept->is_there, kept->order);
	gp_row_end(rows);
}

/* One replay more, for peaks before the kept events. */
static void peaks_write(struct event_rows *r)
{
	struct gp_timeline timeline = { 0 };
	const struct gp_export *e = r->e;
	const bool is_all = e->from_ns == INT64_MIN && e->to_ns == INT64_MAX;
	if (!gp_rows_want(r->rows, GP_TABLE_peaks))
		return;
	r->rows->status =
		gp_timeline_build(e->recording, 16, is_all ? 0 : e->from_ns, e->to_ns, &timeline);
	for (size_t k = 0; k < timeline.devices; k++)
		for (unsigned of = 0; of < GP_CURVES; of++)
			if (gp_export_has(e, timeline.device[k].device))
				peak_write(r, &timeline.device[k], of);
	if (timeline.host && e->device == GP_DEVICE_UNKNOWN)
		peak_write(r, timeline.host, GP_HOST_PINNED);
	gp_timeline_free(&timeline);
}

/* ---- the replay ---- */

static bool event_is_exported(const struct gp_export *e, const struct gp_event *event)
{
	const struct gp_record *record = &event->record;
	if (event->at_ns < e->from_ns || event->at_ns > e->to_ns)
		return false;
	return e->device == GP_DEVICE_UNKNOWN || record->device == e->device;
}

void gp_table_events_write(struct gp_export *e, struct gp_rows *rows,
			   struct gp_table_stacks *stacks)
{
	struct event_rows *r;
	struct gp_event event;
	if (!gp_rows_want(rows, GP_TABLE_events) && !gp_rows_want(rows, GP_TABLE_threads) &&
	    !gp_rows_want(rows, GP_TABLE_peaks))
		return;
	r = calloc(1, sizeof *r);
	rows->status = r ? gp_recording_rewind(e->recording) : GP_E_MEMORY;
	if (rows->status) {
		free(r);
		return;
	}
	r->e = e;
	r->rows = rows;
	r->stacks = stacks;
	places_find(r);
	enum gp_status status = GP_OK;
	while (!rows->status && (status = gp_recording_next(e->recording, &event)) == GP_OK) {
		if (event.record.kind >= GP_KINDS || !gp_is_happening(event.record.kind) ||
		    !event_is_exported(e, &event))
			continue;
		peak_see(r, &event);
		thread_see(r, &event);
		if (gp_rows_want(rows, GP_TABLE_events))
			event_write(r, &event);
	}
	if (!rows->status && status != GP_END)
		rows->status = status;
	threads_write(r);
	peaks_write(r);
	gp_pickle_rows_release(&r->threads);
	free(r);
}
