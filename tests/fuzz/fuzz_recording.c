/*
 * Any bytes as a recording. The first byte chooses: the rest as the file itself; or as the fields
 * and columns of blocks, each wrapped with right checksums, so that what lies behind the checksums
 * is reached.
 */
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>
#include <zstd.h>

#include "../../libgpuprof/format/layout.h"
#include "../../libgpuprof/gpuprof.h"
#include "../../libgpuprof/read/name_area.h"
#include "../../libgpuprof/read/name_table.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes);
size_t fuzz_seed(unsigned n, uint8_t *data, size_t room);

#define FILE_MAX (4u << 20)

/* Names are looked up in the modules that the recording tells of, whatever it says they are. */
static void look_up(struct gp_recording *recording, const struct gp_event *event)
{
	static struct gp_frame frame[GP_FRAMES_MAX];
	struct gp_stack stack;
	struct gp_names names;
	if (!gp_recording_stack(recording, event->record.stack, event->at_ns, GP_STACK_SYMBOLS,
				&stack, frame, GP_FRAMES_MAX))
		return;
	if (stack.frames > GP_FRAMES_MAX)
		abort();
	gp_recording_names(recording, frame, stack.frames, &names);
}

static void see_gaps(void *context, const struct gp_gaps *gaps)
{
	(void)context;
	if (gaps->largest_bytes > gaps->free_bytes)
		abort();
}

/* Whatever it says, what it says adds up. */
static void look_at_frag(struct gp_recording *recording)
{
	struct gp_memory memory;
	const struct gp_moment_of end = { .when = GP_WHEN_END };
	const struct gp_frag_question question = { .fit_bytes = 64 << 20 };
	(void)gp_gaps_visit(recording, see_gaps, NULL);
	if (gp_memory_build(recording, &end, &memory) != GP_OK)
		return;
	for (size_t k = 0; k < memory.devices; k++) {
		struct gp_frag frag;
		uint64_t sum = 0;
		if (gp_frag_build(&memory, memory.device[k].device, &question, &frag) != GP_OK)
			continue;
		for (unsigned c = 0; c < GP_CAUSES; c++)
			sum += frag.cause_bytes[c];
		if (sum != frag.reserved_bytes - frag.allocated_bytes)
			abort();
		gp_frag_free(&frag);
	}
	gp_memory_free(&memory);
}

/* Uses add up, whatever the recording says. */
static void look_at_peaks(struct gp_recording *recording)
{
	struct gp_peak peak;
	struct gp_groups groups;
	struct gp_tree tree;
	const struct gp_grouping how = { .by = GP_BY_LINE }, by_range = { .by = GP_BY_RANGE };
	if (gp_peak_build_ranges(recording, GP_AT_PEAK, 0, &peak) != GP_OK)
		return;
	for (size_t k = 0; k < peak.holders; k++) {
		const struct gp_holders *h = &peak.holder[k];
		uint64_t sum = 0;
		for (size_t i = 0; i < h->uses; i++)
			sum += h->use[i].bytes;
		if (sum != h->live_bytes)
			abort();
		if (gp_groups_build(recording, h->use, h->uses, &how, &groups) == GP_OK)
			gp_groups_free(&groups);
		if (gp_groups_build(recording, h->use, h->uses, &by_range, &groups) == GP_OK)
			gp_groups_free(&groups);
		if (gp_tree_build(recording, h->use, h->uses, &how, &tree) == GP_OK)
			gp_tree_free(&tree);
	}
	gp_peak_free(&peak);
}

static void look_at_top(struct gp_recording *recording)
{
	struct gp_top top;
	if (gp_top_build_ranges(recording, INT64_MIN, INT64_MAX, 1000000, &top) == GP_OK)
		gp_top_free(&top);
}

/* A tree is one: each phase's children follow it, one level deeper. */
static void look_at_phases(struct gp_recording *recording, bool is_by_frames)
{
	const struct gp_phases_asked asked = { .device = GP_DEVICE_UNKNOWN,
					       .of = GP_CURVES,
					       .from_ns = INT64_MIN,
					       .to_ns = INT64_MAX,
					       .is_by_frames = is_by_frames,
					       .fold = 1 };
	struct gp_phases phases;
	if (gp_phases_build(recording, &asked, &phases) == GP_OK)
		for (size_t k = 0; k < phases.phases; k++) {
			const struct gp_phase *p = &phases.phase[k];
			size_t children = 0;
			for (size_t i = k + 1;
			     i < phases.phases && phases.phase[i].depth > p->depth; i++)
				children += phases.phase[i].depth == p->depth + 1;
			if (children != p->children || (k == 0 && p->depth != 0))
				abort();
		}
	gp_phases_free(&phases);
}

