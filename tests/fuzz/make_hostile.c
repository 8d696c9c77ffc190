/*
 * Writes recordings that no recorder writes: each costs a reader that trusts it more memory or time
 * than its length explains, or ends it. The bytes are right otherwise, with right checksums.
 *   make_hostile NAME COUNT FILE     `make_hostile` alone lists the names
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../../libgpuprof/format/layout.h"
#include "../../libgpuprof/read/name_area.h"

#define START_TICKS 1000000u

static FILE *file;
static struct gp_file_header header = {
	.major = GP_FORMAT_MAJOR,
	.minor = GP_FORMAT_MINOR,
	.clock = GP_CLOCK_MONOTONIC_RAW,
	.pid = 4242,
	.start_ticks = START_TICKS,
	.start_mono_ns = START_TICKS,
	.start_unix_ns = 1700000000000000000u,
	.ticks_per_second = 1000000000,
	.boot_id = "00000000-0000-0000-0000-000000000000",
	.hostname = "host",
	.command = "python3 train.py",
};
static struct gp_record list[GP_BLOCK_RECORDS];
static uint64_t slots, now = START_TICKS, order;
static uint64_t sequence[2]; /* of events, of definitions */

static void must(bool is_done, const char *what)
{
	if (is_done)
		return;
	fprintf(stderr, "make_hostile: cannot write %s\n", what);
	exit(1);
}

static void put(const void *bytes, size_t count)
{
	must(fwrite(bytes, 1, count, file) == count, "the file");
}

static void put_header(void)
{
	unsigned char bytes[GP_FILE_HEADER];
	gp_file_header_encode(&header, bytes);
	rewind(file);
	put(bytes, sizeof bytes);
}

static struct gp_block_header block_of(enum gp_block_type type, uint16_t flags, uint32_t thread)
{
	return (struct gp_block_header){ .type = (uint16_t)type,
					 .flags = flags,
					 .thread = thread,
					 .ticks = now,
					 .mono_ns = now,
					 .unix_ns = header.start_unix_ns + now };
}

/* SEGMENT or END */
static void put_boundary(enum gp_block_type type, uint16_t flags)
{
	unsigned char bytes[GP_BLOCK_HEADER];
	struct gp_block_header h = block_of(type, flags, GP_THREAD_NONE);
	gp_block_header_encode(&h, bytes);
	put(bytes, sizeof bytes);
}

/* The list as one block of its own, `copies` times. `step` is what each copy's thread is more. */
static void put_copies(struct gp_block_header h, uint64_t copies, uint32_t step)
{
	static struct gp_block_scratch *scratch;
	static unsigned char *out;
	size_t bytes = (gp_block_scratch_bytes() + 63) / 64 * 64, length = 0;
	if (!scratch) {
		scratch = gp_block_scratch_init(aligned_alloc(64, bytes), bytes);
		out = malloc(gp_block_bound());
	}
	must(scratch && out &&
		     gp_block_encode(scratch, &h, list, GP_BLOCK_RECORDS, 0, slots, out,
				     gp_block_bound(), &length) == GP_OK,
	     "a block");
	for (uint64_t i = 0; i < copies; i++, h.thread += step) {
		gp_block_header_encode(&h, out);
		put(out, length);
	}
	slots = 0;
}

static void put_list(enum gp_block_type type)
{
	bool is_events = type == GP_BLOCK_EVENTS;
	struct gp_block_header h = block_of(type, 0, is_events ? 1 : GP_THREAD_NONE);
	h.sequence = sequence[!is_events];
	if (slots == 0)
		return;
	sequence[!is_events]++;
	put_copies(h, 1, 0);
}

/* Blocks are put as they fill up. */
static void add(enum gp_block_type type, struct gp_record record, const char *text)
{
	uint64_t bytes = text ? strlen(text) : 0;
	record.extra = (uint8_t)(text ? (8 + bytes + 63) / 64 : 0);
	if (slots + 1 + record.extra > GP_BLOCK_RECORDS)
		put_list(type);
	if (record.time == 0)
		record.time = now += 64;
	list[slots] = record;
	memset(&list[slots + 1], 0, record.extra * sizeof record);
	if (text) {
		memcpy(&list[slots + 1], &bytes, 8);
		memcpy((char *)&list[slots + 1] + 8, text, bytes);
	}
	slots += 1u + record.extra;
}

