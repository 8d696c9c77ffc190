/* Recordings written here with the codec alone: read back, cut short, flipped, wrapped, adopted, repaired. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>
#include <fcntl.h>

#include <cmocka.h>

#include "format/layout.h"
#include "gpuprof.h"
#include "state/live.h"

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
	uint64_t block_start[4096];
	size_t blocks;
};

static char directory[64];

static struct gp_block_header make_header(const struct writer *w, unsigned type, unsigned flags)
{
	return (struct gp_block_header){ .type = (uint16_t)type, .flags = (uint16_t)flags, .segment = w->segment,
					 .part = w->part, .thread = GP_THREAD_NONE, .first_order = w->cut,
					 .last_order = w->cut, .ticks = w->time, .mono_ns = w->time,
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

static void put_records(struct writer *w, unsigned type, unsigned flags, uint32_t thread, uint64_t *sequence,
			const struct gp_record *records, uint64_t slots)
{
	size_t length;
	for (;;) {
		struct gp_block_header header = make_header(w, type, flags);
		header.thread = thread;
		header.sequence = *sequence;
		assert_int_equal(gp_block_encode(w->scratch, &header, records, SLOTS_KEPT, 0, slots, w->block,
						 gp_block_bound(), &length), GP_OK);
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
		put_records(w, GP_BLOCK_EVENTS, 0, thread, &w->sequence[thread], w->buffer[thread], w->buffered[thread]);
	w->buffered[thread] = 0;
}

static void keep_total(void *context, const struct gp_record *record)
{
	struct writer *w = context;
	w->totals[w->total++] = *record;
	if (w->total == 1000) {
		put_records(w, GP_BLOCK_CHECKPOINT, 0, GP_THREAD_NONE, &w->none_sequence, w->totals, w->total);
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
	struct gp_record kernel[SLOTS_KEPT / 4096] = { { .kind = GP_KERNEL, .kernel.handle = 0xabc, .order = w->order, .time = w->time } };
	fill_text(kernel, "a_kernel(float*)");
	if (w->segment > 0)
		put_records(w, GP_BLOCK_DEFINE, 0, GP_THREAD_NONE, &w->none_sequence, kernel, 1u + kernel->extra);
	gp_live_totals(w->live, keep_total, w);
	gp_live_walk_begin(w->live, keep_entry, w);
	while (!gp_live_walk_more(w->live, 100))
		;
	put_records(w, GP_BLOCK_CHECKPOINT, GP_BLOCK_LAST_CHECKPOINT, GP_THREAD_NONE, &w->none_sequence, w->totals, w->total);
	w->total = 0;
}

static void next_segment(struct writer *w)
{
	for (unsigned t = 0; t < 4; t++)
		flush(w, t);
	put_plain(w, GP_BLOCK_END, 0);
	w->segment++;
	begin_segment(w);
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
	w->header = (struct gp_file_header){ .major = 1, .clock = GP_CLOCK_MONOTONIC_RAW, .pid = (uint32_t)getpid(),
					     .slots = slots, .slot_bytes = slot_bytes, .start_ticks = 1024,
					     .start_mono_ns = 1024, .start_unix_ns = 5000001024u,
					     .ticks_per_second = 1000000000u };
	strcpy(w->header.command, "test --read");
	strcpy(w->header.hostname, "here");
	unsigned char header[GP_FILE_HEADER];
	gp_file_header_encode(&w->header, header);
	assert_int_equal(pwrite(w->fd, header, sizeof header, 0), sizeof header);
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

/* A little training: a segment, blocks that come and go, launches between; the thread changes every few events. */
static void put_work(struct writer *w, uint64_t events, uint64_t *state)
{
	static uint64_t live[256];
	if (*state == 0) {
		memset(live, 0, sizeof live);
		*state = 88172645463325252u;
		put(w, 0, (struct gp_record){ .kind = GP_ALLOC, .space = GP_SPACE_DEVICE,
					      .alloc = { .address = 0x7000000000, .bytes = 64 << 20 } });
	}
	for (uint64_t i = 0; i < events; i++) {
		*state ^= *state << 13;
		*state ^= *state >> 7;
		*state ^= *state << 17;
		unsigned which = *state >> 20 & 255, thread = *state >> 40 & 3;
		uint64_t address = 0x7000000000 + which * 65536, bytes = 512 * (1 + (*state >> 50 & 63));
		const struct gp_curve_state *curve = gp_live_device(w->live, 0)->curve;
		uint64_t allocated = curve[GP_CURVE_ALLOCATED].now_bytes;
		if ((*state & 7) == 0)
			put(w, thread, (struct gp_record){ .kind = GP_LAUNCH, .launch = { .kernel = 0xabc, .grid = i } });
		else if (live[which] == 0)
			put(w, thread, (struct gp_record){ .kind = GP_BLOCK_ALLOC,
				.block_alloc = { address, live[which] = bytes, allocated + bytes, 64 << 20 } });
		else {
			put(w, thread, (struct gp_record){ .kind = GP_BLOCK_FREE,
				.block_free = { address, live[which], allocated - live[which], 64 << 20 } });
			live[which] = 0;
		}
	}
}

