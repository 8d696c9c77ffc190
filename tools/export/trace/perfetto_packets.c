/* Packets and what each piece begins with. */
#include "perfetto_packets.h"

#include <stdlib.h>

#include "trace_process.h"

static const char *const category_names[CATEGORIES] = {
	[CATEGORY_MEMORY] = "memory",
	[CATEGORY_LAUNCH] = "launch",
	[CATEGORY_COPY] = "copy",
	[CATEGORY_WAIT] = "wait",
	[CATEGORY_MARK] = "mark",
	[CATEGORY_RANGE] = "range",
	[CATEGORY_STEP] = "step",
	[CATEGORY_OPERATION] = "kernel",
	[CATEGORY_OPERATION + 1] = "gpu_memcpy",
	[CATEGORY_OPERATION + 2] = "gpu_memset",
};
static const char *const note_names[NOTES] = {
	[NOTE_BYTES] = "bytes",
	[NOTE_ADDRESS] = "address",
	[NOTE_THREAD] = "tid",
	[NOTE_GRID_X] = "grid_x",
	[NOTE_GRID_Y] = "grid_y",
	[NOTE_GRID_Z] = "grid_z",
	[NOTE_BLOCK_X] = "block_x",
	[NOTE_BLOCK_Y] = "block_y",
	[NOTE_BLOCK_Z] = "block_z",
	[NOTE_SHARED] = "shared_bytes",
	[NOTE_REGISTERS] = "registers",
	[NOTE_CAPTURED] = "captured",
	[NOTE_STREAM] = "stream",
	[NOTE_CORRELATION] = "correlation",
	[NOTE_DEVICE] = "device",
	[NOTE_CODE] = "code",
	[NOTE_LOST_MEMORY] = "lost_memory_events",
	[NOTE_LOST_LAUNCHES] = "lost_launches",
	[NOTE_LOST_OTHER] = "lost_other_events",
	[NOTE_CONTINUED] = "continued",
	[NOTE_SOURCE] = "source",
};

/* ---- the process ---- */

static unsigned host_of(struct gp_perfetto_hosts *hosts, const struct gp_info *info)
{
	const char *id = info->boot_id[0] ? info->boot_id : info->hostname;
	char text[sizeof hosts->host[0]];
	snprintf(text, sizeof text, "%s", id);
	for (unsigned k = 0; k < hosts->hosts; k++)
		if (strcmp(hosts->host[k], text) == 0)
			return k;
	if (hosts->hosts == GP_PERFETTO_HOSTS)
		return GP_PERFETTO_HOSTS - 1;
	snprintf(hosts->host[hosts->hosts], sizeof text, "%s", text);
	return hosts->hosts++;
}

/*
 * Processes of several containers of a host may have one number. Then the later ones get another
 * one, above all that Linux gives.
 */
static uint32_t pid_offset(struct gp_perfetto_hosts *hosts, unsigned host, unsigned pid)
{
	uint32_t offset = 0;
	for (unsigned k = 0; k < hosts->recordings && k < GP_PERFETTO_HOSTS; k++)
		if (hosts->taken[k].host == host && hosts->taken[k].pid == pid)
			offset = (hosts->recordings % 256 + 1) << 22;
	if (hosts->recordings < GP_PERFETTO_HOSTS) {
		hosts->taken[hosts->recordings].host = host;
		hosts->taken[hosts->recordings].pid = pid;
	}
	hosts->recordings++;
	return offset;
}

bool gp_perfetto_open(struct gp_perfetto *p, struct gp_trace *t, struct gp_export *e,
		      struct gp_perfetto_hosts *hosts)
{
	const struct gp_info *info = e->info;
	if (!gp_protobuf_init(&p->out, e->out))
		return false;
	if (e->number == 0)
		*hosts = (struct gp_perfetto_hosts){
			.start_unix_ns = (int64_t)info->start_unix_ns,
		};
	const unsigned host = host_of(hosts, info);
	p->trace = t;
	p->base = (uint64_t)(e->number + 1) << 40;
	p->sequence = e->number + 1;
	p->machine = host;
	p->pid = info->pid;
	p->tid_offset = pid_offset(hosts, host, info->pid);
	p->zero_ns = hosts->start_unix_ns + e->apart_ns;
	gp_trace_process_name(e, host, p->name, sizeof p->name);
	return true;
}