/* Chances are between 0 and 1; what resolved was scanned. */
static void look_at_steps(struct gp_recording *recording)
{
	struct gp_steps steps;
	struct gp_leaks leaks;
	struct gp_idle idle;
	if (gp_steps_find(recording, &steps) == GP_OK && steps.warmup > steps.steps)
		abort();
	gp_steps_free(&steps);
	if (gp_leaks_build(recording, INT64_MIN, INT64_MAX, &leaks) == GP_OK)
		for (size_t k = 0; k < leaks.leaks; k++)
			if (!(leaks.leak[k].p_value >= 0 && leaks.leak[k].p_value <= 1))
				abort();
	gp_leaks_free(&leaks);
	if (gp_idle_build(recording, 10, &idle) == GP_OK && idle.resolved > idle.scanned)
		abort();
	gp_idle_free(&idle);
}

/* Blocks and gaps tile their segments, whatever the recording says. */
static void assert_tiles(const struct gp_memory *memory)
{
	for (size_t i = 0; i < memory->segments; i++) {
		const struct gp_memory_segment *s = &memory->segment[i];
		uint64_t at = s->address;
		if (s->first + s->blocks > memory->blocks || s->arena >= memory->arenas)
			abort();
		for (size_t k = s->first; k < s->first + s->blocks; k++) {
			const struct gp_memory_block *b = &memory->block[k];
			if (b->address != at || b->bytes == 0)
				abort();
			at += b->bytes;
		}
		if (at != s->address + s->bytes)
			abort();
	}
}

static void look_at_memory(struct gp_recording *recording, int64_t end_ns)
{
	const struct gp_moment_of moments[] = {
		{ .when = GP_WHEN_END },
		{ .when = GP_WHEN_TIME, .at_ns = end_ns / 2 },
		{ .when = GP_WHEN_PEAK, .device = GP_DEVICE_UNKNOWN },
		{ .when = GP_WHEN_OOM },
		{ .when = GP_WHEN_SNAPSHOT },
		{ .when = GP_WHEN_ORDER, .number = 3 },
	};
	for (unsigned i = 0; i < sizeof moments / sizeof *moments; i++) {
		struct gp_memory memory;
		if (gp_memory_build(recording, &moments[i], &memory) != GP_OK)
			continue;
		assert_tiles(&memory);
		gp_memory_free(&memory);
	}
}

static void read_all(const char *path, FILE *report)
{
	struct gp_recording *recording;
	struct gp_damage why;
	const struct gp_info *info;
	struct gp_timeline timeline;
	struct gp_event event;
	if (gp_recording_open(path, &recording, &why) != GP_OK)
		return;
	(void)gp_recording_info(recording, &info);
	(void)gp_recording_rewind(recording);
	for (unsigned i = 0; i < 100000 && gp_recording_next(recording, &event) == GP_OK; i++) {
		if (event.text_bytes > GP_TEXT_MAX)
			abort();
		if (event.record.stack)
			look_up(recording, &event);
	}
	if (gp_timeline_build(recording, 10, 0, INT64_MAX, &timeline) == GP_OK)
		gp_timeline_free(&timeline);
	look_at_frag(recording);
	look_at_peaks(recording);
	look_at_top(recording);
	look_at_phases(recording, false);
	look_at_phases(recording, true);
	look_at_steps(recording);
	look_at_memory(recording, (int64_t)info->duration_ns);
	gp_recording_close(recording);
	(void)gp_verify(path, NULL, report);
}

/* A block from 16 bytes of fields and up to 255 bytes of columns. How much of the input it used. */
static size_t put_block(const uint8_t *data, size_t bytes, unsigned char *out, size_t *length)
{
	struct gp_block_header h = { 0 };
	size_t columns = data[15] < bytes - 16 ? data[15] : bytes - 16;
	h.type = (uint16_t)(data[0] % 8);
	h.flags = data[1];
	h.segment = data[2] % 4;
	h.part = data[3] % 4;
	h.thread = data[4] == 255 ? GP_THREAD_NONE : data[4] % 4u;
	h.sequence = data[5] % 16;
	h.records = data[6];
	h.raw_bytes = (uint32_t)(data[7] % 8 ? columns : data[7]);
	h.first_order = data[8];
	h.last_order = data[9];
	h.ticks = (uint64_t)data[10] << data[11] % 56;
	h.mono_ns = h.unix_ns = (uint64_t)data[12] << data[13] % 56;
	h.stored_bytes =
		(uint32_t)ZSTD_compress(out + GP_BLOCK_HEADER, 4096, data + 16, columns, 1);
	gp_block_header_encode(&h, out);
	*length = GP_BLOCK_HEADER + h.stored_bytes;
	return 16 + columns;
}

