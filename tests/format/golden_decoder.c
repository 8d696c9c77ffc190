/*
 * Decodes the bytes of a recording to its records. It exits with 1 for all that docs/FORMAT.md
 * calls damaged, because the recordings of the tests are sound.
 */
#include "golden.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define ZSTD_STATIC_LINKING_ONLY
#include <zstd.h>

#define MAX_SYMBOLS 8192

enum { NUMBER, WORD, ADDRESS, BYTES, HANDLE, TOTAL, TOTAL_UP, TOTAL_DOWN };

struct span {
	const uint8_t *at, *end;
};

static const uint8_t *file;
static size_t file_bytes;
static uint32_t crc_table[256];
struct block *blocks;
size_t n_blocks;
struct record *records;
size_t n_records;
uint64_t header_lost[4];
int header_has_hole;

static uint64_t get(const uint8_t *p, int bytes)
{
	uint64_t v = 0;
	while (bytes--)
		v = v << 8 | p[bytes];
	return v;
}

static uint64_t here; // the block that is being read

void need(int holds, const char *what)
{
	if (holds)
		return;
	fprintf(stderr, "at %llu: %s\n", (unsigned long long)here, what);
	exit(1);
}

void *grown(void *list, size_t n, size_t size)
{
	if (n & (n - 1))
		return list;
	list = realloc(list, (n ? 2 * n : 1) * size);
	need(list != NULL, "no memory");
	return list;
}

static uint32_t crc32c(const uint8_t *p, size_t bytes)
{
	uint32_t crc = 0xffffffff;
	while (bytes--)
		crc = crc >> 8 ^ crc_table[(crc ^ *p++) & 255];
	return ~crc;
}

// --- the payload

static uint8_t byte(struct span *s)
{
	need(s->at < s->end, "a stream is too short");
	return *s->at++;
}

static uint64_t varint(struct span *s)
{
	uint64_t value = 0;
	for (int shift = 0;; shift += 7) {
		uint8_t b = byte(s);
		need(shift < 63 || b < 2, "a varint is too long");
		value |= (uint64_t)(b & 127) << shift;
		if (b < 128) {
			need(b || !shift, "a varint with a superfluous last byte");
			return value;
		}
	}
}

static uint64_t unzigzag(uint64_t z)
{
	return z >> 1 ^ -(z & 1);
}

static uint64_t sized(struct span *s)
{
	uint8_t b = byte(s);
	uint64_t z = b >> 1 & 63;
	if (b & 128) {
		uint64_t more = varint(s);
		need(more && more < (uint64_t)1 << 58, "a sized number that is too long");
		z |= more << 6;
	}
	return b & 1 ? unzigzag(z) : unzigzag(z) * 512;
}

// The state that restarts with each block.
static struct {
	struct span streams[16];
	struct {
		uint64_t entries[MAX_SYMBOLS];
		uint32_t used;
	} dictionaries[5];
	uint64_t last[129][5], last_shape, last_stack, entry_bytes[MAX_SYMBOLS + 1], new_address,
		new_handle;
	uint64_t totals[256][4];
	struct record symbols[MAX_SYMBOLS];
	uint8_t extras[MAX_SYMBOLS];
	uint32_t n_symbols, entry_now, cells[8192];
	uint8_t takes[128], codings[128][5];
} B;

static uint64_t coded(int coding, uint64_t *prediction)
{
	if (coding == NUMBER)
		return varint(&B.streams[6]);
	struct span *tokens = &B.streams[5 + 2 * coding], *values = tokens + 1;
	uint64_t token = varint(tokens), value, entry = MAX_SYMBOLS;
	uint32_t *used = &B.dictionaries[coding].used;
	if (token == 0) {
		need(coding != ADDRESS, "an address that is predicted");
		return *prediction;
	}
	if (token > 1) {
		need(token - 2 < *used, "an entry that does not exist");
		entry = token - 2;
		value = B.dictionaries[coding].entries[entry];
	} else {
		if (coding == WORD) {
			need(values->end - values->at >= 8, "a stream is too short");
			value = get(values->at, 8);
			values->at += 8;
		} else if (coding == ADDRESS) {
			value = B.new_address += sized(values);
		} else if (coding == BYTES) {
			value = sized(values);
		} else {
			value = B.new_handle += unzigzag(varint(values));
		}
		if (*used < MAX_SYMBOLS) {
			entry = (*used)++;
			B.dictionaries[coding].entries[entry] = value;
		}
	}
	if (coding == ADDRESS)
		B.entry_now = (uint32_t)entry;
	*prediction = value;
	return value;
}