struct expected {
	struct gp_live_device device;
	uint64_t entries, launches, order;
};

static struct expected expect(const struct writer *w)
{
	return (struct expected){ *gp_live_device(w->live, 0), gp_live_entries(w->live), gp_live_count(w->live, GP_LAUNCH),
				  w->order };
}

/* Reads all of it. Order must be exact: each MEMORY event's number one more than the last. */
static void assert_reads(const char *path, const struct expected *e, bool is_complete)
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
	assert_int_equal(events, info->kept_events);
	assert_int_equal(next, e->order);
	struct gp_curves curves;
	assert_true(gp_recording_curves(r, 0, &curves));
	for (unsigned c = 0; c < GP_CURVES; c++) {
		assert_int_equal(curves.now_bytes[c], e->device.curve[c].now_bytes);
		assert_int_equal(curves.peak_bytes[c], e->device.curve[c].peak_bytes);
		assert_int_equal(curves.peak_at_ns[c], e->device.curve[c].peak_time - 1024);
	}
	assert_int_equal(gp_live_entries(gp_recording_live(r)), e->entries);
	gp_recording_close(r);
}

static struct expected write_recording(struct writer *w, const char *name, uint32_t slots, uint64_t slot_bytes,
				       unsigned segments, uint64_t events, bool is_sealed)
{
	uint64_t state = 0;
	writer_open(w, name, slots, slot_bytes);
	for (unsigned i = 0; i < segments; i++) {
		put_work(w, events, &state);
		if (i + 1 < segments)
			next_segment(w);
	}
	struct expected e = expect(w);
	writer_close(w, is_sealed);
	return e;
}

static void keep_all_reads_back(void **state)
{
	(void)state;
	struct writer w;
	struct expected e = write_recording(&w, "all.gpr", 0, 0, 3, 6000, true);
	assert_reads(w.path, &e, true);
	e = write_recording(&w, "killed.gpr", 0, 0, 3, 6000, false);
	assert_reads(w.path, &e, false);
}

static void wrapped_ring_keeps_figures(void **state)
{
	(void)state;
	struct writer w;
	struct expected e = write_recording(&w, "ring.gpr", 4, 256 << 10, 40, 4000, true);
	assert_reads(w.path, &e, true);
	struct gp_recording *r;
	const struct gp_info *info;
	assert_int_equal(gp_recording_open(w.path, &r, NULL), GP_OK);
	assert_int_equal(gp_recording_info(r, &info), GP_OK);
	assert_true(info->kept_from_ns > 0);
	assert_true(info->kept_events < 40 * 4000);
	assert_true(info->segments <= 4);
	assert_string_equal(gp_recording_kernel_name(r, 0xabc), "a_kernel(float*)");
	gp_recording_close(r);
}

/* Small slots: segments go on in further parts, and their beginnings are overwritten by newer ones. */
static void parts_of_a_segment_join(void **state)
{
	(void)state;
	struct writer w;
	struct expected e = write_recording(&w, "parts.gpr", 8, 32 << 10, 12, 9000, true);
	assert_reads(w.path, &e, true);
}

