/*
 * Where names lie in a recording: DEFINE blocks behind everything else, and two words of the file
 * header that say where. Promises that a recording stays readable whenever its writer is stopped:
 * bytes that nothing points at yet go to the disk first, then the header. Not for tools/: their
 * contract is gpuprof.h.
 */
#ifndef GP_NAME_AREA_H
#define GP_NAME_AREA_H

#include "recording.h"

/*
 * The bytes of the blocks, from malloc; the header must name an area. GP_E_TRUNCATED: the file ends
 * before. GP_E_DAMAGED: they lie in the header, or are more. GP_E_IO, GP_E_MEMORY.
 */
enum gp_status gp_name_area_read(const struct gp_file *file, unsigned char **out, size_t *bytes);

/*
 * Puts blocks at the end of the recording open at `fd`, which has `size` bytes; its header names
 * them from then on, and older ones are lost space. On failure the recording is as it was;
 * GP_E_SPACE, GP_E_IO.
 */
enum gp_status gp_name_area_append(int fd, const struct gp_file_header *header, uint64_t size,
				   const unsigned char *blocks, size_t bytes);

#endif