static void read_symbol(struct record *r, uint8_t *extra)
{
	uint64_t shape = coded(WORD, &B.last_shape), stack = coded(WORD, &B.last_stack);
	need(stack <= UINT32_MAX && !(shape >> 40 & 255), "a stack or shape that is too wide");
	*r = (struct record){ .kind = (uint16_t)shape,
			      .code = (uint16_t)(shape >> 48),
			      .stack = stack };
	r->device = (uint8_t)(shape >> 24);
	r->space = (uint8_t)(shape >> 32);
	*extra = (uint8_t)(shape >> 16);
	uint32_t row = r->kind < 128 ? r->kind : 128;
	B.entry_now = MAX_SYMBOLS;
	for (int i = 0; i < 5; i++) {
		int coding = row < 128 ? B.codings[row][i] : NUMBER;
		if (coding >= TOTAL)
			continue;
		r->v[i] = coded(coding,
				coding == BYTES ? &B.entry_bytes[B.entry_now] : &B.last[row][i]);
	}
	need(r->v[4] <= UINT32_MAX, "aux is too wide");
}

static void add_totals(struct record *r)
{
	uint64_t bytes = 0;
	const uint8_t *codings = r->kind < 128 ? B.codings[r->kind] : (const uint8_t[5]){ 0 };
	for (int i = 4; i >= 0; i--)
		if (codings[i] == BYTES)
			bytes = r->v[i];
	for (int i = 0, p = 0; i < 4; i++) {
		if (codings[i] < TOTAL)
			continue;
		uint64_t *total = &B.totals[r->device][p++];
		*total += sized(&B.streams[5]);
		*total += codings[i] == TOTAL_UP ? bytes : codings[i] == TOTAL_DOWN ? -bytes : 0;
		r->v[i] = *total;
	}
}

static void read_text(struct record *r, uint32_t slots)
{
	struct span *s = &B.streams[15];
	need((size_t)(s->end - s->at) >= 64 * slots, "text is missing");
	uint64_t bytes = get(s->at, 8);
	need(bytes <= 64 * slots - 8, "a text that is longer than its slots");
	r->text = malloc(bytes + 1);
	need(r->text != NULL, "no memory");
	memcpy(r->text, s->at + 8, bytes);
	r->text[bytes] = 0;
	r->text_bytes = (uint32_t)bytes;
	s->at += 64 * slots;
}

static uint32_t read_head(struct span all)
{
	memset(&B, 0, sizeof B);
	memset(B.cells, 255, sizeof B.cells);
	uint32_t shift = byte(&all), kinds = byte(&all);
	kinds |= (uint32_t)byte(&all) << 8;
	need(shift <= 16 && kinds <= 128, "a head that is wrong");
	for (uint32_t i = 0; i < kinds; i++) {
		uint32_t kind = byte(&all);
		kind |= (uint32_t)byte(&all) << 8;
		need(kind < 128, "a kind that is too large for the table");
		B.takes[kind] = byte(&all);
		for (int field = 0; field < 5; field++) {
			B.codings[kind][field] = byte(&all);
			need(B.codings[kind][field] < (field < 4 ? 8 : 5),
			     "a coding that does not exist");
		}
	}
	uint64_t lengths[16];
	for (int i = 0; i < 16; i++)
		lengths[i] = varint(&all);
	for (int i = 0; i < 16; i++) {
		need(lengths[i] <= (uint64_t)(all.end - all.at), "streams longer than the payload");
		B.streams[i] = (struct span){ all.at, all.at + lengths[i] };
		all.at += lengths[i];
	}
	need(all.at == all.end, "streams shorter than the payload");
	return shift;
}