static unsigned char *slurp(const char *path, size_t *bytes)
{
	struct stat st;
	int fd = open(path, O_RDONLY);
	assert_int_equal(fstat(fd, &st), 0);
	unsigned char *all = malloc((size_t)st.st_size);
	assert_int_equal(read(fd, all, (size_t)st.st_size), st.st_size);
	close(fd);
	*bytes = (size_t)st.st_size;
	return all;
}

static void spill(const char *path, const unsigned char *all, size_t bytes)
{
	int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0600);
	assert_int_equal(write(fd, all, bytes), bytes);
	close(fd);
}

/* Opens, replays, verifies; whatever the bytes are, each step ends with a status. Returns the first failure. */
static enum gp_status survive(const char *path, bool *is_damaged, uint64_t *kept)
{
	struct gp_recording *r;
	struct gp_damage why;
	memset(&why, 0, sizeof why);
	enum gp_status status = gp_recording_open(path, &r, &why);
	*is_damaged = status != GP_OK;
	*kept = 0;
	if (status != GP_OK) {
		assert_true(why.what[0] != '\0');
		return status;
	}
	const struct gp_info *info;
	status = gp_recording_info(r, &info);
	if (status == GP_OK) {
		*is_damaged = info->is_damaged;
		*kept = info->kept_events;
		for (size_t i = 0; i < info->damages; i++)
			assert_true(info->damage[i].what[0] != '\0');
		struct gp_timeline timeline;
		assert_int_equal(gp_timeline_build(r, 100, 0, INT64_MAX, &timeline), GP_OK);
		gp_timeline_free(&timeline);
	}
	gp_recording_close(r);
	return status;
}

/* Cut at each block's boundary and one byte before and behind it: a torn tail, never damage, never fewer events
 * than whole blocks hold. */
static void every_truncation_reads(void **state)
{
	(void)state;
	struct writer w;
	write_recording(&w, "whole.gpr", 0, 0, 3, 3000, true);
	char path[300];
	snprintf(path, sizeof path, "%s/cut.gpr", directory);
	size_t bytes;
	unsigned char *all = slurp(w.path, &bytes);
	uint64_t last_kept = 0;
	for (size_t i = 0; i < w.blocks; i++) {
		for (int by = -1; by <= 1; by++) {
			bool is_damaged;
			uint64_t kept;
			spill(path, all, w.block_start[i] + (uint64_t)(int64_t)by);
			enum gp_status status = survive(path, &is_damaged, &kept);
			if (w.block_start[i] + (uint64_t)(int64_t)by < GP_FILE_HEADER) {
				assert_int_equal(status, GP_E_TRUNCATED);
				continue;
			}
			assert_int_equal(status, GP_OK);
			assert_false(is_damaged);
			assert_true(kept >= last_kept || by < 0);
			if (by >= 0)
				last_kept = kept;
		}
	}
	assert_true(last_kept > 8000);
	free(all);
}

static void flips_are_found(void **state)
{
	(void)state;
	struct writer w;
	write_recording(&w, "flip.gpr", 0, 0, 3, 3000, true);
	const uint64_t events = 3 * 3000 + 1;
	size_t bytes;
	unsigned char *all = slurp(w.path, &bytes);
	uint64_t random = 12345, found = 0;
	const unsigned tries = 300;
	for (unsigned i = 0; i < tries; i++) {
		random = random * 6364136223846793005u + 1442695040888963407u;
		size_t at = (random >> 20) % (bytes - GP_BLOCK_HEADER);
		all[at] ^= (unsigned char)(1u << (random >> 17 & 7));
		spill(w.path, all, bytes);
		bool is_damaged;
		uint64_t kept;
		enum gp_status status = survive(w.path, &is_damaged, &kept);
		/* a bit of a zstd frame header that changes nothing may go unnoticed: then everything is there */
		found += is_damaged || status != GP_OK || kept == events;
		all[at] ^= (unsigned char)(1u << (random >> 17 & 7));
	}
	assert_int_equal(found, tries);
	free(all);
}

