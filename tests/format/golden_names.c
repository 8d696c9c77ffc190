/* The names that a recording stores, one JSON object a row: a second reader, written from
 * docs/FORMAT.md alone. What that page calls damaged ends it with 1.  golden_names RECORDING */
#include <inttypes.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <zstd.h>

static uint8_t *file, *area, *table;
static size_t file_bytes, table_bytes;
static const uint8_t *at;
static const char **texts;
static uint64_t n_texts;

static void need(int holds, const char *what)
{
	if (holds)
		return;
	fprintf(stderr, "%s\n", what);
	exit(1);
}

static uint64_t get(const uint8_t *p, int bytes)
{
	uint64_t v = 0;
	while (bytes--)
		v = v << 8 | p[bytes];
	return v;
}

static uint32_t crc32c(const uint8_t *p, size_t bytes)
{
	uint32_t crc = ~0u;
	while (bytes--) {
		crc ^= *p++;
		for (int bit = 0; bit < 8; bit++)
			crc = crc >> 1 ^ (crc & 1 ? 0x82f63b78u : 0);
	}
	return ~crc;
}

static void read_file(const char *name)
{
	FILE *in = fopen(name, "rb");
	need(in != NULL && !fseek(in, 0, SEEK_END), "no file");
	file_bytes = (size_t)ftell(in);
	rewind(in);
	file = malloc(file_bytes);
	need(file != NULL && fread(file, 1, file_bytes, in) == file_bytes, "not read");
	fclose(in);
}

/* The area without the first bytes of the slots that would begin in it. */
static size_t collect(void)
{
	uint64_t slots = get(file + 24, 4), slot_bytes = get(file + 32, 8);
	uint64_t from = get(file + 1504, 8), bytes = get(file + 1512, 8);
	need(file_bytes >= 4096 && get(file + 4092, 4) == crc32c(file, 4092), "no header");
	need(get(file + 10, 2) >= 3 && bytes > 0, "no names");
	area = malloc(bytes);
	need(area != NULL, "no memory");
	for (uint64_t n = 0; n < bytes; from++) {
		uint64_t in_slot = slots ? (from - 4096) % slot_bytes : 96;
		need(from < file_bytes, "the file ends before its names");
		if (in_slot >= 96 || (from - 4096) / slot_bytes >= slots)
			area[n++] = file[from];
		else
			need(file[from] == 0, "a slot's beginning is not 0");
	}
	return bytes;
}

static void unpack(size_t bytes)
{
	uint64_t sequence = 0;
	for (size_t here = 0; here < bytes; sequence++) {
		const uint8_t *p = area + here;
		need(bytes - here >= 96 && get(p, 4) == 0x314b4c42, "no block");
		need(get(p + 92, 4) == crc32c(p, 92), "a header's checksum");
		need(get(p + 4, 2) == 6 && get(p + 8, 4) == 0xffffffff, "another block");
		need(get(p + 12, 4) == 0xffffffff && get(p + 16, 4) == 0xffffffff, "a thread");
		need(get(p + 20, 8) == sequence && get(p + 28, 4) == 1, "a sequence");
		size_t raw = get(p + 32, 4), stored = get(p + 36, 4);
		need(stored <= bytes - here - 96, "a block that is too long");
		need(!(p[100] & 0x10) && (p[100] & 4), "a frame that is not as promised");
		table = realloc(table, table_bytes + raw);
		need(table != NULL, "no memory");
		need(ZSTD_decompress(table + table_bytes, raw, p + 96, stored) == raw, "contents");
		table_bytes += raw;
		here += 96 + stored;
	}
	need(table_bytes <= 1u << 28, "a table that is too large");
}

static uint64_t varint(void)
{
	uint64_t value = 0;
	for (int shift = 0;; shift += 7) {
		need(at < table + table_bytes, "the table is too short");
		need(shift < 63 || *at < 2, "a varint is too long");
		value |= (uint64_t)(*at & 127) << shift;
		if (*at++ < 128)
			return value;
	}
}

static const char *text(void)
{
	uint64_t n = varint();
	need(n <= n_texts, "a text that does not exist");
	return n ? texts[n - 1] : NULL;
}

static void print_text(const char *s)
{
	if (!s) {
		printf("null");
		return;
	}
	putchar('"');
	for (; *s; s++)
		printf(*s == '"' || *s == '\\' ? "\\%c" : (uint8_t)*s < 32 ? "\\u%04x" : "%c", *s);
	putchar('"');
}

static uint64_t print_row(const char *module, int is_first, uint64_t before)
{
	uint64_t offset = varint(), state = varint();
	need(is_first || offset, "rows that are not sorted");
	offset += before;
	need(state < 32 && ((state & 15) == 0 || ((state & 15) >= 3 && (state & 15) <= 6)),
	     "a state");
	printf("{\"module\": ");
	print_text(module);
	printf(", \"offset\": %" PRIu64 ", \"state\": %" PRIu64 ", \"symbol\": ", offset, state);
	print_text(text());
	printf(", \"symbol_offset\": %" PRIu64 ", \"frames\": [", varint());
	uint64_t count = varint();
	need(count >= 1 && count <= 64, "a count of frames");
	for (uint64_t i = 0; i < count; i++) {
		printf(i ? ", [" : "[");
		print_text(text());
		printf(", ");
		print_text(text());
		printf(", %" PRIu64 "]", varint());
	}
	puts("]}");
	return offset;
}

int main(int argc, char **argv)
{
	need(argc == 2, "golden_names RECORDING");
	read_file(argv[1]);
	unpack(collect());
	at = table;
	uint64_t frames = varint(), nowhere = varint();
	n_texts = varint();
	texts = calloc(n_texts + 1, sizeof *texts);
	for (uint64_t i = 0; i < n_texts; i++) {
		texts[i] = (const char *)at;
		at = memchr(at, 0, (size_t)(table + table_bytes - at));
		need(at != NULL, "a text without an end");
		at++;
	}
	uint64_t modules = varint(), sum = 0;
	const char **path = calloc(modules + 1, sizeof *path);
	uint64_t *rows = calloc(modules + 1, sizeof *rows);
	for (uint64_t i = 0; i < modules; i++) {
		path[i] = text();
		need(path[i] && (!i || strcmp(path[i - 1], path[i]) <= 0), "modules not sorted");
		uint64_t bytes = varint();
		at += bytes;
		sum += rows[i] = varint();
	}
	need(sum + nowhere <= frames, "more rows than frames");
	for (uint64_t i = 0; i < modules; i++) {
		uint64_t offset = 0;
		for (uint64_t k = 0; k < rows[i]; k++)
			offset = print_row(path[i], k == 0, offset);
	}
	return 0;
}
