/*
 * The recording as a file: header, parts, blocks. Runs on the drain thread only; owns the
 * descriptor and the write position (kept in the control page so that an adopter can go on). No
 * knowledge of events.
 */
#ifndef GP_FILE_WRITE_H
#define GP_FILE_WRITE_H

#include "../format/layout.h"

struct gp_file_writer {
	struct gp_file_header header;
	struct gp_control *control;
	char path[1024];
	int fd;
	uint32_t device_major,
		device_minor; /* identity of the file: what is behind fd must still be it */
	uint64_t inode;
	bool is_shared_table; /* the job can close our descriptor: look before each write */
	bool is_failing;      /* the last write failed */
	uint64_t segment_bytes;
};

/*
 * Creates the recording (O_EXCL, 0600, next free name) and writes its header. header's sizes, clock
 * and texts are filled in by the caller, except command, hostname and boot_id. errno on false.
 */
bool gp_file_create(struct gp_file_writer *writer, const char *name);
/*
 * Starts segment `segment` with first order `cut` in the next slot (ring) or at the end (keep all).
 */
bool gp_file_segment(struct gp_file_writer *writer, uint64_t segment, uint64_t cut);
/*
 * Appends a block (header and payload, as gp_block_encode wrote it); opens the next part when the
 * slot is full.
 */
bool gp_file_put(struct gp_file_writer *writer, unsigned char *block, size_t bytes);
/* Ends the segment: END with `flags`. */
bool gp_file_end_segment(struct gp_file_writer *writer, uint16_t flags);
/* Bytes that still fit in the current part; UINT64_MAX when it has no end. */
uint64_t gp_file_room(const struct gp_file_writer *writer);
/* In a table shared with the job: moves fd out of the low numbers, which some programs count on. */
int gp_file_high(int fd);
void gp_file_close(struct gp_file_writer *writer);

#endif