/* One damaged block: the figures at the end are right again, since a later checkpoint says them. */
static void damage_costs_one_block(void **state)
{
	(void)state;
	struct writer w;
	struct expected e = write_recording(&w, "hurt.gpr", 0, 0, 3, 6000, true);
	size_t bytes;
	unsigned char *all = slurp(w.path, &bytes);
	all[w.block_start[5] + GP_BLOCK_HEADER + 40] ^= 4;
	spill(w.path, all, bytes);
	free(all);
	struct gp_recording *r;
	const struct gp_info *info;
	assert_int_equal(gp_recording_open(w.path, &r, NULL), GP_OK);
	assert_int_equal(gp_recording_info(r, &info), GP_OK);
	assert_true(info->is_damaged);
	assert_int_equal(info->damages, 1);
	assert_int_equal(info->damage[0].offset, w.block_start[5]);
	assert_true(info->kept_events >= 18000 - 500 && info->kept_events < 18001);
	struct gp_event event;
	while (gp_recording_next(r, &event) == GP_OK)
		;
	struct gp_curves curves;
	gp_recording_curves(r, 0, &curves);
	assert_int_equal(curves.now_bytes[GP_CURVE_ALLOCATED], e.device.curve[GP_CURVE_ALLOCATED].now_bytes);
	assert_int_equal(curves.peak_bytes[GP_CURVE_ALLOCATED], e.device.curve[GP_CURVE_ALLOCATED].peak_bytes);
	assert_int_equal(info->mismatches + info->anomalies, 0);
	gp_recording_close(r);

	char path[300];
	snprintf(path, sizeof path, "%s/mended.gpr", directory);
	FILE *report = tmpfile();
	assert_int_equal(gp_verify(w.path, path, report), GP_E_DAMAGED);
	assert_int_equal(gp_verify(w.path, path, report), GP_E_OPEN); /* never over an existing file */
	assert_int_equal(gp_verify(path, NULL, report), GP_OK);
	fclose(report);
	struct stat st;
	assert_int_equal(stat(path, &st), 0);
	assert_int_equal(st.st_mode & 0777, 0600);
}

static void repair_of_a_killed_run_is_complete(void **state)
{
	(void)state;
	struct writer w;
	struct expected e = write_recording(&w, "torn.gpr", 8, 64 << 10, 5, 6000, false);
	char path[300];
	snprintf(path, sizeof path, "%s/clean.gpr", directory);
	FILE *report = tmpfile();
	assert_int_equal(gp_verify(w.path, path, report), GP_OK);
	fclose(report);
	assert_reads(path, &e, true);
}

static void strangers_are_refused(void **state)
{
	(void)state;
	struct gp_recording *r;
	struct gp_damage why;
	char path[300];
	snprintf(path, sizeof path, "%s/stranger", directory);
	assert_int_equal(gp_recording_open(path, &r, &why), GP_E_OPEN);
	assert_null(r);
	unsigned char zero[8192] = { 0 };
	spill(path, zero, sizeof zero);
	assert_int_equal(gp_recording_open(path, &r, &why), GP_E_NOT_RECORDING);
	spill(path, zero, 0);
	assert_int_equal(gp_recording_open(path, &r, &why), GP_E_NOT_RECORDING);
	assert_int_equal(gp_recording_open(directory, &r, &why), GP_E_NOT_RECORDING);
	struct gp_file_header newer = { .major = GP_FORMAT_MAJOR + 1 };
	unsigned char header[GP_FILE_HEADER];
	gp_file_header_encode(&newer, header);
	spill(path, header, sizeof header);
	assert_int_equal(gp_recording_open(path, &r, &why), GP_E_VERSION);
}

/* A block that was written twice (its writer died before it noted so) counts once; a missing one is a hole. */
static void repeats_are_dropped_and_holes_found(void **state)
{
	(void)state;
	struct writer w;
	uint64_t seed = 0;
	writer_open(&w, "again.gpr", 0, 0);
	put_work(&w, 3000, &seed);
	flush(&w, 0);
	w.sequence[0]--;
	put(&w, 0, (struct gp_record){ .kind = GP_LAUNCH });
	flush(&w, 0); /* says an old sequence number again */
	struct expected e = expect(&w);
	e.launches--;
	writer_close(&w, true);
	assert_reads(w.path, &e, true);
	writer_open(&w, "hole.gpr", 0, 0);
	seed = 0;
	put_work(&w, 3000, &seed);
	w.sequence[2] += 2;
	put_work(&w, 3000, &seed);
	writer_close(&w, true);
	bool is_damaged;
	uint64_t kept;
	assert_int_equal(survive(w.path, &is_damaged, &kept), GP_OK);
	assert_true(is_damaged);
	assert_int_equal(kept, 6001);
}

