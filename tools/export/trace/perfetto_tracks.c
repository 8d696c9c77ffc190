/*
 * Tracks of a recording: below its process a group for each GPU, which has its curves, allocations
 * and streams; threads with calls and ranges; and one for marks.
 */
#include "perfetto_packets.h"
#include "trace_process.h"

/* Bits 32 to 39 of a uuid; below them the number. */
enum track_kind {
	TRACKS_OTHER = 0, /* 1: the process */
	TRACKS_GPU = 1,
	TRACKS_COUNTER = 2,
	TRACKS_MEMORY = 3,
	TRACKS_THREAD = 4,
	TRACKS_STREAM = 5, /* number << 6 | lane; likewise those below */
	TRACKS_RANGE = 6,
	TRACKS_STARTED = 7,
};
enum { PROCESS = 1, MARKS = 2, STEPS = 3, UNCERTAIN = 4 };

static uint64_t uuid_of(const struct gp_perfetto *p, enum track_kind kind, uint64_t number)
{
	return p->base | (uint64_t)kind << 32 | (number & UINT32_MAX);
}

static size_t track_begin(struct gp_perfetto *p, size_t *packet, uint64_t uuid, uint64_t parent,
			  const char *name)
{
	gp_protobuf_flush(&p->out, false);
	*packet = gp_protobuf_begin(&p->out, TRACE_PACKET);
	const size_t track = gp_protobuf_begin(&p->out, PACKET_TRACK_DESCRIPTOR);
	gp_protobuf_number(&p->out, TRACK_UUID, uuid);
	gp_protobuf_number(&p->out, TRACK_PARENT, parent);
	if (name)
		gp_protobuf_text(&p->out, TRACK_NAME, name, strlen(name));
	return track;
}

static void track_end(struct gp_perfetto *p, size_t packet, size_t track)
{
	gp_protobuf_end(&p->out, track);
	gp_perfetto_packet_end(p, packet);
}

static void put_track(struct gp_perfetto *p, uint64_t uuid, uint64_t parent, const char *name)
{
	size_t packet;
	const size_t track = track_begin(p, &packet, uuid, parent, name);
	track_end(p, packet, track);
}

/* False: it is described in this piece already. */
static bool track_is_new(struct gp_perfetto *p, uint64_t uuid)
{
	struct gp_pickle_row *row = gp_pickle_row_get(&p->tracks, uuid, 0, NULL);
	if (!row) {
		p->trace->is_out_of_memory = true;
		return false;
	}
	if (row->memo)
		return false;
	row->memo = 1;
	return true;
}

static uint64_t process_track(const struct gp_perfetto *p)
{
	return uuid_of(p, TRACKS_OTHER, PROCESS);
}

static uint64_t gpu_track(struct gp_perfetto *p, unsigned device)
{
	const struct gp_info *info = p->trace->e->info;
	const uint64_t uuid = uuid_of(p, TRACKS_GPU, device);
	char name[128];
	if (!track_is_new(p, uuid))
		return uuid;
	snprintf(name, sizeof name, "GPU %u", device);
	for (size_t k = 0; k < info->devices; k++)
		if (info->device[k].device == device && info->device[k].name)
			snprintf(name, sizeof name, "GPU %u (%s)", device, info->device[k].name);
	if (device == GP_TRACE_HOST)
		snprintf(name, sizeof name, "host memory");
	put_track(p, uuid, process_track(p), name);
	return uuid;
}

uint64_t gp_perfetto_counter_track(struct gp_perfetto *p, unsigned device, unsigned curve)
{
	static const char *const names[] = { [GP_CURVE_DRIVER] = "driver",
					     [GP_CURVE_RESERVED] = "reserved",
					     [GP_CURVE_ALLOCATED] = "allocated" };
	static const char *const host_names[] = {
		[GP_HOST_PINNED] = "pinned", [GP_HOST_REGISTERED] = "registered"
	};
	const uint64_t uuid = uuid_of(p, TRACKS_COUNTER, device * GP_CURVES + curve);
	char text[64];
	size_t packet;
	if (p->has_counter[device][curve])
		return uuid;
	p->has_counter[device][curve] = true;
	const bool is_host = device == GP_TRACE_HOST;
	const uint64_t parent = gpu_track(p, device);
	snprintf(text, sizeof text, "%s%u %s", is_host ? "host" : "GPU ", is_host ? 0 : device,
		 is_host ? host_names[curve] : names[curve]);
	if (is_host)
		snprintf(text, sizeof text, "host %s", host_names[curve]);
	const size_t track = track_begin(p, &packet, uuid, parent, text);
	const size_t counter = gp_protobuf_begin(&p->out, TRACK_COUNTER);
	gp_protobuf_number(&p->out, COUNTER_UNIT, UNIT_SIZE_BYTES);
	snprintf(text, sizeof text, is_host ? "host" : "gpu%u", device);
	gp_protobuf_text(&p->out, COUNTER_SHARE_KEY, text, strlen(text));
	gp_protobuf_end(&p->out, counter);
	track_end(p, packet, track);
	return uuid;
}