static void forget_piece(struct gp_perfetto *p)
{
	gp_pickle_rows_release(&p->texts);
	gp_pickle_rows_release(&p->kernels);
	gp_pickle_rows_release(&p->stacks);
	gp_pickle_rows_release(&p->frames);
	gp_pickle_rows_release(&p->functions);
	gp_pickle_rows_release(&p->files);
	gp_pickle_rows_release(&p->tracks);
	free(p->operation_name);
	p->operation_name = NULL;
	memset(p->kind_name, 0, sizeof p->kind_name);
	memset(p->has_counter, 0, sizeof p->has_counter);
	memset(p->has_memory, 0, sizeof p->has_memory);
}

void gp_perfetto_close(struct gp_perfetto *p)
{
	forget_piece(p);
	gp_protobuf_release(&p->out);
}

/* ---- packets ---- */

static void tail_make(struct gp_perfetto *p, unsigned flags)
{
	unsigned char *own = p->out.bytes;
	const size_t used = p->out.used;
	gp_protobuf_reserve(&p->out, sizeof p->tail);
	gp_protobuf_number(&p->out, PACKET_SEQUENCE, p->sequence);
	gp_protobuf_number(&p->out, PACKET_FLAGS, flags);
	if (p->machine)
		gp_protobuf_number(&p->out, PACKET_MACHINE, p->machine);
	own = p->out.bytes;
	p->tail_bytes = p->out.used - used;
	memcpy(p->tail, own + used, p->tail_bytes);
	p->out.used = used;
}

static size_t packet_begin(struct gp_perfetto *p)
{
	gp_protobuf_flush(&p->out, false);
	gp_protobuf_reserve(&p->out, 256);
	return gp_protobuf_begin(&p->out, TRACE_PACKET);
}

size_t gp_perfetto_packet(struct gp_perfetto *p, int64_t at_ns)
{
	const size_t packet = packet_begin(p);
	const int64_t timestamp = p->zero_ns + at_ns;
	gp_protobuf_number(&p->out, PACKET_TIMESTAMP, timestamp > 0 ? (uint64_t)timestamp : 0);
	return packet;
}

void gp_perfetto_packet_end(struct gp_perfetto *p, size_t packet)
{
	if (gp_protobuf_reserve(&p->out, sizeof p->tail)) {
		memcpy(p->out.bytes + p->out.used, p->tail, p->tail_bytes);
		p->out.used += p->tail_bytes;
	}
	gp_protobuf_end(&p->out, packet);
}

size_t gp_perfetto_event(struct gp_perfetto *p, unsigned type, uint64_t track, unsigned category)
{
	const size_t event = gp_protobuf_begin(&p->out, PACKET_TRACK_EVENT);
	gp_protobuf_number(&p->out, EVENT_TYPE, type);
	gp_protobuf_number(&p->out, EVENT_TRACK, track);
	gp_protobuf_number(&p->out, EVENT_CATEGORY, category);
	return event;
}

void gp_perfetto_slice_end(struct gp_perfetto *p, int64_t at_ns, uint64_t track)
{
	const size_t packet = gp_perfetto_packet(p, at_ns);
	const size_t event = gp_protobuf_begin(&p->out, PACKET_TRACK_EVENT);
	gp_protobuf_number(&p->out, EVENT_TYPE, TYPE_SLICE_END);
	gp_protobuf_number(&p->out, EVENT_TRACK, track);
	gp_protobuf_end(&p->out, event);
	gp_perfetto_packet_end(p, packet);
}

void gp_perfetto_note(struct gp_perfetto *p, enum gp_perfetto_note note, uint64_t value)
{
	const size_t begin = gp_protobuf_begin(&p->out, EVENT_NOTE);
	gp_protobuf_number(&p->out, NOTE_NAME, note);
	gp_protobuf_number(&p->out, NOTE_UINT, value);
	gp_protobuf_end(&p->out, begin);
}

void gp_perfetto_note_pointer(struct gp_perfetto *p, enum gp_perfetto_note note, uint64_t value)
{
	const size_t begin = gp_protobuf_begin(&p->out, EVENT_NOTE);
	gp_protobuf_number(&p->out, NOTE_NAME, note);
	gp_protobuf_number(&p->out, NOTE_POINTER, value);
	gp_protobuf_end(&p->out, begin);
}

void gp_perfetto_note_text(struct gp_perfetto *p, enum gp_perfetto_note note, const char *text)
{
	const size_t begin = gp_protobuf_begin(&p->out, EVENT_NOTE);
	gp_protobuf_number(&p->out, NOTE_NAME, note);
	if (text)
		gp_protobuf_text(&p->out, NOTE_TEXT, text, strlen(text));
	gp_protobuf_end(&p->out, begin);
}

/* ---- the beginning of a piece ---- */

static void put_clock(struct gp_perfetto *p, unsigned clock, uint64_t at)
{
	const size_t begin = gp_protobuf_begin(&p->out, 1);
	gp_protobuf_number(&p->out, 1, clock);
	gp_protobuf_number(&p->out, 2, at);
	gp_protobuf_end(&p->out, begin);
}