static void add_alloc(unsigned space, uint64_t address, uint64_t bytes)
{
	add(GP_BLOCK_EVENTS,
	    (struct gp_record){ .kind = GP_ALLOC,
				.space = (uint8_t)space,
				.order = order++,
				.v = { address, bytes } },
	    NULL);
}

/* x * inverse(odd) == 1 modulo 2^64; Newton, five bits double five times */
static uint64_t inverse(uint64_t odd)
{
	uint64_t x = odd;
	for (unsigned i = 0; i < 6; i++)
		x *= 2 - odd * x;
	return x;
}
#define GOLDEN 0x9e3779b97f4a7c15u

/* ---- one function for each name ---- */

static void repeats(uint64_t count)
{
	add_alloc(GP_SPACE_DEVICE, 0x1000, 512);
	put_copies(block_of(GP_BLOCK_EVENTS, 0, 1), count, 0);
}

static void threads(uint64_t count)
{
	for (unsigned i = 0; i < GP_BLOCK_RECORDS; i++)
		add(GP_BLOCK_EVENTS, (struct gp_record){ .kind = GP_LAUNCH, .time = 2000000 },
		    NULL);
	put_copies(block_of(GP_BLOCK_EVENTS, 0, 1), count, 1);
}

/* Create, map, release: the driver gives the handle anew while its memory is still mapped. */
static void handles(uint64_t count)
{
	const uint64_t at = 0x100000000000, page = 2 << 20;
	add_alloc(GP_SPACE_RESERVATION, at, (uint64_t)1 << 45);
	for (uint64_t i = 0; i < count; i++) {
		add_alloc(GP_SPACE_PHYSICAL, 7, page);
		add(GP_BLOCK_EVENTS,
		    (struct gp_record){ .kind = GP_MAP,
					.space = GP_SPACE_MAPPED,
					.order = order++,
					.v = { at + i * page, page, 7 } },
		    NULL);
		add(GP_BLOCK_EVENTS,
		    (struct gp_record){ .kind = GP_FREE,
					.space = GP_SPACE_PHYSICAL,
					.order = order++,
					.v = { 7 } },
		    NULL);
	}
}

/* Keys that a multiplicative hash without a seed puts into one place. */
static void live_collisions(uint64_t count)
{
	for (uint64_t i = 1; i <= count; i++)
		add_alloc(GP_SPACE_ARRAY, (i << 8) * inverse(GOLDEN) - ((uint64_t)2 << 56), 512);
}

static void meaning_collisions(uint64_t count)
{
	for (uint64_t i = 1; i <= count; i++)
		add(GP_BLOCK_DEFINE,
		    (struct gp_record){
			    .kind = GP_STREAM,
			    .v = { (i << 44) * inverse(GOLDEN) - ((uint64_t)GP_STREAM << 56) } },
		    NULL);
	put_list(GP_BLOCK_DEFINE);
}

/* Modules that are said to be elsewhere, again and again. */
static void doubts(uint64_t count)
{
	for (uint64_t i = 0; i < count; i++)
		add(GP_BLOCK_DEFINE,
		    (struct gp_record){ .kind = GP_MODULE,
					.aux = (uint32_t)(1 + i % 65535),
					.v = { 0, 0, 1, 2 } },
		    NULL);
	put_list(GP_BLOCK_DEFINE);
}