uint64_t gp_perfetto_memory_track(struct gp_perfetto *p, const struct gp_trace_memory *m)
{
	static const char *const names[GP_TRACE_OFS][2] = {
		[GP_TRACE_BLOCKS] = { "allocations", "frees" },
		[GP_TRACE_DRIVER] = { "driver allocations", "driver frees" },
		[GP_TRACE_PINNED] = { "pinned allocations", "pinned frees" },
	};
	const uint64_t uuid =
		uuid_of(p, TRACKS_MEMORY, m->device * 8u + m->of * 2u + (unsigned)m->is_free);
	if (p->has_memory[m->device][m->of][m->is_free])
		return uuid;
	p->has_memory[m->device][m->of][m->is_free] = true;
	put_track(p, uuid, gpu_track(p, m->device), names[m->of][m->is_free]);
	return uuid;
}

uint64_t gp_perfetto_thread_track(struct gp_perfetto *p, uint32_t thread)
{
	struct gp_trace *t = p->trace;
	const uint32_t index = gp_trace_thread(t, thread);
	const uint64_t uuid = uuid_of(p, TRACKS_THREAD, index);
	char name[256];
	size_t packet;
	if (t->is_out_of_memory || t->thread[index].piece == p->piece)
		return uuid;
	t->thread[index].piece = p->piece;
	const uint32_t tid = gp_recording_tid(t->e->recording, thread);
	gp_trace_thread_name(t->e->recording, thread, tid, name, sizeof name);
	if (!tid) {
		put_track(p, uuid, process_track(p), name);
		return uuid;
	}
	const size_t track = track_begin(p, &packet, uuid, process_track(p), NULL);
	const size_t of = gp_protobuf_begin(&p->out, TRACK_THREAD);
	gp_protobuf_number(&p->out, THREAD_PID, p->pid + p->tid_offset);
	gp_protobuf_number(&p->out, THREAD_TID, tid + p->tid_offset);
	gp_protobuf_text(&p->out, THREAD_NAME, name, strlen(name));
	gp_protobuf_end(&p->out, of);
	track_end(p, packet, track);
	return uuid;
}

static uint64_t other_track(struct gp_perfetto *p, uint64_t number, const char *name)
{
	const uint64_t uuid = uuid_of(p, TRACKS_OTHER, number);
	if (track_is_new(p, uuid))
		put_track(p, uuid, process_track(p), name);
	return uuid;
}

uint64_t gp_perfetto_mark_track(struct gp_perfetto *p)
{
	return other_track(p, MARKS, "marks");
}

static uint64_t range_track(struct gp_perfetto *p, const struct gp_trace_span *span)
{
	const bool is_started = span->of == GP_TRACE_STARTED;
	const uint64_t thread = gp_perfetto_thread_track(p, span->place);
	const uint64_t number = (uint64_t)gp_trace_thread(p->trace, span->place) << 6 | span->lane;
	const uint64_t uuid = uuid_of(p, is_started ? TRACKS_STARTED : TRACKS_RANGE, number);
	if (!is_started && span->lane == 0)
		return thread;
	if (track_is_new(p, uuid))
		put_track(p, uuid, thread, is_started ? "started ranges" : "overlapping ranges");
	return uuid;
}

static uint64_t stream_track(struct gp_perfetto *p, const struct gp_trace_span *span)
{
	const struct gp_trace_stream *s = &p->trace->stream[span->place];
	const uint64_t uuid = uuid_of(p, TRACKS_STREAM, (uint64_t)span->place << 6 | span->lane);
	char name[64];
	if (!track_is_new(p, uuid))
		return uuid;
	snprintf(name, sizeof name, "stream %u (context %u)%s", s->stream, s->context,
		 span->lane ? ", beside it" : "");
	put_track(p, uuid, gpu_track(p, s->device < GP_DEVICES ? s->device : 0), name);
	return uuid;
}

uint64_t gp_perfetto_span_track(struct gp_perfetto *p, const struct gp_trace_span *span)
{
	switch (span->of) {
	case GP_TRACE_OPERATION:
		return stream_track(p, span);
	case GP_TRACE_STEP:
		return other_track(p, STEPS, "steps");
	case GP_TRACE_UNCERTAIN:
		return other_track(p, UNCERTAIN, "uncertain");
	default:
		return range_track(p, span);
	}
}