/* The trace's clock is the time of day: viewers can show it. */
static void put_clocks(struct gp_perfetto *p)
{
	const uint64_t at = p->zero_ns > 0 ? (uint64_t)p->zero_ns : 0;
	const size_t packet = gp_perfetto_packet(p, 0);
	const size_t snapshot = gp_protobuf_begin(&p->out, PACKET_CLOCK_SNAPSHOT);
	put_clock(p, 6, at); /* BOOTTIME */
	put_clock(p, 1, at); /* REALTIME */
	gp_protobuf_end(&p->out, snapshot);
	gp_perfetto_packet_end(p, packet);
}

static void put_entry(struct gp_perfetto *p, unsigned field, uint64_t iid, const char *text)
{
	const size_t begin = gp_protobuf_begin(&p->out, field);
	gp_protobuf_number(&p->out, ENTRY_IID, iid);
	gp_protobuf_text(&p->out, ENTRY_TEXT, text, strlen(text));
	gp_protobuf_end(&p->out, begin);
}

static void put_process(struct gp_perfetto *p)
{
	const struct gp_info *info = p->trace->e->info;
	const size_t packet = packet_begin(p);
	const size_t track = gp_protobuf_begin(&p->out, PACKET_TRACK_DESCRIPTOR);
	gp_protobuf_number(&p->out, TRACK_UUID, p->base | 1);
	const size_t process = gp_protobuf_begin(&p->out, TRACK_PROCESS);
	gp_protobuf_number(&p->out, PROCESS_PID, p->pid + p->tid_offset);
	if (info->command)
		gp_protobuf_text(&p->out, PROCESS_COMMAND, info->command, strlen(info->command));
	gp_protobuf_text(&p->out, PROCESS_NAME, p->name, strlen(p->name));
	gp_protobuf_end(&p->out, process);
	gp_protobuf_end(&p->out, track);
	gp_perfetto_packet_end(p, packet);
}

void gp_perfetto_begin(struct gp_perfetto *p)
{
	p->out.out = p->trace->e->out;
	p->out.written = 0;
	p->piece++;
	forget_piece(p);
	tail_make(p, FLAG_CLEARED);
	put_clocks(p);
	tail_make(p, FLAG_NEEDS_STATE);
	const size_t packet = packet_begin(p);
	const size_t interned = gp_protobuf_begin(&p->out, PACKET_INTERNED);
	for (unsigned k = 1; k < CATEGORIES; k++)
		put_entry(p, INTERNED_CATEGORIES, k, category_names[k]);
	for (unsigned k = 1; k < NOTES; k++)
		put_entry(p, INTERNED_NOTES, k, note_names[k]);
	gp_protobuf_end(&p->out, interned);
	gp_perfetto_packet_end(p, packet);
	put_process(p);
}

/* ---- texts ---- */

static void put_interned(struct gp_perfetto *p, unsigned field, uint64_t iid, const char *text)
{
	const size_t packet = packet_begin(p);
	const size_t interned = gp_protobuf_begin(&p->out, PACKET_INTERNED);
	put_entry(p, field, iid, text);
	gp_protobuf_end(&p->out, interned);
	gp_perfetto_packet_end(p, packet);
}

/* The row of a key; NULL: out of memory. */
static struct gp_pickle_row *row_get(struct gp_perfetto *p, struct gp_pickle_rows *rows,
				     uint64_t key, uint64_t more)
{
	struct gp_pickle_row *row = gp_pickle_row_get(rows, key, more, NULL);
	p->trace->is_out_of_memory |= !row;
	return row;
}

static uint64_t text_intern(struct gp_perfetto *p, struct gp_pickle_rows *rows, unsigned field,
			    const char *text)
{
	struct gp_pickle_row *row = gp_pickle_row_get(rows, gp_hash_text(text), 0, text);
	if (!row) {
		p->trace->is_out_of_memory = true;
		return 0;
	}
	if (!row->memo) {
		row->memo = (uint32_t)++p->iids;
		put_interned(p, field, row->memo, text);
	}
	return row->memo;
}

uint64_t gp_perfetto_name(struct gp_perfetto *p, const char *text)
{
	return text_intern(p, &p->texts, INTERNED_NAMES, text);
}

uint64_t gp_perfetto_kind_name(struct gp_perfetto *p, unsigned kind)
{
	if (!p->kind_name[kind])
		p->kind_name[kind] = gp_perfetto_name(p, gp_event_infos[kind].name);
	return p->kind_name[kind];
}

