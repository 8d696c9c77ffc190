/*
 * The bytes of a recording: the header, exact reads, and the walk from block to block, which
 * continues after damage.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "recording.h"

#define SEARCH_BYTES 65536u

static const char no_magic[] = "expected \"" GP_FILE_MAGIC "\" at its start";
_Static_assert(GP_FILE_HEADER == 4096, "a message below has this size");

enum gp_status gp_file_read(const struct gp_file *file, uint64_t offset, void *out, size_t bytes)
{
	unsigned char *to = out;
	while (bytes > 0) {
		ssize_t n = pread(file->fd, to, bytes, (off_t)offset);
		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			return n == 0 ? GP_E_TRUNCATED : GP_E_IO;
		to += n;
		offset += (uint64_t)n;
		bytes -= (size_t)n;
	}
	return GP_OK;
}

bool gp_file_is_written(const struct gp_file *file, uint64_t offset, size_t bytes)
{
	static const unsigned char zeros[GP_BLOCK_HEADER];
	unsigned char found[GP_BLOCK_HEADER];
	return gp_file_read(file, offset, found, bytes) == GP_OK &&
	       memcmp(found, zeros, bytes) != 0;
}

enum gp_status gp_file_write(int fd, uint64_t offset, const void *bytes, size_t count)
{
	const unsigned char *from = bytes;
	while (count > 0) {
		ssize_t n = pwrite(fd, from, count, (off_t)offset);
		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			return n == 0 || errno == ENOSPC || errno == EDQUOT || errno == EFBIG ?
				       GP_E_SPACE :
				       GP_E_IO;
		from += n;
		offset += (uint64_t)n;
		count -= (size_t)n;
	}
	return GP_OK;
}

static enum gp_status fail(enum gp_status status, struct gp_damage *why, uint64_t offset,
			   const char *what)
{
	if (why != NULL) {
		*why = (struct gp_damage){ .offset = offset };
		snprintf(why->what, sizeof why->what, "%s", what);
	}
	return status;
}

/*
 * A file shorter than the header. If its bytes begin the magic it is a truncated recording, else it
 * is not a recording.
 */
static enum gp_status short_file(const struct gp_file *file, struct gp_damage *why)
{
	char bytes[sizeof GP_FILE_MAGIC];
	size_t n = file->bytes < sizeof bytes ? (size_t)file->bytes : sizeof bytes;
	if (n == 0)
		return fail(GP_E_NOT_RECORDING, why, 0, "the file is empty");
	if (gp_file_read(file, 0, bytes, n) != GP_OK)
		return fail(GP_E_IO, why, 0, "the header cannot be read");
	if (memcmp(bytes, GP_FILE_MAGIC, n) != 0)
		return fail(GP_E_NOT_RECORDING, why, 0, no_magic);
	return fail(GP_E_TRUNCATED, why, file->bytes,
		    "expected a header of 4096 bytes, the file ends inside it");
}

static enum gp_status newer_file(const struct gp_file_header *header, struct gp_damage *why)
{
	char what[sizeof why->what];
	snprintf(what, sizeof what, "its format is %u.%u, this program reads %u.x", header->major,
		 header->minor, GP_FORMAT_MAJOR);
	return fail(GP_E_VERSION, why, 0, what);
}

const char gp_damaged_header[] = "the checksum of the file header does not match";

static enum gp_status read_header(struct gp_file *file, struct gp_damage *why)
{
	struct stat st;
	if (fstat(file->fd, &st) != 0)
		return fail(GP_E_IO, why, 0, strerror(errno));
	if (!S_ISREG(st.st_mode))
		return fail(GP_E_NOT_RECORDING, why, 0, "not a regular file");
	file->bytes = (uint64_t)st.st_size;
	unsigned char bytes[GP_FILE_HEADER];
	enum gp_status status = gp_file_read(file, 0, bytes, sizeof bytes);
	if (status == GP_E_TRUNCATED)
		return short_file(file, why);
	if (status != GP_OK)
		return fail(status, why, 0, "the header cannot be read");
	status = gp_file_header_decode(bytes, &file->header);
	if (status == GP_E_NOT_RECORDING)
		return fail(status, why, 0, no_magic);
	if (status == GP_E_VERSION)
		return newer_file(&file->header, why);
	file->is_header_damaged = status != GP_OK;
	if (file->is_header_damaged && !gp_file_header_is_usable(&file->header))
		return fail(status, why, 0,
			    "the checksum of the file header does not match, or a value is "
			    "impossible");
	return GP_OK;
}

enum gp_status gp_file_open(const char *path, struct gp_file *out, struct gp_damage *why)
{
	*out = (struct gp_file){ .fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY) };
	if (out->fd < 0)
		return fail(GP_E_OPEN, why, 0, strerror(errno));
	enum gp_status status = read_header(out, why);
	if (status != GP_OK)
		gp_file_release(out);
	return status;
}

