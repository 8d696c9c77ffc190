/*
 * Writes a recording of one segment, event by event, without a check of the events. For
 * made_hostile.c.
 */
#ifndef HOSTILE_WRITER_H
#define HOSTILE_WRITER_H

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "format/layout.h"
#include "gpuprof.h"

#include "../unit/unpadded_block.h"

#define SLOTS 8192u
#define TEXT_SLOTS 64u
#define SECOND UINT64_C(1000000000)
#define START (1000 * SECOND)
#define HEAP UINT64_C(0x7f0000000000) /* first address */
#define TIB (UINT64_C(1) << 40)

static FILE *out;
static struct gp_file_header header = {
	.major = 1,
	.minor = GP_FORMAT_MINOR,
	.clock = GP_CLOCK_MONOTONIC_RAW,
	.pid = 1,
	.start_ticks = START,
	.start_mono_ns = START,
	.start_unix_ns = SECOND,
	.ticks_per_second = SECOND,
	.boot_id = "boot",
	.hostname = "host",
	.command = "python3 train.py",
};
static struct gp_block_scratch *scratch;
static unsigned char *block;
static struct gp_record record[SLOTS + TEXT_SLOTS];
static bool is_sealed, is_unpadded;
static uint64_t records, next_time = START, next_order;
static struct {
	uint32_t thread;
	uint64_t sequence;
} threads[2] = { { GP_THREAD_NONE, 0 }, { 1, 0 } };

static void write_bytes(const void *bytes, size_t n)
{
	if (fwrite(bytes, 1, n, out) != n)
		exit(1);
}

static void write_header(void)
{
	unsigned char bytes[GP_FILE_HEADER];
	gp_file_header_encode(&header, bytes);
	rewind(out);
	write_bytes(bytes, sizeof bytes);
	fseek(out, 0, SEEK_END);
}

static struct gp_block_header block_header(unsigned type, uint32_t thread)
{
	const uint32_t segment = header.names_offset != 0 ? GP_SEGMENT_NONE : 0;
	return (struct gp_block_header){ .type = (uint16_t)type,
					 .segment = segment,
					 .part = segment,
					 .thread = thread,
					 .ticks = next_time,
					 .mono_ns = next_time,
					 .unix_ns = SECOND };
}

static void write_plain(unsigned type, unsigned flags)
{
	unsigned char bytes[GP_BLOCK_HEADER];
	struct gp_block_header h = block_header(type, GP_THREAD_NONE);
	h.flags = (uint16_t)flags;
	gp_block_header_encode(&h, bytes);
	write_bytes(bytes, sizeof bytes);
}

/* Writes the added events as one block of that thread. Returns its bytes, which stay in `block`. */
static size_t write_block(unsigned type, uint32_t thread, uint64_t sequence)
{
	size_t length;
	struct gp_block_header h = block_header(type, thread);
	h.sequence = sequence;
	if (gp_block_encode(scratch, &h, record, SLOTS, 0, records, block, gp_block_bound(),
			    &length) != GP_OK)
		exit(1);
	if (is_unpadded)
		length = unpad_block(block);
	write_bytes(block, length);
	records = 0;
	return length;
}

static void flush(unsigned type)
{
	unsigned which = type == GP_BLOCK_EVENTS;
	if (records > 0)
		write_block(type, threads[which].thread, threads[which].sequence++);
}

/* Writes the last block once more, as a block of another thread. */
static void write_again(size_t length, uint32_t thread)
{
	struct gp_block_header h;
	if (gp_block_header_decode(block, &h) != GP_OK)
		exit(1);
	h.thread = thread;
	gp_block_header_encode(&h, block);
	write_bytes(block, length);
}

static void add(struct gp_record r)
{
	r.time = r.time ? r.time : (next_time += 64);
	r.order = next_order;
	next_order += gp_event_infos[r.kind].class == GP_CLASS_MEMORY;
	record[records++] = r;
	if (records == SLOTS)
		flush(GP_BLOCK_EVENTS);
}

/* `text` may contain NULs; may be NULL. */
static void define_bytes(struct gp_record r, const char *text, uint64_t bytes)
{
	r.time = next_time;
	r.extra = text ? (uint8_t)((bytes + 8 + 63) / 64) : 0;
	if (records + 1 + r.extra > SLOTS)
		flush(GP_BLOCK_DEFINE);
	record[records++] = r;
	if (!text)
		return;
	memset(&record[records], 0, r.extra * sizeof *record);
	memcpy(&record[records], &bytes, sizeof bytes);
	memcpy((char *)&record[records] + sizeof bytes, text, bytes);
	records += r.extra;
}

static void define(struct gp_record r, const char *text)
{
	define_bytes(r, text, text ? strlen(text) : 0);
}

static struct gp_record memory(enum gp_kind kind, enum gp_space space, uint64_t address,
			       uint64_t bytes)
{
	struct gp_record r = { .kind = (uint16_t)kind, .space = (uint8_t)space };
	r.alloc.address = address;
	r.alloc.bytes = bytes;
	return r;
}

/* Later definitions are stored names, behind the end of the recording. */
static void begin_names(void)
{
	write_plain(GP_BLOCK_END, GP_BLOCK_SEALED);
	header.names_offset = (uint64_t)ftell(out);
	threads[0].sequence = 0;
	is_sealed = true;
}

static void end_names(void)
{
	flush(GP_BLOCK_DEFINE);
	header.names_bytes = (uint64_t)ftell(out) - header.names_offset;
	write_header();
}

static void open_writer(const char *path)
{
	size_t bytes = (gp_block_scratch_bytes() + 63) & ~(size_t)63;
	scratch = gp_block_scratch_init(aligned_alloc(64, bytes), bytes);
	block = malloc(gp_block_bound());
	out = fopen(path, "w+b");
	if (!out || !block)
		exit(1);
	write_header();
	write_plain(GP_BLOCK_SEGMENT, 0);
}

static bool close_writer(void)
{
	flush(GP_BLOCK_EVENTS);
	if (!is_sealed)
		write_plain(GP_BLOCK_END, GP_BLOCK_SEALED);
	return fclose(out) == 0;
}

#endif
