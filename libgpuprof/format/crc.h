/* CRC-32C (Castagnoli) as in RFC 3720, for headers only: small, not fast. */
#ifndef GP_CRC_H
#define GP_CRC_H

#include <stddef.h>
#include <stdint.h>

uint32_t gp_crc32c(const unsigned char *bytes, size_t n);

#endif
