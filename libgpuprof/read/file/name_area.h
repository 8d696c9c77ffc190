/*
 * Where names lie in a recording: DEFINE blocks behind everything else, and two words of the file
 * header with their place. A recording stays readable even if its writer is killed. New blocks
 * reach the disk first, then the header that refers to them. Not for tools/: their contract is
 * gpuprof.h.
 */
#ifndef GP_NAME_AREA_H
#define GP_NAME_AREA_H

#include "recording.h"

/*
 * Reads the bytes of the blocks into memory from malloc. The header must have a name area.
 * GP_E_TRUNCATED: the file ends before it does. GP_E_DAMAGED: the area overlaps the header or is
 * too large. GP_E_IO, GP_E_MEMORY.
 */
enum gp_status gp_name_area_read(const struct gp_file *file, unsigned char **out, size_t *bytes);

/*
 * Appends blocks to the recording open at `fd`, which has `size` bytes. The header then refers to
 * them; the space of older ones stays unused. On failure the recording is unchanged: GP_E_SPACE,
 * GP_E_IO.
 */
enum gp_status gp_name_area_append(int fd, const struct gp_file_header *header, uint64_t size,
				   const unsigned char *blocks, size_t bytes);

#endif
