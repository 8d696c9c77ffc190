/*
 * Packets of a Perfetto trace: numbers of fields, tracks and interned texts. All timestamps are
 * nanoseconds of the time of day, as the trace's clock BOOTTIME.
 */
#ifndef GP_PERFETTO_PACKETS_H
#define GP_PERFETTO_PACKETS_H

#include "../write/protobuf.h"
#include "trace.h"

/* Fields, as perfetto's .proto files number them. */
enum {
	TRACE_PACKET = 1,
	PACKET_CLOCK_SNAPSHOT = 6,
	PACKET_TIMESTAMP = 8,
	PACKET_SEQUENCE = 10,
	PACKET_TRACK_EVENT = 11,
	PACKET_INTERNED = 12,
	PACKET_FLAGS = 13,
	PACKET_TRACK_DESCRIPTOR = 60,
	PACKET_MACHINE = 98,
	FLAG_CLEARED = 1,
	FLAG_NEEDS_STATE = 2,

	EVENT_CATEGORY = 3,
	EVENT_NOTE = 4,
	EVENT_TYPE = 9,
	EVENT_NAME = 10,
	EVENT_TRACK = 11,
	EVENT_NAME_TEXT = 23, /* in place of EVENT_NAME: not interned */
	EVENT_COUNTER_VALUE = 30,
	EVENT_FLOW = 47,
	EVENT_TERMINATING_FLOW = 48,
	EVENT_CALLSTACK = 56,
	EVENT_CALLSTACK_WEIGHT = 57,
	TYPE_SLICE_BEGIN = 1,
	TYPE_SLICE_END = 2,
	TYPE_INSTANT = 3,
	TYPE_COUNTER = 4,

	NOTE_NAME = 1,
	NOTE_UINT = 3,
	NOTE_TEXT = 6,
	NOTE_POINTER = 7,

	TRACK_UUID = 1,
	TRACK_NAME = 2,
	TRACK_PROCESS = 3,
	TRACK_THREAD = 4,
	TRACK_PARENT = 5,
	TRACK_COUNTER = 8,
	COUNTER_UNIT = 3,
	COUNTER_SHARE_KEY = 7,
	UNIT_SIZE_BYTES = 3,
	PROCESS_PID = 1,
	PROCESS_COMMAND = 2,
	PROCESS_NAME = 6,
	THREAD_PID = 1,
	THREAD_TID = 2,
	THREAD_NAME = 5,

	INTERNED_CATEGORIES = 1,
	INTERNED_NAMES = 2,
	INTERNED_NOTES = 3,
	INTERNED_FUNCTIONS = 5,
	INTERNED_FRAMES = 6,
	INTERNED_CALLSTACKS = 7,
	INTERNED_FILES = 18,
	ENTRY_IID = 1,
	ENTRY_TEXT = 2,
	FRAME_FUNCTION = 2,
	FRAME_FILE = 5,
	FRAME_LINE = 6,
	CALLSTACK_FRAMES = 2,
};

enum gp_perfetto_category {
	CATEGORY_MEMORY = 1,
	CATEGORY_LAUNCH,
	CATEGORY_COPY,
	CATEGORY_WAIT,
	CATEGORY_MARK,
	CATEGORY_RANGE,
	CATEGORY_STEP,
	CATEGORY_OPERATION, /* and the two after it, by enum gp_gpu_kind */
	CATEGORIES = CATEGORY_OPERATION + 3,
};

enum gp_perfetto_note {
	NOTE_BYTES = 1,
	NOTE_ADDRESS,
	NOTE_THREAD,
	NOTE_GRID_X,
	NOTE_GRID_Y,
	NOTE_GRID_Z,
	NOTE_BLOCK_X,
	NOTE_BLOCK_Y,
	NOTE_BLOCK_Z,
	NOTE_SHARED,
	NOTE_REGISTERS,
	NOTE_CAPTURED,
	NOTE_STREAM,
	NOTE_CORRELATION,
	NOTE_DEVICE,
	NOTE_CODE,
	NOTE_LOST_MEMORY,
	NOTE_LOST_LAUNCHES,
	NOTE_LOST_OTHER,
	NOTE_CONTINUED,
	NOTE_SOURCE,
	NOTES,
};