static void read_records(const struct block *b, struct span payload)
{
	uint32_t shift = read_head(payload), before = 8192, before_that = 8192, slots = b->records;
	uint64_t time = 0, next = 0;
	for (uint32_t i = 0; i < b->records; i++) {
		uint64_t d = byte(&B.streams[0]);
		d |= (uint64_t)byte(&B.streams[1]) << 8;
		time += d == 0xffff ? unzigzag(varint(&B.streams[2])) : d;
		need(time << shift >> shift == time, "a time that is too large");
		uint64_t order = next + unzigzag(varint(&B.streams[3]));
		uint64_t token = varint(&B.streams[4]);
		uint32_t cell = (before * 0x9e3779b1u + before_that * 0x85ebca6bu) >> 19, symbol;
		if (token == 1) {
			need(B.n_symbols < MAX_SYMBOLS, "too many symbols");
			symbol = B.n_symbols++;
			read_symbol(&B.symbols[symbol], &B.extras[symbol]);
		} else {
			symbol = token ? (uint32_t)(token - 2) : B.cells[cell];
			need(token < MAX_SYMBOLS + 2 && symbol < B.n_symbols,
			     "a symbol that does not exist");
		}
		B.cells[cell] = symbol;
		before_that = before;
		before = symbol;
		records = grown(records, n_records, sizeof *records);
		struct record *r = &records[n_records];
		*r = B.symbols[symbol];
		r->time = time << shift;
		r->order = order;
		r->thread = b->thread;
		r->index = n_records++;
		uint32_t takes = r->kind < 128 && B.takes[r->kind];
		next = order + takes;
		r->key = 2 * order + takes;
		need(order >= b->first_order && order <= b->last_order,
		     "an order outside the block's");
		add_totals(r);
		if (B.extras[symbol])
			read_text(r, B.extras[symbol]);
		slots += B.extras[symbol];
	}
	need(slots <= 8192, "too many records and text slots");
	for (int i = 0; i < 16; i++)
		need(B.streams[i].at == B.streams[i].end, "a stream is not used up");
}

void read_payload(const struct block *b)
{
	static uint8_t raw[8192 * 128 + 1107];
	const uint8_t *stored = file + b->offset + 96;
	here = b->offset;
	if (!b->records)
		return;
	ZSTD_frameHeader header;
	ZSTD_DCtx *context = ZSTD_createDCtx();
	need(!ZSTD_getFrameHeader(&header, stored, b->stored_bytes) && header.checksumFlag &&
		     !header.dictID && !(stored[4] & 0x10) && header.windowSize <= 128 << 10,
	     "a frame that is not as promised");
	size_t frame = ZSTD_findFrameCompressedSize(stored, b->stored_bytes), left;
	need(!ZSTD_isError(frame), "no frame");
	left = b->stored_bytes - frame;
	need(left == 0 || (left >= 8 && memcmp(stored + frame, "\x50\x2a\x4d\x18", 4) == 0 &&
			   ZSTD_findFrameCompressedSize(stored + frame, left) == left),
	     "more than one frame, and one to skip");
	need(get(file + 10, 2) < 7 || (b->records <= 96 + b->stored_bytes &&
				       b->raw_bytes / 16 <= 96 + b->stored_bytes),
	     "more than so many bytes may hold");
	need(ZSTD_decompressDCtx(context, raw, sizeof raw, stored, b->stored_bytes) == b->raw_bytes,
	     "wrong contents");
	ZSTD_freeDCtx(context);
	read_records(b, (struct span){ raw, raw + b->raw_bytes });
}

// --- the file

