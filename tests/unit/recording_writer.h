/*
 * A recorder without threads, for tests of the reader: events of four threads into blocks, segments
 * with checkpoints, keep-all or a ring of slots. It uses only the codec and the live state, and
 * shares no code with the recorder in the target.
 */
#ifndef RECORDING_WRITER_H
#define RECORDING_WRITER_H

#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "format/layout.h"
#include "gpuprof.h"
#include "read/file/recording.h"

#include "unpadded_block.h"

#define SLOTS_KEPT 65536u

/* A recorder without threads: events of some threads into blocks, segments with checkpoints. */
struct writer {
	char path[256];
	int fd;
	struct gp_file_header header;
	struct gp_block_scratch *scratch;
	unsigned char *block;
	struct gp_record *buffer[4]; /* a thread each */
	uint64_t buffered[4], sequence[4], none_sequence;
	struct gp_record *totals;
	uint64_t total;
	struct gp_live *live;
	uint64_t order, cut, at, slot, time;
	uint32_t segment, part;
	bool has_segment;
	bool is_unpadded; /* blocks are as before format 1.7 */
	uint64_t block_start[4096];
	size_t blocks;
	struct gp_record definition[64]; /* repeated in each segment; no texts */
	uint64_t definitions;
};

static char directory[192];

static struct gp_block_header make_header(const struct writer *w, unsigned type, unsigned flags)
{
	return (struct gp_block_header){ .type = (uint16_t)type,
					 .flags = (uint16_t)flags,
					 .segment = w->segment,
					 .part = w->part,
					 .thread = GP_THREAD_NONE,
					 .first_order = w->cut,
					 .last_order = w->cut,
					 .ticks = w->time,
					 .mono_ns = w->time,
					 .unix_ns = 5000000000u + w->time };
}

static void put_bytes(struct writer *w, const unsigned char *bytes, size_t n)
{
	w->block_start[w->blocks++] = w->at;
	assert_int_equal(pwrite(w->fd, bytes, n, (off_t)w->at), n);
	w->at += n;
}

static void put_plain(struct writer *w, unsigned type, unsigned flags)
{
	unsigned char bytes[GP_BLOCK_HEADER];
	struct gp_block_header header = make_header(w, type, flags);
	gp_block_header_encode(&header, bytes);
	put_bytes(w, bytes, sizeof bytes);
}

static void begin_part(struct writer *w)
{
	if (w->header.slots != 0) {
		w->slot = w->has_segment ? (w->slot + 1) % w->header.slots : 0;
		w->at = gp_slot_offset(&w->header, w->slot);
	}
	w->has_segment = true;
	put_plain(w, GP_BLOCK_SEGMENT, 0);
}

static void put_records(struct writer *w, unsigned type, unsigned flags, uint32_t thread,
			uint64_t *sequence, const struct gp_record *records, uint64_t slots)
{
	size_t length;
	for (;;) {
		struct gp_block_header header = make_header(w, type, flags);
		header.thread = thread;
		header.sequence = *sequence;
		assert_int_equal(gp_block_encode(w->scratch, &header, records, SLOTS_KEPT, 0, slots,
						 w->block, gp_block_bound(), &length),
				 GP_OK);
		if (w->is_unpadded)
			length = unpad_block(w->block);
		if (w->header.slots == 0 ||
		    w->at + length + GP_BLOCK_HEADER <= gp_slot_offset(&w->header, w->slot + 1))
			break;
		w->part++;
		begin_part(w);
	}
	put_bytes(w, w->block, length);
	++*sequence;
}

static void flush(struct writer *w, unsigned thread)
{
	if (w->buffered[thread] > 0)
		put_records(w, GP_BLOCK_EVENTS, 0, thread, &w->sequence[thread], w->buffer[thread],
			    w->buffered[thread]);
	w->buffered[thread] = 0;
}

static void keep_total(void *context, const struct gp_record *record)
{
	struct writer *w = context;
	w->totals[w->total++] = *record;
	if (w->total == 1000) {
		put_records(w, GP_BLOCK_CHECKPOINT, 0, GP_THREAD_NONE, &w->none_sequence, w->totals,
			    w->total);
		w->total = 0;
	}
}

static void keep_entry(void *context, const struct gp_live_entry *entry)
{
	struct gp_record record;
	gp_live_to_record(entry, &record);
	keep_total(context, &record);
}

static void fill_text(struct gp_record *record, const char *text)
{
	uint64_t n = strlen(text);
	memcpy(record + 1, &n, sizeof n);
	memcpy((char *)(record + 1) + 8, text, n);
	record->extra = (uint8_t)((n + 8 + 63) / 64);
}

