/* A small recording, made by the codec. */
#include "small_recording.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define TICKS 1000000u

struct gp_record small_recording_event(uint64_t order)
{
	struct gp_record r = { .kind = order == 0 ? GP_ALLOC : GP_BLOCK_ALLOC,
			       .space = order == 0 ? GP_SPACE_DEVICE : GP_SPACE_NONE,
			       .order = order,
			       .time = TICKS + 640 * (order + 1),
			       .v = { 0x7f0000000000 + 512 * order, 512 } };
	if (order == 0) {
		r.v[1] = 1 << 21;
	} else {
		r.v[2] = 512 * order;
		r.v[3] = 1 << 21;
	}
	return r;
}

static uint64_t put_text(struct gp_record *at, struct gp_record record, const char *text)
{
	uint64_t bytes = strlen(text);
	record.extra = 1;
	record.time = TICKS;
	*at = record;
	memset(at + 1, 0, sizeof *at);
	memcpy(at + 1, &bytes, sizeof bytes);
	memcpy((char *)(at + 1) + sizeof bytes, text, bytes);
	return 2;
}

static size_t put_block(uint8_t *out, size_t room, struct gp_block_header header,
			const struct gp_record *record, uint64_t slots)
{
	static struct gp_block_scratch *scratch;
	size_t bytes = (gp_block_scratch_bytes() + 63) / 64 * 64, length = 0;
	if (!scratch)
		scratch = gp_block_scratch_init(aligned_alloc(64, bytes), bytes);
	if (!scratch ||
	    gp_block_encode(scratch, &header, record, 64, 0, slots, out, room, &length) != GP_OK)
		abort();
	return length;
}

size_t small_recording_make(uint8_t *out, size_t room, const char *ring_path)
{
	struct gp_file_header header = { .major = GP_FORMAT_MAJOR,
					 .minor = GP_FORMAT_MINOR,
					 .clock = GP_CLOCK_MONOTONIC_RAW,
					 .pid = SMALL_RECORDING_PID,
					 .start_ticks = TICKS,
					 .start_mono_ns = TICKS,
					 .start_unix_ns = 1700000000000000000,
					 .ticks_per_second = 1000000000,
					 .boot_id = SMALL_RECORDING_BOOT,
					 .hostname = "host",
					 .command = "python3 train.py" };
	struct gp_block_header block = { .type = GP_BLOCK_SEGMENT,
					 .thread = GP_THREAD_NONE,
					 .ticks = TICKS,
					 .mono_ns = TICKS,
					 .unix_ns = header.start_unix_ns };
	struct gp_record list[64];
	uint64_t slots = 0;
	size_t at = GP_FILE_HEADER;
	if (room < GP_FILE_HEADER + GP_BLOCK_HEADER)
		abort();
	snprintf(header.ring_path, sizeof header.ring_path, "%s", ring_path);
	memset(out, 0, GP_FILE_HEADER);
	gp_file_header_encode(&header, out);
	gp_block_header_encode(&block, out + at);
	at += GP_BLOCK_HEADER;
	slots += put_text(list + slots, (struct gp_record){ .kind = GP_GPU, .v = { 1 << 30 } },
			  "NVIDIA H200");
	slots += put_text(list + slots,
			  (struct gp_record){ .kind = GP_FACT, .aux = GP_FACT_PYTORCH }, "2.11.0");
	list[slots++] = (struct gp_record){
		.kind = GP_FACT, .time = TICKS, .aux = GP_FACT_DRIVER, .v = { 13000 }
	};
	block.type = GP_BLOCK_DEFINE;
	at += put_block(out + at, room - at, block, list, slots);
	for (uint64_t i = 0; i < SMALL_RECORDING_EVENTS; i++)
		list[i] = small_recording_event(i);
	block.type = GP_BLOCK_EVENTS;
	block.thread = SMALL_RECORDING_THREAD;
	return at + put_block(out + at, room - at, block, list, SMALL_RECORDING_EVENTS);
}