/* ---- timeline ---- */

static void timeline_keeps_peaks(void **state)
{
	(void)state;
	struct writer w;
	struct expected e = write_recording(&w, "line.gpr", 0, 0, 3, 20000, true);
	struct gp_recording *r;
	assert_int_equal(gp_recording_open(w.path, &r, NULL), GP_OK);
	for (size_t points = 16; points <= 4096; points *= 4) {
		struct gp_timeline t;
		assert_int_equal(gp_timeline_build(r, points, 0, INT64_MAX, &t), GP_OK);
		assert_int_equal(t.devices, 1);
		const struct gp_timeline_device *d = &t.device[0];
		assert_true(d->points <= points && d->points >= points / 8);
		for (unsigned c = 0; c < GP_CURVES; c++) {
			assert_int_equal(d->peak_bytes[c], e.device.curve[c].peak_bytes);
			assert_int_equal(d->peak_at_ns[c], e.device.curve[c].peak_time - 1024);
			bool has_peak = false;
			for (size_t i = 0; i < d->points; i++)
				has_peak |= d->point[i].bytes[c] == d->peak_bytes[c] &&
					    d->point[i].at_ns == d->peak_at_ns[c];
			assert_true(has_peak);
		}
		for (size_t i = 1; i < d->points; i++)
			assert_true(d->point[i].at_ns >= d->point[i - 1].at_ns);
		gp_timeline_free(&t);
	}
	struct gp_timeline t;
	assert_int_equal(gp_timeline_build(r, 100, 100000, 200000, &t), GP_OK);
	assert_true(t.device[0].point[0].at_ns == 100000 && t.device[0].point[0].bytes[GP_CURVE_DRIVER] == 64 << 20);
	for (size_t i = 0; i < t.device[0].points; i++)
		assert_true(t.device[0].point[i].at_ns >= 100000 && t.device[0].point[i].at_ns <= 200000);
	gp_timeline_free(&t);
	gp_recording_close(r);
}

/* ---- adoption ---- */

