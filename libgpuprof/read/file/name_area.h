/*
 * Where names lie in a recording: NAMES blocks behind everything else, and two words of the file
 * header that say where. Promises that a recording stays readable whenever its writer is stopped:
 * bytes that nothing points at yet go to the disk first, then the header. Not for tools/: their
 * contract is gpuprof.h.
 */
#ifndef GP_NAME_AREA_H
#define GP_NAME_AREA_H

#include "recording.h"

/*
 * The table's bytes, from malloc: GP_E_DAMAGED and `what` when they are not as they were written.
 * The header must name an area.
 */
enum gp_status gp_name_area_read(const struct gp_file *file, unsigned char **out, size_t *count,
				 const char **what);

/* NAMES blocks of a table, from malloc. Clocks are those of `last`. */
enum gp_status gp_name_area_encode(const unsigned char *table, size_t count,
				   const struct gp_block_header *last, unsigned char **out,
				   size_t *bytes);

/*
 * Puts blocks into the recording open at `fd`, in place of those that its header names. `end`:
 * where what the recorder wrote ends. On failure the recording is as it was; GP_E_SPACE, GP_E_IO.
 */
enum gp_status gp_name_area_replace(int fd, struct gp_file_header *header, uint64_t end,
				    const unsigned char *blocks, size_t bytes);

#endif
