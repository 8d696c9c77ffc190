/* The bytes of a recording's header. docs/FORMAT.md has the same table. No I/O. */
#include "layout.h"

#include <string.h>

#include "crc.h"
#include "varint.h"

/*
 *   0 magic 8       16 clock 4       32 slot_bytes 8     64 ticks_per_second 8   176 ring_path 256
 *   8 major 2       20 pid 4         40 start_ticks 8    72 boot_id 40           432 command 1024
 *  10 minor 2       24 slots 4       48 start_mono_ns 8  112 hostname 64        1528 zeros
 *  12 bytes 4       28 zero 4        56 start_unix_ns 8                         4092 CRC-32C of all
 * 1456 flags 4    1460 zero 4      1464 lost 4 x 8        1496 failed_blocks 8
 * 1504 names_offset 8              1512 names_bytes 8   1520 loaded_ticks 8
 */
enum {
	FLAGS_AT = 1456,
	LOST_AT = 1464,
	FAILED_AT = 1496,
	NAMES_AT = 1504,
	LOADED_AT = 1520,
	CRC_AT = GP_FILE_HEADER - 4
};

#define SLOT_BYTES_MAX ((uint64_t)1 << 46)

/* Up to the NUL; the caller's bytes after it are ignored. */
static void layout_put_text(unsigned char *out, const char *text, size_t capacity)
{
	memcpy(out, text, strnlen(text, capacity - 1));
}

void gp_file_header_encode(const struct gp_file_header *header, unsigned char out[GP_FILE_HEADER])
{
	memset(out, 0, GP_FILE_HEADER);
	memcpy(out, GP_FILE_MAGIC, sizeof GP_FILE_MAGIC);
	gp_fixed_put(out + 8, header->major, 2);
	gp_fixed_put(out + 10, header->minor, 2);
	gp_fixed_put(out + 12, GP_FILE_HEADER, 4);
	gp_fixed_put(out + 16, header->clock, 4);
	gp_fixed_put(out + 20, header->pid, 4);
	gp_fixed_put(out + 24, header->slots, 4);
	gp_fixed_put(out + 32, header->slot_bytes, 8);
	gp_fixed_put(out + 40, header->start_ticks, 8);
	gp_fixed_put(out + 48, header->start_mono_ns, 8);
	gp_fixed_put(out + 56, header->start_unix_ns, 8);
	gp_fixed_put(out + 64, header->ticks_per_second, 8);
	layout_put_text(out + 72, header->boot_id, sizeof header->boot_id);
	layout_put_text(out + 112, header->hostname, sizeof header->hostname);
	layout_put_text(out + 176, header->ring_path, sizeof header->ring_path);
	layout_put_text(out + 432, header->command, sizeof header->command);
	gp_fixed_put(out + FLAGS_AT, header->flags, 4);
	for (size_t n = 0; n < 4; n++)
		gp_fixed_put(out + LOST_AT + 8 * n, header->lost[n], 8);
	gp_fixed_put(out + FAILED_AT, header->failed_blocks, 8);
	gp_fixed_put(out + NAMES_AT, header->names_offset, 8);
	gp_fixed_put(out + NAMES_AT + 8, header->names_bytes, 8);
	gp_fixed_put(out + LOADED_AT, header->loaded_ticks, 8);
	gp_fixed_put(out + CRC_AT, gp_crc32c(out, CRC_AT), 4);
}

static bool is_plausible(const struct gp_file_header *h)
{
	if (h->clock != GP_CLOCK_TSC && h->clock != GP_CLOCK_MONOTONIC_RAW)
		return false;
	if (h->slots > GP_FILE_SLOTS_MAX || h->slot_bytes > SLOT_BYTES_MAX ||
	    !h->slots != !h->slot_bytes)
		return false;
	/* a slot holds at least a SEGMENT and an END block */
	if (h->slots && h->slot_bytes < 2 * GP_BLOCK_HEADER)
		return false;
	return h->ticks_per_second != 0 && !h->boot_id[sizeof h->boot_id - 1] &&
	       !h->hostname[sizeof h->hostname - 1] && !h->ring_path[sizeof h->ring_path - 1] &&
	       !h->command[sizeof h->command - 1];
}

bool gp_file_header_is_usable(const struct gp_file_header *header)
{
	return header->major == GP_FORMAT_MAJOR && is_plausible(header);
}

enum gp_status gp_file_header_decode(const unsigned char in[GP_FILE_HEADER],
				     struct gp_file_header *out)
{
	if (memcmp(in, GP_FILE_MAGIC, sizeof GP_FILE_MAGIC) != 0)
		return GP_E_NOT_RECORDING;
	*out = (struct gp_file_header){
		.major = (uint16_t)gp_fixed_get(in + 8, 2),
		.minor = (uint16_t)gp_fixed_get(in + 10, 2),
		.clock = (uint32_t)gp_fixed_get(in + 16, 4),
		.pid = (uint32_t)gp_fixed_get(in + 20, 4),
		.slots = (uint32_t)gp_fixed_get(in + 24, 4),
		.slot_bytes = gp_fixed_get(in + 32, 8),
		.start_ticks = gp_fixed_get(in + 40, 8),
		.start_mono_ns = gp_fixed_get(in + 48, 8),
		.start_unix_ns = gp_fixed_get(in + 56, 8),
		.ticks_per_second = gp_fixed_get(in + 64, 8),
		.flags = (uint32_t)gp_fixed_get(in + FLAGS_AT, 4),
		.failed_blocks = gp_fixed_get(in + FAILED_AT, 8),
		.names_offset = gp_fixed_get(in + NAMES_AT, 8),
		.names_bytes = gp_fixed_get(in + NAMES_AT + 8, 8),
		.loaded_ticks = gp_fixed_get(in + LOADED_AT, 8),
	};
	for (size_t n = 0; n < 4; n++)
		out->lost[n] = gp_fixed_get(in + LOST_AT + 8 * n, 8);
	memcpy(out->boot_id, in + 72, sizeof out->boot_id);
	memcpy(out->hostname, in + 112, sizeof out->hostname);
	memcpy(out->ring_path, in + 176, sizeof out->ring_path);
	memcpy(out->command, in + 432, sizeof out->command);
	/* first: the version in a damaged header is not reliable either */
	if (gp_fixed_get(in + CRC_AT, 4) != gp_crc32c(in, CRC_AT))
		return GP_E_DAMAGED;
	if (out->major > GP_FORMAT_MAJOR)
		return GP_E_VERSION;
	if (out->major < GP_FORMAT_MAJOR)
		return GP_E_DAMAGED; /* there is no such version */
	return is_plausible(out) ? GP_OK : GP_E_DAMAGED;
}

bool gp_ring_is_possible(const struct gp_ring *ring, uint64_t tail, uint64_t head)
{
	const uint32_t regions = atomic_load(&ring->region) + 1;
	uint64_t from = tail;
	if (regions > GP_RING_REGIONS || head < tail || head - tail > GP_RING_PENDING)
		return false;
	for (unsigned g = gp_ring_region(ring, tail); g < regions && from < head; g++) {
		const uint64_t end = gp_region_end(ring, g);
		if (end < from || (end < head ? end : head) - from > GP_REGION_SLOTS(g))
			return false;
		from = end;
	}
	return true;
}
