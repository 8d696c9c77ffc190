/*
 * Reads and writes the area. Both walk over the pieces between the guards at the beginnings of
 * slots.
 */
#include "name_area.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/*
 * Moves *at behind the guard at the beginning of a slot. Returns how many bytes follow until the
 * next guard. The guard stays zero: a reader takes a slot that begins with zeros for an unused one.
 */
static uint64_t name_area_settle(const struct gp_file_header *header, uint64_t *at)
{
	if (header->slots == 0)
		return UINT64_MAX;
	uint64_t slot = (*at - GP_FILE_HEADER) / header->slot_bytes;
	if (slot >= header->slots)
		return UINT64_MAX;
	uint64_t guarded = gp_slot_offset(header, slot) + GP_SLOT_GUARD;
	if (*at < guarded)
		*at = guarded;
	return gp_slot_offset(header, slot + 1) - *at;
}

/* ---- reading ---- */

enum gp_status gp_name_area_read(const struct gp_file *file, unsigned char **out, size_t *bytes)
{
	const struct gp_file_header *h = &file->header;
	if (h->names_offset > file->bytes || h->names_bytes > file->bytes - h->names_offset)
		return GP_E_TRUNCATED;
	if (h->names_bytes > GP_NAME_BYTES_MAX || h->names_offset < GP_FILE_HEADER)
		return GP_E_DAMAGED;
	unsigned char *to = *out = malloc(h->names_bytes);
	enum gp_status status = to != NULL ? GP_OK : GP_E_MEMORY;
	*bytes = h->names_bytes;
	uint64_t at = h->names_offset;
	for (uint64_t left = *bytes, n; left > 0 && status == GP_OK; left -= n) {
		const uint64_t room = name_area_settle(h, &at);
		n = room < left ? room : left;
		status = gp_file_read(file, at, to, n);
		to += n;
		at += n;
	}
	if (status != GP_OK)
		free(*out);
	return status;
}

/* ---- writing ---- */

static enum gp_status area_put(int fd, const struct gp_file_header *header, uint64_t at,
			       const unsigned char *blocks, size_t bytes)
{
	enum gp_status status = GP_OK;
	while (bytes > 0 && status == GP_OK) {
		uint64_t room = name_area_settle(header, &at);
		size_t n = room < bytes ? (size_t)room : bytes;
		status = gp_file_write(fd, at, blocks, n);
		blocks += n;
		at += n;
		bytes -= n;
	}
	return status;
}

static enum gp_status flush(int fd)
{
	return fsync(fd) == 0 ? GP_OK : errno == ENOSPC || errno == EDQUOT ? GP_E_SPACE : GP_E_IO;
}

/*
 * An older `symbolize` refuses a file from minor 9 on. With a lower minor it would treat these
 * names as damaged and replace them. A recorder before minor 8 keeps its minor, because its events
 * do not obey the newer rules. The rules of minor 9 concern names only.
 */
static uint16_t minor_with_names(uint16_t minor)
{
	const uint16_t least = minor < GP_FORMAT_PINNED ? GP_FORMAT_NAMES : GP_FORMAT_NAME_RECORDS;
	return minor > least ? minor : least;
}

/* Makes the header refer to `at`. */
static enum gp_status point(int fd, const struct gp_file_header *header, uint64_t at, size_t bytes)
{
	struct gp_file_header new = *header;
	unsigned char encoded[GP_FILE_HEADER];
	new.names_offset = at;
	new.names_bytes = bytes;
	new.minor = minor_with_names(new.minor);
	gp_file_header_encode(&new, encoded);
	enum gp_status status = gp_file_write(fd, 0, encoded, sizeof encoded);
	if (status == GP_OK)
		status = flush(fd);
	if (status == GP_OK)
		return status;
	/* Best effort: the old header is still there, or the file cannot be written any more. */
	gp_file_header_encode(header, encoded);
	gp_file_write(fd, 0, encoded, sizeof encoded);
	return status;
}

enum gp_status gp_name_area_append(int fd, const struct gp_file_header *header, uint64_t size,
				   const unsigned char *blocks, size_t bytes)
{
	enum gp_status status = area_put(fd, header, size, blocks, bytes);
	if (status == GP_OK)
		status = flush(fd);
	if (status == GP_OK)
		status = point(fd, header, size, bytes);
	if (status != GP_OK)
		(void)!ftruncate(fd, (off_t)size);
	return status;
}