uint64_t gp_perfetto_kernel(struct gp_perfetto *p, uint64_t handle)
{
	char text[1024];
	const struct gp_gpu_function function = { .name = gp_recording_kernel_name(
							  p->trace->e->recording, handle) };
	struct gp_pickle_row *row = row_get(p, &p->kernels, (uintptr_t)function.name, 0);
	if (!row)
		return 0;
	if (!row->memo) {
		gp_gpu_function_name(&function, text, sizeof text);
		row->memo = (uint32_t)gp_perfetto_name(p, text);
	}
	return row->memo;
}

uint64_t gp_perfetto_operation(struct gp_perfetto *p, const struct gp_gpu_operation *op)
{
	char text[1024];
	const struct gp_gpu *gpu = &p->trace->gpu;
	const bool is_function = op->kind == GP_GPU_IS_KERNEL && op->function < gpu->functions;
	if (is_function && !p->operation_name)
		p->operation_name = calloc(gpu->functions, sizeof *p->operation_name);
	if (is_function && p->operation_name && p->operation_name[op->function])
		return p->operation_name[op->function];
	gp_trace_operation_name(p->trace, op, text, sizeof text);
	const uint64_t iid = gp_perfetto_name(p, text);
	if (is_function && p->operation_name)
		p->operation_name[op->function] = iid;
	return iid;
}

/* ---- stacks ---- */

static uint64_t frame_intern(struct gp_perfetto *p, const struct gp_frame *f)
{
	char label[640];
	const char *file = f->file ? f->file : f->module, *name = f->function;
	if (!name) {
		gp_frame_label(f, NULL, label, sizeof label);
		name = label;
	}
	const uint64_t function = text_intern(p, &p->functions, INTERNED_FUNCTIONS, name);
	const uint64_t path = file ? text_intern(p, &p->files, INTERNED_FILES, file) : 0;
	struct gp_pickle_row *row = row_get(p, &p->frames, function << 32 | path, f->line);
	if (!row || row->memo)
		return row ? row->memo : 0;
	row->memo = (uint32_t)++p->iids;
	const size_t packet = packet_begin(p);
	const size_t interned = gp_protobuf_begin(&p->out, PACKET_INTERNED);
	const size_t frame = gp_protobuf_begin(&p->out, INTERNED_FRAMES);
	gp_protobuf_number(&p->out, ENTRY_IID, row->memo);
	gp_protobuf_number(&p->out, FRAME_FUNCTION, function);
	if (path)
		gp_protobuf_number(&p->out, FRAME_FILE, path);
	if (f->line)
		gp_protobuf_number(&p->out, FRAME_LINE, f->line);
	gp_protobuf_end(&p->out, frame);
	gp_protobuf_end(&p->out, interned);
	gp_perfetto_packet_end(p, packet);
	return row->memo;
}

static uint64_t stack_intern(struct gp_perfetto *p, uint32_t stack, int64_t at_ns)
{
	static uint64_t frames[GP_FRAMES_MAX];
	struct gp_stack found;
	if (!gp_recording_stack(p->trace->e->recording, stack, at_ns, GP_STACK_FOLDED, &found,
				p->frame, GP_FRAMES_MAX) ||
	    !found.frames)
		return 0;
	for (size_t k = 0; k < found.frames; k++)
		frames[k] = frame_intern(p, &p->frame[k]);
	const uint64_t iid = ++p->iids;
	const size_t packet = packet_begin(p);
	const size_t interned = gp_protobuf_begin(&p->out, PACKET_INTERNED);
	const size_t entry = gp_protobuf_begin(&p->out, INTERNED_CALLSTACKS);
	gp_protobuf_number(&p->out, ENTRY_IID, iid);
	for (size_t k = found.frames; k-- > 0;) /* outermost first */
		gp_protobuf_number(&p->out, CALLSTACK_FRAMES, frames[k]);
	gp_protobuf_end(&p->out, entry);
	gp_protobuf_end(&p->out, interned);
	gp_perfetto_packet_end(p, packet);
	return iid;
}

uint64_t gp_perfetto_stack(struct gp_perfetto *p, uint32_t stack, int64_t at_ns)
{
	if (!stack || !p->trace->epochs)
		return 0;
	const uint64_t epoch = gp_stack_epoch(p->trace->epochs, at_ns);
	struct gp_pickle_row *row = row_get(p, &p->stacks, stack, epoch);
	if (!row)
		return 0;
	/* UINT32_MAX: it has no frames */
	if (!row->memo) {
		const uint64_t iid = stack_intern(p, stack, at_ns);
		row->memo = iid ? (uint32_t)iid : UINT32_MAX;
	}
	return row->memo == UINT32_MAX ? 0 : row->memo;
}