/* A ring file as a process leaves it that is gone: `events` in two rings, not yet in the recording. */
static void make_ring_file(const struct writer *w, char *path, size_t capacity, uint32_t rings)
{
	snprintf(path, capacity, "%s/gpuprof-ring-%u-%u-1", directory, (unsigned)getuid(), w->header.pid);
	int fd = open(path, O_RDWR | O_CREAT | O_TRUNC, 0600);
	assert_int_equal(ftruncate(fd, (off_t)gp_ring_offset(rings)), 0);
	struct gp_control *c = mmap(NULL, gp_ring_offset(rings), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	c->magic = GP_CONTROL_MAGIC;
	c->version = GP_CONTROL_VERSION;
	c->pid = w->header.pid;
	c->is_lock_sure = 1;
	memcpy(c->boot_id, w->header.boot_id, sizeof c->boot_id);
	strcpy(c->output, w->path);
	atomic_store(&c->rings, rings);
	atomic_store(&c->next_order, w->order);
	for (uint32_t i = 0; i < rings; i++) {
		struct gp_ring *ring = (struct gp_ring *)((char *)c + gp_ring_offset(i));
		ring->thread = i;
		/* the ring is about to wrap */
		atomic_store(&ring->tail, GP_RING_SLOTS - 100);
		atomic_store(&ring->head, GP_RING_SLOTS - 100);
		atomic_store(&ring->sequence, w->sequence[i]);
		for (uint64_t k = 0; k < w->buffered[i]; k++) {
			uint64_t head = atomic_load(&ring->head);
			ring->slots[head % GP_RING_SLOTS] = w->buffer[i][k];
			atomic_store(&ring->head, head + 1);
		}
	}
	munmap(c, gp_ring_offset(rings));
	close(fd);
}

static void adopt_case(const char *name, uint32_t slots, uint64_t slot_bytes, bool is_written_already)
{
	struct writer w;
	uint64_t seed = 0;
	writer_open(&w, name, slots, slot_bytes);
	snprintf(w.header.ring_path, sizeof w.header.ring_path, "%s/gpuprof-ring-%u-%u-1", directory, (unsigned)getuid(),
		 w.header.pid);
	strcpy(w.header.boot_id, "a boot long ago");
	unsigned char header[GP_FILE_HEADER];
	gp_file_header_encode(&w.header, header);
	assert_int_equal(pwrite(w.fd, header, sizeof header, 0), sizeof header);
	put_work(&w, 4321, &seed);
	struct expected e = expect(&w);
	char path[300];
	make_ring_file(&w, path, sizeof path, 4);
	if (is_written_already) { /* the owner died after it wrote thread 2's block, before it freed the slots */
		assert_true(w.buffered[2] > 0);
		flush(&w, 2);
	}
	for (unsigned t = 0; t < 4; t++)
		w.buffered[t] = 0;
	writer_close(&w, false);
	FILE *report = tmpfile();
	unsigned adopted;
	assert_int_equal(gp_adopt_beside(w.path, &adopted, report), GP_OK);
	assert_int_equal(adopted, 1);
	assert_true(ftell(report) > 0);
	fclose(report);
	assert_int_equal(access(path, F_OK), -1);
	assert_reads(w.path, &e, true);
	assert_int_equal(gp_adopt_beside(w.path, &adopted, NULL), GP_OK);
	assert_int_equal(adopted, 0);
}

static void rings_of_the_dead_are_adopted(void **state)
{
	(void)state;
	adopt_case("dead.gpr", 0, 0, false);
	adopt_case("dead-midway.gpr", 0, 0, true);
	adopt_case("dead-ring.gpr", 4, 256 << 10, false);
	adopt_case("dead-small.gpr", 16, 24 << 10, true);
}

static void rings_of_the_living_are_left_alone(void **state)
{
	(void)state;
	struct writer w;
	uint64_t seed = 0;
	writer_open(&w, "alive.gpr", 0, 0);
	put_work(&w, 1000, &seed);
	char path[300];
	make_ring_file(&w, path, sizeof path, 1);
	writer_close(&w, false);
	int ready[2], done[2];
	assert_int_equal(pipe(ready) | pipe(done), 0);
	pid_t child = fork();
	if (child == 0) {
		struct flock lock = { .l_type = F_WRLCK, .l_whence = SEEK_SET, .l_len = 1 };
		int fd = open(path, O_RDWR);
		char byte = fcntl(fd, F_SETLK, &lock) == 0;
		close(done[1]);
		if (write(ready[1], &byte, 1) != 1 || read(done[0], &byte, 1) != 0)
			_exit(1);
		_exit(0);
	}
	char byte;
	assert_int_equal(read(ready[0], &byte, 1), 1);
	assert_int_equal(byte, 1);
	unsigned adopted;
	assert_int_equal(gp_adopt_beside(w.path, &adopted, NULL), GP_OK);
	assert_int_equal(adopted, 0);
	assert_int_equal(access(path, F_OK), 0);
	close(done[1]);
	int status;
	waitpid(child, &status, 0);
	assert_int_equal(status, 0);
	unlink(path);
}

static int make_directory(void **state)
{
	(void)state;
	strcpy(directory, "/tmp/gpuprof-test-read-XXXXXX");
	return mkdtemp(directory) == NULL;
}

static int drop_directory(void **state)
{
	(void)state;
	char command[128];
	snprintf(command, sizeof command, "rm -rf '%s'", directory);
	return system(command);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(keep_all_reads_back),
		cmocka_unit_test(wrapped_ring_keeps_figures),
		cmocka_unit_test(parts_of_a_segment_join),
		cmocka_unit_test(every_truncation_reads),
		cmocka_unit_test(flips_are_found),
		cmocka_unit_test(damage_costs_one_block),
		cmocka_unit_test(repair_of_a_killed_run_is_complete),
		cmocka_unit_test(strangers_are_refused),
		cmocka_unit_test(repeats_are_dropped_and_holes_found),
		cmocka_unit_test(timeline_keeps_peaks),
		cmocka_unit_test(rings_of_the_dead_are_adopted),
		cmocka_unit_test(rings_of_the_living_are_left_alone),
	};
	return cmocka_run_group_tests(tests, make_directory, drop_directory);
}