static size_t build(const uint8_t *data, size_t bytes, unsigned char *file)
{
	struct gp_file_header header = { .major = GP_FORMAT_MAJOR,
					 .minor = GP_FORMAT_MINOR,
					 .clock = 1 + data[0] % 2,
					 .pid = 1,
					 .slots = data[1] % 2 ? 4 : 0,
					 .slot_bytes = data[1] % 2 ? 8192u << data[2] % 4 : 0,
					 .start_ticks = data[3],
					 .ticks_per_second = (uint64_t)data[4] << data[5] % 56 };
	size_t at = GP_FILE_HEADER, used = 6;
	unsigned until_names = data[2] >> 2; /* blocks */
	memset(file, 0, GP_FILE_HEADER);
	while (bytes - used >= 16 && at + 8192 < FILE_MAX) {
		size_t length = 0;
		if (until_names-- == 1)
			header.names_offset = at;
		used += put_block(data + used, bytes - used, file + at, &length);
		at += length;
		/* now and then the next slot */
		if (header.slots && data[used - 1] % 8 == 0)
			at = GP_FILE_HEADER + (at - GP_FILE_HEADER + header.slot_bytes - 1) /
						      header.slot_bytes * header.slot_bytes;
	}
	header.names_bytes = header.names_offset ? at - header.names_offset : 0;
	gp_file_header_encode(&header, file);
	return at;
}

static size_t put_header_only(enum gp_block_type type, uint16_t flags, uint8_t *out)
{
	const struct gp_block_header h = { .type = (uint16_t)type,
					   .flags = flags,
					   .thread = GP_THREAD_NONE };
	gp_block_header_encode(&h, out);
	return GP_BLOCK_HEADER;
}

/* Four records of a kind among allocations: as EVENTS, or where a checkpoint has its figures. */
static size_t put_kind(uint16_t kind, enum gp_block_type type, uint8_t *out, size_t room)
{
	struct gp_record record[8] = { 0 };
	struct gp_block_header h = { .type = (uint16_t)type,
				     .thread = type == GP_BLOCK_EVENTS ? 1 : GP_THREAD_NONE,
				     .flags = type == GP_BLOCK_CHECKPOINT ?
						      GP_BLOCK_LAST_CHECKPOINT :
						      0 };
	size_t bytes = (gp_block_scratch_bytes() + 63) / 64 * 64, length = 0;
	void *memory = aligned_alloc(64, bytes);
	struct gp_block_scratch *scratch = memory ? gp_block_scratch_init(memory, bytes) : NULL;
	for (unsigned i = 0; i < 8; i++)
		record[i] = (struct gp_record){ .kind = i % 2 ? kind : GP_ALLOC,
						.order = i / 2,
						.time = i * 64,
						.space = GP_SPACE_DEVICE,
						.aux = i,
						.v = { 0x1000 * i, 512, 3, UINT64_MAX } };
	if (!scratch || gp_block_encode(scratch, &h, record, 8, 0, 8, out, room, &length) != GP_OK)
		abort();
	free(memory);
	return length;
}

/* Two modules with a frame each, one of them with a call inlined into it. */
static size_t make_names(uint8_t **out)
{
	static const struct gp_symbol frame[] = {
		{ .function = "inner", .file = "a.c", .line = 7, .is_inlined = true },
		{ .function = "outer", .symbol = "outer", .symbol_offset = 12 },
		{ .why = GP_SYMBOL_NO_FILE },
	};
	struct gp_name_sheet *sheet = gp_name_sheet_open();
	uint32_t one, two;
	size_t count;
	if (!sheet ||
	    !gp_name_sheet_module(sheet, &(struct gp_name_module){ "/b", (void *)"id", 2 }, &one) ||
	    !gp_name_sheet_module(sheet, &(struct gp_name_module){ "/a", NULL, 0 }, &two) ||
	    !gp_name_sheet_add(sheet, one, 100, frame, 2) ||
	    !gp_name_sheet_add(sheet, two, 5, frame + 2, 1) ||
	    gp_name_sheet_encode(sheet, 3, 1, out, &count) != GP_OK)
		abort();
	gp_name_sheet_close(sheet);
	return count;
}

