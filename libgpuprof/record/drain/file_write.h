/*
 * The recording as a file: header, parts, blocks. Runs on the drain thread only. Owns the
 * descriptor and the write position, which is in the control page so that an adopter can continue.
 * Does not interpret events.
 */
#ifndef GP_FILE_WRITE_H
#define GP_FILE_WRITE_H

#include "../../format/layout.h"

/* The file of a descriptor, since its number may later mean another file. */
struct gp_file_id {
	uint64_t inode; /* 0: none */
	uint32_t device_major, device_minor;
};

struct gp_file_writer {
	struct gp_file_header header;
	struct gp_control *control;
	char path[1024];
	int fd;
	struct gp_file_id id;
	uint64_t taken_ns;    /* when the youngest file with a taken name was made; 0: none */
	bool is_shared_table; /* the job can close this descriptor: it is then opened again */
};

/*
 * Creates the recording (O_EXCL, 0600, next free name) and writes its header. The caller sets the
 * header's sizes, clock and texts, except command, hostname and boot_id. Sets taken_ns. False: see
 * errno.
 */
bool gp_file_create(struct gp_file_writer *writer, const char *name);
/*
 * Starts segment `segment` with first order `cut` in the next slot (ring) or at the end (keep all).
 * False: the position is unchanged. Like every failure here it is counted in the control page
 * (failed_blocks, has_hole).
 */
bool gp_file_segment(struct gp_file_writer *writer, uint64_t segment, uint64_t cut);
/*
 * Appends a block (header and payload, as gp_block_encode wrote it). Opens the next part if the
 * slot is full.
 */
bool gp_file_put(struct gp_file_writer *writer, unsigned char *block, size_t bytes);
/* Ends the segment: END with `flags`. */
bool gp_file_end_segment(struct gp_file_writer *writer, uint16_t flags);
/* Removes the END: later blocks overwrite it. */
void gp_file_reopen_segment(struct gp_file_writer *writer);
/* Writes writer->header over the existing header. False: see errno. */
bool gp_file_put_header(struct gp_file_writer *writer);
/* Bytes that still fit in the current part; UINT64_MAX: no limit. */
uint64_t gp_file_room(const struct gp_file_writer *writer);
/* Sets the fields of a block header from the current time and position. */
struct gp_block_header gp_file_block(const struct gp_file_writer *writer, enum gp_block_type type,
				     uint16_t flags, uint32_t thread);
/* The first bytes of a file as a text with a final NUL; "" if there is none. Returns its bytes. */
size_t gp_file_read_text(const char *path, char *out, size_t capacity);
/*
 * The file of `fd`; inode 0: none. The second function checks that `fd` is still that file. Call it
 * before each use, because the number may now be the job's. That happens in a table shared with the
 * job, and after a restore from a checkpoint (CRIU), which gives all threads the job's table.
 */
struct gp_file_id gp_file_identify(int fd);
bool gp_file_is(int fd, const struct gp_file_id *id);
/* In a table shared with the job: moves fd out of the low numbers, on which some programs rely. */
int gp_file_high(int fd);
void gp_file_close(struct gp_file_writer *writer);

#endif