static int read_header(uint64_t at, struct block *b)
{
	const uint8_t *p = file + at;
	if (at + 96 > file_bytes || get(p, 4) != 0x314b4c42 || get(p + 92, 4) != crc32c(p, 92))
		return 0;
	*b = (struct block){ .offset = at,
			     .type = (uint16_t)get(p + 4, 2),
			     .flags = (uint16_t)get(p + 6, 2) };
	b->segment = (uint32_t)get(p + 8, 4);
	b->part = (uint32_t)get(p + 12, 4);
	b->thread = (uint32_t)get(p + 16, 4);
	b->sequence = get(p + 20, 8);
	b->records = (uint32_t)get(p + 28, 4);
	b->raw_bytes = (uint32_t)get(p + 32, 4);
	b->stored_bytes = (uint32_t)get(p + 36, 4);
	b->first_order = get(p + 40, 8);
	b->last_order = get(p + 48, 8);
	b->ticks = get(p + 56, 8);
	b->mono_ns = get(p + 64, 8);
	here = at;
	need(b->type && b->records <= 8192 && b->raw_bytes <= 8192 * 128 + 1107 &&
		     b->first_order <= b->last_order,
	     "a block header that is wrong");
	need(!b->records == !b->raw_bytes && !b->records == !b->stored_bytes,
	     "only some of the sizes are 0");
	return 1;
}

// The blocks of one slot, or of a file that keeps all. Stops where the file is cut off, or where an
// older use of the slot begins.
// of the slot begins.
static void find_blocks(uint64_t at, uint64_t end, int keep_all)
{
	struct block b, first = { 0 };
	for (int n = 0; at < end && read_header(at, &b); n++, at += 96 + b.stored_bytes) {
		if (n == 0)
			first = b;
		if (at + 96 + b.stored_bytes > end ||
		    (!keep_all && (b.segment != first.segment || b.part != first.part)))
			return;
		need(n > 0 || b.type == SEGMENT, "a part without a SEGMENT block");
		blocks = grown(blocks, n_blocks, sizeof b);
		blocks[n_blocks++] = b;
	}
	need(!keep_all || at + 96 > file_bytes, "no block where one must follow");
}

static int by_place(const void *x, const void *y)
{
	const struct block *a = x, *b = y;
	if (a->segment != b->segment)
		return a->segment < b->segment ? -1 : 1;
	if (a->part != b->part)
		return a->part < b->part ? -1 : 1;
	return a->offset < b->offset ? -1 : 1;
}

static void drop_what_was_seen(void)
{
	size_t kept = 0;
	for (size_t i = 0; i < n_blocks; i++) {
		struct block *b = &blocks[i];
		int seen = 0;
		for (size_t k = 0; k < kept && b->type != SEGMENT && b->type != END && !seen; k++)
			seen = blocks[k].thread == b->thread && blocks[k].sequence == b->sequence &&
			       blocks[k].type != SEGMENT && blocks[k].type != END;
		if (!seen)
			blocks[kept++] = *b;
	}
	n_blocks = kept;
}

// A part without the parts before it: the beginning of the segment was overwritten.
static void drop_headless_segments(void)
{
	size_t kept = 0;
	uint32_t segment = 0, next_part = 1;
	for (size_t i = 0; i < n_blocks; i++) {
		struct block *b = &blocks[i];
		if (b->segment != segment || i == 0) {
			segment = b->segment;
			next_part = 0;
		}
		if (b->part == next_part && b->type == SEGMENT)
			next_part++;
		if (b->part + 1 == next_part)
			blocks[kept++] = *b;
	}
	n_blocks = kept;
}

static uint64_t start_ticks, rate; // rate: nanoseconds a tick, times 2^32

int64_t nanoseconds(uint64_t ticks)
{
	return (int64_t)((__int128)(int64_t)(ticks - start_ticks) * (__int128)rate >> 32);
}

static void check_file_header(void)
{
	need(file_bytes >= 4096 && !memcmp(file, "GPUPROF", 8) && get(file + 8, 2) == 1,
	     "not a recording of version 1");
	need(get(file + 4092, 4) == crc32c(file, 4092), "a wrong checksum");
	need(get(file + 12, 4) == 4096 && (get(file + 16, 4) - 1) < 2,
	     "unknown header size or clock");
	uint64_t slots = get(file + 24, 4), slot_bytes = get(file + 32, 8);
	need(slots <= 4096 && !slots == !slot_bytes && slot_bytes <= (uint64_t)1 << 46,
	     "slots that cannot be");
	need((!slots || slot_bytes >= 192) && get(file + 64, 8), "slots or a clock that cannot be");
	static const uint16_t texts[][2] = { { 72, 40 }, { 112, 64 }, { 176, 256 }, { 432, 1024 } };
	for (int i = 0; i < 4; i++)
		need(memchr(file + texts[i][0], 0, texts[i][1]) != NULL, "a text without end");
}