/* As the file itself, or as what lies behind its checksums. */
static size_t seed_with_names(bool is_built, uint8_t *data)
{
	uint8_t *names, *blocks;
	size_t count = make_names(&names), bytes;
	const struct gp_block_header last = { 0 };
	struct gp_file_header header = { .major = GP_FORMAT_MAJOR,
					 .minor = GP_FORMAT_MINOR,
					 .clock = GP_CLOCK_MONOTONIC_RAW,
					 .pid = 1,
					 .ticks_per_second = 1000000000 };
	size_t at = 1 + GP_FILE_HEADER;
	memset(data, 0, at);
	if (gp_name_area_encode(names, count, &last, &blocks, &bytes) != GP_OK || count > 255)
		abort();
	if (is_built) {
		static const uint8_t fields[] = { 1, 0, 0, 3 << 2, 0, 1, 30 };
		uint8_t block[3][16] = { { GP_BLOCK_SEGMENT },
					 { GP_BLOCK_END, GP_BLOCK_SEALED },
					 { GP_BLOCK_NAMES } };
		const size_t columns[] = { 1, 1, count };
		at = sizeof fields;
		memcpy(data, fields, at);
		for (unsigned i = 0; i < 3; i++) {
			block[i][6] = block[i][7] = 1; /* records, raw_bytes: as many as columns */
			block[i][15] = (uint8_t)columns[i];
			memcpy(data + at, block[i], 16);
			memcpy(data + at + 16, names, columns[i]);
			at += 16 + columns[i];
		}
	} else {
		at += put_header_only(GP_BLOCK_SEGMENT, 0, data + at);
		at += put_header_only(GP_BLOCK_END, GP_BLOCK_SEALED, data + at);
		header.names_offset = at - 1;
		header.names_bytes = bytes;
		gp_file_header_encode(&header, data + 1);
		memcpy(data + at, blocks, bytes);
		at += bytes;
	}
	free(names);
	free(blocks);
	return at;
}

/*
 * Kinds that no version knows yet, in whole recordings: next to the last known, any, the last; then
 * stored names.
 */
size_t fuzz_seed(unsigned n, uint8_t *data, size_t room)
{
	static const uint16_t kinds[] = { 127, 128, 200, 65535 };
	static const enum gp_block_type types[] = { GP_BLOCK_EVENTS, GP_BLOCK_CHECKPOINT,
						    GP_BLOCK_DEFINE };
	struct gp_file_header header = { .major = GP_FORMAT_MAJOR,
					 .minor = GP_FORMAT_MINOR,
					 .clock = GP_CLOCK_MONOTONIC_RAW,
					 .pid = 1,
					 .ticks_per_second = 1000000000 };
	size_t at = 1 + GP_FILE_HEADER;
	const unsigned with_kinds = sizeof kinds / sizeof *kinds;
	if (n >= with_kinds + 2)
		return 0;
	if (n >= with_kinds)
		return seed_with_names(n > with_kinds, data);
	data[0] = 0;
	memset(data + 1, 0, GP_FILE_HEADER);
	gp_file_header_encode(&header, data + 1);
	at += put_header_only(GP_BLOCK_SEGMENT, 0, data + at);
	for (size_t i = 0; i < sizeof types / sizeof *types; i++)
		at += put_kind(kinds[n], types[i], data + at, room - at);
	return at + put_header_only(GP_BLOCK_END, GP_BLOCK_SEALED, data + at);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes)
{
	static unsigned char file[FILE_MAX];
	static FILE *report;
	char path[64];
	if (!report)
		report = fopen("/dev/null", "w");
	if (bytes < 8 || bytes >= FILE_MAX)
		return 0;
	size_t length = bytes - 1;
	if (data[0] % 2)
		length = build(data + 1, bytes - 1, file);
	else
		memcpy(file, data + 1, length);
	int fd = memfd_create("recording", MFD_CLOEXEC);
	if (fd < 0 || write(fd, file, length) != (ssize_t)length)
		abort();
	snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
	read_all(path, report);
	close(fd);
	return 0;
}