static void begin_segment(struct writer *w)
{
	w->cut = w->order;
	w->part = 0;
	begin_part(w);
	struct gp_record kernel[SLOTS_KEPT / 4096] = {
		{ .kind = GP_KERNEL, .kernel.handle = 0xabc, .order = w->order, .time = w->time }
	};
	fill_text(kernel, "a_kernel(float*)");
	if (w->segment > 0)
		put_records(w, GP_BLOCK_DEFINE, 0, GP_THREAD_NONE, &w->none_sequence, kernel,
			    1u + kernel->extra);
	if (w->segment > 0 && w->definitions > 0)
		put_records(w, GP_BLOCK_DEFINE, 0, GP_THREAD_NONE, &w->none_sequence, w->definition,
			    w->definitions);
	gp_live_totals(w->live, keep_total, w);
	gp_live_walk_begin(w->live, keep_entry, w);
	while (!gp_live_walk_more(w->live, 100))
		;
	put_records(w, GP_BLOCK_CHECKPOINT, GP_BLOCK_LAST_CHECKPOINT, GP_THREAD_NONE,
		    &w->none_sequence, w->totals, w->total);
	w->total = 0;
}

static inline void next_segment(struct writer *w)
{
	for (unsigned t = 0; t < 4; t++)
		flush(w, t);
	put_plain(w, GP_BLOCK_END, 0);
	w->segment++;
	begin_segment(w);
}

static void put_header(const struct writer *w)
{
	unsigned char header[GP_FILE_HEADER];
	gp_file_header_encode(&w->header, header);
	assert_int_equal(pwrite(w->fd, header, sizeof header, 0), sizeof header);
}

static void writer_open(struct writer *w, const char *name, uint32_t slots, uint64_t slot_bytes)
{
	memset(w, 0, sizeof *w);
	snprintf(w->path, sizeof w->path, "%s/%s", directory, name);
	w->fd = open(w->path, O_RDWR | O_CREAT | O_TRUNC, 0600);
	assert_true(w->fd >= 0);
	size_t bytes = (gp_block_scratch_bytes() + 63) & ~(size_t)63;
	w->scratch = gp_block_scratch_init(aligned_alloc(64, bytes), bytes);
	w->block = malloc(gp_block_bound());
	for (unsigned t = 0; t < 4; t++)
		w->buffer[t] = calloc(SLOTS_KEPT, sizeof(struct gp_record));
	w->totals = calloc(SLOTS_KEPT, sizeof(struct gp_record));
	w->live = gp_live_open();
	w->time = 1024;
	w->header = (struct gp_file_header){ .major = 1,
					     .clock = GP_CLOCK_MONOTONIC_RAW,
					     .pid = (uint32_t)getpid(),
					     .slots = slots,
					     .slot_bytes = slot_bytes,
					     .start_ticks = 1024,
					     .start_mono_ns = 1024,
					     .start_unix_ns = 5000001024u,
					     .ticks_per_second = 1000000000u };
	strcpy(w->header.command, "test --read");
	strcpy(w->header.hostname, "here");
	put_header(w);
	w->at = GP_FILE_HEADER;
	begin_segment(w);
}

static void writer_close(struct writer *w, bool is_sealed)
{
	for (unsigned t = 0; t < 4; t++)
		flush(w, t);
	if (is_sealed)
		put_plain(w, GP_BLOCK_END, GP_BLOCK_SEALED);
	close(w->fd);
	for (unsigned t = 0; t < 4; t++)
		free(w->buffer[t]);
	free(w->totals);
	free(w->block);
	free(w->scratch);
	gp_live_close(w->live);
}

/* Gives the record its order and time, applies it, and keeps it for its thread's next block. */
static void put(struct writer *w, unsigned thread, struct gp_record r)
{
	bool is_memory = gp_event_infos[r.kind].class == GP_CLASS_MEMORY;
	r.order = w->order;
	w->order += is_memory;
	r.time = w->time += 64; /* times are kept in multiples of 64 ticks */
	gp_live_apply(w->live, &r);
	w->buffer[thread][w->buffered[thread]++] = r;
	if (w->buffered[thread] == 500)
		flush(w, thread);
}

/* As put, and again in each segment that begins later. */
static inline void put_definition(struct writer *w, unsigned thread, struct gp_record r)
{
	r.order = w->order;
	r.time = w->time + 64;
	assert_true(w->definitions < sizeof w->definition / sizeof *w->definition);
	w->definition[w->definitions++] = r;
	put(w, thread, r);
}

/*
 * A little training: a segment, allocated and freed blocks, launches between them. The thread
 * changes every few events.
 */