/* All of them were mapped at one address; stacks ask which it was. */
static void modules(uint64_t count)
{
	char path[64];
	for (uint64_t i = 1; i <= count; i++) {
		snprintf(path, sizeof path, "- /nonexistent/m%llu.so", (unsigned long long)i);
		add(GP_BLOCK_DEFINE,
		    (struct gp_record){ .kind = GP_MODULE,
					.aux = (uint32_t)i,
					.v = { 0x7f0000000000, 0x10000000, i, i + 1 } },
		    path);
	}
	for (uint32_t i = 1; i <= 1000; i++) {
		add(GP_BLOCK_DEFINE,
		    (struct gp_record){
			    .kind = GP_NATIVE_FRAME, .aux = 2 * i, .v = { 0, 0x7f0000000100 + i } },
		    NULL);
		add(GP_BLOCK_DEFINE,
		    (struct gp_record){
			    .kind = GP_CALL_STACK, .aux = 2 * i + 1, .v = { 2 * i, 0, 0, 1 } },
		    NULL);
	}
	put_list(GP_BLOCK_DEFINE);
	for (uint32_t i = 0; i < 1000; i++)
		add(GP_BLOCK_EVENTS,
		    (struct gp_record){ .kind = GP_ALLOC,
					.space = GP_SPACE_DEVICE,
					.order = order++,
					.stack = 2 * i + 3,
					.v = { 0x1000 + i * 512, 512 } },
		    NULL);
}

/* What looks like the beginning of a block, and is none. */
static void magics(uint64_t count)
{
	const uint32_t magic = GP_BLOCK_MAGIC;
	for (uint64_t i = 0; i < count; i++)
		put(&magic, sizeof magic);
}

/* Stored names: `count` empty texts, which compress to nearly nothing. */
static void names(uint64_t count)
{
	unsigned char *table = calloc(1, count + 64), *blocks;
	const struct gp_block_header last = { 0 };
	size_t used = 0, bytes;
	must(table != NULL, "names");
	table[used++] = 1;
	table[used++] = 0;
	uint64_t texts = count;
	for (; texts >= 128; texts >>= 7)
		table[used++] = (unsigned char)(texts | 128);
	table[used++] = (unsigned char)texts;
	used += count + 1;
	put_boundary(GP_BLOCK_END, GP_BLOCK_SEALED);
	must(gp_name_area_encode(table, used, &last, &blocks, &bytes) == GP_OK, "names");
	header.names_offset = (uint64_t)ftell(file);
	header.names_bytes = bytes;
	put(blocks, bytes);
	free(blocks);
	free(table);
}

/* The last event is `count` ns before the end of what 63 bits hold. */
static void late(uint64_t count)
{
	const uint64_t end = (uint64_t)INT64_MAX + START_TICKS - count;
	add_alloc(GP_SPACE_DEVICE, 0x1000, 1 << 20);
	now = end - 1000000;
	add(GP_BLOCK_EVENTS,
	    (struct gp_record){
		    .kind = GP_BLOCK_ALLOC, .order = order++, .v = { 0x1000, 512, 512, 1 << 20 } },
	    NULL);
	add(GP_BLOCK_EVENTS,
	    (struct gp_record){ .kind = GP_FREE,
				.space = GP_SPACE_DEVICE,
				.order = order++,
				.time = end,
				.v = { 0x1000 } },
	    NULL);
}

static void space(uint64_t count)
{
	add_alloc((unsigned)count, 0x1000, 1 << 20);
}

static void kind(uint64_t count)
{
	for (unsigned i = 0; i < 8; i++) {
		add_alloc(GP_SPACE_DEVICE, 0x1000 + i * 512, 512);
		add(GP_BLOCK_EVENTS,
		    (struct gp_record){ .kind = (uint16_t)count,
					.order = order,
					.aux = i,
					.v = { 0x1000 * i, 512, 3, UINT64_MAX } },
		    NULL);
	}
}

static const char evil[] = "\x1b]0;title\x07\x1b[31m<script>alert(1)</script>\"'&\\\xff\xc0\x80"
			   "\xe2\x80\xae\xc2\x9b"
			   "31m\r\nX%n%s]]>--> $(x) `x` ; x #";

static void add_evil(uint16_t what, uint32_t aux, uint64_t v0, uint64_t v1)
{
	add(GP_BLOCK_DEFINE, (struct gp_record){ .kind = what, .aux = aux, .v = { v0, v1, 1 } },
	    evil);
}

