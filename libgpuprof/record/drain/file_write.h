/*
 * The recording as a file: header, parts, blocks. Runs on the drain thread only; owns the
 * descriptor and the write position (kept in the control page so that an adopter can go on). No
 * knowledge of events.
 */
#ifndef GP_FILE_WRITE_H
#define GP_FILE_WRITE_H

#include "../../format/layout.h"

/* Which file a descriptor led to: its number may mean another one later. */
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
	uint64_t taken_ns;    /* when the youngest file of a taken name was made; 0: none */
	bool is_shared_table; /* the job can close our descriptor: it is opened again then */
};

/*
 * Creates the recording (O_EXCL, 0600, next free name) and writes its header. header's sizes, clock
 * and texts are filled in by the caller, except command, hostname and boot_id. Sets taken_ns. errno
 * on false.
 */
bool gp_file_create(struct gp_file_writer *writer, const char *name);
/*
 * Starts segment `segment` with first order `cut` in the next slot (ring) or at the end (keep all).
 * False: the writer stands where it stood. Like every failure here it is counted in the control
 * page (failed_blocks, has_hole).
 */
bool gp_file_segment(struct gp_file_writer *writer, uint64_t segment, uint64_t cut);
/*
 * Appends a block (header and payload, as gp_block_encode wrote it); opens the next part when the
 * slot is full.
 */
bool gp_file_put(struct gp_file_writer *writer, unsigned char *block, size_t bytes);
/* Ends the segment: END with `flags`. */
bool gp_file_end_segment(struct gp_file_writer *writer, uint16_t flags);
/* Takes the END back: what comes next is written over it. */
void gp_file_reopen_segment(struct gp_file_writer *writer);
/* Writes writer->header over the one that is there. errno on false. */
bool gp_file_put_header(struct gp_file_writer *writer);
/* Bytes that still fit in the current part; UINT64_MAX when it has no end. */
uint64_t gp_file_room(const struct gp_file_writer *writer);
/* The header of a block that is written now, to where the writer stands. */
struct gp_block_header gp_file_block(const struct gp_file_writer *writer, enum gp_block_type type,
				     uint16_t flags, uint32_t thread);
/* The beginning of a file as a text, closed by a NUL; "" where there is none. Its bytes. */
size_t gp_file_read_text(const char *path, char *out, size_t capacity);
/*
 * The file behind `fd`, inode 0 when there is none. And: is it still that file? We ask before each
 * use, for the number may be the job's: in a table shared with it, and after a restore from a
 * checkpoint (CRIU), which gives all threads the job's table.
 */
struct gp_file_id gp_file_identify(int fd);
bool gp_file_is(int fd, const struct gp_file_id *id);
/* In a table shared with the job: moves fd out of the low numbers, which some programs count on. */
int gp_file_high(int fd);
void gp_file_close(struct gp_file_writer *writer);

#endif