void open_recording(const char *name)
{
	for (uint32_t i = 0; i < 256; i++) {
		crc_table[i] = i;
		for (int bit = 0; bit < 8; bit++)
			crc_table[i] = crc_table[i] >> 1 ^ (crc_table[i] & 1 ? 0x82f63b78 : 0);
	}
	FILE *in = fopen(name, "rb");
	need(in != NULL && !fseek(in, 0, SEEK_END), "cannot be opened");
	file_bytes = (size_t)ftell(in);
	uint8_t *bytes = malloc(file_bytes + 1);
	rewind(in);
	need(bytes != NULL && fread(bytes, 1, file_bytes, in) == file_bytes, "cannot be read");
	fclose(in);
	file = bytes;
	check_file_header();
	uint64_t slots = get(file + 24, 4), slot_bytes = get(file + 32, 8);
	if (!slots)
		find_blocks(4096, file_bytes, 1);
	for (uint64_t k = 0, at = 4096; k < slots && at < file_bytes; k++, at += slot_bytes)
		find_blocks(at, at + slot_bytes < file_bytes ? at + slot_bytes : file_bytes, 0);
	qsort(blocks, n_blocks, sizeof *blocks, by_place);
	drop_headless_segments();
	drop_what_was_seen();
	start_ticks = get(file + 40, 8);
	struct block last = { .ticks = start_ticks };
	for (size_t i = 0; i < n_blocks; i++)
		if (blocks[i].ticks > last.ticks)
			last = blocks[i];
	for (int i = 0; i < 4; i++)
		header_lost[i] = get(file + 1464 + 8 * i, 8);
	header_has_hole = get(file + 1456, 4) & HAS_HOLE;
	uint64_t passed = last.mono_ns - get(file + 48, 8), per_second = get(file + 64, 8);
	if (get(file + 16, 4) == 2)
		rate = (uint64_t)1 << 32;
	else if (last.ticks > start_ticks && passed > 50000000)
		rate = (uint64_t)(((unsigned __int128)passed << 32) / (last.ticks - start_ticks));
	else
		rate = (uint64_t)(((unsigned __int128)1000000000 << 32) / per_second);
}

void print_text(const char *text, uint32_t bytes)
{
	putchar('"');
	for (; bytes; text++, bytes--) {
		if (*text == '"' || *text == '\\')
			printf("\\%c", *text);
		else if ((unsigned char)*text < 32)
			printf("\\u%04x", (unsigned)*text);
		else
			putchar(*text);
	}
	putchar('"');
}

// The area, without the first bytes of the slots that would begin within the file header.
void open_names(void)
{
	uint64_t slots = get(file + 24, 4), slot_bytes = get(file + 32, 8);
	uint64_t from = get(file + 1504, 8), bytes = get(file + 1512, 8);
	uint8_t *area = malloc(4096 + bytes);
	need(get(file + 10, 2) >= 3 && bytes > 0, "no names");
	need(area != NULL && bytes < file_bytes, "names that are longer than the file");
	memcpy(area, file, 4096);
	for (uint64_t n = 0; n < bytes; from++) {
		uint64_t in_slot = slots ? (from - 4096) % slot_bytes : 96;
		need(from < file_bytes, "the file ends before its names");
		if (in_slot >= 96 || (from - 4096) / slot_bytes >= slots)
			area[4096 + n++] = file[from];
		else
			need(file[from] == 0, "a slot's beginning is not 0");
	}
	file = area;
	file_bytes = 4096 + bytes;
	n_blocks = 0;
	for (uint64_t at = 4096; at < file_bytes; at += 96 + blocks[n_blocks++].stored_bytes) {
		blocks = grown(blocks, n_blocks, sizeof *blocks);
		need(read_header(at, &blocks[n_blocks]), "no block where one must follow");
		need(blocks[n_blocks].segment == 0xffffffff && blocks[n_blocks].part == 0xffffffff,
		     "a block of a segment");
		need(blocks[n_blocks].stored_bytes <= file_bytes - at - 96,
		     "a block that is too long");
	}
}
