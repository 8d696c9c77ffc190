/*
 * .gnu_debugdata, in which distributions of the RPM family ship the symbols of stripped files: an
 * ELF file packed by xz. liblzma is loaded only when such a section is met.
 */
#ifndef GP_DEBUG_DATA_H
#define GP_DEBUG_DATA_H

#include <stddef.h>

#define GP_DEBUG_DATA_MAX (256u << 20)

/* From malloc; NULL: not xz, damaged, larger than GP_DEBUG_DATA_MAX, or no liblzma here. */
void *gp_debug_data_unpack(const void *packed, size_t packed_bytes, size_t *bytes);

#endif