/* The hosts and process numbers of all recordings of a command. */
#define GP_PERFETTO_HOSTS 256u
struct gp_perfetto_hosts {
	unsigned hosts, recordings;
	char host[GP_PERFETTO_HOSTS][40];
	struct {
		unsigned host, pid;
	} taken[GP_PERFETTO_HOSTS];
	int64_t start_unix_ns; /* of the first recording */
};

struct gp_perfetto {
	struct gp_trace *trace;
	struct gp_protobuf out;
	uint64_t base;	 /* upper bits of uuids and flows */
	int64_t zero_ns; /* timestamp of the recording's start */
	uint32_t sequence, machine, pid, tid_offset;
	char name[256];
	unsigned char tail[32]; /* of each packet: sequence, flags, machine */
	size_t tail_bytes;
	unsigned piece; /* from 1 */
	uint64_t iids;
	struct gp_pickle_rows texts, kernels, stacks, frames, functions, files, tracks;
	uint64_t *operation_name; /* by function; 0: not interned in this piece */
	uint64_t kind_name[GP_KINDS];
	bool has_counter[GP_DEVICES + 1][GP_CURVES];
	bool has_memory[GP_DEVICES + 1][GP_TRACE_OFS][2];
	struct gp_frame frame[GP_FRAMES_MAX];
};

bool gp_perfetto_open(struct gp_perfetto *p, struct gp_trace *t, struct gp_export *e,
		      struct gp_perfetto_hosts *hosts);
void gp_perfetto_close(struct gp_perfetto *p);
/* Begins a piece: clock, process and texts that are always there. */
void gp_perfetto_begin(struct gp_perfetto *p);

/* Begins a packet with a timestamp. Texts and tracks that it needs must be there already. */
size_t gp_perfetto_packet(struct gp_perfetto *p, int64_t at_ns);
void gp_perfetto_packet_end(struct gp_perfetto *p, size_t packet);
/* Begins its TrackEvent. */
size_t gp_perfetto_event(struct gp_perfetto *p, unsigned type, uint64_t track, unsigned category);
void gp_perfetto_slice_end(struct gp_perfetto *p, int64_t at_ns, uint64_t track);
void gp_perfetto_note(struct gp_perfetto *p, enum gp_perfetto_note note, uint64_t value);
void gp_perfetto_note_pointer(struct gp_perfetto *p, enum gp_perfetto_note note, uint64_t value);
void gp_perfetto_note_text(struct gp_perfetto *p, enum gp_perfetto_note note, const char *text);

/* The uuid of a track, described in this piece. */
uint64_t gp_perfetto_counter_track(struct gp_perfetto *p, unsigned device, unsigned curve);
uint64_t gp_perfetto_memory_track(struct gp_perfetto *p, const struct gp_trace_memory *m);
uint64_t gp_perfetto_thread_track(struct gp_perfetto *p, uint32_t thread);
uint64_t gp_perfetto_mark_track(struct gp_perfetto *p);
uint64_t gp_perfetto_span_track(struct gp_perfetto *p, const struct gp_trace_span *span);

/* The iid of a text, interned in this piece. */
uint64_t gp_perfetto_name(struct gp_perfetto *p, const char *text);
uint64_t gp_perfetto_kind_name(struct gp_perfetto *p, unsigned kind);
uint64_t gp_perfetto_kernel(struct gp_perfetto *p, uint64_t handle);
uint64_t gp_perfetto_operation(struct gp_perfetto *p, const struct gp_gpu_operation *op);
/* 0: none */
uint64_t gp_perfetto_stack(struct gp_perfetto *p, uint32_t stack, int64_t at_ns);

#endif