/* Each text that a recording can hold: escapes, markup, quotes, bad UTF-8, shell. */
static void texts(uint64_t count)
{
	char module[600];
	(void)count;
	snprintf(header.command, sizeof header.command, "%s", evil);
	snprintf(header.hostname, sizeof header.hostname, "%.60s", evil);
	snprintf(module, sizeof module, "- /%s/lib%s.so", evil, evil);
	for (unsigned key = 1; key <= 40; key++)
		add_evil(GP_FACT, key, key != 16 && key != 24 && key != 28, 0);
	add_evil(GP_GPU, 13000, (uint64_t)1 << 37, 1);
	add_evil(GP_KERNEL, 0, 100, 7);
	add_evil(GP_THREAD, 1, 77, 0);
	for (uint32_t id = 1; id <= 3; id++)
		add_evil(GP_RANGE_NAME, id, id == 3 ? 2 : 0, 0);
	for (uint32_t what = 1; what <= 5; what++)
		add_evil(GP_OBJECT_NAME, what, what == 1 ? 77 : what == 2 ? 0 : 9, 0);
	add_evil(GP_PYTHON_CODE, 1, 1, 1);
	add(GP_BLOCK_DEFINE,
	    (struct gp_record){ .kind = GP_MODULE, .aux = 2, .v = { 0x400000, 0x100000 } }, module);
	add(GP_BLOCK_DEFINE,
	    (struct gp_record){ .kind = GP_NATIVE_FRAME, .aux = 2, .v = { 0, 0x400100 } }, NULL);
	add(GP_BLOCK_DEFINE,
	    (struct gp_record){ .kind = GP_PYTHON_FRAME, .aux = 3, .v = { 0, 1, 12 } }, NULL);
	add(GP_BLOCK_DEFINE, (struct gp_record){ .kind = GP_CALL_STACK, .aux = 4, .v = { 2, 3 } },
	    NULL);
	put_list(GP_BLOCK_DEFINE);
	add(GP_BLOCK_EVENTS, (struct gp_record){ .kind = GP_RANGE_PUSH, .aux = 1, .v = { 1, 2 } },
	    NULL);
	for (unsigned i = 0; i < 100; i++) {
		add(GP_BLOCK_EVENTS,
		    (struct gp_record){
			    .kind = GP_LAUNCH, .order = order, .stack = 4, .v = { 100, 9, 1, 1 } },
		    NULL);
		add(GP_BLOCK_EVENTS,
		    (struct gp_record){
			    .kind = GP_BLOCK_ALLOC,
			    .order = order++,
			    .stack = 4,
			    .v = { 0x7000000000 + i * 512, 512, 512 * (i + 1), 1 << 21 } },
		    NULL);
	}
	add(GP_BLOCK_EVENTS,
	    (struct gp_record){ .kind = GP_OOM,
				.aux = 1,
				.order = order++,
				.stack = 4,
				.v = { 1 << 30, 512 * 100, 1 << 21, 1000 } },
	    NULL);
}

static const struct {
	const char *name;
	void (*write)(uint64_t count);
} recordings[] = {
	{ "repeats", repeats },
	{ "threads", threads },
	{ "handles", handles },
	{ "live_collisions", live_collisions },
	{ "meaning_collisions", meaning_collisions },
	{ "doubts", doubts },
	{ "modules", modules },
	{ "magics", magics },
	{ "names", names },
	{ "late", late },
	{ "space", space },
	{ "kind", kind },
	{ "texts", texts },
};

int main(int argc, char **argv)
{
	for (size_t i = 0; i < sizeof recordings / sizeof *recordings; i++) {
		if (argc < 4)
			puts(recordings[i].name);
		else if (strcmp(argv[1], recordings[i].name) == 0) {
			must((file = fopen(argv[3], "wbe")) != NULL, argv[3]);
			put_header();
			put_boundary(GP_BLOCK_SEGMENT, 0);
			recordings[i].write(strtoull(argv[2], NULL, 10));
			put_list(GP_BLOCK_EVENTS);
			if (header.names_bytes == 0)
				put_boundary(GP_BLOCK_END, GP_BLOCK_SEALED);
			put_header();
			must(fclose(file) == 0, argv[3]);
			return 0;
		}
	}
	return argc < 4 ? 0 : 2;
}