void gp_file_release(struct gp_file *file)
{
	if (file->fd >= 0)
		close(file->fd);
	file->fd = -1;
}

bool gp_file_allows_block(const struct gp_file *file, const struct gp_block_header *header)
{
	/* the minor of a damaged file header is not reliable */
	bool is_padded = file->header.minor >= GP_FORMAT_PADDED && !file->is_header_damaged;
	return !is_padded || !gp_block_is_short(header);
}

enum gp_status gp_file_decode(const struct gp_file *file, uint64_t offset,
			      const struct gp_block_header *h, struct gp_block_room *room,
			      struct gp_record *out, uint64_t *slots)
{
	struct gp_block_header found;
	*slots = 0;
	if (h->stored_bytes > gp_block_bound() - GP_BLOCK_HEADER || !gp_file_allows_block(file, h))
		return GP_E_DAMAGED;
	enum gp_status status =
		gp_file_read(file, offset, room->bytes, GP_BLOCK_HEADER + h->stored_bytes);
	if (status == GP_OK)
		status = gp_block_header_decode(room->bytes, &found);
	if (status != GP_OK)
		return status;
	if (found.segment != h->segment || found.part != h->part || found.thread != h->thread ||
	    found.sequence != h->sequence)
		return GP_E_DAMAGED;
	return gp_block_decode(room->scratch, h, room->bytes + GP_BLOCK_HEADER, out, slots);
}

struct gp_block_walk gp_part_walk(const struct gp_file *file, const struct gp_part *part)
{
	return (struct gp_block_walk){ .file = file,
				       .at = part->offset,
				       .end = part->end,
				       .is_slot = true,
				       .segment = part->segment,
				       .part = part->part };
}

static bool is_own(const struct gp_block_walk *walk, const struct gp_block_header *header)
{
	if (walk->is_slot)
		return header->segment == walk->segment && header->part == walk->part;
	return header->segment >= walk->segment && header->segment != GP_SEGMENT_NONE;
}

static bool decode_header(const struct gp_block_walk *walk, uint64_t at, const unsigned char *bytes,
			  struct gp_block_header *header)
{
	return gp_block_header_decode(bytes, header) == GP_OK &&
	       header->stored_bytes <= walk->end - at - GP_BLOCK_HEADER && is_own(walk, header);
}

static bool read_block_header(const struct gp_block_walk *walk, uint64_t at,
			      struct gp_block_header *header)
{
	unsigned char bytes[GP_BLOCK_HEADER];
	return at <= walk->end && walk->end - at >= sizeof bytes &&
	       gp_file_read(walk->file, at, bytes, sizeof bytes) == GP_OK &&
	       decode_header(walk, at, bytes, header);
}

/* Finds the first valid block of this recording at `at` or later. */
static bool search(const struct gp_block_walk *walk, uint64_t *at, struct gp_block_header *header)
{
	static const unsigned char magic[4] = { GP_BLOCK_MAGIC & 255, GP_BLOCK_MAGIC >> 8 & 255,
						GP_BLOCK_MAGIC >> 16 & 255,
						GP_BLOCK_MAGIC >> 24 & 255 };
	unsigned char bytes[SEARCH_BYTES];
	for (uint64_t from = *at; from < walk->end && walk->end - from >= GP_BLOCK_HEADER;) {
		uint64_t left = walk->end - from;
		size_t n = left < sizeof bytes ? (size_t)left : sizeof bytes;
		if (gp_file_read(walk->file, from, bytes, n) != GP_OK)
			return false;
		const unsigned char *hit = bytes;
		while ((hit = memmem(hit, n - (size_t)(hit - bytes), magic, sizeof magic)) !=
		       NULL) {
			/* the next read contains the rest of the header */
			if (n - (size_t)(hit - bytes) < GP_BLOCK_HEADER)
				break;
			*at = from + (uint64_t)(hit - bytes);
			if (decode_header(walk, *at, hit, header))
				return true;
			hit++;
		}
		from += n - (GP_BLOCK_HEADER - 1);
		if (n < sizeof bytes)
			return false;
	}
	return false;
}

bool gp_block_walk_next(struct gp_block_walk *walk)
{
	uint64_t at = walk->at;
	walk->skipped = 0;
	if (!read_block_header(walk, at, &walk->header)) {
		struct gp_block_header late;
		at++;
		if (!search(walk, &at, &walk->header))
			return false;
		/* A living owner may have written this block since, and then the next one. */
		if (read_block_header(walk, walk->at, &late)) {
			walk->header = late;
			at = walk->at;
		}
		walk->skipped_at = walk->at;
		walk->skipped = at - walk->at;
	}
	walk->offset = at;
	walk->at = at + GP_BLOCK_HEADER + walk->header.stored_bytes;
	if (!walk->is_slot)
		walk->segment = walk->header.segment;
	return true;
}