static inline void put_work(struct writer *w, uint64_t events, uint64_t *state)
{
	static uint64_t live[256];
	if (*state == 0) {
		memset(live, 0, sizeof live);
		*state = 88172645463325252u;
		put(w, 0,
		    (struct gp_record){ .kind = GP_ALLOC,
					.space = GP_SPACE_DEVICE,
					.alloc = { .address = 0x7000000000, .bytes = 64 << 20 } });
	}
	for (uint64_t i = 0; i < events; i++) {
		*state ^= *state << 13;
		*state ^= *state >> 7;
		*state ^= *state << 17;
		unsigned which = *state >> 20 & 255, thread = *state >> 40 & 3;
		uint64_t address = 0x7000000000 + which * 65536,
			 bytes = 512 * (1 + (*state >> 50 & 63));
		const struct gp_curve_state *curve = gp_live_device(w->live, 0)->curve;
		uint64_t allocated = curve[GP_CURVE_ALLOCATED].now_bytes;
		if ((*state & 7) == 0)
			put(w, thread,
			    (struct gp_record){ .kind = GP_LAUNCH,
						.launch = { .kernel = 0xabc, .grid = i } });
		else if (live[which] == 0)
			put(w, thread,
			    (struct gp_record){ .kind = GP_BLOCK_ALLOC,
						.block_alloc = { address, live[which] = bytes,
								 allocated + bytes, 64 << 20 } });
		else {
			put(w, thread,
			    (struct gp_record){ .kind = GP_BLOCK_FREE,
						.block_free = { address, live[which],
								allocated - live[which],
								64 << 20 } });
			live[which] = 0;
		}
	}
}

/* ---- fixtures: what a test opens must open; gp_recording_close() ends each ---- */

static inline struct gp_recording *fixture_open(const char *path)
{
	struct gp_recording *r;
	assert_int_equal(gp_recording_open(path, &r, NULL), GP_OK);
	return r;
}

/* `*info` lives as long as the recording. */
static inline struct gp_recording *fixture_info(const char *path, const struct gp_info **info)
{
	struct gp_recording *r = fixture_open(path);
	assert_int_equal(gp_recording_info(r, info), GP_OK);
	return r;
}

/* Ends the recording as a job does at its exit, and opens it. */
static inline struct gp_recording *fixture_read(struct writer *w)
{
	writer_close(w, true);
	return fixture_open(w->path);
}

struct expected {
	struct gp_live_device device;
	uint64_t entries, launches, order;
};

static inline struct expected expect(const struct writer *w)
{
	return (struct expected){ *gp_live_device(w->live, 0), gp_live_entries(w->live),
				  gp_live_count(w->live, GP_LAUNCH), w->order };
}

/* Number of events that the recording has kept. */
static inline uint64_t events_kept(const struct gp_info *info)
{
	uint64_t events = 0;
	for (unsigned kind = 0; kind < GP_KINDS; kind++)
		events += info->kept[kind];
	return events;
}

/*
 * Reads all events. The order must be exact: each MEMORY event's number is one more than the last.
 */
static inline void assert_reads(const char *path, const struct expected *e, bool is_complete)
{
	struct gp_recording *r;
	struct gp_damage why;
	const struct gp_info *info;
	assert_int_equal(gp_recording_open(path, &r, &why), GP_OK);
	assert_int_equal(gp_recording_info(r, &info), GP_OK);
	assert_int_equal(info->is_complete, is_complete);
	assert_false(info->is_damaged);
	assert_int_equal(info->mismatches + info->anomalies, 0);
	assert_int_equal(info->counts[GP_LAUNCH], e->launches);
	struct gp_event event;
	uint64_t events = 0, next = UINT64_MAX;
	int64_t last_ns = 0;
	while (gp_recording_next(r, &event) == GP_OK) {
		events++;
		assert_true(event.at_ns >= last_ns);
		last_ns = event.at_ns;
		if (gp_event_infos[event.record.kind].class != GP_CLASS_MEMORY)
			continue;
		assert_true(next == UINT64_MAX || event.record.order == next);
		next = event.record.order + 1;
	}
	assert_int_equal(events, events_kept(info));
	assert_int_equal(next, e->order);
	struct gp_curves curves;
	assert_true(gp_recording_curves(r, 0, &curves));
	for (unsigned c = 0; c < GP_CURVES; c++) {
		assert_int_equal(curves.now_bytes[c], e->device.curve[c].now_bytes);
		assert_int_equal(curves.peak_bytes[c], e->device.curve[c].peak_bytes);
		assert_int_equal(curves.peak_at_ns[c], e->device.curve[c].peak_time - 1024);
	}
	assert_int_equal(gp_live_entries(r->live), e->entries);
	gp_recording_close(r);
}

/* Like `gpuprof verify --repair`: returns a failure of the check, else the status of the copy. */
static inline enum gp_status verify_repair(const char *path, const char *repaired, FILE *report)
{
	struct gp_copy copy = { .fd = open(repaired, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC,
					   0600) };
	if (copy.fd < 0)
		return GP_E_OPEN;
	enum gp_status status = gp_verify(path, &copy, report);
	close(copy.fd);
	return status == GP_OK ? copy.status : status;
}

static inline int make_directory(void **state)
{
	(void)state;
	const char *place = getenv("TMPDIR"); /* run_units.sh sets it and removes it */
	snprintf(directory, sizeof directory, "%s/gpuprof-test-read-XXXXXX",
		 place ? place : "/tmp");
	return mkdtemp(directory) == NULL;
}

static inline int drop_directory(void **state)
{
	(void)state;
	char command[sizeof directory + 16];
	snprintf(command, sizeof command, "rm -rf '%s'", directory);
	return system(command);
}

#endif
